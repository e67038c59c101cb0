use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::time::{Duration, Instant};

use super::options::{Options, User};

/// Signals that are passed on, besides the one that tells of the program's end.
const PASSED_ON: [libc::c_int; 7] =
    [libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGQUIT, libc::SIGUSR1, libc::SIGUSR2, libc::SIGCHLD];

pub struct Program {
    pub pid: libc::pid_t,
    /// Standard output and error, non-blocking.
    pub output: OwnedFd,
    go: Option<OwnedFd>,
}

impl Program {
    /// Lets the program, which waits since its fork, begin.
    pub fn go(&mut self) -> io::Result<()> {
        let Some(go) = self.go.take() else { return Ok(()) };
        // SAFETY: one byte is live and the descriptor open.
        check(unsafe { libc::write(go.as_raw_fd(), [1_u8].as_ptr().cast(), 1) } as i32).map(|_| ())
    }

    /// The wait status, once. Orphans that ended are collected by the way.
    pub fn ended(&self) -> io::Result<Option<i32>> {
        loop {
            let mut status = 0;
            // SAFETY: status is live.
            let pid = check(unsafe { libc::waitpid(-1, &mut status, libc::WNOHANG) })?;
            if pid == 0 || pid == self.pid {
                return Ok((pid == self.pid).then_some(status));
            }
        }
    }
}

/// When the host runs out of memory cells go first, and this program, with all that it forks, about last: cells set their own. A host that
/// lets nobody be spared chooses by size.
pub fn spare() {
    let _ = std::fs::write("/proc/self/oom_score_adj", "-900");
}

/// What the program leaves behind becomes a child of this process.
pub fn take_orphans() -> io::Result<()> {
    // SAFETY: no memory is passed.
    check(unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }).map(|_| ())
}

/// One that the kernel does not let go must not keep the program from being started again.
const ORPHANS_END_WITHIN: Duration = Duration::from_secs(2);

/// Ends what the program left behind: a process that a taken program forked would else outlive it, with all that its user may reach.
pub fn end_orphans() {
    let begin = Instant::now();
    while begin.elapsed() < ORPHANS_END_WITHIN {
        let children = std::fs::read_to_string("/proc/thread-self/children").unwrap_or_default();
        for pid in children.split_ascii_whitespace().filter_map(|pid| pid.parse().ok()) {
            // SAFETY: a child that was not waited for keeps its number.
            unsafe { libc::kill(pid, libc::SIGKILL) };
        }
        loop {
            // SAFETY: no status is asked for.
            match unsafe { libc::waitpid(-1, std::ptr::null_mut(), libc::WNOHANG) } {
                0 => break,
                pid if pid < 0 => return,
                _ => {}
            }
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Forks the program as far as everything that can be done before it is let go. Everything it needs is prepared before the fork.
pub fn fork_and_wait_for_go(options: &Options, sockets: &[OwnedFd]) -> io::Result<Program> {
    let argv = options.argv.iter().map(|arg| CString::new(arg.as_bytes())).collect::<Result<Vec<_>, _>>()?;
    let mut pointers: Vec<*const libc::c_char> = argv.iter().map(|arg| arg.as_ptr()).collect();
    pointers.push(std::ptr::null());
    let (output, output_write) = pipe()?;
    let (go_read, go) = pipe()?;
    let sockets: Vec<RawFd> = sockets.iter().map(|socket| socket.as_raw_fd()).collect();
    // SAFETY: getpid has no preconditions.
    let keeper = unsafe { libc::getpid() };
    // SAFETY: this process has one thread; the child makes system calls on prepared memory only and then executes or exits.
    let pid = check(unsafe { libc::fork() })?;
    if pid == 0 {
        // SAFETY: as above; the pointers live in this copy of the parent's memory.
        unsafe {
            let failed =
                become_program(options, keeper, &sockets, go_read.as_raw_fd(), output_write.as_raw_fd(), &pointers);
            let text = format!("holdfast-agent host program: {failed}\n");
            libc::write(2, text.as_ptr().cast(), text.len());
            libc::_exit(127);
        }
    }
    // SAFETY: the descriptor is open.
    check(unsafe { libc::fcntl(output.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) })?;
    Ok(Program { pid, output, go: Some(go) })
}

/// Returns only what went wrong.
unsafe fn become_program(
    options: &Options,
    keeper: libc::pid_t,
    sockets: &[RawFd],
    go: RawFd,
    output: RawFd,
    argv: &[*const libc::c_char],
) -> io::Error {
    let attempt = || -> io::Result<()> {
        // SAFETY: plain system calls on live memory and open descriptors, in a process of one thread.
        unsafe {
            let null = check(libc::open(c"/dev/null".as_ptr(), libc::O_RDWR | libc::O_CLOEXEC))?;
            check(libc::dup2(null, 0))?;
            check(libc::dup2(output, 1))?;
            check(libc::dup2(output, 2))?;
            let mut byte = 0_u8;
            if libc::read(go, (&raw mut byte).cast(), 1) != 1 {
                return Err(io::Error::other("the keeper went away before the start"));
            }
            place_sockets(sockets)?;
            let mut none: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&mut none);
            check(libc::sigprocmask(libc::SIG_SETMASK, &none, std::ptr::null_mut()))?;
            libc::signal(libc::SIGPIPE, libc::SIG_DFL);
            check(libc::setsid())?;
            check(libc::chdir(c"/".as_ptr()))?;
            libc::umask(0o077);
            if let Some(user) = &options.user {
                become_user(user)?;
            }
            if options.no_new_privs {
                check(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))?;
            }
            // After the change of user, which clears it. The parent may have ended just before.
            check(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL))?;
            if libc::getppid() != keeper {
                return Err(io::Error::other("the keeper went away before the start"));
            }
            libc::execvp(argv[0], argv.as_ptr());
            Err(io::Error::last_os_error())
        }
    };
    match attempt() {
        Err(error) => error,
        Ok(()) => io::Error::other("the program was not executed"),
    }
}

/// Moves the sockets to 3… and closes everything above. They are first lifted out of the way of their own targets.
unsafe fn place_sockets(sockets: &[RawFd]) -> io::Result<()> {
    let lowest_free = 3 + RawFd::try_from(sockets.len()).map_err(io::Error::other)?;
    let mut lifted = Vec::with_capacity(sockets.len());
    for socket in sockets {
        // SAFETY: the descriptor is open.
        lifted.push(unsafe { check(libc::fcntl(*socket, libc::F_DUPFD_CLOEXEC, lowest_free + 64)) }?);
    }
    for (target, lifted) in (3..).zip(lifted) {
        // SAFETY: what stood at the target is lifted or not needed any more.
        unsafe { check(libc::dup2(lifted, target)) }?;
    }
    // SAFETY: closes descriptors of this process that nothing uses any more.
    unsafe { check(libc::close_range(lowest_free as u32, u32::MAX, 0)) }.map(|_| ())
}

unsafe fn become_user(user: &User) -> io::Result<()> {
    // SAFETY: the group list is live; a process of one thread.
    unsafe {
        check(libc::setgroups(user.groups.len(), user.groups.as_ptr()))?;
        check(libc::setresgid(user.gid, user.gid, user.gid))?;
        check(libc::setresuid(user.uid, user.uid, user.uid))?;
    }
    Ok(())
}

/// Nothing the launcher or its starter had open reaches the program.
pub fn close_inherited() {
    // SAFETY: nothing of ours is open above 2 yet.
    unsafe { libc::close_range(3, u32::MAX, 0) };
}

/// Blocks the signals of interest and gives a non-blocking descriptor that reads them. Also leaves the session of the starter.
pub fn block_signals() -> io::Result<OwnedFd> {
    // SAFETY: the set is initialised before use; the descriptor is new and owned.
    unsafe {
        libc::setsid();
        libc::signal(libc::SIGPIPE, libc::SIG_IGN);
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        for signal in PASSED_ON {
            libc::sigaddset(&mut set, signal);
        }
        check(libc::sigprocmask(libc::SIG_BLOCK, &set, std::ptr::null_mut()))?;
        let descriptor = check(libc::signalfd(-1, &set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK))?;
        Ok(OwnedFd::from_raw_fd(descriptor))
    }
}

pub fn next_signal(signals: &OwnedFd) -> Option<libc::c_int> {
    // SAFETY: the structure is plain bytes and exactly as long as a read gives.
    unsafe {
        let mut info: libc::signalfd_siginfo = std::mem::zeroed();
        let size = size_of::<libc::signalfd_siginfo>();
        let length = libc::read(signals.as_raw_fd(), (&raw mut info).cast(), size);
        (length == size as isize).then_some(info.ssi_signo as libc::c_int)
    }
}

/// Once the program runs, the starter's pipes and terminal are let go: it may wait for their end.
pub fn leave_standard_streams(keep_error: bool) -> io::Result<()> {
    // SAFETY: plain system calls on open descriptors.
    unsafe {
        let null = check(libc::open(c"/dev/null".as_ptr(), libc::O_RDWR | libc::O_CLOEXEC))?;
        check(libc::dup2(null, 0))?;
        check(libc::dup2(null, 1))?;
        if !keep_error {
            check(libc::dup2(null, 2))?;
        }
        libc::close(null);
        check(libc::chdir(c"/".as_ptr()))?;
    }
    Ok(())
}

fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut ends = [0; 2];
    // SAFETY: the array is live; both descriptors are new and owned.
    unsafe {
        check(libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC))?;
        Ok((OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1])))
    }
}

fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}
