//! What is kept of a run: one line per candidate execution, the published fields first, then ours; each line carries the
//! hash of the line before it, and everything in it that was computed can be computed again.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::audit::DEFAULT_FLOOR;
use crate::canonical;
use crate::metric::schema_name;

pub mod brief;
pub mod check;

/// What the first line carries as the hash of the line before it.
pub const FIRST: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// The general model's `model_id` in the log. Its lines name no version: no registry declares it.
pub const GENERAL: &str = "claude";

/// Longest line that is read.
pub const MAX_LINE: usize = 64 * 1024;

/// One candidate execution.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// When, RFC 3339 in UTC.
    pub timestamp: String,
    /// SHA-256 of the input's bytes, or a keyed hash of them; 64 hex digits.
    pub prompt_hash: String,
    /// Which model.
    pub model_id: String,
    /// Under which metric.
    pub metric_version: String,
    /// `PASS` or `FAIL`.
    pub verifier_result: String,
    /// 1 for `PASS`.
    pub q0: u8,
    /// The task's score, when a right output was known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub q1: Option<f64>,
    /// The cost.
    pub cost: f64,
    /// The refusal penalty.
    pub refusal_penalty: f64,
    /// What it was worth.
    pub reward: f64,
    /// Who won the contest; nobody when all failed.
    pub winner_model_id: Option<String>,
    /// What is ours, and what others added.
    #[serde(flatten)]
    pub more: More,
}

/// The optional fields. Unknown ones are kept.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct More {
    /// The contest; its lines follow each other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
    /// Its place in the contest, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub candidate_index: Option<u32>,
    /// The winner's version, where one model has several in the contest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub winner_version: Option<String>,
    /// The version of the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The role that was played.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// Time on the wire, the median of the measurements.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_ms: Option<u64>,
    /// Tokens in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    /// Tokens out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
    /// SHA-256 of the output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_hash: Option<String>,
    /// `warm` or `cold`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_state: Option<String>,
    /// `serve`, `learn` or `audit`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// Which fallback served, when all candidates failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fallback: Option<String>,
    /// Whether the measurements brought different outputs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nondeterministic: Option<bool>,
    /// What the execution cost, in US dollars, where a price is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price_usd: Option<f64>,
    /// The score against the general model's answer, as `q1` is against the right one; 1 or 0 where a rule decides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agreement: Option<f64>,
    /// Set when the version declares no verifier: `FAIL` then says nothing about the output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unverified: Option<bool>,
    /// The dispatch, as receipts and feedback name it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<String>,
    /// Hash of the input's form, as `prompt_hash` is of its bytes: copies of an input share it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_form: Option<String>,
    /// Whether the version was stable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stable: Option<bool>,
    /// SHA-256 of the metric's definition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metric_hash: Option<String>,
    /// Rewards under both metrics while one replaces the other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rewards: Option<BTreeMap<String, f64>>,
    /// The old metric's share in `reward` at that time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mix_alpha: Option<f64>,
    /// SHA-256 of the line before this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prev: Option<String>,
    /// Fields that we do not know.
    #[serde(flatten)]
    pub unknown: serde_json::Map<String, Value>,
}

impl Record {
    /// Reads a line, ours or in the shape of the published schema.
    ///
    /// # Errors
    /// It is too long, no JSON, or lacks a field.
    pub fn parse(line: &[u8]) -> Result<Self, String> {
        if line.len() > MAX_LINE {
            return Err(format!("is longer than {MAX_LINE} bytes"));
        }
        serde_json::from_slice(line).or_else(|error: serde_json::Error| {
            Self::from_schema_shape(line).ok_or_else(|| error.to_string())
        })
    }

    /// A line in the shape of the published schema; see [`Record::to_schema_shape`].
    fn from_schema_shape(line: &[u8]) -> Option<Self> {
        let mut value: Value = serde_json::from_slice(line).ok()?;
        let fields = value.as_object_mut()?;
        let Some(Value::Object(mut proxies)) = fields.remove("proxy_values") else {
            return None;
        };
        let passed = fields.get("verifier_result").and_then(Value::as_str) == Some("PASS");
        fields.insert("q0".to_owned(), json!(u8::from(passed)));
        fields.insert("q1".to_owned(), proxies.remove("quality")?);
        fields.insert("cost".to_owned(), proxies.remove("cost")?);
        let penalty = proxies.remove("refusal_penalty")?;
        fields.insert("refusal_penalty".to_owned(), penalty);
        fields.entry("winner_model_id").or_insert(Value::Null);
        serde_json::from_value(value).ok()
    }

    /// The line, without its end.
    #[must_use]
    pub fn to_line(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Whether the verifier passed it.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.verifier_result == "PASS"
    }

    /// Whether the verifier passed it and no known answer speaks against it: where there is one, the score reaches the
    /// floor of exams.
    #[must_use]
    pub fn is_acceptable(&self) -> bool {
        self.passed() && is_right(self.q1)
    }

    /// Whether it is an execution of the general model.
    #[must_use]
    pub fn is_general(&self) -> bool {
        self.model_id == GENERAL && self.more.version.is_none()
    }

    /// Whether it won its contest.
    #[must_use]
    pub fn won(&self) -> bool {
        let named = self.more.winner_version.as_ref();
        self.passed()
            && self.winner_model_id.as_ref() == Some(&self.model_id)
            && named.is_none_or(|winner| self.more.version.as_ref() == Some(winner))
    }

    /// The shape of the published schema: `quality` is the task's score, the metric is called `v1`.
    #[must_use]
    pub fn to_schema_shape(&self) -> Value {
        let mut shape = json!({
            "timestamp": self.timestamp,
            "prompt_hash": self.prompt_hash,
            "model_id": self.model_id,
            "metric_version": schema_name(&self.metric_version),
            "verifier_result": self.verifier_result,
            "reward": self.reward,
            "proxy_values": {
                "quality": self.q1.unwrap_or(0.0),
                "cost": self.cost,
                "refusal_penalty": self.refusal_penalty,
            },
        });
        if let Value::Object(fields) = &mut shape {
            if let Some(winner) = &self.winner_model_id {
                fields.insert("winner_model_id".to_owned(), json!(winner));
            }
            let counts = [
                ("input_tokens", self.more.input_tokens),
                ("output_tokens", self.more.output_tokens),
                ("time_ms", self.more.time_ms),
            ];
            for (name, count) in counts {
                if let Some(count) = count {
                    fields.insert(name.to_owned(), json!(count));
                }
            }
        }
        shape
    }
}

/// Whether an answer is right as far as that is known, by its score against the known answer.
#[must_use]
pub fn is_right(q1: Option<f64>) -> bool {
    q1.is_none_or(|q1| q1 >= DEFAULT_FLOOR)
}

/// The `prev` of the line that follows these bytes.
#[must_use]
pub fn link(line: &[u8]) -> String {
    canonical::hash_bytes(line)
}
