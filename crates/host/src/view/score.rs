//! Scorecards and curves.

use serde::Serialize;
use serde_json::{Value, json};
use witness::curve::Point;
use witness::scorecard::{Report, Scorecard};

/// The fifteen metrics under the names of the format's documents, then the correctness of rollbacks and how many
/// tasks are without a cost.
fn metrics(card: &Scorecard) -> Value {
    json!({
        "total_tasks": card.total_tasks,
        "solved": card.solved,
        "failed": card.failed,
        "skipped": card.skipped,
        "errors": card.errors,
        "policy_violations": card.policy_violations,
        "rollback_count": card.rollback_count,
        "total_cost_microdollars": card.total_cost_microdollars,
        "median_latency_ms": card.median_latency_ms,
        "p95_latency_ms": card.p95_latency_ms,
        "total_tokens": card.total_tokens,
        "total_retries": card.total_retries,
        "evidence_coverage": card.evidence_coverage,
        "cost_per_solve": card.cost_per_solve,
        "solve_rate": card.solve_rate,
        "rollback_correctness": card.rollback_correctness,
        "tasks_without_cost": card.tasks_without_cost,
    })
}

/// What a scan met beside the tasks that count.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Files looked at.
    pub files: u64,
    /// Tasks that rest on verified bundles.
    pub verified: u64,
    /// Tasks that do not; 0 unless they were asked for.
    pub unverified: u64,
    /// Bundles set aside for a newer one of the same task.
    pub duplicates: u64,
    /// Files left out, by verdict; `unreadable` for those that could not even be read.
    pub left_out: std::collections::BTreeMap<String, u64>,
}

impl Counts {
    /// Adds what another thread met.
    pub(crate) fn add(&mut self, other: Self) {
        self.files += other.files;
        self.verified += other.verified;
        self.unverified += other.unverified;
        self.duplicates += other.duplicates;
        for (why, number) in other.left_out {
            *self.left_out.entry(why).or_default() += number;
        }
    }
}

/// The whole answer of `scorecard --json`.
#[must_use]
pub fn report(report: &Report, counts: &Counts, by: Option<&str>) -> Value {
    let mut value = metrics(&report.all);
    let groups = report.groups.iter().map(|(group, card)| {
        let mut line = metrics(card);
        put(&mut line, "group", json!(group));
        line
    });
    put(&mut value, "acceptance", acceptance(&report.all));
    put(&mut value, "bundles", json!(counts));
    if let Some(by) = by {
        put(&mut value, "by", json!(by));
        put(&mut value, "groups", json!(groups.collect::<Vec<_>>()));
    }
    value
}

fn acceptance(card: &Scorecard) -> Value {
    let criteria = card.acceptance().map(|one| {
        json!({
            "metric": one.metric,
            "value": one.value,
            "relation": one.relation,
            "threshold": one.threshold,
            "verdict": if one.holds { "pass" } else { "fail" },
        })
    });
    json!({ "accepted": card.is_accepted(), "criteria": criteria })
}

fn put(value: &mut Value, key: &str, entry: Value) {
    if let Some(fields) = value.as_object_mut() {
        fields.insert(key.to_owned(), entry);
    }
}

/// The whole answer of `curve --json`.
#[must_use]
pub fn curve(points: &[Point], counts: &Counts, by: &str) -> Value {
    let points = points.iter().map(|point| {
        json!({
            "period": point.period,
            "tasks": point.tasks,
            "solved": point.solved,
            "cost_microdollars": point.cost.stated,
            "cost_per_solve": point.cost_per_solve(),
            "tasks_without_cost": point.cost.unknown_tasks,
            "tokens": point.tokens,
            "tokens_per_solve": point.tokens_per_solve(),
            "retries": point.retries,
            "regressions": point.regressions,
        })
    });
    json!({ "by": by, "points": points.collect::<Vec<_>>(), "bundles": counts })
}
