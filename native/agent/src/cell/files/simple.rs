//! `files.stat`, `files.list`, `files.move`, `files.mkdir`.

use super::entry::{describe, lossy};
use super::path::{make_all, make_one, Place};
use crate::cell::fault::{Code, Fault};
use crate::cell::limits;
use crate::cell::process::command::{check_path, User};
use crate::cell::sys;
use serde::Deserialize;
use serde_json::{json, Value};
use std::collections::BinaryHeap;
use std::ffi::{CStr, CString};
use std::os::fd::AsRawFd;

#[derive(Deserialize)]
pub struct Stat {
    path: String,
    #[serde(default)]
    follow: bool,
}

pub fn stat(wanted: Stat) -> Result<Value, Fault> {
    if wanted.follow {
        check_path(&wanted.path)?;
        let text = sys::text(&wanted.path).map_err(|error| Fault::io("read the path", &error))?;
        let file = sys::open_plain(libc::AT_FDCWD, &text, libc::O_PATH, 0)
            .map_err(|error| Fault::io(&format!("find {}", wanted.path), &error))?;
        let stat = sys::stat_fd(file.as_raw_fd()).map_err(|error| Fault::io("look at the file", &error))?;
        return Ok(describe(file.as_raw_fd(), c"", &wanted.path, &stat));
    }
    entry(&Place::find(&wanted.path)?)
}

pub fn entry(place: &Place) -> Result<Value, Fault> {
    let stat = place.stat().map_err(|error| place.fault("find", &error))?;
    Ok(describe(place.dir(), &place.name, &place.path, &stat))
}

#[derive(Deserialize)]
pub struct List {
    path: String,
    limit: usize,
    #[serde(default)]
    after: Option<String>,
}

/// One page, ordered by the bytes of the names: as many entries as were asked for and fit an answer. Memory is that of the page, whatever
/// the size of the directory. One whose path is longer than any call takes is left out.
pub fn list(wanted: List) -> Result<Value, Fault> {
    let limit = wanted.limit.clamp(1, limits::LISTED_ENTRIES);
    check_path(&wanted.path)?;
    let text = sys::text(&wanted.path).map_err(|error| Fault::io("read the path", &error))?;
    let fail = |error: std::io::Error| Fault::io(&format!("list {}", wanted.path), &error);
    let dir = sys::open_plain(libc::AT_FDCWD, &text, libc::O_RDONLY | libc::O_DIRECTORY, 0).map_err(fail)?;
    let names = sys::Names::new(dir).map_err(fail)?;
    let fd = names.fd();
    let after = wanted.after.as_deref().map(read_mark).transpose()?;
    let mut page: BinaryHeap<CString> = BinaryHeap::with_capacity(limit + 2);
    let mut names = names;
    for name in names.by_ref() {
        let name = name.map_err(fail)?;
        let passed = after.as_ref().is_some_and(|after| name.as_bytes() <= after.as_slice());
        if !passed && (page.len() <= limit || page.peek().is_some_and(|last| name < *last)) {
            page.push(name);
            if page.len() > limit + 1 {
                page.pop();
            }
        }
    }
    let mut more = page.len() > limit;
    let mut page = page.into_sorted_vec();
    page.truncate(limit);
    let base = wanted.path.trim_end_matches('/');
    let (mut entries, mut bytes, mut last) = (Vec::new(), 0, None);
    for name in &page {
        let path = format!("{base}/{}", lossy(name.as_bytes()));
        // One that was deleted since is left out too.
        let stat = sys::stat_at(fd, name).ok().filter(|_| path.len() <= limits::PATH_BYTES);
        if let Some(entry) = stat.map(|stat| describe(fd, name, &path, &stat)) {
            bytes += entry.to_string().len();
            if bytes > limits::LISTED_BYTES {
                more = true;
                break;
            }
            entries.push(entry);
        }
        last = Some(name);
    }
    let next = last.filter(|_| more).map(|name| mark(name));
    drop(names);
    Ok(json!({ "entries": entries, "next": next }))
}

/// A name as `next` and `after` carry it: itself, or its bytes in hex behind a NUL, which no name has, when it is not UTF-8.
fn mark(name: &CStr) -> String {
    match name.to_str() {
        Ok(text) => text.to_owned(),
        Err(_) => name.to_bytes().iter().fold("\0".to_owned(), |text, byte| text + &format!("{byte:02x}")),
    }
}

fn read_mark(text: &str) -> Result<Vec<u8>, Fault> {
    let Some(digits) = text.strip_prefix('\0') else { return Ok(text.as_bytes().to_vec()) };
    let byte = |pair: &[u8]| std::str::from_utf8(pair).ok().and_then(|pair| u8::from_str_radix(pair, 16).ok());
    let bytes: Option<Vec<u8>> = digits.as_bytes().chunks(2).map(byte).collect();
    bytes.ok_or_else(|| Fault::invalid("`after` is no `next` of an earlier answer. Begin without it."))
}

#[derive(Deserialize)]
pub struct Move {
    from: String,
    to: String,
    #[serde(default)]
    overwrite: bool,
}

pub fn rename(wanted: Move) -> Result<Value, Fault> {
    let from = Place::find(&wanted.from)?;
    let to = Place::find(&wanted.to)?;
    sys::rename_at(from.dir(), &from.name, to.dir(), &to.name, wanted.overwrite).map_err(|error| {
        if error.raw_os_error() == Some(libc::EXDEV) {
            let message = "The two paths are on different file systems (such as / and /work). Copy, then delete.";
            return Fault::invalid(message);
        }
        Fault::io(&format!("move {} to {}", wanted.from, wanted.to), &error)
    })?;
    entry(&to)
}

#[derive(Deserialize)]
pub struct Mkdir {
    path: String,
    #[serde(default)]
    parents: bool,
    #[serde(default)]
    mode: Option<u32>,
    #[serde(default)]
    user: Option<User>,
}

pub fn mkdir(wanted: Mkdir) -> Result<Value, Fault> {
    let mode = wanted.mode.unwrap_or(0o755);
    check_mode(mode)?;
    let user = wanted.user.map(|user| (user.uid, user.gid));
    if wanted.parents {
        make_all(&wanted.path, mode, user)?;
        return stat(Stat { path: wanted.path, follow: true });
    }
    let place = Place::find(&wanted.path)?;
    make_one(place.dir(), &place.name, mode, user).map_err(|error| place.fault("make", &error))?;
    entry(&place)
}

pub fn check_mode(mode: u32) -> Result<(), Fault> {
    if mode > 0o7777 {
        return Err(Fault::new(Code::InvalidArgument, "`mode` is a number from 0 to 4095 (octal 7777)."));
    }
    Ok(())
}
