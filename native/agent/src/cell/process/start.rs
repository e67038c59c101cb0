use super::capture::capture;
use super::command::{Command, User};
use super::input::Input;
use super::spare::refill_later;
use super::spawn::{ChildIo, Spawned};
use super::{pty, record, Life, Process};
use crate::cell::agent::Agent;
use crate::cell::cgroup::Group;
use crate::cell::clock::now_ms;
use crate::cell::fault::{Code, Fault};
use crate::cell::limits;
use crate::cell::output::{Directory, Store, STDERR, STDOUT};
use crate::cell::process::table::check_id;
use crate::cell::reaper::Exit;
use crate::cell::sys;
use serde::Deserialize;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::rc::Rc;
use std::time::Duration;
use tokio::io::unix::AsyncFd;
use tokio::sync::{oneshot, Notify};
use tokio::task::JoinHandle;

#[derive(Deserialize)]
pub struct Spec {
    id: String,
    #[serde(default)]
    argv: Option<Vec<String>>,
    #[serde(default)]
    shell: Option<String>,
    #[serde(default = "root_directory")]
    cwd: String,
    #[serde(default)]
    env: BTreeMap<String, String>,
    #[serde(default)]
    user: User,
    #[serde(default)]
    stdin: Stdin,
    #[serde(default)]
    timeout_ms: u64,
    #[serde(default)]
    pty: Option<pty::Size>,
    #[serde(default = "default_output_limit")]
    output_limit_bytes: u64,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "snake_case")]
enum Stdin {
    #[default]
    Closed,
    Open,
    #[serde(untagged)]
    Bytes {
        base64: String,
    },
}

fn root_directory() -> String {
    "/".to_owned()
}

fn default_output_limit() -> u64 {
    limits::OUTPUT_LIMIT_DEFAULT_BYTES
}

type Shared = Rc<AsyncFd<OwnedFd>>;

/// The agent's ends of a new process's descriptors.
struct Ends {
    input: Option<Shared>,
    outputs: Vec<(u8, Shared)>,
    terminal: Option<Shared>,
}

/// Starts what `spec` says, or finds the process that this id already names: (process, it existed). What was begun is
/// finished, even when the caller goes away meanwhile.
pub async fn start(agent: &Rc<Agent>, spec: Spec) -> Result<(Rc<Process>, bool), Fault> {
    let begun = tokio::task::spawn_local(begin(agent.clone(), spec)).await;
    begun.unwrap_or_else(|_| Err(Fault::new(Code::Internal, "The start was cut short. Ask for the process by its id.")))
}

async fn begin(agent: Rc<Agent>, spec: Spec) -> Result<(Rc<Process>, bool), Fault> {
    check_id(&spec.id)?;
    let _starting = loop {
        if let Some(process) = agent.processes.find(&spec.id) {
            return Ok((process, true));
        }
        match agent.claim_start(&spec.id) {
            Some(starting) => break starting,
            // Another call starts it right now.
            None => tokio::time::sleep(Duration::from_millis(2)).await,
        }
    };
    if agent.closing.get() {
        return Err(Fault::new(Code::ShuttingDown, "The computer is stopping. Start the process once it runs again."));
    }
    agent.processes.make_room()?;
    if !agent.held.has_room() {
        agent.processes.let_held_output_go(&agent.held);
    }
    let output_limit = check_limits(&spec)?;
    let input_bytes = match &spec.stdin {
        Stdin::Bytes { base64 } => Some(crate::cell::base64::decode(base64)?),
        _ => None,
    };
    let command = Command { argv: spec.argv, shell: spec.shell, cwd: spec.cwd, env: spec.env, user: spec.user };
    let prepared = command.prepare(spec.pty.is_some())?;
    let open_input = !matches!(spec.stdin, Stdin::Closed);
    let (child_io, ends) = descriptors(open_input, spec.pty, command.user)
        .map_err(|error| Fault::io("make the process's pipes", &error))?;
    let directory = agent.processes.directory(&spec.id).map_err(|error| Fault::io("name the record", &error))?;
    let process = Process {
        id: spec.id,
        sequence: agent.processes.next_sequence(),
        command: command.shown(),
        pty: spec.pty.is_some(),
        started_at_ms: now_ms(),
        life: Cell::new(Life::default()),
        store: Store::new(directory.clone(), output_limit, agent.held.clone()),
        group: RefCell::new(None),
        input: Input::new(ends.input),
        terminal: RefCell::new(ends.terminal),
        changed: Notify::new(),
    };
    // The record comes first: a process without one would run twice after a restart. On a full disk it goes without.
    let _ = directory.create().and_then(|()| record::write(&directory, &process));
    let spawned = agent.spawner.spawn(&agent.reaper, &agent.groups, &command, &prepared, child_io).await;
    refill_later(&agent);
    let Spawned { pid, exit, group } = spawned.inspect_err(|_| directory.remove())?;
    process.update(|life| life.pid = Some(pid));
    process.group.replace(Some(group));
    let process = Rc::new(process);
    agent.processes.insert(process.clone());
    let captures = ends
        .outputs
        .into_iter()
        .map(|(stream, end)| {
            tokio::task::spawn_local(capture(end, stream, process.store.clone(), agent.scratch.clone()))
        })
        .collect();
    if let Some(bytes) = input_bytes {
        tokio::task::spawn_local(feed(process.clone(), bytes));
    }
    let timeout = (spec.timeout_ms > 0).then(|| Duration::from_millis(spec.timeout_ms));
    tokio::task::spawn_local(supervise(agent.clone(), process.clone(), exit, captures, timeout, directory));
    Ok((process, false))
}

fn check_limits(spec: &Spec) -> Result<u64, Fault> {
    if spec.timeout_ms > limits::TIMEOUT_MS {
        return Err(Fault::invalid("`timeout_ms` is longer than 30 days. Use 0 for no timeout."));
    }
    if spec.pty.is_some_and(|size| size.columns == 0 || size.rows == 0) {
        return Err(Fault::invalid("A terminal has at least one column and one row."));
    }
    Ok(spec.output_limit_bytes.clamp(limits::OUTPUT_LIMIT_MIN_BYTES, limits::OUTPUT_LIMIT_MAX_BYTES))
}

/// Follows a process from its start until nothing of it is left.
async fn supervise(
    agent: Rc<Agent>,
    process: Rc<Process>,
    mut exit: oneshot::Receiver<Exit>,
    captures: Vec<JoinHandle<()>>,
    timeout: Option<Duration>,
    directory: Directory,
) {
    let deadline = timeout.map(|timeout| tokio::time::Instant::now() + timeout);
    let kills_before = agent.groups.out_of_memory_kills();
    let exit = match deadline {
        None => exit.await,
        Some(deadline) => match tokio::time::timeout_at(deadline, &mut exit).await {
            Ok(exit) => exit,
            Err(_elapsed) => {
                process.update(|life| life.timed_out = true);
                with_group(&process, Group::kill);
                exit.await
            }
        },
    };
    let exit = exit.unwrap_or(Exit::Lost);
    process.input.close();
    process.update(|life| {
        life.pid = None;
        life.exit = Some(exit);
        life.out_of_memory = exit == Exit::Signaled(libc::SIGKILL) && agent.groups.out_of_memory_kills() > kills_before;
    });
    let drained = async {
        for capture in captures {
            let _ = capture.await;
        }
    };
    let _ = tokio::time::timeout(Duration::from_millis(limits::DRAIN_MS), drained).await;
    let background = populated(&process);
    process.update(|life| {
        life.ended_at_ms = Some(now_ms());
        life.background = background;
    });
    if !background {
        process.store.close();
    }
    let _ = record::write(&directory, &process);
    process.changed.notify_waiters();
    process.store.changed.notify_waiters();
    if background {
        outlive(&agent, &process, deadline).await;
        process.update(|life| life.background = false);
        process.store.close();
        let _ = record::write(&directory, &process);
    } else {
        // Who waits for the end is answered before the group is cleared away.
        tokio::task::yield_now().await;
    }
    process.terminal.replace(None);
    if let Some(group) = process.group.take() {
        group.clear().await;
    }
    process.changed.notify_waiters();
}

/// Waits until the rest of the group is gone; the timeout holds for it too.
async fn outlive(agent: &Agent, process: &Process, deadline: Option<tokio::time::Instant>) {
    loop {
        let orphan = agent.reaper.orphans.notified();
        if !populated(process) {
            return;
        }
        if deadline.is_some_and(|deadline| deadline <= tokio::time::Instant::now()) {
            with_group(process, Group::kill);
        }
        // Orphans of a cell's PID 1 tell when they die; the timer is for those that are not ours to reap.
        let _ = tokio::time::timeout(Duration::from_secs(1), orphan).await;
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn populated(process: &Process) -> bool {
    process.group.borrow().as_ref().is_some_and(Group::populated)
}

pub fn with_group(process: &Process, act: impl FnOnce(&Group)) {
    if let Some(group) = process.group.borrow().as_ref() {
        act(group);
    }
}

async fn feed(process: Rc<Process>, bytes: Vec<u8>) {
    let _ = process.input.write(&bytes).await;
    if process.pty {
        // End of input, as typed.
        let _ = process.input.write(b"\x04").await;
    } else {
        process.input.close();
    }
}

fn descriptors(open_input: bool, size: Option<pty::Size>, user: User) -> io::Result<(ChildIo, Ends)> {
    if let Some(size) = size {
        let (master, slave) = pty::open(size, user.uid)?;
        let master = Rc::new(sys::watched(master)?);
        let stdin = if open_input { slave.try_clone()? } else { null()? };
        let io = ChildIo { stdin, stdout: slave.try_clone()?, stderr: slave, terminal: true };
        let input = open_input.then(|| master.clone());
        return Ok((io, Ends { input, outputs: vec![(STDOUT, master.clone())], terminal: Some(master) }));
    }
    let (stdin, input) = if open_input {
        let (theirs, ours) = sys::pipe()?;
        (theirs, Some(shared(ours)?))
    } else {
        (null()?, None)
    };
    let (mut io, outputs) = plain_descriptors()?;
    io.stdin = stdin;
    Ok((io, Ends { input, outputs, terminal: None }))
}

/// Nothing to read, and two pipes to write to.
pub fn plain_descriptors() -> io::Result<(ChildIo, Vec<(u8, Shared)>)> {
    let (out, stdout) = sys::pipe()?;
    let (err, stderr) = sys::pipe()?;
    let outputs = vec![(STDOUT, shared(out)?), (STDERR, shared(err)?)];
    Ok((ChildIo { stdin: null()?, stdout, stderr, terminal: false }, outputs))
}

fn shared(end: OwnedFd) -> io::Result<Shared> {
    sys::set_nonblocking(end.as_fd())?;
    Ok(Rc::new(sys::watched(end)?))
}

fn null() -> io::Result<OwnedFd> {
    sys::open_plain(libc::AT_FDCWD, c"/dev/null", libc::O_RDWR, 0)
}
