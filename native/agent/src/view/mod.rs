//! Says what a process in a cell sees and may do, as JSON: the supervisor proves its layers with it, tests compare it with a stored copy.
//!
//! `view` prints on standard output; `view --serve` answers one connection on descriptor 3, as PID 1 of a trial. Everything is tried, nothing
//! is taken from configuration. It changes nothing that outlives it.

mod attempts;
mod facts;

use serde::Serialize;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, Write};
use std::os::fd::FromRawFd;
use std::os::unix::net::UnixListener;
use std::process::ExitCode;

#[derive(Serialize)]
struct View {
    /// Whether each namespace is another than the host's first one, where the kernel numbers that one.
    own_namespaces: BTreeMap<String, bool>,
    uid_map: Vec<[u64; 3]>,
    gid_map: Vec<[u64; 3]>,
    /// Lines of /proc/self/status about privileges.
    status: BTreeMap<String, String>,
    oom_score_adj: String,
    limits: BTreeMap<String, String>,
    mounts: Vec<facts::Mount>,
    interfaces: Vec<String>,
    routes: Vec<String>,
    /// Open descriptors besides the one that lists them.
    descriptors: BTreeMap<String, String>,
    /// What became of each call: `ok`, the name of the error, or the signal that ended the caller.
    system_calls: BTreeMap<String, String>,
    /// The same numbers through the entries for i386 and x32.
    foreign_entries: BTreeMap<String, String>,
    sockets: BTreeMap<String, String>,
    btrfs_requests: BTreeMap<String, String>,
    devices: BTreeMap<String, String>,
    writes: BTreeMap<String, String>,
    reads: BTreeMap<String, String>,
    connections: BTreeMap<String, String>,
}

pub fn main(args: Vec<OsString>) -> ExitCode {
    // The first user namespace maps every id to itself. What is tried here must not be tried by root of a host.
    if facts::id_map("uid_map") == [[0, 0, u64::from(u32::MAX)]] {
        eprintln!("holdfast-agent view: this is not a cell; run it as a process of one");
        return ExitCode::FAILURE;
    }
    let done = if args.first().is_some_and(|flag| flag == "--serve") { serve() } else { print(&mut io::stdout()) };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("holdfast-agent view: {error}");
            ExitCode::FAILURE
        }
    }
}

fn serve() -> io::Result<()> {
    // SAFETY: descriptor 3 is the listening socket that this program was started with.
    let listener = unsafe { UnixListener::from_raw_fd(3) };
    let (mut connection, _) = listener.accept()?;
    print(&mut connection)
}

fn print(to: &mut impl Write) -> io::Result<()> {
    let view = View {
        own_namespaces: facts::own_namespaces(),
        uid_map: facts::id_map("uid_map"),
        gid_map: facts::id_map("gid_map"),
        status: facts::status(),
        oom_score_adj: facts::text("/proc/self/oom_score_adj"),
        limits: facts::limits(),
        mounts: facts::mounts(),
        interfaces: facts::names("/sys/class/net"),
        routes: facts::routes(),
        descriptors: facts::descriptors(),
        system_calls: attempts::system_calls(),
        foreign_entries: attempts::foreign_entries(),
        sockets: attempts::sockets(),
        btrfs_requests: attempts::btrfs_requests(),
        devices: attempts::devices(),
        writes: attempts::writes(),
        reads: attempts::reads(),
        connections: attempts::connections(),
    };
    serde_json::to_writer(&mut *to, &view)?;
    to.write_all(b"\n")?;
    to.flush()
}
