//! JSON shapes for other programs: bundles, scorecards, curves, roles, specialists, decisions and checks, one shape
//! each, for the command line and the server.
//!
//! The types of the other crates are not serialisable, so that a change in them cannot change these shapes by
//! accident.

pub mod bundle;
pub mod catalog;
pub mod contracts;
pub mod in_toto;
pub mod oversight;
pub mod roles;
pub mod score;
pub mod specialists;
