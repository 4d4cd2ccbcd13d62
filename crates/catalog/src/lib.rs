//! Roles people write: a catalog of versioned, translated prompts, checked against itself and against its content lock.
//!
//! Reading order: [`yaml`] (text into values with places), [`source`] (the files as values), [`contents`] (what they mean),
//! [`problem`] (what can be wrong), [`canonical`] and [`lock`] (what is
//! hashed, and what was recorded), [`tombstones`] and [`strict`] (what the published check lets through), [`served`] (what a
//! server would refuse), [`catalog`], the front door, and [`browse`] (what it offers). Then what is done with one:
//! [`yaml_text`], [`edit`] and [`skeleton`] (writing), [`model_config`], [`hints`], [`installed`] and [`install`] (roles in a workspace),
//! [`export`] (roles for other agents).
//!
//! The promise: outside text never panics, never recurses without a bound and is refused quickly when it is hostile; only
//! [`catalog::Catalog::parse`] makes a checked catalog; the same files give the same hashes and the same lock bytes.
//! No file, no network, no clock, no terminal, no other room.

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
