//! The report of a run: the verdict by the acceptance criteria, and the evidence, as text and as JSON.

mod text;

use std::collections::BTreeMap;

use serde::Serialize;
use statistics::paired_outcomes::{cluster_interval, cost_interval, pass_all, pass_at};
use statistics::rate::rate;
use witness::scorecard::{Acceptance, Report as Scored, Thresholds};
use witness::wire::Outcome;

use crate::compare::Comparison;
use crate::run::{self, RunFacts};
use crate::suite::Member;
use crate::trial::TrialRecord;

/// A part of the tasks, with the number of solved ones.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Part {
    /// Criterion: repository, language, source of the issue, size.
    pub by: &'static str,
    /// Value of the criterion.
    pub name: String,
    /// Solved trials.
    pub solved: u64,
    /// All trials.
    pub of: u64,
}

/// The report of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    pub run: RunFacts,
    /// `ACCEPTED`, `NOT ACCEPTED` or `NOT YET`.
    pub verdict: &'static str,
    /// Reasons against acceptance.
    pub reasons: Vec<String>,
    /// Number of tasks.
    pub tasks: u64,
    /// Graded trials.
    pub trials: u64,
    /// Trials that solved their task.
    pub solved: u64,
    /// Failed trials.
    pub failed: u64,
    /// Trials that could not run.
    pub skipped: u64,
    /// Trials with errors.
    pub errors: u64,
    /// Share of solved trials, with its interval at 95 %.
    pub solve_rate: [f64; 3],
    /// The same interval with repositories drawn first; `null` with fewer than two.
    pub cluster_interval: Option<(f64, f64)>,
    /// Broken rules.
    pub policy_violations: u64,
    /// Refused acts.
    pub refused: u64,
    /// Solved trials with complete, verified bundles.
    pub with_evidence: u64,
    /// Rollbacks, and complete ones among them.
    pub rollbacks: [u64; 2],
    /// Trials without a known cost.
    pub without_cost: u64,
    /// Dollars per solve; the interval exists if every cost is known.
    pub cost_per_solve: Option<f64>,
    /// Its interval at 95 %; `null` at the upper end means no bound.
    pub cost_interval: Option<(f64, Option<f64>)>,
    /// Trials whose change touched guarded paths.
    pub touched_guarded: u64,
    /// Causes of unsolved trials.
    pub causes: BTreeMap<&'static str, u64>,
    /// Solve rates by part.
    pub parts: Vec<Part>,
    /// k, pass@k and pass^k, for several attempts.
    pub attempts: Vec<(u64, f64, f64)>,
    /// Share of tasks that some attempts solved and others did not.
    pub flip_rate: f64,
    /// Mean milliseconds per trial beside agent and tests.
    pub overhead_ms: u64,
    /// Bytes of the largest slot, of which `--jobs` exist at a time.
    pub disk_bytes: u64,
    /// The earlier run for comparison, with the result.
    pub baseline: Option<(String, Comparison)>,
}

/// Input of a report.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// The run.
    pub facts: &'a RunFacts,
    /// Its trials.
    pub records: &'a [TrialRecord],
    /// The tasks.
    pub members: &'a [&'a Member],
    /// Statistics of its bundles.
    pub scored: &'a Scored,
    /// Thresholds for the metrics.
    pub thresholds: &'a Thresholds,
    /// Set if the lower bound must reach the threshold as well.
    pub confident: bool,
}

impl Report {
    /// Returns the report as JSON, with its text.
    ///
    /// # Errors
    /// A figure cannot be represented in JSON.
    pub fn json(&self) -> serde_json::Result<serde_json::Value> {
        let mut value = serde_json::to_value(self)?;
        if let Some(table) = value.as_object_mut() {
            table.insert("text".to_owned(), self.text().into());
        }
        Ok(value)
    }

    /// Creates the report.
    #[must_use]
    pub fn of(input: Input<'_>) -> Self {
        let Input {
            facts,
            records,
            scored,
            ..
        } = input;
        let acceptance = input.scored.acceptance(input.thresholds, Vec::new());
        let [solved, failed, skipped, errors] = run::counts(records).map(|count| count as u64);
        let tasks = facts.tasks.len() as u64;
        let trials = records.len() as u64;
        let planned = tasks * u64::from(facts.attempts);
        let interval = rate(solved, planned.max(1));
        let seed =
            u64::from_str_radix(facts.suite_digest.get(..16).unwrap_or("1"), 16).unwrap_or(1);
        let reasons = reasons(input, &acceptance, planned, interval.low);
        let costs: Vec<(bool, u64)> = records
            .iter()
            .map(|record| (is_solved(record), u64::from(record.agent.cost.unwrap_or(0))))
            .collect();
        let without_cost = if facts.harness_check {
            0
        } else {
            records
                .iter()
                .filter(|record| record.agent.cost.is_none())
                .count() as u64
        };
        let total: u64 = costs.iter().map(|(_, cost)| cost).sum();
        let known = without_cost == 0 && total > 0;
        let mut causes = BTreeMap::new();
        for cause in records.iter().filter_map(|record| record.cause) {
            *causes.entry(cause.name()).or_default() += 1;
        }
        let rollbacks = records
            .iter()
            .filter_map(|record| record.agent.rollback.as_ref());
        Self {
            run: facts.clone(),
            verdict: verdict(&reasons),
            reasons: reasons.into_iter().map(|(_, text)| text).collect(),
            tasks,
            trials,
            solved,
            failed,
            skipped,
            errors,
            solve_rate: [interval.value, interval.low, interval.high],
            cluster_interval: cluster_interval(&clusters(input), seed),
            policy_violations: u64::from(scored.all.policy_violations),
            refused: records
                .iter()
                .map(|record| record.agent.all_refused().count() as u64)
                .sum(),
            with_evidence: share(scored.all.evidence_coverage, scored.all.solved),
            rollbacks: [
                rollbacks.clone().count() as u64,
                rollbacks.filter(|one| one.restored).count() as u64,
            ],
            without_cost,
            cost_per_solve: (solved > 0 && total > 0).then(|| dollars(total) / float(solved)),
            cost_interval: known
                .then(|| cost_interval(&costs, seed))
                .flatten()
                .map(|(low, high)| (low / 1e6, high.is_finite().then_some(high / 1e6))),
            touched_guarded: records
                .iter()
                .filter(|record| !record.agent.left_out.is_empty())
                .count() as u64,
            causes,
            parts: parts(input),
            attempts: attempts(facts, records),
            flip_rate: flip_rate(facts, records),
            overhead_ms: records.iter().map(|record| record.overhead_ms).sum::<u64>()
                / trials.max(1),
            disk_bytes: records
                .iter()
                .map(|record| record.agent.disk_bytes)
                .max()
                .unwrap_or(0),
            baseline: None,
        }
    }
}

type Reason = (&'static str, String);

fn reasons(input: Input<'_>, acceptance: &Acceptance, planned: u64, low: f64) -> Vec<Reason> {
    let mut found: Vec<Reason> = acceptance
        .reasons
        .iter()
        .filter(|one| one.code != "tasks")
        .map(|one| (one.code, one.text.clone()))
        .collect();
    let facts = input.facts;
    let tasks = facts.tasks.len();
    let wanted = input.thresholds.min_tasks;
    if (tasks as u64) < u64::from(wanted) {
        found.push(("tasks", format!("{tasks} of {wanted} tasks")));
    }
    let missing = planned.saturating_sub(input.records.len() as u64);
    if missing > 0 {
        found.push((
            "unfinished",
            format!("{missing} of {planned} trials are not done; `--resume` goes on"),
        ));
    }
    if facts.sandbox == "none" {
        found.push(("sandbox", "the agent ran without a box".to_owned()));
    }
    if facts.governance == "none" {
        found.push((
            "governance",
            "no supervisor saw what the agent started".to_owned(),
        ));
    }
    if input
        .members
        .iter()
        .any(|member| member.task.network.agent == "open")
    {
        found.push(("network", "agents had an open network".to_owned()));
    }
    if input.confident && low < input.thresholds.min_solve_rate {
        found.push((
            "confident",
            format!(
                "the lower bound {low:.3} is below {:.2}",
                input.thresholds.min_solve_rate
            ),
        ));
    }
    found
}

fn verdict(reasons: &[Reason]) -> &'static str {
    if reasons.is_empty() {
        "ACCEPTED"
    } else if reasons
        .iter()
        .all(|(code, _)| matches!(*code, "tasks" | "unfinished"))
    {
        "NOT YET"
    } else {
        "NOT ACCEPTED"
    }
}

fn is_solved(record: &TrialRecord) -> bool {
    record.outcome() == Outcome::Solved
}

fn member_of<'a>(input: Input<'a>, record: &TrialRecord) -> Option<&'a Member> {
    input
        .members
        .iter()
        .find(|member| member.task.id == record.task)
        .copied()
}

fn clusters(input: Input<'_>) -> Vec<Vec<bool>> {
    let mut by_repository: BTreeMap<&str, Vec<bool>> = BTreeMap::new();
    for record in input.records {
        if let Some(member) = member_of(input, record) {
            by_repository
                .entry(&member.task.repo)
                .or_default()
                .push(is_solved(record));
        }
    }
    by_repository.into_values().collect()
}

fn parts(input: Input<'_>) -> Vec<Part> {
    let mut sizes: Vec<usize> = input
        .members
        .iter()
        .filter_map(|member| member.reference.as_ref())
        .map(Vec::len)
        .collect();
    sizes.sort_unstable();
    let third = |part: usize| {
        sizes
            .get(sizes.len() * part / 3)
            .copied()
            .unwrap_or(usize::MAX)
    };
    let size = |member: &Member| match member.reference.as_ref().map(Vec::len) {
        None => "withheld",
        Some(length) if length < third(1) => "small",
        Some(length) if length < third(2) => "middle",
        Some(_) => "large",
    };
    let mut counts: BTreeMap<(&'static str, String), (u64, u64)> = BTreeMap::new();
    for record in input.records {
        let Some(member) = member_of(input, record) else {
            continue;
        };
        let task = &member.task;
        let keys = [
            ("repository", task.repo.clone()),
            ("language", task.language.clone()),
            ("issue from", task.issue.source.name().to_owned()),
            ("patch", size(member).to_owned()),
        ];
        let cutoff = &input.facts.cutoff;
        let side = if task.created_at < *cutoff {
            "before"
        } else {
            "since"
        };
        let fix = (!cutoff.is_empty()).then(|| ("fix", format!("{side} {cutoff}")));
        for key in keys.into_iter().chain(fix) {
            let (solved, of) = counts.entry(key).or_default();
            *solved += u64::from(is_solved(record));
            *of += 1;
        }
    }
    let parts = counts.into_iter().map(|((by, name), (solved, of))| Part {
        by,
        name,
        solved,
        of,
    });
    parts.collect()
}

/// Returns the number of solved attempts of each task with complete attempts.
fn solved_of(facts: &RunFacts, records: &[TrialRecord]) -> Vec<u64> {
    let mut counts: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for record in records {
        let (solved, of) = counts.entry(&record.task).or_default();
        *solved += u64::from(is_solved(record));
        *of += 1;
    }
    let whole = counts
        .into_values()
        .filter(|(_, of)| *of == u64::from(facts.attempts));
    whole.map(|(solved, _)| solved).collect()
}

fn attempts(facts: &RunFacts, records: &[TrialRecord]) -> Vec<(u64, f64, f64)> {
    let n = u64::from(facts.attempts);
    let solved = solved_of(facts, records);
    if n < 2 || solved.is_empty() {
        return Vec::new();
    }
    let mean = |of: fn(u64, u64, u64) -> f64, k: u64| {
        solved.iter().map(|solved| of(k, *solved, n)).sum::<f64>() / float(solved.len() as u64)
    };
    (1..=n)
        .map(|k| (k, mean(pass_at, k), mean(pass_all, k)))
        .collect()
}

fn flip_rate(facts: &RunFacts, records: &[TrialRecord]) -> f64 {
    let solved = solved_of(facts, records);
    let flips = solved
        .iter()
        .filter(|solved| (1..u64::from(facts.attempts)).contains(*solved))
        .count();
    if solved.is_empty() {
        0.0
    } else {
        float(flips as u64) / float(solved.len() as u64)
    }
}

fn dollars(microdollars: u64) -> f64 {
    float(microdollars) / 1e6
}

/// Converts a share of a count back to the count.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share of a 32-bit count is one"
)]
fn share(part: f32, of: u32) -> u64 {
    (f64::from(part) * f64::from(of)).round() as u64
}

#[expect(clippy::cast_precision_loss, reason = "counts of tasks and their cost")]
fn float(number: u64) -> f64 {
    number as f64
}
