//! A child forked ahead of time, in a fresh group of its own, that waits to be told what to become.
//!
//! On most hosts the kernel takes 4 to 20 ms to move a process into another cgroup, so an exec must not wait for it. clone3 with
//! CLONE_INTO_CGROUP is not for us: no filter can look at its flags, and the agent's filter is the whole cell's. A child that shares our
//! memory (vfork) would cost less than a forked one, but who kills it for want of memory kills all that share it, which is PID 1.

use super::command::Prepared;
use super::exec::{self, Plan};
use super::shared::{Shared, CALLED_OFF, TAKEN};
use crate::cell::agent::Agent;
use crate::cell::boot::BLOCKED;
use crate::cell::cgroup::{Group, Groups};
use crate::cell::limits;
use crate::cell::reaper::{Exit, Reaper};
use crate::cell::sys;
use std::cell::RefCell;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::rc::Rc;
use std::time::Duration;
use tokio::io::unix::AsyncFd;
use tokio::sync::{oneshot, Notify};

/// One that does not take its plan within this time (stopped or starved by the cell's own processes) is given up.
const TAKE_WITHIN: Duration = Duration::from_secs(1);
/// One that has taken its plan and does not say within this time what came of it was stopped by the cell's own processes, and is ended.
const SAY_WITHIN: Duration = Duration::from_secs(10);
/// After a use by something that is no call, such as a service's restart.
const REFILL_AFTER: Duration = Duration::from_millis(100);

/// Descriptors handed over with a plan: the three standard ones and the working directory.
const HANDED: usize = 4;

pub struct Spare {
    pid: i32,
    exit: oneshot::Receiver<Exit>,
    group: Group,
    talk: AsyncFd<OwnedFd>,
    shared: Shared,
}

/// What came of a plan that was handed over.
pub enum Handed {
    Executed,
    /// The step that failed, and its errno.
    Failed(i32, i32),
    /// Nothing of the plan was executed, nor ever will be.
    NotTaken,
}

#[derive(Default)]
pub struct Spares {
    waiting: RefCell<Vec<Spare>>,
    wanted: Notify,
}

impl Spares {
    /// One that still lives, when there is one.
    pub fn take(&self) -> Option<Spare> {
        self.sweep();
        self.waiting.borrow_mut().pop()
    }

    pub fn len(&self) -> usize {
        self.sweep();
        self.waiting.borrow().len()
    }

    /// To be called when nobody waits for an answer: making one holds the kernel's forks and exits up.
    pub fn refill(&self) {
        self.wanted.notify_one();
    }

    pub fn clear(&self) {
        self.waiting.take().into_iter().for_each(Spare::discard);
    }

    /// The cell's own processes may kill them at any time.
    fn sweep(&self) {
        let (alive, dead) = self.waiting.take().into_iter().partition(Spare::is_alive);
        self.waiting.replace(alive);
        let dead: Vec<Spare> = dead;
        dead.into_iter().for_each(Spare::discard);
    }
}

/// Keeps as many as the limit says, from now until the agent closes.
pub async fn keep(agent: Rc<Agent>) {
    let spares = &agent.spawner.spares;
    loop {
        while !agent.closing.get() && spares.len() < limits::SPARE_CHILDREN {
            // Without room for it every start forks for itself.
            let Ok(spare) = Spare::fork(&agent.reaper, &agent.groups) else { break };
            spares.waiting.borrow_mut().push(spare);
        }
        spares.wanted.notified().await;
    }
}

/// Starts a refill after a while, for uses that no call's end follows soon.
pub fn refill_later(agent: &Rc<Agent>) {
    let agent = agent.clone();
    tokio::task::spawn_local(async move {
        tokio::time::sleep(REFILL_AFTER).await;
        agent.spawner.spares.refill();
    });
}

impl Spare {
    fn fork(reaper: &Reaper, groups: &Groups) -> io::Result<Spare> {
        let (ours, theirs) = sys::socket_pair()?;
        sys::set_nonblocking(ours.as_fd())?;
        let talk = sys::watched(ours)?;
        let shared = Shared::new()?;
        let group = groups.create()?;
        let heap = own_heap();
        let child = group.entrance().and_then(|entrance| {
            let entrance = entrance.as_ref().map_or(-1, AsRawFd::as_raw_fd);
            // SAFETY: the child only runs `wait`, which keeps to async-signal-safe calls.
            match unsafe { libc::fork() } {
                0 => unsafe { wait(&shared, theirs.as_raw_fd(), entrance, heap) },
                pid => sys::check(pid),
            }
        });
        match child {
            Ok(pid) => {
                group.set_leader(pid);
                Ok(Spare { pid, exit: reaper.expect(pid), group, talk, shared })
            }
            Err(error) => {
                group.remove();
                Err(error)
            }
        }
    }

    /// Hands `plan` over and waits until it was executed or failed.
    pub async fn become_program(&self, plan: Plan, prepared: &Prepared) -> Handed {
        let [stdin, stdout, stderr] = plan.stdio;
        let handed: [RawFd; HANDED] = [stdin, stdout, stderr, plan.cwd];
        if !self.shared.lay(plan, prepared) || sys::send_descriptors(self.talk.as_raw_fd(), &handed).is_err() {
            return Handed::NotTaken;
        }
        let mut report = std::pin::pin!(super::spawn::read_report(&self.talk));
        let heard = match tokio::time::timeout(TAKE_WITHIN, &mut report).await {
            Ok(heard) => heard,
            Err(_elapsed) if self.shared.claim(CALLED_OFF) => return Handed::NotTaken,
            Err(_elapsed) => match tokio::time::timeout(SAY_WITHIN, &mut report).await {
                Ok(heard) => heard,
                // Whoever asked discards it.
                Err(_elapsed) => return Handed::Failed(exec::Step::Setup as i32, libc::ETIMEDOUT),
            },
        };
        match heard {
            Ok(Some((step, errno))) => Handed::Failed(step, errno),
            _ if self.shared.turn() == TAKEN => Handed::Executed,
            _ => Handed::NotTaken,
        }
    }

    pub fn into_parts(self) -> (i32, oneshot::Receiver<Exit>, Group) {
        (self.pid, self.exit, self.group)
    }

    /// Ends it and clears its group away.
    pub fn discard(self) {
        tokio::task::spawn_local(async move {
            self.group.kill();
            self.group.clear().await;
        });
    }

    fn is_alive(&self) -> bool {
        self.exit.is_empty() && !self.exit.is_terminated()
    }
}

/// The child's side. Nobody looks into it meanwhile: but for the moment in which it writes its own score for want of memory it is as
/// little dumpable as the agent.
///
/// # Safety
/// Only in a fresh child of `fork`.
unsafe fn wait(shared: &Shared, talk: RawFd, entrance: RawFd, heap: (usize, usize)) -> ! {
    // SAFETY: only async-signal-safe calls; nothing here or after touches the heap.
    unsafe {
        if !exec::enter(entrance) {
            libc::_exit(127);
        }
        exec::close_others(talk, talk);
        let (start, length) = heap;
        libc::madvise(start as *mut libc::c_void, length, libc::MADV_DONTNEED);
        let mut handed = [-1; HANDED];
        // Without a plan the agent is gone or wants it no more.
        if !sys::receive_descriptors(talk, &mut handed) || !shared.claim(TAKEN) {
            libc::_exit(0);
        }
        // What the cell sent while these were blocked was not meant for the program. Ignoring a signal throws it away.
        for signal in BLOCKED {
            exec::set_action(signal, libc::SIG_IGN);
        }
        let [stdin, stdout, stderr, cwd] = handed;
        exec::run(&Plan { stdio: [stdin, stdout, stderr], cwd, error: talk, ..shared.plan() })
    }
}

/// Start and length of the agent's heap behind what its thread keeps there: the child gives its copy back, or each page that the agent
/// writes later would be kept twice.
fn own_heap() -> (usize, usize) {
    const PAGE: usize = 4096;
    // SAFETY: plain calls. The thread's own data, errno among it, is the first thing on the heap of a static program.
    let (thread, end) = unsafe { (libc::__errno_location() as usize, libc::sbrk(0) as usize) };
    let start = thread.next_multiple_of(PAGE) + 2 * PAGE;
    let is_heap = thread < end && end - thread < 1 << 30;
    (start, if is_heap { end.saturating_sub(start) / PAGE * PAGE } else { 0 })
}
