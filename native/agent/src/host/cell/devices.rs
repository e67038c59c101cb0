use super::sys::check;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// The only devices a cell may open, all character ones: null, zero, full, random, urandom, tty, ptmx, and every pts.
const ALLOWED: [(u32, Option<u32>); 8] =
    [(1, Some(3)), (1, Some(5)), (1, Some(7)), (1, Some(8)), (1, Some(9)), (5, Some(0)), (5, Some(2)), (136, None)];

/// Denies every other device to the processes of a v2 cgroup, for good: nothing in the cell can take a program off. This
/// works in both cgroup layouts, and is what keeps a device node in a volume shut, whatever made it.
pub fn deny(cgroup: &str) -> io::Result<()> {
    let directory = File::open(cgroup)?;
    let program = load(&program())?;
    attach(program.as_raw_fd(), directory.as_raw_fd())
}

/// One instruction of the kernel's BPF machine.
#[repr(C)]
#[derive(Clone, Copy)]
struct Instruction {
    code: u8,
    registers: u8,
    offset: i16,
    immediate: i32,
}

const LOAD_WORD: u8 = 0x61;
const MOVE: u8 = 0xb7;
const COPY: u8 = 0xbf;
const AND: u8 = 0x57;
const SHIFT_RIGHT: u8 = 0x77;
const JUMP_NOT_EQUAL: u8 = 0x55;
const JUMP_IF_SET: u8 = 0x45;
const JUMP: u8 = 0x05;
const EXIT: u8 = 0x95;

const fn op(code: u8, destination: u8, source: u8, offset: i16, immediate: i32) -> Instruction {
    Instruction { code, registers: destination | source << 4, offset, immediate }
}

/// Context (`struct bpf_cgroup_dev_ctx`): access << 16 | type, major, minor. Returns 1 to allow, 0 to refuse.
fn program() -> Vec<Instruction> {
    const CHARACTER: i32 = 2;
    const MAKE_NODE: i32 = 1;
    let mut code = vec![
        op(LOAD_WORD, 2, 1, 0, 0),
        op(LOAD_WORD, 3, 1, 4, 0),
        op(LOAD_WORD, 4, 1, 8, 0),
        op(COPY, 5, 2, 0, 0),
        op(AND, 2, 0, 0, 0xffff),
        op(SHIFT_RIGHT, 5, 0, 0, 16),
        // Anything but a character device, and any making of a node, is refused.
        op(JUMP_NOT_EQUAL, 2, 0, 2, CHARACTER),
        op(JUMP_IF_SET, 5, 0, 1, MAKE_NODE),
        op(JUMP, 0, 0, 2, 0),
        op(MOVE, 0, 0, 0, 0),
        op(EXIT, 0, 0, 0, 0),
    ];
    for (major, minor) in ALLOWED {
        let rest = if minor.is_some() { 3 } else { 2 };
        code.push(op(JUMP_NOT_EQUAL, 3, 0, rest, major as i32));
        if let Some(minor) = minor {
            code.push(op(JUMP_NOT_EQUAL, 4, 0, 2, minor as i32));
        }
        code.push(op(MOVE, 0, 0, 0, 1));
        code.push(op(EXIT, 0, 0, 0, 0));
    }
    code.push(op(MOVE, 0, 0, 0, 0));
    code.push(op(EXIT, 0, 0, 0, 0));
    code
}

/// The leading fields of `union bpf_attr` for each command; the kernel takes the rest as zero.
#[repr(C)]
struct LoadAttributes {
    kind: u32,
    count: u32,
    instructions: u64,
    license: u64,
}

#[repr(C)]
struct AttachAttributes {
    target: u32,
    program: u32,
    kind: u32,
    flags: u32,
}

fn load(code: &[Instruction]) -> io::Result<OwnedFd> {
    const BPF_PROG_LOAD: libc::c_int = 5;
    const BPF_PROG_TYPE_CGROUP_DEVICE: u32 = 15;
    let attributes = LoadAttributes {
        kind: BPF_PROG_TYPE_CGROUP_DEVICE,
        count: code.len() as u32,
        instructions: code.as_ptr() as u64,
        license: c"Apache-2.0".as_ptr() as u64,
    };
    // SAFETY: the pointers in the structure outlive the call; the returned descriptor is ours alone.
    unsafe { bpf(BPF_PROG_LOAD, &attributes).map(|fd| OwnedFd::from_raw_fd(fd)) }
}

fn attach(program: RawFd, cgroup: RawFd) -> io::Result<()> {
    const BPF_PROG_ATTACH: libc::c_int = 8;
    const BPF_CGROUP_DEVICE: u32 = 6;
    const BPF_F_ALLOW_MULTI: u32 = 2;
    let attributes = AttachAttributes {
        target: cgroup as u32,
        program: program as u32,
        kind: BPF_CGROUP_DEVICE,
        flags: BPF_F_ALLOW_MULTI,
    };
    // SAFETY: the structure outlives the call and holds no pointers.
    unsafe { bpf(BPF_PROG_ATTACH, &attributes).map(drop) }
}

/// # Safety
/// `attributes` is what the kernel expects for `command`, and its pointers are valid.
unsafe fn bpf<T>(command: libc::c_int, attributes: &T) -> io::Result<RawFd> {
    // SAFETY: promised by the caller; the size is that of the structure.
    let result = unsafe { libc::syscall(libc::SYS_bpf, command, std::ptr::from_ref(attributes), size_of::<T>()) };
    check(result as libc::c_int)
}
