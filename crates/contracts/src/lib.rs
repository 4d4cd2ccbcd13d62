//! Checks that a call keeps the contract of its tool: no file, no clock, no network. Advice only; it never blocks and
//! never guesses.
//!
//! A note is a proof that a call is wrong. A condition that cannot be computed gives no note, and the absence of
//! notes does not mean that a call is right. A malformed part of a contract disables only itself;
//! [`Contracts::problems`] reports it.
//!
//! Reading order: `contract` and `constraint` (the parsed form), `floor` (types, presence and bounds), `relation`
//! (relations between arguments), `schema` (an optional JSON Schema), `script` (values as JavaScript sees them).

mod catalogue;
mod constraint;
mod contract;
mod floor;
mod problem;
mod relation;
mod schema;
mod script;

use catalogue::Notes;
pub use catalogue::{Contracts, Files, Level, MAX_TEXT, NoFiles, Note, World, advice};
pub use problem::{Problem, Weight};
pub use schema::{OwnSchemas, Schemas};
