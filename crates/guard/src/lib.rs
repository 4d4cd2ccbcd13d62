//! The guard: events of coding agents, answers to them, and the installation of hooks.
//!
//! [`agents`] implements each agent's protocol; [`hook`] answers one event; [`lookup`] and [`contracts`] gather the
//! facts for it; [`approvals`] stores refused acts and approvals of a person; [`protected`] restores protected files;
//! [`supervision`] decides about programs that are really executed; [`second_seam`] is git's pre-push hook; [`install`]
//! installs hooks in a repository; [`rehearsal`] decides recorded sessions again.
//!
//! The decision itself is `oversight::decide`. No network, no terminal.

pub mod agents;
pub mod approvals;
pub mod contracts;
pub mod hook;
pub mod install;
pub mod protected;
pub mod rehearsal;
pub mod second_seam;
pub mod supervision;
