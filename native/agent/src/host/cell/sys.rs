//! System calls that the standard library lacks, made safe.

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

pub fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}

fn check_long(result: libc::c_long) -> io::Result<libc::c_long> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}

pub fn text(value: &str) -> io::Result<CString> {
    CString::new(value).map_err(|_| io::Error::from_raw_os_error(libc::EINVAL))
}

/// Ends this process when the thread that started it ends: a supervisor that was killed leaves no helper behind.
pub fn die_with_parent() -> io::Result<()> {
    // SAFETY: no memory is passed.
    check(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0) }).map(drop)
}

/// A network namespace, held open.
pub struct Namespace {
    held: File,
}

impl Namespace {
    pub fn open(path: &str) -> io::Result<Namespace> {
        Ok(Namespace { held: File::open(path)? })
    }

    /// Runs `work` inside. This process must have one thread.
    pub fn visit<T>(&self, work: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        let before = Namespace::open("/proc/self/ns/net")?;
        self.enter()?;
        let result = work();
        before.enter()?;
        result
    }

    fn enter(&self) -> io::Result<()> {
        // SAFETY: no memory is passed.
        check(unsafe { libc::setns(self.held.as_raw_fd(), libc::CLONE_NEWNET) }).map(drop)
    }
}

impl AsRawFd for Namespace {
    fn as_raw_fd(&self) -> RawFd {
        self.held.as_raw_fd()
    }
}

pub fn private_mounts() -> io::Result<()> {
    // SAFETY: constant strings, no memory is kept.
    unsafe {
        check(libc::unshare(libc::CLONE_NEWNS))?;
        let root = c"/";
        let flags = libc::MS_REC | libc::MS_PRIVATE;
        check(libc::mount(std::ptr::null(), root.as_ptr(), std::ptr::null(), flags, std::ptr::null())).map(drop)
    }
}

/// A copy of the mount at `path` that is attached nowhere.
pub fn open_tree(path: &str) -> io::Result<OwnedFd> {
    const OPEN_TREE_CLONE: libc::c_uint = 1;
    let path = text(path)?;
    // SAFETY: `path` is NUL-terminated; the returned descriptor is ours alone.
    unsafe {
        let flags = OPEN_TREE_CLONE | libc::O_CLOEXEC as libc::c_uint;
        let fd = check_long(libc::syscall(libc::SYS_open_tree, libc::AT_FDCWD, path.as_ptr(), flags))?;
        Ok(OwnedFd::from_raw_fd(fd as RawFd))
    }
}

pub const ATTR_READ_ONLY: u64 = 0x1;
pub const ATTR_NO_SETUID: u64 = 0x2;
pub const ATTR_NO_DEVICES: u64 = 0x4;
pub const ATTR_NO_PROGRAMS: u64 = 0x8;
const ATTR_ID_MAPPED: u64 = 0x0010_0000;

#[repr(C)]
struct MountAttributes {
    set: u64,
    clear: u64,
    propagation: u64,
    user_namespace: u64,
}

/// Sets attributes of a detached mount, and maps its ids through `users` if given.
pub fn set_attributes(mount: BorrowedFd, set: u64, users: Option<BorrowedFd>) -> io::Result<()> {
    let attributes = MountAttributes {
        set: set | users.map_or(0, |_| ATTR_ID_MAPPED),
        clear: 0,
        propagation: 0,
        user_namespace: users.map_or(0, |fd| fd.as_raw_fd() as u64),
    };
    // SAFETY: the structure is as long as said and outlives the call.
    check_long(unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            mount.as_raw_fd(),
            c"".as_ptr(),
            libc::AT_EMPTY_PATH,
            &raw const attributes,
            size_of::<MountAttributes>(),
        )
    })
    .map(drop)
}

pub fn attach(mount: BorrowedFd, target: &str) -> io::Result<()> {
    const MOVE_MOUNT_F_EMPTY_PATH: libc::c_uint = 4;
    let target = text(target)?;
    // SAFETY: both strings are NUL-terminated.
    check_long(unsafe {
        libc::syscall(
            libc::SYS_move_mount,
            mount.as_raw_fd(),
            c"".as_ptr(),
            libc::AT_FDCWD,
            target.as_ptr(),
            MOVE_MOUNT_F_EMPTY_PATH,
        )
    })
    .map(drop)
}

/// Shows what is open at `target`, for who can only be given a path.
pub fn bind(open: BorrowedFd, target: &str) -> io::Result<()> {
    let (source, target) = (text(&format!("/proc/self/fd/{}", open.as_raw_fd()))?, text(target)?);
    // SAFETY: the strings are NUL-terminated; a bind takes neither kind nor options.
    check(unsafe { libc::mount(source.as_ptr(), target.as_ptr(), std::ptr::null(), libc::MS_BIND, std::ptr::null()) })
        .map(drop)
}

#[repr(C)]
struct OpenHow {
    flags: u64,
    mode: u64,
    resolve: u64,
}

/// Opens `path` below `directory` without following any link, at any place of the path.
pub fn open_below(directory: BorrowedFd, path: &str, flags: libc::c_int, mode: u32) -> io::Result<OwnedFd> {
    const NO_LINKS_BENEATH: u64 = 0x02 | 0x04 | 0x08;
    let path = text(path)?;
    let how =
        OpenHow { flags: (flags | libc::O_CLOEXEC) as u32 as u64, mode: u64::from(mode), resolve: NO_LINKS_BENEATH };
    // SAFETY: `how` is as long as said; the returned descriptor is ours alone.
    unsafe {
        let fd = check_long(libc::syscall(
            libc::SYS_openat2,
            directory.as_raw_fd(),
            path.as_ptr(),
            &raw const how,
            size_of::<OpenHow>(),
        ))?;
        Ok(OwnedFd::from_raw_fd(fd as RawFd))
    }
}

/// Runs `work` with the file-system ids `id`, keeping all capabilities. Afterwards the process is root again.
pub fn with_file_ids<T>(id: u32, work: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    const SECBIT_NO_SETUID_FIXUP: libc::c_ulong = 4;
    // SAFETY: no memory is passed.
    unsafe {
        check(libc::prctl(libc::PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP, 0, 0, 0))?;
        libc::setfsgid(id);
        libc::setfsuid(id);
        let taken = libc::setfsuid(u32::MAX) as u32;
        let result = if taken == id { work() } else { Err(io::Error::from_raw_os_error(libc::EPERM)) };
        libc::setfsuid(0);
        libc::setfsgid(0);
        check(libc::prctl(libc::PR_SET_SECUREBITS, 0, 0, 0, 0))?;
        result
    }
}
