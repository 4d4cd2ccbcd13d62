//! Decides what a tool call may do, by understanding it: no model, no file, no clock, no network.
//!
//! Reading order: [`evaluate`] (every program that could run; [`actions`] says what of it is gated), [`tools`] (the same
//! for tools that are no shell), [`protection`] (what stays out of reach), [`grants`] and [`governance`] (what people allow), [`verdict`] (the answer), [`act`] (what an approval binds), [`decide`] (the question), [`execution`]
//! (the same question when a program is about to begin) and [`examples`] (actions, tried as whole commands).
//!
//! The promise: danger is looked for permissively, safety is never concluded from what was not understood; any input
//! ends quickly and without a panic; the same input gives the same answer. What the machine knows arrives as a value.

pub mod evaluate;

pub mod tools;

pub mod act;

pub mod verdict;

pub mod decide;

pub mod execution;

pub mod examples;

pub use actions;
pub use actions::lookup;
pub use authority::{governance, grants};
pub use protection;

pub use act::{Act, Approvals, Fact, NoApprovals};
pub use decide::{Call, Rules, decide};
pub use verdict::{Decision, Place, Policy, Verdict};
