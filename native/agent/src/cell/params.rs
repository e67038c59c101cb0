use super::fault::Fault;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// The parameters of a call as `T`; fields that are not known are ignored.
pub fn params<T: DeserializeOwned>(value: Value) -> Result<T, Fault> {
    serde_json::from_value(value).map_err(|error| {
        Fault::invalid(format!("The parameters do not fit this method: {error}. See the protocol's page."))
    })
}
