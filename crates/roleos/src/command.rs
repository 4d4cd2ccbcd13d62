//! One file a command: its arguments, the library calls, and what is shown.

pub mod approve;
pub mod catalog;
pub mod completions;
pub mod contracts;
pub mod curve;
pub mod explain;
pub mod grant;
pub mod hook;
pub mod init;
pub mod key;
pub mod ledger;
pub mod many_bundles;
pub mod mode;
pub mod one_bundle;
pub mod rehearse;
pub mod scorecard;
pub mod sessions;
pub mod trust;
pub mod trust_settings;
pub mod witness;
