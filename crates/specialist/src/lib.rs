//! Decides whether a trained adapter may play a role instead of the general model: no file, no clock, no network.
//!
//! Reading order: [`level`] and [`family`] (what a version is), [`registry`] (which versions there are), [`serving`] (which of them may serve), [`role_block`]
//! (what a role's own file says about it), [`quota`] (how much it may serve), [`classifier`] and [`gate`] (may it serve
//! this one?), [`contract`] (what it is asked and what counts as an answer), [`conformance`] (the role that judges tool calls),
//! [`shadow`] (does it still agree?), [`state`] (what is remembered), [`event`], [`receipt`] and [`field`] (what is written down), [`pointer`] (who
//! may be promoted).
//!
//! The promise: any doubt goes to the general model and has a name; a halt is lifted by a person only; the same input
//! gives the same answer.

pub mod level;

pub mod family;

pub mod registry;

pub mod serving;

pub mod role_block;

pub mod quota;

pub mod classifier;

pub mod gate;
pub mod inputs;

pub mod contract;

pub mod conformance;

pub mod shadow;

pub mod agreement;

pub mod state;

pub mod event;

pub mod receipt;

pub mod field;

pub mod pointer;

mod text;
