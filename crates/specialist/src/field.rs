//! The field log: one line a dispatch, and what the last lines add up to.
//!
//! The input is known by its hash. Its text is written only when the person wants that.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use crate::event::{Kind, Log};
use crate::quota::Source;
use crate::text::head;

/// Longest text of an input that is kept, in characters.
const MAX_INPUT: usize = 4000;

/// Longest label of a verdict, in characters.
const MAX_LABEL: usize = 64;

/// Rows from which a test of drift means something.
pub const MIN_SAMPLES: u64 = 100;

/// Answers on either side from which a change of their verdicts means something.
const MIN_DRIFT: u64 = 30;

/// With more different verdicts than this they are texts, not labels.
const MAX_LABELS: usize = 20;

/// The published share of changed verdicts from which an adapter is stale whatever else is said.
const LARGE_DRIFT: f64 = 0.35;

/// The `mode` of a learning run.
const LEARNING: &str = "learn";

/// Why a probe was not made when the two answers could not be compared.
pub const INCOMPARABLE: &str = "incomparable";

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
    /// Whether it was a learning run, which says nothing about the traffic.
    pub learning: bool,
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
    /// How many the gate gave to an adapter whose answer was not served: none came, or it failed its verifier.
    pub not_served: u64,
    /// How many of the adapter's answers have each verdict.
    pub verdicts: BTreeMap<String, u64>,
    /// How many of the general model's answers have each verdict.
    pub general_verdicts: BTreeMap<String, u64>,
    /// Mean of the adapter's scores.
    pub mean_score: Option<f64>,
    /// How many of the adapter's answers were compared with the general model's.
    pub probes: u64,
    /// How many of those agreed.
    pub agreed: u64,
    /// How many could not be compared, and say nothing for or against it.
    pub incomparable: u64,
    /// How these rows differ from as many before them; `None` where that cannot be told.
    pub drift: Option<Drift>,
    /// The last one.
    pub last_seen: Option<String>,
    /// Lines that are no rows, among those that were looked at.
    pub damaged: u64,
}

/// How the adapter's answers have changed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drift {
    /// Half the sum of the differences between the verdicts' shares: 0 when nothing changed, 1 when everything did.
    pub verdicts: f64,
    /// Mean score now, less the mean score before.
    pub score: Option<f64>,
}

impl Drift {
    /// Whether a person should look.
    #[must_use]
    pub fn is_large(&self) -> bool {
        self.verdicts >= LARGE_DRIFT
    }
}

impl Audit {
    /// Adds the last `window` rows of a role's traffic up, learning runs left out. `probes` are the logs in which comparisons stand.
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

    /// Newest first.
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

    /// A comparison belongs to the row of the same moment and name.
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

    /// Few rows say nothing, and neither do verdicts of which each is its own.
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

#[expect(
    clippy::cast_precision_loss,
    reason = "a log has far fewer than 2^52 rows"
)]
fn part(some: Option<u64>, all: u64) -> f64 {
    some.unwrap_or_default() as f64 / all.max(1) as f64
}

/// The last rows of a role's traffic, newest first.
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
