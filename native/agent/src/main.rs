//! One static binary with two audiences: `cell` is PID 1 inside a cell and `view` says what is seen from there, `host …` makes the system calls that the host
//! programs lack and then executes what they asked for.

mod cell;
mod host;
mod view;

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    match args.next().as_deref().and_then(|word| word.to_str()) {
        Some("cell") => cell::main(args.collect()),
        Some("host") => match args.next().as_deref().and_then(|word| word.to_str()) {
            Some("cell") => host::cell::main(args.collect()),
            Some("program") => host::program::main(args.collect()),
            _ => usage(),
        },
        Some("view") => view::main(args.collect()),
        _ => usage(),
    }
}

fn usage() -> ExitCode {
    eprintln!("usage: holdfast-agent cell … | view [--serve] | host cell … | host program …");
    ExitCode::from(64)
}
