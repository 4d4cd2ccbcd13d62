//! Reads tokens from an answer of a model, whole or as an event stream, and tool calls that ran from a request, in the
//! formats of Anthropic's Messages and of OpenAI's Responses and Chat Completions.

use std::collections::{BTreeMap, BTreeSet};

use base::prices::Usage;
use serde_json::Value;

/// Returns the tokens that an answer reports. Unparsable bytes count for nothing.
pub(super) fn usage(body: &[u8]) -> Usage {
    let places = ["/usage", "/message/usage", "/response/usage"];
    let told = |value: Value| {
        let found = places.iter().filter_map(|place| value.pointer(place));
        // A stream repeats its growing sums.
        found.map(tokens).fold(Usage::default(), Usage::grown)
    };
    if let Ok(value) = serde_json::from_slice::<Value>(body) {
        return told(value);
    }
    let lines = body.split(|byte| *byte == b'\n');
    let events = lines.filter_map(|line| serde_json::from_slice(line.strip_prefix(b"data:")?).ok());
    events.map(told).fold(Usage::default(), Usage::grown)
}

/// Returns the tool calls of a conversation that have a result, by id, with their tools. A call that the agent marks as
/// failed did not run.
pub(super) fn calls(request: &Value) -> BTreeMap<String, String> {
    let list = |place: &str| {
        request
            .get(place)
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
    };
    let blocks = list("messages").filter_map(|message| message.get("content")?.as_array());
    let items: Vec<&Value> = blocks.flatten().chain(list("input")).collect();
    let text = |item: &Value, key: &str| item.get(key).and_then(Value::as_str).map(str::to_owned);
    let kind = |item: &Value| text(item, "type").unwrap_or_default();
    let results: BTreeSet<String> = items
        .iter()
        .filter_map(|item| match &*kind(item) {
            "tool_result" if item.get("is_error") != Some(&Value::Bool(true)) => {
                text(item, "tool_use_id")
            }
            "function_call_output" | "custom_tool_call_output" => text(item, "call_id"),
            _ => None,
        })
        .collect();
    let made = items.iter().filter_map(|item| {
        let id = match &*kind(item) {
            "tool_use" => text(item, "id")?,
            "function_call" | "custom_tool_call" => text(item, "call_id")?,
            _ => return None,
        };
        Some((id, text(item, "name").unwrap_or_default()))
    });
    made.filter(|(id, _)| results.contains(id)).collect()
}

/// Parses tokens. Anthropic counts cached tokens beside the input, OpenAI within it.
fn tokens(usage: &Value) -> Usage {
    let number = |place: &str| usage.pointer(place).and_then(Value::as_u64).unwrap_or(0);
    let within = number("/prompt_tokens_details/cached_tokens")
        .max(number("/input_tokens_details/cached_tokens"));
    let input = number("/input_tokens").max(number("/prompt_tokens"));
    let hour = number("/cache_creation/ephemeral_1h_input_tokens");
    Usage {
        input: input.saturating_sub(within),
        output: number("/output_tokens").max(number("/completion_tokens")),
        cache_read: number("/cache_read_input_tokens").max(within),
        cache_write: number("/cache_creation_input_tokens").saturating_sub(hour),
        cache_write_hour: hour,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn tokens_are_read_in_every_format() {
        let messages = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":9,\"cache_read_input_tokens\":4,\"output_tokens\":1}}}\n\n\
            data: {\"type\":\"message_delta\",\"usage\":{\"output_tokens\":5}}\n\n";
        let responses = "data: {\"type\":\"response.completed\",\"response\":{\"usage\":{\"input_tokens\":13,\"input_tokens_details\":{\"cached_tokens\":4},\"output_tokens\":5}}}\n\n";
        let chat = r#"{"choices":[],"usage":{"prompt_tokens":13,"prompt_tokens_details":{"cached_tokens":4},"completion_tokens":5}}"#;
        for text in [messages, responses, chat] {
            let found = usage(text.as_bytes());
            assert_eq!(
                (found.input, found.cache_read, found.output),
                (9, 4, 5),
                "{text}"
            );
        }
        for text in ["", "data: [DONE]", "{\"usage\":null}", "\u{0}"] {
            assert_eq!(usage(text.as_bytes()), Usage::default(), "{text}");
        }
    }

    #[test]
    fn only_calls_with_a_result_have_run() {
        let messages = json!({"messages": [
            {"role": "user", "content": "text"},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "Bash"}, {"type": "tool_use", "id": "b", "name": "Bash"},
                {"type": "tool_use", "id": "c", "name": "Bash"}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a"}, {"type": "tool_result", "tool_use_id": "b", "is_error": true}]},
        ]});
        let responses = json!({"input": [
            {"type": "function_call", "call_id": "a", "name": "Bash"},
            {"type": "function_call_output", "call_id": "a", "output": "x"},
            {"type": "function_call", "call_id": "b", "name": "Bash"},
        ]});
        for request in [messages, responses] {
            let expected = BTreeMap::from([("a".to_owned(), "Bash".to_owned())]);
            assert_eq!(calls(&request), expected, "{request}");
        }
        assert!(calls(&json!({"messages": 1})).is_empty());
    }
}
