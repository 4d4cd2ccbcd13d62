//! Verifiers: the contract that an output must meet to win. Verifying by text happens here; a verifier that runs a
//! program is declared here and run by the host, in a sandbox.
//!
//! A verifier that cannot run has failed the output, with a reason; it never passes one.

use std::fmt;

use json_schema::Schema;
use regex::{Regex, RegexBuilder};
use serde_json::Value;

use crate::output;

pub mod declared;

pub use declared::{Declared, Step};

/// Largest compiled pattern of a rule, in bytes.
const MAX_PATTERN: usize = 1024 * 1024;

/// Outputs that only a pattern that matches everything has in common.
const ANYTHING: [&str; 5] = ["", "\u{1}", "a b", "0", "{}\n[]"];

/// Result of a verifier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The output meets the contract.
    Pass,
    /// The output does not meet it, with the reason.
    Fail(String),
}

impl Outcome {
    /// Returns `true` if the output passed.
    #[must_use]
    pub fn passed(&self) -> bool {
        *self == Self::Pass
    }

    /// Returns the name in the log.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Pass => "PASS",
            Self::Fail(_) => "FAIL",
        }
    }
}

/// Kind of verifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The output is JSON that fits a schema.
    JsonSchema,
    /// A command that runs tests succeeds.
    UnitTest,
    /// A command that looks for defects finds none.
    StaticAnalysis,
    /// The output keeps written rules.
    RuleCheck,
}

impl Kind {
    /// All kinds, in the order of the schema.
    pub const ALL: [Self; 4] = [
        Self::JsonSchema,
        Self::UnitTest,
        Self::StaticAnalysis,
        Self::RuleCheck,
    ];

    /// Returns the name in manifests.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::JsonSchema => "json_schema",
            Self::UnitTest => "unit_test",
            Self::StaticAnalysis => "static_analysis",
            Self::RuleCheck => "rule_check",
        }
    }

    /// Returns the kind of this name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }

    /// Returns the supported conditions. They are compared as text, never evaluated.
    #[must_use]
    pub fn conditions(self) -> &'static [&'static str] {
        match self {
            Self::JsonSchema => &["schema_valid == true", "schema_valid"],
            Self::UnitTest => &["exit_code == 0", "tests_passed == true", "all_tests_pass"],
            Self::StaticAnalysis => &["exit_code == 0", "issues == 0", "no_issues"],
            Self::RuleCheck => &["rules_match == true", "rules_match", "rule_match == true"],
        }
    }

    /// Returns `true` if a condition is supported; runs of blanks count as one.
    #[must_use]
    pub fn knows(self, condition: &str) -> bool {
        let words: Vec<&str> = condition.split_whitespace().collect();
        self.conditions().contains(&words.join(" ").as_str())
    }
}

/// Reason that a verifier cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadVerifier(pub String);

/// Verifier that needs only the output. Built once, used for many outputs.
pub enum Verifier {
    /// `json_schema`
    Schema(Box<Schema>),
    /// `rule_check`
    Rules(Vec<Rule>),
}

impl fmt::Debug for Verifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Schema(_) => f.write_str("Verifier::Schema"),
            Self::Rules(rules) => f.debug_tuple("Verifier::Rules").field(rules).finish(),
        }
    }
}

/// One rule of a `rule_check`.
#[derive(Clone, Debug)]
pub enum Rule {
    /// The text matches a pattern.
    Matches(Regex),
    /// The text equals this, blanks at the ends aside.
    Is(String),
    /// The text contains this.
    Contains(String),
    /// The text is a number near another.
    Near {
        /// The other number.
        expected: f64,
        /// Largest difference.
        tolerance: f64,
    },
}

impl Verifier {
    /// Builds a verifier for a JSON Schema. References to other documents are refused: no network, no file.
    ///
    /// # Errors
    /// Fails if the schema is invalid, or refers to another document.
    pub fn json_schema(schema: &Value) -> Result<Self, BadVerifier> {
        if !schema.is_object() && !schema.is_boolean() {
            return Err(BadVerifier("the schema is no JSON object".to_owned()));
        }
        Schema::new(schema)
            .map(|schema| Self::Schema(Box::new(schema)))
            .map_err(|error| BadVerifier(format!("the schema cannot be used: {error}")))
    }

    /// Builds a verifier for written rules: `{"rule": "regex"|"exact"|"contains"|"numeric", …}`, or a list of them
    /// under `rules`.
    ///
    /// # Errors
    /// Fails if a rule is unknown or malformed, or there is none.
    pub fn rules(config: &Value) -> Result<Self, BadVerifier> {
        let rules = match config.get("rules") {
            Some(Value::Array(rules)) => rules
                .iter()
                .map(Rule::parse)
                .collect::<Result<Vec<_>, _>>()?,
            Some(_) => return Err(BadVerifier("`rules` is no list".to_owned())),
            None => vec![Rule::parse(config)?],
        };
        if rules.is_empty() {
            return Err(BadVerifier(
                "`rules` is empty: nothing would be checked".to_owned(),
            ));
        }
        Ok(Self::Rules(rules))
    }

    /// Verifies a value against the contract: the value itself against a schema, its text against rules.
    #[must_use]
    pub fn verify_value(&self, output: &Value) -> Outcome {
        match self {
            Self::Schema(schema) => {
                if matches!(output, Value::String(text) if text.trim().is_empty()) {
                    return Outcome::Fail("the output is empty".to_owned());
                }
                validate(schema, output)
            }
            Self::Rules(_) => self.verify(&output::text(output)),
        }
    }

    /// Verifies an output against the contract.
    #[must_use]
    pub fn verify(&self, output: &str) -> Outcome {
        if output.trim().is_empty() {
            return Outcome::Fail("the output is empty".to_owned());
        }
        match self {
            Self::Schema(schema) => match parsed(output) {
                Ok(value) => validate(schema, &value),
                Err(why) => Outcome::Fail(why),
            },
            Self::Rules(rules) => rules
                .iter()
                .find_map(|rule| rule.broken_by(output))
                .map_or(Outcome::Pass, Outcome::Fail),
        }
    }
}

/// Parses the JSON of an output; JSON inside a JSON string is extracted first, as models often wrap it.
///
/// # Errors
/// Fails if the output is not JSON.
pub fn parsed(output: &str) -> Result<Value, String> {
    let value: Value =
        serde_json::from_str(output).map_err(|error| format!("the output is no JSON: {error}"))?;
    match &value {
        Value::String(inner) => Ok(serde_json::from_str(inner).unwrap_or(value)),
        _ => Ok(value),
    }
}

fn validate(schema: &Schema, value: &Value) -> Outcome {
    let first = schema.violations(value).into_iter().next();
    first.map_or(Outcome::Pass, |violation| {
        let place = if violation.place.is_empty() {
            "the output".to_owned()
        } else {
            format!("`{}`", violation.place)
        };
        Outcome::Fail(format!("{place}: {}", violation.reason))
    })
}

/// Returns the type of a value as text.
fn kind(value: &Value) -> &'static str {
    match value {
        Value::Object(_) => "an object",
        Value::Array(_) => "a list",
        Value::Null => "null",
        Value::Bool(_) | Value::Number(_) | Value::String(_) => "a value",
    }
}

impl Rule {
    fn parse(config: &Value) -> Result<Self, BadVerifier> {
        let text = |key: &str| {
            config
                .get(key)
                .and_then(Value::as_str)
                .map(str::to_owned)
                .ok_or_else(|| BadVerifier(format!("a rule has no text `{key}`")))
        };
        let number = |key: &str| {
            config
                .get(key)
                .and_then(Value::as_f64)
                .filter(|number| number.is_finite())
        };
        match config.get("rule").and_then(Value::as_str) {
            Some("regex") => {
                let pattern = RegexBuilder::new(&text("pattern")?)
                    .size_limit(MAX_PATTERN)
                    .build()
                    .map_err(|error| BadVerifier(format!("a rule has a bad `pattern`: {error}")))?;
                if ANYTHING.iter().all(|output| pattern.is_match(output)) {
                    return Err(BadVerifier(format!(
                        "the pattern `{pattern}` matches every output, so it checks nothing"
                    )));
                }
                Ok(Self::Matches(pattern))
            }
            Some("exact") => text("expected").map(Self::Is),
            Some("contains") => match text("text")? {
                text if text.trim().is_empty() => Err(BadVerifier(
                    "a rule's `text` is empty: every output contains it".to_owned(),
                )),
                text => Ok(Self::Contains(text)),
            },
            Some("numeric") => {
                let expected = number("expected")
                    .ok_or_else(|| BadVerifier("a rule has no number `expected`".to_owned()))?;
                let tolerance = match config.get("tolerance") {
                    None => 0.0,
                    Some(_) => number("tolerance")
                        .filter(|tolerance| *tolerance >= 0.0)
                        .ok_or_else(|| BadVerifier("a rule has a bad `tolerance`".to_owned()))?,
                };
                Ok(Self::Near {
                    expected,
                    tolerance,
                })
            }
            Some(other) => Err(BadVerifier(format!(
                "`{other}` is no rule; there are `regex`, `exact`, `contains` and `numeric`"
            ))),
            None => Err(BadVerifier(match config.get("rule") {
                Some(other) => format!(
                    "`rule` is {}, and must be one of the names `regex`, `exact`, `contains` and `numeric`, with what it compares beside it: {{\"rule\": \"exact\", \"expected\": …}}",
                    kind(other)
                ),
                None => "a rule has no text `rule`".to_owned(),
            })),
        }
    }

    /// Returns why an output breaks the rule.
    fn broken_by(&self, output: &str) -> Option<String> {
        let output = output.trim();
        match self {
            Self::Matches(pattern) => {
                (!pattern.is_match(output)).then(|| format!("does not match `{pattern}`"))
            }
            Self::Is(expected) => {
                (output != expected.trim()).then(|| format!("is not `{expected}`"))
            }
            Self::Contains(text) => {
                (!output.contains(text.as_str())).then(|| format!("does not contain `{text}`"))
            }
            Self::Near {
                expected,
                tolerance,
            } => match output.parse::<f64>() {
                Ok(number) if is_near(number, *expected, *tolerance) => None,
                Ok(_) => Some(format!("is not within {tolerance} of {expected}")),
                Err(_) => Some("is no number".to_owned()),
            },
        }
    }
}

/// Returns `true` if a number is within the tolerance, with room for the rounding of decimal fractions: 1.1 is within
/// 0.1 of 1.
fn is_near(number: f64, expected: f64, tolerance: f64) -> bool {
    let rounding = 4.0 * f64::EPSILON * number.abs().max(expected.abs());
    (number - expected).abs() <= tolerance + rounding
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(verifier: &Verifier, output: &str, expected: bool) {
        let outcome = verifier.verify(output);
        assert_eq!(outcome.passed(), expected, "{output} → {outcome:?}");
    }

    #[test]
    fn json_is_held_against_its_schema() {
        let schema = json!({ "type": "object", "required": ["title"], "properties": { "title": { "type": "string", "minLength": 1 } } });
        let verifier = Verifier::json_schema(&schema).unwrap();
        check(&verifier, r#"{"title":"A"}"#, true);
        check(&verifier, r#""{\"title\":\"A\"}""#, true);
        check(&verifier, r#"{"title":""}"#, false);
        check(&verifier, "{}", false);
        check(&verifier, "", false);
        check(&verifier, "{", false);
        check(&verifier, "[]", false);
    }

    #[test]
    fn a_failure_names_the_place_and_not_the_secret() {
        let schema = json!({ "properties": { "a": { "type": "integer" } } });
        let outcome = Verifier::json_schema(&schema)
            .unwrap()
            .verify(r#"{"a":"s3cret"}"#);
        let Outcome::Fail(why) = outcome else {
            panic!("it passed")
        };
        assert!(why.contains("/a") && !why.contains("s3cret"), "{why}");
    }

    #[test]
    fn a_schema_may_not_reach_out() {
        for reference in [
            "http://127.0.0.1:9/x.json",
            "file:///etc/passwd",
            "other.json",
        ] {
            let schema = json!({ "$ref": reference });
            assert!(Verifier::json_schema(&schema).is_err(), "{reference}");
        }
        assert!(Verifier::json_schema(&json!("text")).is_err());
        assert!(Verifier::json_schema(&json!({ "type": "no such type" })).is_err());
    }

    #[test]
    fn rules_hold_or_say_why_not() {
        let rules = |config: Value| Verifier::rules(&config).unwrap();
        check(
            &rules(json!({ "rule": "regex", "pattern": "^\\d+$" })),
            " 42 ",
            true,
        );
        check(
            &rules(json!({ "rule": "regex", "pattern": "^\\d+$" })),
            "4x",
            false,
        );
        check(
            &rules(json!({ "rule": "exact", "expected": "yes" })),
            "yes\n",
            true,
        );
        check(
            &rules(json!({ "rule": "exact", "expected": "yes" })),
            "Yes",
            false,
        );
        check(
            &rules(json!({ "rule": "contains", "text": "ok" })),
            "all ok",
            true,
        );
        check(
            &rules(json!({ "rule": "numeric", "expected": 2.5, "tolerance": 0.01 })),
            "2.509",
            true,
        );
        check(
            &rules(json!({ "rule": "numeric", "expected": 1.0, "tolerance": 0.1 })),
            "1.1",
            true,
        );
        check(
            &rules(json!({ "rule": "numeric", "expected": 1.0, "tolerance": 0.1 })),
            "1.1000001",
            false,
        );
        check(
            &rules(json!({ "rule": "numeric", "expected": 3 })),
            "3.1",
            false,
        );
        check(
            &rules(json!({ "rule": "numeric", "expected": 3 })),
            "NaN",
            false,
        );
        check(
            &rules(
                json!({ "rules": [{ "rule": "contains", "text": "a" }, { "rule": "contains", "text": "b" }] }),
            ),
            "a",
            false,
        );
    }

    #[test]
    fn a_bad_rule_is_refused_when_it_is_made() {
        for config in [
            json!({}),
            json!({ "rules": [] }),
            json!({ "rules": 3 }),
            json!({ "rule": "eval", "code": "1" }),
            json!({ "rule": "regex", "pattern": "(" }),
            json!({ "rule": "regex", "pattern": "(a{1000}){1000}" }),
            json!({ "rule": "numeric", "expected": 1, "tolerance": -1 }),
            json!({ "rule": "exact" }),
            json!({ "rule": "regex", "pattern": "" }),
            json!({ "rule": "regex", "pattern": "(?s).*" }),
            json!({ "rule": "contains", "text": " " }),
        ] {
            assert!(Verifier::rules(&config).is_err(), "{config}");
        }
        for (rule, what) in [
            (json!({ "exact": "yes" }), "`rule` is an object"),
            (json!(["exact"]), "`rule` is a list"),
            (json!(null), "`rule` is null"),
        ] {
            let why = Verifier::rules(&json!({ "rule": rule })).unwrap_err();
            assert!(why.to_string().contains(what), "{why}");
            assert!(why.to_string().contains("{\"rule\": \"exact\""), "{why}");
        }
    }

    #[test]
    fn conditions_are_a_closed_set() {
        assert!(Kind::JsonSchema.knows("schema_valid  ==  true"));
        assert!(!Kind::JsonSchema.knows("schema_valid == false"));
        assert!(!Kind::UnitTest.knows("__import__('os')"));
        assert_eq!(Kind::parse("jsonschema"), None);
    }
}
