use crate::cell::fault::{truncate, Fault};
use crate::cell::limits;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::ffi::CString;
use std::path::Path;

#[derive(Debug, Clone, Copy, Deserialize, PartialEq, Eq, Default)]
pub struct User {
    pub uid: u32,
    pub gid: u32,
}

/// What is executed and as whom; the part that processes and services share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    pub argv: Option<Vec<String>>,
    pub shell: Option<String>,
    pub cwd: String,
    pub env: BTreeMap<String, String>,
    pub user: User,
}

/// The same, ready for `execve`.
pub struct Prepared {
    /// Paths to try in turn.
    pub programs: Vec<CString>,
    pub argv: Vec<CString>,
    pub env: Vec<CString>,
}

const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// A line longer than one argument may be is handed over in pieces of this size.
const SHELL_PIECE_BYTES: usize = 100_000;

impl Command {
    /// Refuses what could not run. `pty` only chooses the default TERM.
    pub fn prepare(&self, pty: bool) -> Result<Prepared, Fault> {
        check_path(&self.cwd)?;
        if self.env.len() > limits::ENVIRONMENT_VARIABLES {
            return Err(too_many("environment variables", limits::ENVIRONMENT_VARIABLES));
        }
        let argv: Vec<Vec<u8>> = match (&self.argv, &self.shell) {
            (Some(argv), None) => argv.iter().map(|word| word.clone().into_bytes()).collect(),
            (None, Some(line)) => shell_argv(line),
            _ => return Err(Fault::invalid("Exactly one of `argv` and `shell` says what to run. Give one of them.")),
        };
        if argv.len() > limits::ARGUMENTS {
            return Err(too_many("arguments", limits::ARGUMENTS));
        }
        let first = argv.first().filter(|first| !first.is_empty());
        let first = first.ok_or_else(|| Fault::invalid("`argv` is empty. Its first element names the program."))?;
        let env = self.environment(pty);
        let path = env.get("PATH").map_or(PATH, String::as_str);
        let programs = candidates(first, path)?;
        let argv = argv.into_iter().map(|word| argument(word, "An argument")).collect::<Result<_, _>>()?;
        let env = env
            .iter()
            .map(|(name, value)| {
                if name.is_empty() || name.contains('=') {
                    return Err(Fault::invalid("The name of an environment variable is empty or has a `=` in it."));
                }
                argument(format!("{name}={value}").into_bytes(), "An environment variable")
            })
            .collect::<Result<_, _>>()?;
        Ok(Prepared { programs, argv, env })
    }

    /// One line for people.
    pub fn shown(&self) -> String {
        let mut text = match (&self.shell, &self.argv) {
            (Some(line), _) => line.clone(),
            (None, Some(argv)) => argv.join(" "),
            (None, None) => String::new(),
        };
        truncate(&mut text, limits::SHOWN_COMMAND_BYTES);
        text
    }

    fn environment(&self, pty: bool) -> BTreeMap<String, String> {
        let account = account(self.user.uid);
        let home = account.as_ref().map_or("/", |(_, home)| home.as_str());
        let term = if pty { "xterm-256color" } else { "dumb" };
        let mut env: BTreeMap<String, String> =
            [("PATH", PATH), ("LANG", "C.UTF-8"), ("HOME", home), ("TERM", term), ("SHELL", shell_program())]
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .collect();
        if let Some((name, _)) = account {
            env.insert("USER".to_owned(), name.clone());
            env.insert("LOGNAME".to_owned(), name);
        }
        env.extend(self.env.clone());
        env
    }
}

/// Paths that this agent takes: absolute, of bounded length, without NUL.
pub fn check_path(path: &str) -> Result<(), Fault> {
    if !path.starts_with('/') || path.len() > limits::PATH_BYTES || path.contains('\0') {
        let limit = limits::PATH_BYTES;
        return Err(Fault::invalid(format!("A path is absolute, has no NUL and at most {limit} bytes.")));
    }
    Ok(())
}

fn shell_program() -> &'static str {
    if Path::new("/bin/bash").exists() {
        "/bin/bash"
    } else {
        "/bin/sh"
    }
}

fn shell_argv(line: &str) -> Vec<Vec<u8>> {
    let shell = shell_program();
    let mut argv: Vec<Vec<u8>> = vec![shell.into(), "-lc".into()];
    if line.len() <= SHELL_PIECE_BYTES {
        argv.push(line.into());
        return argv;
    }
    let pieces: Vec<&[u8]> = line.as_bytes().chunks(SHELL_PIECE_BYTES).collect();
    let joined: String = (1..=pieces.len()).map(|number| format!("${{{number}}}")).collect();
    argv.push(format!("eval \"shift {}; {joined}\"", pieces.len()).into());
    argv.push(shell.into());
    argv.extend(pieces.into_iter().map(<[u8]>::to_vec));
    argv
}

fn candidates(program: &[u8], path: &str) -> Result<Vec<CString>, Fault> {
    if program.contains(&b'/') {
        return Ok(vec![argument(program.to_vec(), "The program's path")?]);
    }
    // A longer name cannot be there; it is looked for once, so that the kernel says so.
    let places = if program.len() > limits::NAME_BYTES { 1 } else { limits::PATH_PLACES };
    path.split(':')
        .filter(|dir| dir.starts_with('/'))
        .take(places)
        .map(|dir| argument([dir.as_bytes(), b"/", program].concat(), "The program's path"))
        .collect()
}

fn argument(bytes: Vec<u8>, what: &str) -> Result<CString, Fault> {
    if bytes.len() >= limits::ARGUMENT_BYTES {
        let (size, limit) = (bytes.len(), limits::ARGUMENT_BYTES - 1);
        let message =
            format!("{what} has {size} bytes, the kernel takes {limit}. Pass it by a file, stdin or a shell line.");
        return Err(Fault::new(crate::cell::fault::Code::TooLarge, message));
    }
    CString::new(bytes)
        .map_err(|_| Fault::invalid(format!("{what} has a NUL byte in it, which the kernel cannot pass on.")))
}

fn too_many(what: &str, limit: usize) -> Fault {
    Fault::invalid(format!("There are more than {limit} {what}. Pass them by a file."))
}

/// Name and home of a user, from the cell's own /etc/passwd.
fn account(uid: u32) -> Option<(String, String)> {
    use std::io::Read;
    let mut text = String::new();
    let dir = crate::cell::sys::open_plain(libc::AT_FDCWD, c"/etc/passwd", libc::O_RDONLY | libc::O_NONBLOCK, 0);
    if let Ok(file) = dir {
        let _ = std::fs::File::from(file).take(256 * 1024).read_to_string(&mut text);
    }
    let found = text.lines().find_map(|line| {
        let fields: Vec<&str> = line.split(':').collect();
        match fields.as_slice() {
            [name, _, id, _, _, home, ..] if id.parse() == Ok(uid) => Some(((*name).to_owned(), (*home).to_owned())),
            _ => None,
        }
    });
    found.or_else(|| (uid == 0).then(|| ("root".to_owned(), "/root".to_owned())))
}
