//! The cost-to-outcome curve over runs: the cost per solve and the number of solved tasks, run by run. A segment
//! contains only comparable runs; the reason for its end is shown. Every segment has its own slope.

mod picture;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use statistics::paired_outcomes::cost_interval;
use statistics::rate::rate;
use statistics::trend::{LEAST, Trend};
use witness::wire::Outcome;

use crate::run::RunFacts;
use crate::trial::TrialRecord;

pub use picture::svg;

/// One run on the curve.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Night {
    pub run: String,
    /// Start time.
    pub created: String,
    /// Number of tasks.
    pub tasks: u64,
    /// Finished attempts; several at one task count one by one.
    pub attempts: u64,
    /// Attempts that solved their task.
    pub solved: u64,
    /// Share of planned attempts that solved, with its interval at 95 %.
    pub solve_rate: [f64; 3],
    /// Dollars per solve; a lower bound if a cost is unknown.
    pub cost_per_solve: Option<f64>,
    /// Its interval at 95 %, if every cost is known; `null` at the upper end means no bound.
    pub cost_interval: Option<(f64, Option<f64>)>,
    /// Attempts without a known cost.
    pub without_cost: u64,
    /// Tokens per solve, of the attempts with known tokens.
    pub tokens_per_solve: Option<u64>,
    /// Attempts that were repeated because a run was killed or something failed.
    pub retries: u64,
    /// Tasks that the previous run had solved and this one did not: failed, or with errors.
    pub regressions: Vec<String>,
}

/// Comparable runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Segment {
    /// Reasons why it is not comparable to the previous one; empty for the first.
    pub because: Vec<String>,
    /// Its runs, oldest first.
    pub nights: Vec<Night>,
    /// Slope of the costs, as text.
    pub cost_slope: String,
    /// Slope of the solve rates, as text.
    pub rate_slope: String,
}

/// The curve of one agent over one suite.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Curve {
    /// Name of the suite.
    pub suite: String,
    /// Name of the agent.
    pub agent: String,
    /// Its segments, oldest first.
    pub segments: Vec<Segment>,
}

/// Creates the curves of runs, which are sorted oldest first. Runs that only check the harness are left out.
#[must_use]
pub fn curves(runs: &[(RunFacts, Vec<TrialRecord>)]) -> Vec<Curve> {
    let mut by_agent: BTreeMap<(&str, &str), Vec<Run<'_>>> = BTreeMap::new();
    for (facts, records) in runs {
        if facts.harness_check || records.is_empty() {
            continue;
        }
        by_agent
            .entry((facts.suite_name.as_str(), facts.agent_name.as_str()))
            .or_default()
            .push((facts, records.as_slice()));
    }
    let curves = by_agent.into_iter().map(|((suite, agent), runs)| Curve {
        suite: suite.to_owned(),
        agent: agent.to_owned(),
        segments: segments(&runs),
    });
    curves.collect()
}

type Run<'a> = (&'a RunFacts, &'a [TrialRecord]);

fn segments(runs: &[Run<'_>]) -> Vec<Segment> {
    let mut found: Vec<Segment> = Vec::new();
    let mut before: Option<Run<'_>> = None;
    for run in runs {
        let because = before
            .map(|before| changes(before, *run))
            .unwrap_or_default();
        let is_comparable = because.is_empty();
        match found.last_mut().filter(|_| is_comparable) {
            Some(segment) => segment.nights.push(night(*run, before)),
            None => found.push(Segment {
                because,
                nights: vec![night(*run, None)],
                ..Segment::default()
            }),
        }
        before = Some(*run);
    }
    for segment in &mut found {
        let costs: Vec<f64> = segment
            .nights
            .iter()
            .filter(|night| night.without_cost == 0)
            .filter_map(|night| night.cost_per_solve)
            .collect();
        let rates: Vec<f64> = segment
            .nights
            .iter()
            .map(|night| night.solve_rate[0])
            .collect();
        segment.cost_slope = slope("the cost per solve", &costs);
        segment.rate_slope = slope("the solve rate", &rates);
    }
    found
}

/// Describes the slope of a series of figures.
fn slope(what: &str, values: &[f64]) -> String {
    let Some(trend) = Trend::of(values) else {
        return format!(
            "{what} of {} runs: {LEAST} are needed to judge a slope",
            values.len()
        );
    };
    let runs = values.len();
    if !trend.is_clear() {
        return format!(
            "{what} of {runs} runs: no slope beyond noise (p = {:.2})",
            trend.p_value
        );
    }
    let verb = if trend.pairs > 0 { "rises" } else { "falls" };
    format!("{what} {verb} over {runs} runs (p = {:.3})", trend.p_value)
}

/// Returns the reasons why two runs are not comparable.
fn changes((then, before): Run<'_>, (now, after): Run<'_>) -> Vec<String> {
    let mut found = Vec::new();
    if let Some(change) = other_tasks(before, after) {
        found.push(change);
    }
    for (name, one, other) in [
        ("policy", &then.policy, &now.policy),
        ("agent", &then.agent, &now.agent),
        ("model", &then.model, &now.model),
        ("mode", &then.mode, &now.mode),
        ("box", &then.sandbox, &now.sandbox),
    ] {
        if one != other {
            found.push(format!("the {name} changed"));
        }
    }
    if then.attempts != now.attempts {
        found.push(format!(
            "{} attempts per task, not {}",
            now.attempts, then.attempts
        ));
    }
    found
}

/// Describes the difference between the tasks of two runs.
fn other_tasks(before: &[TrialRecord], after: &[TrialRecord]) -> Option<String> {
    let (before, after) = (digests(before), digests(after));
    let new = after
        .keys()
        .filter(|task| !before.contains_key(*task))
        .count();
    let gone = before
        .keys()
        .filter(|task| !after.contains_key(*task))
        .count();
    let changed = before
        .iter()
        .filter(|(task, digest)| after.get(*task).is_some_and(|now| now != *digest))
        .count();
    (new + gone + changed > 0)
        .then(|| format!("other tasks: {new} new, {gone} gone, {changed} changed"))
}

fn digests(records: &[TrialRecord]) -> BTreeMap<&str, &str> {
    let pairs = records
        .iter()
        .map(|record| (record.task.as_str(), record.digest.as_str()));
    pairs.collect()
}

fn night((facts, records): Run<'_>, before: Option<Run<'_>>) -> Night {
    let is_solved = |record: &&TrialRecord| record.outcome() == Outcome::Solved;
    let solved = records.iter().filter(is_solved).count() as u64;
    let planned = facts.tasks.len() as u64 * u64::from(facts.attempts);
    let interval = rate(solved, planned.max(1));
    let costs: Vec<(bool, u64)> = records
        .iter()
        .map(|record| {
            (
                is_solved(&record),
                u64::from(record.agent.cost.unwrap_or(0)),
            )
        })
        .collect();
    let cost: u64 = costs.iter().map(|(_, cost)| cost).sum();
    let without_cost = records
        .iter()
        .filter(|record| record.agent.cost.is_none())
        .count() as u64;
    let seed = u64::from_str_radix(facts.suite_digest.get(..16).unwrap_or("1"), 16).unwrap_or(1);
    let tokens: u64 = records
        .iter()
        .filter_map(|record| record.agent.tokens)
        .map(u64::from)
        .sum();
    let is_known = without_cost == 0 && cost > 0;
    Night {
        run: facts.run.clone(),
        created: facts.created.clone(),
        tasks: facts.tasks.len() as u64,
        attempts: records.len() as u64,
        solved,
        solve_rate: [interval.value, interval.low, interval.high],
        cost_per_solve: (solved > 0 && cost > 0).then(|| dollars(cost) / float(solved)),
        cost_interval: is_known
            .then(|| cost_interval(&costs, seed))
            .flatten()
            .map(|(low, high)| (low / 1e6, high.is_finite().then_some(high / 1e6))),
        without_cost,
        tokens_per_solve: (tokens > 0).then(|| tokens.checked_div(solved)).flatten(),
        retries: records
            .iter()
            .map(|record| u64::from(record.agent.lost))
            .sum(),
        regressions: before
            .map(|(_, before)| regressions(before, records))
            .unwrap_or_default(),
    }
}

/// Returns the tasks whose first attempt solved them before and failed or had an error now.
fn regressions(before: &[TrialRecord], now: &[TrialRecord]) -> Vec<String> {
    let first = |records: &'_ [TrialRecord], outcomes: &[Outcome]| -> BTreeSet<String> {
        let found = records.iter().filter(|record| record.attempt == 1);
        let found = found.filter(|record| outcomes.contains(&record.outcome()));
        found.map(|record| record.task.clone()).collect()
    };
    let solved = first(before, &[Outcome::Solved]);
    let lost = first(now, &[Outcome::Failed, Outcome::Error]);
    solved.intersection(&lost).cloned().collect()
}

impl Curve {
    /// Returns the curve as text, one line per run.
    #[must_use]
    pub fn text(&self) -> String {
        let mut lines = vec![format!("{} on {}", self.agent, self.suite)];
        for segment in &self.segments {
            if !segment.because.is_empty() {
                lines.push(format!("  -- a new line: {}", segment.because.join("; ")));
            }
            for night in &segment.nights {
                lines.push(night.text());
            }
            lines.push(format!("  {}", segment.rate_slope));
            lines.push(format!("  {}", segment.cost_slope));
        }
        lines.join("\n") + "\n"
    }
}

impl Night {
    fn text(&self) -> String {
        let [value, low, high] = self.solve_rate.map(|share| share * 100.0);
        let mut text = format!(
            "  {}  {} tasks, {} attempts, {} solved ({value:.1} %, {low:.1}–{high:.1})  {}",
            self.run,
            self.tasks,
            self.attempts,
            self.solved,
            self.cost_text()
        );
        if self.retries > 0 {
            text.push_str(&format!("  {} retries", self.retries));
        }
        if !self.regressions.is_empty() {
            text.push_str(&format!("  regressed: {}", self.regressions.join(" ")));
        }
        text
    }

    /// Returns the displayed cost per solve.
    #[must_use]
    pub fn cost_text(&self) -> String {
        match (self.cost_per_solve, self.cost_interval) {
            (None, _) => "cost per solve unknown".to_owned(),
            (Some(cost), Some((low, Some(high)))) => {
                format!("${cost:.2} per solve ({low:.2}–{high:.2})")
            }
            (Some(cost), Some((low, None))) => format!("${cost:.2} per solve ({low:.2}–∞)"),
            (Some(cost), None) => format!(
                "≥ ${cost:.2} per solve, {} without known cost",
                self.without_cost
            ),
        }
    }
}

fn dollars(microdollars: u64) -> f64 {
    float(microdollars) / 1e6
}

#[expect(clippy::cast_precision_loss, reason = "counts of tasks and their cost")]
fn float(number: u64) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grade::Cause;
    use crate::suite::tests::member;

    fn run(number: usize, outcomes: &[Option<Cause>]) -> (RunFacts, Vec<TrialRecord>) {
        let records: Vec<TrialRecord> = outcomes
            .iter()
            .enumerate()
            .map(|(at, cause)| {
                let member = member(&format!("t{at}"), "github:a/b", 1);
                let mut record = TrialRecord::not_run(&member, 1, Cause::Tests, String::new());
                record.outcome = cause
                    .map_or(Outcome::Solved, Cause::outcome)
                    .name()
                    .to_owned();
                record.cause = *cause;
                record.agent.cost = Some(1_000_000 - u32::try_from(number).unwrap() * 10_000);
                record
            })
            .collect();
        let facts = RunFacts {
            run: format!("run{number}"),
            suite_name: "s".to_owned(),
            agent_name: "a".to_owned(),
            tasks: records.iter().map(|record| record.task.clone()).collect(),
            attempts: 1,
            ..RunFacts::default()
        };
        (facts, records)
    }

    #[test]
    fn a_line_judges_its_slope_and_ends_where_tasks_change() {
        let same: Vec<_> = (0..6)
            .map(|number| run(number, &[None, Some(Cause::Tests)]))
            .collect();
        let found = curves(&same);
        let curve = &found[0];
        assert_eq!(curve.segments.len(), 1);
        assert!(
            curve
                .text()
                .contains("the cost per solve falls over 6 runs"),
            "{}",
            curve.text()
        );
        assert!(
            curve
                .text()
                .contains("the solve rate of 6 runs: no slope beyond noise")
        );
        let mut other = same.clone();
        other.push(run(7, &[None, None, None]));
        let found = curves(&other);
        let curve = &found[0];
        assert_eq!(
            curve.segments[1].because,
            ["other tasks: 1 new, 0 gone, 0 changed"]
        );
        assert!(
            curve
                .text()
                .contains("of 1 runs: 5 are needed to judge a slope")
        );
        let mut policy = same;
        policy[5].0.policy = "other".to_owned();
        assert_eq!(
            curves(&policy)[0].segments[1].because,
            ["the policy changed"]
        );
    }

    #[test]
    fn a_task_that_breaks_is_a_regression_and_one_that_is_skipped_is_not() {
        let runs = [
            run(0, &[None, None, None, Some(Cause::Tests)]),
            run(
                1,
                &[
                    Some(Cause::Tests),
                    Some(Cause::Harness),
                    Some(Cause::NeedsCommit),
                    None,
                ],
            ),
        ];
        let found = &curves(&runs)[0];
        assert_eq!(found.segments[0].nights[1].regressions, ["t0", "t1"]);
    }

    #[test]
    fn tasks_and_attempts_are_counted_apart_and_checks_of_the_harness_left_out() {
        let (mut facts, mut records) = run(0, &[None, None]);
        facts.attempts = 2;
        let again = records.clone().into_iter().map(|record| TrialRecord {
            attempt: 2,
            ..record
        });
        records.extend(again.collect::<Vec<_>>());
        records[3].agent.cost = None;
        let check = RunFacts {
            harness_check: true,
            ..facts.clone()
        };
        let found = curves(&[(facts, records.clone()), (check, records)]);
        let night = &found[0].segments[0].nights[0];
        assert_eq!(
            (found.len(), night.tasks, night.attempts, night.solved),
            (1, 2, 4, 4)
        );
        assert!(
            night.cost_text().starts_with("≥ $0.75"),
            "{}",
            night.cost_text()
        );
        assert!(svg(&found[0]).contains("point hollow"));
    }
}
