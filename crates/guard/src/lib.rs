//! The guard at work: what coding agents ask, what is answered, and what is installed for that.
//!
//! [`agents`] speaks each agent's protocol; [`hook`] answers one event; [`lookup`] and [`contracts`] gather the
//! facts for it; [`approvals`] holds refused acts and a person's yes; [`protected`] restores protected files;
//! [`supervision`] judges what is really executed; [`second_seam`] is git's pre-push hook; [`install`] puts hooks into a
//! repository; [`rehearsal`] decides recorded sessions again.
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
