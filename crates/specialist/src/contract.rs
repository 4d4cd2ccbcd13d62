//! Contract with a backend: the request, and the conditions of a valid answer. The transport is elsewhere.
//!
//! A backend proves that it served the pinned adapter by echoing its id, and the base model if it reports one. The
//! checks have an order, and the first that fails names the error.

use serde_json::{Map, Value, json};

use crate::registry::{Contract, Entry, Version};
use crate::text::head;

/// Request to a backend.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// Base address from the registry.
    pub backend_url: String,
    /// Further addresses that serve the same adapter.
    pub backend_urls: Vec<String>,
    /// Protocol of the backend.
    pub contract: Contract,
    /// Id of the pinned adapter.
    pub adapter_id: String,
    /// Base model of the adapter.
    pub base_model: String,
    /// Environment variable with its bearer token.
    pub auth_env: Option<String>,
    /// Time limit of the backend, if it has its own.
    pub timeout_ms: Option<u64>,
    /// Body of the request.
    pub body: Value,
}

impl Call {
    /// Creates a request to a version about an input.
    #[must_use]
    pub fn new(entry: &Entry, version: &Version, input: &Value, trace_id: &str) -> Self {
        let body = match entry.contract {
            Contract::Verify => json!({
                "adapter_id": version.adapter_id,
                "role": entry.role,
                "input": input,
                "trace_id": trace_id,
            }),
            Contract::OpenAi => json!({
                "model": version.adapter_id,
                "messages": [{ "role": "user", "content": input_text(input) }],
                "temperature": 0,
                "stream": false,
            }),
        };
        let mut addresses = entry.addresses(version).into_iter().map(str::to_owned);
        let backend_url = addresses.next().unwrap_or_default();
        Self {
            backend_url,
            backend_urls: addresses.collect(),
            contract: entry.contract,
            adapter_id: version.adapter_id.clone(),
            base_model: version.base_model.clone(),
            auth_env: entry.auth_env.clone(),
            timeout_ms: entry.timeout_ms,
            body,
        }
    }

    /// Returns every base address that serves the adapter, each once, the registry's first.
    #[must_use]
    pub fn addresses(&self) -> Vec<&str> {
        let mut all = vec![self.backend_url.as_str()];
        for further in &self.backend_urls {
            if !all.contains(&further.as_str()) {
                all.push(further);
            }
        }
        all
    }

    /// Adds the client's extras to its input: its system text before the message, its settings beside it. Only chat
    /// completions support either.
    pub fn beside(&mut self, system: Option<&str>, settings: &Map<String, Value>) {
        let body = self.body.as_object_mut();
        let Some(body) = body.filter(|_| self.contract == Contract::OpenAi) else {
            return;
        };
        let messages = body.get_mut("messages").and_then(Value::as_array_mut);
        if let (Some(messages), Some(system)) = (messages, system) {
            messages.insert(0, json!({ "role": "system", "content": system }));
        }
        body.extend(settings.clone());
    }

    /// Returns the URL of the call at one of the base addresses.
    #[must_use]
    pub fn url(&self, base: &str) -> String {
        let base = base.trim_end_matches('/');
        match self.contract {
            Contract::Verify => format!("{base}/verify"),
            Contract::OpenAi if base.ends_with("/v1") => format!("{base}/chat/completions"),
            Contract::OpenAi => format!("{base}/v1/chat/completions"),
        }
    }
}

/// Returns text as it is, anything else as JSON; for a text beside an embedding, the text.
fn input_text(input: &Value) -> String {
    match input {
        Value::String(text) => text.clone(),
        Value::Object(object) => match object.get("text") {
            Some(Value::String(text)) => text.clone(),
            _ => input.to_string(),
        },
        _ => input.to_string(),
    }
}

/// Result of the transport.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wire {
    /// A complete response.
    Answer {
        /// The HTTP status.
        status: u16,
        /// Raw body.
        body: Vec<u8>,
    },
    /// A response whose body broke off, was too long or came too late.
    Broken {
        /// The HTTP status.
        status: u16,
        /// Description of the failure.
        why: String,
    },
    /// No response within the time limit.
    Timeout,
    /// No response, with the reason.
    Failed(String),
}

/// Valid answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Answered {
    pub verdict: Value,
    /// The backend's own score, from 0 to 1; informational. A number out of range is dropped.
    pub score: Option<f64>,
    /// Echoed id of the adapter.
    pub adapter_id: String,
    /// Base model, if the backend reported it.
    pub base_model: Option<String>,
    /// Duration by the backend, or our own measurement if it reports none.
    pub duration_ms: f64,
    /// Duration as we measured it.
    pub wire_ms: f64,
    /// Tokens that were used, if the backend reported them.
    pub usage: Option<Usage>,
}

/// Limit of a plausible token count.
pub const MAX_TOKENS: u64 = 1 << 32;

/// Tokens of one answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// Number of input tokens.
    pub input: u64,
    /// Number of output tokens.
    pub output: u64,
}

impl Usage {
    /// Parses the `usage` of an answer, under the names of chat completions or of messages and responses.
    #[must_use]
    pub fn read(usage: &Value) -> Option<Self> {
        let number = |names: [&str; 2]| {
            let mut found = names.iter().filter_map(|name| usage.get(name));
            let told = found.find_map(Value::as_u64)?;
            (told <= MAX_TOKENS).then_some(told)
        };
        Some(Self {
            input: number(["prompt_tokens", "input_tokens"])?,
            output: number(["completion_tokens", "output_tokens"])?,
        })
    }
}

/// Reason that an answer is invalid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallError {
    /// Name of the error.
    pub error: String,
    /// Description of the error.
    pub detail: String,
    /// HTTP status, if there was a response.
    pub status: Option<u16>,
}

impl CallError {
    /// Creates an error from before the request was sent.
    #[must_use]
    pub fn early(error: &str, detail: impl Into<String>) -> Self {
        Self {
            error: error.to_owned(),
            detail: detail.into(),
            status: None,
        }
    }
}

/// Runs the first two checks, which decide if a call is possible at all.
///
/// # Errors
/// Fails if there is no address, or no pin.
pub fn precheck(call: &Call) -> Result<(), CallError> {
    if call.backend_url.trim_matches('/').is_empty() {
        return Err(CallError::early(
            "no_backend_url",
            "the registry names no backend",
        ));
    }
    if call.adapter_id.is_empty() {
        return Err(CallError::early(
            "no_adapter_id",
            "the registry names no adapter",
        ));
    }
    Ok(())
}

/// Checks a response in the order of the contract. `wire_ms` is our own measurement.
///
/// # Errors
/// Fails if the answer is invalid.
pub fn judge(call: &Call, wire: &Wire, wire_ms: f64) -> Result<Answered, CallError> {
    let (status, body) = received(wire)?;
    let fail = |error: &str, detail: String| CallError {
        error: error.to_owned(),
        detail,
        status: Some(status),
    };
    let body: Value = serde_json::from_slice(body)
        .ok()
        .filter(|body: &Value| body.is_object() || body.is_array())
        .ok_or_else(|| {
            fail(
                "malformed_response",
                "the body is no JSON object".to_owned(),
            )
        })?;
    let (verdict, echo) = match call.contract {
        Contract::Verify => (body.get("verdict").cloned(), body.get("adapter_id")),
        Contract::OpenAi => (openai_verdict(&body), body.get("model")),
    };
    let verdict =
        verdict.ok_or_else(|| fail("missing_verdict", "the answer has no verdict".to_owned()))?;
    let echo = echo.unwrap_or(&Value::Null);
    if echo.as_str() != Some(&call.adapter_id) {
        let detail = format!(
            "pinned adapter {:?}, the backend echoed {}",
            call.adapter_id,
            head(&echo.to_string(), 200)
        );
        return Err(fail("adapter_id_mismatch", detail));
    }
    let base_model = body.get("base_model").and_then(Value::as_str);
    if let Some(told) = base_model.filter(|told| *told != call.base_model) {
        let detail = format!(
            "registered base model {:?}, the backend says {:?}",
            call.base_model,
            head(told, 200)
        );
        return Err(fail("base_model_mismatch", detail));
    }
    let number = |key: &str| body.get(key).and_then(Value::as_f64);
    Ok(Answered {
        verdict,
        score: number("score").filter(|score| (0.0..=1.0).contains(score)),
        adapter_id: call.adapter_id.clone(),
        base_model: base_model.map(str::to_owned),
        duration_ms: number("duration_ms").unwrap_or(wire_ms),
        wire_ms,
        usage: body.get("usage").and_then(Usage::read),
    })
}

fn received(wire: &Wire) -> Result<(u16, &[u8]), CallError> {
    let http = |status: u16, detail: String| CallError {
        error: format!("http_{status}"),
        detail,
        status: Some(status),
    };
    let lost = |error: &str, detail: &str| CallError {
        error: error.to_owned(),
        detail: detail.to_owned(),
        status: Some(0),
    };
    match wire {
        Wire::Answer {
            status: status @ 200..=299,
            body,
        } => Ok((*status, body)),
        Wire::Answer { status, body } => {
            let said = String::from_utf8_lossy(body.get(..body.len().min(400)).unwrap_or_default());
            Err(http(*status, head(said.trim(), 200).to_owned()))
        }
        Wire::Broken {
            status: status @ 200..=299,
            why,
        } => Err(CallError {
            error: "malformed_response".to_owned(),
            detail: why.clone(),
            status: Some(*status),
        }),
        Wire::Broken { status, why } => Err(http(*status, why.clone())),
        Wire::Timeout => Err(lost("timeout", "no answer within the time limit")),
        Wire::Failed(why) if why.is_empty() => Err(lost("transport_error", "")),
        Wire::Failed(why) => Err(lost(why, why)),
    }
}

/// Returns the tool output if there is one, else the message's content; either is parsed as JSON if possible.
fn openai_verdict(body: &Value) -> Option<Value> {
    let message = body.get("choices")?.get(0)?.get("message")?;
    let called = message
        .get("tool_calls")
        .and_then(|calls| calls.get(0)?.get("function")?.get("arguments"))
        .and_then(Value::as_str);
    let said = called.or_else(|| message.get("content").and_then(Value::as_str))?;
    Some(read_text(said))
}

/// Parses text as JSON, or returns it as a string.
#[must_use]
pub fn read_text(text: &str) -> Value {
    serde_json::from_str(text.trim()).unwrap_or_else(|_| Value::String(text.to_owned()))
}

/// Returns the form of a call in receipts.
#[must_use]
pub fn to_json(result: &Result<Answered, CallError>) -> Value {
    let mut object = Map::new();
    match result {
        Ok(answered) => {
            object.insert("ok".to_owned(), json!(true));
            if let Some(score) = answered.score {
                object.insert("score".to_owned(), json!(score));
            }
            object.insert("adapter_id".to_owned(), json!(answered.adapter_id));
            if let Some(base_model) = &answered.base_model {
                object.insert("base_model".to_owned(), json!(base_model));
            }
            object.insert("duration_ms".to_owned(), number(answered.duration_ms));
            if let Some(Usage { input, output }) = answered.usage {
                let usage = json!({ "input_tokens": input, "output_tokens": output });
                object.insert("usage".to_owned(), usage);
            }
        }
        Err(error) => {
            object.insert("ok".to_owned(), json!(false));
            object.insert("error".to_owned(), json!(error.error));
            object.insert("detail".to_owned(), json!(error.detail));
            if let Some(status) = error.status {
                object.insert("status".to_owned(), json!(status));
            }
        }
    }
    Value::Object(object)
}

/// Returns a whole number without its `.0`.
fn number(value: f64) -> Value {
    let rounded = (value * 1000.0).round() / 1000.0;
    let text = format!("{rounded}");
    serde_json::from_str(&text).unwrap_or(Value::Null)
}
