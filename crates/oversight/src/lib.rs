//! Decides what a tool call may do, by analysing it: no model, no file, no clock, no network.
//!
//! Reading order: [`evaluate`] (every program that could run; [`actions`] determines the gated ones), [`tools`] (the
//! same for tools that are not shells), [`protection`] (things out of reach), [`grants`] and [`governance`]
//! (permissions by people), [`verdict`] (the answer), [`act`] (the content of an approval), [`decide`] (the
//! decision), [`execution`] (the same decision when a program is about to begin) and [`examples`] (actions, tested as
//! whole commands).
//!
//! The promise: the search for danger is permissive, safety is never concluded from a part that was not understood;
//! any input ends quickly and without a panic; the same input gives the same answer. Facts about the machine are
//! passed in as values.

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
