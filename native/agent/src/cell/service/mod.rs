//! Services: declared processes that are kept running, probed, restarted and stopped in order.

mod backoff;
pub mod methods;
mod probe;
mod run;
mod spec;
mod stop;

pub use stop::{shutdown, SHUTDOWN_GRACE};

use super::cgroup::Group;
use super::output::{found_segments, Budget, Directory, Store};
use super::reaper::Exit;
use super::{limits, sys};
use backoff::Backoff;
use serde_json::{json, Value};
use spec::{Desired, Spec};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::time::Instant;
use tokio::sync::Notify;

pub struct Service {
    pub id: String,
    pub store: Rc<Store>,
    directory: Directory,
    spec: RefCell<Rc<Spec>>,
    wanted: Cell<Wanted>,
    /// Counts changes of `spec` and `wanted`: a run that began under an older number stops.
    generation: Cell<u64>,
    command: Notify,
    status: RefCell<Status>,
    backoff: RefCell<Backoff>,
    /// Woken by each change of the status.
    changed: Notify,
    group: RefCell<Option<Group>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wanted {
    /// What the spec says.
    AsDesired,
    /// Stopped by a shutdown.
    Stopped,
    /// No longer listed.
    Removed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Stopped,
    Waiting,
    Starting,
    Ready,
    Unhealthy,
    Backoff,
    Stopping,
    Failed,
}

#[derive(Default)]
struct Status {
    state: Option<State>,
    reason: Option<String>,
    pid: Option<i32>,
    exit: Option<Exit>,
    started_at_ms: Option<u64>,
    ready_at_ms: Option<u64>,
    next_start_at_ms: Option<u64>,
}

impl Service {
    fn new(spec: Spec, directory: Directory, budget: Budget) -> Service {
        let limit = spec.output_limit_bytes.clamp(limits::OUTPUT_LIMIT_MIN_BYTES, limits::OUTPUT_LIMIT_MAX_BYTES);
        // The log of an earlier start of the cell goes on.
        let segments = found_segments(&directory, &mut (2 * limit));
        if segments.is_empty() {
            let _ = directory.create();
        }
        let first = (spec.desired == Desired::Running).then_some(State::Starting);
        Service {
            id: spec.id.clone(),
            store: Store::resume(directory.clone(), limit, budget, segments, 0),
            directory,
            spec: RefCell::new(Rc::new(spec)),
            wanted: Cell::new(Wanted::AsDesired),
            generation: Cell::new(0),
            command: Notify::new(),
            status: RefCell::new(Status { state: first, ..Status::default() }),
            backoff: RefCell::default(),
            changed: Notify::new(),
            group: RefCell::new(None),
        }
    }

    pub fn gone(&self) -> bool {
        self.wanted.get() == Wanted::Removed && self.current() == State::Stopped
    }

    pub fn state(&self) -> Value {
        let status = self.status.borrow();
        let spec = self.spec.borrow();
        json!({
            "id": self.id,
            "name": spec.name,
            "state": name(self.current()),
            "reason": status.reason,
            "pid": status.pid,
            "restarts": self.backoff.borrow().restarts(Instant::now()),
            "exit": status.exit.map(Exit::json),
            "started_at_ms": status.started_at_ms,
            "ready_at_ms": status.ready_at_ms,
            "next_start_at_ms": status.next_start_at_ms,
            "output_bytes": self.store.next(),
        })
    }

    fn current(&self) -> State {
        self.status.borrow().state.unwrap_or(State::Stopped)
    }

    fn set(&self, state: State, change: impl FnOnce(&mut Status)) {
        let mut status = self.status.borrow_mut();
        status.state = Some(state);
        status.next_start_at_ms = None;
        change(&mut status);
        drop(status);
        self.changed.notify_waiters();
        self.store.changed.notify_waiters();
    }

    /// Makes the supervising task look again at what is wanted, as if it had never failed. What it does first is told at once: who still
    /// read that a service is stopped would start it a second time, and who read that it is ready would not wait for it.
    fn bump(&self) {
        self.generation.set(self.generation.get() + 1);
        self.backoff.take();
        let runs = self.wanted.get() == Wanted::AsDesired && self.spec.borrow().desired == Desired::Running;
        let next = match self.current() {
            State::Starting | State::Ready | State::Unhealthy | State::Stopping => State::Stopping,
            State::Stopped | State::Waiting | State::Backoff | State::Failed if runs => State::Starting,
            State::Stopped | State::Waiting | State::Backoff | State::Failed => State::Stopped,
        };
        self.set(next, |status| status.reason = None);
        self.command.notify_waiters();
    }

    /// Waits until something else is wanted than when `generation` was current.
    async fn superseded(&self, generation: u64) {
        loop {
            let command = self.command.notified();
            if self.generation.get() != generation {
                return;
            }
            command.await;
        }
    }
}

fn name(state: State) -> &'static str {
    match state {
        State::Stopped => "stopped",
        State::Waiting => "waiting",
        State::Starting => "starting",
        State::Ready => "ready",
        State::Unhealthy => "unhealthy",
        State::Backoff => "backoff",
        State::Stopping => "stopping",
        State::Failed => "failed",
    }
}

/// The set that control has applied last.
pub struct Services {
    dir: Rc<OwnedFd>,
    revision: Cell<u64>,
    services: RefCell<BTreeMap<String, Rc<Service>>>,
    /// Ids in the order of starting.
    order: RefCell<Vec<String>>,
}

impl Services {
    pub fn new(dir: OwnedFd) -> Services {
        Services { dir: Rc::new(dir), revision: Cell::new(0), services: RefCell::default(), order: RefCell::default() }
    }

    pub fn find(&self, id: &str) -> Option<Rc<Service>> {
        self.services.borrow().get(id).cloned()
    }

    pub fn len(&self) -> usize {
        self.services.borrow().len()
    }

    /// The processes of each service.
    pub fn members(&self) -> Vec<(i32, String)> {
        let mut members = Vec::new();
        for service in self.services.borrow().values() {
            if let Some(group) = service.group.borrow().as_ref() {
                members.extend(group.members().into_iter().map(|pid| (pid, service.id.clone())));
            }
        }
        members
    }

    fn all(&self) -> Vec<Rc<Service>> {
        self.services.borrow().values().cloned().collect()
    }

    fn directory(&self, id: &str) -> std::io::Result<Directory> {
        Ok(Directory::new(self.dir.clone(), sys::text(id)?))
    }
}
