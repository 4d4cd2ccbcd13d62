//! Rates with their bounds, and tests that hold at any number of checks. Numbers in, numbers out: no file, no clock,
//! no dependency.
//!
//! [`rate`] describes a count for a reader. [`sequence`] decides about a rate: halts, certification, canaries.
//! [`paired`] compares two versions on the same cases, [`paired_outcomes`] two runs of the same tasks, [`sketch`] two
//! sets, [`trend`] the values of a row. Decisions use [`sequence`] or [`paired`], because a plain rate that is
//! checked after every observation is sooner or later on the wrong side by chance.

pub mod paired;
pub mod paired_outcomes;
pub mod rate;
pub mod sequence;
pub mod sketch;
pub mod trend;

/// Error of a decision: the chance that it is ever wrong, over all checks.
pub const ERROR: f64 = 0.01;
