//! Directories as tar streams. An archive is hostile: it is unpacked aside, checked entry by entry, and moved in only
//! when it is whole.

mod header;
mod methods;
mod names;
mod pack;
mod pax;
mod place;
mod unpack;

pub use methods::{export, import};

use super::fault::{Code, Fault};

const BLOCK: usize = 512;

/// The fault for an archive that must not be unpacked.
fn refused(path: &[u8], why: &str) -> Fault {
    let mut shown = super::files::lossy(path).replace(|letter: char| letter.is_control(), "?");
    super::fault::truncate(&mut shown, 200);
    let message = format!("The archive's entry \"{shown}\" is refused: {why}. Nothing was unpacked. Mend the archive.");
    Fault::new(Code::RefusedEntry, message).with("entry", shown)
}

/// Bytes from `size` to the next block's edge.
fn padding(size: u64) -> u64 {
    (BLOCK as u64 - size % BLOCK as u64) % BLOCK as u64
}
