use super::btrfs::{self, Origin, LEVEL_ONE, LEVEL_TWO};
use super::spec::{DeleteSpec, NestedSpec, PoolSpec, SealSpec, SnapshotSpec, TidySpec, VolumeSpec};
use super::sys::{check, open_below, text};
use super::{Failure, Step};
use serde::Serialize;
use std::fs::{DirBuilder, File};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::DirBuilderExt;
use std::time::Instant;

#[derive(Serialize)]
pub struct Done {}

/// Makes the subvolume of one computer in its own quota group, limited: with the directories that a cell needs, or as a copy. Nothing
/// of an empty one is durable before `sync`. What an earlier try left must be gone, except for the group.
pub fn make(spec: &VolumeSpec) -> Result<Done, Failure> {
    let pool = File::open(&spec.pool).step("pool")?;
    let pool = pool.as_raw_fd();
    let group = LEVEL_ONE | spec.group;
    btrfs::create_group(pool, group).step("create_group")?;
    btrfs::assign_group(pool, group, LEVEL_TWO | spec.parent_group).step("assign_group")?;
    btrfs::limit_group(pool, group, spec.limit_bytes).step("limit_group")?;
    let directory = File::open(&spec.directory).step("volumes")?;
    let directory = directory.as_raw_fd();
    if let Some(source) = &spec.source {
        let source = File::open(source).step("source")?;
        let origin = Origin::Copy { source: source.as_raw_fd(), read_only: false };
        btrfs::make_subvolume(directory, &spec.name, group, &origin).step("create_snapshot")?;
        return Ok(Done {});
    }
    btrfs::make_subvolume(directory, &spec.name, group, &Origin::Empty).step("create_subvolume")?;
    for name in &spec.directories {
        let path = format!("{}/{}/{name}", spec.directory, spec.name);
        DirBuilder::new().mode(0o755).create(path).step("directories")?;
    }
    Ok(Done {})
}

#[derive(Serialize)]
pub struct Taken {
    sync_us: u128,
    snapshot_us: u128,
}

/// The step that says that a volume holds subvolumes, which would be missing in a snapshot of it.
const NESTED: &str = "nested_subvolumes";

/// Takes a snapshot, durable when this returns. With `sync` everything written before is in it; without, what was written in the last
/// seconds is waited for by the kernel within its one step, in which nobody else may change anything.
pub fn snapshot(spec: &SnapshotSpec) -> Result<Taken, Failure> {
    let source = File::open(&spec.source).step("source")?;
    let directory = File::open(&spec.directory).step("directory")?;
    if btrfs::nested(source.as_raw_fd()).step("look_for_nested")? > 0 {
        return Err(Failure { step: NESTED, message: "there are subvolumes inside the volume".into() });
    }
    let before = Instant::now();
    if spec.sync {
        btrfs::sync(directory.as_raw_fd()).step("sync")?;
    }
    let synced = Instant::now();
    let origin = Origin::Copy { source: source.as_raw_fd(), read_only: spec.read_only };
    btrfs::make_subvolume(directory.as_raw_fd(), &spec.name, LEVEL_ONE | spec.group, &origin)
        .step("create_snapshot")?;
    Ok(Taken { sync_us: synced.duration_since(before).as_micros(), snapshot_us: synced.elapsed().as_micros() })
}

/// Deletes subvolumes of one pool in this order; one that is not there is none. Durable when this returns.
pub fn delete(spec: &DeleteSpec) -> Result<Done, Failure> {
    for (index, one) in spec.subvolumes.iter().enumerate() {
        let directory = File::open(&one.directory).step("directory")?;
        let directory = directory.as_raw_fd();
        match btrfs::delete_subvolume(directory, &one.name) {
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) => {}
            Err(error) if error.raw_os_error() == Some(libc::ENOTEMPTY) => {
                return Err(Failure { step: NESTED, message: format!("there are subvolumes inside {}", one.name) });
            }
            other => other.step("delete_subvolume")?,
        }
        if index + 1 == spec.subvolumes.len() {
            btrfs::commit(directory).step("commit")?;
        }
    }
    Ok(Done {})
}

#[derive(Serialize)]
pub struct Found {
    count: u8,
}

pub fn nested(spec: &NestedSpec) -> Result<Found, Failure> {
    let volume = File::open(&spec.volume).step("volume")?;
    Ok(Found { count: btrfs::nested(volume.as_raw_fd()).step("look_for_nested")? })
}

/// Makes a subvolume read-only, with everything that was written to it durable before.
pub fn seal(spec: &SealSpec) -> Result<Done, Failure> {
    let volume = File::open(&spec.volume).step("volume")?;
    btrfs::make_read_only(volume.as_raw_fd()).step("make_read_only")?;
    btrfs::sync(volume.as_raw_fd()).step("sync")?;
    Ok(Done {})
}

/// Resolves once everything that was done in the pool before is durable.
pub fn sync(spec: &PoolSpec) -> Result<Done, Failure> {
    let pool = File::open(&spec.pool).step("pool")?;
    btrfs::sync(pool.as_raw_fd()).step("sync")?;
    Ok(Done {})
}

/// Resolves once the quota groups are counted anew.
pub fn count(spec: &PoolSpec) -> Result<Done, Failure> {
    let pool = File::open(&spec.pool).step("pool")?;
    btrfs::count(pool.as_raw_fd()).step("count")?;
    Ok(Done {})
}

/// Removes directories below a volume where they are empty; no link is followed on the way. No process of its cell runs.
pub fn tidy(spec: &TidySpec) -> Result<Done, Failure> {
    let volume: OwnedFd = File::open(&spec.volume).step("volume")?.into();
    for path in &spec.directories {
        remove_empty(&volume, path).step("remove_directory")?;
    }
    Ok(Done {})
}

fn remove_empty(volume: &OwnedFd, path: &str) -> io::Result<()> {
    let (parent, name) = path.rsplit_once('/').unwrap_or((".", path));
    let removed = open_below(volume.as_fd(), parent, libc::O_PATH | libc::O_DIRECTORY, 0).and_then(|parent| {
        let name = text(name)?;
        // SAFETY: `name` is NUL-terminated; the call acts on an open directory.
        check(unsafe { libc::unlinkat(parent.as_raw_fd(), name.as_ptr(), libc::AT_REMOVEDIR) })
    });
    match removed {
        Err(error)
            if !matches!(error.raw_os_error(), Some(libc::ENOENT | libc::ENOTEMPTY | libc::ENOTDIR | libc::ELOOP)) =>
        {
            Err(error)
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn tidies_what_is_empty_and_follows_no_link() {
        let base = std::env::temp_dir().join(format!("holdfast-tidy-{}", std::process::id()));
        let (volume, outside) = (base.join("volume"), base.join("outside"));
        fs::create_dir_all(volume.join("root/trees/archive")).unwrap();
        fs::create_dir_all(volume.join("full/kept")).unwrap();
        fs::create_dir_all(outside.join("archive")).unwrap();
        symlink(&outside, volume.join("link")).unwrap();
        let directories = ["root/trees/archive", "root/trees", "full", "link/archive", "absent/archive"];
        tidy(&TidySpec { volume: volume.to_str().unwrap().into(), directories: directories.map(String::from).into() })
            .unwrap();
        assert!(!volume.join("root/trees").exists());
        assert!(volume.join("full/kept").is_dir());
        assert!(outside.join("archive").is_dir());
        fs::remove_dir_all(&base).unwrap();
    }
}
