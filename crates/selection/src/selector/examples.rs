//! Training data: the contests of the run log, joined with the features of their inputs.
//!
//! An answer is acceptable when its verifier passed it and it is right: its score against the right answer reaches
//! [`FLOOR`], or else a user said so, or else its score against the general model's does. A contest without any of
//! these teaches nothing: it would only show failures.
//!
//! One contest in five is held out, by the hash of its input: the same input is always on the same side, so that the
//! contests held out from an older selector are held out from a newer one, and the two can be compared. Only graded
//! contests are held out: feedback teaches, and never decides whether a selector is better.
//!
//! Feedback is bounded by the graded answers of the version: one sender's counts for at most [`SENDER_SHARE`] of
//! them, all together for at most [`FEEDBACK_SHARE`], the newest first. Without graded answers, all feedback counts.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::features::Line;
use super::{Example, Features, Outcome};
use crate::run_log::Record;

/// Least score of an acceptable answer, against the right one or against the general model's.
pub const FLOOR: f64 = crate::audit::DEFAULT_FLOOR;

/// Limit of contests of one role; the newest are used.
pub const MAX_CONTESTS: usize = 50_000;

/// Number of graded answers of a version per counted feedback of one sender.
pub const SENDER_SHARE: u64 = 10;

/// Number of graded answers of a version per counted feedback of all senders.
pub const FEEDBACK_SHARE: u64 = 3;

/// Number of feedbacks of a sender that always count.
pub const LEAST_WORDS: u64 = 3;

/// Number of contests per held-out one.
const HELD_OUT: u8 = 5;

/// Contests of one role.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Split {
    /// Contests to learn from.
    pub training: Vec<Example>,
    /// Contests to evaluate on.
    pub held_out: Vec<Example>,
}

/// Feedback of a user on an answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Opinion {
    /// Id of the dispatch.
    pub trace_id: String,
    /// Sender of the feedback.
    pub sender: String,
    /// Role of the contest.
    pub role: String,
    /// Version that answered.
    pub version: String,
    /// Set if the answer was good.
    pub acceptable: bool,
    /// Hash and features of the input, if they are still known.
    pub input: Option<(String, Features)>,
}

#[derive(Debug)]
struct Contest {
    role: String,
    prompt_hash: String,
    /// Set if a reference for a good answer is known.
    has_reference: bool,
    outcomes: BTreeMap<String, Outcome>,
    /// Versions whose answer was neither refused by a verifier nor compared with a right answer: feedback counts for
    /// these.
    open: BTreeSet<String>,
    general: Option<Outcome>,
}

/// Collector of contests: first the log, then the feedback, then the features.
#[derive(Debug, Default)]
pub struct Examples {
    contests: HashMap<String, Contest>,
    /// Contests by their dispatch.
    traces: HashMap<String, String>,
    roles: BTreeMap<String, Split>,
    /// Number of lines of the log that belong to a contest.
    pub lines: u64,
    /// Number of contests that were found with their features and teach something.
    pub joined: u64,
    /// Number of contests that were found with their features but without a reference for acceptable answers.
    pub without_reference: u64,
}

impl Examples {
    /// Adds a line of the run log. Audits teach nothing about inputs in the field.
    pub fn record(&mut self, record: &Record) {
        let mode = record.more.mode.as_deref();
        let (Some(run_id), Some(role)) = (&record.more.run_id, &record.more.role) else {
            return;
        };
        if mode == Some("audit") {
            return;
        }
        self.lines += 1;
        if let Some(trace) = &record.more.trace_id {
            self.traces.insert(trace.clone(), run_id.clone());
        }
        let contest = self
            .contests
            .entry(run_id.clone())
            .or_insert_with(|| Contest {
                role: role.clone(),
                prompt_hash: record.prompt_hash.clone(),
                has_reference: false,
                outcomes: BTreeMap::new(),
                open: BTreeSet::new(),
                general: None,
            });
        let outcome = Outcome {
            acceptable: acceptable(record),
            reward: if record.reward.is_finite() {
                record.reward
            } else {
                0.0
            },
            cost: record.cost.max(0.0),
            price_usd: record.more.price_usd,
        };
        contest.has_reference |= record.q1.or(record.more.agreement).is_some();
        if record.is_general() {
            contest.general = Some(outcome);
            return;
        }
        let version = record.more.version.as_ref().unwrap_or(&record.model_id);
        if record.q1.is_none() && !is_refused(record) {
            contest.open.insert(version.clone());
        }
        contest.outcomes.insert(version.clone(), outcome);
    }

    /// Returns the feedback that counts; `opinions` are sorted from old to new.
    #[must_use]
    pub fn bounded(&self, opinions: Vec<Opinion>) -> Vec<Opinion> {
        let known = self.contests.values().flat_map(|contest| {
            let known = contest.outcomes.iter();
            let known = known.filter(|(_, outcome)| outcome.acceptable.is_some());
            known.map(|(version, _)| (contest.role.clone(), version.clone()))
        });
        let mut graded: HashMap<(String, String), u64> = HashMap::new();
        known.for_each(|subject| *graded.entry(subject).or_default() += 1);
        let mut of_sender: HashMap<(String, String, String), u64> = HashMap::new();
        let mut of_all: HashMap<(String, String), u64> = HashMap::new();
        let mut counted: Vec<Opinion> = Vec::new();
        for opinion in opinions.into_iter().rev() {
            let subject = (opinion.role.clone(), opinion.version.clone());
            let by = (opinion.sender.clone(), subject.0.clone(), subject.1.clone());
            if let Some(graded) = graded.get(&subject) {
                let own = of_sender.entry(by).or_default();
                let all = of_all.entry(subject).or_default();
                let is_over = *own >= (graded / SENDER_SHARE).max(LEAST_WORDS)
                    || *all >= (graded / FEEDBACK_SHARE).max(LEAST_WORDS);
                if is_over {
                    continue;
                }
                (*own, *all) = (*own + 1, *all + 1);
            }
            counted.push(opinion);
        }
        counted.reverse();
        counted
    }

    /// Adds feedback on an answer. It overrides the general model's answer, but not the verifier or a known right
    /// answer. An answer outside of any contest is an example by itself. Returns `true` if the feedback counts.
    pub fn feedback(&mut self, opinion: Opinion) -> bool {
        let run = self.traces.get(&opinion.trace_id);
        if let Some(contest) = run.and_then(|run| self.contests.get_mut(run)) {
            let open = contest.role == opinion.role
                && contest.open.contains(&opinion.version)
                && !is_held_out(&contest.prompt_hash);
            let outcome = contest.outcomes.get_mut(&opinion.version);
            let Some(outcome) = outcome.filter(|_| open) else {
                return false;
            };
            outcome.acceptable = Some(opinion.acceptable);
            contest.has_reference = true;
            return true;
        }
        let input = opinion.input.filter(|(hash, _)| !is_held_out(hash));
        let Some((prompt_hash, features)) = input else {
            return false;
        };
        let outcome = Outcome {
            acceptable: Some(opinion.acceptable),
            reward: f64::from(u8::from(opinion.acceptable)),
            cost: 0.0,
            price_usd: None,
        };
        self.joined += 1;
        let example = Example {
            features,
            outcomes: BTreeMap::from([(opinion.version, outcome)]),
            general: None,
        };
        self.add(opinion.role, &prompt_hash, example);
        true
    }

    fn add(&mut self, role: String, prompt_hash: &str, example: Example) {
        let split = self.roles.entry(role).or_default();
        let side = if is_held_out(prompt_hash) {
            &mut split.held_out
        } else {
            &mut split.training
        };
        side.push(example);
        if side.len() >= 2 * MAX_CONTESTS {
            side.drain(..MAX_CONTESTS);
        }
    }

    /// Adds a line of features. A line whose contest is not in the log is skipped.
    pub fn features(&mut self, line: Line) {
        let Some(contest) = self.contests.get(&line.run_id) else {
            return;
        };
        if contest.role != line.role || contest.prompt_hash != line.prompt_hash {
            return;
        }
        let Some(contest) = self.contests.remove(&line.run_id) else {
            return;
        };
        if !contest.has_reference {
            self.without_reference += 1;
            return;
        }
        self.joined += 1;
        let example = Example {
            features: line.features,
            outcomes: contest.outcomes,
            general: contest.general,
        };
        self.add(contest.role, &contest.prompt_hash, example);
    }

    /// Returns the contests by role.
    #[must_use]
    pub fn finish(mut self) -> BTreeMap<String, Split> {
        for split in self.roles.values_mut() {
            for side in [&mut split.training, &mut split.held_out] {
                let old = side.len().saturating_sub(MAX_CONTESTS);
                side.drain(..old);
            }
        }
        self.roles
    }
}

/// Returns whether an answer was acceptable, if the line tells.
fn acceptable(record: &Record) -> Option<bool> {
    if is_refused(record) {
        return Some(false);
    }
    let quality = record.q1.or(record.more.agreement)?;
    Some(quality >= FLOOR)
}

/// Returns `true` if a verifier refused the output; without a declared verifier, none did.
fn is_refused(record: &Record) -> bool {
    !record.passed() && record.more.unverified != Some(true)
}

fn is_held_out(prompt_hash: &str) -> bool {
    let digits = prompt_hash.get(..2);
    let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
    byte.is_some_and(|byte| byte % HELD_OUT == 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run_log::{GENERAL, More};

    fn record(run: &str, model: &str, mode: &str, passed: bool, q1: Option<f64>) -> Record {
        Record {
            timestamp: "2026-03-04T05:06:07Z".to_owned(),
            prompt_hash: "01".repeat(32),
            model_id: model.to_owned(),
            metric_version: "metric_v1".to_owned(),
            verifier_result: if passed { "PASS" } else { "FAIL" }.to_owned(),
            q0: u8::from(passed),
            q1,
            cost: 0.0,
            refusal_penalty: 0.0,
            reward: 1.5,
            winner_model_id: None,
            more: More {
                run_id: Some(run.to_owned()),
                role: Some("editor".to_owned()),
                mode: Some(mode.to_owned()),
                version: (model != GENERAL).then(|| format!("{model}-1")),
                trace_id: Some(format!("trace-{run}")),
                ..More::default()
            },
        }
    }

    fn opinion(trace_id: &str, version: &str) -> Opinion {
        Opinion {
            trace_id: trace_id.to_owned(),
            sender: "s".to_owned(),
            role: "editor".to_owned(),
            version: version.to_owned(),
            acceptable: true,
            input: None,
        }
    }

    fn line(run: &str) -> Line {
        Line {
            run_id: run.to_owned(),
            role: "editor".to_owned(),
            prompt_hash: "01".repeat(32),
            features: Features::of("a text", &[]),
        }
    }

    #[test]
    fn what_is_acceptable_follows_the_verifier_and_the_reference() {
        let with = |passed, unverified: bool, q1, agreement| {
            let mut record = record("r", "a", "learn", passed, q1);
            record.more.unverified = unverified.then_some(true);
            record.more.agreement = agreement;
            acceptable(&record)
        };
        for (found, expected) in [
            (with(true, false, Some(0.8), None), Some(true)),
            (with(true, false, Some(0.79), None), Some(false)),
            (with(true, false, Some(0.4), Some(1.0)), Some(false)),
            (with(true, false, None, Some(1.0)), Some(true)),
            (with(true, false, None, Some(0.0)), Some(false)),
            (with(true, false, None, None), None),
            (with(false, false, Some(1.0), None), Some(false)),
            (with(false, false, None, None), Some(false)),
            (with(false, true, Some(1.0), None), Some(true)),
            (with(false, true, None, None), None),
        ] {
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn contests_are_joined_with_their_features() {
        let mut examples = Examples::default();
        for record in [
            record("r1", "a", "learn", true, Some(0.9)),
            record("r1", "b", "learn", false, Some(0.2)),
            record("r1", GENERAL, "learn", true, Some(1.0)),
            record("r2", "a", "serve", true, None),
            record("r3", "a", "audit", true, Some(1.0)),
            record("r4", "a", "serve", true, None),
            record("r4", "b", "serve", false, None),
        ] {
            examples.record(&record);
        }
        for (trace, version, counts) in [
            ("trace-r4", "a-1", true),
            ("trace-r4", "b-1", false), // the verifier refused it
            ("trace-r4", "c-1", false), // it did not take part
            ("trace-r1", "a-1", false), // the right answer is known
            ("x", "a-1", false),        // neither the contest nor the input is known
        ] {
            assert_eq!(
                examples.feedback(opinion(trace, version)),
                counts,
                "{trace}"
            );
        }
        for run in ["r1", "r1", "r2", "r3", "r4", "r9"] {
            examples.features(line(run));
        }
        assert_eq!(
            (examples.lines, examples.joined, examples.without_reference),
            (6, 2, 1)
        );
        let roles = examples.finish();
        let split = &roles["editor"];
        assert!(split.held_out.is_empty(), "01 is no multiple of five");
        let label = |at: usize, version: &str| split.training[at].outcomes[version].acceptable;
        assert_eq!(
            (label(0, "a-1"), label(0, "b-1")),
            (Some(true), Some(false))
        );
        assert_eq!(
            (label(1, "a-1"), label(1, "b-1")),
            (Some(true), Some(false))
        );
        assert_eq!(
            split.training[0].outcomes.len(),
            2,
            "the general model stands apart"
        );
        assert!(split.training[0].general.is_some() && split.training[1].general.is_none());
    }

    #[test]
    fn a_word_on_an_answer_that_is_in_no_contest_is_an_example_by_itself() {
        let mut examples = Examples::default();
        let input = ("01".repeat(32), Features::of("a text", &[]));
        assert!(examples.feedback(Opinion {
            input: Some(input),
            ..opinion("x", "a-1")
        }));
        let roles = examples.finish();
        let [example] = roles["editor"].training.as_slice() else {
            panic!("{roles:?}");
        };
        assert_eq!(example.outcomes["a-1"].acceptable, Some(true));
    }

    /// Regression: sixty zero scores of one sender disabled a good adapter.
    #[test]
    fn words_are_bounded_by_what_was_graded() {
        let said = |sender: &str, count: usize| -> Vec<Opinion> {
            let one = |number| Opinion {
                sender: sender.to_owned(),
                acceptable: false,
                ..opinion(&format!("{sender}-{number}"), "a-1")
            };
            (0..count).map(one).collect()
        };
        let graded = |count: usize| {
            let mut examples = Examples::default();
            for run in 0..count {
                examples.record(&record(&format!("r{run}"), "a", "learn", true, Some(1.0)));
            }
            examples
        };
        for (count, opinions, expected) in [
            (200, said("one", 60), 20),
            (200, [said("one", 60), said("two", 60)].concat(), 40),
            (
                200,
                (0..60).flat_map(|n| said(&format!("s{n}"), 5)).collect(),
                66,
            ),
            (5, said("one", 60), 3),
            (0, said("one", 60), 60),
        ] {
            let found = graded(count).bounded(opinions.clone());
            assert_eq!(found.len(), expected, "{count} graded");
            assert_eq!(found.last(), opinions.last(), "the newest count");
        }
        let mut held = graded(0);
        let input = Some(("05".repeat(32), Features::of("a text", &[])));
        let word = Opinion {
            input,
            ..opinion("x", "a-1")
        };
        assert!(!held.feedback(word), "only graded answers are held out");
    }

    #[test]
    fn one_in_five_is_held_out_by_its_hash() {
        let held = (0..=255_u8).filter(|byte| is_held_out(&format!("{byte:02x}ff")));
        assert_eq!(held.count(), 52);
        assert!(!is_held_out("") && !is_held_out("é"));
    }
}
