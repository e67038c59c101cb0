use super::cgroup;
use super::spec::StartSpec;
use super::sys::{check, die_with_parent, text};
use std::ffi::CString;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

/// Lets the runtime make the cell and run it; in between it has `link` connect it. Returns the id of the first process, which inherits
/// `sockets` from descriptor 3 on and then `cgroup`; 0–2 are /dev/null.
pub fn run(spec: &StartSpec, sockets: &[OwnedFd], cgroup: &OwnedFd) -> io::Result<libc::pid_t> {
    let pid_file = format!("{}/pid", spec.root.bundle);
    let log = format!("{}/runtime.log", spec.root.bundle);
    let inherited: Vec<RawFd> = sockets.iter().chain([cgroup]).map(AsRawFd::as_raw_fd).collect();
    let arguments = arguments(&[
        &spec.runtime,
        &format!("--root={}", spec.runtime_state),
        &format!("--log=file:{log}"),
        "--cgroup-manager=disabled",
        "run",
        "--detach",
        &format!("--bundle={}", spec.root.bundle),
        &format!("--pid-file={pid_file}"),
        &format!("--preserve-fds={}", inherited.len()),
        &spec.id,
    ])?;
    let birthplace = File::open(&spec.cgroups.unified)?;
    cgroup::hide_hybrid()?;
    let child = cgroup::fork_into(&birthplace)?;
    if child == 0 {
        let error = become_runtime(spec, &arguments, &inherited);
        let _ = fs::write(&log, format!("before the runtime: {error}\n"));
        // SAFETY: nothing of the parent's may run in the child.
        unsafe { libc::_exit(127) }
    }
    let mut status = 0;
    // SAFETY: the child is ours and has not been waited for.
    check(unsafe { libc::waitpid(child, &mut status, 0) })?;
    if status != 0 {
        return Err(said(&log, status));
    }
    let pid = fs::read_to_string(&pid_file)?;
    pid.trim().parse().map_err(|_| io::Error::other(format!("{pid_file} holds no process id")))
}

/// When the host runs out of memory a cell ends before any program of ours; the configuration of the runtime says the same. Written with
/// root's rights, which the runtime has given up by then: so it is also the least that anything in the cell can set for itself.
const GOES_FIRST: &str = "500";

/// In the child: joins the limits, puts the descriptors in place, and executes. Returns only when that failed.
fn become_runtime(spec: &StartSpec, arguments: &[CString], inherited: &[RawFd]) -> io::Error {
    let prepared =
        die_with_parent().and_then(|()| cgroup::join_legacy(&spec.cgroups)).and_then(|()| place_descriptors(inherited));
    let prepared = prepared.and_then(|()| fs::write("/proc/self/oom_score_adj", GOES_FIRST));
    if let Err(error) = prepared {
        return error;
    }
    let mut pointers: Vec<_> = arguments.iter().map(|argument| argument.as_ptr()).collect();
    pointers.push(std::ptr::null());
    let environment = [c"PATH=/usr/sbin:/usr/bin:/sbin:/bin".as_ptr(), std::ptr::null()];
    // SAFETY: both lists end with a null pointer and their strings outlive the call.
    unsafe { libc::execve(pointers[0], pointers.as_ptr(), environment.as_ptr()) };
    io::Error::last_os_error()
}

/// 0–2 become /dev/null, `inherited` become 3 and up, everything above is closed on execution.
fn place_descriptors(inherited: &[RawFd]) -> io::Result<()> {
    let null = OpenOptions::new().read(true).write(true).open("/dev/null")?;
    let last = 3 + inherited.len() as RawFd;
    // SAFETY: descriptors of this process alone; the copies above `last` keep the sources out of the way of their targets.
    unsafe {
        let mut lifted = Vec::with_capacity(inherited.len());
        for source in inherited {
            lifted.push(check(libc::fcntl(*source, libc::F_DUPFD_CLOEXEC, 64))?);
        }
        let null = check(libc::fcntl(null.as_raw_fd(), libc::F_DUPFD_CLOEXEC, 64))?;
        for standard in 0..3 {
            check(libc::dup2(null, standard))?;
        }
        for (target, source) in (3..last).zip(lifted) {
            check(libc::dup2(source, target))?;
        }
        check(libc::close_range(last as libc::c_uint, u32::MAX, libc::CLOSE_RANGE_CLOEXEC as libc::c_int)).map(drop)
    }
}

fn arguments(words: &[&str]) -> io::Result<Vec<CString>> {
    words.iter().map(|word| text(word)).collect()
}

fn said(log: &str, status: i32) -> io::Error {
    let words = fs::read_to_string(log).unwrap_or_default();
    io::Error::other(format!("the runtime ended with {}: {}", ExitStatus::from_raw(status), words.trim()))
}
