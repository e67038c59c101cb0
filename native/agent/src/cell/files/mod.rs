//! File operations, run inside the cell. The functions here block; the loop runs them on the pool.

mod edit;
mod entry;
mod methods;
mod path;
mod read;
mod simple;
mod tree;
mod watch;
mod write;

pub use entry::lossy;
pub use methods::{delete, edit, list, mkdir, read, rename, stat, write};
pub use path::{make_one, Place};
pub use tree::remove_tree;
pub use watch::watch;
pub use write::sync_directory;
