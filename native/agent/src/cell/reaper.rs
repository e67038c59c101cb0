use super::sys;
use serde_json::{json, Value};
use std::cell::RefCell;
use std::collections::HashMap;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use tokio::sync::{oneshot, Notify};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    Exited(i32),
    Signaled(i32),
    /// The cell ended before the exit could be seen.
    Lost,
}

impl Exit {
    pub fn json(self) -> Value {
        match self {
            Exit::Exited(code) => json!({"kind": "exited", "code": code}),
            Exit::Signaled(signal) => json!({"kind": "signaled", "signal": signal}),
            Exit::Lost => json!({"kind": "lost"}),
        }
    }

    pub fn from_json(value: &Value) -> Option<Exit> {
        let number = |name: &str, most: i64| {
            value.get(name)?.as_i64().filter(|number| (0..=most).contains(number)).map(|number| number as i32)
        };
        match value.get("kind")?.as_str()? {
            "exited" => number("code", 255).map(Exit::Exited),
            "signaled" => number("signal", 64).filter(|signal| *signal > 0).map(Exit::Signaled),
            "lost" => Some(Exit::Lost),
            _ => None,
        }
    }
}

/// Collects every dead child, ours and the orphans that a PID 1 inherits.
#[derive(Default)]
pub struct Reaper {
    awaited: RefCell<HashMap<i32, oneshot::Sender<Exit>>>,
    /// An orphan was reaped: a group may have become empty.
    pub orphans: Notify,
}

impl Reaper {
    /// Must be called before the loop runs again after the fork, so that no exit is missed.
    pub fn expect(&self, pid: i32) -> oneshot::Receiver<Exit> {
        let (give, take) = oneshot::channel();
        self.awaited.borrow_mut().insert(pid, give);
        take
    }

    /// Serves the signal descriptor until a signal asks this process to end.
    pub async fn run(&self, signals: OwnedFd) -> io::Result<()> {
        let signals = sys::watched(signals)?;
        loop {
            let mut ready = signals.readable().await?;
            let mut info = [0u8; 128];
            match sys::read(signals.as_raw_fd(), &mut info) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    ready.clear_ready();
                    continue;
                }
                Err(error) => return Err(error),
            }
            let word =
                |at: usize| info.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map_or(0, i32::from_ne_bytes);
            // Layout of signalfd_siginfo: signal number first, at 8 who made it, at 12 the sender's pid (0: from outside the cell). A
            // queued signal carries the pid that its sender wrote there.
            let (signal, code, sender) = (word(0), word(8), word(12));
            self.collect();
            // SAFETY: plain call.
            let first_of_cell = unsafe { libc::getpid() } == 1;
            let from_outside = code == libc::SI_USER && sender == 0;
            if signal != libc::SIGCHLD && (from_outside || !first_of_cell) {
                return Ok(());
            }
        }
    }

    fn collect(&self) {
        loop {
            let mut status = 0;
            // SAFETY: the status is ours to fill.
            let pid = unsafe { libc::waitpid(-1, &mut status, libc::WNOHANG) };
            if pid <= 0 {
                return;
            }
            let exit = if libc::WIFEXITED(status) {
                Exit::Exited(libc::WEXITSTATUS(status))
            } else {
                Exit::Signaled(libc::WTERMSIG(status))
            };
            match self.awaited.borrow_mut().remove(&pid) {
                Some(waiter) => drop(waiter.send(exit)),
                None => self.orphans.notify_waiters(),
            }
        }
    }
}
