use crate::cell::sys;
use serde::Deserialize;
use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};

#[derive(Debug, Clone, Copy, Deserialize)]
pub struct Size {
    pub columns: u16,
    pub rows: u16,
}

/// A new terminal: (the agent's side, non-blocking; the process's side).
pub fn open(size: Size, uid: u32) -> io::Result<(OwnedFd, OwnedFd)> {
    let master = sys::open_plain(libc::AT_FDCWD, c"/dev/ptmx", libc::O_RDWR, 0)?;
    // SAFETY: ioctls on a descriptor that was just opened; the peer's descriptor is ours alone.
    let slave = unsafe {
        let unlock: libc::c_int = 0;
        sys::check(libc::ioctl(master.as_raw_fd(), libc::TIOCSPTLCK, &raw const unlock))?;
        let flags = libc::O_RDWR | libc::O_NOCTTY | libc::O_CLOEXEC;
        let slave = sys::check(libc::ioctl(master.as_raw_fd(), libc::TIOCGPTPEER, flags))?;
        let slave = OwnedFd::from_raw_fd(slave);
        let mut settings: libc::termios = std::mem::zeroed();
        sys::check(libc::tcgetattr(slave.as_raw_fd(), &mut settings))?;
        // Erasing a character then erases all its bytes.
        settings.c_iflag |= libc::IUTF8;
        sys::check(libc::tcsetattr(slave.as_raw_fd(), libc::TCSANOW, &settings))?;
        slave
    };
    let _ = sys::chown_fd(slave.as_raw_fd(), uid, u32::MAX);
    resize(master.as_raw_fd(), size)?;
    sys::set_nonblocking(master.as_fd())?;
    Ok((master, slave))
}

pub fn resize(master: RawFd, size: Size) -> io::Result<()> {
    let size = libc::winsize { ws_row: size.rows, ws_col: size.columns, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: the structure is what the ioctl reads.
    sys::check(unsafe { libc::ioctl(master, libc::TIOCSWINSZ, &raw const size) }).map(drop)
}
