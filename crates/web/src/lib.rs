//! The workspace in a browser and for programs: [`api`] is the JSON API, [`pages`] are the pages over the same functions,
//! and [`login`] lets a person change things.
//!
//! [`gate_tokens`] is the archive that takes evidence of other machines, and the API tokens.
//! [`problem`] is what a client is told when something is wrong, `news` what happened since the last look at the files,
//! [`metrics`] the counters, [`workspaces`] several of them in one process.
//!
//! Nothing here listens, asks another machine or makes a rule.

pub mod api;
pub mod gate_tokens;
pub mod linger;
pub mod login;
pub mod metrics;
pub mod news;
pub mod pages;
pub mod problem;
pub mod workspaces;
