use super::spec::RootSpec;
use super::sys::{
    attach, bind, check, open_tree, set_attributes, text, with_file_ids, ATTR_NO_DEVICES, ATTR_NO_SETUID,
    ATTR_READ_ONLY,
};
use super::targets;
use super::usermap::user_namespace;
use super::{Failure, Step};
use std::fs::{self, DirBuilder, File};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

/// Puts the cell's root together in this process's own mount namespace: `bundle/root` is the overlay, `bundle/volume` the
/// ID-mapped volume, `bundle/agent` the agent, `bundle/users` the cell's user namespace. Fails unless the overlay can be written.
pub fn mount_root(spec: &RootSpec) -> Result<(), Failure> {
    let at = |name: &str| format!("{}/{name}", spec.bundle);
    for name in ["lower", "volume", "root"] {
        mount_point(&at(name)).step("mount_points")?;
    }
    for name in ["agent", "users"] {
        File::create(at(name)).step("mount_points")?;
    }
    let users = user_namespace(spec.first_id, spec.id_count).step("user_namespace")?;
    bind(users.as_fd(), &at("users")).step("user_namespace")?;

    let guarded = ATTR_NO_SETUID | ATTR_NO_DEVICES;
    mapped(&spec.image, &at("lower"), guarded | ATTR_READ_ONLY, Some(users.as_fd())).step("map_image")?;
    mapped(&spec.volume, &at("volume"), guarded, Some(users.as_fd())).step("map_volume")?;
    mapped(&spec.agent, &at("agent"), guarded | ATTR_READ_ONLY, None).step("bind_agent")?;

    // As plain root the kernel cannot own the overlay's work directory (root has no id in the mapped mount), and then mounts
    // read-only without an error.
    with_file_ids(spec.first_id, || {
        overlay(&at("lower"), &at("volume"), &at("root"))?;
        refuse_read_only(&at("root"))
    })
    .step("overlay")?;
    with_file_ids(spec.first_id, || targets::ensure(Path::new(&at("root")), &spec.directories, &spec.files))
        .step("mount_targets")
}

/// An empty directory that everybody may pass and nobody may look into.
pub fn mount_point(path: &str) -> io::Result<()> {
    match DirBuilder::new().mode(0o711).create(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

pub fn mapped(source: &str, target: &str, attributes: u64, users: Option<BorrowedFd>) -> io::Result<()> {
    let mount = open_tree(source)?;
    set_attributes(mount.as_fd(), attributes, users)?;
    attach(mount.as_fd(), target)
}

fn overlay(lower: &str, volume: &str, target: &str) -> io::Result<()> {
    let options = text(&format!(
        "lowerdir={lower},upperdir={volume}/root,workdir={volume}/.overlay-work,\
         redirect_dir=nofollow,metacopy=off,index=off,xino=off"
    ))?;
    let (kind, target) = (c"overlay", text(target)?);
    let flags = libc::MS_NOSUID | libc::MS_NODEV;
    // SAFETY: every string is NUL-terminated and outlives the call.
    check(unsafe { libc::mount(kind.as_ptr(), target.as_ptr(), kind.as_ptr(), flags, options.as_ptr().cast()) })
        .map(drop)
}

const TRIAL: &str = ".holdfast-trial";

/// Both what the kernel says and what it does: a file can be made and removed.
fn refuse_read_only(root: &str) -> io::Result<()> {
    let path = text(root)?;
    let mut facts = MaybeUninit::<libc::statvfs>::uninit();
    // SAFETY: the kernel fills the structure when the call succeeds.
    let facts = unsafe {
        check(libc::statvfs(path.as_ptr(), facts.as_mut_ptr()))?;
        facts.assume_init()
    };
    if facts.f_flag & libc::ST_RDONLY != 0 {
        return Err(io::Error::other("the kernel mounted the overlay read-only"));
    }
    // What a helper that was killed here left. A directory under that name is the cell's and is moved aside.
    let trial = Path::new(root).join(TRIAL);
    let _ = fs::remove_file(&trial);
    targets::ensure(Path::new(root), &[], &[TRIAL.into()])?;
    fs::remove_file(&trial)
}
