//! HTTP in and out of Role OS.
//!
//! Today that is [`catalog_remote`], which fetches a catalog's files from another machine, and [`blocking`], which lets
//! a program without an async runtime wait for it.
//!
//! Bytes come in and go out here, and no rule is made here: what a file means and whether it may be used is the rooms'
//! business. Nothing here prints.

pub mod catalog_remote;

pub mod blocking;
