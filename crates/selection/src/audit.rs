//! Fixed exams: an audit set, its hash (the `exam_hash` of a registry entry), and what a run through it comes to.

use serde_json::{Map, Value};

use crate::canonical;
use crate::manifest::Problem;
use crate::statistics::{Rate, rate};
use crate::verifier::Kind;

pub mod record;

pub use record::{AuditRecord, Given};

/// More cases than this are refused.
const MAX_CASES: usize = 100_000;

/// One case.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// The input.
    pub input: String,
    /// How the output is verified.
    pub kind: Kind,
    /// With which settings.
    pub config: Map<String, Value>,
    /// The right output, when it is known.
    pub expected_output: Option<String>,
}

/// A checked set.
#[derive(Clone, Debug, PartialEq)]
pub struct AuditSet {
    /// Its id.
    pub audit_id: String,
    /// Its version, `v1`.
    pub version: String,
    /// Its cases, at least one.
    pub cases: Vec<Case>,
    /// SHA-256 of the canonical JSON of all of it: two versions are compared only under one exam.
    pub exam_hash: String,
}

impl AuditSet {
    /// Reads a set.
    ///
    /// # Errors
    /// All problems, with their paths.
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
                    match Case::parse(item) {
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
        Ok(Self {
            audit_id,
            version,
            cases,
            exam_hash: canonical::hash(value),
        })
    }
}

impl Case {
    fn parse(value: &Value) -> Result<Self, (&'static str, String)> {
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
        Ok(Self {
            input: input.to_owned(),
            kind,
            config: config.clone(),
            expected_output,
        })
    }
}

/// What came of one case.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Answer {
    /// Whether the verifier passed it.
    pub passed: bool,
    /// What it was worth.
    pub reward: f64,
}

/// What an exam came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// The pass rate with its bounds.
    pub passed: Rate,
    /// The mean worth.
    pub mean_reward: f64,
    /// Cases, by index, that the baseline passed and this one failed.
    pub regressions: Vec<usize>,
    /// How much worth was lost against the baseline; negative when it was gained.
    pub lost_reward: Option<f64>,
}

impl Report {
    /// Sums an exam up, against a baseline's answers to the same exam when there are any.
    #[must_use]
    pub fn of(answers: &[Answer], baseline: Option<&[Answer]>) -> Self {
        let hits = answers.iter().filter(|answer| answer.passed).count();
        let regressions = baseline.map_or_else(Vec::new, |before| {
            let pairs = before.iter().zip(answers).enumerate();
            pairs
                .filter(|(_, (before, now))| before.passed && !now.passed)
                .map(|(index, _)| index)
                .collect()
        });
        let mean_reward = mean(answers);
        Self {
            passed: rate(hits as u64, answers.len() as u64),
            mean_reward,
            regressions,
            lost_reward: baseline.map(|before| mean(before) - mean_reward),
        }
    }

    /// Whether it may replace the baseline: nothing that passed fails now, and no more worth is lost than the margin.
    #[must_use]
    pub fn holds(&self, margin: f64) -> bool {
        self.regressions.is_empty() && self.lost_reward.is_none_or(|lost| lost <= margin + 1e-12)
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
        let answer = |passed, reward| Answer { passed, reward };
        let before = [answer(true, 1.0), answer(false, 0.0), answer(true, 1.0)];
        let better = Report::of(
            &[answer(true, 1.0), answer(true, 1.0), answer(true, 1.0)],
            Some(&before),
        );
        assert!(better.holds(0.0) && better.regressions.is_empty());
        let worse = Report::of(
            &[answer(true, 1.0), answer(true, 1.0), answer(false, 0.0)],
            Some(&before),
        );
        assert_eq!(worse.regressions, [2]);
        assert!(!worse.holds(0.0));
        let slower = Report::of(
            &[answer(true, 0.9), answer(false, 0.0), answer(true, 0.9)],
            Some(&before),
        );
        assert!(!slower.holds(0.0) && slower.holds(0.1));
        assert!(Report::of(&[], None).holds(0.0));
    }
}
