//! Rates with their bounds, and tests that hold however often they are looked at. Numbers in, numbers out: no file, no
//! clock, no dependency.
//!
//! [`rate`] describes a count for a reader. [`sequence`] decides about a rate: halts, certification, canaries. [`paired`]
//! compares two versions on the same cases, [`paired_outcomes`] two runs of the same tasks, [`sketch`] two sets, [`trend`] the values of a row. Whatever
//! decides uses [`sequence`] or [`paired`], because a plain rate that
//! is looked at after every observation is sooner or later on the wrong side by chance.

pub mod paired;
pub mod paired_outcomes;
pub mod rate;
pub mod sequence;
pub mod sketch;
pub mod trend;

/// The stated error of a decision: the chance that it is ever wrong, over all looks.
pub const ERROR: f64 = 0.01;
