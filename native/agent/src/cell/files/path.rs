use crate::cell::fault::{Code, Fault};
use crate::cell::process::command::check_path;
use crate::cell::sys;
use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

/// A path as an open parent directory and one name in it. Every operation works on these two, so that what was
/// resolved is what is touched, whatever happens to the path meanwhile.
pub struct Place {
    pub path: String,
    parent: OwnedFd,
    pub name: CString,
}

const DIRECTORY: libc::c_int = libc::O_PATH | libc::O_DIRECTORY;

impl Place {
    pub fn find(path: &str) -> Result<Place, Fault> {
        let (parent, name) = split(path)?;
        let text = sys::text(&parent).map_err(|error| at(path, "find", &error))?;
        let parent = sys::open_plain(libc::AT_FDCWD, &text, DIRECTORY, 0).map_err(|error| at(path, "find", &error))?;
        let name = sys::text(&name).map_err(|error| at(path, "find", &error))?;
        Ok(Place { path: path.to_owned(), parent, name })
    }

    /// As `find`, making the directories above that are missing.
    pub fn find_or_make(path: &str, user: Option<(u32, u32)>) -> Result<Place, Fault> {
        let (parent, _) = split(path)?;
        make_all(&parent, 0o755, user)?;
        Place::find(path)
    }

    pub fn dir(&self) -> RawFd {
        self.parent.as_raw_fd()
    }

    /// Opens it without following a last link.
    pub fn open(&self, flags: libc::c_int, mode: u32) -> io::Result<OwnedFd> {
        sys::open_child(self.dir(), &self.name, flags, mode)
    }

    pub fn stat(&self) -> io::Result<libc::stat> {
        sys::stat_at(self.dir(), &self.name)
    }

    pub fn fault(&self, what: &str, error: &io::Error) -> Fault {
        at(&self.path, what, error)
    }
}

/// Makes a directory and those above it; ones that exist are left as they are.
pub fn make_all(path: &str, mode: u32, user: Option<(u32, u32)>) -> Result<(), Fault> {
    check_path(path)?;
    let mut dir = sys::open_plain(libc::AT_FDCWD, c"/", DIRECTORY, 0).map_err(|error| at(path, "open", &error))?;
    for part in path.split('/').filter(|part| !part.is_empty() && *part != ".") {
        let name = sys::text(part).map_err(|error| at(path, "make", &error))?;
        dir = match sys::open_plain(dir.as_raw_fd(), &name, DIRECTORY, 0) {
            Ok(next) => next,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                make_one(dir.as_raw_fd(), &name, mode, user).map_err(|error| at(path, "make", &error))?
            }
            Err(error) => return Err(at(path, "make", &error)),
        };
    }
    Ok(())
}

/// Makes one directory with exactly this mode and owner, and opens it.
pub fn make_one(dir: RawFd, name: &std::ffi::CStr, mode: u32, user: Option<(u32, u32)>) -> io::Result<OwnedFd> {
    sys::mkdir_at(dir, name, 0o700)?;
    let made = sys::open_child(dir, name, libc::O_RDONLY | libc::O_DIRECTORY, 0)?;
    if let Some((uid, gid)) = user {
        sys::chown_fd(made.as_raw_fd(), uid, gid)?;
    }
    sys::chmod_fd(made.as_raw_fd(), mode)?;
    Ok(made)
}

/// The parent's path and the last name; `/` is the name `.` in itself.
fn split(path: &str) -> Result<(String, String), Fault> {
    check_path(path)?;
    let trimmed = path.trim_end_matches('/');
    let Some((parent, name)) = trimmed.rsplit_once('/') else {
        return Ok(("/".to_owned(), ".".to_owned()));
    };
    if name == "." || name == ".." {
        return Err(Fault::invalid("A path does not end in `.` or `..`. Name the file itself."));
    }
    let parent = if parent.is_empty() { "/" } else { parent };
    Ok((parent.to_owned(), name.to_owned()))
}

fn at(path: &str, what: &str, error: &io::Error) -> Fault {
    if error.raw_os_error() == Some(libc::ELOOP) {
        let message = format!("Could not {what} {path}: it is a link, or leads through one of /proc. Name its target.");
        return Fault::new(Code::InvalidArgument, message);
    }
    Fault::io(&format!("{what} {path}"), error)
}
