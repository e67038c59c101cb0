use super::{Service, State, Wanted};
use crate::cell::agent::Agent;
use crate::cell::cgroup::Group;
use crate::cell::process::{with_group, Process};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;
use tokio::time::Instant;

/// What a cell's end leaves its services and processes when nobody says how long.
pub const SHUTDOWN_GRACE: Duration = Duration::from_secs(10);

/// Ends services in reverse order of `after`, those that wait for nobody together, then all processes: asks, waits, kills. Nothing new
/// starts from here on. Of the grace each turn leaves the later ones a share: what came first would otherwise, by hanging, have
/// what others need (a database) killed without a word. Returns how many there were.
pub async fn shutdown(agent: &Rc<Agent>, grace: Duration) -> usize {
    agent.closing.set(true);
    agent.spawner.spares.clear();
    let deadline = Instant::now() + grace;
    let turns = turns(agent);
    let shares = turns.len() + usize::from(alive(agent).next().is_some());
    let share = grace / u32::try_from(2 * shares.max(1)).unwrap_or(u32::MAX);
    let mut stopped = 0;
    for (turn, services) in turns.iter().enumerate() {
        let later = u32::try_from(shares - turn - 1).unwrap_or(u32::MAX);
        stopped += end_services(services, deadline - share * later).await;
    }
    stopped + end_processes(agent, deadline).await
}

/// Who stops when: first those that nobody comes after, then those that only these came after, and so on.
fn turns(agent: &Agent) -> Vec<Vec<Rc<Service>>> {
    let order = agent.services.order.borrow();
    let services: Vec<Rc<Service>> = order.iter().rev().filter_map(|id| agent.services.find(id)).collect();
    let mut turn_of: BTreeMap<String, usize> = BTreeMap::new();
    let mut turns: Vec<Vec<Rc<Service>>> = Vec::new();
    for service in services {
        let turn = turn_of.get(&service.id).copied().unwrap_or(0);
        for id in &service.spec.borrow().after {
            let waits = turn_of.entry(id.clone()).or_default();
            *waits = (*waits).max(turn + 1);
        }
        if turns.len() <= turn {
            turns.resize_with(turn + 1, Vec::new);
        }
        turns[turn].push(service);
    }
    turns
}

async fn end_services(services: &[Rc<Service>], until: Instant) -> usize {
    let running = services.iter().filter(|service| service.current() != State::Stopped).count();
    for service in services {
        service.wanted.set(Wanted::Stopped);
        service.bump();
    }
    for service in services {
        loop {
            let changed = service.changed.notified();
            if service.current() == State::Stopped {
                break;
            }
            if tokio::time::timeout_at(until, changed).await.is_err() {
                if let Some(group) = service.group.borrow().as_ref() {
                    group.kill();
                }
                let _ = tokio::time::timeout(Duration::from_millis(500), service.changed.notified()).await;
                break;
            }
        }
    }
    running
}

fn alive(agent: &Agent) -> impl Iterator<Item = Rc<Process>> {
    agent.processes.list().into_iter().filter(|process| process.group.borrow().is_some())
}

async fn end_processes(agent: &Agent, deadline: Instant) -> usize {
    let alive: Vec<_> = alive(agent).collect();
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
