//! JSON of scorecards and curves.

use serde_json::{Value, json};
use witness::curve::Point;
use witness::scorecard::{Acceptance, Report, Scorecard};

use evidence::score::Counts;
use evidence::store::audit::Audit;

/// Returns the fifteen metrics under the names of the format's documents, then the correctness of rollbacks and the
/// number of tasks without a cost.
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

/// Returns the whole answer of `scorecard --json`.
#[must_use]
pub fn report(
    report: &Report,
    counts: &Counts,
    acceptance: &Acceptance,
    audit: Option<&Audit>,
    by: Option<&str>,
) -> Value {
    let mut value = metrics(&report.all);
    let hashes = report.policies.keys().map(hex::encode);
    put(&mut value, "accepted", json!(acceptance.is_accepted()));
    put(&mut value, "reasons", reasons(acceptance));
    put(&mut value, "tasks", json!(report.all.total_tasks));
    put(
        &mut value,
        "policy_hashes",
        json!(hashes.collect::<Vec<_>>()),
    );
    put(&mut value, "ledger", ledger(audit));
    let groups = report.groups.iter().map(|(group, card)| {
        let mut line = metrics(card);
        put(&mut line, "group", json!(group));
        line
    });
    put(&mut value, "acceptance", criteria(acceptance));
    put(&mut value, "bundles", json!(counts));
    if let Some(by) = by {
        put(&mut value, "by", json!(by));
        put(&mut value, "groups", json!(groups.collect::<Vec<_>>()));
    }
    value
}

fn criteria(acceptance: &Acceptance) -> Value {
    let criteria = acceptance.criteria.map(|one| {
        json!({
            "metric": one.metric,
            "value": one.value,
            "relation": one.relation,
            "threshold": one.threshold,
            "verdict": one.verdict(),
        })
    });
    json!({ "accepted": acceptance.is_accepted(), "criteria": criteria })
}

fn reasons(acceptance: &Acceptance) -> Value {
    let reasons = acceptance.reasons.iter();
    reasons
        .map(|one| json!({ "code": one.code, "text": one.text }))
        .collect()
}

/// Returns the result of the comparison with the ledger; null if there was none.
#[must_use]
pub fn ledger(audit: Option<&Audit>) -> Value {
    let Some(audit) = audit else {
        return Value::Null;
    };
    json!({
        "ok": audit.problems.is_empty(),
        "size": audit.size,
        "recorded": audit.is_recorded,
        "problems": audit.summary(),
    })
}

fn put(value: &mut Value, key: &str, entry: Value) {
    if let Some(fields) = value.as_object_mut() {
        fields.insert(key.to_owned(), entry);
    }
}

/// Returns the whole answer of `curve --json`.
#[must_use]
pub fn curve(points: &[Point], counts: &Counts, audit: Option<&Audit>, by: &str) -> Value {
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
    json!({
        "by": by,
        "points": points.collect::<Vec<_>>(),
        "bundles": counts,
        "ledger": ledger(audit),
    })
}
