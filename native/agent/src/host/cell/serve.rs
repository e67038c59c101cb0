//! One process for as long as the supervisor runs: starting a program out of Node costs 5–13 ms each time, forking here a tenth
//! of one. Each request is a line of JSON on standard input and done by a child of its own, which answers with one line on
//! standard output; a child that ends without an answer is answered for.

use super::spec::{
    DeleteSpec, NestedSpec, PoolSpec, RootSpec, RulesSpec, SealSpec, SnapshotSpec, StartSpec, TidySpec, VolumeSpec,
};
use super::sys::check;
use super::{probe, rules, start, sys, volume, Failure, FailureBody, Step};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

#[derive(Deserialize)]
struct Request {
    /// The caller's number for it.
    request: u64,
    /// The child is killed after this.
    timeout_s: u32,
    #[serde(flatten)]
    work: Work,
}

/// What is left of a request that is otherwise not understood.
#[derive(Deserialize)]
struct Numbered {
    request: u64,
}

#[derive(Deserialize)]
#[serde(tag = "verb", content = "spec", rename_all = "snake_case")]
enum Work {
    Start(StartSpec),
    Probe(RootSpec),
    MakeVolume(VolumeSpec),
    Snapshot(SnapshotSpec),
    Delete(DeleteSpec),
    Nested(NestedSpec),
    Seal(SealSpec),
    Tidy(TidySpec),
    Count(PoolSpec),
    Sync(PoolSpec),
    Rules(RulesSpec),
}

#[derive(Serialize)]
struct Answer<'a> {
    request: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    reply: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<FailureBody<'a>>,
}

struct Child {
    request: u64,
    pid: libc::pid_t,
    end: OwnedFd,
}

/// What a request may be long; the longest is a few kilobytes.
const LONGEST: usize = 256 * 1024;
/// More at once is a fault of the caller.
const MOST_CHILDREN: usize = 64;
/// One write of at most PIPE_BUF (4,096) bytes is not torn apart by those of other children. JSON makes at most six bytes of one.
const LONGEST_MESSAGE: usize = 600;

/// Serves until standard input ends.
pub fn serve() -> Result<(), Failure> {
    // SAFETY: no memory is passed. Modes are those that are asked for, whatever the supervisor was started with.
    unsafe { libc::umask(0o022) };
    let mut unread = Vec::new();
    let mut children: Vec<Child> = Vec::new();
    loop {
        let (readable, ended) = wait(&children).step("poll")?;
        for index in ended.into_iter().rev() {
            reap(&children.swap_remove(index)).step("reap")?;
        }
        if !readable {
            continue;
        }
        let mut piece = [0; 64 * 1024];
        let length = io::stdin().read(&mut piece).step("read")?;
        if length == 0 {
            return Ok(());
        }
        unread.extend_from_slice(&piece[..length]);
        while let Some(end) = unread.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = unread.drain(..=end).collect();
            // What cannot be done fails alone: with this process all that is under way would end.
            match accept(&line, children.len()) {
                Ok(child) => children.push(child),
                Err((request, failure)) => answer(request, &Err(failure)).step("reply")?,
            }
        }
        if unread.len() > LONGEST {
            return Err(Failure { step: "read_request", message: "a request is too long".into() });
        }
    }
}

/// The request's child, or its number and why there is none. A line without even a number is answered for as number 0, which is nobody's.
fn accept(line: &[u8], children: usize) -> Result<Child, (u64, Failure)> {
    let number = || serde_json::from_slice::<Numbered>(line).map_or(0, |numbered| numbered.request);
    let request: Request = serde_json::from_slice(line).step("read_request").map_err(|failure| (number(), failure))?;
    let number = request.request;
    if children >= MOST_CHILDREN {
        return Err((number, Failure { step: "limit", message: "too many requests at once".into() }));
    }
    begin(request).step("fork").map_err(|failure| (number, failure))
}

/// Whether there is something to read, and which children have ended, in order.
fn wait(children: &[Child]) -> io::Result<(bool, Vec<usize>)> {
    let watch = |fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
    let mut watched: Vec<_> = children.iter().map(|child| watch(child.end.as_raw_fd())).collect();
    watched.push(watch(0));
    // SAFETY: the list is as long as said and outlives the call.
    match check(unsafe { libc::poll(watched.as_mut_ptr(), watched.len() as libc::nfds_t, -1) }) {
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok((false, Vec::new())),
        Err(error) => Err(error),
        Ok(_) => {
            let ready: Vec<bool> = watched.iter().map(|one| one.revents != 0).collect();
            let ended = (0..children.len()).filter(|index| ready[*index]).collect();
            Ok((ready[children.len()], ended))
        }
    }
}

fn begin(request: Request) -> io::Result<Child> {
    // SAFETY: this process has one thread, so the child may go on as this one would. The descriptor is ours alone.
    unsafe {
        let ours = libc::getpid();
        let pid = check(libc::fork())?;
        if pid == 0 {
            let result = separate(ours, request.timeout_s).step("fork").and_then(|()| work(&request.work));
            let code = i32::from(answer(request.request, &result).is_err());
            libc::_exit(code);
        }
        let end = libc::syscall(libc::SYS_pidfd_open, pid, 0);
        match check(end as libc::c_int) {
            Ok(end) => Ok(Child { request: request.request, pid, end: OwnedFd::from_raw_fd(end) }),
            Err(error) => {
                // Nobody would learn of its end.
                libc::kill(pid, libc::SIGKILL);
                libc::waitpid(pid, std::ptr::null_mut(), 0);
                Err(error)
            }
        }
    }
}

/// The child lives neither longer than its parent nor than its time, and reads nothing of what is meant for that.
fn separate(parent: libc::pid_t, timeout_s: u32) -> io::Result<()> {
    sys::die_with_parent()?;
    let null = File::open("/dev/null")?;
    // SAFETY: no memory is passed; the descriptors are this process's own.
    unsafe {
        if libc::getppid() != parent {
            return Err(io::Error::other("the parent has ended"));
        }
        libc::alarm(timeout_s.max(1));
        check(libc::dup2(null.as_raw_fd(), 0)).map(drop)
    }
}

fn work(work: &Work) -> Result<Value, Failure> {
    match work {
        Work::Start(spec) => to_value(&start::start(spec)?),
        Work::Probe(spec) => to_value(&probe::probe(spec)?),
        Work::MakeVolume(spec) => to_value(&volume::make(spec)?),
        Work::Snapshot(spec) => to_value(&volume::snapshot(spec)?),
        Work::Delete(spec) => to_value(&volume::delete(spec)?),
        Work::Nested(spec) => to_value(&volume::nested(spec)?),
        Work::Seal(spec) => to_value(&volume::seal(spec)?),
        Work::Tidy(spec) => to_value(&volume::tidy(spec)?),
        Work::Count(spec) => to_value(&volume::count(spec)?),
        Work::Sync(spec) => to_value(&volume::sync(spec)?),
        Work::Rules(spec) => to_value(&rules::generation(&spec.namespace).step("rules")?),
    }
}

fn to_value<T: Serialize>(reply: &T) -> Result<Value, Failure> {
    serde_json::to_value(reply).step("reply")
}

fn reap(child: &Child) -> io::Result<()> {
    let mut status = 0;
    // SAFETY: the child is ours and has not been waited for.
    check(unsafe { libc::waitpid(child.pid, &raw mut status, 0) })?;
    let status = ExitStatus::from_raw(status);
    if status.success() {
        return Ok(());
    }
    let message = match status.signal() {
        Some(libc::SIGALRM) => "it took too long and was ended".to_owned(),
        _ => format!("it ended with {status}"),
    };
    answer(child.request, &Err(Failure { step: "helper", message }))
}

fn answer(request: u64, result: &Result<Value, Failure>) -> io::Result<()> {
    let answer = match result {
        Ok(reply) => Answer { request, reply: Some(reply), error: None },
        Err(Failure { step, message }) => {
            let end = message.char_indices().map(|(at, _)| at).find(|at| *at >= LONGEST_MESSAGE);
            let message = &message[..end.unwrap_or(message.len())];
            Answer { request, reply: None, error: Some(FailureBody { step, message }) }
        }
    };
    let mut line = serde_json::to_vec(&answer)?;
    line.push(b'\n');
    // Not through `io::stdout`, whose buffer is the parent's too.
    // SAFETY: descriptor 1 stays open for the life of this process.
    let mut output = std::mem::ManuallyDrop::new(unsafe { File::from_raw_fd(1) });
    output.write_all(&line)
}
