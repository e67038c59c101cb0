use super::path::Place;
use crate::cell::fault::{Code, Fault};
use crate::cell::limits;
use crate::cell::sys;
use serde::Deserialize;
use serde_json::{json, Value};
use std::ffi::CStr;
use std::io;
use std::os::fd::RawFd;

#[derive(Deserialize)]
pub struct Delete {
    path: String,
    #[serde(default)]
    recursive: bool,
}

pub fn delete(wanted: Delete) -> Result<Value, Fault> {
    let place = Place::find(&wanted.path)?;
    if place.name.as_bytes() == b"." {
        return Err(Fault::invalid("The root directory cannot be deleted."));
    }
    let fail = |error: io::Error| place.fault("delete", &error);
    let stat = place.stat().map_err(fail)?;
    let is_directory = stat.st_mode & libc::S_IFMT == libc::S_IFDIR;
    let deleted = if is_directory && wanted.recursive {
        remove_tree(place.dir(), &place.name)?
    } else {
        sys::unlink_at(place.dir(), &place.name, is_directory).map_err(|error| {
            if error.raw_os_error() == Some(libc::ENOTEMPTY) {
                let message = format!("{} is a directory with entries. Set `recursive` to delete all.", place.path);
                return Fault::new(Code::NotEmpty, message);
            }
            fail(error)
        })?;
        1
    };
    Ok(json!({ "deleted": deleted }))
}

/// Deletes a directory and all in it without following a link; counts the entries.
pub fn remove_tree(parent: RawFd, name: &CStr) -> Result<u64, Fault> {
    let mut deleted = 0;
    remove_level(parent, name, 0, &mut deleted)?;
    Ok(deleted)
}

fn remove_level(parent: RawFd, name: &CStr, depth: usize, deleted: &mut u64) -> Result<(), Fault> {
    let fail = |error: io::Error| Fault::io(&format!("delete {}", name.to_string_lossy()), &error);
    if depth > limits::TREE_DEPTH {
        let message = format!("Directories are nested deeper than {}. Delete from inside.", limits::TREE_DEPTH);
        return Err(Fault::new(Code::LimitReached, message));
    }
    let dir = sys::open_child(parent, name, libc::O_RDONLY | libc::O_DIRECTORY, 0).map_err(fail)?;
    let mut names = sys::Names::new(dir).map_err(fail)?;
    let fd = names.fd();
    for child in names.by_ref() {
        let child = child.map_err(fail)?;
        match sys::unlink_at(fd, &child, false) {
            Ok(()) => *deleted += 1,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) if error.raw_os_error() == Some(libc::EISDIR) => {
                remove_level(fd, &child, depth + 1, deleted)?;
            }
            Err(error) => return Err(fail(error)),
        }
    }
    drop(names);
    sys::unlink_at(parent, name, true).map_err(fail)?;
    *deleted += 1;
    Ok(())
}
