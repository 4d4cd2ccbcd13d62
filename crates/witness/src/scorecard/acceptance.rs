//! Acceptance of a capability as proved: the four criteria, enough tasks, one policy, and evidence that holds.

use super::{Report, Scorecard};

/// Thresholds of the metrics. The defaults are those of the format's documents.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Thresholds {
    /// Least number of tasks.
    pub min_tasks: u32,
    /// Least share of solved tasks.
    pub min_solve_rate: f64,
    /// Largest number of breaches of policy.
    pub max_policy_violations: u32,
    /// Least share of solved tasks with complete evidence.
    pub min_evidence_coverage: f64,
    /// Least share of correct rollbacks.
    pub min_rollback_correctness: f64,
}

impl Default for Thresholds {
    fn default() -> Self {
        Self {
            min_tasks: 100,
            min_solve_rate: 0.60,
            max_policy_violations: 0,
            min_evidence_coverage: 1.0,
            min_rollback_correctness: 1.0,
        }
    }
}

/// One acceptance criterion with its result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Criterion {
    /// Name of the metric.
    pub metric: &'static str,
    /// Value of the metric.
    pub value: f64,
    /// `>=` or `==`.
    pub relation: &'static str,
    /// Threshold of the metric.
    pub threshold: f64,
    /// Set if there was something to measure: tasks, solved tasks, rollbacks.
    pub is_measured: bool,
    /// Set if the criterion holds.
    pub holds: bool,
}

impl Criterion {
    /// Returns the stable name of the result for JSON.
    #[must_use]
    pub fn verdict(&self) -> &'static str {
        match (self.holds, self.is_measured) {
            (true, _) => "pass",
            (false, true) => "fail",
            (false, false) => "no_data",
        }
    }

    fn at_least(metric: &'static str, value: f64, threshold: f64, of: u32) -> Self {
        Self {
            metric,
            value,
            relation: if threshold >= 1.0 { "==" } else { ">=" },
            threshold,
            is_measured: of > 0,
            holds: of > 0 && value >= threshold,
        }
    }
}

/// Reason that a capability does not count as proved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    /// Stable name for JSON.
    pub code: &'static str,
    /// One sentence for people.
    pub text: String,
}

impl Reason {
    /// Code for too few tasks; alone, it is not a failure.
    pub const TASKS: &'static str = "tasks";

    /// Creates a reason.
    #[must_use]
    pub fn new(code: &'static str, text: impl Into<String>) -> Self {
        Self {
            code,
            text: text.into(),
        }
    }
}

/// Result of a scorecard against its thresholds.
#[derive(Clone, Debug, PartialEq)]
pub struct Acceptance {
    /// The four criteria.
    pub criteria: [Criterion; 4],
    /// All reasons against acceptance; empty if it is accepted.
    pub reasons: Vec<Reason>,
}

/// Result in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Everything holds.
    Accepted,
    /// Nothing fails, but tasks are missing.
    NotYet,
    /// Something fails.
    NotAccepted,
}

impl Acceptance {
    /// Returns `true` if there is no reason against acceptance.
    #[must_use]
    pub fn is_accepted(&self) -> bool {
        self.reasons.is_empty()
    }

    /// Returns the result in one word.
    #[must_use]
    pub fn standing(&self) -> Standing {
        if self.is_accepted() {
            Standing::Accepted
        } else if self.reasons.iter().all(|one| one.code == Reason::TASKS) {
            Standing::NotYet
        } else {
            Standing::NotAccepted
        }
    }
}

impl Report {
    /// Compares the metrics with the thresholds. `outside` are reasons that the caller found outside of the bundles,
    /// above all in the ledger.
    #[must_use]
    pub fn acceptance(&self, thresholds: &Thresholds, outside: Vec<Reason>) -> Acceptance {
        let criteria = self.all.criteria(thresholds);
        let mut reasons = Vec::new();
        let tasks = self.all.total_tasks;
        if tasks < thresholds.min_tasks.max(1) {
            reasons.push(too_few(tasks, thresholds.min_tasks));
        }
        reasons.extend(
            criteria
                .iter()
                .filter(|one| one.is_measured && !one.holds)
                .map(failing),
        );
        if self.policies.len() > 1 {
            let text = format!(
                "the tasks ran under {} different policies",
                self.policies.len()
            );
            reasons.push(Reason::new("policies", text));
        }
        if self.unknown_policies > 0 {
            let text = format!(
                "cannot tell whether {} of {tasks} tasks broke a rule: their policy is neither published nor in the bundle",
                self.unknown_policies
            );
            reasons.push(Reason::new("policy_unknown", text));
        }
        if self.unverified > 0 {
            let text = format!(
                "{} tasks rest on bundles without a checked signature",
                self.unverified
            );
            reasons.push(Reason::new("unverified", text));
        }
        reasons.extend(outside);
        Acceptance { criteria, reasons }
    }
}

fn too_few(tasks: u32, wanted: u32) -> Reason {
    let text = match tasks {
        0 => "no task yet: a session with a diff or a test run is one".to_owned(),
        _ => format!("{tasks} of {wanted} tasks"),
    };
    Reason::new(Reason::TASKS, text)
}

fn failing(criterion: &Criterion) -> Reason {
    let Criterion {
        metric,
        value,
        relation,
        threshold,
        ..
    } = criterion;
    Reason::new(
        metric,
        format!("{metric} is {value:.2}, wanted {relation} {threshold:.2}"),
    )
}

impl Scorecard {
    /// Returns the four criteria under which a capability counts as proved.
    fn criteria(&self, thresholds: &Thresholds) -> [Criterion; 4] {
        // Divided again in double precision: then 60 of 100 is the same number as the text `0.60`.
        let solve_rate = match self.total_tasks {
            0 => 0.0,
            tasks => f64::from(self.solved) / f64::from(tasks),
        };
        let rollbacks = Criterion::at_least(
            "rollback_correctness",
            f64::from(self.rollback_correctness),
            thresholds.min_rollback_correctness,
            self.rollback_count,
        );
        [
            Criterion::at_least(
                "solve_rate",
                solve_rate,
                thresholds.min_solve_rate,
                self.total_tasks,
            ),
            Criterion {
                metric: "policy_violations",
                value: f64::from(self.policy_violations),
                relation: if thresholds.max_policy_violations == 0 {
                    "=="
                } else {
                    "<="
                },
                threshold: f64::from(thresholds.max_policy_violations),
                is_measured: self.total_tasks > 0,
                holds: self.policy_violations <= thresholds.max_policy_violations,
            },
            Criterion::at_least(
                "evidence_coverage",
                f64::from(self.evidence_coverage),
                thresholds.min_evidence_coverage,
                self.solved,
            ),
            // Nothing had to be undone.
            Criterion {
                holds: rollbacks.holds || self.rollback_count == 0,
                ..rollbacks
            },
        ]
    }
}
