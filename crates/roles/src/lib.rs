//! Catalogs and installed roles on disk.
//!
//! [`catalog`] reads and writes a catalog's directory; [`authoring`] changes one; [`installed_roles`] are those of a
//! workspace; [`exports`] writes files for other agents; [`shipped`] is the embedded catalog; [`signature`] the note
//! beside an index. The rules are those of the crate `catalog`.

pub mod authoring;
pub mod catalog;
pub mod exports;
pub mod installed_roles;
pub mod shipped;
pub mod signature;
