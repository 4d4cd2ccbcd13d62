//! Checks that everything is installed, reachable and current. Tests the installed hook, and changes nothing
//! permanently.

pub mod canary;
mod client_version;
pub mod codex_trust;
mod entry;
mod examination;
mod ledger;
pub mod overview;
pub mod prices;
mod protected;
mod report;
mod supervised;
mod workspace;

pub use examination::examine;
use examination::program;
pub use report::{AgentReport, Check, Report, Standing};
