//! Selection of the winning output: manifests, verifiers, a reward in which speed is a cost, promotion by evidence.
//!
//! Reading order: [`metric`] (the reward of a run), [`quality`] and [`refusal`] (two of its inputs), [`winner`] (the
//! rule of a contest), [`candidates`] and [`contest`] (participants and results), [`output`] and [`verifier`] (forms
//! of an output, and the contract that it must meet), [`manifest`] (the declaration of a model), [`run_log`] (the
//! record of a run), [`likeness`] (equal inputs), [`audit`] (fixed exams), [`promotion`], [`certification`] and
//! [`growth`] (consequences of the evidence for a model), [`migration`] (from one metric to the next), [`event`]
//! (notifications), [`selector`] (prediction of the winner) and [`schema`] (schemas of our documents).
//!
//! The promise: only an output that a verifier passed can win; every number can be recomputed from the records; no
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
