//! The first acts of PID 1, before any thread or connection exists.

use super::options::Options;
use super::sys;
use std::fs;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, IntoRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;

/// Highest descriptor that is inherited on purpose: 3 control, 4 ingress, 5 cgroup.
const LAST_INHERITED: u32 = 5;

/// Signals that are read from a descriptor.
pub const BLOCKED: [libc::c_int; 3] = [libc::SIGCHLD, libc::SIGTERM, libc::SIGINT];

/// Makes this process unreadable for the cell's other processes and drops what it inherited by accident.
pub fn secure(on_host: bool) -> io::Result<()> {
    let null = fs::OpenOptions::new().read(true).write(true).open("/dev/null")?.into_raw_fd();
    // SAFETY: plain calls; nothing else of this process owns a descriptor yet.
    unsafe {
        sys::check(libc::prctl(libc::PR_SET_DUMPABLE, 0, 0, 0, 0))?;
        libc::umask(0o022);
        // On a host, a test reads what a crash says.
        let last = if on_host { 1 } else { 2 };
        for standard in 0..=last {
            sys::check(libc::dup2(null, standard))?;
        }
        let first_closed = if on_host { 3 } else { LAST_INHERITED + 1 };
        sys::check(libc::close_range(first_closed, u32::MAX, 0))?;
        libc::close_range(3, LAST_INHERITED, libc::CLOSE_RANGE_CLOEXEC as libc::c_int);
        if libc::getpid() != 1 {
            sys::check(libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))?;
        }
        // One heap: an arena per thread would cost more memory than the rest of the agent.
        libc::mallopt(libc::M_ARENA_MAX, 1);
        libc::mallopt(libc::M_TRIM_THRESHOLD, 256 * 1024);
        libc::mallopt(libc::M_MMAP_THRESHOLD, 128 * 1024);
    }
    Ok(())
}

/// Blocks the signals that are read from a descriptor instead, in this thread and all later ones.
pub fn block_signals() -> io::Result<OwnedFd> {
    use std::os::fd::FromRawFd;
    // SAFETY: the set is initialised before use; the descriptor is ours alone.
    unsafe {
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        for signal in BLOCKED {
            libc::sigaddset(&mut set, signal);
        }
        sys::check(libc::sigprocmask(libc::SIG_BLOCK, &set, std::ptr::null_mut()))?;
        let fd = sys::check(libc::signalfd(-1, &set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK))?;
        Ok(OwnedFd::from_raw_fd(fd))
    }
}

/// Raises the soft limit of descriptors to the hard one and returns the former soft limit, which processes get back.
pub fn raise_descriptors() -> u64 {
    // SAFETY: the structure is filled by the kernel.
    unsafe {
        let mut limit: libc::rlimit = std::mem::zeroed();
        if libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) != 0 {
            return 1024;
        }
        let before = limit.rlim_cur;
        limit.rlim_cur = limit.rlim_max;
        libc::setrlimit(libc::RLIMIT_NOFILE, &limit);
        before
    }
}

/// Writes the files under `/etc` that carry the cell's identity. The host may have bound some of them read-only: those
/// stay as they are.
pub fn write_identity(options: &Options) {
    if let Some(hostname) = &options.hostname {
        write_etc("hostname", &format!("{hostname}\n"));
        write_etc("hosts", &format!("127.0.0.1 localhost\n::1 localhost\n127.0.1.1 {hostname}\n"));
    }
    if let Some(resolver) = &options.resolver {
        write_etc("resolv.conf", &format!("nameserver {resolver}\noptions timeout:2 attempts:2\n"));
    }
    if let Some(machine_id) = &options.machine_id {
        write_etc("machine-id", &format!("{machine_id}\n"));
    }
}

fn write_etc(name: &str, content: &str) {
    let path = format!("/etc/{name}");
    if holds(&path, content) {
        return;
    }
    let fresh = format!("/etc/.{name}.holdfast");
    let _ = fs::remove_file(&fresh);
    let written = fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&fresh)
        .and_then(|mut file| file.write_all(content.as_bytes()).map(|()| file))
        .and_then(|file| sys::chmod_fd(file.as_raw_fd(), 0o644))
        .and_then(|()| fs::rename(&fresh, &path));
    if written.is_err() {
        let _ = fs::remove_file(&fresh);
    }
}

/// Whether a plain file holds just this. The cell may have put a pipe there, or an endless link: neither may hold up or fill PID 1.
fn holds(path: &str, content: &str) -> bool {
    let flags = libc::O_NONBLOCK | libc::O_NOFOLLOW;
    let Ok(file) = fs::OpenOptions::new().read(true).custom_flags(flags).open(path) else { return false };
    let mut now = Vec::new();
    file.metadata().is_ok_and(|facts| facts.is_file())
        && file.take(content.len() as u64 + 1).read_to_end(&mut now).is_ok()
        && now == content.as_bytes()
}

/// Brings the loopback interface up. Needs a capability that most cells lack; then the host has done it already.
pub fn raise_loopback() {
    // SAFETY: the request is zeroed, then its name and flags are set within bounds.
    unsafe {
        let socket = libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0);
        if socket < 0 {
            return;
        }
        let mut request: libc::ifreq = std::mem::zeroed();
        request.ifr_name[0] = b'l' as libc::c_char;
        request.ifr_name[1] = b'o' as libc::c_char;
        request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
        libc::ioctl(socket, libc::SIOCSIFFLAGS, &request);
        libc::close(socket);
    }
}
