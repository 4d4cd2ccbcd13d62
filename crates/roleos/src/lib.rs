//! The command line: the only crate that prints or exits. A command is arguments, library calls, one rendering.

pub mod render;
