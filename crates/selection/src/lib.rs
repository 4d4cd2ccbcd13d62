//! Which model's output wins and why: manifests, verifiers, a reward in which speed is a cost, promotion by evidence.
//!
//! Reading order: [`metric`] (what a run is worth), [`quality`] and [`refusal`] (two of its inputs), [`winner`] (who wins),
//! [`candidates`] and [`contest`] (who takes part, and what comes of it), [`output`] and [`verifier`] (what was said, and what may win at all), [`manifest`] (what a model declares), [`run_log`]
//! (what is kept of a run), [`likeness`] (which inputs are the same), [`audit`] (fixed exams), [`promotion`], [`certification`] and [`growth`] (what the evidence
//! earns or costs a model), [`migration`] (from one
//! metric to the next), [`event`] (what others are told) [`selector`] (who is likely
//! to win) and [`schema`] (what our documents look like).
//!
//! The promise: only what a verifier passed can win; every number can be computed again from what is written down; no
//! file, no clock, no network.

pub mod audit;
pub mod candidates;
pub mod canonical;
pub mod certification;
pub mod contest;
pub mod event;
pub mod growth;
pub mod likeness;
pub mod manifest;
pub mod metric;
pub mod migration;
pub mod output;
pub mod promotion;
pub mod quality;
pub mod refusal;
pub mod run_log;
pub mod schema;
pub mod selector;
pub mod verifier;
pub mod version;
pub mod winner;
