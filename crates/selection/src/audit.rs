//! Fixed exams: an audit set, its hash (the `exam_hash` of a registry entry), and the report of a run through it.
//!
//! A case with an expected output is passed by a right answer: one that is equal after canonicalisation, or whose
//! quality reaches the floor. A set or a case can ask for equality alone, or leave the decision to its verifier.
//!
//! Only graded cases count for a certificate, and each input once: a case is graded when something in it knows the
//! right answer and not only its form, and it repeats another case when their inputs are alike ([`crate::likeness`])
//! and one answer is right for both.

use std::collections::HashMap;

use serde_json::{Map, Value};
use statistics::paired::{Comparison, Verdict};
use statistics::rate::{Rate, rate};
use statistics::{ERROR, sketch};

use crate::canonical;
use crate::likeness;
use crate::manifest::Problem;
use crate::metric::Metric;
use crate::promotion::PASS_PERCENT;
use crate::verifier::Kind;

mod attempt;
mod baseline;
pub mod draft;
pub mod record;

pub use record::{AuditRecord, Given};

/// Limit of cases per set; a larger set is refused.
const MAX_CASES: usize = 100_000;

/// Least number of cases that can certify a version.
pub const MIN_CASES: u64 = 30;

/// Least quality of a right answer, unless the set or the case sets its own floor.
pub const DEFAULT_FLOOR: f64 = 0.8;

/// Least floor of a graded case: below it, too many wrong answers pass.
pub const LEAST_FLOOR: f64 = 0.5;

/// Limit of right answers to other cases that a verifier is tried with.
const MOST_OTHERS: usize = 4;

/// Rule that decides when an answer is right, if the expected output is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Match {
    /// Equality after canonicalisation, or a quality of at least the floor.
    Quality,
    /// Equality after canonicalisation.
    Exact,
    /// The case's verifier, which knows more than one right answer.
    Verifier,
}

impl Match {
    fn parse(name: &str) -> Option<Self> {
        match name {
            "quality" => Some(Self::Quality),
            "exact" => Some(Self::Exact),
            "verifier" => Some(Self::Verifier),
            _ => None,
        }
    }
}

/// Rule and floor by which answers to a case are graded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Grading {
    pub rule: Match,
    /// Least quality of a right answer.
    pub floor: f64,
}

/// Case of an audit set.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    pub input: String,
    /// Kind of verifier for the output.
    pub kind: Kind,
    /// Settings of the verifier.
    pub config: Map<String, Value>,
    /// Expected output, if it is known.
    pub expected_output: Option<String>,
    /// Rule for comparing an answer with the expected output.
    pub grading: Grading,
    /// Set if the case knows a right answer: an expected output, tests, a rule that names the answer, or a verifier
    /// that is declared to decide and that is not the same for every input.
    pub graded: bool,
    /// Sketch of the input, for telling cases apart.
    pub sketch: String,
    /// Index of the first case that shows the same: its input is alike, and its right answer is right here too.
    pub copy_of: Option<usize>,
}

/// Parsed and checked audit set.
#[derive(Clone, Debug, PartialEq)]
pub struct AuditSet {
    pub audit_id: String,
    /// Version of the set, for example `v1`.
    pub version: String,
    /// Cases of the set, at least one.
    pub cases: Vec<Case>,
    /// SHA-256 of the canonical JSON of the whole set: two versions are compared only under one exam.
    pub exam_hash: String,
}

impl AuditSet {
    /// Parses and checks a set.
    ///
    /// # Errors
    /// Returns all problems with their paths.
    pub fn parse(value: &Value) -> Result<Self, Vec<Problem>> {
        let mut problems = Vec::new();
        let mut complain = |path: String, message: String| problems.push(Problem { path, message });
        let text = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
        let audit_id = text("audit_id").unwrap_or_else(|| {
            complain("audit_id".to_owned(), "is missing or no text".to_owned());
            String::new()
        });
        let version = text("version").unwrap_or_default();
        let number = version.strip_prefix('v').unwrap_or("");
        if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
            complain(
                "version".to_owned(),
                format!("`{version}` is not `v` and a number"),
            );
        }
        let usual = |by_test: bool| Grading {
            rule: match by_test {
                true => Match::Verifier,
                false => Match::Quality,
            },
            floor: DEFAULT_FLOOR,
        };
        if let Err((key, message)) = grading(value, usual(false)) {
            complain(key.to_owned(), message);
        }
        let of_set = |by_test| grading(value, usual(by_test)).unwrap_or_else(|_| usual(by_test));
        let mut cases = Vec::new();
        match value.get("test_cases") {
            Some(Value::Array(items)) if items.is_empty() => {
                complain("test_cases".to_owned(), "is empty".to_owned());
            }
            Some(Value::Array(items)) if items.len() > MAX_CASES => {
                complain(
                    "test_cases".to_owned(),
                    format!("has more than {MAX_CASES} cases"),
                );
            }
            Some(Value::Array(items)) => {
                for (index, item) in items.iter().enumerate() {
                    match Case::parse(item, of_set) {
                        Ok(case) => cases.push(case),
                        Err((key, message)) => {
                            complain(format!("test_cases[{index}].{key}"), message);
                        }
                    }
                }
            }
            _ => complain("test_cases".to_owned(), "is missing or no list".to_owned()),
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        mark(&mut cases);
        Ok(Self {
            audit_id,
            version,
            cases,
            exam_hash: canonical::hash(value),
        })
    }
}

impl Case {
    fn parse(
        value: &Value,
        of_set: impl Fn(bool) -> Grading,
    ) -> Result<Self, (&'static str, String)> {
        let Some(input) = value.get("input").and_then(Value::as_str) else {
            return Err(("input", "is missing or no text".to_owned()));
        };
        let name = value
            .get("expected_format")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let Some(kind) = Kind::parse(name) else {
            return Err((
                "expected_format",
                format!("`{name}` is no kind of verifier"),
            ));
        };
        let Some(config) = value.get("verifier_config").and_then(Value::as_object) else {
            return Err(("verifier_config", "is missing or no mapping".to_owned()));
        };
        let expected_output = match value.get("expected_output") {
            None => None,
            Some(Value::String(text)) => Some(text.clone()),
            Some(_) => return Err(("expected_output", "is no text".to_owned())),
        };
        // A test may distinguish right from wrong; a named right answer makes that unnecessary.
        let by_test = kind == Kind::UnitTest && expected_output.is_none();
        let grading = grading(value, of_set(by_test))?;
        Ok(Self {
            input: input.to_owned(),
            sketch: likeness::sketch(input, ""),
            kind,
            config: config.clone(),
            expected_output,
            grading,
            graded: false,
            copy_of: None,
        })
    }

    /// Returns `true` if only the verifier decides that an answer is right.
    #[must_use]
    pub fn is_left_to_verifier(&self) -> bool {
        self.grading.rule == Match::Verifier || self.expected_output.is_none()
    }

    /// Returns the right answers to other cases that a deciding verifier must reject for this case.
    #[must_use]
    pub fn others<'a>(&'a self, cases: &'a [Self]) -> Vec<&'a str> {
        let Some(own) = &self.expected_output else {
            return Vec::new();
        };
        let exact = Grading {
            rule: Match::Exact,
            ..self.grading
        };
        let is_same =
            |one: &str| record::matches(exact, &Metric::v1(), &Value::String(one.into()), own);
        let known = cases
            .iter()
            .filter_map(|case| case.expected_output.as_deref());
        let mut others: Vec<&str> = known.filter(|one| !is_same(one)).collect();
        others.sort_unstable();
        others.dedup();
        // The nearest ones are the hardest to tell apart.
        let at = others.partition_point(|one| *one < own.as_str());
        others.rotate_left(at);
        others.truncate(MOST_OTHERS);
        others
    }

    /// Returns `true` if the case knows a right answer.
    fn grades(&self, is_shared: bool) -> bool {
        let rule = self.config.get("rule").and_then(Value::as_str);
        let names_answer =
            self.kind == Kind::RuleCheck && matches!(rule, Some("exact" | "numeric"));
        // A command sees the input. A schema and a rule do not: one that fits every input knows the form alone.
        let sees_input = matches!(self.kind, Kind::UnitTest | Kind::StaticAnalysis);
        let is_known = self.expected_output.is_some();
        names_answer
            || match self.grading.rule {
                Match::Verifier => sees_input || !is_shared,
                Match::Exact => is_known,
                Match::Quality => is_known && self.grading.floor >= LEAST_FLOOR,
            }
    }

    /// Returns the right answer, if the case has one and answers are compared with it.
    fn known_answer(&self) -> Option<String> {
        let rule = self.config.get("rule").and_then(Value::as_str);
        let named = || match self.config.get("expected")? {
            Value::String(text) => Some(text.clone()),
            other => Some(other.to_string()),
        };
        match (&self.expected_output, self.grading.rule) {
            (Some(expected), Match::Quality | Match::Exact) => Some(expected.clone()),
            _ if self.kind == Kind::RuleCheck && matches!(rule, Some("exact" | "numeric")) => {
                named()
            }
            _ => None,
        }
    }

    /// Returns `true` if the case shows nothing that `other` does not show.
    fn repeats(&self, other: &Self) -> bool {
        let is_right_here = || {
            let (own, theirs) = (self.known_answer(), other.known_answer());
            own.zip(theirs).is_none_or(|(own, theirs)| {
                record::matches(self.grading, &Metric::v1(), &Value::String(theirs), &own)
            })
        };
        sketch::are_alike(&self.sketch, &other.sketch) && is_right_here()
    }

    /// Returns the verifier's kind and settings, without annotations.
    fn check(&self) -> (&'static str, String) {
        let config = without_notes(&Value::Object(self.config.clone()));
        (self.kind.as_str(), canonical::text(&config))
    }
}

/// Returns a verifier's settings without the annotations of schemas.
fn without_notes(value: &Value) -> Value {
    const NOTES: [&str; 5] = ["title", "description", "$comment", "default", "examples"];
    match value {
        Value::Array(items) => items.iter().map(without_notes).collect(),
        Value::Object(fields) => {
            let checking = fields.iter().filter(|(key, value)| {
                // Under `properties` these are names of fields, with a schema each.
                !NOTES.contains(&key.as_str()) || value.is_object()
            });
            let checking = checking.map(|(key, value)| (key.clone(), without_notes(value)));
            Value::Object(checking.collect())
        }
        other => other.clone(),
    }
}

/// Limit of cases that one case is compared with. A case with more different ones is not searched for copies.
const MOST_COMPARED: usize = 2000;

/// Marks the cases that are graded and the cases that repeat another. A check counts as shared when the cases that
/// have it would pass the exam alone: then one form of answer passes it.
fn mark(cases: &mut [Case]) {
    let all = cases.len() as u64;
    let mut checks: HashMap<(&str, String), u64> = HashMap::new();
    for case in cases.iter() {
        *checks.entry(case.check()).or_default() += 1;
    }
    let mut first: Vec<(usize, Case)> = Vec::new();
    for (index, case) in cases.iter_mut().enumerate() {
        let same = checks.get(&case.check()).copied().unwrap_or_default();
        case.graded = case.grades(100 * same >= PASS_PERCENT * all);
        let known = first.iter().find(|(_, other)| case.repeats(other));
        case.copy_of = known.map(|(index, _)| *index);
        if case.copy_of.is_none() && first.len() < MOST_COMPARED {
            first.push((index, case.clone()));
        }
    }
}

/// Parses `match` and `floor` of a set or a case; `usual` supplies the missing values.
fn grading(value: &Value, usual: Grading) -> Result<Grading, (&'static str, String)> {
    let rule = match value.get("match") {
        None => usual.rule,
        Some(name) => name.as_str().and_then(Match::parse).ok_or_else(|| {
            let what = format!("{name} is none of `quality`, `exact`, `verifier`");
            ("match", what)
        })?,
    };
    let floor = match value.get("floor") {
        None => usual.floor,
        Some(floor) => floor
            .as_f64()
            .filter(|floor| (0.0..=1.0).contains(floor))
            .ok_or_else(|| ("floor", format!("{floor} is not a number from 0 to 1")))?,
    };
    Ok(Grading { rule, floor })
}

/// Result of one case.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Answer {
    /// Set if the verifier passed the answer.
    pub verified: bool,
    /// Set if the answer is right, or no right output is known.
    pub right: bool,
    /// Quality from 0 to 1; time and price do not count.
    pub quality: f64,
    pub reward: f64,
    /// Set if another case of the exam has the same input; a copy proves nothing more.
    pub is_copy: bool,
}

impl Answer {
    /// Returns `true` if the verifier passed the answer and the answer is right.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.verified && self.right
    }
}

/// Summary of an exam.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Pass rate with its bounds.
    pub passed: Rate,
    /// Number of answers that the verifier failed.
    pub verifier_failures: u64,
    /// Number of answers that the verifier passed and that are not right.
    pub wrong_answers: u64,
    pub mean_reward: f64,
    /// Indices of the cases that the baseline passed and this version failed.
    pub regressions: Vec<usize>,
    /// Mean reward lost against the baseline; negative when gained. It includes time, so it decides nothing.
    pub lost_reward: Option<f64>,
    /// Comparison of the quality with the baseline's, case by case.
    pub comparison: Option<Comparison>,
}

impl Report {
    /// Summarises an exam, against a baseline's answers to the same exam if there are any.
    #[must_use]
    pub fn of(answers: &[Answer], baseline: Option<&[Answer]>) -> Self {
        let hits = answers.iter().filter(|answer| answer.passed()).count();
        let wrong = |answer: &&Answer| answer.verified && !answer.right;
        let comparison = baseline.map(|before| {
            let pairs = answers.iter().zip(before);
            let differences: Vec<f64> = pairs
                .filter(|(now, _)| !now.is_copy)
                .map(|(now, before)| now.quality - before.quality)
                .collect();
            Comparison::of(&differences, ERROR)
        });
        let regressions = baseline.map_or_else(Vec::new, |before| {
            let pairs = before.iter().zip(answers).enumerate();
            pairs
                .filter(|(_, (before, now))| before.passed() && !now.passed())
                .map(|(index, _)| index)
                .collect()
        });
        let mean_reward = mean(answers);
        Self {
            passed: rate(hits as u64, answers.len() as u64),
            verifier_failures: answers.iter().filter(|answer| !answer.verified).count() as u64,
            wrong_answers: answers.iter().filter(wrong).count() as u64,
            mean_reward,
            regressions,
            lost_reward: baseline.map(|before| mean(before) - mean_reward),
            comparison,
        }
    }

    /// Returns `true` if the version may replace the baseline: on the same cases its quality is not worse by more
    /// than the margin.
    #[must_use]
    pub fn holds(&self, margin: f64) -> bool {
        self.comparison
            .is_none_or(|found| found.verdict(margin) != Verdict::Worse)
    }
}

#[expect(clippy::cast_precision_loss, reason = "a count of cases")]
fn mean(answers: &[Answer]) -> f64 {
    if answers.is_empty() {
        return 0.0;
    }
    answers.iter().map(|answer| answer.reward).sum::<f64>() / answers.len() as f64
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn sound() -> Value {
        json!({ "audit_id": "summaries", "version": "v1", "test_cases": [
            { "input": "a", "expected_format": "rule_check", "verifier_config": { "rule": "exact", "expected": "A" }, "expected_output": "A" }
        ] })
    }

    #[track_caller]
    fn check(change: impl FnOnce(&mut Value), expected: &[&str]) {
        let mut value = sound();
        change(&mut value);
        let paths: Vec<String> = AuditSet::parse(&value)
            .err()
            .unwrap_or_default()
            .into_iter()
            .map(|problem| problem.path)
            .collect();
        assert_eq!(paths, expected);
    }

    #[test]
    fn a_set_is_checked_whole() {
        check(|_| {}, &[]);
        check(|value| value["version"] = json!("audit_v1"), &["version"]);
        check(|value| value["test_cases"] = json!([]), &["test_cases"]);
        check(
            |value| value["test_cases"][0]["expected_format"] = json!("eyes"),
            &["test_cases[0].expected_format"],
        );
        check(
            |value| value["test_cases"][0]["expected_output"] = json!(3),
            &["test_cases[0].expected_output"],
        );
        check(
            |value| *value = json!({}),
            &["audit_id", "version", "test_cases"],
        );
        check(|value| value["floor"] = json!(1.5), &["floor"]);
        check(|value| value["match"] = json!("roughly"), &["match"]);
        check(
            |value| value["test_cases"][0]["floor"] = json!("high"),
            &["test_cases[0].floor"],
        );
    }

    #[test]
    fn a_case_is_graded_by_its_own_rule_else_by_the_sets() {
        let mut value = sound();
        value["floor"] = json!(0.5);
        let case = value["test_cases"][0].clone();
        let mut own = case.clone();
        own["match"] = json!("exact");
        own["floor"] = json!(0.9);
        let mut tested = case.clone();
        tested["expected_format"] = json!("unit_test");
        let mut only_tested = tested.clone();
        only_tested
            .as_object_mut()
            .unwrap()
            .remove("expected_output");
        tested["expected_output"] = json!("x");
        value["test_cases"] = json!([case, own, tested, only_tested]);
        let set = AuditSet::parse(&value).unwrap();
        let found: Vec<(Match, f64)> = set
            .cases
            .iter()
            .map(|case| (case.grading.rule, case.grading.floor))
            .collect();
        assert_eq!(
            found,
            [
                (Match::Quality, 0.5),
                (Match::Exact, 0.9),
                (Match::Quality, 0.5),
                (Match::Verifier, 0.5)
            ]
        );
    }

    /// Grades each kind of case, and finds equal inputs.
    #[test]
    fn cases_are_graded_by_what_knows_the_answer_and_inputs_count_once() {
        let schema = json!({ "schema": { "type": "object" } });
        let noted = |note: &str| json!({ "schema": { "type": "object", "title": note, "properties": { "title": { "description": note } } } });
        let exact = json!({ "rule": "exact", "expected": "A" });
        let contains = |text: &str| json!({ "rule": "contains", "text": text });
        let case = |input: &str, kind: &str, config: &Value| json!({ "input": input, "expected_format": kind, "verifier_config": config });
        let said = |mut case: Value| {
            case["match"] = json!("verifier");
            case
        };
        let answered = |mut case: Value| {
            case["expected_output"] = json!("A");
            case
        };
        let table = [
            (
                "a form",
                vec![case("a", "json_schema", &schema)],
                vec![false],
            ),
            (
                "a known answer",
                vec![answered(case("a", "json_schema", &schema))],
                vec![true],
            ),
            (
                "a rule that names it",
                vec![case("a", "rule_check", &exact)],
                vec![true],
            ),
            (
                "tests",
                vec![case("a", "unit_test", &json!({ "command": ["t"] }))],
                vec![true],
            ),
            (
                "one form for all, said to decide",
                vec![
                    said(case("a", "json_schema", &schema)),
                    said(case("b", "json_schema", &schema)),
                ],
                vec![false, false],
            ),
            (
                "verifiers of their own, said to decide",
                vec![
                    said(case("a", "rule_check", &contains("x"))),
                    said(case("b", "rule_check", &contains("y"))),
                    case("c", "rule_check", &contains("z")),
                ],
                vec![true, true, false],
            ),
            (
                "schemas that differ in annotations",
                vec![
                    said(case("a", "json_schema", &noted("one"))),
                    said(case("b", "json_schema", &noted("two"))),
                ],
                vec![false, false],
            ),
            (
                "a form that is said to decide beside a known answer",
                vec![answered(said(case("a", "json_schema", &schema)))],
                vec![false],
            ),
            (
                "floors",
                [0.0, 0.49, 0.5]
                    .map(|floor| {
                        let mut case = answered(case("a", "json_schema", &schema));
                        case["floor"] = json!(floor);
                        case
                    })
                    .into(),
                vec![false, false, true],
            ),
        ];
        for (name, cases, graded) in table {
            let value = json!({ "audit_id": "s", "version": "v1", "test_cases": cases });
            let set = AuditSet::parse(&value).unwrap();
            let found: Vec<bool> = set.cases.iter().map(|case| case.graded).collect();
            assert_eq!(found, graded, "{name}");
        }
    }

    /// Regression: an appended number, or another field, turned one case into an exam of thirty.
    #[test]
    fn a_case_repeats_another_when_one_answer_is_right_for_both() {
        let copies = |cases: Vec<(String, &str, &str)>| -> Vec<Option<usize>> {
            let case = |(input, rule, expected): (String, &str, &str)| {
                json!({ "input": input, "expected_format": "rule_check", "match": rule,
                    "verifier_config": { "rule": "regex", "pattern": "." }, "expected_output": expected })
            };
            let cases: Vec<Value> = cases.into_iter().map(case).collect();
            let value = json!({ "audit_id": "s", "version": "v1", "test_cases": cases });
            let cases = AuditSet::parse(&value).unwrap().cases;
            cases.iter().map(|case| case.copy_of).collect()
        };
        let text = |text: &str| text.to_owned();
        for (name, one, other, is_copy) in [
            (
                "a number",
                (text("a b"), "quality", "A"),
                (text("a b ---5"), "quality", "A"),
                true,
            ),
            (
                "a field",
                (text(r#"{"q":"a b"}"#), "exact", "A"),
                (text(r#"{"q":"a b","n":5}"#), "exact", "A"),
                true,
            ),
            (
                "a word more in the answer",
                (text("a b 1"), "quality", "to be sent"),
                (text("a b 2"), "quality", "to be sent soon"),
                true,
            ),
            (
                "another sum",
                (text("what is 1 plus 2"), "exact", "3"),
                (text("what is 3 plus 4"), "exact", "7"),
                false,
            ),
            (
                "answers that nothing compares",
                (text("a b 1"), "verifier", "x"),
                (text("a b 2"), "verifier", "y"),
                true,
            ),
            (
                "another input",
                (text("a b"), "exact", "A"),
                (text("c"), "exact", "A"),
                false,
            ),
        ] {
            let expected = [None, is_copy.then_some(0)];
            assert_eq!(copies(vec![one, other]), expected, "{name}");
        }
    }

    #[test]
    fn the_hash_is_of_the_content() {
        let one = AuditSet::parse(&sound()).unwrap();
        let text = serde_json::to_string_pretty(&sound()).unwrap();
        let other = AuditSet::parse(&serde_json::from_str(&text).unwrap()).unwrap();
        assert_eq!(one.exam_hash, other.exam_hash);
        let mut changed = sound();
        changed["test_cases"][0]["input"] = json!("b");
        assert_ne!(AuditSet::parse(&changed).unwrap().exam_hash, one.exam_hash);
    }

    #[test]
    fn a_regression_is_a_case_that_passed_before() {
        let answer = |passed, reward| Answer {
            verified: passed,
            right: true,
            quality: f64::from(u8::from(passed)),
            reward,
            is_copy: false,
        };
        let before = [answer(true, 1.0), answer(false, 0.0), answer(true, 1.0)];
        let better = Report::of(
            &[answer(true, 1.0), answer(true, 1.0), answer(true, 1.0)],
            Some(&before),
        );
        assert!(better.holds(0.0) && better.regressions.is_empty());
        let changed = Report::of(
            &[answer(true, 1.0), answer(true, 1.0), answer(false, 0.0)],
            Some(&before),
        );
        assert_eq!(changed.regressions, [2]);
        assert!(changed.holds(0.0), "one was lost and one gained");
        let worse = Report::of(
            &[answer(true, 1.0), answer(false, 0.0), answer(false, 0.0)],
            Some(&before),
        );
        assert!(!worse.holds(0.3) && worse.holds(0.4));
        let slower = Report::of(
            &[answer(true, 0.2), answer(false, 0.0), answer(true, 0.2)],
            Some(&before),
        );
        assert!(slower.holds(0.0), "time decides no exam");
        let copy = Answer {
            is_copy: true,
            ..answer(true, 1.0)
        };
        let copied = [vec![answer(false, 0.0)], vec![copy; 40]].concat();
        let found = Report::of(&copied, Some(&vec![answer(true, 1.0); 41])).comparison;
        assert_eq!(
            found.map(|found| found.n),
            Some(1),
            "forty copies prove nothing"
        );
        assert!(Report::of(&[], None).holds(0.0));
    }
}
