//! The command line: the only crate that prints or exits. A command consists of arguments, library calls, and one
//! rendering.

pub mod cli;
pub mod command;
pub mod context;
mod entry;
pub mod failure;
pub mod person;
mod suggestion;
pub mod ui;

#[cfg(feature = "demo")]
pub mod demo;
pub mod render;

use context::Context;
pub use entry::run;
use exit::Exit;
use failure::Failure;
pub use roleos_hook::exit;
