//! PID 1 of a cell.

use std::ffi::OsString;
use std::process::ExitCode;

pub fn main(args: Vec<OsString>) -> ExitCode {
    eprintln!("holdfast-agent cell: {} arguments", args.len());
    ExitCode::from(64)
}
