//! The clients' formats: converts a request to the input of a role, and an answer to the formats of OpenAI and
//! Anthropic.
//!
//! [`Dialect`] is the format; `read` extracts the text of an answer, `reply` formats an answer of a role.

use base::config::gateway::Protocol;
use serde_json::{Map, Value, json};
use specialist::contract::read_text;

use upstream::fallback::Beside;

mod read;
mod reply;

pub(super) use self::read::{answer_text, streamed_text};
pub(super) use self::reply::{Reply, Used, estimated, reply};

/// Format of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    /// OpenAI's chat completions.
    Chat,
    /// Anthropic's messages.
    Messages,
    /// OpenAI's responses.
    Responses,
}

impl Dialect {
    /// Returns the format for a path.
    pub(super) fn of_path(path: &str) -> Option<Self> {
        match path {
            "/v1/chat/completions" => Some(Self::Chat),
            "/v1/messages" | "/v1/messages/count_tokens" => Some(Self::Messages),
            "/v1/responses" => Some(Self::Responses),
            _ => None,
        }
    }

    /// Returns its API.
    pub(super) fn protocol(self) -> Protocol {
        match self {
            Self::Chat | Self::Responses => Protocol::OpenAi,
            Self::Messages => Protocol::Anthropic,
        }
    }

    /// Returns the name in receipts.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Chat => "openai",
            Self::Messages => "anthropic",
            Self::Responses => "responses",
        }
    }
}

/// Returns the input for an adapter: the only user message, if it is text and requests nothing that an adapter cannot
/// do.
pub(super) fn input(dialect: Dialect, body: &Value) -> Result<Value, &'static str> {
    if wants_a_tool(body) {
        return Err("tool_call_wanted");
    }
    if body.get("n").and_then(Value::as_u64).is_some_and(|n| n > 1) {
        return Err("several_answers_wanted");
    }
    let set = |key: &str| body.get(key).is_some_and(|value| !value.is_null());
    if ["previous_response_id", "conversation", "prompt"].map(set) != [false; 3] {
        return Err("conversation");
    }
    let messages = match (dialect, body.get("input")) {
        (Dialect::Responses, Some(Value::String(text))) => return Ok(read_text(text)),
        (Dialect::Responses, input) => input,
        _ => body.get("messages"),
    };
    let messages = messages.and_then(Value::as_array).ok_or("no_messages")?;
    let said = messages
        .iter()
        .filter(|message| dialect == Dialect::Messages || !is_system(message));
    let said: Vec<&Value> = said.collect();
    match said.as_slice() {
        [only] if role(only) == "user" => text(only).map(|text| read_text(&text)),
        [] => Err("no_messages"),
        _ => Err("conversation"),
    }
}

fn role(message: &Value) -> &str {
    message
        .get("role")
        .and_then(Value::as_str)
        .unwrap_or_default()
}

fn is_system(message: &Value) -> bool {
    matches!(role(message), "system" | "developer")
}

/// Returns the client's instructions beside its messages.
pub(super) fn system(dialect: Dialect, body: &Value) -> Result<Option<String>, &'static str> {
    let own = |key: &str| match body.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(said) => text_of(Some(said)).map(Some),
    };
    let (first, messages) = match dialect {
        Dialect::Messages => (own("system")?, None),
        Dialect::Chat => (None, body.get("messages")),
        Dialect::Responses => (own("instructions")?, body.get("input")),
    };
    let messages = messages.and_then(Value::as_array).into_iter().flatten();
    let further: Vec<String> = messages
        .filter(|message| is_system(message))
        .map(text)
        .collect::<Result<_, _>>()?;
    let said: Vec<String> = first.into_iter().chain(further).collect();
    let said = said.join("\n\n");
    Ok((!said.is_empty()).then_some(said))
}

/// Returns the settings for an adapter behind chat completions, with their names there.
pub(super) fn settings(body: &Value) -> Map<String, Value> {
    let names = [
        ("temperature", "temperature"),
        ("top_p", "top_p"),
        ("max_tokens", "max_tokens"),
        ("max_completion_tokens", "max_tokens"),
        ("max_output_tokens", "max_tokens"),
        ("stop", "stop"),
        ("stop_sequences", "stop"),
        ("seed", "seed"),
        ("frequency_penalty", "frequency_penalty"),
        ("presence_penalty", "presence_penalty"),
    ];
    let set = names.into_iter().filter_map(|(own, theirs)| {
        let value = body.get(own).filter(|value| !value.is_null())?;
        Some((theirs.to_owned(), value.clone()))
    });
    let mut settings: Map<String, Value> = set.collect();
    if let Some(format) = format(body) {
        settings.insert("response_format".to_owned(), format);
    }
    settings
}

/// Returns the required format of the answer, as in chat completions; `None` for any text.
fn format(body: &Value) -> Option<Value> {
    let is_free = |format: &&Value| {
        let kind = format.get("type").and_then(Value::as_str);
        format.is_null() || kind == Some("text")
    };
    if let Some(format) = body.get("response_format") {
        return Some(format).filter(|format| !is_free(format)).cloned();
    }
    let format = body
        .pointer("/text/format")
        .filter(|format| !is_free(format))?;
    if format.get("type").and_then(Value::as_str) != Some("json_schema") {
        return Some(format.clone());
    }
    let mut schema = format.clone();
    if let Some(schema) = schema.as_object_mut() {
        schema.remove("type");
    }
    Some(json!({ "type": "json_schema", "json_schema": schema }))
}

/// Returns the parts of a request that an adapter cannot receive, with their names for receipts. With `is_chat`, the
/// adapter uses chat completions, which support all but tools.
pub(super) fn left_out(
    dialect: Dialect,
    body: &Value,
    is_chat: bool,
) -> Result<Vec<&'static str>, &'static str> {
    let has_system = system(dialect, body)?.is_some();
    let parts = [
        (offers_tools(body) || asks_for_more(body), "tools"),
        (has_system && !is_chat, "system_text"),
        (format(body).is_some() && !is_chat, "response_format"),
    ];
    Ok(parts
        .into_iter()
        .filter(|part| part.0)
        .map(|part| part.1)
        .collect())
}

/// Parts of a request that do not affect the answer, or are handled separately.
const HARMLESS: &[&str] = &[
    "cache_control",
    "conversation",
    "frequency_penalty",
    "input",
    "instructions",
    "max_completion_tokens",
    "max_output_tokens",
    "max_tokens",
    "messages",
    "metadata",
    "model",
    "models",
    "n",
    "parallel_tool_calls",
    "prediction",
    "presence_penalty",
    "previous_response_id",
    "prompt",
    "prompt_cache_key",
    "prompt_cache_retention",
    "reasoning",
    "reasoning_effort",
    "response_format",
    "safety_identifier",
    "seed",
    "service_tier",
    "stop",
    "stop_sequences",
    "store",
    "stream",
    "stream_options",
    "system",
    "temperature",
    "text",
    "thinking",
    "tool_choice",
    "tools",
    "top_k",
    "top_p",
    "truncation",
    "user",
    "verbosity",
];

/// Returns `true` if a field requests something that is not passed to adapters, under any name.
fn asks_for_more(body: &Value) -> bool {
    let says_nothing = |value: &Value| match value {
        Value::Null | Value::Bool(false) => true,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        // Some are switched on by their presence.
        Value::Object(_) | Value::Bool(true) => false,
    };
    let is_harmless = |(name, value): (&String, &Value)| match name.as_str() {
        "modalities" => *value == json!(["text"]),
        "output_config" => value.get("format").is_none_or(Value::is_null),
        "function_call" => value == "none" || value == "auto",
        "functions" if body.get("function_call").is_some_and(|call| call == "none") => true,
        name => HARMLESS.contains(&name) || says_nothing(value),
    };
    let fields = body.as_object();
    fields.is_some_and(|fields| !fields.iter().all(is_harmless))
}

/// Returns the client's text and settings beside its input, for an adapter behind chat completions.
pub(super) fn beside(dialect: Dialect, body: &Value) -> Beside {
    Beside {
        system: system(dialect, body).unwrap_or_default(),
        settings: settings(body),
    }
}

fn wants_a_tool(body: &Value) -> bool {
    match body.get("tool_choice") {
        Some(Value::String(choice)) => choice == "required",
        Some(Value::Object(choice)) => {
            let kind = choice.get("type").and_then(Value::as_str);
            !matches!(kind, Some("auto" | "none"))
        }
        _ => false,
    }
}

/// Returns the text of a message, if it contains only text.
fn text(message: &Value) -> Result<String, &'static str> {
    text_of(message.get("content"))
}

fn text_of(content: Option<&Value>) -> Result<String, &'static str> {
    match content {
        Some(Value::String(text)) => Ok(text.clone()),
        Some(Value::Array(blocks)) => {
            let texts = blocks.iter().map(|block| {
                let kind = block.get("type").and_then(Value::as_str);
                let text = block.get("text").and_then(Value::as_str);
                text.filter(|_| matches!(kind, Some("text" | "input_text")))
            });
            let texts: Option<Vec<&str>> = texts.collect();
            texts.map(|texts| texts.join("\n")).ok_or("not_text")
        }
        _ => Err("not_text"),
    }
}

/// Returns `true` if tools are offered and allowed, which other protocols cannot receive.
pub(super) fn offers_tools(body: &Value) -> bool {
    let is_none = match body.get("tool_choice") {
        Some(Value::String(choice)) => choice == "none",
        Some(choice) => choice.get("type").and_then(Value::as_str) == Some("none"),
        None => false,
    };
    let tools = body.get("tools").and_then(Value::as_array);
    !is_none && tools.is_some_and(|tools| !tools.is_empty())
}

#[cfg(test)]
mod tests;
