use super::sys::{check, open_below, text};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// Makes sure that each mount target in the cell's root is what the runtime expects and not a link.
///
/// The root belongs to the cell, so a target may have become anything while the cell ran. No process of the cell runs now. A
/// link or another kind of file in a target's place is removed; a directory in a file's place, which may hold work, is moved
/// aside: as an error it would keep the computer from ever starting again.
pub fn ensure(root: &Path, directories: &[String], files: &[String]) -> io::Result<()> {
    let root: OwnedFd = File::open(root)?.into();
    for path in directories {
        ensure_directory(root.as_fd(), path)?;
    }
    for path in files {
        ensure_file(root.as_fd(), path)?;
    }
    Ok(())
}

fn ensure_directory(root: BorrowedFd, path: &str) -> io::Result<()> {
    let mut so_far = String::new();
    for name in path.split('/') {
        so_far = if so_far.is_empty() { name.to_owned() } else { format!("{so_far}/{name}") };
        if kind_of(root, &so_far)? == Some(libc::S_IFDIR) {
            continue;
        }
        let (parent, name) = open_parent(root, &so_far)?;
        let name = text(name)?;
        // SAFETY: `name` is NUL-terminated; the calls act on an open directory.
        unsafe {
            remove(&parent, &name)?;
            check(libc::mkdirat(parent.as_raw_fd(), name.as_ptr(), 0o755))?;
            check(libc::fchmodat(parent.as_raw_fd(), name.as_ptr(), 0o755, 0))?;
        }
    }
    Ok(())
}

fn ensure_file(root: BorrowedFd, path: &str) -> io::Result<()> {
    if let Some((parent, _)) = path.rsplit_once('/') {
        ensure_directory(root, parent)?;
    }
    let kind = kind_of(root, path)?;
    if kind == Some(libc::S_IFREG) {
        return Ok(());
    }
    let (parent, name) = open_parent(root, path)?;
    if kind == Some(libc::S_IFDIR) {
        move_aside(&parent, name)?;
    } else {
        remove(&parent, &text(name)?)?;
    }
    open_below(parent.as_fd(), name, libc::O_CREAT | libc::O_EXCL | libc::O_WRONLY, 0o644).map(drop)
}

fn open_parent<'a>(root: BorrowedFd, path: &'a str) -> io::Result<(OwnedFd, &'a str)> {
    let (parent, name) = path.rsplit_once('/').unwrap_or((".", path));
    Ok((open_below(root, parent, libc::O_PATH | libc::O_DIRECTORY, 0)?, name))
}

/// The kind of what is at `path`; nothing when it is absent or reached through a link.
fn kind_of(root: BorrowedFd, path: &str) -> io::Result<Option<libc::mode_t>> {
    match open_below(root, path, libc::O_PATH | libc::O_NOFOLLOW, 0) {
        Ok(found) => Ok(Some(File::from(found).metadata()?.mode() & libc::S_IFMT)),
        Err(error) if matches!(error.raw_os_error(), Some(libc::ENOENT | libc::ELOOP | libc::ENOTDIR)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The new name has the time in it, which the cell could not know.
fn move_aside(parent: &OwnedFd, name: &str) -> io::Result<()> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_err(io::Error::other)?.as_nanos();
    let (from, to) = (text(name)?, text(&format!("{name}.{now}"))?);
    // SAFETY: both names are NUL-terminated and in the same open directory.
    check(unsafe { libc::renameat(parent.as_raw_fd(), from.as_ptr(), parent.as_raw_fd(), to.as_ptr()) }).map(drop)
}

fn remove(parent: &OwnedFd, name: &std::ffi::CStr) -> io::Result<()> {
    // SAFETY: `name` is NUL-terminated.
    match check(unsafe { libc::unlinkat(parent.as_raw_fd(), name.as_ptr(), 0) }) {
        Err(error) if error.raw_os_error() != Some(libc::ENOENT) => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn replaces_links_at_every_place_of_a_target() {
        let base = std::env::temp_dir().join(format!("holdfast-targets-{}", std::process::id()));
        let (root, outside) = (base.join("root"), base.join("outside"));
        fs::create_dir_all(&root).unwrap();
        fs::create_dir_all(&outside).unwrap();
        symlink(&outside, root.join("work")).unwrap();
        symlink(&outside, root.join(".holdfast")).unwrap();
        fs::write(root.join("proc"), "a file where a directory belongs").unwrap();
        fs::create_dir_all(root.join("etc/file/inside")).unwrap();

        ensure(
            &root,
            &["work".into(), "proc".into(), "dev/pts".into()],
            &[".holdfast/agent".into(), "etc/file".into()],
        )
        .unwrap();

        for directory in ["work", "proc", "dev/pts", ".holdfast"] {
            assert!(root.join(directory).symlink_metadata().unwrap().is_dir(), "{directory}");
        }
        assert!(root.join(".holdfast/agent").symlink_metadata().unwrap().is_file());
        assert!(root.join("etc/file").symlink_metadata().unwrap().is_file());
        assert_eq!(fs::read_dir(root.join("etc")).unwrap().count(), 2, "what was there is kept");
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
        fs::remove_dir_all(&base).unwrap();
    }
}
