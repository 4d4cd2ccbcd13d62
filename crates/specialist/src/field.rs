//! The field log: one line per dispatch, and the statistics of the last lines.
//!
//! The input is known by its hash. Its text is written only if the user enables that.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use crate::event::{Kind, Log};
use crate::quota::Source;
use crate::text::head;

/// Limit of the characters kept of an input's text.
const MAX_INPUT: usize = 4000;

/// Limit of the characters of a verdict's label.
const MAX_LABEL: usize = 64;

/// Least number of rows for a test of drift.
pub const MIN_SAMPLES: u64 = 100;

/// Least number of answers on either side for a change of their verdicts.
const MIN_DRIFT: u64 = 30;

/// Number of different verdicts above which they are texts, not labels.
const MAX_LABELS: usize = 20;

/// Published share of changed verdicts from which an adapter is stale in any case.
const LARGE_DRIFT: f64 = 0.35;

/// The `mode` of a learning run.
const LEARNING: &str = "learn";

/// Reason of a dropped probe whose two answers could not be compared.
pub const INCOMPARABLE: &str = "incomparable";

/// Returns text as it is, else JSON with sorted keys, so that equal inputs have equal hashes.
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

/// A dispatch in the field log.
#[derive(Clone, Debug)]
pub struct Row<'a> {
    pub role: &'a str,
    /// Time of the dispatch.
    pub ts: &'a str,
    /// Id given by the caller.
    pub trace_id: &'a str,
    /// Number among the role's dispatches; the lines are in the order of the answers.
    pub number: Option<u64>,
    /// Set for a learning run, which says nothing about the traffic.
    pub learning: bool,
    /// Route chosen by the gate.
    pub route: Source,
    /// Source of the answer.
    pub source: Source,
    /// Version that answered or was called.
    pub version: Option<&'a str>,
    pub input: &'a Value,
    pub verdict: Option<&'a Value>,
    /// Score by the backend.
    pub score: Option<f64>,
}

impl Row<'_> {
    /// Returns the line with its end; the input's text only with `keep_input`.
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
        if self.learning {
            add("mode", json!(LEARNING));
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

/// Returns a verdict as a short label.
fn label(verdict: Option<&Value>) -> Option<String> {
    match verdict? {
        Value::Null => None,
        Value::String(text) => Some(head(text, MAX_LABEL).to_owned()),
        value @ (Value::Number(_) | Value::Bool(_)) => Some(value.to_string()),
        value => Some(head(&value.to_string(), MAX_LABEL).to_owned()),
    }
}

/// Statistics of the last rows of a role.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Audit {
    /// Number of rows.
    pub samples: u64,
    /// Number of different inputs.
    pub distinct_inputs: u64,
    /// Number of rows that the adapter answered.
    pub specialist_served: u64,
    /// Number of rows that the gate gave to an adapter whose answer was not served: it was missing, or failed its
    /// verifier.
    pub not_served: u64,
    /// Number of the adapter's answers by verdict.
    pub verdicts: BTreeMap<String, u64>,
    /// Number of the general model's answers by verdict.
    pub general_verdicts: BTreeMap<String, u64>,
    /// Mean of the adapter's scores.
    pub mean_score: Option<f64>,
    /// Number of the adapter's answers that were compared with the general model's.
    pub probes: u64,
    /// Number of those that agreed.
    pub agreed: u64,
    /// Number of answers that could not be compared, and count neither way.
    pub incomparable: u64,
    /// Difference between these rows and as many before them; `None` if it is unknown.
    pub drift: Option<Drift>,
    /// Time of the last row.
    pub last_seen: Option<String>,
    /// Number of lines in the range that are not rows.
    pub damaged: u64,
}

/// Change of the adapter's answers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drift {
    /// Half the sum of the differences between the verdicts' shares: 0 if nothing changed, 1 if everything did.
    pub verdicts: f64,
    /// Mean score now, minus the mean score before.
    pub score: Option<f64>,
}

impl Drift {
    /// Returns `true` if the change is large enough for a review.
    #[must_use]
    pub fn is_large(&self) -> bool {
        self.verdicts >= LARGE_DRIFT
    }
}

impl Audit {
    /// Sums the last `window` rows of a role's traffic, without learning runs. `probes` are the logs with the
    /// comparisons.
    #[must_use]
    pub fn of(log: &[u8], probes: &[&Log], role: &str, window: u64) -> Self {
        let mut damaged = 0;
        let window = usize::try_from(window).unwrap_or(usize::MAX);
        let rows = last_rows(log, role, window.saturating_mul(2), &mut damaged);
        let (now, before) = rows.split_at(window.min(rows.len()));
        let mut audit = Self::sum(now);
        audit.compare(now, probes, role);
        audit.drift = Self::sum(before).drift_to(&audit);
        audit.damaged = damaged;
        audit
    }

    /// Sums rows, newest first.
    fn sum(rows: &[Value]) -> Self {
        let mut audit = Self::default();
        let mut inputs = BTreeSet::new();
        let mut scores = (0.0, 0_u32);
        for row in rows {
            let text = |key: &str| row.get(key).and_then(Value::as_str);
            let served = text("source") == Some(Source::Specialist.name());
            audit.samples += 1;
            inputs.extend(text("input_sha256"));
            audit.specialist_served += u64::from(served);
            let was_sent = text("route") == Some(Source::Specialist.name());
            audit.not_served += u64::from(was_sent && !served);
            if let Some(verdict) = text("verdict") {
                let list = if served {
                    &mut audit.verdicts
                } else {
                    &mut audit.general_verdicts
                };
                *list.entry(verdict.to_owned()).or_default() += 1;
            }
            let score = row.get("score").and_then(Value::as_f64);
            if let Some(score) = score.filter(|score| (0.0..=1.0).contains(score)) {
                scores = (scores.0 + score, scores.1 + 1);
            }
            audit.last_seen = audit
                .last_seen
                .take()
                .or_else(|| text("ts").map(str::to_owned));
        }
        audit.distinct_inputs = inputs.len() as u64;
        audit.mean_score = (scores.1 > 0).then(|| scores.0 / f64::from(scores.1));
        audit
    }

    /// Adds the comparisons. A comparison belongs to the row of the same time and id.
    fn compare(&mut self, rows: &[Value], probes: &[&Log], role: &str) {
        let name = |row: &Value| {
            let text = |key: &str| Some(row.get(key)?.as_str()?.to_owned());
            Some((text("ts")?, text("trace_id")?))
        };
        let known: BTreeSet<(String, String)> = rows.iter().filter_map(name).collect();
        for event in probes.iter().flat_map(|log| &log.events) {
            let data = |key: &str| event.data.get(key);
            let is_skipped = event.kind == Kind::DroppedProbe.name()
                && data("why").is_some_and(|why| why == INCOMPARABLE);
            let is_probe = event.kind == Kind::ShadowProbe.name() || is_skipped;
            if !is_probe || event.role != role {
                continue;
            }
            let trace_id = data("trace_id").and_then(Value::as_str).unwrap_or_default();
            if known.contains(&(event.ts.clone(), trace_id.to_owned())) {
                self.incomparable += u64::from(is_skipped);
                self.probes += u64::from(!is_skipped);
                self.agreed += u64::from(data("agreed") == Some(&Value::Bool(true)));
            }
        }
    }

    /// Returns the drift, or `None` for too few rows or for verdicts that are nearly all different.
    fn drift_to(&self, now: &Self) -> Option<Drift> {
        let count = |audit: &Self| audit.verdicts.values().sum::<u64>();
        let labels: BTreeSet<&String> = self.verdicts.keys().chain(now.verdicts.keys()).collect();
        let (old, new) = (count(self), count(now));
        if old < MIN_DRIFT || new < MIN_DRIFT || labels.len() > MAX_LABELS {
            return None;
        }
        let difference = |label: &&String| {
            let share = |audit: &Self, all| part(audit.verdicts.get(*label).copied(), all);
            (share(now, new) - share(self, old)).abs()
        };
        Some(Drift {
            verdicts: labels.iter().map(difference).sum::<f64>() / 2.0,
            score: now
                .mean_score
                .zip(self.mean_score)
                .map(|(now, before)| now - before),
        })
    }

    /// Returns `unmonitored` without rows, else `accumulating`.
    #[must_use]
    pub fn state(&self) -> &'static str {
        if self.samples == 0 {
            "unmonitored"
        } else {
            "accumulating"
        }
    }

    /// Returns `true` if there are enough rows for a test.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.samples >= MIN_SAMPLES
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a log has far fewer than 2^52 rows"
)]
fn part(some: Option<u64>, all: u64) -> f64 {
    some.unwrap_or_default() as f64 / all.max(1) as f64
}

/// Returns the last rows of a role's traffic, newest first.
fn last_rows(log: &[u8], role: &str, most: usize, damaged: &mut u64) -> Vec<Value> {
    let mut rows = Vec::new();
    let lines = log.rsplit(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    for line in lines.filter(|line| !line.is_empty()) {
        if rows.len() >= most {
            break;
        }
        match serde_json::from_slice::<Value>(line) {
            Ok(row) if row.is_object() => {
                let text = |key: &str| row.get(key).and_then(Value::as_str);
                if text("role") == Some(role) && text("mode") != Some(LEARNING) {
                    rows.push(row);
                }
            }
            _ => *damaged += 1,
        }
    }
    rows
}
