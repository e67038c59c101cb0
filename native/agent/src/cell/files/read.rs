use super::entry::describe;
use crate::cell::fault::{Code, Fault};
use crate::cell::process::command::check_path;
use crate::cell::sys;
use serde::Deserialize;
use serde_json::Value;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

#[derive(Deserialize)]
pub struct Read {
    pub path: String,
    #[serde(default)]
    pub offset: u64,
    #[serde(default)]
    pub length: Option<u64>,
}

/// An open file and the range of it that will be sent.
pub struct Opened {
    pub file: Arc<File>,
    pub entry: Value,
    pub offset: u64,
    pub length: u64,
}

/// Opens a regular file. Anything else is refused at once: opening it does not block.
pub fn open(wanted: &Read) -> Result<Opened, Fault> {
    check_path(&wanted.path)?;
    let fail = |error: std::io::Error| Fault::io(&format!("open {}", wanted.path), &error);
    let text = sys::text(&wanted.path).map_err(fail)?;
    // Looked at first by a descriptor that does nothing: opening a device can already have an effect.
    let look = sys::open_plain(libc::AT_FDCWD, &text, libc::O_PATH, 0).map_err(fail)?;
    check_regular(&wanted.path, &sys::stat_fd(look.as_raw_fd()).map_err(fail)?)?;
    let file = sys::open_plain(libc::AT_FDCWD, &text, libc::O_RDONLY | libc::O_NONBLOCK, 0).map_err(fail)?;
    let stat = sys::stat_fd(file.as_raw_fd()).map_err(fail)?;
    check_regular(&wanted.path, &stat)?;
    let size = stat.st_size.max(0) as u64;
    let offset = wanted.offset.min(size);
    let length = wanted.length.unwrap_or(u64::MAX).min(size - offset);
    let entry = describe(file.as_raw_fd(), c"", &wanted.path, &stat);
    Ok(Opened { file: Arc::new(File::from(file)), entry, offset, length })
}

/// Up to `most` bytes at `offset`; fewer, or none, where the file has shrunk since.
pub fn chunk(file: &File, offset: u64, most: usize) -> Result<Vec<u8>, Fault> {
    let mut bytes = vec![0; most];
    let mut filled = 0;
    while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match file.read_at(rest, offset + filled as u64) {
            Ok(0) => break,
            Ok(got) => filled += got,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(Fault::io("read the file", &error)),
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}

fn check_regular(path: &str, stat: &libc::stat) -> Result<(), Fault> {
    match stat.st_mode & libc::S_IFMT {
        libc::S_IFREG => Ok(()),
        libc::S_IFDIR => {
            Err(Fault::new(Code::IsADirectory, format!("{path} is a directory. List it, or export it as tar.")))
        }
        _ => {
            let message = format!("{path} is no regular file but a device, pipe or socket. Read it with a process.");
            Err(Fault::new(Code::NotRegularFile, message))
        }
    }
}
