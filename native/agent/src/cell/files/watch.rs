use super::path::Place;
use crate::cell::agent::Agent;
use crate::cell::conn::Conn;
use crate::cell::fault::{Code, Fault, Stop};
use crate::cell::frames::Kind;
use crate::cell::limits;
use crate::cell::params::params;
use crate::cell::sys;
use serde::Deserialize;
use serde_json::{json, Value};
use std::collections::HashMap;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::rc::Rc;
use tokio::io::unix::AsyncFd;

#[derive(Deserialize)]
struct Watch {
    path: String,
    #[serde(default)]
    recursive: bool,
}

pub async fn watch(agent: &Rc<Agent>, conn: &Conn, value: Value) -> Result<(), Stop> {
    let wanted: Watch = params(value)?;
    let _place = Turn::take(agent)?;
    let (path, recursive) = (wanted.path.clone(), wanted.recursive);
    let watched = agent.pool.run(move || directories(&path, recursive)).await?;
    let mut watcher = Watcher::new(wanted).map_err(|error| Fault::io("watch for changes", &error))?;
    for path in watched {
        watcher.add(path).map_err(|error| Fault::io("watch for changes", &error))?;
    }
    conn.json(Kind::Result, &json!({})).await?;
    loop {
        let events = watcher.next().await.map_err(|error| Fault::io("watch for changes", &error))?;
        for event in events {
            conn.json(Kind::Event, &event).await?;
        }
    }
}

/// One of the few calls that may watch at one time.
struct Turn(Rc<Agent>);

impl Turn {
    fn take(agent: &Rc<Agent>) -> Result<Turn, Fault> {
        if agent.watch_calls.get() >= limits::WATCH_CALLS {
            let message = format!("{} calls watch already, which is the most. End one of them.", limits::WATCH_CALLS);
            return Err(Fault::new(Code::LimitReached, message));
        }
        agent.watch_calls.set(agent.watch_calls.get() + 1);
        Ok(Turn(agent.clone()))
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.0.watch_calls.set(self.0.watch_calls.get() - 1);
    }
}

/// What to watch at first: the path, and the directories below it.
fn directories(path: &str, recursive: bool) -> Result<Vec<String>, Fault> {
    let place = Place::find(path)?;
    place.stat().map_err(|error| place.fault("watch", &error))?;
    let base = if path == "/" { path } else { path.trim_end_matches('/') };
    let mut found = vec![base.to_owned()];
    let mut next = 0;
    while let Some(directory) = found.get(next).cloned().filter(|_| recursive) {
        next += 1;
        found.extend(subdirectories(&directory));
        if found.len() > limits::WATCHED_DIRECTORIES {
            let limit = limits::WATCHED_DIRECTORIES;
            let message = format!("There are more than {limit} directories below {path}. Watch a part of them.");
            return Err(Fault::new(Code::LimitReached, message));
        }
    }
    Ok(found)
}

fn subdirectories(path: &str) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(path) else { return Vec::new() };
    entries
        .flatten()
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .filter_map(|entry| entry.path().into_os_string().into_string().ok())
        .take(limits::WATCHED_DIRECTORIES + 1)
        .collect()
}

struct Watcher {
    notify: AsyncFd<OwnedFd>,
    root: String,
    recursive: bool,
    paths: HashMap<i32, String>,
}

const EVENTS: u32 = libc::IN_CREATE
    | libc::IN_MODIFY
    | libc::IN_CLOSE_WRITE
    | libc::IN_ATTRIB
    | libc::IN_DELETE
    | libc::IN_DELETE_SELF
    | libc::IN_MOVED_FROM
    | libc::IN_MOVED_TO;
const EVENT_HEADER_BYTES: usize = 16;

impl Watcher {
    fn new(wanted: Watch) -> io::Result<Watcher> {
        // SAFETY: the descriptor is ours alone.
        let notify = unsafe {
            let fd = sys::check(libc::inotify_init1(libc::IN_CLOEXEC | libc::IN_NONBLOCK))?;
            OwnedFd::from_raw_fd(fd)
        };
        let notify = sys::watched(notify)?;
        Ok(Watcher { notify, root: wanted.path, recursive: wanted.recursive, paths: HashMap::new() })
    }

    fn add(&mut self, path: String) -> io::Result<()> {
        let text = sys::text(&path)?;
        let mask = EVENTS | libc::IN_DONT_FOLLOW;
        // SAFETY: the path is NUL-terminated.
        let watch = sys::check(unsafe { libc::inotify_add_watch(self.notify.as_raw_fd(), text.as_ptr(), mask) })?;
        self.paths.insert(watch, path);
        Ok(())
    }

    /// Waits for changes; the same change twice in a row is told once.
    async fn next(&mut self) -> io::Result<Vec<Value>> {
        let mut buffer = vec![0u8; 16 * 1024];
        let got = loop {
            let mut ready = self.notify.readable().await?;
            match ready.try_io(|fd| sys::read(fd.as_raw_fd(), &mut buffer)) {
                Ok(got) => break got?,
                Err(_would_block) => {}
            }
        };
        let mut events = Vec::new();
        let mut rest = buffer.get(..got).unwrap_or_default();
        while let Some((header, after)) = rest.split_at_checked(EVENT_HEADER_BYTES) {
            let word = |at: usize| {
                header.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map_or(0, u32::from_ne_bytes)
            };
            let (watch, mask, length) = (word(0) as i32, word(4), word(12) as usize);
            let Some((name, next)) = after.split_at_checked(length) else { break };
            rest = next;
            let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
            self.tell(watch, mask, name, &mut events);
        }
        events.dedup();
        Ok(events)
    }

    fn tell(&mut self, watch: i32, mask: u32, name: &[u8], events: &mut Vec<Value>) {
        if mask & libc::IN_Q_OVERFLOW != 0 {
            events.push(json!({"type": "overflow", "path": self.root}));
            return;
        }
        let Some(base) = self.paths.get(&watch).cloned() else { return };
        if mask & libc::IN_IGNORED != 0 {
            self.paths.remove(&watch);
            return;
        }
        let path = if name.is_empty() {
            base
        } else {
            format!("{}/{}", base.trim_end_matches('/'), super::entry::lossy(name))
        };
        let kind = match mask {
            _ if mask & (libc::IN_CREATE | libc::IN_MOVED_TO) != 0 => "created",
            _ if mask & libc::IN_MOVED_FROM != 0 => "moved",
            // A directory below tells its own end; its parent tells it too.
            _ if mask & libc::IN_DELETE_SELF != 0 && path != self.root => return,
            _ if mask & (libc::IN_DELETE | libc::IN_DELETE_SELF) != 0 => "deleted",
            _ => "changed",
        };
        events.push(json!({"type": kind, "path": path}));
        if self.recursive && kind == "created" && mask & libc::IN_ISDIR != 0 {
            self.enter(path, events);
        }
    }

    /// A new directory may have got entries before it was watched: they are told now.
    fn enter(&mut self, path: String, events: &mut Vec<Value>) {
        let most = events.len() + limits::WATCHED_ARRIVALS;
        let mut waiting = vec![path];
        while let Some(path) = waiting.pop() {
            if events.len() >= most
                || self.paths.len() >= limits::WATCHED_DIRECTORIES
                || self.add(path.clone()).is_err()
            {
                events.push(json!({"type": "overflow", "path": path}));
                return;
            }
            let Ok(entries) = std::fs::read_dir(&path) else { continue };
            for entry in entries.flatten().take(limits::LISTED_ENTRIES) {
                let Ok(child) = entry.path().into_os_string().into_string() else { continue };
                events.push(json!({"type": "created", "path": child}));
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    waiting.push(child);
                }
            }
        }
    }
}
