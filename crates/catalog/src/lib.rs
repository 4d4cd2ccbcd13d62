//! Catalog of roles: versioned, translated prompts, checked against each other and against a content lock.
//!
//! Reading order: [`yaml`] (parser with positions), [`source`] (the files as values), [`contents`] (their structure),
//! [`problem`] (problems), [`canonical`] and [`lock`] (hashes and recorded hashes), [`tombstones`] and [`strict`]
//! (problems that the published check accepts), [`served`] (refusals of a server), [`catalog`], the entry point, and
//! [`browse`] (look-up of roles). Then the uses of a catalog: [`yaml_text`], [`edit`] and [`skeleton`] (writing),
//! [`model_config`], [`hints`], [`installed`] and [`install`] (roles in a workspace), [`export`] (roles for other
//! agents).
//!
//! The promise: outside text never panics, never recurses without a bound and is refused quickly when it is hostile;
//! only [`catalog::Catalog::parse`] makes a checked catalog; the same files give the same hashes and the same lock
//! bytes. No file, no network, no clock, no terminal.

#![warn(missing_docs, clippy::missing_errors_doc)]

pub mod yaml;

pub mod problem;

pub mod source;

pub mod contents;

mod check;

pub mod canonical;

pub mod lock;

pub mod tombstones;

pub mod strict;

mod form;

pub mod served;

pub mod catalog;

pub mod browse;

pub mod model_config;

pub mod hints;

pub mod yaml_text;

pub mod edit;

pub mod skeleton;

pub mod installed;

pub mod install;

pub mod export;
