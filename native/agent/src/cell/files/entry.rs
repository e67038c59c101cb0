use crate::cell::sys;
use serde_json::{json, Value};
use std::ffi::CStr;
use std::os::fd::RawFd;

/// The FileEntry of `name` in `dir`.
pub fn describe(dir: RawFd, name: &CStr, path: &str, stat: &libc::stat) -> Value {
    let kind = kind(stat);
    let target = (kind == "link").then(|| sys::read_link_at(dir, name).ok()).flatten().map(|bytes| lossy(&bytes));
    json!({
        "path": path,
        "name": path.trim_end_matches('/').rsplit('/').next().unwrap_or_default(),
        "kind": kind,
        "size_bytes": stat.st_size.max(0),
        "mode": stat.st_mode & 0o7777,
        "uid": stat.st_uid,
        "gid": stat.st_gid,
        "modified_at_ms": stat.st_mtime * 1000 + stat.st_mtime_nsec / 1_000_000,
        "target": target,
        "version": version(stat),
    })
}

/// Changes with the content: what `if_match` is compared with.
pub fn version(stat: &libc::stat) -> String {
    format!("{}-{}-{}.{:09}", stat.st_ino, stat.st_size, stat.st_mtime, stat.st_mtime_nsec)
}

pub fn kind(stat: &libc::stat) -> &'static str {
    match stat.st_mode & libc::S_IFMT {
        libc::S_IFREG => "file",
        libc::S_IFDIR => "directory",
        libc::S_IFLNK => "link",
        libc::S_IFIFO => "fifo",
        libc::S_IFSOCK => "socket",
        libc::S_IFCHR | libc::S_IFBLK => "device",
        _ => "other",
    }
}

/// Names that are not UTF-8 are shown with replacement characters; they can be deleted with their directory only.
pub fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
