use super::spec::StartSpec;
use super::{cgroup, devices, link, mounts, runtime, sockets, sys, Failure, Step};
use serde::Serialize;
use std::time::Instant;

#[derive(Serialize)]
pub struct Started {
    /// The host's id of the cell's first process.
    pid: libc::pid_t,
    /// How long each part took, in microseconds: the bench reads it.
    timings_us: Vec<(&'static str, u128)>,
}

/// Makes a cell and lets it go. When this fails, the supervisor takes away what is there by path; nothing here cleans up,
/// because a killed helper could not either.
pub fn start(spec: &StartSpec) -> Result<Started, Failure> {
    let mut timings = Timings { last: Instant::now(), parts: Vec::new() };
    sys::private_mounts().step("mount_namespace")?;
    mounts::mount_root(&spec.root)?;
    timings.done("mounts");

    let listeners = spec.sockets.iter().map(sockets::listen).collect::<Result<Vec<_>, _>>().step("sockets")?;
    devices::deny(&spec.cgroups.unified).step("devices")?;
    let delegated = cgroup::delegate(&spec.cgroups, spec.root.first_id).step("delegate")?;
    cgroup::show(&spec.cgroups, &spec.root.bundle).step("show_cgroup")?;
    timings.done("sockets_and_cgroup");

    let pid = runtime::create(spec, &listeners, &delegated).step("create")?;
    timings.done("create");
    link::connect(&spec.link, pid).step("link")?;
    timings.done("link");
    runtime::start(spec).step("start")?;
    timings.done("start");
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
