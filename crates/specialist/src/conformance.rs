//! The role that judges tool calls that cannot be proved: the question, and the meaning of its verdict.
//!
//! A call is sent to the role only after every computable check has passed. An answer that is not clearly a verdict
//! abstains; there is no verdict that blocks.

use serde_json::{Map, Value, json};

use crate::classifier::{Classifier, Embedding};
use crate::registry::Version;
use crate::shadow;

/// Name of the role.
pub const ROLE: &str = "Tool-Call Conformance";

/// Verdict on a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The call keeps the contract.
    Conformant,
    /// The call breaks the contract.
    Nonconformant,
    /// The verdict is unknown.
    Abstain,
}

impl Verdict {
    /// Parses the answer of a backend, bare or under `verdict`. Anything else abstains.
    #[must_use]
    pub fn read(answer: &Value) -> Self {
        match unwrapped(answer).as_str() {
            Some("conformant") => Self::Conformant,
            Some("nonconformant") => Self::Nonconformant,
            _ => Self::Abstain,
        }
    }
}

fn unwrapped(answer: &Value) -> &Value {
    answer.get("verdict").unwrap_or(answer)
}

/// Returns whether two verdicts agree, or `None` if one of them abstains.
#[must_use]
pub fn agree(specialist: &Value, claude: &Value) -> Option<bool> {
    let (one, other) = (unwrapped(specialist), unwrapped(claude));
    let abstains = |verdict: &Value| verdict.as_str() == Some("abstain");
    if abstains(one) || abstains(other) {
        return None;
    }
    shadow::same(one, other)
}

/// Returns the question for the specialist: the tool's contract as written, and the call.
#[must_use]
pub fn question(tool: &str, contract: &Value, call: &Value, intent: Option<&str>) -> Value {
    let empty = json!([]);
    let prose = contract.get("contract").and_then(Value::as_str);
    let params = contract.get("params").unwrap_or(&empty);
    let state = contract
        .get("state_struct")
        .filter(|state| !state.is_null());
    let mut question = Map::new();
    let mut add = |key: &str, value: Value| {
        question.insert(key.to_owned(), value);
    };
    let shown = json!({ "name": tool, "contract": prose.unwrap_or_default(), "params": params });
    add("tool", shown);
    add("call", call.clone());
    if let Some(intent) = intent {
        add("intent", json!(intent));
    }
    if let Some(state) = state {
        add("state", state.clone());
    }
    let mut evidence = format!(
        "TOOL: {tool}\nCONTRACT: {}\nPARAMS (JSON schema): {}",
        prose.unwrap_or_default(),
        by_name(params)
    );
    if let Some(state) = state {
        evidence.push_str(&format!("\nSTATE: {state}"));
    }
    if let Some(intent) = intent {
        evidence.push_str(&format!("\nINTENT: {intent}"));
    }
    add("evidence", json!(evidence));
    add("claim", json!(format!("CALL: {tool}({call})")));
    Value::Object(question)
}

/// Returns the parameters as one object keyed by their names.
fn by_name(params: &Value) -> Value {
    let list = params.as_array().into_iter().flatten();
    let named = list.filter_map(|param| {
        let mut rest = param.as_object()?.clone();
        let name = rest.shift_remove("name")?.as_str()?.to_owned();
        Some((name, Value::Object(rest)))
    });
    Value::Object(named.collect())
}

/// Classifier for this role. A version without a centroid was not examined on comparable inputs, so its inputs are
/// not tested; with one, they are tested as for every other role.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ceiling;

impl Ceiling {
    /// Returns `true` if the two tests of the input are left out.
    #[must_use]
    pub fn skips(version: &Version) -> bool {
        version.exam_centroid.is_none()
    }
}

impl Classifier for Ceiling {
    fn is_ood(&self, role: &str, input: &Value, version: &Version) -> Result<bool, String> {
        if Self::skips(version) {
            return Ok(false);
        }
        Embedding.is_ood(role, input, version)
    }

    fn score(&self, role: &str, input: &Value, version: &Version) -> Result<f64, String> {
        if Self::skips(version) {
            // The lowest score that routes: it claims nothing about the input.
            return Ok(version.gate_threshold);
        }
        Embedding.score(role, input, version)
    }
}
