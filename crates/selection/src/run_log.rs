//! The run log: one line per candidate execution, the published fields first, then our own; each line carries the
//! hash of the line before it, and every computed number can be recomputed.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::audit::DEFAULT_FLOOR;
use crate::canonical;
use crate::metric::schema_name;

pub mod brief;
pub mod check;

/// Hash of the line before the first one.
pub const FIRST: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// `model_id` of the general model in the log. Its lines name no version: no registry declares it.
pub const GENERAL: &str = "claude";

/// Longest accepted line, in bytes.
pub const MAX_LINE: usize = 64 * 1024;

/// One candidate execution.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Time, RFC 3339 in UTC.
    pub timestamp: String,
    /// SHA-256 of the input's bytes, or a keyed hash of them; 64 hex digits.
    pub prompt_hash: String,
    pub model_id: String,
    /// Name of the metric.
    pub metric_version: String,
    /// `PASS` or `FAIL`.
    pub verifier_result: String,
    /// 1 for `PASS`.
    pub q0: u8,
    /// Score of the task, if a right output is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub q1: Option<f64>,
    pub cost: f64,
    /// Penalty for a refusal.
    pub refusal_penalty: f64,
    /// Reward under the metric.
    pub reward: f64,
    /// Winner of the contest; `None` if all failed.
    pub winner_model_id: Option<String>,
    /// Our own fields, and unknown ones.
    #[serde(flatten)]
    pub more: More,
}

/// Optional fields. Unknown ones are kept.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct More {
    /// Id of the contest; its lines follow each other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
    /// Index in the contest, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub candidate_index: Option<u32>,
    /// Version of the winner, if one model has several in the contest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub winner_version: Option<String>,
    /// Version of the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Role of the contest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// Time on the wire, the median of the measurements.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_ms: Option<u64>,
    /// Number of input tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    /// Number of output tokens.
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
    /// Fallback that served, if all candidates failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fallback: Option<String>,
    /// Set if the measurements gave different outputs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nondeterministic: Option<bool>,
    /// Price of the execution in US dollars, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price_usd: Option<f64>,
    /// Score against the general model's answer, as `q1` is against the right one; 1 or 0 if a rule decides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agreement: Option<f64>,
    /// Set if the version declares no verifier: `FAIL` then says nothing about the output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unverified: Option<bool>,
    /// Id of the dispatch, as in receipts and feedback.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<String>,
    /// Hash of the input's form, as `prompt_hash` is of its bytes: copies of an input share it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_form: Option<String>,
    /// Set if the version was stable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stable: Option<bool>,
    /// SHA-256 of the metric's definition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metric_hash: Option<String>,
    /// Rewards under both metrics while one replaces the other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rewards: Option<BTreeMap<String, f64>>,
    /// Share of the old metric in `reward` at that time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mix_alpha: Option<f64>,
    /// SHA-256 of the line before this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prev: Option<String>,
    /// Unknown fields.
    #[serde(flatten)]
    pub unknown: serde_json::Map<String, Value>,
}

impl Record {
    /// Parses a line, ours or in the shape of the published schema.
    ///
    /// # Errors
    /// Fails if the line is too long, is not JSON, or lacks a field.
    pub fn parse(line: &[u8]) -> Result<Self, String> {
        if line.len() > MAX_LINE {
            return Err(format!("is longer than {MAX_LINE} bytes"));
        }
        serde_json::from_slice(line).or_else(|error: serde_json::Error| {
            Self::from_schema_shape(line).ok_or_else(|| error.to_string())
        })
    }

    /// Parses a line in the shape of the published schema; see [`Record::to_schema_shape`].
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

    /// Returns the line without its end.
    #[must_use]
    pub fn to_line(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Returns `true` if the verifier passed the output.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.verifier_result == "PASS"
    }

    /// Returns `true` if the verifier passed the output and no known answer contradicts it: if there is one, the
    /// score reaches the floor of exams.
    #[must_use]
    pub fn is_acceptable(&self) -> bool {
        self.passed() && is_right(self.q1)
    }

    /// Returns `true` for an execution of the general model.
    #[must_use]
    pub fn is_general(&self) -> bool {
        self.model_id == GENERAL && self.more.version.is_none()
    }

    /// Returns `true` if the execution won its contest.
    #[must_use]
    pub fn won(&self) -> bool {
        let named = self.more.winner_version.as_ref();
        self.passed()
            && self.winner_model_id.as_ref() == Some(&self.model_id)
            && named.is_none_or(|winner| self.more.version.as_ref() == Some(winner))
    }

    /// Returns the line in the shape of the published schema: `quality` is the score of the task, the metric is
    /// called `v1`.
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

/// Returns `true` if an answer is right by its score against the known answer, or no answer is known.
#[must_use]
pub fn is_right(q1: Option<f64>) -> bool {
    q1.is_none_or(|q1| q1 >= DEFAULT_FLOOR)
}

/// Returns the `prev` of the line that follows these bytes.
#[must_use]
pub fn link(line: &[u8]) -> String {
    canonical::hash_bytes(line)
}
