//! The receipt of a dispatch, `roleos-specialist-receipt/v1`: where it went, why, who answered, and what was checked.

use serde_json::{Map, Value, json};

use crate::contract::{self, Answered, CallError};
use crate::gate::Decision;
use crate::quota::Source;
use crate::shadow::Shadow;

/// What is written.
pub const SCHEMA: &str = "roleos-specialist-receipt/v1";

/// One dispatch, accounted for.
#[derive(Clone, Debug, PartialEq)]
pub struct Receipt {
    /// The role.
    pub role: String,
    /// When.
    pub ts: String,
    /// The caller's name for it.
    pub trace_id: String,
    /// Who answered.
    pub source: Source,
    /// Where the gate sent it, and why.
    pub decision: Decision,
    /// The call to the backend, when there was one.
    pub call: Option<Result<Answered, CallError>>,
    /// The probe, when the adapter answered.
    pub shadow: Option<Shadow>,
    /// Why something that had to be kept could not be.
    pub persist_error: Option<String>,
    /// Whether the answer is that no model knew, which is not the general model's word.
    pub is_unsure: bool,
}

impl Receipt {
    /// As it is handed to the caller.
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
