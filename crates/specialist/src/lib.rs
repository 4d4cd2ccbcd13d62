//! Decides if a trained adapter may play a role instead of the general model: no file, no clock, no network.
//!
//! Reading order: [`level`] and [`family`] (properties of a version), [`registry`] (the versions), [`serving`]
//! (conditions of serving), [`role_block`] (the specialist block of a role's own file), [`quota`] (the share that it
//! may serve), [`classifier`] and [`gate`] (the decision on a dispatch), [`contract`] (requests and valid answers),
//! [`conformance`] (the role that judges tool calls), [`shadow`] (continued agreement), [`state`] (state between
//! dispatches), [`event`], [`receipt`] and [`field`] (records), [`pointer`] (promotion).
//!
//! The promise: any doubt goes to the general model and has a name; only a person lifts a halt; the same input gives
//! the same answer.

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
