//! Extracts the text of an answer, whole or streamed, in each dialect.

use serde_json::Value;

use super::Dialect;

const CALLS_A_TOOL: &str = "it calls a tool";

/// Returns the text of a model's whole answer.
pub(in crate::gateway) fn answer_text(
    dialect: Dialect,
    body: &[u8],
) -> Result<String, &'static str> {
    let answer: Value = serde_json::from_slice(body).map_err(|_| "it is no JSON")?;
    match dialect {
        Dialect::Chat => {
            let message = answer
                .pointer("/choices/0/message")
                .ok_or("it is no completion")?;
            no_tools(message.get("tool_calls"))?;
            let content = message.get("content").and_then(Value::as_str);
            content.map(str::to_owned).ok_or("it has no text")
        }
        Dialect::Messages => {
            let blocks = answer.get("content").and_then(Value::as_array);
            texts(blocks.ok_or("it is no message")?, "text", "tool_use")
        }
        Dialect::Responses => {
            let items = answer.get("output").and_then(Value::as_array);
            let items = items.ok_or("it is no response")?;
            if items.iter().any(|item| is_kind(item, "function_call")) {
                return Err(CALLS_A_TOOL);
            }
            let parts = items
                .iter()
                .filter_map(|item| item.get("content")?.as_array());
            let parts: Vec<Value> = parts.flatten().cloned().collect();
            texts(&parts, "output_text", "function_call")
        }
    }
}

fn is_kind(block: &Value, kind: &str) -> bool {
    block.get("type").is_some_and(|it| it == kind)
}

fn texts(blocks: &[Value], text: &str, tool: &str) -> Result<String, &'static str> {
    if blocks.iter().any(|block| is_kind(block, tool)) {
        return Err(CALLS_A_TOOL);
    }
    let texts = blocks.iter().filter(|block| is_kind(block, text));
    Ok(texts
        .filter_map(|block| block.get("text")?.as_str())
        .collect())
}

fn no_tools(calls: Option<&Value>) -> Result<(), &'static str> {
    match calls.and_then(Value::as_array) {
        Some(calls) if !calls.is_empty() => Err(CALLS_A_TOOL),
        _ => Ok(()),
    }
}

/// Returns the text of a model's streamed answer.
pub(in crate::gateway) fn streamed_text(
    dialect: Dialect,
    body: &[u8],
) -> Result<String, &'static str> {
    let text = std::str::from_utf8(body).map_err(|_| "it is no text")?;
    let (mut said, mut ended) = (String::new(), false);
    for line in text.lines() {
        let Some(data) = line.strip_prefix("data:").map(str::trim_start) else {
            continue;
        };
        if data == "[DONE]" {
            ended = true;
            continue;
        }
        let event: Value = serde_json::from_str(data).map_err(|_| "it is no stream of JSON")?;
        let (piece, is_last) = piece(dialect, &event)?;
        ended |= is_last;
        said.push_str(piece.and_then(Value::as_str).unwrap_or_default());
    }
    if ended {
        Ok(said)
    } else {
        Err("it did not come to its end")
    }
}

/// Returns the text of one event, and `true` if the answer ends with it.
fn piece(dialect: Dialect, event: &Value) -> Result<(Option<&Value>, bool), &'static str> {
    let at = |path: &str| event.pointer(path);
    let is = |path: &str, kind: &str| at(path).is_some_and(|it| it == kind);
    match dialect {
        Dialect::Chat => {
            no_tools(at("/choices/0/delta/tool_calls"))?;
            let is_last = at("/choices/0/finish_reason").is_some_and(Value::is_string);
            Ok((at("/choices/0/delta/content"), is_last))
        }
        Dialect::Messages if is("/content_block/type", "tool_use") => Err(CALLS_A_TOOL),
        Dialect::Messages => Ok((at("/delta/text"), is("/type", "message_stop"))),
        Dialect::Responses if is("/item/type", "function_call") => Err(CALLS_A_TOOL),
        Dialect::Responses => {
            let delta = at("/delta").filter(|_| is("/type", "response.output_text.delta"));
            Ok((delta, is("/type", "response.completed")))
        }
    }
}
