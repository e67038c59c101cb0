//! The methods `files.*` as calls: parameters in, work on the pool, frames out.

use super::read::{chunk, open};
use super::write::Pending;
use super::{edit as editing, read as reading, simple, tree, write as writing};
use crate::cell::agent::Agent;
use crate::cell::conn::Conn;
use crate::cell::fault::{Code, Fault, Stop};
use crate::cell::frames::Kind;
use crate::cell::limits;
use crate::cell::params::params;
use serde::de::DeserializeOwned;
use serde_json::{json, Value};
use std::rc::Rc;

async fn on_pool<T: DeserializeOwned + Send + 'static>(
    agent: &Rc<Agent>,
    value: Value,
    work: fn(T) -> Result<Value, Fault>,
) -> Result<Value, Fault> {
    let wanted: T = params(value)?;
    agent.pool.run(move || work(wanted)).await
}

pub async fn stat(agent: &Rc<Agent>, value: Value) -> Result<Value, Fault> {
    on_pool(agent, value, simple::stat).await
}

pub async fn list(agent: &Rc<Agent>, value: Value) -> Result<Value, Fault> {
    on_pool(agent, value, simple::list).await
}

pub async fn rename(agent: &Rc<Agent>, value: Value) -> Result<Value, Fault> {
    on_pool(agent, value, simple::rename).await
}

pub async fn mkdir(agent: &Rc<Agent>, value: Value) -> Result<Value, Fault> {
    on_pool(agent, value, simple::mkdir).await
}

pub async fn delete(agent: &Rc<Agent>, value: Value) -> Result<Value, Fault> {
    on_pool(agent, value, tree::delete).await
}

pub async fn edit(agent: &Rc<Agent>, value: Value) -> Result<Value, Fault> {
    on_pool(agent, value, editing::edit).await
}

pub async fn read(agent: &Rc<Agent>, conn: &Conn, value: Value) -> Result<(), Stop> {
    let wanted: reading::Read = params(value)?;
    let opened = agent.pool.run(move || open(&wanted)).await?;
    let head = json!({ "file": opened.entry, "offset": opened.offset, "length": opened.length });
    conn.json(Kind::Result, &head).await?;
    let end = opened.offset + opened.length;
    let mut offset = opened.offset;
    while offset < end {
        let (file, most) = (opened.file.clone(), (end - offset).min(limits::CHUNK_BYTES as u64) as usize);
        let bytes = agent.pool.run(move || chunk(&file, offset, most)).await?;
        if bytes.is_empty() {
            let message = "The file became shorter while it was read. Read it again.";
            return Err(Fault::new(Code::VersionMismatch, message).into());
        }
        offset += bytes.len() as u64;
        conn.send(Kind::Data, &bytes).await?;
    }
    conn.json(Kind::End, &json!({})).await?;
    Ok(())
}

pub async fn write(agent: &Rc<Agent>, conn: &Conn, value: Value) -> Result<(), Stop> {
    let wanted: writing::Write = params(value)?;
    let mut pending = agent.pool.run(move || Pending::begin(wanted)).await?;
    loop {
        let frame = conn.read().await?;
        match frame.kind {
            Kind::Data => {
                pending = agent.pool.run(move || pending.add(&frame.payload).map(|()| pending)).await?;
            }
            Kind::End => break,
            kind => {
                let message = format!("{kind:?} cannot come in an upload; DATA or END can.");
                return Err(Fault::new(Code::InvalidFrame, message).into());
            }
        }
    }
    let entry = agent.pool.run(move || pending.finish()).await?;
    conn.json(Kind::Result, &entry).await?;
    Ok(())
}
