//! Setting up a repository: hooks in the agents' settings and in git, starter files, and taking them out again.

pub mod insertion;

pub mod merge;

mod layout;
