//! Every limit of the agent. Over a limit is a typed error that says what to do next.

/// Bytes of one frame's payload (the protocol's own limit).
pub const FRAME_PAYLOAD_BYTES: usize = 1_048_576;
/// Payload of the DATA and OUTPUT frames that the agent sends.
pub const CHUNK_BYTES: usize = 128 * 1024;
/// Control connections at one time; each is one call and may hold one frame.
pub const CONTROL_CONNECTIONS: usize = 128;
/// Ingress connections at one time.
pub const INGRESS_CONNECTIONS: usize = 1024;
/// Each direction of an ingress connection.
pub const INGRESS_BUFFER_BYTES: usize = 16 * 1024;
/// A host that sends no CALL within this time is disconnected.
pub const CALL_WAIT_MS: u64 = 10_000;
/// Longest wait that one call may ask for.
pub const WAIT_MS: u64 = 3_600_000;
pub const TIMEOUT_MS: u64 = 30 * 24 * 3_600_000;

/// Processes (not services) that run at one time.
pub const RUNNING_PROCESSES: usize = 256;
/// Children forked ahead of need. An assistant mostly runs one command after the other; each more costs every idle cell memory.
pub const SPARE_CHILDREN: usize = 1;
/// Records of processes kept, running ones included.
pub const KEPT_PROCESSES: usize = 1000;
pub const SERVICES: usize = 64;
pub const BACKOFF_MS: u64 = 24 * 3_600_000;
pub const COUNTED_RESTARTS: usize = 1000;

pub const ARGUMENTS: usize = 4096;
pub const ENVIRONMENT_VARIABLES: usize = 1024;
/// The kernel's own limit on one argument or `NAME=value` (MAX_ARG_STRLEN), its final NUL included.
pub const ARGUMENT_BYTES: usize = 131_072;
/// Longest name of a file (NAME_MAX), and places in PATH that are looked at.
pub const NAME_BYTES: usize = 255;
pub const PATH_PLACES: usize = 256;
/// Bytes of the command kept for display.
pub const SHOWN_COMMAND_BYTES: usize = 500;
pub const PATH_BYTES: usize = 4096;
pub const ID_BYTES: usize = 64;

pub const OUTPUT_LIMIT_DEFAULT_BYTES: u64 = 16 << 20;
pub const OUTPUT_LIMIT_MIN_BYTES: u64 = 64 << 10;
pub const OUTPUT_LIMIT_MAX_BYTES: u64 = 1 << 30;
/// What one `output.read` or `processes.run` may answer.
pub const OUTPUT_READ_BYTES: u64 = 16 << 20;
/// Output of processes that had not ended is measured when the cell starts again; the cell may have put any number of files there.
pub const MEASURED_AT_START_BYTES: u64 = 1 << 30;
/// What one output keeps in memory while the disk is full, and all of a cell's together: what `df` and `ls` print, not a build's log.
pub const HELD_OUTPUT_BYTES: usize = 64 * 1024;
pub const HELD_OUTPUT_TOTAL_BYTES: usize = 1 << 20;
/// A first process has ended; what still holds its output has this long before the call is answered.
pub const DRAIN_MS: u64 = 200;

/// Threads for blocking file work, all started at boot.
pub const FILE_THREADS: usize = 4;
pub const EDITED_FILE_BYTES: u64 = 16 << 20;
pub const EDITS: usize = 256;
pub const LISTED_ENTRIES: usize = 1000;
/// JSON of the entries in one answer, which has to fit a frame.
pub const LISTED_BYTES: usize = 900 * 1024;
/// Directories nested deeper are refused by recursive work.
pub const TREE_DEPTH: usize = 200;
pub const WATCH_CALLS: usize = 16;
pub const WATCHED_DIRECTORIES: usize = 1024;
/// What is told of a directory that appeared with its content; of more it is told that there is more.
pub const WATCHED_ARRIVALS: usize = 4096;
pub const LISTED_PORTS: usize = 1024;
/// Of a table of sockets, and descriptors that are looked at to find their holders.
pub const SOCKET_TABLE_BYTES: u64 = 4 << 20;
pub const LOOKED_AT_DESCRIPTORS: usize = 65_536;
pub const IMPORT_BYTES: u64 = 1 << 40;
pub const IMPORT_ENTRIES: u64 = 2_000_000;
/// PAX records and GNU long names of one tar entry.
pub const TAR_EXTENSION_BYTES: u64 = 64 * 1024;
