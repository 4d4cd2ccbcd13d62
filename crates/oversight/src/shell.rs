//! From the text of a command to our picture of it, with a second parser as a check.
//!
//! Reading order: [`ir`] (the picture), [`lower`] (the first parser, and the only place that knows it), [`second`]
//! (the second opinion, compared with [`names`]), [`limit`] (what is too deep or too long to be parsed at all),
//! `quoted` (what is in quotes for sure), `retry` (what the first parser is told otherwise), [`escape`] (backslashes).
//! Nothing here evaluates.

pub mod ir;

pub(crate) mod escape;

pub(crate) mod limit;

pub(crate) mod lower;

pub(crate) mod names;

mod quoted;

mod retry;

pub(crate) mod second;
