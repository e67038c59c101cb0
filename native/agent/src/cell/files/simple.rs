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
use std::ffi::CString;
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

/// One page, ordered by the bytes of the names. Memory is that of the page, whatever the size of the directory.
pub fn list(wanted: List) -> Result<Value, Fault> {
    let limit = wanted.limit.clamp(1, limits::LISTED_ENTRIES);
    check_path(&wanted.path)?;
    let text = sys::text(&wanted.path).map_err(|error| Fault::io("read the path", &error))?;
    let fail = |error: std::io::Error| Fault::io(&format!("list {}", wanted.path), &error);
    let dir = sys::open_plain(libc::AT_FDCWD, &text, libc::O_RDONLY | libc::O_DIRECTORY, 0).map_err(fail)?;
    let names = sys::Names::new(dir).map_err(fail)?;
    let fd = names.fd();
    let mut page: BinaryHeap<CString> = BinaryHeap::with_capacity(limit + 2);
    let mut names = names;
    for name in names.by_ref() {
        let name = name.map_err(fail)?;
        let passed = wanted.after.as_ref().is_some_and(|after| name.as_bytes() <= after.as_bytes());
        if !passed && (page.len() <= limit || page.peek().is_some_and(|last| name < *last)) {
            page.push(name);
            if page.len() > limit + 1 {
                page.pop();
            }
        }
    }
    let more = page.len() > limit;
    let mut page = page.into_sorted_vec();
    page.truncate(limit);
    let base = wanted.path.trim_end_matches('/');
    let next = page.last().filter(|_| more).map(|name| lossy(name.as_bytes()));
    let entries: Vec<Value> = page
        .iter()
        .filter_map(|name| {
            // One that was deleted since is left out.
            let stat = sys::stat_at(fd, name).ok()?;
            Some(describe(fd, name, &format!("{base}/{}", lossy(name.as_bytes())), &stat))
        })
        .collect();
    drop(names);
    Ok(json!({ "entries": entries, "next": next }))
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
