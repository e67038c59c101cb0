//! `agent.info`, `usage.read`, `system.sync`.

use super::agent::Agent;
use super::fault::Fault;
use super::{serve, sys};
use serde_json::{json, Value};
use std::ffi::CStr;
use std::os::fd::AsRawFd;
use std::rc::Rc;

pub async fn info(agent: &Rc<Agent>, _: Value) -> Result<Value, Fault> {
    Ok(json!({
        "agent": serve::VERSION,
        "boot": agent.boot,
        "started_at_ms": agent.started_at_ms,
        "processes": agent.processes.len(),
        "services": agent.services.len(),
    }))
}

pub async fn usage(agent: &Rc<Agent>, _: Value) -> Result<Value, Fault> {
    // Those that wait to become a process are none yet.
    let spares = agent.spawner.spares.len();
    agent
        .pool
        .run(move || {
            let fail = |error: std::io::Error| Fault::io("measure the disk", &error);
            let disk = open(work_directory()).and_then(|dir| sys::statvfs(dir.as_raw_fd())).map_err(fail)?;
            let processes = std::fs::read_dir("/proc").map_err(fail)?.flatten().filter(is_process).count();
            let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
            let load: f64 = load.split(' ').next().and_then(|text| text.parse().ok()).unwrap_or(0.0);
            Ok(json!({
                "processes": processes.saturating_sub(spares),
                "disk": {
                    "total_bytes": disk.f_blocks * disk.f_frsize,
                    "free_bytes": disk.f_bavail * disk.f_frsize,
                    "total_files": disk.f_files,
                    "free_files": disk.f_favail,
                },
                "load": load,
            }))
        })
        .await
}

pub async fn sync(agent: &Rc<Agent>, _: Value) -> Result<Value, Fault> {
    agent
        .pool
        .run(|| {
            for path in [c"/", work_directory()] {
                let synced = open(path).and_then(|dir| sys::sync_fs(dir.as_raw_fd()));
                synced.map_err(|error| Fault::io("bring the volume's files to the disk", &error))?;
            }
            Ok(json!({}))
        })
        .await
}

/// `/work` is a mount of its own in a cell.
fn work_directory() -> &'static CStr {
    if open(c"/work").is_ok() {
        c"/work"
    } else {
        c"/"
    }
}

fn open(path: &CStr) -> std::io::Result<std::os::fd::OwnedFd> {
    sys::open_plain(libc::AT_FDCWD, path, libc::O_RDONLY | libc::O_DIRECTORY, 0)
}

fn is_process(entry: &std::fs::DirEntry) -> bool {
    entry.file_name().as_encoded_bytes().iter().all(u8::is_ascii_digit)
}
