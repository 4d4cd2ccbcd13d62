//! The five events of the protocol in an envelope. Unknown events are kept, not interpreted.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Names of the events.
pub const NAMES: [&str; 5] = [
    "INFER_REQUEST",
    "INFER_RESULT",
    "SELECT_TRAIN_EXAMPLE",
    "MODEL_ADD_REQUEST",
    "EVAL_METRIC_CHANGE",
];

/// An event with its metadata.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Envelope {
    pub event: String,
    pub event_id: String,
    /// Time, RFC 3339 in UTC.
    pub ts: String,
    /// Sender of the event.
    pub source: String,
    /// Content of the event.
    pub payload: Value,
}

/// Content of a known event.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// Request for an inference.
    InferRequest {
        role: String,
        /// Hash of the input.
        prompt_hash: String,
    },
    /// Result of one model.
    InferResult {
        model_id: String,
        /// Time on the wire.
        time_ms: u64,
        /// Number of output tokens.
        tokens: u64,
        /// Hash of the output.
        output_hash: String,
        /// 1 when the verifier passed it.
        verifier_score: u8,
    },
    /// New example for a winner's training set.
    SelectTrainExample {
        /// Hash of the input.
        prompt_hash: String,
        /// Model that won.
        winner_model_id: String,
    },
    /// Request for a new specialist.
    ModelAddRequest {
        reason: String,
        /// Counts behind the request.
        stats_snapshot: Value,
    },
    /// Change of the metric.
    EvalMetricChange(Value),
}

impl Event {
    /// Wraps the event in an envelope.
    #[must_use]
    pub fn envelope(&self, event_id: String, ts: String, source: &str) -> Envelope {
        Envelope {
            event: self.name().to_owned(),
            event_id,
            ts,
            source: source.to_owned(),
            payload: self.payload(),
        }
    }

    /// Returns the name of the event.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::InferRequest { .. } => "INFER_REQUEST",
            Self::InferResult { .. } => "INFER_RESULT",
            Self::SelectTrainExample { .. } => "SELECT_TRAIN_EXAMPLE",
            Self::ModelAddRequest { .. } => "MODEL_ADD_REQUEST",
            Self::EvalMetricChange(_) => "EVAL_METRIC_CHANGE",
        }
    }

    fn payload(&self) -> Value {
        match self {
            Self::InferRequest { role, prompt_hash } => {
                json!({ "role": role, "prompt_hash": prompt_hash })
            }
            Self::InferResult {
                model_id,
                time_ms,
                tokens,
                output_hash,
                verifier_score,
            } => json!({
                "model_id": model_id, "time_ms": time_ms, "tokens": tokens,
                "output_hash": output_hash, "verifier_score": verifier_score,
            }),
            Self::SelectTrainExample {
                prompt_hash,
                winner_model_id,
            } => {
                json!({ "prompt_hash": prompt_hash, "winner_model_id": winner_model_id })
            }
            Self::ModelAddRequest {
                reason,
                stats_snapshot,
            } => {
                json!({ "reason": reason, "stats_snapshot": stats_snapshot })
            }
            Self::EvalMetricChange(change) => change.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_envelope_reads_back_and_an_unknown_event_is_kept() {
        let event = Event::SelectTrainExample {
            prompt_hash: "ab".repeat(32),
            winner_model_id: "a".to_owned(),
        };
        let envelope = event.envelope("1".to_owned(), "2026-03-04T05:06:07Z".to_owned(), "roleos");
        let text = serde_json::to_string(&envelope).unwrap();
        assert_eq!(serde_json::from_str::<Envelope>(&text).unwrap(), envelope);
        assert!(NAMES.contains(&envelope.event.as_str()));
        let unknown = text.replace("SELECT_TRAIN_EXAMPLE", "SOMETHING_ELSE");
        assert_eq!(
            serde_json::from_str::<Envelope>(&unknown).unwrap().event,
            "SOMETHING_ELSE"
        );
    }
}
