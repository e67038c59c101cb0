//! File operations, run inside the cell. The functions here block; the loop runs them on the pool.

mod edit;
mod entry;
mod methods;
mod path;
mod read;
mod simple;
mod tree;
mod write;

pub use entry::{kind, lossy, version};
pub use methods::{delete, edit, list, mkdir, read, rename, stat, write};
pub use path::{make_one, Place};
pub use tree::remove_tree;
