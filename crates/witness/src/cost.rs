//! What tasks cost together. A cost that is not known is not the same as none: where the facts of a bundle say that its
//! cost is unknown, or only a part of it, the task is counted and left out of what a solved task costs.

use crate::extension::{Provenance, field};
use crate::scorecard::Row;
use crate::wire::Outcome;

/// How the fact `usage` or `cost` begins when nothing is known.
pub const UNKNOWN: &str = "unknown";
/// How the fact `cost` begins when a part of it is not known.
pub const AT_LEAST: &str = "at least";

/// Whether the facts leave the stated cost as it is. Only our own seals say that it is not known; for all others the
/// header is the truth.
#[must_use]
pub fn is_known(facts: &Provenance) -> bool {
    let begins = |name, words| facts.get(name).is_some_and(|fact| fact.starts_with(words));
    !(begins(field::USAGE, UNKNOWN)
        || begins(field::COST, UNKNOWN)
        || begins(field::COST, AT_LEAST))
}

/// The cost of several tasks, in millionths of a US dollar.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Stated by all of them.
    pub stated: u64,
    /// Stated by those whose cost is known.
    pub known: u64,
    /// Solved tasks among those whose cost is known.
    pub known_solved: u64,
    /// Tasks whose cost is not known, or only in part.
    pub unknown_tasks: u64,
}

impl Cost {
    /// Adds one task.
    pub fn add(&mut self, row: &Row) {
        let cost = u64::from(row.cost_microdollars);
        self.stated += cost;
        if row.cost_known {
            self.known += cost;
            self.known_solved += u64::from(row.outcome == Outcome::Solved);
        } else {
            self.unknown_tasks += 1;
        }
    }

    /// Known cost over the solved tasks behind it; `None` when there are none.
    #[must_use]
    pub fn per_solve(&self) -> Option<u64> {
        self.known.checked_div(self.known_solved)
    }
}
