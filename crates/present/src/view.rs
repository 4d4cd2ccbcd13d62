//! Bundles, scorecards, curves, roles, specialists, decisions and checks as other programs read them: one JSON shape
//! each, for the command line and the server.
//!
//! The rooms' own types are not serialisable, so that a change in them cannot change these promises by accident.

pub mod bundle;
pub mod catalog;
pub mod contracts;
pub mod in_toto;
pub mod oversight;
pub mod roles;
pub mod score;
pub mod specialists;
