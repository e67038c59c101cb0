//! The methods `processes.*` that answer with one result.

use super::start::{self, with_group, Spec};
use super::{pty, Process};
use crate::cell::agent::Agent;
use crate::cell::cgroup::Group;
use crate::cell::conn::Conn;
use crate::cell::fault::{Code, Fault, Stop};
use crate::cell::frames::Kind;
use crate::cell::limits;
use crate::cell::params::params;
use crate::cell::sys;
use serde::Deserialize;
use serde_json::{json, Value};
use std::os::fd::AsRawFd;
use std::rc::Rc;
use std::time::Duration;

pub use super::streams::{attach, follow, read, run};

pub async fn start(agent: &Rc<Agent>, value: Value) -> Result<Value, Fault> {
    let (process, existed) = start::start(agent, params::<Spec>(value)?).await?;
    let mut state = process.state();
    state["existed"] = json!(existed);
    Ok(state)
}

#[derive(Deserialize)]
struct Get {
    id: String,
    #[serde(default)]
    wait_ms: u64,
}

pub async fn get(agent: &Rc<Agent>, value: Value) -> Result<Value, Fault> {
    let get: Get = params(value)?;
    let process = agent.processes.get(&get.id)?;
    wait_end(&process, get.wait_ms).await;
    Ok(process.state())
}

/// Waits until the process has ended, at most this long.
async fn wait_end(process: &Process, wait_ms: u64) {
    let end = async {
        loop {
            let changed = process.changed.notified();
            if process.ended() {
                return;
            }
            changed.await;
        }
    };
    let _ = tokio::time::timeout(Duration::from_millis(wait_ms.min(limits::WAIT_MS)), end).await;
}

/// As many as fit an answer: whatever records the cell's own processes have left, one that runs is always among them.
pub async fn list(agent: &Rc<Agent>, _: Value) -> Result<Value, Fault> {
    let mut processes = agent.processes.list();
    processes.sort_by_key(|process| process.ended());
    let mut bytes = 0;
    let mut listed: Vec<(u64, Value)> = processes
        .iter()
        .take(limits::KEPT_PROCESSES)
        .map(|process| (process.sequence, process.state()))
        .take_while(|(_, state)| {
            bytes += state.to_string().len();
            bytes <= limits::LISTED_BYTES
        })
        .collect();
    listed.sort_by_key(|(sequence, _)| std::cmp::Reverse(*sequence));
    let states: Vec<Value> = listed.into_iter().map(|(_, state)| state).collect();
    Ok(json!({ "processes": states }))
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Scope {
    Process,
    All,
    Kill,
}

#[derive(Deserialize)]
struct Signal {
    id: String,
    signal: i32,
    scope: Scope,
}

pub async fn signal(agent: &Rc<Agent>, value: Value) -> Result<Value, Fault> {
    let wanted: Signal = params(value)?;
    if !(1..=64).contains(&wanted.signal) {
        return Err(Fault::invalid("`signal` is a number from 1 to 64, such as 15 for SIGTERM."));
    }
    let process = agent.processes.get(&wanted.id)?;
    match wanted.scope {
        Scope::Process => match process.life.get().pid {
            // It is not reaped yet, so the number is still its own.
            Some(pid) => sys::kill(pid, wanted.signal).map_err(|error| Fault::io("signal the process", &error))?,
            None => return Err(ended()),
        },
        Scope::All | Scope::Kill if process.group.borrow().is_none() => return Err(ended()),
        Scope::All => with_group(&process, |group| {
            group.signal(wanted.signal);
        }),
        Scope::Kill => {
            with_group(&process, Group::kill);
            wait_end(&process, 1000).await;
        }
    }
    Ok(process.state())
}

#[derive(Deserialize)]
struct Resize {
    id: String,
    #[serde(flatten)]
    size: pty::Size,
}

pub async fn resize(agent: &Rc<Agent>, value: Value) -> Result<Value, Fault> {
    let wanted: Resize = params(value)?;
    let process = agent.processes.get(&wanted.id)?;
    set_size(&process, wanted.size)?;
    Ok(process.state())
}

pub fn set_size(process: &Process, size: pty::Size) -> Result<(), Fault> {
    if size.columns == 0 || size.rows == 0 {
        return Err(Fault::invalid("A terminal has at least one column and one row."));
    }
    if !process.pty {
        return Err(Fault::new(Code::NoPty, "This process has no terminal. Start it with `pty` to give it one."));
    }
    let terminal = process.terminal.borrow().clone().ok_or_else(ended)?;
    pty::resize(terminal.as_raw_fd(), size).map_err(|error| Fault::io("resize the terminal", &error))
}

#[derive(Deserialize)]
struct Forget {
    ids: Vec<String>,
}

pub async fn forget(agent: &Rc<Agent>, value: Value) -> Result<Value, Fault> {
    let wanted: Forget = params(value)?;
    let forgotten: Vec<&String> = wanted.ids.iter().filter(|id| agent.processes.forget(id)).collect();
    Ok(json!({ "forgotten": forgotten.len() }))
}

#[derive(Deserialize)]
struct Write {
    id: String,
    #[serde(default)]
    close: bool,
}

pub async fn write(agent: &Rc<Agent>, conn: &Conn, value: Value) -> Result<(), Stop> {
    let wanted: Write = params(value)?;
    let process = agent.processes.get(&wanted.id)?;
    let mut accepted = 0u64;
    loop {
        let frame = conn.read().await?;
        match frame.kind {
            Kind::Data => {
                process.input.write(&frame.payload).await?;
                accepted += frame.payload.len() as u64;
            }
            Kind::End => break,
            kind => {
                return Err(
                    Fault::new(Code::InvalidFrame, format!("{kind:?} cannot come here; DATA or END can.")).into()
                )
            }
        }
    }
    if wanted.close {
        process.input.close();
    }
    conn.json(Kind::Result, &json!({ "accepted_bytes": accepted })).await?;
    Ok(())
}

fn ended() -> Fault {
    Fault::new(Code::ProcessEnded, "The process has ended already. Read its output, or start it anew under another id.")
}
