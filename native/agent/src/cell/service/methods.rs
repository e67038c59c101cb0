//! The methods `services.*`.

use super::run::supervise;
use super::spec::{check_all, Spec};
use super::{name, stop, Service, State, Wanted};
use crate::cell::agent::Agent;
use crate::cell::fault::{Code, Fault};
use crate::cell::limits;
use crate::cell::params::params;
use serde::Deserialize;
use serde_json::{json, Value};
use std::rc::Rc;
use std::time::Duration;

#[derive(Deserialize)]
struct Apply {
    revision: u64,
    services: Vec<Spec>,
}

pub async fn apply(agent: &Rc<Agent>, value: Value) -> Result<Value, Fault> {
    let apply: Apply = params(value)?;
    let table = &agent.services;
    if agent.closing.get() {
        return Err(Fault::new(Code::ShuttingDown, "The computer is stopping. Apply services once it runs again."));
    }
    let current = table.revision.get();
    if apply.revision < current {
        let message = format!("Revision {} is older than {current}, which runs. Apply the newest.", apply.revision);
        return Err(Fault::new(Code::StaleRevision, message).with("revision", current));
    }
    let order = check_all(&apply.services)?;
    for service in table.all() {
        if !order.contains(&service.id) && service.wanted.get() != Wanted::Removed {
            service.wanted.set(Wanted::Removed);
            service.bump();
        }
    }
    for spec in apply.services {
        set(agent, spec)?;
    }
    table.revision.set(apply.revision);
    table.order.replace(order);
    list(agent, Value::Null).await
}

/// Starts one that is new, changes one that differs, leaves one that does not.
fn set(agent: &Rc<Agent>, spec: Spec) -> Result<(), Fault> {
    let table = &agent.services;
    if let Some(service) = table.find(&spec.id) {
        if **service.spec.borrow() != spec || service.wanted.get() != Wanted::AsDesired {
            service.spec.replace(Rc::new(spec));
            service.wanted.set(Wanted::AsDesired);
            service.bump();
        }
        return Ok(());
    }
    let directory = table.directory(&spec.id).map_err(|error| Fault::io("name the service's log", &error))?;
    let service = Rc::new(Service::new(spec, directory, agent.held.clone()));
    table.services.borrow_mut().insert(service.id.clone(), service.clone());
    let agent = agent.clone();
    tokio::task::spawn_local(async move {
        supervise(agent.clone(), service.clone()).await;
        agent.services.services.borrow_mut().remove(&service.id);
    });
    Ok(())
}

pub async fn list(agent: &Rc<Agent>, _: Value) -> Result<Value, Fault> {
    let listed = agent.services.all().into_iter().filter(|service| service.wanted.get() != Wanted::Removed);
    let states: Vec<Value> = listed.map(|service| service.state()).collect();
    Ok(json!({ "revision": agent.services.revision.get(), "services": states }))
}

#[derive(Deserialize)]
struct Named {
    id: String,
}

pub async fn restart(agent: &Rc<Agent>, value: Value) -> Result<Value, Fault> {
    let wanted: Named = params(value)?;
    let service = get(agent, &wanted.id)?;
    service.bump();
    Ok(service.state())
}

#[derive(Deserialize)]
struct Wait {
    id: String,
    wait_ms: u64,
    #[serde(default)]
    state: Option<String>,
}

pub async fn wait(agent: &Rc<Agent>, value: Value) -> Result<Value, Fault> {
    let wanted: Wait = params(value)?;
    let service = get(agent, &wanted.id)?;
    let state = wanted.state.as_deref().unwrap_or("ready");
    let arrived = async {
        loop {
            let changed = service.changed.notified();
            let current = service.current();
            if name(current) == state || current == State::Failed {
                return;
            }
            changed.await;
        }
    };
    let _ = tokio::time::timeout(Duration::from_millis(wanted.wait_ms.min(limits::WAIT_MS)), arrived).await;
    Ok(service.state())
}

#[derive(Deserialize)]
struct Shutdown {
    grace_ms: u64,
}

pub async fn shutdown(agent: &Rc<Agent>, value: Value) -> Result<Value, Fault> {
    let wanted: Shutdown = params(value)?;
    let grace = Duration::from_millis(wanted.grace_ms.min(600_000));
    let agent = agent.clone();
    // Once begun it is carried through, even when the caller goes away meanwhile.
    let stopped = tokio::task::spawn_local(async move { stop::shutdown(&agent, grace).await }).await;
    Ok(json!({ "stopped": stopped.unwrap_or(0) }))
}

fn get(agent: &Agent, id: &str) -> Result<Rc<Service>, Fault> {
    agent.services.find(id).filter(|service| service.wanted.get() != Wanted::Removed).ok_or_else(|| {
        Fault::new(Code::NotFound, "There is no service of this id here. Apply the services, or list them.")
    })
}
