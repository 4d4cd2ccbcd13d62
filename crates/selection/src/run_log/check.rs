//! Recomputes a log: the chain, each reward, and the winner of each contest. Streaming; only one contest is kept in
//! memory.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::{FIRST, Record, link};
use crate::metric::{Metric, Parts, version_number};
use crate::verifier::Outcome;
use crate::winner::{self, Run};

/// Tolerance for rewards, which are sums of four products.
const EPSILON: f64 = 1e-9;

/// Limit of candidates per contest.
const MAX_CONTEST: usize = 4096;

/// A line that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bad {
    /// Line number, from 1.
    pub line: u64,
    /// Description of the problem.
    pub reason: String,
}

/// Checker of lines, one after the other.
#[derive(Debug)]
pub struct Checker {
    metrics: BTreeMap<u32, Metric>,
    lines: u64,
    expected_link: String,
    linked: bool,
    contest: Vec<(u64, Record)>,
    bad: Vec<Bad>,
}

impl Checker {
    /// Creates a checker for the metrics that the log may name.
    #[must_use]
    pub fn new(metrics: impl IntoIterator<Item = Metric>) -> Self {
        let numbered = metrics
            .into_iter()
            .filter_map(|metric| Some((version_number(&metric.metric_version)?, metric)));
        Self {
            metrics: numbered.collect(),
            lines: 0,
            expected_link: FIRST.to_owned(),
            linked: false,
            contest: Vec::new(),
            bad: Vec::new(),
        }
    }

    /// Checks the next line, without its end.
    pub fn line(&mut self, line: &[u8]) {
        self.lines += 1;
        let number = self.lines;
        match Record::parse(line) {
            Err(problem) => {
                self.end_contest();
                self.complain(number, format!("cannot be read: {problem}"));
            }
            Ok(record) => {
                self.chain(number, &record);
                for problem in self.problems(&record) {
                    self.complain(number, problem);
                }
                self.join_contest(number, record);
            }
        }
        self.expected_link = link(line);
    }

    /// Returns the number of lines, and those that do not hold, in order.
    #[must_use]
    pub fn finish(mut self) -> (u64, Vec<Bad>) {
        self.end_contest();
        self.bad.sort_by_key(|bad| bad.line);
        (self.lines, self.bad)
    }

    fn complain(&mut self, line: u64, reason: String) {
        self.bad.push(Bad { line, reason });
    }

    /// Checks the link to the line before. A log without any link was written by another program; one link makes all
    /// later ones mandatory.
    fn chain(&mut self, number: u64, record: &Record) {
        match &record.more.prev {
            Some(prev) if *prev != self.expected_link => {
                self.complain(number, "`prev` is not the hash of the line before: a line was changed, taken out or put in".to_owned());
            }
            None if self.linked => {
                self.complain(
                    number,
                    "`prev` is missing: the line was put in by somebody else".to_owned(),
                );
            }
            _ => {}
        }
        self.linked |= record.more.prev.is_some();
    }

    fn problems(&self, record: &Record) -> Vec<String> {
        let mut problems = Vec::new();
        if record.timestamp.parse::<Timestamp>().is_err() {
            problems.push(format!("`timestamp` is no time: `{}`", record.timestamp));
        }
        let hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        if record.prompt_hash.len() != 64 || !record.prompt_hash.bytes().all(hex) {
            problems.push("`prompt_hash` is not 64 hex digits in lower case".to_owned());
        }
        if !matches!(record.verifier_result.as_str(), "PASS" | "FAIL") {
            problems.push(format!(
                "`verifier_result` is `{}`, not `PASS` or `FAIL`",
                record.verifier_result
            ));
        }
        if record.q0 != u8::from(record.passed()) {
            problems.push(format!(
                "`q0` is {} for {}",
                record.q0, record.verifier_result
            ));
        }
        if record.q1.is_some_and(|q1| !(0.0..=1.0).contains(&q1)) {
            problems.push("`q1` is not between 0 and 1".to_owned());
        }
        let unsound = |number: Option<f64>| number.is_some_and(|it| !it.is_finite() || it < 0.0);
        if unsound(record.more.price_usd) {
            problems.push("`price_usd` is below 0".to_owned());
        }
        if record
            .more
            .agreement
            .is_some_and(|it| !(0.0..=1.0).contains(&it))
        {
            problems.push("`agreement` is not between 0 and 1".to_owned());
        }
        if record.cost.is_nan() || record.cost < 0.0 {
            problems.push("`cost` is below 0".to_owned());
        }
        if !(0.0..=1.0).contains(&record.refusal_penalty) {
            problems.push("`refusal_penalty` is not between 0 and 1".to_owned());
        }
        // A malformed line is not recomputed.
        if problems.is_empty() {
            problems.extend(self.numbers(record));
        }
        problems
    }

    /// Recomputes the cost and the reward.
    fn numbers(&self, record: &Record) -> Vec<String> {
        let mut problems = Vec::new();
        let Some(metric) =
            version_number(&record.metric_version).and_then(|number| self.metrics.get(&number))
        else {
            problems.push(format!(
                "`metric_version` names no known metric: `{}`",
                record.metric_version
            ));
            return problems;
        };
        if record
            .more
            .metric_hash
            .as_ref()
            .is_some_and(|hash| *hash != metric.hash())
        {
            problems.push("`metric_hash` is not the hash of that metric".to_owned());
        }
        if let (Some(time), Some(tokens)) = (record.more.time_ms, record.more.output_tokens) {
            #[expect(clippy::cast_precision_loss, reason = "milliseconds of one run")]
            let cost = metric.cost(time as f64, tokens, record.more.price_usd);
            if !near(cost, record.cost) {
                problems.push(format!(
                    "`cost` is {}, its time, tokens and price make {cost}",
                    record.cost
                ));
            }
        }
        match self.reward(metric, record) {
            Some(reward) if near(reward, record.reward) => {}
            Some(reward) => problems.push(format!(
                "`reward` is {}, its parts make {reward}",
                record.reward
            )),
            None => problems.push("`reward` cannot be computed from its parts".to_owned()),
        }
        problems
    }

    fn reward(&self, metric: &Metric, record: &Record) -> Option<f64> {
        let parts = Parts {
            passed: record.passed(),
            q1: record.q1,
            cost: record.cost,
            refusal_penalty: record.refusal_penalty,
        };
        let new = metric.reward(parts)?;
        let (Some(alpha), Some(rewards)) = (record.more.mix_alpha, &record.more.rewards) else {
            return Some(new);
        };
        // While two metrics are mixed, the cost in the line is the new metric's; the old reward is beside it.
        let old = rewards
            .iter()
            .find(|(name, _)| version_number(name) != version_number(&record.metric_version));
        let (_, old) = old?;
        Some(alpha * old + (1.0 - alpha) * new)
    }

    fn join_contest(&mut self, number: u64, record: Record) {
        let same = self
            .contest
            .last()
            .is_some_and(|(_, last)| last.more.run_id == record.more.run_id);
        if !same || self.contest.len() >= MAX_CONTEST {
            self.end_contest();
        }
        if record.more.run_id.is_some() {
            self.contest.push((number, record));
        }
    }

    /// Checks that all lines of a contest name the same winner, and that it is the one by the rule.
    fn end_contest(&mut self) {
        let contest = std::mem::take(&mut self.contest);
        let Some((_, first)) = contest.first() else {
            return;
        };
        let runs = contest.iter().map(|(_, record)| Run {
            model_id: record.model_id.clone(),
            outcome: if record.passed() {
                Outcome::Pass
            } else {
                Outcome::Fail(String::new())
            },
            q1: record.q1,
            cost: record.cost,
            refusal_penalty: record.refusal_penalty,
            stable: record.more.stable.unwrap_or(false),
        });
        let Some(metric) =
            version_number(&first.metric_version).and_then(|number| self.metrics.get(&number))
        else {
            return;
        };
        // A mixed reward decides differently from either metric; its winner is checked by the rewards alone.
        let winner = if first.more.mix_alpha.is_some() {
            best_by_reward(&contest)
        } else {
            winner::decide(metric, runs.collect())
                .winner()
                .map(|scored| scored.run.model_id.clone())
        };
        for (number, record) in &contest {
            if record.winner_model_id != winner {
                let said = record.winner_model_id.as_deref().unwrap_or("nobody");
                let rule = winner.as_deref().unwrap_or("nobody");
                self.bad.push(Bad {
                    line: *number,
                    reason: format!("`winner_model_id` is {said}, the rule says {rule}"),
                });
            }
        }
    }
}

fn best_by_reward(contest: &[(u64, Record)]) -> Option<String> {
    let passed = contest
        .iter()
        .map(|(_, record)| record)
        .filter(|record| record.passed());
    // The first of equals wins.
    passed
        .rev()
        .max_by(|one, other| one.reward.total_cmp(&other.reward))
        .map(|record| record.model_id.clone())
}

fn near(one: f64, other: f64) -> bool {
    (one - other).abs() <= EPSILON
}

#[cfg(test)]
mod tests {
    use super::super::More;
    use super::*;

    fn record(
        model_id: &str,
        passed: bool,
        q1: Option<f64>,
        cost: f64,
        winner: Option<&str>,
    ) -> Record {
        let metric = Metric::v1();
        let parts = Parts {
            passed,
            q1,
            cost,
            refusal_penalty: 0.0,
        };
        Record {
            timestamp: "2026-03-04T05:06:07Z".to_owned(),
            prompt_hash: "ab".repeat(32),
            model_id: model_id.to_owned(),
            metric_version: metric.metric_version.clone(),
            verifier_result: if passed { "PASS" } else { "FAIL" }.to_owned(),
            q0: u8::from(passed),
            q1,
            cost,
            refusal_penalty: 0.0,
            reward: metric.reward(parts).unwrap(),
            winner_model_id: winner.map(str::to_owned),
            more: More {
                run_id: Some("r1".to_owned()),
                ..More::default()
            },
        }
    }

    fn chained(records: Vec<Record>) -> Vec<String> {
        let mut prev = FIRST.to_owned();
        let mut lines = Vec::new();
        for mut record in records {
            record.more.prev = Some(prev);
            let line = record.to_line();
            prev = link(line.as_bytes());
            lines.push(line);
        }
        lines
    }

    fn sound() -> Vec<Record> {
        vec![
            record("a", true, Some(0.5), 0.2, Some("b")),
            record("b", true, Some(0.9), 0.2, Some("b")),
            record("c", false, None, 0.0, Some("b")),
        ]
    }

    fn bad(lines: &[String]) -> Vec<u64> {
        let mut checker = Checker::new([Metric::v1()]);
        for line in lines {
            checker.line(line.as_bytes());
        }
        let (count, bad) = checker.finish();
        assert_eq!(count, lines.len() as u64);
        bad.into_iter().map(|bad| bad.line).collect()
    }

    #[track_caller]
    fn check(change: impl Fn(&mut [Record]), expected: &[u64]) {
        let mut records = sound();
        change(&mut records);
        assert_eq!(bad(&chained(records)), expected);
    }

    #[test]
    fn a_sound_log_holds_and_reads_back() {
        check(|_| {}, &[]);
        for line in chained(sound()) {
            assert_eq!(Record::parse(line.as_bytes()).unwrap().to_line(), line);
        }
    }

    #[test]
    fn each_lie_is_found_on_its_line() {
        check(|records| records[1].reward += 0.1, &[2]);
        check(|records| records[0].q0 = 0, &[1]);
        check(
            |records| records[2].verifier_result = "MAYBE".to_owned(),
            &[3],
        );
        check(|records| records[0].prompt_hash = "12".to_owned(), &[1]);
        check(
            |records| records[0].timestamp = "yesterday".to_owned(),
            &[1],
        );
        check(
            |records| records[0].metric_version = "metric_v9".to_owned(),
            &[1],
        );
        check(|records| records[2].winner_model_id = None, &[3]);
        check(
            |records| {
                records
                    .iter_mut()
                    .for_each(|record| record.winner_model_id = Some("a".to_owned()));
            },
            &[1, 2, 3],
        );
        check(
            |records| records[1].more.metric_hash = Some("00".repeat(32)),
            &[2],
        );
        check(
            |records| {
                records[0].more.time_ms = Some(1);
                records[0].more.output_tokens = Some(1);
            },
            &[1],
        );
    }

    #[test]
    fn a_line_that_was_taken_out_or_changed_breaks_the_chain() {
        let lines = chained(sound());
        assert_eq!(
            bad(&[lines[0].clone(), lines[2].clone()]).first(),
            Some(&1),
            "b is gone, so a names a winner that is not there"
        );
        let mut changed = lines.clone();
        changed[0] = changed[0].replace("05:06:07", "05:06:08");
        assert_eq!(bad(&changed), [2]);
        assert_eq!(bad(&lines[1..]).first(), Some(&1), "the first line is gone");
        let mut unlinked = sound();
        unlinked.push(record("d", true, None, 0.1, Some("d")));
        let mut lines = chained(unlinked);
        let mut last = Record::parse(lines[3].as_bytes()).unwrap();
        last.more.prev = None;
        last.more.run_id = Some("r2".to_owned());
        lines[3] = last.to_line();
        assert_eq!(bad(&lines), [4], "one link makes all others necessary");
    }

    #[test]
    fn hostile_lines_are_reported_and_the_rest_is_read() {
        let mut lines = chained(sound());
        lines.insert(0, "{".to_owned());
        lines.push("x".repeat(super::super::MAX_LINE + 1));
        let found = bad(&lines);
        assert!(found.contains(&1) && found.contains(&5), "{found:?}");
    }

    #[test]
    fn the_published_shape_is_read_and_judged() {
        let lines: Vec<String> = sound()
            .iter()
            .map(|record| record.to_schema_shape().to_string())
            .collect();
        // The shape has no field for an absent score, so a failed line's quality is 0 there; its reward is the same.
        assert_eq!(bad(&lines), Vec::<u64>::new());
        let hash = "ab".repeat(32);
        let short: Vec<String> = lines
            .iter()
            .map(|line| line.replace(&hash, "abc123"))
            .collect();
        let mut checker = Checker::new([Metric::v1()]);
        short.iter().for_each(|line| checker.line(line.as_bytes()));
        let (_, found) = checker.finish();
        let reasons: Vec<(u64, bool)> = found
            .iter()
            .map(|bad| (bad.line, bad.reason.contains("prompt_hash")))
            .collect();
        assert_eq!(
            reasons,
            [(1, true), (2, true), (3, true)],
            "one reason each"
        );
    }

    #[test]
    fn the_schema_shape_has_what_the_published_one_asks_for() {
        let shape = sound()[0].to_schema_shape();
        assert_eq!(shape["metric_version"], "v1");
        assert_eq!(shape["proxy_values"]["quality"], 0.5);
        assert!(shape.get("q0").is_none());
    }
}
