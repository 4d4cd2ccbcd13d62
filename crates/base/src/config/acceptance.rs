//! Section `[acceptance]`: what a scorecard must reach before a capability counts as proved.

#[cfg(any(test, feature = "reference"))]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use witness::scorecard::Thresholds;

use super::fraction::Fraction;
use super::within::Within;

/// Section `[acceptance]`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(any(test, feature = "reference"), derive(JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Acceptance {
    /// Fewest tasks.
    pub min_tasks: Within<1, 1_000_000>,
    /// Least share of tasks that are solved.
    pub min_solve_rate: Fraction,
    /// Most breaches of policy over all tasks.
    pub max_policy_violations: Within<0, 1_000_000>,
    /// Least share of solved tasks with spec, diff and test log.
    pub min_evidence_coverage: Fraction,
    /// Least share of rollbacks that restored the wanted tree.
    pub min_rollback_correctness: Fraction,
}

impl Default for Acceptance {
    fn default() -> Self {
        Self {
            min_tasks: Within::of::<100>(),
            min_solve_rate: Fraction::hundredths(60),
            max_policy_violations: Within::of::<0>(),
            min_evidence_coverage: Fraction::hundredths(100),
            min_rollback_correctness: Fraction::hundredths(100),
        }
    }
}

impl Acceptance {
    /// Returns the thresholds for a report.
    #[must_use]
    pub fn thresholds(&self) -> Thresholds {
        let count = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
        Thresholds {
            min_tasks: count(self.min_tasks.get()),
            min_solve_rate: self.min_solve_rate.get(),
            max_policy_violations: count(self.max_policy_violations.get()),
            min_evidence_coverage: self.min_evidence_coverage.get(),
            min_rollback_correctness: self.min_rollback_correctness.get(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_those_of_the_format() {
        assert_eq!(Acceptance::default().thresholds(), Thresholds::default());
    }
}
