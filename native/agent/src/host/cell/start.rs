use super::spec::StartSpec;
use super::{cgroup, devices, mounts, rules, runtime, sockets, sys, trees, Failure, Step};
use serde::Serialize;
use std::time::Instant;

#[derive(Serialize)]
pub struct Started {
    /// The host's id of the cell's first process.
    pid: libc::pid_t,
    /// How long each part took, in microseconds: the bench reads it.
    timings_us: Vec<(&'static str, u128)>,
}

/// The step that says that the rules of the cells' network are not the expected ones: nothing was made.
const RULES: &str = "rules";

/// Makes a cell and lets it go. When this fails, the supervisor takes away what is there by path; nothing here cleans up,
/// because a killed helper could not either.
pub fn start(spec: &StartSpec) -> Result<Started, Failure> {
    let mut timings = Timings { last: Instant::now(), parts: Vec::new() };
    if !rules::generation(&spec.rules.namespace).step(RULES)?.is(spec.rules.generation) {
        return Err(Failure { step: RULES, message: "the rules of the cells' network have been changed".into() });
    }
    timings.done("rules");
    sys::private_mounts().step("mount_namespace")?;
    mounts::mount_root(&spec.root)?;
    trees::mount(&spec.trees, &spec.root)?;
    timings.done("mounts");

    let listeners = spec.sockets.iter().map(sockets::listen).collect::<Result<Vec<_>, _>>().step("sockets")?;
    devices::deny(&spec.cgroups.unified).step("devices")?;
    let delegated = cgroup::delegate(&spec.cgroups, spec.root.first_id).step("delegate")?;
    cgroup::show(&spec.cgroups, &spec.root.bundle).step("show_cgroup")?;
    timings.done("sockets_and_cgroup");

    let pid = runtime::run(spec, &listeners, &delegated).step("run")?;
    timings.done("run");
    Ok(Started { pid, timings_us: timings.parts })
}

struct Timings {
    last: Instant,
    parts: Vec<(&'static str, u128)>,
}

impl Timings {
    fn done(&mut self, part: &'static str) {
        self.parts.push((part, self.last.elapsed().as_micros()));
        self.last = Instant::now();
    }
}
