//! Record of an exam: every answer with its inputs, so that it can be scored again under another metric.

use statistics::rate::{Rate, rate};
use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use super::attempt::{Attempt, Pooled, bound};
pub use super::baseline::Baseline;
use super::{Answer, Case, DEFAULT_FLOOR, Grading, MIN_CASES, Match, Report};
use crate::canonical;
use crate::metric::{Metric, Parts};
use crate::output;
use crate::promotion::PASS_PERCENT;
use crate::quality;
use crate::verifier::Outcome;

/// Format of a record.
pub const FORMAT: &str = "roleos-audit/v1";

/// One answer, with everything that its reward is computed from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Given {
    /// Index of the case, from 0.
    pub index: usize,
    /// `PASS` or `FAIL`.
    pub verifier_result: String,
    /// Reason for a failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Score against the expected output, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub q1: Option<f64>,
    /// Set if the answer is right; `None` if it was not graded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub right: Option<bool>,
    pub cost: f64,
    pub refusal_penalty: f64,
    /// Reward under the metric.
    pub reward: f64,
    /// Time on the wire.
    pub time_ms: u64,
    /// Number of output tokens.
    pub output_tokens: u64,
    /// SHA-256 of the output's text.
    pub output_hash: String,
    /// The output; null without an answer.
    #[serde(default)]
    pub output: Value,
    /// Expected output, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_output: Option<String>,
    /// Index of the first case with the same input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copy_of: Option<usize>,
    /// Set if the deciding verifier knows no right answer, or passes wrong ones.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ungraded: bool,
}

/// Measurements of one answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// The output; text is a JSON string.
    pub output: Value,
    /// Result of the verifier.
    pub outcome: Outcome,
    /// Penalty for a refusal, from 0 to 1.
    pub refusal_penalty: f64,
    /// Time on the wire.
    pub time_ms: u64,
    /// Number of output tokens.
    pub output_tokens: u64,
}

impl Given {
    /// Scores an answer to a case.
    #[must_use]
    pub fn of(index: usize, case: &Case, measured: Measured, metric: &Metric) -> Self {
        let output_hash = canonical::hash_bytes(text(&measured.output).as_bytes());
        let (verifier_result, reason) = match &measured.outcome {
            Outcome::Pass => ("PASS", None),
            Outcome::Fail(why) => ("FAIL", Some(why.clone())),
        };
        let mut given = Self {
            index,
            verifier_result: verifier_result.to_owned(),
            reason,
            q1: None,
            right: None,
            cost: 0.0,
            refusal_penalty: measured.refusal_penalty,
            reward: 0.0,
            time_ms: measured.time_ms,
            output_tokens: measured.output_tokens,
            output_hash,
            output: measured.output,
            expected_output: case.expected_output.clone(),
            copy_of: case.copy_of,
            ungraded: !case.graded,
        };
        given.score(metric);
        given.grade(case, metric);
        given
    }

    /// Returns `true` if the verifier passed the answer and the answer is right.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.is_verified() && self.is_right()
    }

    /// Returns `true` if the verifier passed the answer.
    #[must_use]
    pub fn is_verified(&self) -> bool {
        self.verifier_result == "PASS"
    }

    /// Returns `true` if the answer is right, or no right output is known. An older record was not graded; then the
    /// quality decides.
    #[must_use]
    pub fn is_right(&self) -> bool {
        let by_quality = || self.q1.is_none_or(|q1| q1 >= DEFAULT_FLOOR);
        self.right.unwrap_or_else(by_quality)
    }

    /// Returns `true` if the answer proves something: it was graded and is the first of its input.
    #[must_use]
    pub fn is_proof(&self) -> bool {
        self.right.is_some() && !self.ungraded && self.copy_of.is_none()
    }

    fn grade(&mut self, case: &Case, metric: &Metric) {
        let Grading { rule, floor } = case.grading;
        let Some(expected) = self.expected_output.as_deref() else {
            self.right = case.graded.then(|| self.is_verified());
            return;
        };
        let right = match rule {
            Match::Verifier => self.is_verified(),
            Match::Exact | Match::Quality => matches(case.grading, metric, &self.output, expected),
        };
        let q1 = self.q1.unwrap_or(0.0);
        self.right = Some(right);
        if !right && self.is_verified() {
            let needed = match rule {
                Match::Exact => "equality".to_owned(),
                _ => format!("{floor:.2}"),
            };
            self.reason = Some(format!(
                "the answer differs from the expected output: quality {q1:.2}, {needed} is needed"
            ));
        }
    }

    /// Returns the quality from 0 to 1: 0 if the verifier failed the answer, else the score against the expected
    /// output if there is one.
    #[must_use]
    pub fn quality(&self) -> f64 {
        match (self.is_verified(), self.q1) {
            (false, _) => 0.0,
            (true, None) => 1.0,
            // Right by its verifier or by equality, whatever the words.
            (true, Some(_)) if self.right == Some(true) => 1.0,
            (true, Some(q1)) => q1,
        }
    }

    /// Scores the answer under a metric: measurements stay, derived numbers are recomputed.
    pub fn score(&mut self, metric: &Metric) {
        let expected = self.expected_output.as_deref();
        self.q1 = expected.map(|expected| q1(metric, &self.output, expected));
        #[expect(clippy::cast_precision_loss, reason = "milliseconds of one run")]
        let time = self.time_ms as f64;
        self.cost = metric.cost(time, self.output_tokens, None);
        let parts = Parts {
            passed: self.is_verified(),
            q1: self.q1,
            cost: self.cost,
            refusal_penalty: self.refusal_penalty,
        };
        self.reward = metric.reward(parts).unwrap_or(0.0);
    }

    /// Returns the answer in the form of a report.
    #[must_use]
    pub fn answer(&self) -> Answer {
        Answer {
            verified: self.is_verified(),
            right: self.is_right(),
            quality: self.quality(),
            reward: self.reward,
            is_copy: self.copy_of.is_some(),
        }
    }
}

/// Returns the text of an output, empty without an answer.
fn text(output: &Value) -> Cow<'_, str> {
    match output {
        Value::Null => Cow::Borrowed(""),
        other => output::text(other),
    }
}

/// Returns `true` if an output is right by comparison with the expected one.
pub(super) fn matches(grading: Grading, metric: &Metric, output: &Value, expected: &str) -> bool {
    let is_good = || q1(metric, output, expected) >= grading.floor;
    is_same(output, expected) || (grading.rule == Match::Quality && is_good())
}

/// Returns `true` if an output is the expected one: as JSON if both are JSON, else as trimmed text.
fn is_same(output: &Value, expected: &str) -> bool {
    let said = text(output);
    if said.trim() == expected.trim() {
        return true;
    }
    let said = output::shaped(output, Some("json"));
    match (said, serde_json::from_str::<Value>(expected)) {
        (Ok(said), Ok(expected)) => canonical::text(&said) == canonical::text(&expected),
        _ => false,
    }
}

/// Returns the score against the expected output: by its parts if that is JSON with parts, by its words otherwise.
fn q1(metric: &Metric, said: &Value, expected: &str) -> f64 {
    let target = serde_json::from_str(expected).unwrap_or(Value::Null);
    if !target.is_object() && !target.is_array() {
        return quality::token_f1(&text(said), expected);
    }
    let said = output::shaped(said, Some("json")).unwrap_or(Cow::Borrowed(said));
    quality::score(metric.alpha_q1, &said, &target)
}

/// Mean reward of an exam under one metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// SHA-256 of the metric.
    pub metric_hash: String,
    pub mean_reward: f64,
}

/// Record of one version's exam.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AuditRecord {
    /// Format of the record, [`FORMAT`].
    pub format: String,
    pub role: String,
    /// Id of the version.
    pub version: String,
    pub model_id: String,
    /// Hash of what answered: the version's pin, contract and addresses at the time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// Hash of the exam.
    pub exam_hash: String,
    /// Id of the set.
    pub audit_id: String,
    /// Version of the set.
    pub audit_version: String,
    /// Metric at the time of the exam.
    pub metric_version: String,
    /// Hash of that metric.
    pub metric_hash: String,
    /// Time of the end, RFC 3339 in UTC.
    pub finished_at: String,
    /// Number of cases.
    pub cases: u64,
    /// Number of cases that passed.
    pub passed: u64,
    /// Number of answers that the verifier failed.
    #[serde(default)]
    pub verifier_failures: u64,
    /// Number of answers that the verifier passed and that differ from the expected output.
    #[serde(default)]
    pub wrong_answers: u64,
    /// Number of graded cases, each input once.
    #[serde(default)]
    pub graded: u64,
    /// Share of passed cases.
    pub pass_rate: f64,
    /// Lower Wilson bound of that share.
    pub pass_low: f64,
    /// Upper Wilson bound of that share.
    pub pass_high: f64,
    /// Mean reward under the metric.
    pub mean_reward: f64,
    /// Comparison with a baseline, if there is one.
    pub baseline: Option<Baseline>,
    /// Set if the exam was passed.
    pub ok: bool,
    /// Mean reward under every metric that the record was scored with.
    pub scores: BTreeMap<String, Score>,
    /// Answers by case.
    pub answers: Vec<Given>,
    /// Attempts that count for this exam, this one last; empty in an older record.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attempts: Vec<Attempt>,
    /// Seal that shows that `roleos` wrote the record on this machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seal: Option<String>,
}

/// Subject and time of an exam.
#[derive(Clone, Copy, Debug)]
pub struct Whose<'a> {
    pub role: &'a str,
    /// Id of the version.
    pub version: &'a str,
    pub model_id: &'a str,
    /// Hash of what answered.
    pub subject: &'a str,
    /// Hash of the weights and the backend.
    pub identity: &'a str,
    /// Time of the end.
    pub finished_at: &'a str,
}

impl AuditRecord {
    /// Summarises the answers to all cases, in their order, against a baseline's record of the same exam and the
    /// margin by which they may be worse.
    #[must_use]
    pub fn of(
        whose: Whose<'_>,
        set: &super::AuditSet,
        metric: &Metric,
        answers: Vec<Given>,
        baseline: Option<(&Self, f64)>,
    ) -> Self {
        let before = baseline.filter(|(before, _)| before.exam_hash == set.exam_hash);
        let before_answers: Option<Vec<Answer>> = before.map(|(before, _)| before.under(metric));
        let given: Vec<Answer> = answers.iter().map(Given::answer).collect();
        let report = Report::of(&given, before_answers.as_deref());
        let metric_hash = metric.hash();
        let subject = (whose.identity, whose.version);
        let attempt = Attempt::of(set, &answers, subject, whose.finished_at);
        let score = Score {
            metric_hash: metric_hash.clone(),
            mean_reward: report.mean_reward,
        };
        Self {
            format: FORMAT.to_owned(),
            role: whose.role.to_owned(),
            version: whose.version.to_owned(),
            model_id: whose.model_id.to_owned(),
            subject: Some(whose.subject.to_owned()),
            exam_hash: set.exam_hash.clone(),
            audit_id: set.audit_id.clone(),
            audit_version: set.version.clone(),
            metric_version: metric.metric_version.clone(),
            metric_hash,
            finished_at: whose.finished_at.to_owned(),
            cases: report.passed.n,
            passed: report.passed.hits,
            pass_rate: report.passed.value,
            pass_low: report.passed.low,
            pass_high: report.passed.high,
            mean_reward: report.mean_reward,
            verifier_failures: report.verifier_failures,
            wrong_answers: report.wrong_answers,
            graded: proof(&answers).n,
            ok: passes(report.passed) && before.is_none_or(|(_, margin)| report.holds(margin)),
            baseline: before.map(|(before, margin)| Baseline::from_report(before, &report, margin)),
            scores: BTreeMap::from([(metric.metric_version.clone(), score)]),
            answers,
            attempts: vec![attempt],
            seal: None,
        }
        .after(Vec::new())
    }

    /// Returns the text that a seal covers: all but the seal.
    #[must_use]
    pub fn sealed_text(&self) -> String {
        let unsealed = Self {
            seal: None,
            ..self.clone()
        };
        canonical::text(&serde_json::to_value(unsealed).unwrap_or_default())
    }

    /// Returns the answers, scored under a metric.
    #[must_use]
    pub fn under(&self, metric: &Metric) -> Vec<Answer> {
        let scored = self.answers.iter().cloned().map(|mut given| {
            given.score(metric);
            given.answer()
        });
        scored.collect()
    }

    /// Scores the record under another metric and keeps both scores. Returns the mean before and after.
    pub fn rescore(&mut self, metric: &Metric) -> (f64, f64) {
        let mean_reward = Report::of(&self.under(metric), None).mean_reward;
        let score = Score {
            metric_hash: metric.hash(),
            mean_reward,
        };
        self.scores.insert(metric.metric_version.clone(), score);
        (self.mean_reward, mean_reward)
    }

    /// Returns the pass rate with its bounds.
    #[must_use]
    pub fn rate(&self) -> Rate {
        rate(self.passed, self.cases)
    }

    /// Returns the pass rate of the cases that prove something: the graded ones, each input once.
    #[must_use]
    pub fn proof(&self) -> Rate {
        proof(&self.answers)
    }

    /// Returns `true` if the exam certifies: it has enough graded cases and was passed.
    #[must_use]
    pub fn certifies(&self) -> bool {
        self.is_graded() && self.is_passed()
    }

    /// Returns `true` if enough cases prove something; without them, a passed exam says nothing.
    #[must_use]
    pub fn is_graded(&self) -> bool {
        self.proof().n >= MIN_CASES
    }

    /// Returns `true` if the graded cases, all cases, and the attempts taken together passed.
    #[must_use]
    pub fn is_passed(&self) -> bool {
        let rates = [self.proof(), self.rate(), self.pooled().right];
        rates.into_iter().all(passes)
    }

    /// Returns as text how many cases prove something, which do not, and a remedy if there are too few.
    #[must_use]
    pub fn proof_said(&self) -> String {
        let copies = self.answers.iter().filter(|one| one.copy_of.is_some());
        let copies = copies.count() as u64;
        let graded = self.proof().n;
        let ungraded = self.cases.saturating_sub(copies + graded);
        let mut said = format!(
            "{graded} of {} cases are graded; {MIN_CASES} with different inputs are needed",
            self.cases
        );
        for (count, what) in [
            (
                ungraded,
                "not graded (nothing in them knows the right answer)",
            ),
            (copies, "copies of another case's input"),
        ] {
            if count > 0 {
                said.push_str(&format!("; {count} do not count: {what}"));
            }
        }
        if graded < MIN_CASES && ungraded > 0 {
            said.push_str(&format!(
                "; `roleos audit draft {:?} --set SET` proposes expected outputs for those that are not graded",
                self.role
            ));
        }
        let more = MIN_CASES.saturating_sub(graded + ungraded);
        if more > 0 {
            said.push_str(&format!("; add {more} cases with other inputs"));
        }
        said
    }
}

/// Returns the rate of passed answers among the graded ones, each input once.
fn proof(answers: &[Given]) -> Rate {
    let counted = answers.iter().filter(|given| given.is_proof());
    let hits = counted.clone().filter(|given| given.passed()).count();
    rate(hits as u64, counted.count() as u64)
}

/// Returns `true` if a pass rate is high enough to pass an exam.
#[must_use]
pub fn passes(rate: Rate) -> bool {
    rate.n > 0 && 100 * rate.hits >= PASS_PERCENT * rate.n
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::audit::AuditSet;

    fn set() -> AuditSet {
        let case = |input: &str| {
            json!({ "input": input, "expected_format": "rule_check", "verifier_config": {},
                "expected_output": "{\"title\":\"A b\",\"list\":[\"x\",\"y\"]}" })
        };
        let value =
            json!({ "audit_id": "s", "version": "v1", "test_cases": [case("a"), case("b")] });
        AuditSet::parse(&value).unwrap()
    }

    fn answers(set: &AuditSet, outputs: &[(&str, bool)]) -> Vec<Given> {
        let outputs = outputs.iter().enumerate();
        let given = outputs.map(|(index, (output, passed))| {
            let outcome = if *passed {
                Outcome::Pass
            } else {
                Outcome::Fail("no".to_owned())
            };
            let measured = Measured {
                output: json!(output),
                outcome,
                refusal_penalty: 0.0,
                time_ms: 1000,
                output_tokens: 100,
            };
            Given::of(index, &set.cases[index], measured, &Metric::v1())
        });
        given.collect()
    }

    fn record(outputs: &[(&str, bool)], baseline: Option<&AuditRecord>) -> AuditRecord {
        let baseline = baseline.map(|before| (before, 0.05));
        let whose = Whose {
            role: "editor",
            version: "v2",
            model_id: "m",
            subject: "s",
            identity: "s",
            finished_at: "2026-03-04T05:06:07Z",
        };
        let set = set();
        AuditRecord::of(whose, &set, &Metric::v1(), answers(&set, outputs), baseline)
    }

    const RIGHT: &str = "{\"title\":\"A b\",\"list\":[\"x\",\"y\"]}";

    #[test]
    fn an_answer_is_scored_by_what_was_measured() {
        let record = record(&[(RIGHT, true), ("nothing", false)], None);
        let first = &record.answers[0];
        assert_eq!(first.q1, Some(1.0));
        assert!((first.cost - 0.12).abs() < 1e-12);
        assert!((first.reward - (2.0 - 0.036)).abs() < 1e-12, "{first:?}");
        assert_eq!(record.answers[1].q1, Some(0.0));
        assert_eq!((record.cases, record.passed, record.ok), (2, 1, false));
        let text = serde_json::to_string(&record).unwrap();
        assert_eq!(serde_json::from_str::<AuditRecord>(&text).unwrap(), record);
    }

    #[test]
    fn a_wrong_answer_fails_its_case_whatever_the_verifier_says() {
        let spaced = "{ \"list\": [\"x\",\"y\"],  \"title\": \"A b\" }";
        let wrong = "{\"title\":\"Z\",\"list\":[\"q\"]}";
        let found = record(&[(spaced, true), (wrong, true)], None);
        assert_eq!((found.passed, found.wrong_answers), (1, 1));
        assert_eq!(
            (found.verifier_failures, found.graded, found.ok),
            (0, 2, false)
        );
        let reason = found.answers[1].reason.as_deref().unwrap();
        assert!(reason.contains("quality 0.40, 0.80 is needed"), "{reason}");
        assert!((found.answers[1].quality() - 0.4).abs() < 1e-12);
        let failed = record(&[(RIGHT, false), (RIGHT, true)], None);
        assert_eq!((failed.verifier_failures, failed.wrong_answers), (1, 0));
    }

    #[test]
    fn equality_and_verifiers_can_be_asked_for() {
        let near = "{\"title\":\"A b\",\"list\":[\"x\",\"y\",\"z\"]}";
        for (rule, answer, right) in [
            ("quality", near, true),
            ("exact", near, false),
            ("exact", RIGHT, true),
            ("verifier", "anything", true),
        ] {
            let value = json!({ "audit_id": "s", "version": "v1", "match": rule, "test_cases": [
                { "input": "a", "expected_format": "rule_check", "verifier_config": {}, "expected_output": RIGHT },
            ] });
            let set = AuditSet::parse(&value).unwrap();
            let given = answers(&set, &[(answer, true)]);
            assert_eq!(given[0].passed(), right, "{rule} {answer}");
        }
    }

    #[test]
    fn a_baseline_counts_only_under_the_same_exam() {
        let before = record(&[(RIGHT, true), (RIGHT, true)], None);
        assert!(before.ok);
        let worse = record(&[(RIGHT, true), ("x", false)], Some(&before));
        assert_eq!(worse.baseline.as_ref().unwrap().regressions, [1]);
        let same = record(&[(RIGHT, true), (RIGHT, true)], Some(&before));
        assert!(same.ok);
        let poorer = record(&[(RIGHT, true), ("{\"title\":\"A\"}", true)], Some(&before));
        assert!(!poorer.ok, "quality was lost: {:?}", poorer.baseline);
        let mut slow = answers(&set(), &[(RIGHT, true), (RIGHT, true)]);
        slow.iter_mut().for_each(|given| given.reward -= 0.5);
        let whose = Whose {
            role: "editor",
            version: "v3",
            model_id: "m",
            subject: "s",
            identity: "s",
            finished_at: "2026-03-04T05:06:07Z",
        };
        let slow = AuditRecord::of(whose, &set(), &Metric::v1(), slow, Some((&before, 0.0)));
        assert!(slow.ok, "time decides no exam: {:?}", slow.baseline);
        let mut other = before;
        other.exam_hash = "another".to_owned();
        assert_eq!(
            record(&[(RIGHT, true), ("x", false)], Some(&other)).baseline,
            None
        );
    }

    #[test]
    fn it_is_scored_again_under_another_metric() {
        let mut record = record(&[(RIGHT, true), ("{\"title\":\"A b\"}", true)], None);
        let mut next = Metric::v1();
        next.metric_version = "metric_v2".to_owned();
        (next.lambda, next.alpha_q1) = (0.0, 1.0);
        let (before, after) = record.rescore(&next);
        assert!((before - record.mean_reward).abs() < 1e-12);
        // Without cost, and with keys alone: 1 + 1 and 1 + 1/2.
        assert!((after - 1.75).abs() < 1e-12, "{after}");
        assert_eq!(record.scores.len(), 2);
        assert_eq!(
            record.metric_version, "metric_v1",
            "the record says what held then"
        );
    }
}
