//! Adapters: their registry, state and logs on disk, their exams, and learning from their runs.
//!
//! [`specialists`] is the registry and its state; [`manifests`] and [`verifiers`] are declarations of models and checks
//! of them; [`runs`], [`events`], [`feedback`], [`dataset`] and [`requests`] are logs; [`metrics`], [`audits`],
//! [`selector`] and [`learning`] are computed from them.
//!
//! The rules are those of `specialist` and `selection`. No network, no terminal.

pub mod audits;
pub mod dataset;
pub mod events;
pub mod feedback;
pub mod learning;
pub mod manifests;
pub mod metrics;
pub mod requests;
pub mod runs;
pub mod selector;
pub mod shared;
pub mod specialists;
pub mod verifiers;
