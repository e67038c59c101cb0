//! What making a cell needs from the kernel and Node cannot ask for: ID-mapped mounts, an overlay with the cell's own
//! root as its mounter, listening sockets to inherit, a detached cgroup, namespaces to enter.
//!
//! One JSON object on standard input says what to make (the supervisor writes it; nothing in it comes from a cell), one on
//! standard output says how it went. The process dies with the supervisor; what it had made by then is found by path.

mod cgroup;
mod devices;
mod link;
mod mounts;
mod probe;
mod runtime;
mod sockets;
mod spec;
mod start;
mod sys;
mod targets;
mod usermap;

use serde::Serialize;
use std::ffi::OsString;
use std::io::{self, Read, Write};
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
struct FailureReply<'a> {
    error: FailureBody<'a>,
}

#[derive(Serialize)]
struct FailureBody<'a> {
    step: &'a str,
    message: &'a str,
}

pub fn main(args: Vec<OsString>) -> ExitCode {
    let result = sys::die_with_parent().step("die_with_parent").and_then(|()| {
        let verb = args.first().and_then(|word| word.to_str()).unwrap_or_default();
        match verb {
            "start" => read_spec().and_then(|spec| start::start(&spec)).and_then(|reply| print(&reply)),
            "probe" => read_spec().and_then(|spec| probe::probe(&spec)).and_then(|reply| print(&reply)),
            _ => Err(Failure { step: "usage", message: "holdfast-agent host cell start|probe < spec.json".into() }),
        }
    });
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            let body = FailureBody { step: failure.step, message: &failure.message };
            // Nobody is left to tell when standard output is gone; the exit code says it too.
            let _ = print(&FailureReply { error: body });
            ExitCode::FAILURE
        }
    }
}

fn read_spec<T: serde::de::DeserializeOwned>() -> Result<T, Failure> {
    let mut text = String::new();
    io::stdin().read_to_string(&mut text).step("read_spec")?;
    serde_json::from_str(&text).step("read_spec")
}

fn print<T: Serialize>(reply: &T) -> Result<(), Failure> {
    let text = serde_json::to_string(reply).step("reply")?;
    writeln!(io::stdout(), "{text}").step("reply")
}
