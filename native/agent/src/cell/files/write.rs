use super::entry::version;
use super::path::Place;
use super::simple::{check_mode, entry};
use crate::cell::fault::{Code, Fault};
use crate::cell::process::command::User;
use crate::cell::sys;
use serde::Deserialize;
use serde_json::Value;
use std::ffi::CString;
use std::fs::File;
use std::io::Write as _;
use std::os::fd::AsRawFd;

#[derive(Deserialize)]
pub struct Write {
    pub path: String,
    #[serde(default)]
    pub mode: Option<u32>,
    #[serde(default)]
    pub user: Option<User>,
    #[serde(default)]
    pub make_parents: bool,
    #[serde(default)]
    pub if_match: Option<String>,
    #[serde(default)]
    pub must_not_exist: bool,
}

/// New content on its way: a file beside the target that takes its place when it is whole, and vanishes when not.
pub struct Pending {
    place: Place,
    fresh: CString,
    file: File,
    wanted: Write,
    done: bool,
}

impl Pending {
    pub fn begin(wanted: Write) -> Result<Pending, Fault> {
        check_mode(wanted.mode.unwrap_or(0))?;
        let user = wanted.user.map(|user| (user.uid, user.gid));
        let place =
            if wanted.make_parents { Place::find_or_make(&wanted.path, user)? } else { Place::find(&wanted.path)? };
        check_target(&place, &wanted)?;
        let (fresh, file) = create_beside(&place)?;
        Ok(Pending { place, fresh, file, wanted, done: false })
    }

    pub fn add(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        self.file.write_all(bytes).map_err(|error| self.place.fault("write", &error))
    }

    /// On the disk, then in place, then the name on the disk: an acknowledged write survives a power cut.
    pub fn finish(mut self) -> Result<Value, Fault> {
        let fail = |error: std::io::Error| self.place.fault("write", &error);
        let old = self.place.stat().ok();
        let (uid, gid) = match (self.wanted.user, &old) {
            (Some(user), _) => (user.uid, user.gid),
            (None, Some(stat)) => (stat.st_uid, stat.st_gid),
            (None, None) => (u32::MAX, u32::MAX),
        };
        sys::chown_fd(self.file.as_raw_fd(), uid, gid).map_err(fail)?;
        let mode = self.wanted.mode.or(old.map(|stat| stat.st_mode & 0o7777)).unwrap_or(0o644);
        sys::chmod_fd(self.file.as_raw_fd(), mode).map_err(fail)?;
        self.file.sync_all().map_err(fail)?;
        check_target(&self.place, &self.wanted)?;
        let replace = !self.wanted.must_not_exist;
        let dir = self.place.dir();
        sys::rename_at(dir, &self.fresh, dir, &self.place.name, replace).map_err(fail)?;
        self.done = true;
        sync_directory(&self.place).map_err(fail)?;
        entry(&self.place)
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if !self.done {
            let _ = sys::unlink_at(self.place.dir(), &self.fresh, false);
        }
    }
}

/// Whether the target may be replaced: by a writer who saw this version of it, and only where it is a file or absent.
fn check_target(place: &Place, wanted: &Write) -> Result<(), Fault> {
    let stat = match place.stat() {
        Ok(stat) => Some(stat),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => return Err(place.fault("find", &error)),
    };
    if let Some(stat) = &stat {
        if wanted.must_not_exist {
            let message = format!("{} exists already. Write it without `must_not_exist` to replace it.", place.path);
            return Err(Fault::new(Code::AlreadyExists, message));
        }
        match stat.st_mode & libc::S_IFMT {
            libc::S_IFREG | libc::S_IFLNK => {}
            libc::S_IFDIR => {
                return Err(Fault::new(Code::IsADirectory, format!("{} is a directory. Name a file.", place.path)))
            }
            _ => {
                let message = format!("{} is a device, pipe or socket. Delete it first, or name a file.", place.path);
                return Err(Fault::new(Code::NotRegularFile, message));
            }
        }
    }
    if let Some(expected) = &wanted.if_match {
        let current = stat.as_ref().map(version);
        if current.as_ref() != Some(expected) {
            return Err(mismatch(&place.path, current));
        }
    }
    Ok(())
}

pub fn mismatch(path: &str, current: Option<String>) -> Fault {
    let message = format!("{path} has changed since it was read. Read it again, then write with its new version.");
    Fault::new(Code::VersionMismatch, message).with("version", current.unwrap_or_default())
}

fn create_beside(place: &Place) -> Result<(CString, File), Fault> {
    let mut bytes = [0u8; 8];
    sys::random(&mut bytes).map_err(|error| place.fault("write", &error))?;
    let name = sys::text(&format!(".holdfast-{:016x}", u64::from_ne_bytes(bytes)));
    let name = name.map_err(|error| place.fault("write", &error))?;
    let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL;
    let file = sys::open_child(place.dir(), &name, flags, 0o600).map_err(|error| place.fault("write", &error))?;
    Ok((name, file.into()))
}

pub fn sync_directory(place: &Place) -> std::io::Result<()> {
    let dir = sys::open_plain(place.dir(), c".", libc::O_RDONLY | libc::O_DIRECTORY, 0)?;
    File::from(dir).sync_all()
}
