use super::header::{self, Broken, Header};
use super::names::{split, Twins};
use super::pax::Extensions;
use super::{padding, refused, BLOCK};
use crate::cell::fault::{Code, Fault};
use crate::cell::limits;
use crate::cell::sys;
use std::ffi::{CStr, CString};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::fs::FileExt;

/// Takes an archive piece by piece and unpacks it below one directory, never through a link.
pub struct Unpacker {
    root: OwnedFd,
    user: Option<(u32, u32)>,
    limit_bytes: u64,
    limit_entries: u64,
    pub entries: u64,
    pub bytes: u64,
    block: Vec<u8>,
    state: State,
    extensions: Extensions,
    twins: Twins,
    trailing: u64,
}

enum State {
    Header,
    Extension { kind: u8, left: u64, pad: u64, content: Vec<u8> },
    Content { file: File, offset: u64, left: u64, pad: u64 },
    Skip { left: u64 },
    Done,
}

const PATH_ONLY: libc::c_int = libc::O_PATH | libc::O_DIRECTORY;
/// A block of this size that is all zeros becomes a hole.
const HOLE_BYTES: usize = 4096;
/// Padding behind the end that writers may add.
const TRAILING_BYTES: u64 = 4 << 20;

impl Unpacker {
    pub fn new(root: OwnedFd, user: Option<(u32, u32)>, limit_bytes: u64, limit_entries: u64) -> Unpacker {
        Unpacker {
            root,
            user,
            limit_bytes,
            limit_entries,
            entries: 0,
            bytes: 0,
            block: Vec::with_capacity(BLOCK),
            state: State::Header,
            extensions: Extensions::default(),
            twins: Twins::default(),
            trailing: 0,
        }
    }

    pub fn feed(&mut self, mut bytes: &[u8]) -> Result<(), Fault> {
        while !bytes.is_empty() {
            let wanted = match &self.state {
                State::Header => (BLOCK - self.block.len()) as u64,
                State::Extension { left, pad, .. } => {
                    if *left > 0 {
                        *left
                    } else {
                        *pad
                    }
                }
                State::Content { left, .. } | State::Skip { left } => *left,
                State::Done => bytes.len() as u64,
            };
            let (piece, rest) = bytes.split_at(wanted.min(bytes.len() as u64) as usize);
            bytes = rest;
            self.step(piece)?;
        }
        Ok(())
    }

    /// The archive must have come to its end mark: a cut one is not whole.
    pub fn finish(&self) -> Result<(), Fault> {
        match self.state {
            State::Done => Ok(()),
            _ => Err(refused(b"end of archive", "the archive is cut off before its end")),
        }
    }

    fn step(&mut self, piece: &[u8]) -> Result<(), Fault> {
        let size = piece.len() as u64;
        match &mut self.state {
            State::Header => {
                self.block.extend_from_slice(piece);
                if let Ok(block) = <[u8; BLOCK]>::try_from(self.block.as_slice()) {
                    self.block.clear();
                    self.state = self.begin(&block)?;
                }
            }
            State::Extension { kind, left, pad, content } => {
                if *left > 0 {
                    content.extend_from_slice(piece);
                    *left -= size;
                } else {
                    *pad -= size;
                }
                if *left == 0 && *pad == 0 {
                    let (kind, content) = (*kind, std::mem::take(content));
                    self.state = State::Header;
                    self.extend(kind, content)?;
                }
            }
            State::Content { file, offset, left, pad } => {
                write_sparse(file, piece, *offset)
                    .map_err(|error| Fault::io("write an entry of the archive", &error))?;
                *offset += size;
                *left -= size;
                if *left == 0 {
                    let pad = *pad;
                    self.state = if pad > 0 { State::Skip { left: pad } } else { State::Header };
                }
            }
            State::Skip { left } => {
                *left -= size;
                if *left == 0 {
                    self.state = State::Header;
                }
            }
            State::Done => {
                self.trailing += size;
                if self.trailing > TRAILING_BYTES {
                    return Err(refused(b"end of archive", "too much follows the archive's end"));
                }
            }
        }
        Ok(())
    }

    /// Reads a header and makes what it says; returns what its content is for.
    fn begin(&mut self, block: &[u8; BLOCK]) -> Result<State, Fault> {
        let header = match header::parse(block) {
            Ok(Some(header)) => header,
            Ok(None) => return Ok(State::Done),
            Err(Broken::Checksum) => return Err(refused(b"header", "its checksum is wrong: this is no tar archive")),
            Err(Broken::Number(field)) => {
                return Err(refused(b"header", &format!("its {field} is negative, too large or not a number")));
            }
        };
        self.entries += 1;
        if self.entries > self.limit_entries {
            let message = format!("The archive has more than {} entries. Split it up.", self.limit_entries);
            return Err(Fault::new(Code::TooLarge, message));
        }
        if matches!(header.kind, b'x' | b'g' | b'L' | b'K') {
            if header.size > limits::TAR_EXTENSION_BYTES {
                return Err(refused(&header.path, "its extension records are too long"));
            }
            if header.size == 0 {
                return Ok(State::Header);
            }
            let (left, pad) = (header.size, padding(header.size));
            return Ok(State::Extension { kind: header.kind, left, pad, content: Vec::new() });
        }
        let extensions = std::mem::take(&mut self.extensions);
        let header = Header {
            path: extensions.path.unwrap_or(header.path),
            link: extensions.link.unwrap_or(header.link),
            size: extensions.size.unwrap_or(header.size),
            ..header
        };
        self.make(&header)
    }

    fn extend(&mut self, kind: u8, content: Vec<u8>) -> Result<(), Fault> {
        let name = |mut content: Vec<u8>| {
            while content.last() == Some(&0) {
                content.pop();
            }
            content
        };
        match kind {
            b'L' => self.extensions.path = Some(name(content)),
            b'K' => self.extensions.link = Some(name(content)),
            b'x' => self.extensions.read(&content)?,
            _ => {
                let mut global = Extensions::default();
                global.read(&content)?;
                if global != Extensions::default() {
                    return Err(refused(b"PAX header", "it gives one path, link or size to all entries"));
                }
            }
        }
        Ok(())
    }

    fn make(&mut self, header: &Header) -> Result<State, Fault> {
        let path = &header.path;
        let parts = split(path)?;
        self.twins.check(&parts)?;
        let is_directory = header.kind == b'5' || (matches!(header.kind, b'0' | 0) && path.ends_with(b"/"));
        let is_file = matches!(header.kind, b'0' | 0 | b'7') && !is_directory;
        if !is_file && !is_directory && !matches!(header.kind, b'1' | b'2') {
            return Err(refused(path, "it is a device, a pipe or of a kind that is not known"));
        }
        if header.mode & 0o4000 != 0 || (header.mode & 0o2000 != 0 && !is_directory) {
            return Err(refused(path, "it would run with its owner's or group's rights (setuid or setgid)"));
        }
        if !is_file && header.size != 0 {
            return Err(refused(path, "an entry that is no file has content"));
        }
        let Some((name, above)) = parts.split_last() else {
            return if is_directory { Ok(State::Header) } else { Err(refused(path, "it has no name")) };
        };
        let parent = self.parent(path, above)?;
        let mode = (header.mode & 0o3777) as u32;
        if is_file {
            return self.make_file(header, parent.as_raw_fd(), name, mode);
        }
        match header.kind {
            b'1' => self.make_hard_link(header, parent.as_raw_fd(), name)?,
            b'2' => self.make_link(header, parent.as_raw_fd(), name)?,
            _ => self.make_directory(path, parent.as_raw_fd(), name, mode)?,
        }
        Ok(State::Header)
    }

    /// Opens the directory an entry is in, making what is missing. A link on the way is refused.
    fn parent(&self, path: &[u8], above: &[CString]) -> Result<OwnedFd, Fault> {
        let open = |dir: RawFd, name: &CStr| sys::open_child(dir, name, PATH_ONLY, 0);
        let mut dir = open(self.root.as_raw_fd(), c".").map_err(|error| failed(path, &error))?;
        for name in above {
            dir = match open(dir.as_raw_fd(), name) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    self.make_directory(path, dir.as_raw_fd(), name, 0o755)?;
                    open(dir.as_raw_fd(), name)
                }
                other => other,
            }
            .map_err(|error| failed(path, &error))?;
        }
        Ok(dir)
    }

    fn make_directory(&self, path: &[u8], dir: RawFd, name: &CStr, mode: u32) -> Result<(), Fault> {
        let made = match sys::mkdir_at(dir, name, 0o700) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            _ => sys::open_child(dir, name, libc::O_RDONLY | libc::O_DIRECTORY, 0),
        };
        made.and_then(|made| self.own(made.as_raw_fd(), mode)).map_err(|error| failed(path, &error))
    }

    fn make_file(&mut self, header: &Header, dir: RawFd, name: &CStr, mode: u32) -> Result<State, Fault> {
        let path = &header.path;
        self.bytes = self.bytes.saturating_add(header.size);
        if self.bytes > self.limit_bytes {
            let message = format!("The archive's files have more than {} bytes. Split it up.", self.limit_bytes);
            return Err(Fault::new(Code::TooLarge, message));
        }
        self.clear_place(path, dir, name)?;
        let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL;
        let file = File::from(sys::open_child(dir, name, flags, 0o600).map_err(|error| failed(path, &error))?);
        self.own(file.as_raw_fd(), mode)
            .and_then(|()| file.set_len(header.size))
            .and_then(|()| sys::set_modified(file.as_raw_fd(), header.modified))
            .map_err(|error| failed(path, &error))?;
        if header.size == 0 {
            return Ok(State::Header);
        }
        Ok(State::Content { file, offset: 0, left: header.size, pad: padding(header.size) })
    }

    /// A link is kept as it is and never followed here; where it points matters only to who follows it in the cell.
    fn make_link(&self, header: &Header, dir: RawFd, name: &CStr) -> Result<(), Fault> {
        let path = &header.path;
        let target = CString::new(header.link.clone()).ok().filter(|target| !target.is_empty());
        let target = target.ok_or_else(|| refused(path, "its link has no target or a NUL byte in it"))?;
        self.clear_place(path, dir, name)?;
        sys::symlink_at(&target, dir, name).map_err(|error| failed(path, &error))?;
        match self.user {
            Some((uid, gid)) => sys::chown_link_at(dir, name, uid, gid).map_err(|error| failed(path, &error)),
            None => Ok(()),
        }
    }

    /// Only to a file that this archive has brought.
    fn make_hard_link(&self, header: &Header, dir: RawFd, name: &CStr) -> Result<(), Fault> {
        let path = &header.path;
        let parts = split(&header.link)?;
        let (target, above) = parts.split_last().ok_or_else(|| refused(path, "its hard link has no target"))?;
        let target_dir = self.parent(path, above)?;
        let stat = sys::stat_at(target_dir.as_raw_fd(), target)
            .map_err(|_| refused(path, "its hard link leads to what the archive has not brought"))?;
        if stat.st_mode & libc::S_IFMT != libc::S_IFREG {
            return Err(refused(path, "its hard link leads to something that is no file"));
        }
        self.clear_place(path, dir, name)?;
        sys::link_at(target_dir.as_raw_fd(), target, dir, name).map_err(|error| failed(path, &error))
    }

    /// A later entry replaces an earlier file of the same name, but nothing else.
    fn clear_place(&self, path: &[u8], dir: RawFd, name: &CStr) -> Result<(), Fault> {
        match sys::stat_at(dir, name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(failed(path, &error)),
            Ok(stat) if stat.st_mode & libc::S_IFMT == libc::S_IFREG => {
                sys::unlink_at(dir, name, false).map_err(|error| failed(path, &error))
            }
            Ok(_) => Err(refused(path, "an earlier entry of this name is a link or a directory")),
        }
    }

    fn own(&self, fd: RawFd, mode: u32) -> io::Result<()> {
        if let Some((uid, gid)) = self.user {
            sys::chown_fd(fd, uid, gid)?;
        }
        sys::chmod_fd(fd, mode)
    }
}

fn failed(path: &[u8], error: &io::Error) -> Fault {
    match error.raw_os_error() {
        Some(libc::ELOOP | libc::ENOTDIR) => refused(path, "its path leads through a link or a file"),
        Some(libc::ENAMETOOLONG | libc::EINVAL | libc::EEXIST) => refused(path, "the file system does not take it"),
        _ => Fault::io("unpack the archive", error),
    }
}

/// The file has its size already, so what is not written reads as zeros.
fn write_sparse(file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
    let mut at = offset;
    for piece in bytes.chunks(HOLE_BYTES) {
        if piece.iter().any(|byte| *byte != 0) {
            file.write_all_at(piece, at)?;
        }
        at += piece.len() as u64;
    }
    Ok(())
}
