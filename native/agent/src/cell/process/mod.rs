//! Processes: one execution each, in a group of its own, with captured output and a true exit status.

pub mod capture;
pub mod command;
mod exec;
mod input;
pub mod methods;
mod pty;
mod record;
mod shared;
pub mod spare;
pub mod spawn;
mod start;
mod streams;
mod table;

pub use start::{plain_descriptors, with_group};
pub use table::{check_id, Table};

use super::cgroup::Group;
use super::output::Store;
use super::reaper::Exit;
use input::Input;
use serde_json::{json, Value};
use std::cell::{Cell, RefCell};
use std::os::fd::OwnedFd;
use std::rc::Rc;
use tokio::io::unix::AsyncFd;
use tokio::sync::Notify;

pub struct Process {
    pub id: String,
    /// Order of starting, also over restarts of the cell.
    pub sequence: u64,
    pub command: String,
    pub pty: bool,
    pub started_at_ms: u64,
    pub life: Cell<Life>,
    pub store: Rc<Store>,
    /// Absent once everything in it is gone.
    pub group: RefCell<Option<Group>>,
    pub input: Input,
    pub terminal: RefCell<Option<Rc<AsyncFd<OwnedFd>>>>,
    /// Woken when it has ended.
    pub changed: Notify,
}

/// What changes while a process lives.
#[derive(Debug, Clone, Copy, Default)]
pub struct Life {
    /// The first process, until it is reaped.
    pub pid: Option<i32>,
    pub exit: Option<Exit>,
    pub timed_out: bool,
    pub out_of_memory: bool,
    /// The first process has ended, others of its group have not.
    pub background: bool,
    pub ended_at_ms: Option<u64>,
}

impl Process {
    pub fn ended(&self) -> bool {
        self.life.get().ended_at_ms.is_some()
    }

    pub fn update(&self, change: impl FnOnce(&mut Life)) {
        let mut life = self.life.get();
        change(&mut life);
        self.life.set(life);
    }

    pub fn state(&self) -> Value {
        let life = self.life.get();
        json!({
            "id": self.id,
            "pid": life.pid,
            "command": self.command,
            "state": if self.ended() { "ended" } else { "running" },
            "exit": life.exit.filter(|_| self.ended()).map(Exit::json),
            "timed_out": life.timed_out,
            "out_of_memory": life.out_of_memory,
            "background": life.background,
            "pty": self.pty,
            "stdin_open": self.input.is_open(),
            "started_at_ms": self.started_at_ms,
            "ended_at_ms": life.ended_at_ms,
            "output_bytes": self.store.next(),
            "dropped_bytes": self.store.dropped(),
        })
    }
}
