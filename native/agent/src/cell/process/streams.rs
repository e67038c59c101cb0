//! The methods that carry output: `processes.run`, `processes.attach`, `output.read`, `output.follow`.

use super::methods::set_size;
use super::start::{self, Spec};
use super::{pty, Process};
use crate::cell::agent::Agent;
use crate::cell::conn::Conn;
use crate::cell::fault::{Code, Fault, Gone, Stop};
use crate::cell::frames::Kind;
use crate::cell::limits;
use crate::cell::output::{Piece, Reader, Store};
use crate::cell::params::params;
use serde::Deserialize;
use serde_json::{json, Value};
use std::pin::pin;
use std::rc::Rc;
use std::time::Duration;
use tokio::time::Instant;

#[derive(Deserialize)]
struct Run {
    #[serde(flatten)]
    spec: Spec,
    wait_ms: u64,
    max_output_bytes: u64,
}

pub async fn run(agent: &Rc<Agent>, conn: &Conn, value: Value) -> Result<(), Stop> {
    let run: Run = params(value)?;
    let most = run.max_output_bytes.min(limits::OUTPUT_READ_BYTES);
    let deadline = Instant::now() + Duration::from_millis(run.wait_ms.min(limits::WAIT_MS));
    let (process, existed) = start::start(agent, run.spec).await?;
    wait_store(&process.store, deadline, || process.ended() || process.store.next() > most).await;
    let first = process.store.first();
    let end = process.store.next().min(first + most);
    let complete = process.ended() && first == 0 && process.store.lost() == 0 && end == process.store.next();
    let result = json!({
        "process": process.state(),
        "existed": existed,
        "next_cursor": end,
        "dropped_bytes": first + process.store.lost(),
        "complete": complete,
    });
    conn.json(Kind::Result, &result).await?;
    send_range(conn, &process.store, first, end, None).await?;
    conn.json(Kind::End, &json!({})).await?;
    Ok(())
}

#[derive(Deserialize)]
struct Read {
    id: String,
    cursor: u64,
    max_bytes: u64,
    #[serde(default)]
    wait_ms: u64,
    #[serde(default)]
    streams: Option<Vec<u8>>,
}

pub async fn read(agent: &Rc<Agent>, conn: &Conn, value: Value) -> Result<(), Stop> {
    let read: Read = params(value)?;
    let source = Source::find(agent, &read.id)?;
    let store = source.store();
    let cursor = within(&store, read.cursor)?;
    let most = read.max_bytes.min(limits::OUTPUT_READ_BYTES);
    let deadline = Instant::now() + Duration::from_millis(read.wait_ms.min(limits::WAIT_MS));
    wait_store(&store, deadline, || source.ended() || store.next() > cursor).await;
    let first = store.first();
    let start = cursor.max(first);
    let end = store.next().min(start + most);
    let head = json!({
        "first_cursor": first,
        "next_cursor": end,
        "dropped_bytes": start - cursor,
        "ended": source.ended(),
    });
    conn.json(Kind::Result, &head).await?;
    send_range(conn, &store, start, end, read.streams.as_deref()).await?;
    conn.json(Kind::End, &json!({})).await?;
    Ok(())
}

#[derive(Deserialize)]
struct Follow {
    id: String,
    #[serde(default)]
    cursor: Option<u64>,
}

pub async fn follow(agent: &Rc<Agent>, conn: &Conn, value: Value) -> Result<(), Stop> {
    let wanted: Follow = params(value)?;
    let source = Source::find(agent, &wanted.id)?;
    let store = source.store();
    let cursor = within(&store, wanted.cursor.unwrap_or(store.first()))?;
    conn.json(Kind::Result, &source.head(&store, cursor)).await?;
    follow_from(conn, &source, &store, cursor).await?;
    conn.json(Kind::End, &source.end()).await?;
    Ok(())
}

#[derive(Deserialize)]
struct Control {
    #[serde(rename = "type")]
    kind: String,
    #[serde(flatten)]
    size: pty::Size,
}

pub async fn attach(agent: &Rc<Agent>, conn: &Conn, value: Value) -> Result<(), Stop> {
    let wanted: Follow = params(value)?;
    let process = agent.processes.get(&wanted.id)?;
    let store = process.store.clone();
    let source = Source::Process(process.clone());
    let cursor = within(&store, wanted.cursor.unwrap_or(store.first()))?;
    conn.json(Kind::Result, &source.head(&store, cursor)).await?;
    let outward = pin!(follow_from(conn, &source, &store, cursor));
    let inward = pin!(take_input(conn, &process));
    tokio::select! {
        sent = outward => sent?,
        stop = inward => return Err(stop),
    }
    conn.json(Kind::End, &source.end()).await?;
    Ok(())
}

/// Passes the host's frames on to the process. Ends only when the connection does.
async fn take_input(conn: &Conn, process: &Process) -> Stop {
    loop {
        let frame = match conn.read().await {
            Ok(frame) => frame,
            Err(stop) => return stop,
        };
        let done = match frame.kind {
            // Typing into a process that has just ended is no error: its end follows.
            Kind::Data => process.input.write(&frame.payload).await.or(Ok(())),
            Kind::End => {
                if !process.pty {
                    process.input.close();
                }
                conn.closed().await;
                return Stop::Gone;
            }
            Kind::Control => control(process, &frame.payload),
            kind => Err(Fault::new(Code::InvalidFrame, format!("{kind:?} cannot come while attached."))),
        };
        if let Err(fault) = done {
            return fault.into();
        }
    }
}

fn control(process: &Process, payload: &[u8]) -> Result<(), Fault> {
    let value = serde_json::from_slice(payload).map_err(|_| Fault::invalid("CONTROL is not JSON."))?;
    let control: Control = params(value)?;
    match control.kind.as_str() {
        "resize" => set_size(process, control.size),
        _ => Err(Fault::invalid("CONTROL knows the type `resize` only.")),
    }
}

/// What writes a store: a process, whose output ends, or a service, whose log does not.
enum Source {
    Process(Rc<Process>),
    Service(Rc<crate::cell::service::Service>),
}

impl Source {
    fn find(agent: &Agent, id: &str) -> Result<Source, Fault> {
        match agent.services.find(id) {
            Some(service) => Ok(Source::Service(service)),
            None => agent.processes.get(id).map(Source::Process),
        }
    }

    fn store(&self) -> Rc<Store> {
        match self {
            Source::Process(process) => process.store.clone(),
            Source::Service(service) => service.store.clone(),
        }
    }

    fn ended(&self) -> bool {
        match self {
            Source::Process(process) => process.ended(),
            Source::Service(service) => service.gone(),
        }
    }

    fn head(&self, store: &Store, cursor: u64) -> Value {
        let first = store.first();
        json!({
            "first_cursor": first,
            "next_cursor": store.next(),
            "dropped_bytes": first.saturating_sub(cursor),
            "ended": self.ended(),
        })
    }

    fn end(&self) -> Value {
        match self {
            Source::Process(process) => json!({ "process": process.state() }),
            Source::Service(service) => json!({ "service": service.state() }),
        }
    }
}

/// Waits for `done`, which only output or the writer's end can bring about: both wake the store.
async fn wait_store(store: &Store, deadline: Instant, done: impl Fn() -> bool) {
    loop {
        let changed = store.changed.notified();
        if done() || tokio::time::timeout_at(deadline, changed).await.is_err() {
            return;
        }
    }
}

/// A cursor from before a restart may lie beyond what is kept: that is a mistake worth telling.
fn within(store: &Store, cursor: u64) -> Result<u64, Fault> {
    if cursor > store.next() {
        let next = store.next();
        return Err(Fault::invalid(format!("The cursor lies beyond the output, which ends at {next}. Use that.")));
    }
    Ok(cursor)
}

async fn send_range(conn: &Conn, store: &Rc<Store>, start: u64, end: u64, streams: Option<&[u8]>) -> Result<(), Gone> {
    let mut reader = Reader::new(store.clone(), start);
    while reader.cursor() < end {
        let most = (end - reader.cursor()).min(limits::CHUNK_BYTES as u64) as usize;
        match reader.next(most) {
            Some(Piece::Output { stream, bytes }) if streams.is_none_or(|wanted| wanted.contains(&stream)) => {
                conn.output(stream, &bytes).await?;
            }
            Some(Piece::Output { .. }) => {}
            Some(Piece::Dropped(bytes)) => conn.json(Kind::Event, &dropped(bytes)).await?,
            None => return Ok(()),
        }
    }
    Ok(())
}

/// Sends what comes until the writer has ended and everything was sent.
async fn follow_from(conn: &Conn, source: &Source, store: &Rc<Store>, cursor: u64) -> Result<(), Gone> {
    let mut reader = Reader::new(store.clone(), cursor);
    loop {
        let changed = store.changed.notified();
        let ended = source.ended();
        match reader.next(limits::CHUNK_BYTES) {
            Some(Piece::Output { stream, bytes }) => conn.output(stream, &bytes).await?,
            Some(Piece::Dropped(bytes)) => conn.json(Kind::Event, &dropped(bytes)).await?,
            None if ended => return Ok(()),
            None => changed.await,
        }
    }
}

fn dropped(bytes: u64) -> Value {
    json!({ "type": "dropped", "bytes": bytes })
}
