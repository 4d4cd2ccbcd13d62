//! Promotion by the log: the windows of a version's last runs and contests, the conditions for stable, and demotion.
//!
//! A window belongs to one version under one metric, so that a new version starts from zero and a change of the
//! metric does not erase a bad history by mixing it with a good one. Windows must be full; rates are compared as
//! whole numbers.
//!
//! A window that is checked repeatedly is full of hits at some time by chance. So a condition also needs a rate above
//! a floor over the whole history, by a test that holds at any number of checks.
//!
//! An input counts once: a thousand copies of one question show one answer. A contest without a rival and without a
//! known answer has no winner. Where the right answer is known, a wrong one wins nothing, however well it is formed.
//! An answer that is as good as the general model's has neither won nor lost against it while the general model's
//! price is unknown.

use statistics::rate::{Rate, rate};
use statistics::{ERROR, sequence};
use std::collections::{HashSet, VecDeque};

use crate::run_log::Record;

/// Number of runs in the window of the pass rate.
pub const PASS_WINDOW: usize = 100;
/// Least share of passes in it, in percent.
pub const PASS_PERCENT: u64 = 95;
/// Floor of the pass rate over the whole history, in percent.
pub const PASS_FLOOR: u64 = 90;
/// Number of contests in the window of the win rate.
pub const WIN_WINDOW: usize = 1000;
/// Least share of wins in it, in percent.
pub const WIN_PERCENT: u64 = 20;

/// Floor of the win rate over the whole history, in percent.
pub const WIN_FLOOR: u64 = 18;

/// Identity of a history: a version of a model under a metric.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    pub model_id: String,
    /// Version of the model; empty if the log has none.
    pub version: String,
    pub metric_version: String,
}

/// The last runs and contests of one version.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Windows {
    passes: History,
    wins: History,
    /// Inputs of contests that decide nothing, see [`Rival::Unpriced`].
    unpriced: HashSet<String>,
}

/// Opponent of a run in its contest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rival {
    /// No other candidate.
    Nobody,
    /// Another candidate, and a winner.
    Somebody,
    /// The general model, whose answer was as good and whose price is unknown.
    Unpriced,
}

impl Rival {
    /// Returns the opponent of a run in its contest.
    #[must_use]
    pub fn of(record: &Record, contest: &[Record]) -> Self {
        let is_tie = |general: &Record| {
            general.more.price_usd.is_none()
                && general.passed()
                && record.passed()
                && general.q1 == record.q1
                && (general.won() || record.won())
        };
        let general = contest.iter().find(|one| one.is_general());
        match general {
            Some(general) if is_tie(general) => Self::Unpriced,
            _ if contest.len() > 1 => Self::Somebody,
            _ => Self::Nobody,
        }
    }
}

/// The last hits and misses, and the counts of all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct History {
    last: VecDeque<bool>,
    hits: u64,
    n: u64,
    /// Hashes of the inputs.
    inputs: HashSet<String>,
}

impl History {
    /// Adds the result of an input the first time that it is seen.
    fn push(&mut self, input: &str, hit: bool, most: usize) {
        if !self.inputs.insert(input.to_owned()) {
            return;
        }
        self.n += 1;
        self.hits += u64::from(hit);
        self.last.push_back(hit);
        if self.last.len() > most {
            self.last.pop_front();
        }
    }

    fn recent(&self) -> Rate {
        let hits = self.last.iter().filter(|hit| **hit).count();
        rate(hits as u64, self.last.len() as u64)
    }
}

impl Windows {
    /// Adds a run. Only learning contests count for wins, and only with a rival or a known right answer. An exam can
    /// be repeated, so it does not count here.
    pub fn add(&mut self, record: &Record, rival: Rival) {
        if record.more.mode.as_deref() == Some("audit") {
            return;
        }
        let form = record.more.input_form.as_ref();
        let input = form.unwrap_or(&record.prompt_hash).as_str();
        self.passes.push(input, record.passed(), PASS_WINDOW);
        if record.more.mode.as_deref() != Some("learn") {
            return;
        }
        match rival {
            Rival::Unpriced => drop(self.unpriced.insert(input.to_owned())),
            Rival::Nobody if record.q1.is_none() => {}
            Rival::Nobody | Rival::Somebody => {
                let won = record.won() && record.is_acceptable();
                self.wins.push(input, won, WIN_WINDOW);
            }
        }
    }

    /// Returns how many inputs decided nothing because the price of the general model is unknown.
    #[must_use]
    pub fn unpriced(&self) -> usize {
        self.unpriced.len()
    }

    /// Returns the rate of passes among the last runs.
    #[must_use]
    pub fn passes(&self) -> Rate {
        self.passes.recent()
    }

    /// Returns the rate of wins among the last contests.
    #[must_use]
    pub fn wins(&self) -> Rate {
        self.wins.recent()
    }

    /// Returns the two conditions on rates.
    #[must_use]
    pub fn conditions(&self) -> [Condition; 2] {
        [
            Condition {
                name: "verifier pass rate",
                rate: self.passes(),
                window: PASS_WINDOW,
                percent: PASS_PERCENT,
                all: rate(self.passes.hits, self.passes.n),
                floor: PASS_FLOOR,
            },
            Condition {
                name: "win rate in learning runs",
                rate: self.wins(),
                window: WIN_WINDOW,
                percent: WIN_PERCENT,
                all: rate(self.wins.hits, self.wins.n),
                floor: WIN_FLOOR,
            },
        ]
    }

    /// Returns `true` if a stable version must be demoted: a full window is below its threshold.
    #[must_use]
    pub fn must_fall(&self) -> bool {
        self.conditions().iter().any(Condition::has_fallen)
    }
}

/// One condition with its numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// Subject of the condition.
    pub name: &'static str,
    /// Rate in the window.
    pub rate: Rate,
    /// Size of the window.
    pub window: usize,
    /// Required rate in the window, in percent.
    pub percent: u64,
    /// Rate over the whole history.
    pub all: Rate,
    /// Floor of the rate over the whole history, in percent.
    pub floor: u64,
}

impl Condition {
    /// Returns `true` if the window is full.
    #[must_use]
    pub fn full(&self) -> bool {
        self.rate.n >= self.window as u64
    }

    /// Returns `true` if the condition holds: the window is full and good enough, and the whole history is above the
    /// floor.
    #[must_use]
    pub fn met(&self) -> bool {
        self.full() && !self.has_fallen() && self.is_above_floor()
    }

    /// Returns `true` if the window is full and not good enough.
    #[must_use]
    pub fn has_fallen(&self) -> bool {
        self.full() && 100 * self.rate.hits < self.percent * self.rate.n
    }

    /// Returns `true` if the whole history is above the floor, at any number of checks.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "percent")]
    pub fn is_above_floor(&self) -> bool {
        let floor = self.floor as f64 / 100.0;
        sequence::is_above(self.all.hits, self.all.n, floor, ERROR)
    }
}

impl Key {
    /// Returns the key of the history that a line belongs to.
    #[must_use]
    pub fn of(record: &Record) -> Self {
        Self {
            model_id: record.model_id.clone(),
            version: record.more.version.clone().unwrap_or_default(),
            metric_version: record.metric_version.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run_log::More;

    fn record(input: usize, passed: bool, won: bool, mode: &str) -> Record {
        Record {
            timestamp: "2026-03-04T05:06:07Z".to_owned(),
            prompt_hash: format!("{input:064x}"),
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
            // Wins come first, so that the last runs fill the window of passes.
            let won = index < wins;
            let passed = won || index >= contests - passes.min(contests);
            windows.add(&record(index, passed, won, "learn"), Rival::Somebody);
        }
        let window = |condition: Condition| condition.full() && !condition.has_fallen();
        assert_eq!(windows.conditions().map(window), expected);
    }

    #[test]
    fn thresholds_are_inclusive_and_windows_must_be_full() {
        check(95, 200, 1000, [true, true]);
        check(94, 200, 1000, [false, true]);
        check(95, 199, 1000, [true, false]);
        check(999, 999, 999, [true, false]);
        check(99, 99, 99, [false, false]);
    }

    /// Returns the next SplitMix64 value as a number from 0 to 1.
    fn roll(state: &mut u64) -> f64 {
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = *state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    #[test]
    fn a_pass_rate_of_ninety_percent_is_called_stable_in_one_history_of_a_hundred_at_most() {
        let (mut dice, runs) = (17, 200);
        let (mut by_window, mut by_both) = (0, 0);
        for _ in 0..runs {
            let mut windows = Windows::default();
            let (mut window, mut both) = (false, false);
            for input in 0..1000 {
                windows.add(
                    &record(input, roll(&mut dice) < 0.90, false, "serve"),
                    Rival::Nobody,
                );
                let [passes, _] = windows.conditions();
                window |= passes.full() && !passes.has_fallen();
                both |= passes.met();
            }
            by_window += u32::from(window);
            by_both += u32::from(both);
        }
        assert!(by_window > 100, "the window alone is no test: {by_window}");
        assert!(by_both <= 2, "{by_both} of {runs}");
    }

    #[test]
    fn a_good_version_gets_there() {
        let (mut dice, mut windows) = (23, Windows::default());
        for input in 0..1000 {
            let won = roll(&mut dice) < 0.3;
            let passed = won || roll(&mut dice) < 0.97;
            windows.add(&record(input, passed, won, "learn"), Rival::Somebody);
        }
        assert!(windows.conditions().iter().all(Condition::met));
    }

    #[test]
    fn serving_counts_for_passing_only() {
        let mut windows = Windows::default();
        for input in 0..200 {
            windows.add(&record(input, true, true, "serve"), Rival::Somebody);
        }
        assert_eq!((windows.passes().n, windows.wins().n), (100, 0));
    }

    #[test]
    fn exams_fill_no_window() {
        let mut windows = Windows::default();
        windows.add(&record(0, true, true, "audit"), Rival::Somebody);
        assert_eq!((windows.passes().n, windows.wins().n), (0, 0));
    }

    #[test]
    fn a_stable_version_falls_when_a_full_window_says_so() {
        let mut windows = Windows::default();
        for input in 0..50 {
            windows.add(&record(input, false, false, "serve"), Rival::Somebody);
        }
        assert!(!windows.must_fall(), "fifty runs say little");
        for input in 50..100 {
            windows.add(&record(input, true, false, "serve"), Rival::Somebody);
        }
        assert!(windows.must_fall());
    }

    #[test]
    fn an_input_counts_once_and_a_contest_needs_a_rival_or_an_answer() {
        let mut windows = Windows::default();
        for _ in 0..1000 {
            windows.add(&record(7, true, true, "learn"), Rival::Somebody);
        }
        assert_eq!((windows.passes().n, windows.wins().n), (1, 1), "copies");
        let mut windows = Windows::default();
        for input in 0..1000 {
            let mut one = record(input, true, true, "learn");
            one.more.input_form = Some("ab".repeat(32));
            windows.add(&one, Rival::Somebody);
        }
        let seen = (windows.passes().n, windows.wins().n);
        assert_eq!(seen, (1, 1), "copies in other letters");
        let mut windows = Windows::default();
        for input in 0..1000 {
            windows.add(&record(input, true, true, "learn"), Rival::Nobody);
        }
        assert_eq!((windows.passes().n, windows.wins().n), (100, 0), "alone");
        let mut known = record(1000, true, true, "learn");
        known.q1 = Some(1.0);
        windows.add(&known, Rival::Nobody);
        assert_eq!(windows.wins().n, 1, "the answer is known");
    }

    /// Regression: an adapter that was wrong in every contest won all of them as the only candidate and became
    /// stable.
    #[test]
    fn an_answer_that_is_known_to_be_wrong_wins_nothing() {
        for (q1, is_hit) in [
            (None, true),
            (Some(1.0), true),
            (Some(0.8), true),
            (Some(0.79), false),
            (Some(0.0), false),
        ] {
            let mut windows = Windows::default();
            let mut trials = crate::growth::Trials::default();
            for input in 0..1050 {
                let mut one = record(input, true, true, "learn");
                one.q1 = q1;
                windows.add(
                    &one,
                    if q1.is_none() {
                        Rival::Somebody
                    } else {
                        Rival::Nobody
                    },
                );
                trials.add(&one);
            }
            let wins = windows.wins().hits;
            assert_eq!(wins, if is_hit { 1000 } else { 0 }, "{q1:?}");
            let met = windows.conditions().iter().all(Condition::met);
            assert_eq!(met, is_hit, "{q1:?}");
            assert_eq!(trials.verdict().is_none(), is_hit, "{q1:?}");
        }
    }

    /// Regression: against a general model without a price the second level was out of reach, without an explanation.
    #[test]
    fn a_tie_with_a_general_model_of_unknown_price_is_neither_won_nor_lost() {
        let run = |q1: f64, won: bool| Record {
            q1: Some(q1),
            ..record(1, true, won, "learn")
        };
        let general = |q1: f64, price: Option<f64>| {
            let mut general = run(q1, false);
            general.model_id = crate::run_log::GENERAL.to_owned();
            general.more.version = None;
            general.more.price_usd = price;
            general
        };
        for (name, own, general, won_by, expected) in [
            (
                "as good, it lost",
                0.9,
                general(0.9, None),
                "general",
                Rival::Unpriced,
            ),
            (
                "as good, it won",
                0.9,
                general(0.9, None),
                "a",
                Rival::Unpriced,
            ),
            ("a third won", 0.9, general(0.9, None), "c", Rival::Somebody),
            (
                "a price",
                0.9,
                general(0.9, Some(0.01)),
                "a",
                Rival::Somebody,
            ),
            ("better", 1.0, general(0.9, None), "a", Rival::Somebody),
            ("worse", 0.8, general(0.9, None), "general", Rival::Somebody),
        ] {
            let mut contest = [run(own, false), general];
            let winner = match won_by {
                "general" => crate::run_log::GENERAL,
                other => other,
            };
            for one in &mut contest {
                one.winner_model_id = Some(winner.to_owned());
            }
            let found = Rival::of(&contest[0], &contest);
            assert_eq!(found, expected, "{name}");
            let mut windows = Windows::default();
            windows.add(&contest[0], found);
            let counted = (windows.wins().n, windows.unpriced());
            let is_tie = expected == Rival::Unpriced;
            assert_eq!(counted, (u64::from(!is_tie), usize::from(is_tie)), "{name}");
        }
        let alone = [run(0.9, true)];
        assert_eq!(Rival::of(&alone[0], &alone), Rival::Nobody);
    }
}
