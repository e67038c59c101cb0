use crate::cell::sys;
use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::rc::Rc;

/// A directory inside the agent's state, opened for each use: a thousand records must not cost a thousand descriptors.
#[derive(Clone)]
pub struct Directory {
    parent: Rc<OwnedFd>,
    name: CString,
}

impl Directory {
    pub fn new(parent: Rc<OwnedFd>, name: CString) -> Directory {
        Directory { parent, name }
    }

    pub fn open(&self) -> io::Result<OwnedFd> {
        sys::open_child(self.parent.as_raw_fd(), &self.name, libc::O_RDONLY | libc::O_DIRECTORY, 0)
    }

    /// Makes it anew, without what was in it.
    pub fn create(&self) -> io::Result<()> {
        self.remove();
        sys::mkdir_at(self.parent.as_raw_fd(), &self.name, 0o700)
    }

    /// Our directories are flat: a directory inside was put there by the cell, and stays.
    pub fn remove(&self) {
        if let Ok(names) = self.open().and_then(sys::Names::new) {
            let fd = names.fd();
            let mut names = names.take(64);
            while let Some(Ok(file)) = names.next() {
                let _ = sys::unlink_at(fd, &file, false);
            }
        }
        let _ = sys::unlink_at(self.parent.as_raw_fd(), &self.name, true);
    }
}
