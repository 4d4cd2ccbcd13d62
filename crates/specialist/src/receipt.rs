//! The receipt of a dispatch, `roleos-specialist-receipt/v1`: its route, the reason, the source of the answer, and
//! the checks.

use serde_json::{Map, Value, json};

use crate::contract::{self, Answered, CallError};
use crate::gate::Decision;
use crate::quota::Source;
use crate::shadow::Shadow;

/// Schema of the receipt.
pub const SCHEMA: &str = "roleos-specialist-receipt/v1";

/// Receipt of one dispatch.
#[derive(Clone, Debug, PartialEq)]
pub struct Receipt {
    pub role: String,
    /// Time of the dispatch.
    pub ts: String,
    /// Id given by the caller.
    pub trace_id: String,
    /// Source of the answer.
    pub source: Source,
    /// Decision of the gate.
    pub decision: Decision,
    /// Call to the backend, if there was one.
    pub call: Option<Result<Answered, CallError>>,
    /// Probe, if the adapter answered.
    pub shadow: Option<Shadow>,
    /// Reason that a record could not be saved.
    pub persist_error: Option<String>,
    /// Set if the answer says that no model knew, which is not the general model's answer.
    pub is_unsure: bool,
}

impl Receipt {
    /// Returns the form for the caller.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mut object = Map::new();
        let mut add = |key: &str, value: Value| {
            object.insert(key.to_owned(), value);
        };
        add("schema", json!(SCHEMA));
        add("role", json!(self.role));
        add("ts", json!(self.ts));
        add("trace_id", json!(self.trace_id));
        add("route", json!(self.decision.route.name()));
        add("source", json!(self.source.name()));
        if self.is_unsure {
            add("fallback", json!("unsure"));
        }
        add("decision", self.decision.to_json());
        if let Some(call) = &self.call {
            add("specialist_call", contract::to_json(call));
        }
        if let Some(shadow) = &self.shadow {
            add("shadow", shadow.to_json());
        }
        if let Some(error) = &self.persist_error {
            add("persist_error", json!(error));
        }
        Value::Object(object)
    }
}
