//! Statistics of many bundles: fifteen metrics, and the acceptance criteria over them.
//!
//! Reading order: [`Row`] (the contribution of one bundle), [`Tally`] and [`Scorecard`] (the metrics), [`Wanted`]
//! (filter and grouping), [`Collector`] and [`Report`] (the newest bundle per task), [`Acceptance`].
//!
//! Inside, everything is counted in 64 bits; 32-bit results saturate. The percentile picks the element with the
//! 0-based index `min(floor(p * n / 100), n - 1)` of the sorted values, as the reference does.

use crate::cost::Cost;
use crate::wire::Outcome;

pub use self::acceptance::{Acceptance, Criterion, Reason, Standing, Thresholds};
pub use self::adder::Adder;
pub use self::collect::{Age, Collector, Report};
pub use self::row::{Row, is_task, violations};
pub use self::wanted::{Filter, GroupBy, Wanted, suite_of};

mod acceptance;
mod adder;
mod collect;
mod row;
mod wanted;

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// Running sums over rows.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    by_outcome: [u64; 4],
    complete_solved: u64,
    violations: u64,
    rollbacks: u64,
    restored: u64,
    cost: Cost,
    tokens: u64,
    retries: u64,
    latencies: Vec<u32>,
}

impl Tally {
    /// Adds one bundle.
    pub fn add(&mut self, row: &Row) {
        if let Some(counter) = self.by_outcome.get_mut(row.outcome as usize) {
            *counter += 1;
        }
        if row.outcome == Outcome::Solved && row.evidence_complete {
            self.complete_solved += 1;
        }
        self.violations += u64::from(row.violations);
        self.rollbacks += u64::from(row.rollbacks);
        self.restored += u64::from(row.restored);
        self.cost.add(row);
        self.tokens += u64::from(row.tokens);
        self.retries += u64::from(row.retries);
        self.latencies.push(row.latency_ms);
    }

    /// Returns the metrics so far.
    #[must_use]
    pub fn finish(&self) -> Scorecard {
        let [solved, failed, skipped, errors] = self.by_outcome;
        let total = solved + failed + skipped + errors;
        let mut latencies = self.latencies.clone();
        latencies.sort_unstable();
        Scorecard {
            total_tasks: narrow(total),
            solved: narrow(solved),
            failed: narrow(failed),
            skipped: narrow(skipped),
            errors: narrow(errors),
            policy_violations: narrow(self.violations),
            rollback_count: narrow(self.rollbacks),
            total_cost_microdollars: self.cost.stated,
            tasks_without_cost: narrow(self.cost.unknown_tasks),
            median_latency_ms: percentile(&latencies, 50),
            p95_latency_ms: percentile(&latencies, 95),
            total_tokens: self.tokens,
            total_retries: narrow(self.retries),
            evidence_coverage: ratio(self.complete_solved, solved),
            cost_per_solve: match solved {
                0 => Some(0),
                _ => self.cost.per_solve().map(narrow),
            },
            solve_rate: ratio(solved, total),
            rollback_correctness: if self.rollbacks == 0 {
                1.0
            } else {
                ratio(self.restored, self.rollbacks)
            },
        }
    }
}

fn narrow(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[expect(
    clippy::cast_precision_loss,
    reason = "single precision is what the metric is defined in"
)]
fn ratio(part: u64, whole: u64) -> f32 {
    if whole == 0 {
        0.0
    } else {
        part as f32 / whole as f32
    }
}

fn percentile(sorted: &[u32], percent: usize) -> u32 {
    let index = (percent * sorted.len() / 100).min(sorted.len().saturating_sub(1));
    sorted.get(index).copied().unwrap_or(0)
}

/// The fifteen metrics under the names of the format's documents, the correctness of rollbacks, and the number of
/// tasks without a cost.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Scorecard {
    /// Number of attempted tasks, skipped ones included.
    pub total_tasks: u32,
    /// Number of tasks with passing tests.
    pub solved: u32,
    /// Number of tasks with failing tests.
    pub failed: u32,
    /// Number of tasks whose precondition was not met.
    pub skipped: u32,
    /// Number of tasks in which infrastructure or a tool broke.
    pub errors: u32,
    /// Number of breaches of policy over all tasks.
    pub policy_violations: u32,
    /// Number of rollbacks over all tasks.
    pub rollback_count: u32,
    /// Sum of the known costs of all tasks.
    pub total_cost_microdollars: u64,
    /// Number of tasks whose cost is unknown, or only partly known.
    pub tasks_without_cost: u32,
    /// Upper median of the tasks' latencies.
    pub median_latency_ms: u32,
    /// 95th percentile of the tasks' latencies.
    pub p95_latency_ms: u32,
    /// Tokens of all tasks.
    pub total_tokens: u64,
    /// Retries of all tasks.
    pub total_retries: u32,
    /// Fraction of the solved tasks with complete evidence; 0 when none is solved.
    pub evidence_coverage: f32,
    /// Cost of all tasks with a known cost per solved one of them; 0 if none is solved, `None` if no solved task has
    /// a known cost.
    pub cost_per_solve: Option<u32>,
    /// Fraction of all tasks that are solved.
    pub solve_rate: f32,
    /// Fraction of the rollbacks that restored the wanted state; 1 if there was none.
    pub rollback_correctness: f32,
}
