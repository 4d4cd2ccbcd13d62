//! Permissions by people: [`grants`] of single actions, and [`governance`] of a session as a whole; [`verdict`] has
//! the possible answers. Decides nothing about a command: `oversight` does, with these as values.

pub mod grants;

pub mod governance;

pub mod verdict;
