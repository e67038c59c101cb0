use super::command::{Command, Prepared, User};
use super::exec::{self, Plan, Step};
use super::spare::{Handed, Spares};
use crate::cell::cgroup::{Group, Groups};
use crate::cell::fault::{Code, Fault};
use crate::cell::reaper::{Exit, Reaper};
use crate::cell::sys;
use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::ptr::null;
use tokio::io::unix::AsyncFd;
use tokio::sync::oneshot;

/// What every spawn of this agent shares.
pub struct Spawner {
    /// Soft limit of descriptors that processes get.
    pub descriptors: u64,
    oom_score: [u8; 8],
    may_change_user: bool,
    own: User,
    pub spares: Spares,
}

/// The child's side of its three descriptors; closed here after the spawn.
pub struct ChildIo {
    pub stdin: OwnedFd,
    pub stdout: OwnedFd,
    pub stderr: OwnedFd,
    pub terminal: bool,
}

pub struct Spawned {
    pub pid: i32,
    pub exit: oneshot::Receiver<Exit>,
    /// Its own: nothing else was ever in it.
    pub group: Group,
}

/// Processes die before the agent when memory runs out.
const OOM_SCORE_STEP: i32 = 200;

impl Spawner {
    pub fn new(descriptors: u64) -> Spawner {
        let current = std::fs::read_to_string("/proc/self/oom_score_adj").ok();
        let current: i32 = current.and_then(|text| text.trim().parse().ok()).unwrap_or(0);
        let mut oom_score = [0; 8];
        let text = (current + OOM_SCORE_STEP).min(1000).to_string();
        for (to, from) in oom_score.iter_mut().zip(text.bytes()) {
            *to = from;
        }
        // SAFETY: plain calls.
        let own = unsafe { User { uid: libc::geteuid(), gid: libc::getegid() } };
        Spawner { descriptors, oom_score, may_change_user: own.uid == 0, own, spares: Spares::default() }
    }

    /// Starts it in a group of its own; returns once the program has been executed.
    pub async fn spawn(
        &self,
        reaper: &Reaper,
        groups: &Groups,
        command: &Command,
        prepared: &Prepared,
        io: ChildIo,
    ) -> Result<Spawned, Fault> {
        if !self.may_change_user && command.user != self.own {
            let message = "This agent is not root and cannot run a process as another user. Start the agent as root.";
            return Err(Fault::new(Code::PermissionDenied, message));
        }
        let cwd = open_directory(&command.cwd)?;
        let plan = Plan {
            stdio: [io.stdin.as_raw_fd(), io.stdout.as_raw_fd(), io.stderr.as_raw_fd()],
            terminal: io.terminal,
            cwd: cwd.as_raw_fd(),
            error: -1,
            user: self.may_change_user.then_some((command.user.uid, command.user.gid)),
            descriptors: self.descriptors,
            oom_score: self.oom_score,
            programs: null(),
            argv: null(),
            env: null(),
        };
        if let Some(spare) = self.spares.take() {
            match spare.become_program(plan, prepared).await {
                Handed::Executed => {
                    let (pid, exit, group) = spare.into_parts();
                    return Ok(Spawned { pid, exit, group });
                }
                Handed::Failed(step, errno) => {
                    spare.discard();
                    return Err(failure(command, step, errno));
                }
                Handed::NotTaken => spare.discard(),
            }
        }
        fork_now(reaper, groups, command, prepared, plan).await
    }
}

/// The way without a spare child: the new process moves itself into its group.
async fn fork_now(
    reaper: &Reaper,
    groups: &Groups,
    command: &Command,
    prepared: &Prepared,
    plan: Plan,
) -> Result<Spawned, Fault> {
    let (report, error) = sys::pipe().map_err(|error| Fault::io("make a pipe", &error))?;
    sys::set_nonblocking(report.as_fd()).map_err(|error| Fault::io("make a pipe", &error))?;
    let report = sys::watched(report).map_err(|error| Fault::io("make a pipe", &error))?;
    let group = groups.create().map_err(|error| Fault::io("make the process's cgroup", &error))?;
    let forked =
        group.entrance().map_err(|error| Fault::io("enter the process's cgroup", &error)).and_then(|entrance| {
            let (programs, argv, env) =
                (pointers(&prepared.programs), pointers(&prepared.argv), pointers(&prepared.env));
            let (programs, argv, env) = (programs.as_ptr(), argv.as_ptr(), env.as_ptr());
            let plan = Plan { error: error.as_raw_fd(), programs, argv, env, ..plan };
            fork(entrance.as_ref().map_or(-1, AsRawFd::as_raw_fd), &plan)
        });
    drop(error);
    let pid = match forked {
        Ok(pid) => pid,
        Err(fault) => {
            group.remove();
            return Err(fault);
        }
    };
    let exit = reaper.expect(pid);
    group.set_leader(pid);
    let fault = match read_report(&report).await {
        Ok(None) => return Ok(Spawned { pid, exit, group }),
        Ok(Some((step, errno))) => failure(command, step, errno),
        Err(error) => Fault::io("hear from the new process", &error),
    };
    group.kill();
    tokio::task::spawn_local(async move { group.clear().await });
    Err(fault)
}

fn fork(entrance: RawFd, plan: &Plan) -> Result<i32, Fault> {
    // SAFETY: the child only runs `exec::enter_and_run`, which keeps to async-signal-safe calls.
    match unsafe { libc::fork() } {
        0 => unsafe { exec::enter_and_run(entrance, plan) },
        pid if pid > 0 => Ok(pid),
        _ => {
            let error = io::Error::last_os_error();
            let message = format!("The cell has no room for another process ({error}). End some, then try again.");
            Err(Fault::new(Code::ProcessLimit, message))
        }
    }
}

fn pointers(strings: &[CString]) -> Vec<*const libc::c_char> {
    strings.iter().map(|text| text.as_ptr()).chain([std::ptr::null()]).collect()
}

/// Opened first and entered by descriptor, so that what was checked is what is entered.
fn open_directory(path: &str) -> Result<OwnedFd, Fault> {
    let flags = libc::O_PATH | libc::O_DIRECTORY;
    sys::text(path).and_then(|text| sys::open_plain(libc::AT_FDCWD, &text, flags, 0)).map_err(|error| {
        let message = format!("Could not enter the working directory {path}: {error}. Make it, or choose another.");
        spawn_failed(message, "bad_working_directory", error.raw_os_error().unwrap_or(0))
    })
}

/// What a child says before it becomes its program: nothing, or the step that failed and its errno.
pub async fn read_report(report: &AsyncFd<OwnedFd>) -> io::Result<Option<(i32, i32)>> {
    loop {
        let mut ready = report.readable().await?;
        let mut bytes = [0u8; 8];
        match ready.try_io(|fd| sys::read(fd.as_raw_fd(), &mut bytes)) {
            Err(_would_block) => continue,
            Ok(Ok(0)) => return Ok(None),
            Ok(Ok(_)) => {
                let [a, b, c, d, e, f, g, h] = bytes;
                return Ok(Some((i32::from_ne_bytes([a, b, c, d]), i32::from_ne_bytes([e, f, g, h]))));
            }
            Ok(Err(error)) => return Err(error),
        }
    }
}

fn failure(command: &Command, step: i32, errno: i32) -> Fault {
    let name = command.argv.as_ref().and_then(|argv| argv.first()).map_or("the shell", String::as_str);
    let error = io::Error::from_raw_os_error(errno);
    if step == Step::Directory as i32 {
        let message = format!("Could not enter the working directory {}: {error}. Choose another.", command.cwd);
        return spawn_failed(message, "bad_working_directory", errno);
    }
    if step == Step::Setup as i32 {
        return Fault::io("set the new process up", &error);
    }
    let (reason, advice) = match errno {
        libc::ENOENT | libc::ENOTDIR => ("command_not_found", "Install it, or give its full path."),
        libc::EACCES | libc::EPERM => ("permission_denied", "Make it executable (chmod +x)."),
        _ => ("bad_format", "Check that it is a program for this machine or a script with a #! line."),
    };
    spawn_failed(format!("Could not run {name}: {error}. {advice}"), reason, errno)
}

fn spawn_failed(message: String, reason: &str, errno: i32) -> Fault {
    Fault::new(Code::SpawnFailed, message).with("reason", reason).with("errno", errno)
}
