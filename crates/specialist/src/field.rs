//! The field log: one line a dispatch, and what the last lines add up to.
//!
//! The input is known by its hash. Its text is written only when the person wants that.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use crate::quota::Source;
use crate::text::head;

/// Longest text of an input that is kept, in characters.
const MAX_INPUT: usize = 4000;

/// Longest label of a verdict, in characters.
const MAX_LABEL: usize = 64;

/// Rows from which a test of drift means something.
pub const MIN_SAMPLES: u64 = 100;

/// Text as it is, else JSON with sorted keys, so that the same input has the same hash.
#[must_use]
pub fn canonical(input: &Value) -> String {
    match input {
        Value::String(text) => text.clone(),
        other => sorted(other).to_string(),
    }
}

fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(object) => {
            let ordered: BTreeMap<&String, &Value> = object.iter().collect();
            let entries = ordered.into_iter();
            Value::Object(
                entries
                    .map(|(key, value)| (key.clone(), sorted(value)))
                    .collect(),
            )
        }
        Value::Array(list) => Value::Array(list.iter().map(sorted).collect()),
        other => other.clone(),
    }
}

/// A dispatch as the field log tells it.
#[derive(Clone, Debug)]
pub struct Row<'a> {
    /// The role.
    pub role: &'a str,
    /// When.
    pub ts: &'a str,
    /// The caller's name for it.
    pub trace_id: &'a str,
    /// Its number among the role's dispatches; the order of the lines is that of the answers.
    pub number: Option<u64>,
    /// Where the gate sent it.
    pub route: Source,
    /// Who answered.
    pub source: Source,
    /// The version that answered or was asked.
    pub version: Option<&'a str>,
    /// The input.
    pub input: &'a Value,
    /// The answer.
    pub verdict: Option<&'a Value>,
    /// The backend's score.
    pub score: Option<f64>,
}

impl Row<'_> {
    /// The line, with its end; the input's text only with `keep_input`.
    #[must_use]
    pub fn line(&self, keep_input: bool) -> String {
        let text = canonical(self.input);
        let mut row = Map::new();
        let mut add = |key: &str, value: Value| {
            row.insert(key.to_owned(), value);
        };
        add("role", json!(self.role));
        add("ts", json!(self.ts));
        add("trace_id", json!(self.trace_id));
        if let Some(number) = self.number {
            add("number", json!(number));
        }
        add("route", json!(self.route.name()));
        add("source", json!(self.source.name()));
        if let Some(version) = self.version {
            add("version", json!(version));
        }
        add(
            "input_sha256",
            json!(hex::encode(Sha256::digest(text.as_bytes()))),
        );
        let length = text.chars().count();
        add("input_len", json!(length));
        if keep_input {
            add("input", json!(head(&text, MAX_INPUT)));
            if length > MAX_INPUT {
                add("input_truncated", json!(true));
            }
        }
        if let Some(label) = label(self.verdict) {
            add("verdict", json!(label));
        }
        if let Some(score) = self.score.filter(|_| self.source == Source::Specialist) {
            add("score", json!(score));
        }
        format!("{}\n", Value::Object(row))
    }
}

/// A verdict in a word.
fn label(verdict: Option<&Value>) -> Option<String> {
    match verdict? {
        Value::Null => None,
        Value::String(text) => Some(head(text, MAX_LABEL).to_owned()),
        value @ (Value::Number(_) | Value::Bool(_)) => Some(value.to_string()),
        value => Some(head(&value.to_string(), MAX_LABEL).to_owned()),
    }
}

/// What the last rows of a role add up to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Audit {
    /// How many rows were looked at.
    pub samples: u64,
    /// How many different inputs.
    pub distinct_inputs: u64,
    /// How many the adapter answered.
    pub specialist_served: u64,
    /// How many rows have each verdict.
    pub verdicts: BTreeMap<String, u64>,
    /// Mean of the scores.
    pub mean_score: Option<f64>,
    /// The last one.
    pub last_seen: Option<String>,
    /// Lines that are no rows.
    pub damaged: u64,
}

impl Audit {
    /// Adds the last `window` rows of a role up.
    #[must_use]
    pub fn of(log: &[u8], role: &str, window: u64) -> Self {
        let mut audit = Self::default();
        let mut rows = Vec::new();
        for line in log.split(|byte| *byte == b'\n') {
            let line = line.trim_ascii();
            if line.is_empty() {
                continue;
            }
            match serde_json::from_slice::<Value>(line) {
                Ok(row) if row.is_object() => {
                    if row.get("role").and_then(Value::as_str) == Some(role) {
                        rows.push(row);
                    }
                }
                _ => audit.damaged += 1,
            }
        }
        let surplus = rows.len() as u64 - window.min(rows.len() as u64);
        let last = rows.iter().skip(usize::try_from(surplus).unwrap_or(0));
        audit.add(last);
        audit
    }

    fn add<'a>(&mut self, rows: impl Iterator<Item = &'a Value>) {
        let mut inputs = BTreeSet::new();
        let mut scores = (0.0, 0_u32);
        for row in rows {
            let text = |key: &str| row.get(key).and_then(Value::as_str);
            self.samples += 1;
            inputs.extend(text("input_sha256"));
            self.specialist_served += u64::from(text("source") == Some("specialist"));
            if let Some(verdict) = text("verdict") {
                *self.verdicts.entry(verdict.to_owned()).or_default() += 1;
            }
            if let Some(score) = row.get("score").and_then(Value::as_f64) {
                scores = (scores.0 + score, scores.1 + 1);
            }
            self.last_seen = text("ts").map(str::to_owned).or(self.last_seen.take());
        }
        self.distinct_inputs = inputs.len() as u64;
        self.mean_score = (scores.1 > 0).then(|| scores.0 / f64::from(scores.1));
    }

    /// `unmonitored` without rows, else `accumulating`.
    #[must_use]
    pub fn state(&self) -> &'static str {
        if self.samples == 0 {
            "unmonitored"
        } else {
            "accumulating"
        }
    }

    /// Whether there are rows enough for a test.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.samples >= MIN_SAMPLES
    }
}
