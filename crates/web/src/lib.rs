//! The workspace in a browser and for programs: [`api`] is the JSON API, [`pages`] are the pages over the same functions,
//! and [`login`] lets a person change things.
//!
//! [`gate_tokens`] is the archive for evidence of other machines, and the API tokens. [`problem`] is an error response,
//! `news` are entries since the last check of the files, [`metrics`] are the counters, [`workspaces`] serves several
//! workspaces in one process.
//!
//! This crate does not listen, send requests or make decisions.

pub mod api;
pub mod gate_tokens;
pub mod linger;
pub mod login;
pub mod metrics;
pub mod news;
pub mod pages;
pub mod problem;
pub mod workspaces;
