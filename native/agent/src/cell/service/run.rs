//! The task that supervises one service, from its first start until it is removed.

use super::probe;
use super::spec::{Desired, Policy, Probe, Spec};
use super::{Service, State, Wanted};
use crate::cell::agent::Agent;
use crate::cell::cgroup::Group;
use crate::cell::clock::now_ms;
use crate::cell::fault::Fault;
use crate::cell::process::plain_descriptors;
use crate::cell::process::spare::refill_later;
use crate::cell::process::spawn::Spawned;
use crate::cell::reaper::Exit;
use crate::cell::sys;
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

enum Outcome {
    /// It ended by itself, or was ended because it is not alive: the reason, when there is more than the exit says.
    Ended(Option<String>),
    /// Something else is wanted now; it was stopped.
    Superseded,
}

pub async fn supervise(agent: Rc<Agent>, service: Rc<Service>) {
    loop {
        let generation = service.generation.get();
        let spec = service.spec.borrow().clone();
        let wanted = service.wanted.get();
        if wanted == Wanted::Removed {
            break;
        }
        if wanted == Wanted::Stopped || spec.desired == Desired::Stopped {
            service.set(State::Stopped, |status| status.reason = None);
            service.superseded(generation).await;
            continue;
        }
        let outcome = tokio::select! {
            () = ready_before(&agent, &service, &spec) => run_once(&agent, &service, &spec, generation).await,
            () = service.superseded(generation) => Outcome::Superseded,
        };
        let reason = match outcome {
            Outcome::Superseded => continue,
            // While it was taken away: how it ended no longer matters.
            Outcome::Ended(_) if service.generation.get() != generation => continue,
            Outcome::Ended(reason) => reason,
        };
        if !restarts(&spec, &service, reason.is_some()) {
            service.set(State::Stopped, |status| status.reason = reason);
            service.superseded(generation).await;
            continue;
        }
        let delay = service.backoff.borrow_mut().next(&spec.restart, Instant::now(), chance());
        match delay {
            None => {
                let limit = spec.restart.limit;
                let told = reason.map_or(String::new(), |reason| format!(" Last: {reason}."));
                let text = format!(
                    "It was restarted {limit} times within ten minutes.{told} Read its log, mend it, restart it."
                );
                service.set(State::Failed, |status| status.reason = Some(text));
                service.superseded(generation).await;
            }
            Some(delay) => {
                service.set(State::Backoff, |status| {
                    status.reason = reason;
                    status.next_start_at_ms = Some(now_ms() + delay.as_millis() as u64);
                });
                let _ = tokio::time::timeout(delay, service.superseded(generation)).await;
            }
        }
    }
    service.set(State::Stopped, |status| status.reason = None);
    service.store.close();
    service.directory.remove();
}

/// Waits for the services that this one comes after.
async fn ready_before(agent: &Agent, service: &Service, spec: &Spec) {
    for id in &spec.after {
        let Some(other) = agent.services.find(id) else { continue };
        loop {
            let changed = other.changed.notified();
            if other.current() == State::Ready {
                break;
            }
            service.set(State::Waiting, |status| status.reason = Some(format!("It waits for {id} to be ready.")));
            changed.await;
        }
    }
}

async fn run_once(agent: &Rc<Agent>, service: &Rc<Service>, spec: &Spec, generation: u64) -> Outcome {
    service.set(State::Starting, |status| {
        status.reason = None;
        status.exit = None;
        status.ready_at_ms = None;
        status.started_at_ms = Some(now_ms());
    });
    service.backoff.borrow_mut().begin(Instant::now());
    let (pid, mut exit) = match spawn(agent, service, spec).await {
        Ok(spawned) => spawned,
        Err(fault) => return Outcome::Ended(Some(fault.message)),
    };
    service.set(State::Starting, |status| status.pid = Some(pid));
    let outcome = tokio::select! {
        ended = &mut exit => {
            finish(service, ended.unwrap_or(Exit::Lost)).await;
            Outcome::Ended(None)
        }
        reason = health(service, spec) => {
            stop(service, spec, exit).await;
            Outcome::Ended(Some(reason))
        }
        () = service.superseded(generation) => {
            stop(service, spec, exit).await;
            Outcome::Superseded
        }
    };
    outcome
}

async fn spawn(agent: &Rc<Agent>, service: &Service, spec: &Spec) -> Result<(i32, oneshot::Receiver<Exit>), Fault> {
    let command = spec.command();
    let prepared = command.prepare(false)?;
    let (io, outputs) = plain_descriptors().map_err(|error| Fault::io("make the service's pipes", &error))?;
    let spawned = agent.spawner.spawn(&agent.reaper, &agent.groups, &command, &prepared, io).await;
    refill_later(agent);
    let Spawned { pid, exit, group } = spawned?;
    service.group.replace(Some(group));
    for (stream, end) in outputs {
        let (store, scratch) = (service.store.clone(), agent.scratch.clone());
        tokio::task::spawn_local(crate::cell::process::capture::capture(end, stream, store, scratch));
    }
    Ok((pid, exit))
}

/// Probes it while it runs; returns why it must be restarted.
async fn health(service: &Service, spec: &Spec) -> String {
    let Some(readiness) = &spec.readiness else {
        become_ready(service);
        return alive(spec).await;
    };
    let mut failed = 0;
    while let Err(reason) = probe::ask(readiness).await {
        service.set(State::Starting, |status| status.reason = Some(reason));
        pause(readiness).await;
    }
    become_ready(service);
    tokio::select! {
        reason = alive(spec) => reason,
        () = async {
            loop {
                pause(readiness).await;
                match probe::ask(readiness).await {
                    Ok(()) => {
                        failed = 0;
                        if service.current() == State::Unhealthy {
                            become_ready(service);
                        }
                    }
                    Err(reason) => {
                        failed += 1;
                        if failed >= readiness.failures {
                            service.set(State::Unhealthy, |status| status.reason = Some(reason));
                        }
                    }
                }
            }
        } => String::new(),
    }
}

/// Returns once liveness has failed as often as it may; never, when none is asked for.
async fn alive(spec: &Spec) -> String {
    let Some(liveness) = &spec.liveness else { return std::future::pending().await };
    let mut failed = 0;
    loop {
        pause(liveness).await;
        match probe::ask(liveness).await {
            Ok(()) => failed = 0,
            Err(reason) => {
                failed += 1;
                if failed >= liveness.failures {
                    return format!("It is not alive: {reason}");
                }
            }
        }
    }
}

async fn pause(probe: &Probe) {
    tokio::time::sleep(Duration::from_millis(probe.interval_ms)).await;
}

fn become_ready(service: &Service) {
    service.set(State::Ready, |status| {
        status.reason = None;
        status.ready_at_ms = Some(now_ms());
    });
}

/// Asks all of it to end, waits for the grace, then kills what is left.
async fn stop(service: &Service, spec: &Spec, mut exit: oneshot::Receiver<Exit>) {
    service.set(State::Stopping, |_| {});
    if let Some(group) = service.group.borrow().as_ref() {
        group.signal(spec.stop.signal);
    }
    let grace = Duration::from_millis(spec.stop.grace_ms);
    let ended = match tokio::time::timeout(grace, &mut exit).await {
        Ok(ended) => ended,
        Err(_elapsed) => {
            kill_rest(service);
            exit.await
        }
    };
    finish(service, ended.unwrap_or(Exit::Lost)).await;
}

/// Nothing of a run outlives its first process.
async fn finish(service: &Service, exit: Exit) {
    kill_rest(service);
    {
        let mut status = service.status.borrow_mut();
        status.pid = None;
        status.exit = Some(exit);
    }
    for _ in 0..200 {
        if service.group.borrow().as_ref().is_none_or(|group| !group.populated() && group.remove()) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    service.group.replace(None);
}

fn kill_rest(service: &Service) {
    if let Some(group) = service.group.borrow().as_ref() {
        Group::kill(group);
    }
}

fn restarts(spec: &Spec, service: &Service, failed: bool) -> bool {
    let clean = !failed && service.status.borrow().exit == Some(Exit::Exited(0));
    match spec.restart.policy {
        Policy::Always => true,
        Policy::OnFailure => !clean,
        Policy::Never => false,
    }
}

/// From 0 to 1.
fn chance() -> f64 {
    let mut byte = [0u8; 1];
    let _ = sys::random(&mut byte);
    f64::from(byte.first().copied().unwrap_or(0)) / 255.0
}
