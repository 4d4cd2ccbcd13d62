//! Makes a witness bundle out of a session's journal, and keeps and restores the working tree around a session.

mod tree;

pub mod liveness;

pub mod snapshot;

pub mod transcript;
