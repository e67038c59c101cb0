use super::spec::RootSpec;
use super::{mounts, sys, Failure, Step};
use serde::Serialize;
use std::fs;
use std::os::unix::fs::MetadataExt;

#[derive(Serialize)]
pub struct Proven {
    /// The id on disk of a file that the cell's root made: 0, whatever range the cell has.
    owner_on_disk: u32,
}

/// Puts a root together as for a cell, lets the range's first id write a file, and reads who owns it on disk.
pub fn probe(spec: &RootSpec) -> Result<Proven, Failure> {
    sys::private_mounts().step("mount_namespace")?;
    mounts::mount_root(spec)?;
    let inside = format!("{}/root/holdfast-probe", spec.bundle);
    sys::with_file_ids(spec.first_id, || fs::write(&inside, "written through the map")).step("write")?;
    let on_disk = format!("{}/root/holdfast-probe", spec.volume);
    let owner_on_disk = fs::symlink_metadata(&on_disk).step("read_back")?.uid();
    fs::remove_file(&on_disk).step("read_back")?;
    Ok(Proven { owner_on_disk })
}
