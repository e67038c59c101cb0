use super::{State, Wanted};
use crate::cell::agent::Agent;
use crate::cell::cgroup::Group;
use crate::cell::process::with_group;
use std::rc::Rc;
use std::time::Duration;
use tokio::time::Instant;

/// What a cell's end leaves its services and processes when nobody says how long.
pub const SHUTDOWN_GRACE: Duration = Duration::from_secs(10);

/// Ends services in reverse order, then all processes: asks, waits for what is left of the grace, kills. Nothing new
/// starts from here on. Returns how many there were.
pub async fn shutdown(agent: &Rc<Agent>, grace: Duration) -> usize {
    agent.closing.set(true);
    agent.spawner.spares.clear();
    let deadline = Instant::now() + grace;
    let mut order = agent.services.order.borrow().clone();
    order.reverse();
    let mut stopped = 0;
    for id in order {
        let Some(service) = agent.services.find(&id) else { continue };
        stopped += usize::from(service.current() != State::Stopped);
        service.wanted.set(Wanted::Stopped);
        service.bump();
        loop {
            let changed = service.changed.notified();
            if service.current() == State::Stopped {
                break;
            }
            if tokio::time::timeout_at(deadline, changed).await.is_err() {
                if let Some(group) = service.group.borrow().as_ref() {
                    group.kill();
                }
                let _ = tokio::time::timeout(Duration::from_millis(500), service.changed.notified()).await;
                break;
            }
        }
    }
    stopped + end_processes(agent, deadline).await
}

async fn end_processes(agent: &Agent, deadline: Instant) -> usize {
    let alive: Vec<_> = agent.processes.list().into_iter().filter(|process| process.group.borrow().is_some()).collect();
    for process in &alive {
        with_group(process, |group| {
            group.signal(libc::SIGTERM);
        });
    }
    for process in &alive {
        while process.group.borrow().as_ref().is_some_and(Group::populated) {
            let changed = process.changed.notified();
            let until = deadline.min(Instant::now() + Duration::from_millis(100));
            if tokio::time::timeout_at(until, changed).await.is_err() && Instant::now() >= deadline {
                with_group(process, Group::kill);
                let _ = tokio::time::timeout(Duration::from_millis(500), process.changed.notified()).await;
                break;
            }
        }
    }
    alive.len()
}
