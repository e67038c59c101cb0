use super::mounts::{mapped, mount_point};
use super::spec::{RootSpec, TreeSpec};
use super::sys::{check, text, with_file_ids, ATTR_NO_DEVICES, ATTR_NO_PROGRAMS, ATTR_NO_SETUID, ATTR_READ_ONLY};
use super::{Failure, Step};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

/// Puts what the cell is shown of other computers at `bundle/tree-<name>-work`, `-changes`, `-root`, and `bundle/tree-archive`: in the
/// cell's own ids, without programs, devices or setuid. What is in there is never looked at here: it is another cell's.
pub fn mount(trees: &[TreeSpec], root: &RootSpec) -> Result<(), Failure> {
    if trees.is_empty() {
        return Ok(());
    }
    let users = File::open(format!("{}/users", root.bundle)).step("user_namespace")?;
    for tree in trees {
        match tree {
            TreeSpec::Files { name, volume, image } => {
                files(&format!("{}/tree-{name}", root.bundle), volume, image, users.as_fd(), root.first_id)
            }
            TreeSpec::Archive { volume, read_only } => {
                let place = format!("{}/tree-archive", root.bundle);
                let attributes = if *read_only { GUARDED | ATTR_READ_ONLY } else { GUARDED };
                shown(volume, &place, attributes, users.as_fd())
            }
        }
        .step("trees")?;
    }
    Ok(())
}

const GUARDED: u64 = ATTR_NO_SETUID | ATTR_NO_DEVICES | ATTR_NO_PROGRAMS;

fn files(place: &str, volume: &str, image: &str, users: BorrowedFd, first_id: u32) -> io::Result<()> {
    let still = GUARDED | ATTR_READ_ONLY;
    shown(&format!("{volume}/work"), &format!("{place}-work"), still, users)?;
    shown(&format!("{volume}/root"), &format!("{place}-changes"), still, users)?;
    shown(image, &format!("{place}-image"), still, users)?;
    let root = format!("{place}-root");
    mount_point(&root)?;
    // As the cell's own root: what it may read is what its own root may.
    with_file_ids(first_id, || merged(&format!("{place}-changes"), &format!("{place}-image"), &root))
}

fn shown(source: &str, place: &str, attributes: u64, users: BorrowedFd) -> io::Result<()> {
    mount_point(place)?;
    mapped(source, place, attributes, Some(users))
}

/// What a cell of it would see: an overlay that has nothing to write to.
fn merged(changes: &str, image: &str, target: &str) -> io::Result<()> {
    let options = text(&format!("lowerdir={changes}:{image},redirect_dir=nofollow,metacopy=off,index=off,xino=off"))?;
    let (kind, target) = (c"overlay", text(target)?);
    let flags = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC | libc::MS_RDONLY;
    // SAFETY: every string is NUL-terminated and outlives the call.
    check(unsafe { libc::mount(kind.as_ptr(), target.as_ptr(), kind.as_ptr(), flags, options.as_ptr().cast()) })
        .map(drop)
}
