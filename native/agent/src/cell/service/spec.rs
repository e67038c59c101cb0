use crate::cell::fault::Fault;
use crate::cell::limits;
use crate::cell::process::check_id;
use crate::cell::process::command::{Command, User};
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Spec {
    pub id: String,
    pub name: String,
    #[serde(default)]
    argv: Option<Vec<String>>,
    #[serde(default)]
    shell: Option<String>,
    cwd: String,
    #[serde(default)]
    env: BTreeMap<String, String>,
    #[serde(default)]
    user: User,
    pub desired: Desired,
    pub restart: Restart,
    #[serde(default)]
    pub readiness: Option<Probe>,
    #[serde(default)]
    pub liveness: Option<Probe>,
    #[serde(default)]
    pub after: Vec<String>,
    pub stop: Stop,
    pub output_limit_bytes: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Desired {
    Running,
    Stopped,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Restart {
    pub policy: Policy,
    pub min_backoff_ms: u64,
    pub max_backoff_ms: u64,
    /// Restarts within ten minutes before it counts as failed; 0: no limit.
    pub limit: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Policy {
    Always,
    OnFailure,
    Never,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Probe {
    pub kind: ProbeKind,
    pub port: u16,
    #[serde(default)]
    pub path: String,
    pub interval_ms: u64,
    pub timeout_ms: u64,
    pub failures: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProbeKind {
    Tcp,
    Http,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Stop {
    pub signal: i32,
    pub grace_ms: u64,
}

impl Spec {
    pub fn command(&self) -> Command {
        Command {
            argv: self.argv.clone(),
            shell: self.shell.clone(),
            cwd: self.cwd.clone(),
            env: self.env.clone(),
            user: self.user,
        }
    }

    fn check(&self) -> Result<(), Fault> {
        check_id(&self.id)?;
        self.command().prepare(false)?;
        let probes = [&self.readiness, &self.liveness];
        let odd_probe = probes.into_iter().flatten().any(|probe| {
            probe.interval_ms < 50
                || probe.interval_ms > 3_600_000
                || probe.timeout_ms == 0
                || probe.timeout_ms > 600_000
                || probe.failures == 0
                || probe.port == 0
                || (probe.kind == ProbeKind::Http && !fit_for_request_line(&probe.path))
        });
        if odd_probe {
            let message = "A probe has an interval of at least 50 ms, a timeout, a number of failures, a port, \
                           and for HTTP a path that begins with `/` and has no spaces.";
            return Err(self.refuse(message));
        }
        let restart = &self.restart;
        let backoff = restart.min_backoff_ms..=restart.max_backoff_ms;
        if restart.min_backoff_ms == 0 || backoff.is_empty() || restart.max_backoff_ms > limits::BACKOFF_MS {
            return Err(self.refuse("`min_backoff_ms` is at least 1, `max_backoff_ms` not below it and at most a day."));
        }
        if restart.limit > limits::COUNTED_RESTARTS {
            return Err(self.refuse("At most 1000 restarts are counted. Use 0 for no limit."));
        }
        if !(1..=64).contains(&self.stop.signal) || self.stop.grace_ms > 600_000 {
            return Err(self.refuse("The stop signal is 1 to 64 and the grace at most ten minutes."));
        }
        Ok(())
    }

    fn refuse(&self, message: &str) -> Fault {
        Fault::invalid(format!("Service {:.64}: {message}", self.id))
    }
}

/// Checks a whole set: each spec, ids that differ, and an order of starting that exists. Returns the ids in that order.
pub fn check_all(specs: &[Spec]) -> Result<Vec<String>, Fault> {
    if specs.len() > limits::SERVICES {
        return Err(Fault::invalid(format!("A computer has at most {} services. Remove some.", limits::SERVICES)));
    }
    let mut waiting: BTreeMap<&str, &Spec> = BTreeMap::new();
    for spec in specs {
        spec.check()?;
        if waiting.insert(&spec.id, spec).is_some() {
            return Err(spec.refuse("This id is listed twice."));
        }
    }
    let mut order: Vec<String> = Vec::new();
    while !waiting.is_empty() {
        let next =
            waiting.values().find(|spec| spec.after.iter().all(|id| order.contains(id))).map(|spec| spec.id.clone());
        let Some(next) = next else {
            let stuck: Vec<&str> = waiting.keys().copied().collect();
            let list = stuck.join(", ");
            let message =
                format!("These services wait in a circle or for one that is not listed: {list}. Mend `after`.");
            return Err(Fault::invalid(message));
        };
        waiting.remove(next.as_str());
        order.push(next);
    }
    Ok(order)
}

fn fit_for_request_line(path: &str) -> bool {
    path.starts_with('/') && path.len() <= 2048 && path.bytes().all(|byte| byte.is_ascii_graphic())
}

#[cfg(test)]
mod tests {
    use super::{check_all, Spec};
    use serde_json::json;

    fn spec(id: &str, after: &[&str]) -> Spec {
        serde_json::from_value(json!({
            "id": id, "name": id, "argv": ["/bin/true"], "cwd": "/", "desired": "running", "after": after,
            "restart": {"policy": "always", "min_backoff_ms": 1, "max_backoff_ms": 1, "limit": 0},
            "stop": {"signal": 15, "grace_ms": 1}, "output_limit_bytes": 1
        }))
        .unwrap()
    }

    #[test]
    fn orders_by_after() {
        assert_eq!(check_all(&[spec("a", &["b"]), spec("b", &["c"]), spec("c", &[])]).unwrap(), ["c", "b", "a"]);
    }

    #[test]
    fn refuses_circles_and_strangers() {
        assert!(check_all(&[spec("a", &["b"]), spec("b", &["a"])]).is_err());
        assert!(check_all(&[spec("a", &["x"])]).is_err());
        assert!(check_all(&[spec("a", &[]), spec("a", &[])]).is_err());
    }
}
