//! What the log earns a version: the windows of its last runs and contests, the conditions for stable, and its fall.
//!
//! A window belongs to one version under one metric, so that a new version starts anew and a change of the metric does
//! not erase a bad history by mixing it with a good one. Windows must be full; rates are compared as whole numbers.

use std::collections::{BTreeMap, VecDeque};

use crate::run_log::Record;
use crate::statistics::{Rate, rate};

/// Runs that the pass rate looks at.
pub const PASS_WINDOW: usize = 100;
/// Least passes in them, in percent.
pub const PASS_PERCENT: u64 = 95;
/// Contests that the win rate looks at.
pub const WIN_WINDOW: usize = 1000;
/// Least wins in them, in percent.
pub const WIN_PERCENT: u64 = 20;

/// Which history: a version of a model under a metric.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// The model.
    pub model_id: String,
    /// Its version; empty when the log has none.
    pub version: String,
    /// The metric.
    pub metric_version: String,
}

/// The last runs and contests of one version.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Windows {
    passes: VecDeque<bool>,
    wins: VecDeque<bool>,
}

impl Windows {
    /// Takes a run into account; only contests of learning count for wins. An exam can be taken again and again, so it
    /// counts for nothing here.
    pub fn add(&mut self, record: &Record) {
        if record.more.mode.as_deref() == Some("audit") {
            return;
        }
        push(&mut self.passes, record.passed(), PASS_WINDOW);
        if record.more.mode.as_deref() == Some("learn") {
            push(&mut self.wins, record.won(), WIN_WINDOW);
        }
    }

    /// Passes among the last runs.
    #[must_use]
    pub fn passes(&self) -> Rate {
        rate_of(&self.passes)
    }

    /// Wins among the last contests.
    #[must_use]
    pub fn wins(&self) -> Rate {
        rate_of(&self.wins)
    }

    /// The two conditions on rates.
    #[must_use]
    pub fn conditions(&self) -> [Condition; 2] {
        [
            Condition::new(
                "verifier pass rate",
                self.passes(),
                PASS_WINDOW,
                PASS_PERCENT,
            ),
            Condition::new(
                "win rate in learning runs",
                self.wins(),
                WIN_WINDOW,
                WIN_PERCENT,
            ),
        ]
    }

    /// Whether a stable version has to fall: a full window is under its threshold.
    #[must_use]
    pub fn must_fall(&self) -> bool {
        self.conditions()
            .iter()
            .any(|condition| condition.full() && !condition.met())
    }
}

/// One condition with its numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// What it is about.
    pub name: &'static str,
    /// What was seen.
    pub rate: Rate,
    /// How much must have been seen.
    pub window: usize,
    /// What is needed, in percent.
    pub percent: u64,
}

impl Condition {
    fn new(name: &'static str, rate: Rate, window: usize, percent: u64) -> Self {
        Self {
            name,
            rate,
            window,
            percent,
        }
    }

    /// Whether enough was seen.
    #[must_use]
    pub fn full(&self) -> bool {
        self.rate.n >= self.window as u64
    }

    /// Whether it holds.
    #[must_use]
    pub fn met(&self) -> bool {
        self.full() && 100 * self.rate.hits >= self.percent * self.rate.n
    }
}

/// The windows of all versions in a log.
#[must_use]
pub fn windows<'a>(records: impl IntoIterator<Item = &'a Record>) -> BTreeMap<Key, Windows> {
    let mut all: BTreeMap<Key, Windows> = BTreeMap::new();
    for record in records {
        all.entry(Key::of(record)).or_default().add(record);
    }
    all
}

impl Key {
    /// Whose history a line belongs to.
    #[must_use]
    pub fn of(record: &Record) -> Self {
        Self {
            model_id: record.model_id.clone(),
            version: record.more.version.clone().unwrap_or_default(),
            metric_version: record.metric_version.clone(),
        }
    }
}

fn push(window: &mut VecDeque<bool>, hit: bool, most: usize) {
    window.push_back(hit);
    if window.len() > most {
        window.pop_front();
    }
}

fn rate_of(window: &VecDeque<bool>) -> Rate {
    rate(
        window.iter().filter(|hit| **hit).count() as u64,
        window.len() as u64,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run_log::More;

    fn record(passed: bool, won: bool, mode: &str) -> Record {
        Record {
            timestamp: "2026-03-04T05:06:07Z".to_owned(),
            prompt_hash: "ab".repeat(32),
            model_id: "a".to_owned(),
            metric_version: "metric_v1".to_owned(),
            verifier_result: if passed { "PASS" } else { "FAIL" }.to_owned(),
            q0: u8::from(passed),
            q1: None,
            cost: 0.0,
            refusal_penalty: 0.0,
            reward: 1.0,
            winner_model_id: Some(if won { "a" } else { "b" }.to_owned()),
            more: More {
                mode: Some(mode.to_owned()),
                version: Some("1".to_owned()),
                ..More::default()
            },
        }
    }

    #[track_caller]
    fn check(passes: usize, wins: usize, contests: usize, expected: [bool; 2]) {
        let mut windows = Windows::default();
        for index in 0..contests {
            // Wins come first, so that the window of passes is filled by what comes last.
            let won = index < wins;
            let passed = won || index >= contests - passes.min(contests);
            windows.add(&record(passed, won, "learn"));
        }
        assert_eq!(
            windows.conditions().map(|condition| condition.met()),
            expected
        );
    }

    #[test]
    fn thresholds_are_inclusive_and_windows_must_be_full() {
        check(95, 200, 1000, [true, true]);
        check(94, 200, 1000, [false, true]);
        check(95, 199, 1000, [true, false]);
        check(999, 999, 999, [true, false]);
        check(99, 99, 99, [false, false]);
    }

    #[test]
    fn serving_counts_for_passing_only() {
        let mut windows = Windows::default();
        for _ in 0..200 {
            windows.add(&record(true, true, "serve"));
        }
        assert_eq!((windows.passes().n, windows.wins().n), (100, 0));
    }

    #[test]
    fn exams_fill_no_window() {
        let mut windows = Windows::default();
        windows.add(&record(true, true, "audit"));
        assert_eq!((windows.passes().n, windows.wins().n), (0, 0));
    }

    #[test]
    fn a_stable_version_falls_when_a_full_window_says_so() {
        let mut windows = Windows::default();
        for _ in 0..50 {
            windows.add(&record(false, false, "serve"));
        }
        assert!(!windows.must_fall(), "fifty runs say little");
        for _ in 0..50 {
            windows.add(&record(true, false, "serve"));
        }
        assert!(windows.must_fall());
    }

    #[test]
    fn histories_do_not_mix() {
        let mut other = record(true, true, "learn");
        other.more.version = Some("2".to_owned());
        let mut metric = record(true, true, "learn");
        metric.metric_version = "metric_v2".to_owned();
        let all = windows(&[record(true, true, "learn"), other, metric]);
        assert_eq!(all.len(), 3);
    }
}
