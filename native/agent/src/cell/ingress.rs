use super::conn::Conn;
use super::fault::{Code, Fault, Stop};
use super::frames::Kind;
use super::limits;
use super::params::params;
use serde::Deserialize;
use serde_json::{json, Value};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;
use tokio::net::TcpStream;

/// A listener whose queue is full neither takes nor refuses.
const CONNECT_WAIT: Duration = Duration::from_secs(5);

#[derive(Deserialize)]
struct Target {
    port: u16,
}

/// Dials the port inside the cell and tells the host.
pub async fn connect(conn: &Conn, method: &str, value: Value) -> Result<TcpStream, Stop> {
    if method != "ingress.connect" {
        return Err(Fault::new(Code::UnknownMethod, "This socket knows `ingress.connect` only.").into());
    }
    let target: Target = params(value)?;
    let stream = tokio::select! {
        stream = dial(target.port) => stream?,
        () = conn.closed() => return Err(Stop::Gone),
    };
    conn.json(Kind::Result, &json!({})).await?;
    Ok(stream)
}

/// Raw bytes both ways until both sides have finished; each half-close is passed on.
pub async fn splice(conn: Conn, mut target: TcpStream) {
    let mut host = conn.into_stream();
    let size = limits::INGRESS_BUFFER_BYTES;
    let _ = tokio::io::copy_bidirectional_with_sizes(&mut host, &mut target, size, size).await;
}

async fn dial(port: u16) -> Result<TcpStream, Fault> {
    for address in [SocketAddr::from((Ipv4Addr::LOCALHOST, port)), SocketAddr::from((Ipv6Addr::LOCALHOST, port))] {
        if let Ok(Ok(stream)) = tokio::time::timeout(CONNECT_WAIT, TcpStream::connect(address)).await {
            let _ = stream.set_nodelay(true);
            return Ok(stream);
        }
    }
    let message = format!("Nothing listens on port {port} in the computer. Start the service, then try again.");
    Err(Fault::new(Code::ConnectionRefused, message))
}
