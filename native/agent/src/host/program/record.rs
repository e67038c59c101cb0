use std::fmt;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use serde::Serialize;

/// A process named so that a later one with the same pid is not mistaken for it.
#[derive(Serialize, Clone)]
struct Process {
    pid: i32,
    /// Clock ticks after boot, field 22 of `/proc/<pid>/stat`.
    start_time: u64,
}

#[derive(Serialize)]
pub struct End {
    code: Option<i32>,
    signal: Option<i32>,
}

#[derive(Serialize)]
struct Content<'a> {
    keeper: Process,
    program: Process,
    label: &'a str,
    ended: Option<&'a End>,
}

/// The file by which launchers find a running program. An exclusive lock on it makes a second keeper impossible; it is held until
/// this process ends, however it ends.
pub struct Record {
    file: File,
    program: Option<(Process, String)>,
}

impl Record {
    /// Fails with `WouldBlock` when another keeper holds the record.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = File::options().create(true).truncate(false).read(true).write(true).mode(0o600).open(path)?;
        // SAFETY: the descriptor is open.
        if unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { file, program: None })
    }

    pub fn started(&mut self, pid: i32, label: &str) -> io::Result<()> {
        self.program = Some((process(pid)?, label.to_owned()));
        self.write(None)
    }

    pub fn ended(&mut self, end: &End) -> io::Result<()> {
        self.write(Some(end))
    }

    fn write(&mut self, ended: Option<&End>) -> io::Result<()> {
        let Some((program, label)) = &self.program else { return Ok(()) };
        // SAFETY: getpid has no preconditions.
        let keeper = process(unsafe { libc::getpid() })?;
        let mut content = serde_json::to_vec(&Content { keeper, program: program.clone(), label, ended })?;
        content.push(b'\n');
        // Readers take only content that ends in a newline and parses; a reader between these two calls reads again.
        self.file.set_len(0)?;
        self.file.write_all_at(&content, 0)
    }
}

fn process(pid: i32) -> io::Result<Process> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // The name in field 2 may hold spaces and parentheses; field 3 follows the last one.
    let start_time = stat
        .rfind(')')
        .and_then(|end| stat.get(end + 2..))
        .and_then(|fields| fields.split(' ').nth(19))
        .and_then(|field| field.parse().ok())
        .ok_or_else(|| io::Error::other("/proc/<pid>/stat has no start time"))?;
    Ok(Process { pid, start_time })
}

impl End {
    pub fn of(status: i32) -> Self {
        if libc::WIFSIGNALED(status) {
            Self { code: None, signal: Some(libc::WTERMSIG(status)) }
        } else {
            Self { code: Some(libc::WEXITSTATUS(status)), signal: None }
        }
    }

    pub fn exit_status(&self) -> u8 {
        let status = self.code.or(self.signal.map(|signal| 128 + signal)).unwrap_or(1);
        u8::try_from(status).unwrap_or(1)
    }
}

impl fmt::Display for End {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.code, self.signal) {
            (Some(code), _) => write!(formatter, "exit status {code}"),
            (_, Some(signal)) => write!(formatter, "signal {signal}"),
            _ => write!(formatter, "unknown"),
        }
    }
}
