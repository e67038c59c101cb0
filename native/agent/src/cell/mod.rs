//! PID 1 of a cell: reaps, runs processes and services, serves files, forwards ingress. One thread runs the loop; a few
//! more, started at boot, do file work that may block.

// A panic here ends the cell: this is its PID 1.
#![cfg_attr(not(test), deny(clippy::expect_used, clippy::panic, clippy::unwrap_used))]

mod agent;
mod base64;
mod blocking;
mod boot;
mod cgroup;
mod clock;
mod conn;
mod fault;
mod files;
mod frames;
mod ingress;
mod limits;
mod methods;
mod options;
mod output;
mod params;
mod ports;
mod process;
mod reaper;
mod rest;
mod serve;
mod service;
mod sys;
mod system;
mod tar;

use agent::Agent;
use options::Options;
use std::cell::{Cell, RefCell};
use std::ffi::OsString;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::process::ExitCode;
use std::rc::Rc;

pub fn main(args: Vec<OsString>) -> ExitCode {
    let options = match options::parse(args) {
        Ok(options) => options,
        Err(message) => {
            eprintln!("holdfast-agent cell: {message}");
            return ExitCode::from(64);
        }
    };
    match run(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("holdfast-agent cell: could not start: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> io::Result<()> {
    boot::secure(options.control.is_some())?;
    let signals = boot::block_signals()?;
    let descriptors = boot::raise_descriptors();
    boot::write_identity(options);
    boot::raise_loopback();
    let groups = cgroup::Groups::open(&options.cgroup)?;
    let pool = blocking::Pool::start()?;
    let (processes, services) = open_state(options)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
    let agent = Rc::new(Agent {
        boot: random_hex()?,
        started_at_ms: clock::now_ms(),
        pool,
        groups,
        reaper: reaper::Reaper::default(),
        spawner: process::spawn::Spawner::new(descriptors),
        scratch: process::capture::scratch(),
        held: output::Budget::default(),
        processes: process::Table::open(processes)?,
        services: service::Services::new(services),
        closing: Cell::new(false),
        watch_calls: Cell::new(0),
        calls: Cell::new(0),
        called: tokio::sync::Notify::new(),
        starting: RefCell::default(),
    });
    let local = tokio::task::LocalSet::new();
    local.block_on(&runtime, async {
        serve::start(&agent, options)?;
        agent.reaper.run(signals).await?;
        service::shutdown(&agent, service::SHUTDOWN_GRACE).await;
        Ok(())
    })
}

/// The directories for records of processes and logs of services; only the cell's root may enter them.
fn open_state(options: &Options) -> io::Result<(OwnedFd, OwnedFd)> {
    let path = options.state.clone().unwrap_or_else(|| "/var/lib/holdfast".into());
    let state = directory(&path)?;
    sys::chmod_fd(state.as_raw_fd(), 0o700)?;
    let flags = libc::O_RDONLY | libc::O_DIRECTORY;
    let child = |name: &std::ffi::CStr| {
        let open = || match sys::mkdir_at(state.as_raw_fd(), name, 0o700) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            _ => sys::open_child(state.as_raw_fd(), name, flags, 0),
        };
        open().or_else(|error| {
            if !in_the_way(&error) {
                return Err(error);
            }
            sys::unlink_at(state.as_raw_fd(), name, false)?;
            open()
        })
    };
    Ok((child(c"processes")?, child(c"services")?))
}

/// Makes and opens a directory. What the cell put in its place, or in that of one above, goes: else the computer could never
/// be started again.
fn directory(path: &std::path::Path) -> io::Result<OwnedFd> {
    let open = || {
        std::fs::create_dir_all(path)?;
        let text = sys::text(&path.to_string_lossy())?;
        sys::open_plain(libc::AT_FDCWD, &text, libc::O_RDONLY | libc::O_DIRECTORY, 0)
    };
    open().or_else(|error| {
        if !in_the_way(&error) {
            return Err(error);
        }
        let mut places: Vec<_> = path.ancestors().collect();
        places.reverse();
        for place in places {
            if place.symlink_metadata().is_ok_and(|found| !found.is_dir()) {
                std::fs::remove_file(place)?;
            }
        }
        open()
    })
}

fn in_the_way(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENOTDIR | libc::EEXIST | libc::ELOOP))
}

fn random_hex() -> io::Result<String> {
    let mut bytes = [0u8; 16];
    sys::random(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
