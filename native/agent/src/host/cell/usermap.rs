use super::sys::check;
use std::fs;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

/// A user namespace whose ids `0..count` are the host's `first..first + count`, owned by `first`. It lives as long as the descriptor.
///
/// What is used in a user namespace (inotify, message queues, queued signals, processes) the kernel also counts on its owner, and holds
/// that one to the host's limits for one user. Were it root's, cells would take all of that from each other and from the host.
pub fn user_namespace(first: u32, count: u32) -> io::Result<OwnedFd> {
    let (mut ours, theirs) = UnixStream::pair()?;
    // SAFETY: the child only makes system calls until it ends; this process has one thread.
    let child = unsafe { check(libc::fork())? };
    if child == 0 {
        drop(ours);
        hold(theirs, first);
    }
    drop(theirs);
    let result = describe(child, first, count, &mut ours);
    // SAFETY: the child is ours and has not been waited for.
    unsafe {
        libc::kill(child, libc::SIGKILL);
        libc::waitpid(child, std::ptr::null_mut(), 0);
    }
    result
}

fn describe(child: libc::pid_t, first: u32, count: u32, ready: &mut UnixStream) -> io::Result<OwnedFd> {
    ready.read_exact(&mut [0])?;
    for kind in ["uid", "gid"] {
        fs::write(format!("/proc/{child}/{kind}_map"), format!("0 {first} {count}\n"))?;
    }
    fs::File::open(format!("/proc/{child}/ns/user")).map(OwnedFd::from)
}

/// The child: becomes the owner, enters a new user namespace, says so, and waits to be ended.
fn hold(mut ready: UnixStream, owner: u32) -> ! {
    const SECBIT_NO_SETUID_FIXUP: libc::c_ulong = 4;
    // SAFETY: plain system calls; `_exit` runs nothing of the parent's.
    unsafe {
        // With all capabilities: on some hosts nobody else may make user namespaces.
        let is_owner = libc::prctl(libc::PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP, 0, 0, 0) == 0
            && libc::setresgid(owner, owner, owner) == 0
            && libc::setresuid(owner, owner, owner) == 0;
        // After the change of user, which clears it.
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0);
        if is_owner && libc::unshare(libc::CLONE_NEWUSER) == 0 && ready.write_all(&[1]).is_ok() {
            loop {
                libc::pause();
            }
        }
        libc::_exit(1);
    }
}
