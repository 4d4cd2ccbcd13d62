//! Where Role OS touches the machine: files, clock, keys, locks, git and child processes.
//!
//! Everything here acts and nothing here decides: what to believe, allow or refuse is the rooms' business.
//! No network, no terminal.

pub mod clock;
pub mod files;
pub mod git;
pub mod keys;
pub mod ledger;
pub mod process;
pub mod rerun;
pub mod scan;
pub mod score;
pub mod store;
pub mod trace_input;
pub mod view;
