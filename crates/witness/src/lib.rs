//! Signed evidence of one task, and the statistics of many such files.
//!
//! Reading order: [`wire`] (bytes of header and sections), [`trace`] (the calls), [`policy`] (permissions),
//! [`extension`] (additions to the original format), [`bundle`] (parsed, not yet verified), [`key`] and [`evidence`]
//! (verified), [`builder`] (writing), then the uses of evidence: [`replay`] and [`outcome`], which read logs with
//! `testlog`, [`scorecard`], [`cost`], [`curve`], the [`dsse`] envelope for other tools, and the [`ledger`] that
//! shows if any bundle is missing.
//!
//! The promise: outside bytes never panic and never allocate more than they brought; only an [`evidence::Evidence`]
//! can be read as truth; the same input gives the same bytes. No file, no clock, no terminal.

#![warn(missing_docs, clippy::missing_errors_doc)]

pub mod wire;

pub mod trace;

pub mod policy;

pub mod extension;

pub mod bundle;

pub mod key;

pub mod evidence;

pub mod builder;

pub mod replay;

pub mod outcome;

pub mod scorecard;

pub mod cost;

pub mod curve;

pub mod dsse;

pub mod ledger;
