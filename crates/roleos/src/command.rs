//! One file a command: its arguments, the library calls, and what is shown.

pub mod catalog;
pub mod completions;
pub mod curve;
pub mod explain;
pub mod key;
pub mod ledger;
pub mod manifest;
pub mod many_bundles;
pub mod metric;
pub mod one_bundle;
pub mod runs;
pub mod scorecard;
pub mod trust;
pub mod witness;
