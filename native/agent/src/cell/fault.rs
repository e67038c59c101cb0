use serde_json::{json, Map, Value};
use std::io;

/// What ends a call early: an error to send, or a host that went away.
pub enum Stop {
    Fault(Fault),
    Gone,
}

/// The other side of a connection closed it.
#[derive(Debug)]
pub struct Gone;

/// An answer of the kind ERROR. `message` reads: what happened, why, what to do next.
#[derive(Debug)]
pub struct Fault {
    pub code: Code,
    pub message: String,
    pub details: Map<String, Value>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    InvalidFrame,
    UnsupportedProtocol,
    UnknownMethod,
    InvalidArgument,
    NotFound,
    AlreadyExists,
    NotADirectory,
    IsADirectory,
    NotRegularFile,
    NotEmpty,
    TooLarge,
    PermissionDenied,
    NoSpace,
    ProcessLimit,
    ProcessEnded,
    NoPty,
    SpawnFailed,
    MatchFailed,
    VersionMismatch,
    RefusedEntry,
    StaleRevision,
    ShuttingDown,
    ConnectionRefused,
    LimitReached,
    Internal,
}

impl Code {
    pub fn name(self) -> &'static str {
        match self {
            Code::InvalidFrame => "invalid_frame",
            Code::UnsupportedProtocol => "unsupported_protocol",
            Code::UnknownMethod => "unknown_method",
            Code::InvalidArgument => "invalid_argument",
            Code::NotFound => "not_found",
            Code::AlreadyExists => "already_exists",
            Code::NotADirectory => "not_a_directory",
            Code::IsADirectory => "is_a_directory",
            Code::NotRegularFile => "not_regular_file",
            Code::NotEmpty => "not_empty",
            Code::TooLarge => "too_large",
            Code::PermissionDenied => "permission_denied",
            Code::NoSpace => "no_space",
            Code::ProcessLimit => "process_limit",
            Code::ProcessEnded => "process_ended",
            Code::NoPty => "no_pty",
            Code::SpawnFailed => "spawn_failed",
            Code::MatchFailed => "match_failed",
            Code::VersionMismatch => "version_mismatch",
            Code::RefusedEntry => "refused_entry",
            Code::StaleRevision => "stale_revision",
            Code::ShuttingDown => "shutting_down",
            Code::ConnectionRefused => "connection_refused",
            Code::LimitReached => "limit_reached",
            Code::Internal => "internal",
        }
    }
}

impl Fault {
    pub fn new(code: Code, message: impl Into<String>) -> Fault {
        Fault { code, message: message.into(), details: Map::new() }
    }

    pub fn invalid(message: impl Into<String>) -> Fault {
        Fault::new(Code::InvalidArgument, message)
    }

    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Fault {
        self.details.insert(key.to_owned(), value.into());
        self
    }

    /// The fault for a failed system call; `what` names the work, as in "open /work/a".
    pub fn io(what: &str, error: &io::Error) -> Fault {
        let errno = error.raw_os_error().unwrap_or(0);
        let code = match errno {
            libc::ENOENT => Code::NotFound,
            libc::EEXIST => Code::AlreadyExists,
            libc::ENOTDIR => Code::NotADirectory,
            libc::EISDIR => Code::IsADirectory,
            libc::ENOTEMPTY => Code::NotEmpty,
            libc::EACCES | libc::EPERM | libc::EROFS => Code::PermissionDenied,
            libc::ENOSPC | libc::EDQUOT => Code::NoSpace,
            libc::EFBIG => Code::TooLarge,
            libc::ENAMETOOLONG | libc::EINVAL | libc::ELOOP | libc::EXDEV | libc::EBUSY => Code::InvalidArgument,
            libc::EMFILE | libc::ENFILE => Code::LimitReached,
            _ => Code::Internal,
        };
        Fault::new(code, format!("Could not {what}: {error}.")).with("errno", errno)
    }

    pub fn payload(&self) -> Vec<u8> {
        let mut message = self.message.clone();
        truncate(&mut message, 1900);
        let mut body = json!({"code": self.code.name(), "message": message});
        if !self.details.is_empty() {
            body["details"] = Value::Object(self.details.clone());
        }
        body.to_string().into_bytes()
    }
}

/// Cuts at a character's edge.
pub fn truncate(text: &mut String, limit: usize) {
    if text.len() > limit {
        let mut end = limit;
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
    }
}

impl From<Fault> for Stop {
    fn from(fault: Fault) -> Stop {
        Stop::Fault(fault)
    }
}

impl From<Gone> for Stop {
    fn from(_: Gone) -> Stop {
        Stop::Gone
    }
}
