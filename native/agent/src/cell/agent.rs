use super::blocking::Pool;
use super::cgroup::Groups;
use super::output::Budget;
use super::process::capture::Scratch;
use super::process::spawn::Spawner;
use super::process::Table;
use super::reaper::Reaper;
use super::service::Services;
use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use tokio::sync::Notify;

/// All that calls share. It lives on the one thread of the loop.
pub struct Agent {
    /// New for each start of the cell.
    pub boot: String,
    pub started_at_ms: u64,
    pub pool: Pool,
    pub groups: Groups,
    pub reaper: Reaper,
    pub spawner: Spawner,
    pub scratch: Scratch,
    pub held: Budget,
    pub processes: Table,
    pub services: Services,
    /// Set by `services.shutdown`: nothing new starts.
    pub closing: Cell<bool>,
    pub watch_calls: Cell<usize>,
    /// Calls that have come, and a knock at each.
    pub calls: Cell<u64>,
    pub called: Notify,
    pub starting: RefCell<HashSet<String>>,
}

/// Held while a process of this id is being started.
pub struct Starting<'a> {
    agent: &'a Agent,
    id: String,
}

impl Agent {
    /// The same id twice at once must not start two processes: none while another call starts it.
    pub fn claim_start(&self, id: &str) -> Option<Starting<'_>> {
        let is_first = self.starting.borrow_mut().insert(id.to_owned());
        is_first.then(|| Starting { agent: self, id: id.to_owned() })
    }
}

impl Drop for Starting<'_> {
    fn drop(&mut self) {
        self.agent.starting.borrow_mut().remove(&self.id);
    }
}
