//! Total cost of several tasks. An unknown cost is not zero: if the facts of a bundle say that its cost is unknown,
//! or only partly known, the task is counted but left out of the cost per solved task.

use crate::extension::{Provenance, field};
use crate::scorecard::Row;
use crate::wire::Outcome;

/// Prefix of the facts `usage` and `cost` if nothing is known.
pub const UNKNOWN: &str = "unknown";
/// Prefix of the fact `cost` if a part is unknown.
pub const AT_LEAST: &str = "at least";

/// Returns `true` if the facts do not restrict the stated cost. Only our own seals mark an unknown cost; for all
/// others the header is correct.
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
    /// Sum of the stated costs of all tasks.
    pub stated: u64,
    /// Sum of the costs of the tasks whose cost is known.
    pub known: u64,
    /// Number of solved tasks among those.
    pub known_solved: u64,
    /// Number of tasks whose cost is unknown, or only partly known.
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

    /// Returns the known cost per solved task with a known cost; `None` if there are none.
    #[must_use]
    pub fn per_solve(&self) -> Option<u64> {
        self.known.checked_div(self.known_solved)
    }
}
