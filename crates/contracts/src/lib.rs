//! Checks whether a call keeps the contract of its tool: no file, no clock, no network. Advice only; it never blocks and
//! never guesses.
//!
//! A note is a proof that a call is wrong. What cannot be computed gives no note, and no note does not mean that a call
//! is right. A part of a contract that is malformed switches off itself and nothing else; [`Contracts::problems`] has it.
//!
//! Reading order: `contract` and `constraint` (what is written), `floor` (types, presence and bounds), `relation` (what
//! holds between arguments), `schema` (an optional JSON Schema), `script` (values as JavaScript sees them).

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
