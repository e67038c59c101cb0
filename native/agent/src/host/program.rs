//! The keeper of one host program: makes its sockets, starts it under its own user, passes its output to a bounded log, ends as it
//! ended. It outlives the launcher, so that the program does; the program never outlives it, nor, where it has a user of its own, does
//! anything that it forked outlive the program.
//!
//! `host program [--listen path:gid:mode]… [--listen-tcp address:port]… [--user uid:gid[:gid…]] [--no-new-privs] [--record file]
//! [--label text] [--log file] -- argv…`
//!
//! Descriptors 3… of the program are the sockets in the order given. Exit status 75: the record is held by another keeper.

mod log;
mod options;
mod record;
mod sockets;
mod start;

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::process::ExitCode;

use log::Log;
use options::Options;
use record::{End, Record};

/// A program that is already kept (`EX_TEMPFAIL`).
const ALREADY_KEPT: u8 = 75;

pub fn main(args: Vec<OsString>) -> ExitCode {
    let options = match Options::parse(args) {
        Ok(options) => options,
        Err(problem) => {
            eprintln!("holdfast-agent host program: {problem}");
            return ExitCode::from(64);
        }
    };
    match keep(&options) {
        Ok(status) => ExitCode::from(status),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
            eprintln!("holdfast-agent host program: the program is kept already");
            ExitCode::from(ALREADY_KEPT)
        }
        Err(error) => {
            eprintln!("holdfast-agent host program: {error}");
            ExitCode::from(71)
        }
    }
}

/// Runs the program to its end; the exit status to pass on.
fn keep(options: &Options) -> io::Result<u8> {
    start::close_inherited();
    start::spare();
    let mut record = options.record.as_deref().map(Record::open).transpose()?;
    let mut log = Log::open(options.log.as_deref())?;
    let sockets = sockets::make(&options.sockets)?;
    let signals = start::block_signals()?;
    // Those of root's programs are not only their own: cells are meant to live on.
    let takes_orphans = options.user.is_some();
    if takes_orphans {
        start::take_orphans()?;
    }
    let mut program = start::fork_and_wait_for_go(options, &sockets)?;
    drop(sockets);
    if let Some(record) = record.as_mut() {
        record.started(program.pid, &options.label)?;
    }
    program.go()?;
    start::leave_standard_streams(options.log.is_none())?;

    let status = watch(&program, &signals, &mut log)?;
    if takes_orphans {
        start::end_orphans();
    }
    log.drain(&program.output);
    let end = End::of(status);
    log.note(&format!("the program ended: {end}"));
    if let Some(record) = record.as_mut() {
        record.ended(&end)?;
    }
    Ok(end.exit_status())
}

/// Copies output and passes signals on until the program has ended; its wait status.
fn watch(program: &start::Program, signals: &OwnedFd, log: &mut Log) -> io::Result<i32> {
    let mut output_open = true;
    loop {
        let mut polled = [
            libc::pollfd { fd: signals.as_raw_fd(), events: libc::POLLIN, revents: 0 },
            libc::pollfd {
                fd: if output_open { program.output.as_raw_fd() } else { -1 },
                events: libc::POLLIN,
                revents: 0,
            },
        ];
        // SAFETY: the array is live and its length is the one given.
        if unsafe { libc::poll(polled.as_mut_ptr(), 2, -1) } < 0 {
            let error = io::Error::last_os_error();
            if error.kind() == io::ErrorKind::Interrupted {
                continue;
            }
            return Err(error);
        }
        if polled[1].revents != 0 {
            output_open = log.copy(&program.output);
        }
        if polled[0].revents != 0 {
            while let Some(signal) = start::next_signal(signals) {
                if signal != libc::SIGCHLD {
                    // SAFETY: the pid is our child's and not reaped yet.
                    unsafe { libc::kill(program.pid, signal) };
                }
            }
            if let Some(status) = program.ended()? {
                return Ok(status);
            }
        }
    }
}
