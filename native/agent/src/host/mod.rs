//! What runs on the host, outside every cell, before something else is executed.

pub mod cell;
pub mod program;
