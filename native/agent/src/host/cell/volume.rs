use super::spec::{SyncSpec, VolumeSpec};
use super::sys::check;
use super::{Failure, Step};
use serde::Serialize;
use std::fs::{DirBuilder, File};
use std::io;
use std::mem::zeroed;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::DirBuilderExt;

#[derive(Serialize)]
pub struct Done {}

/// Makes the subvolume of one computer in its own quota group, limited, with the directories that a cell needs. Nothing of it is
/// durable before `sync`. What an earlier try left must be gone, except for the group.
pub fn make(spec: &VolumeSpec) -> Result<Done, Failure> {
    let pool = File::open(&spec.pool).step("pool")?;
    let pool = pool.as_raw_fd();
    let group = LEVEL_ONE | spec.group;
    create_group(pool, group).step("create_group")?;
    assign_group(pool, group, LEVEL_TWO | spec.parent_group).step("assign_group")?;
    limit_group(pool, group, spec.limit_bytes).step("limit_group")?;
    let directory = File::open(&spec.directory).step("volumes")?;
    create_subvolume(directory.as_raw_fd(), &spec.name, group).step("create_subvolume")?;
    for name in &spec.directories {
        let path = format!("{}/{}/{name}", spec.directory, spec.name);
        DirBuilder::new().mode(0o755).create(path).step("directories")?;
    }
    Ok(Done {})
}

/// Resolves once everything that was done in the pool before is durable.
pub fn sync(spec: &SyncSpec) -> Result<Done, Failure> {
    const SYNC: libc::c_ulong = request(0, 8, 0);
    let pool = File::open(&spec.pool).step("pool")?;
    // SAFETY: this request takes no argument.
    check(unsafe { libc::ioctl(pool.as_raw_fd(), SYNC) }).step("sync")?;
    Ok(Done {})
}

const LEVEL_ONE: u64 = 1 << 48;
const LEVEL_TWO: u64 = 2 << 48;

const READ: libc::c_ulong = 2;
const WRITE: libc::c_ulong = 1;

/// A request number of btrfs (`include/uapi/linux/btrfs.h`).
const fn request(direction: libc::c_ulong, number: libc::c_ulong, size: usize) -> libc::c_ulong {
    direction << 30 | (size as libc::c_ulong) << 16 | 0x94 << 8 | number
}

#[repr(C)]
struct CreateGroup {
    create: u64,
    group: u64,
}

fn create_group(pool: RawFd, group: u64) -> io::Result<()> {
    let arguments = CreateGroup { create: 1, group };
    // SAFETY: the structure is the one that this request takes.
    unless_there(unsafe { ask(pool, request(WRITE, 42, size_of::<CreateGroup>()), &arguments) })
}

#[repr(C)]
struct AssignGroup {
    assign: u64,
    group: u64,
    parent: u64,
}

/// The kernel counts nothing anew for a group without members.
fn assign_group(pool: RawFd, group: u64, parent: u64) -> io::Result<()> {
    let arguments = AssignGroup { assign: 1, group, parent };
    // SAFETY: the structure is the one that this request takes.
    unless_there(unsafe { ask(pool, request(WRITE, 41, size_of::<AssignGroup>()), &arguments) })
}

#[repr(C)]
struct Limits {
    flags: u64,
    referenced: u64,
    exclusive: u64,
    reserved: [u64; 2],
}

#[repr(C)]
struct LimitGroup {
    group: u64,
    limits: Limits,
}

fn limit_group(pool: RawFd, group: u64, bytes: u64) -> io::Result<()> {
    const REFERENCED: u64 = 1;
    let limits = Limits { flags: REFERENCED, referenced: bytes, exclusive: 0, reserved: [0; 2] };
    let arguments = LimitGroup { group, limits };
    // SAFETY: the structure is the one that this request takes.
    unsafe { ask(pool, request(READ, 43, size_of::<LimitGroup>()), &arguments) }
}

#[repr(C)]
struct Inherit {
    flags: u64,
    groups: u64,
    copies: [u64; 2],
    limits: Limits,
    group: u64,
}

#[repr(C)]
struct CreateSubvolume {
    descriptor: i64,
    transaction: u64,
    flags: u64,
    inherit_size: u64,
    inherit: *const Inherit,
    unused: [u64; 2],
    name: [u8; 4040],
}

fn create_subvolume(directory: RawFd, name: &str, group: u64) -> io::Result<()> {
    const INHERIT: u64 = 1 << 2;
    // SAFETY: both structures are plain data, for which zero is a value.
    let (mut inherit, mut arguments): (Inherit, Box<CreateSubvolume>) = unsafe { (zeroed(), Box::new(zeroed())) };
    inherit.groups = 1;
    inherit.group = group;
    arguments.flags = INHERIT;
    arguments.inherit_size = size_of::<Inherit>() as u64;
    arguments.inherit = &raw const inherit;
    if name.is_empty() || name.contains('/') || name.len() >= arguments.name.len() {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    }
    arguments.name[..name.len()].copy_from_slice(name.as_bytes());
    // SAFETY: the structure is the one that this request takes; what it points to outlives the call.
    unsafe { ask(directory, request(WRITE, 24, size_of::<CreateSubvolume>()), &*arguments) }
}

fn unless_there(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.raw_os_error() == Some(libc::EEXIST) => Ok(()),
        other => other,
    }
}

/// # Safety
/// `arguments` is what the kernel takes for `request`.
unsafe fn ask<T>(descriptor: RawFd, request: libc::c_ulong, arguments: &T) -> io::Result<()> {
    // SAFETY: promised by the caller.
    check(unsafe { libc::ioctl(descriptor, request, std::ptr::from_ref(arguments)) }).map(drop)
}
