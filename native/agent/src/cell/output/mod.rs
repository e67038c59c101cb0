//! Captured output: written once, kept in bounded files, read by cursor by any number of followers.

mod directory;
mod held;
mod reader;
mod recover;
mod store;

pub use directory::Directory;
pub use held::Budget;
use held::Held;
pub use reader::{Piece, Reader};
pub use recover::{consistent, found_segments};
pub use store::{Segment, Store};

/// Stream numbers of the protocol.
pub const STDOUT: u8 = 1;
pub const STDERR: u8 = 2;

/// A record in a file: `u8 stream · u32 length (little-endian) · bytes`.
const RECORD_HEADER_BYTES: u64 = 5;
/// Longest record; small writes are joined up to this.
const RECORD_BYTES: u64 = 64 * 1024;
