use super::header::{self, Header};
use super::{padding, pax, BLOCK};
use crate::cell::fault::{Code, Fault};
use crate::cell::limits;
use crate::cell::sys;
use std::ffi::CStr;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, OwnedFd};

/// Makes a tar stream of a directory's content piece by piece. Links are kept as links; devices, pipes and sockets are
/// left out; setuid and setgid bits are not passed on.
pub struct Packer {
    levels: Vec<Level>,
    content: Option<Content>,
    finished: bool,
    pub entries: u64,
    pub bytes: u64,
}

struct Level {
    names: sys::Names,
    /// With a final slash, empty at the top.
    path: Vec<u8>,
}

struct Content {
    file: File,
    left: u64,
    pad: u64,
}

impl Packer {
    pub fn new(dir: OwnedFd) -> io::Result<Packer> {
        let top = Level { names: sys::Names::new(dir)?, path: Vec::new() };
        Ok(Packer { levels: vec![top], content: None, finished: false, entries: 0, bytes: 0 })
    }

    /// The next piece, about this long; empty at the end.
    pub fn next(&mut self, about: usize) -> Result<Vec<u8>, Fault> {
        let mut out = Vec::with_capacity(about + 4 * BLOCK);
        while out.len() < about && !self.finished {
            if self.content.is_some() {
                self.add_content(&mut out, about);
            } else {
                self.add_entry(&mut out)?;
            }
        }
        Ok(out)
    }

    fn add_content(&mut self, out: &mut Vec<u8>, about: usize) {
        let Some(content) = &mut self.content else { return };
        let room = (about - out.len()) as u64;
        let take = content.left.min(room.max(BLOCK as u64)) as usize;
        let start = out.len();
        out.resize(start + take, 0);
        let mut filled = start;
        while let Some(rest) = out.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            match content.file.read(rest) {
                // One that became shorter is filled up with zeros: its size has been told.
                Ok(0) => break,
                Ok(got) => filled += got,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        content.left -= take as u64;
        if content.left == 0 {
            out.resize(out.len() + content.pad as usize, 0);
            self.content = None;
        }
    }

    fn add_entry(&mut self, out: &mut Vec<u8>) -> Result<(), Fault> {
        let Some(level) = self.levels.last_mut() else {
            out.resize(out.len() + 2 * BLOCK, 0);
            self.finished = true;
            return Ok(());
        };
        let Some(name) = level.names.next() else {
            self.levels.pop();
            return Ok(());
        };
        let name = name.map_err(|error| Fault::io("read the directory", &error))?;
        let dir = level.names.fd();
        // What vanished between the listing and now is left out.
        let Ok(stat) = sys::stat_at(dir, &name) else { return Ok(()) };
        let mut path = [level.path.as_slice(), name.as_bytes()].concat();
        match stat.st_mode & libc::S_IFMT {
            libc::S_IFDIR => {
                let Ok(child) = sys::open_child(dir, &name, libc::O_RDONLY | libc::O_DIRECTORY, 0) else {
                    return Ok(());
                };
                if self.levels.len() > limits::TREE_DEPTH {
                    let message = "The directories are nested too deep. Export a part of them.";
                    return Err(Fault::new(Code::LimitReached, message));
                }
                path.push(b'/');
                self.add_header(out, &path, b"", b'5', 0, &stat);
                let names = sys::Names::new(child).map_err(|error| Fault::io("read the directory", &error))?;
                self.levels.push(Level { names, path });
            }
            libc::S_IFLNK => {
                let Ok(target) = sys::read_link_at(dir, &name) else { return Ok(()) };
                self.add_header(out, &path, &target, b'2', 0, &stat);
            }
            libc::S_IFREG => self.add_file(out, dir, &name, &path),
            _ => {}
        }
        Ok(())
    }

    fn add_file(&mut self, out: &mut Vec<u8>, dir: i32, name: &CStr, path: &[u8]) {
        let Ok(file) = sys::open_child(dir, name, libc::O_RDONLY | libc::O_NONBLOCK, 0) else { return };
        let Ok(stat) = sys::stat_fd(file.as_raw_fd()) else { return };
        if stat.st_mode & libc::S_IFMT != libc::S_IFREG {
            return;
        }
        let size = stat.st_size.max(0) as u64;
        self.add_header(out, path, b"", b'0', size, &stat);
        self.bytes += size;
        if size > 0 {
            self.content = Some(Content { file: file.into(), left: size, pad: padding(size) });
        }
    }

    fn add_header(&mut self, out: &mut Vec<u8>, path: &[u8], link: &[u8], kind: u8, size: u64, stat: &libc::stat) {
        let mut records = Vec::new();
        if path.len() > 100 {
            records.extend(pax::record("path", path));
        }
        if link.len() > 100 {
            records.extend(pax::record("linkpath", link));
        }
        if size > header::SIZE_LIMIT {
            records.extend(pax::record("size", size.to_string().as_bytes()));
        }
        let entry = |path: &[u8], link: &[u8], kind: u8, size: u64| {
            let mode = u64::from(stat.st_mode & 0o1777);
            let header = Header { path: path.to_vec(), link: link.to_vec(), kind, mode, size, modified: stat.st_mtime };
            header::build(&header, stat.st_uid, stat.st_gid)
        };
        if !records.is_empty() {
            let length = records.len() as u64;
            out.extend(entry(b"PaxHeaders/entry", b"", b'x', length));
            records.resize(records.len() + padding(length) as usize, 0);
            out.extend(records);
        }
        out.extend(entry(path, link, kind, size));
        self.entries += 1;
    }
}
