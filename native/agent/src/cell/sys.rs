//! The system calls that the standard library lacks, made safe.

use std::ffi::{CStr, CString};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use tokio::io::unix::AsyncFd;

pub fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}

/// The kernel's `openat2`: as `openat`, but magic links of `/proc` are never followed.
pub fn open_plain(dir: RawFd, path: &CStr, flags: libc::c_int, mode: u32) -> io::Result<OwnedFd> {
    open_resolved(dir, path, flags, mode, RESOLVE_NO_MAGICLINKS)
}

/// Opens one name in `dir`, which must not be a link.
pub fn open_child(dir: RawFd, name: &CStr, flags: libc::c_int, mode: u32) -> io::Result<OwnedFd> {
    open_resolved(dir, name, flags | libc::O_NOFOLLOW, mode, RESOLVE_NO_MAGICLINKS)
}

const RESOLVE_NO_MAGICLINKS: u64 = 0x02;

#[repr(C)]
struct OpenHow {
    flags: u64,
    mode: u64,
    resolve: u64,
}

fn open_resolved(dir: RawFd, path: &CStr, flags: libc::c_int, mode: u32, resolve: u64) -> io::Result<OwnedFd> {
    // The kernel refuses O_NOCTTY where nothing is opened for use.
    let no_terminal = if flags & libc::O_PATH == 0 { libc::O_NOCTTY } else { 0 };
    let flags = flags | libc::O_CLOEXEC | no_terminal;
    let how = OpenHow { flags: flags as u32 as u64, mode: mode as u64, resolve };
    // SAFETY: path is NUL-terminated, `how` is as long as said, a returned descriptor is ours alone.
    unsafe {
        let fd = libc::syscall(libc::SYS_openat2, dir, path.as_ptr(), &raw const how, size_of::<OpenHow>());
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(OwnedFd::from_raw_fd(fd as RawFd))
    }
}

pub fn text(path: &str) -> io::Result<CString> {
    CString::new(path).map_err(|_| io::Error::from_raw_os_error(libc::EINVAL))
}

/// `fstatat` that does not follow a last link; an empty name means `dir` itself.
pub fn stat_at(dir: RawFd, name: &CStr) -> io::Result<libc::stat> {
    let mut stat = MaybeUninit::uninit();
    let flags = libc::AT_SYMLINK_NOFOLLOW | libc::AT_EMPTY_PATH;
    // SAFETY: the kernel fills the structure when the call succeeds.
    unsafe {
        check(libc::fstatat(dir, name.as_ptr(), stat.as_mut_ptr(), flags))?;
        Ok(stat.assume_init())
    }
}

pub fn stat_fd(fd: RawFd) -> io::Result<libc::stat> {
    stat_at(fd, c"")
}

pub fn read_link_at(dir: RawFd, name: &CStr) -> io::Result<Vec<u8>> {
    let mut buffer = vec![0u8; 4096];
    // SAFETY: the buffer is as long as said.
    let got = unsafe { libc::readlinkat(dir, name.as_ptr(), buffer.as_mut_ptr().cast(), buffer.len()) };
    if got < 0 {
        return Err(io::Error::last_os_error());
    }
    buffer.truncate(got as usize);
    Ok(buffer)
}

pub fn unlink_at(dir: RawFd, name: &CStr, directory: bool) -> io::Result<()> {
    let flags = if directory { libc::AT_REMOVEDIR } else { 0 };
    // SAFETY: the name is NUL-terminated.
    check(unsafe { libc::unlinkat(dir, name.as_ptr(), flags) }).map(drop)
}

pub fn mkdir_at(dir: RawFd, name: &CStr, mode: u32) -> io::Result<()> {
    // SAFETY: the name is NUL-terminated.
    check(unsafe { libc::mkdirat(dir, name.as_ptr(), mode) }).map(drop)
}

pub fn symlink_at(target: &CStr, dir: RawFd, name: &CStr) -> io::Result<()> {
    // SAFETY: both are NUL-terminated.
    check(unsafe { libc::symlinkat(target.as_ptr(), dir, name.as_ptr()) }).map(drop)
}

pub fn link_at(from_dir: RawFd, from: &CStr, dir: RawFd, name: &CStr) -> io::Result<()> {
    // SAFETY: both are NUL-terminated.
    check(unsafe { libc::linkat(from_dir, from.as_ptr(), dir, name.as_ptr(), 0) }).map(drop)
}

/// `replace: false` fails with EEXIST instead of replacing.
pub fn rename_at(from_dir: RawFd, from: &CStr, to_dir: RawFd, to: &CStr, replace: bool) -> io::Result<()> {
    let flags = if replace { 0 } else { libc::RENAME_NOREPLACE };
    // SAFETY: both are NUL-terminated.
    check(unsafe { libc::renameat2(from_dir, from.as_ptr(), to_dir, to.as_ptr(), flags) }).map(drop)
}

pub fn chmod_fd(fd: RawFd, mode: u32) -> io::Result<()> {
    // SAFETY: plain call.
    check(unsafe { libc::fchmod(fd, mode) }).map(drop)
}

pub fn chown_fd(fd: RawFd, uid: u32, gid: u32) -> io::Result<()> {
    // SAFETY: plain call.
    check(unsafe { libc::fchown(fd, uid, gid) }).map(drop)
}

pub fn chown_link_at(dir: RawFd, name: &CStr, uid: u32, gid: u32) -> io::Result<()> {
    // SAFETY: the name is NUL-terminated.
    check(unsafe { libc::fchownat(dir, name.as_ptr(), uid, gid, libc::AT_SYMLINK_NOFOLLOW) }).map(drop)
}

pub fn set_modified(fd: RawFd, seconds: i64) -> io::Result<()> {
    let time = libc::timespec { tv_sec: seconds, tv_nsec: 0 };
    let times = [time, time];
    // SAFETY: two times, as the call wants.
    check(unsafe { libc::futimens(fd, times.as_ptr()) }).map(drop)
}

pub fn statvfs(fd: RawFd) -> io::Result<libc::statvfs> {
    let mut stat = MaybeUninit::uninit();
    // SAFETY: the kernel fills the structure when the call succeeds.
    unsafe {
        check(libc::fstatvfs(fd, stat.as_mut_ptr()))?;
        Ok(stat.assume_init())
    }
}

pub fn sync_fs(fd: RawFd) -> io::Result<()> {
    // SAFETY: plain call.
    check(unsafe { libc::syncfs(fd) }).map(drop)
}

/// A pipe: (read end, write end), both close-on-exec and blocking.
pub fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut ends = [0; 2];
    // SAFETY: two descriptors are filled in and are ours alone.
    unsafe {
        check(libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC))?;
        Ok((OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1])))
    }
}

/// Two connected sockets, both close-on-exec and blocking. Each message arrives as one.
pub fn socket_pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut ends = [0; 2];
    // SAFETY: two descriptors are filled in and are ours alone.
    unsafe {
        let kind = libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC;
        check(libc::socketpair(libc::AF_UNIX, kind, 0, ends.as_mut_ptr()))?;
        Ok((OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1])))
    }
}

const HANDED_MOST: usize = 8;

/// Sends descriptors as one message of one byte, without waiting. At most `HANDED_MOST`.
pub fn send_descriptors(socket: RawFd, descriptors: &[RawFd]) -> io::Result<()> {
    let mut message = Message::new();
    // SAFETY: the control buffer has room for as many; the header's pointers are into `message`, which is not moved meanwhile.
    unsafe {
        let mut header = message.header();
        let length = size_of_val(descriptors) as u32;
        header.msg_controllen = libc::CMSG_SPACE(length) as usize;
        let control = libc::CMSG_FIRSTHDR(&header);
        if descriptors.len() > HANDED_MOST || control.is_null() {
            return Err(io::Error::from_raw_os_error(libc::EINVAL));
        }
        (*control).cmsg_level = libc::SOL_SOCKET;
        (*control).cmsg_type = libc::SCM_RIGHTS;
        (*control).cmsg_len = libc::CMSG_LEN(length) as usize;
        let data = libc::CMSG_DATA(control).cast::<RawFd>();
        data.copy_from_nonoverlapping(descriptors.as_ptr(), descriptors.len());
        let sent = libc::sendmsg(socket, &header, libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT);
        check(sent as libc::c_int).map(drop)
    }
}

/// Waits for a message of `send_descriptors` with just as many. Async-signal-safe, for a child of `fork`.
pub fn receive_descriptors(socket: RawFd, descriptors: &mut [RawFd]) -> bool {
    let mut message = Message::new();
    // SAFETY: as `send_descriptors`; what the kernel wrote is looked at before it is read.
    unsafe {
        let mut header = message.header();
        let length = size_of_val(descriptors) as u32;
        loop {
            let got = libc::recvmsg(socket, &mut header, libc::MSG_CMSG_CLOEXEC);
            if got < 0 && *libc::__errno_location() == libc::EINTR {
                continue;
            }
            let control = libc::CMSG_FIRSTHDR(&header);
            if got != 1
                || header.msg_flags & libc::MSG_CTRUNC != 0
                || control.is_null()
                || (*control).cmsg_type != libc::SCM_RIGHTS
                || (*control).cmsg_len != libc::CMSG_LEN(length) as usize
            {
                return false;
            }
            let data = libc::CMSG_DATA(control).cast::<RawFd>();
            data.copy_to_nonoverlapping(descriptors.as_mut_ptr(), descriptors.len());
            return true;
        }
    }
}

/// One byte and room for descriptors.
struct Message {
    byte: u8,
    part: libc::iovec,
    /// As aligned as the kernel's header of it.
    control: [u64; 8],
}

impl Message {
    fn new() -> Message {
        let part = libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 1 };
        Message { byte: 0, part, control: [0; 8] }
    }

    fn header(&mut self) -> libc::msghdr {
        self.part.iov_base = (&raw mut self.byte).cast();
        // SAFETY: all fields may be zero.
        let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
        header.msg_iov = &raw mut self.part;
        header.msg_iovlen = 1;
        header.msg_control = self.control.as_mut_ptr().cast();
        header.msg_controllen = size_of_val(&self.control);
        header
    }
}

pub fn set_nonblocking(fd: BorrowedFd) -> io::Result<()> {
    // SAFETY: plain calls on an open descriptor.
    unsafe {
        let flags = check(libc::fcntl(fd.as_raw_fd(), libc::F_GETFL))?;
        check(libc::fcntl(fd.as_raw_fd(), libc::F_SETFL, flags | libc::O_NONBLOCK)).map(drop)
    }
}

/// A descriptor that the loop waits for; it must be non-blocking.
pub fn watched(fd: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: an OwnedFd is the same open descriptor until it is dropped.
    unsafe { AsyncFd::register(fd) }.map_err(Into::into)
}

pub fn read(fd: RawFd, buffer: &mut [u8]) -> io::Result<usize> {
    // SAFETY: the buffer is as long as said.
    let got = unsafe { libc::read(fd, buffer.as_mut_ptr().cast(), buffer.len()) };
    usize::try_from(got).map_err(|_| io::Error::last_os_error())
}

pub fn write(fd: RawFd, bytes: &[u8]) -> io::Result<usize> {
    // SAFETY: the bytes are as long as said.
    let put = unsafe { libc::write(fd, bytes.as_ptr().cast(), bytes.len()) };
    usize::try_from(put).map_err(|_| io::Error::last_os_error())
}

pub fn kill(pid: i32, signal: i32) -> io::Result<()> {
    // SAFETY: plain call.
    check(unsafe { libc::kill(pid, signal) }).map(drop)
}

pub fn random(buffer: &mut [u8]) -> io::Result<()> {
    let mut rest = buffer;
    while !rest.is_empty() {
        // SAFETY: the buffer is as long as said.
        let got = unsafe { libc::getrandom(rest.as_mut_ptr().cast(), rest.len(), 0) };
        if got < 0 {
            return Err(io::Error::last_os_error());
        }
        rest = rest.get_mut(got as usize..).unwrap_or_default();
    }
    Ok(())
}

/// Names in a directory, read piece by piece: a directory of any size costs the same memory.
pub struct Names {
    stream: *mut libc::DIR,
}

// SAFETY: the stream is owned by this value and used by one thread at a time.
unsafe impl Send for Names {}

impl Names {
    /// Takes over a descriptor opened for reading.
    pub fn new(dir: OwnedFd) -> io::Result<Names> {
        // SAFETY: on success the stream owns the descriptor, so it is given up here.
        unsafe {
            let stream = libc::fdopendir(dir.as_raw_fd());
            if stream.is_null() {
                return Err(io::Error::last_os_error());
            }
            std::mem::forget(dir);
            Ok(Names { stream })
        }
    }

    /// The descriptor of the directory, valid while this value lives.
    pub fn fd(&self) -> RawFd {
        // SAFETY: the stream is open.
        unsafe { libc::dirfd(self.stream) }
    }
}

impl Iterator for Names {
    type Item = io::Result<CString>;

    fn next(&mut self) -> Option<io::Result<CString>> {
        loop {
            // SAFETY: the stream is open; errno is cleared to tell the end from an error; the entry is copied at once.
            let name = unsafe {
                *libc::__errno_location() = 0;
                let entry = libc::readdir64(self.stream);
                if entry.is_null() {
                    let error = io::Error::last_os_error();
                    return if error.raw_os_error() == Some(0) { None } else { Some(Err(error)) };
                }
                CStr::from_ptr((*entry).d_name.as_ptr()).to_owned()
            };
            if name.as_bytes() != b"." && name.as_bytes() != b".." {
                return Some(Ok(name));
            }
        }
    }
}

impl Drop for Names {
    fn drop(&mut self) {
        // SAFETY: opened by us, closed once.
        unsafe { libc::closedir(self.stream) };
    }
}
