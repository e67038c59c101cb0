//! What is remembered of a process on the volume. The cell's root can change these files: all of it is checked.

use super::input::Input;
use super::{Life, Process};
use crate::cell::fault::truncate;
use crate::cell::limits;
use crate::cell::output::{consistent, found_segments, Budget, Directory, Segment, Store};
use crate::cell::reaper::Exit;
use crate::cell::sys;
use serde_json::{json, Value};
use std::cell::{Cell, RefCell};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsRawFd;
use tokio::sync::Notify;

const RECORD: &std::ffi::CStr = c"record.json";
const FRESH: &std::ffi::CStr = c"record.new";
const RECORD_BYTES: u64 = 64 * 1024;

/// Replaces the record as a whole. Not synced: the output beside it is not either.
pub fn write(dir: &Directory, process: &Process) -> io::Result<()> {
    let life = process.life.get();
    let (segments, lost) = process.store.durable();
    let segments: Vec<Value> =
        segments.iter().map(|segment| json!([segment.start, segment.end, segment.file_bytes])).collect();
    let record = json!({
        "sequence": process.sequence,
        "command": process.command,
        "pty": process.pty,
        "started_at_ms": process.started_at_ms,
        "ended_at_ms": life.ended_at_ms,
        "exit": life.exit.map(Exit::json),
        "timed_out": life.timed_out,
        "out_of_memory": life.out_of_memory,
        "lost_bytes": lost,
        "segments": segments,
    });
    let dir = dir.open()?;
    let dir = dir.as_raw_fd();
    let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC | libc::O_NONBLOCK;
    let file = sys::open_child(dir, FRESH, flags, 0o600)?;
    let text = record.to_string();
    if sys::write(file.as_raw_fd(), text.as_bytes())? < text.len() {
        return Err(io::Error::from_raw_os_error(libc::ENOSPC));
    }
    sys::rename_at(dir, FRESH, dir, RECORD, true)
}

/// The process that `dir` tells of, as one that has ended. None: there is no record worth keeping.
/// `measured` bounds the work of finding output, over all of them.
pub fn read(id: String, dir: Directory, now_ms: u64, measured: &mut u64) -> Option<Process> {
    let opened = dir.open().ok()?;
    let file = sys::open_child(opened.as_raw_fd(), RECORD, libc::O_RDONLY | libc::O_NONBLOCK, 0).ok()?;
    let mut text = Vec::new();
    File::from(file).take(RECORD_BYTES).read_to_end(&mut text).ok()?;
    let record: Value = serde_json::from_slice(&text).ok()?;
    let number = |name: &str| record.get(name).and_then(Value::as_u64).filter(|number| *number < 1 << 53);
    let flag = |name: &str| record.get(name).and_then(Value::as_bool).unwrap_or(false);
    let mut command = record.get("command")?.as_str()?.to_owned();
    truncate(&mut command, limits::SHOWN_COMMAND_BYTES);
    let ended_at_ms = number("ended_at_ms");
    let segments = match ended_at_ms {
        Some(_) => kept_segments(record.get("segments")?)?,
        None => found_segments(&dir, measured),
    };
    let life = Life {
        pid: None,
        exit: record.get("exit").and_then(Exit::from_json).filter(|_| ended_at_ms.is_some()).or(Some(Exit::Lost)),
        timed_out: flag("timed_out"),
        out_of_memory: flag("out_of_memory"),
        background: false,
        ended_at_ms: ended_at_ms.or(Some(now_ms)),
    };
    Some(Process {
        id,
        sequence: number("sequence")?,
        command,
        pty: flag("pty"),
        started_at_ms: number("started_at_ms")?,
        life: Cell::new(life),
        store: Store::resume(
            dir,
            limits::OUTPUT_LIMIT_DEFAULT_BYTES,
            Budget::default(),
            segments,
            number("lost_bytes").unwrap_or(0),
        ),
        group: RefCell::new(None),
        input: Input::default(),
        terminal: RefCell::new(None),
        changed: Notify::new(),
    })
}

fn kept_segments(value: &Value) -> Option<Vec<Segment>> {
    let segments: Option<Vec<Segment>> = value
        .as_array()?
        .iter()
        .take(4)
        .map(|row| {
            let number = |index: usize| row.get(index)?.as_u64().filter(|number| *number < 1 << 53);
            Some(Segment { start: number(0)?, end: number(1)?, file_bytes: number(2)? })
        })
        .collect();
    segments.filter(|segments| consistent(segments))
}
