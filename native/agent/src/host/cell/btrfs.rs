//! The requests that btrfs takes (`include/uapi/linux/btrfs.h`), made safe.

use super::sys::check;
use std::io;
use std::mem::zeroed;
use std::os::fd::RawFd;

/// Waits until everything written and done before is on the disk: also what others wrote.
pub fn sync(pool: RawFd) -> io::Result<()> {
    const SYNC: libc::c_ulong = request(0, 8, 0);
    // SAFETY: this request takes no argument.
    check(unsafe { libc::ioctl(pool, SYNC) }).map(drop)
}

/// Waits until what was done to the tree before is durable. Written data of others is not waited for.
pub fn commit(pool: RawFd) -> io::Result<()> {
    let mut transaction: u64 = 0;
    // SAFETY: both requests take one number, which the first fills.
    unsafe {
        check(libc::ioctl(pool, request(READ, 24, size_of::<u64>()), &raw mut transaction))?;
        ask(pool, request(WRITE, 22, size_of::<u64>()), &transaction)
    }
}

pub const LEVEL_ONE: u64 = 1 << 48;
pub const LEVEL_TWO: u64 = 2 << 48;

#[repr(C)]
struct CreateGroup {
    create: u64,
    group: u64,
}

pub fn create_group(pool: RawFd, group: u64) -> io::Result<()> {
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
pub fn assign_group(pool: RawFd, group: u64, parent: u64) -> io::Result<()> {
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

pub fn limit_group(pool: RawFd, group: u64, bytes: u64) -> io::Result<()> {
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
struct MakeSubvolume {
    descriptor: i64,
    transaction: u64,
    flags: u64,
    inherit_size: u64,
    inherit: *const Inherit,
    unused: [u64; 2],
    name: [u8; 4040],
}

/// What a new subvolume begins with.
pub enum Origin {
    Empty,
    /// What the subvolume of this descriptor holds, without what is nested in it.
    Copy {
        source: RawFd,
        read_only: bool,
    },
}

/// Makes `name` in `directory`, counted in `group`. A copy is durable when this returns; an empty one is not yet.
pub fn make_subvolume(directory: RawFd, name: &str, group: u64, origin: &Origin) -> io::Result<()> {
    const READ_ONLY: u64 = 1 << 1;
    const INHERIT: u64 = 1 << 2;
    // SAFETY: both structures are plain data, for which zero is a value.
    let (mut inherit, mut arguments): (Inherit, Box<MakeSubvolume>) = unsafe { (zeroed(), Box::new(zeroed())) };
    inherit.groups = 1;
    inherit.group = group;
    arguments.flags = INHERIT;
    arguments.inherit_size = size_of::<Inherit>() as u64;
    arguments.inherit = &raw const inherit;
    put_name(&mut arguments.name, name)?;
    let number = match origin {
        Origin::Empty => 24,
        Origin::Copy { source, read_only } => {
            arguments.descriptor = i64::from(*source);
            if *read_only {
                arguments.flags |= READ_ONLY;
            }
            23
        }
    };
    // SAFETY: the structure is the one that both requests take; what it points to outlives the call.
    unsafe { ask(directory, request(WRITE, number, size_of::<MakeSubvolume>()), &*arguments) }
}

#[repr(C)]
struct DeleteSubvolume {
    descriptor: i64,
    name: [u8; 4088],
}

/// Gone at once; not durable before `commit`. Refused while there are subvolumes in it.
pub fn delete_subvolume(directory: RawFd, name: &str) -> io::Result<()> {
    // SAFETY: the structure is plain data, for which zero is a value.
    let mut arguments: Box<DeleteSubvolume> = unsafe { Box::new(zeroed()) };
    put_name(&mut arguments.name, name)?;
    // SAFETY: the structure is the one that this request takes.
    unsafe { ask(directory, request(WRITE, 15, size_of::<DeleteSubvolume>()), &*arguments) }
}

#[repr(C)]
struct Nested {
    least: u64,
    found: [[u64; 2]; 255],
    count: u8,
    unused: [u8; 7],
}

/// How many subvolumes lie directly in the one of this descriptor; at most 255 are counted. Reads one place of one tree, whatever is in it.
pub fn nested(subvolume: RawFd) -> io::Result<u8> {
    // SAFETY: the structure is plain data, for which zero is a value, and the one that this request takes and fills.
    let (arguments, result) = unsafe {
        let mut arguments: Box<Nested> = Box::new(zeroed());
        let number = request(READ | WRITE, 61, size_of::<Nested>());
        let result = check(libc::ioctl(subvolume, number, &raw mut *arguments));
        (arguments, result)
    };
    match result {
        Err(error) if error.raw_os_error() == Some(libc::EOVERFLOW) => Ok(u8::MAX),
        Err(error) => Err(error),
        Ok(_) => Ok(arguments.count),
    }
}

/// From now on nobody opens anything in it for writing.
pub fn make_read_only(subvolume: RawFd) -> io::Result<()> {
    const READ_ONLY: u64 = 1 << 1;
    // SAFETY: this request takes one number.
    unsafe { ask(subvolume, request(WRITE, 26, size_of::<u64>()), &READ_ONLY) }
}

#[repr(C)]
struct Count {
    flags: u64,
    progress: u64,
    reserved: [u64; 6],
}

/// Counts anew what each quota group holds, and waits for it. One count that is under way already began too early, so another follows.
pub fn count(pool: RawFd) -> io::Result<()> {
    const WAIT: libc::c_ulong = request(0, 46, 0);
    // SAFETY: a request without an argument.
    let wait = || check(unsafe { libc::ioctl(pool, WAIT) });
    wait()?;
    let arguments = Count { flags: 0, progress: 0, reserved: [0; 6] };
    // SAFETY: the structure is the one that this request takes.
    match unsafe { ask(pool, request(WRITE, 44, size_of::<Count>()), &arguments) } {
        Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => Err(error),
        _ => wait().map(drop),
    }
}

const READ: libc::c_ulong = 2;
const WRITE: libc::c_ulong = 1;

const fn request(direction: libc::c_ulong, number: libc::c_ulong, size: usize) -> libc::c_ulong {
    direction << 30 | (size as libc::c_ulong) << 16 | 0x94 << 8 | number
}

fn put_name(place: &mut [u8], name: &str) -> io::Result<()> {
    if name.is_empty() || name.contains(['/', '\0']) || name.len() >= place.len() {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    }
    place[..name.len()].copy_from_slice(name.as_bytes());
    Ok(())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structures_are_as_long_as_the_kernel_says() {
        // The size is part of a request's number: another one would be another request.
        assert_eq!(size_of::<MakeSubvolume>(), 4096);
        assert_eq!(size_of::<DeleteSubvolume>(), 4096);
        assert_eq!(size_of::<Nested>(), 4096);
        assert_eq!(size_of::<Count>(), 64);
        assert_eq!(size_of::<LimitGroup>(), 48);
        assert_eq!(request(WRITE, 23, size_of::<MakeSubvolume>()), 0x5000_9417);
        assert_eq!(request(READ | WRITE, 61, size_of::<Nested>()), 0xd000_943d);
    }

    #[test]
    fn a_name_is_one_name() {
        let mut place = [0; 8];
        for name in ["", "a/b", "..\0", "12345678", "/"] {
            assert!(put_name(&mut place, name).is_err(), "{name:?}");
        }
        put_name(&mut place, "1234567").unwrap();
        assert_eq!(&place, b"1234567\0");
    }
}
