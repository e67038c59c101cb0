//! The child between fork and exec. Other threads exist in the parent, so nothing here may allocate or lock.

use std::os::fd::RawFd;

/// Everything the child needs to become the program. Plain values and pointers, so that it may lie in memory that two processes share.
#[derive(Clone, Copy)]
pub struct Plan {
    /// All above 2.
    pub stdio: [RawFd; 3],
    pub terminal: bool,
    pub cwd: RawFd,
    /// Takes the report of a failure; closed by a successful exec.
    pub error: RawFd,
    /// Absent where this process may not change users (tests).
    pub user: Option<(u32, u32)>,
    pub descriptors: u64,
    pub oom_score: [u8; 8],
    /// NULL-terminated arrays of pointers to strings that outlive the fork.
    pub programs: *const *const libc::c_char,
    pub argv: *const *const libc::c_char,
    pub env: *const *const libc::c_char,
}

/// Where it failed, for the parent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    Setup = 1,
    Directory = 2,
    Exec = 3,
}

/// Enters the group of `entrance`, then becomes the program.
///
/// # Safety
/// Only in a fresh child of `fork`.
pub unsafe fn enter_and_run(entrance: RawFd, plan: &Plan) -> ! {
    // SAFETY: as `run`.
    unsafe {
        if !enter(entrance) {
            fail(plan, Step::Setup);
        }
        run(plan)
    }
}

/// Moves this process into a group by its `cgroup.procs`; -1 is no group. The kernel may take 20 ms over it.
pub fn enter(entrance: RawFd) -> bool {
    // SAFETY: a plain call with one byte.
    entrance < 0 || unsafe { libc::write(entrance, c"0".as_ptr().cast(), 1) } == 1
}

/// # Safety
/// Only in a child of `fork` that runs nothing else.
pub unsafe fn run(plan: &Plan) -> ! {
    // SAFETY: only async-signal-safe calls on values made before.
    unsafe {
        libc::setsid();
        for signal in 1..=64 {
            set_action(signal, libc::SIG_DFL);
        }
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &none, std::ptr::null_mut());
        for (target, source) in plan.stdio.iter().enumerate() {
            if libc::dup2(*source, target as RawFd) < 0 {
                fail(plan, Step::Setup);
            }
        }
        if plan.terminal {
            libc::ioctl(1, libc::TIOCSCTTY, 0);
        }
        close_others(plan.cwd, plan.error);
        raise_oom_score(&plan.oom_score);
        limit_descriptors(plan.descriptors);
        if let Some((uid, gid)) = plan.user {
            if libc::setgroups(1, &gid) != 0
                || libc::setresgid(gid, gid, gid) != 0
                || libc::setresuid(uid, uid, uid) != 0
            {
                fail(plan, Step::Setup);
            }
        }
        if libc::fchdir(plan.cwd) != 0 {
            fail(plan, Step::Directory);
        }
        let mut denied = false;
        let mut program = plan.programs;
        while !(*program).is_null() {
            libc::execve(*program, plan.argv, plan.env);
            match *libc::__errno_location() {
                libc::EACCES => denied = true,
                libc::ENOENT | libc::ENOTDIR => {}
                _ => fail(plan, Step::Exec),
            }
            program = program.add(1);
        }
        // As execvp: one that is there but may not run says more than one that is not there.
        *libc::__errno_location() = if denied { libc::EACCES } else { libc::ENOENT };
        fail(plan, Step::Exec);
    }
}

/// By the bare system call: the C library keeps 32 and 33 to itself, and an ignored one would be inherited.
pub fn set_action(signal: libc::c_int, handler: libc::sighandler_t) {
    let action = [handler as u64, 0, 0, 0];
    // SAFETY: the kernel's structure: handler, flags, restorer, mask. No handler of ours is ever given.
    unsafe { libc::syscall(libc::SYS_rt_sigaction, signal, action.as_ptr(), std::ptr::null_mut::<u64>(), 8usize) };
}

unsafe fn fail(plan: &Plan, step: Step) -> ! {
    // SAFETY: writes a few bytes of this frame and ends.
    unsafe {
        let report = [step as i32, *libc::__errno_location()];
        libc::write(plan.error, report.as_ptr().cast(), size_of_val(&report));
        libc::_exit(127)
    }
}

/// Leaves 0, 1, 2 and these two, which exec closes.
///
/// # Safety
/// Only in a child of `fork`: nothing here may still need the others.
pub unsafe fn close_others(one: RawFd, other: RawFd) {
    let (low, high) = if one < other { (one as u32, other as u32) } else { (other as u32, one as u32) };
    // SAFETY: plain calls.
    unsafe {
        if low > 3 {
            libc::close_range(3, low - 1, 0);
        }
        if high > low + 1 {
            libc::close_range(low + 1, high - 1, 0);
        }
        libc::close_range(high + 1, u32::MAX, 0);
    }
}

/// Lets the kernel prefer this process over the agent when memory runs out. A process that is not dumpable may not
/// write this file; descriptors of the agent are closed by now.
unsafe fn raise_oom_score(score: &[u8; 8]) {
    let length = score.iter().position(|byte| *byte == 0).unwrap_or(score.len());
    // SAFETY: plain calls; the bytes are as long as said.
    unsafe {
        libc::prctl(libc::PR_SET_DUMPABLE, 1, 0, 0, 0);
        let file = libc::open(c"/proc/self/oom_score_adj".as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
        if file >= 0 {
            libc::write(file, score.as_ptr().cast(), length);
            libc::close(file);
        }
        // Until exec its memory is a copy of the agent's.
        libc::prctl(libc::PR_SET_DUMPABLE, 0, 0, 0, 0);
    }
}

unsafe fn limit_descriptors(soft: u64) {
    // SAFETY: the structure is filled by the kernel before use.
    unsafe {
        let mut limit: libc::rlimit = std::mem::zeroed();
        if libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) == 0 {
            limit.rlim_cur = soft.min(limit.rlim_max);
            libc::setrlimit(libc::RLIMIT_NOFILE, &limit);
        }
    }
}
