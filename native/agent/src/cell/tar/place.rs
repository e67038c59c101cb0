use crate::cell::fault::{Code, Fault};
use crate::cell::files::{make_one, remove_tree, Place};
use crate::cell::limits;
use crate::cell::sys;
use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

/// A directory beside the goal, on the same file system, that vanishes unless it is moved in.
pub struct Stage {
    place: Place,
    /// The goal, where it exists: then the stage is inside it and its content is moved.
    goal: Option<OwnedFd>,
    name: CString,
    pub dir: OwnedFd,
    moved: bool,
}

const DIRECTORY: libc::c_int = libc::O_RDONLY | libc::O_DIRECTORY;

impl Stage {
    pub fn new(path: &str, user: Option<(u32, u32)>) -> Result<Stage, Fault> {
        let place = Place::find(path)?;
        let goal = match place.open(DIRECTORY, 0) {
            Ok(goal) => Some(goal),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(place.fault("unpack into", &error)),
        };
        let mut bytes = [0u8; 8];
        let name = sys::random(&mut bytes)
            .and_then(|()| sys::text(&format!(".holdfast-import-{:016x}", u64::from_ne_bytes(bytes))))
            .map_err(|error| place.fault("unpack into", &error))?;
        let above = goal.as_ref().map_or(place.dir(), AsRawFd::as_raw_fd);
        let dir = make_one(above, &name, 0o755, user).map_err(|error| place.fault("unpack into", &error))?;
        Ok(Stage { place, goal, name, dir, moved: false })
    }

    /// Puts what was unpacked where it belongs, and on the disk. Directories that both have are merged; a file
    /// replaces a file or a link. Checked as a whole before the first move.
    pub fn move_in(mut self) -> Result<(), Fault> {
        sys::sync_fs(self.dir.as_raw_fd()).map_err(|error| self.place.fault("unpack into", &error))?;
        match &self.goal {
            None => {
                let dir = self.place.dir();
                sys::rename_at(dir, &self.name, dir, &self.place.name, false)
                    .map_err(|error| self.place.fault("unpack into", &error))?;
                self.moved = true;
            }
            Some(goal) => {
                merge(self.dir.as_raw_fd(), goal.as_raw_fd(), Pass::Check, 0)?;
                merge(self.dir.as_raw_fd(), goal.as_raw_fd(), Pass::Move, 0)?;
            }
        }
        crate::cell::files::sync_directory(&self.place).map_err(|error| self.place.fault("unpack into", &error))
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        if !self.moved {
            let above = self.goal.as_ref().map_or(self.place.dir(), AsRawFd::as_raw_fd);
            let _ = remove_tree(above, &self.name);
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Pass {
    Check,
    Move,
}

fn merge(from: RawFd, to: RawFd, pass: Pass, depth: usize) -> Result<(), Fault> {
    let fail = |error: io::Error| Fault::io("move the unpacked files in", &error);
    if depth > limits::TREE_DEPTH {
        return Err(Fault::new(Code::LimitReached, "The directories are nested too deep. Unpack a part of them."));
    }
    let names = sys::open_plain(from, c".", DIRECTORY, 0).and_then(sys::Names::new).map_err(fail)?;
    for name in names {
        let name = name.map_err(fail)?;
        let ours = is_directory(&sys::stat_at(from, &name).map_err(fail)?);
        let theirs = match sys::stat_at(to, &name) {
            Ok(stat) => Some(is_directory(&stat)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(fail(error)),
        };
        match (ours, theirs) {
            (true, Some(true)) => {
                let ours = sys::open_child(from, &name, DIRECTORY, 0).map_err(fail)?;
                let theirs = sys::open_child(to, &name, DIRECTORY, 0).map_err(fail)?;
                merge(ours.as_raw_fd(), theirs.as_raw_fd(), pass, depth + 1)?;
            }
            (true, Some(false)) | (false, Some(true)) => {
                let shown = name.to_string_lossy();
                let message = format!("{shown} is a directory on one side and not on the other. Delete it first.");
                return Err(Fault::new(Code::AlreadyExists, message));
            }
            _ if pass == Pass::Move => sys::rename_at(from, &name, to, &name, true).map_err(fail)?,
            _ => {}
        }
    }
    Ok(())
}

fn is_directory(stat: &libc::stat) -> bool {
    stat.st_mode & libc::S_IFMT == libc::S_IFDIR
}
