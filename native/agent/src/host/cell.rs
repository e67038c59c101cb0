//! What making a cell needs from the kernel and Node cannot ask for: ID-mapped mounts, an overlay with the cell's own
//! root as its mounter, listening sockets to inherit, a detached cgroup, namespaces to enter.
//!
//! `serve` takes requests of the supervisor, in which nothing comes from a cell, for as long as that runs and dies with it; what was half
//! made by then is found by path. `link` is run by the runtime while it makes a cell.

mod btrfs;
mod cgroup;
mod devices;
mod link;
mod mounts;
mod netlink;
mod probe;
mod route;
mod rules;
mod runtime;
mod serve;
mod sockets;
mod spec;
mod start;
mod sys;
mod targets;
mod trees;
mod usermap;
mod volume;

use serde::Serialize;
use std::ffi::OsString;
use std::process::ExitCode;

/// A step that failed, in words for the operator.
#[derive(Debug)]
pub struct Failure {
    step: &'static str,
    message: String,
}

/// Names the step at which something failed.
trait Step<T> {
    fn step(self, step: &'static str) -> Result<T, Failure>;
}

impl<T, E: std::fmt::Display> Step<T> for Result<T, E> {
    fn step(self, step: &'static str) -> Result<T, Failure> {
        self.map_err(|error| Failure { step, message: error.to_string() })
    }
}

#[derive(Serialize)]
struct FailureBody<'a> {
    step: &'a str,
    message: &'a str,
}

pub fn main(args: Vec<OsString>) -> ExitCode {
    let result = match args.split_first() {
        Some((verb, [])) if verb == "serve" => {
            sys::die_with_parent().step("die_with_parent").and_then(|()| serve::serve())
        }
        Some((verb, rest)) if verb == "link" => link::hook(rest),
        _ => Err(Failure { step: "usage", message: "host cell serve | host cell link …".into() }),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{}: {}", failure.step, failure.message);
            ExitCode::FAILURE
        }
    }
}
