//! Converts a request for a general model with another API: the question, the client's text beside it, and the settings
//! that both APIs have. Other parts are named, never dropped silently.

use base::config::specialist::Kind;
use serde_json::{Map, Value};

use crate::gateway::chat::{self, Dialect};
use crate::gateway::receipt::shortened;
use upstream::fallback::Beside;

/// Fields that are converted separately, or only affect the response.
const KNOWN: [&str; 15] = [
    "model",
    "models",
    "messages",
    "system",
    "stream",
    "stream_options",
    "tools",
    "tool_choice",
    "n",
    "metadata",
    "user",
    "input",
    "instructions",
    "store",
    "include",
];

/// Most fields that are named.
const MOST: usize = 8;

/// A converted request.
#[derive(Debug)]
pub(super) struct Crossing {
    /// The question.
    pub(super) input: Value,
    /// Text and settings beside it.
    pub(super) beside: Beside,
    /// Both APIs, and the fields that only the client's API has.
    pub(super) told: String,
}

/// Converts a request; `None` if its content would be lost.
pub(super) fn cross(dialect: Dialect, to: Kind, request: &Value) -> Option<Crossing> {
    let input = chat::input(dialect, request).ok()?;
    if chat::offers_tools(request) {
        return None;
    }
    let system = chat::system(dialect, request).ok()?;
    let mut beside = Beside {
        system,
        settings: Map::new(),
    };
    let mut left_out = Vec::new();
    for (name, value) in request.as_object().into_iter().flatten() {
        if KNOWN.contains(&name.as_str()) || value.is_null() {
            continue;
        }
        match setting(to, name) {
            Some(theirs) => {
                beside
                    .settings
                    .insert(theirs.to_owned(), fitting(theirs, value));
            }
            None => left_out.push(name.as_str()),
        }
    }
    if to == Kind::Command && beside.system.take().is_some() {
        left_out.push("system");
    }
    Some(Crossing {
        input,
        beside,
        told: told(dialect, to, &left_out),
    })
}

/// Returns the other API's name of a setting; a program receives none.
fn setting(to: Kind, name: &str) -> Option<&'static str> {
    let stop = match to {
        Kind::Anthropic => "stop_sequences",
        Kind::OpenAi => "stop",
        Kind::None | Kind::Command => return None,
    };
    match name {
        "max_tokens" | "max_completion_tokens" | "max_output_tokens" => Some("max_tokens"),
        "temperature" => Some("temperature"),
        "top_p" => Some("top_p"),
        "stop" | "stop_sequences" => Some(stop),
        _ => None,
    }
}

/// Converts a single stop sequence, which Anthropic only accepts in a list.
fn fitting(name: &str, value: &Value) -> Value {
    match value {
        Value::String(_) if name == "stop_sequences" => Value::Array(vec![value.clone()]),
        other => other.clone(),
    }
}

/// Returns both APIs for the receipt.
pub(super) fn told(dialect: Dialect, to: Kind, left_out: &[&str]) -> String {
    let other = match to {
        Kind::Command => "command",
        Kind::OpenAi => "openai",
        Kind::Anthropic | Kind::None => "anthropic",
    };
    let mut told = format!("{} to {other}", dialect.name());
    for (place, name) in left_out.iter().take(MOST).enumerate() {
        let before = if place == 0 { ", without " } else { ", " };
        told.push_str(&format!("{before}`{}`", shortened(name)));
    }
    if left_out.len() > MOST {
        told.push_str(&format!(" and {} more", left_out.len() - MOST));
    }
    told
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_both_know_is_put_over_and_the_rest_is_named() {
        let request = json!({
            "model": "role:x", "max_tokens": 7, "stop_sequences": ["a"], "thinking": {}, "top_k": 1, "stream": true,
            "system": [{ "type": "text", "text": "be brief" }], "messages": [{ "role": "user", "content": "hello" }],
        });
        let crossing = cross(Dialect::Messages, Kind::OpenAi, &request).unwrap();
        assert_eq!(crossing.input, "hello");
        assert_eq!(crossing.beside.system.as_deref(), Some("be brief"));
        assert_eq!(
            Value::Object(crossing.beside.settings),
            json!({ "max_tokens": 7, "stop": ["a"] })
        );
        assert_eq!(
            crossing.told,
            "anthropic to openai, without `thinking`, `top_k`"
        );

        let request = json!({
            "max_completion_tokens": 7, "stop": "a", "temperature": 0.5,
            "messages": [{ "role": "developer", "content": "be brief" }, { "role": "user", "content": "hello" }],
        });
        let crossing = cross(Dialect::Chat, Kind::Anthropic, &request).unwrap();
        assert_eq!(
            Value::Object(crossing.beside.settings),
            json!({ "max_tokens": 7, "stop_sequences": ["a"], "temperature": 0.5 })
        );
        assert_eq!(crossing.told, "openai to anthropic");
        let crossing = cross(Dialect::Chat, Kind::Command, &request).unwrap();
        assert_eq!(crossing.beside, Beside::default());
        assert_eq!(
            crossing.told,
            "openai to command, without `max_completion_tokens`, `stop`, `temperature`, `system`"
        );
    }

    #[test]
    fn content_is_not_lost() {
        let image = json!([{ "type": "image", "source": {} }]);
        for request in [
            json!({ "messages": [{ "role": "user", "content": image }] }),
            json!({ "messages": [{ "role": "user", "content": "a" }], "tools": [{}] }),
            json!({ "messages": [{ "role": "user", "content": "a" }], "system": image }),
        ] {
            assert!(
                cross(Dialect::Messages, Kind::OpenAi, &request).is_none(),
                "{request}"
            );
        }
    }
}
