//! What people have allowed: [`grants`] of single actions, and [`governance`], the freedom of a session as a whole; [`verdict`], the answers that there are.
//! Decides nothing about a command: `oversight` does, with these as values.

pub mod grants;

pub mod governance;

pub mod verdict;
