use super::spec::SocketSpec;
use super::sys::{check, text};
use std::io;
use std::mem::{offset_of, zeroed};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// Connections that may wait while the agent is busy or still starting.
const BACKLOG: libc::c_int = 1024;

/// A listening socket at `path`, for its group alone. What an earlier start left at `path` is replaced.
pub fn listen(spec: &SocketSpec) -> io::Result<OwnedFd> {
    let path = text(&spec.path)?;
    let bytes = path.as_bytes_with_nul();
    // SAFETY: the address is zeroed and filled within its bounds; all strings are NUL-terminated.
    unsafe {
        let mut address: libc::sockaddr_un = zeroed();
        if bytes.len() > address.sun_path.len() {
            return Err(io::Error::from_raw_os_error(libc::ENAMETOOLONG));
        }
        address.sun_family = libc::AF_UNIX as libc::sa_family_t;
        std::ptr::copy_nonoverlapping(path.as_ptr(), address.sun_path.as_mut_ptr(), bytes.len());
        let length = (offset_of!(libc::sockaddr_un, sun_path) + bytes.len()) as libc::socklen_t;

        libc::unlink(path.as_ptr());
        let socket = check(libc::socket(libc::AF_UNIX, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0))?;
        let socket = OwnedFd::from_raw_fd(socket);
        // Nobody but root may connect before group and mode are right.
        let before = libc::umask(0o777);
        let bound = check(libc::bind(socket.as_raw_fd(), (&raw const address).cast(), length));
        libc::umask(before);
        bound?;
        check(libc::chown(path.as_ptr(), 0, spec.gid))?;
        check(libc::chmod(path.as_ptr(), 0o660))?;
        check(libc::listen(socket.as_raw_fd(), BACKLOG))?;
        Ok(socket)
    }
}
