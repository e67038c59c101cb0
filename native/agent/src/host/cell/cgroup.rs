use super::mounts::mount_point;
use super::spec::CgroupSpec;
use super::sys::{
    attach, check, open_tree, set_attributes, text, ATTR_NO_DEVICES, ATTR_NO_PROGRAMS, ATTR_NO_SETUID, ATTR_READ_ONLY,
};
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::chown;
use std::path::Path;

/// Files through which the owner of a v2 directory moves processes among its children; limits are not among them.
const DELEGATED: [&str; 3] = ["cgroup.procs", "cgroup.threads", "cgroup.subtree_control"];

/// Gives the cell's root its v2 directory and returns it as a detached mount: `..` from its root stays at its root, which a
/// descriptor of the directory itself would not.
pub fn delegate(spec: &CgroupSpec, id: u32) -> io::Result<OwnedFd> {
    chown(&spec.unified, Some(id), Some(id))?;
    for file in DELEGATED {
        chown(format!("{}/{file}", spec.unified), Some(id), Some(id))?;
    }
    open_tree(&spec.unified)
}

/// What the cell may read of its own limits, mounted read-only below `bundle/cgroup`: runtimes size their heaps by it. On the hybrid
/// layout one directory for each v1 controller; else the v2 directory itself.
pub fn show(spec: &CgroupSpec, bundle: &str) -> io::Result<()> {
    mount_point(&format!("{bundle}/cgroup"))?;
    if spec.legacy.is_empty() {
        return read_only(&spec.unified, &format!("{bundle}/cgroup"));
    }
    for (controller, directory) in &spec.legacy {
        let place = format!("{bundle}/cgroup/{controller}");
        mount_point(&place)?;
        read_only(directory, &place)?;
    }
    Ok(())
}

fn read_only(source: &str, target: &str) -> io::Result<()> {
    let mount = open_tree(source)?;
    set_attributes(mount.as_fd(), ATTR_READ_ONLY | ATTR_NO_SETUID | ATTR_NO_DEVICES | ATTR_NO_PROGRAMS, None)?;
    attach(mount.as_fd(), target)
}

/// Forks a child that is born in the v2 directory. Returns 0 in the child, its pid in the parent.
///
/// Moving a process between v2 cgroups waits for an RCU grace period on hosts with default mount options (4–20 ms); being
/// born in one does not.
pub fn fork_into(directory: &File) -> io::Result<libc::pid_t> {
    const CLONE_INTO_CGROUP: u64 = 0x2_0000_0000;
    // SAFETY: the structure is zeroed (no stack: the child runs on a copy of ours, as after fork) and as long as said.
    unsafe {
        let mut arguments: libc::clone_args = std::mem::zeroed();
        arguments.flags = CLONE_INTO_CGROUP;
        arguments.exit_signal = libc::SIGCHLD as u64;
        arguments.cgroup = directory.as_raw_fd() as u64;
        check(libc::syscall(libc::SYS_clone3, &raw const arguments, size_of::<libc::clone_args>()) as libc::c_int)
    }
}

/// Takes the v2 hierarchy of a hybrid layout out of this process's mount namespace: crun 1.8 refuses to run where it sees a
/// controller on it (`hugetlb`, often), although it is told to leave cgroups alone. All that was needed from it is open.
pub fn hide_hybrid() -> io::Result<()> {
    let place = "/sys/fs/cgroup/unified";
    if !Path::new(place).join("cgroup.procs").exists() {
        return Ok(());
    }
    let place = text(place)?;
    // SAFETY: the string is NUL-terminated.
    check(unsafe { libc::umount2(place.as_ptr(), libc::MNT_DETACH) }).map(drop)
}

/// Moves this process, which must have one thread, into the v1 directories.
///
/// `tasks` with `0` moves the calling thread and needs no lock on all thread groups, as `cgroup.procs` would.
pub fn join_legacy(spec: &CgroupSpec) -> io::Result<()> {
    for directory in spec.legacy.values() {
        let mut tasks = fs::OpenOptions::new().write(true).open(format!("{directory}/tasks"))?;
        tasks.write_all(b"0")?;
    }
    Ok(())
}
