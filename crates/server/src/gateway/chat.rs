//! The clients' formats: the one input out of a conversation, and an answer as OpenAI's and Anthropic's clients read it.

use axum::body::Body;
use host::clock;
use host::config::gateway::Protocol;
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use hyper::{Response, StatusCode};
use serde_json::{Value, json};
use specialist::contract::read_text;

use crate::problem::{dated, json_response};

/// Characters in one piece of a streamed answer.
const PIECE: usize = 80;

/// The input for an adapter: the only user message, when it is text and asks for nothing that an adapter cannot do.
///
/// # Errors
/// Why only the general model can answer.
pub(super) fn input(protocol: Protocol, body: &Value) -> Result<Value, &'static str> {
    if wants_a_tool(body) {
        return Err("tool_call_wanted");
    }
    if body.get("n").and_then(Value::as_u64).is_some_and(|n| n > 1) {
        return Err("several_answers_wanted");
    }
    let messages = body.get("messages").and_then(Value::as_array);
    let messages = messages.ok_or("no_messages")?;
    let role = |message: &&Value| {
        message
            .get("role")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let said: Vec<&Value> = messages
        .iter()
        .filter(|message| {
            protocol == Protocol::Anthropic
                || !matches!(role(message).as_str(), "system" | "developer")
        })
        .collect();
    match said.as_slice() {
        [only] if role(only) == "user" => text(only).map(|text| read_text(&text)),
        [] => Err("no_messages"),
        _ => Err("conversation"),
    }
}

/// What the client says beside its messages.
///
/// # Errors
/// It is more than text.
pub(super) fn system(protocol: Protocol, body: &Value) -> Result<Option<String>, &'static str> {
    let said = match protocol {
        Protocol::Anthropic => match body.get("system") {
            None | Some(Value::Null) => Vec::new(),
            Some(said) => vec![text_of(Some(said))?],
        },
        Protocol::OpenAi => {
            let messages = body.get("messages").and_then(Value::as_array);
            let is_system = |message: &&Value| {
                let role = message.get("role").and_then(Value::as_str);
                matches!(role, Some("system" | "developer"))
            };
            let said = messages.into_iter().flatten().filter(is_system);
            said.map(text).collect::<Result<_, _>>()?
        }
    };
    let said = said.join("\n\n");
    Ok((!said.is_empty()).then_some(said))
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

/// The text of a message, when it is nothing else.
fn text(message: &Value) -> Result<String, &'static str> {
    text_of(message.get("content"))
}

fn text_of(content: Option<&Value>) -> Result<String, &'static str> {
    match content {
        Some(Value::String(text)) => Ok(text.clone()),
        Some(Value::Array(blocks)) => {
            let texts = blocks.iter().map(|block| {
                let is_text = block.get("type").and_then(Value::as_str) == Some("text");
                let text = block.get("text").and_then(Value::as_str);
                text.filter(|_| is_text)
            });
            let texts: Option<Vec<&str>> = texts.collect();
            texts.map(|texts| texts.join("\n")).ok_or("not_text")
        }
        _ => Err("not_text"),
    }
}

/// Whether tools are offered, which no other protocol would be told of.
pub(super) fn offers_tools(body: &Value) -> bool {
    let tools = body.get("tools").and_then(Value::as_array);
    tools.is_some_and(|tools| !tools.is_empty())
}

/// An answer of a role.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reply<'a> {
    pub(super) trace: &'a str,
    /// Who answered.
    pub(super) model: &'a str,
    pub(super) answer: &'a Value,
}

/// The answer as the client wants it: whole, or streamed now that it is verified.
pub(super) fn reply(protocol: Protocol, request: &Value, reply: Reply<'_>) -> Response<Body> {
    let text = match reply.answer {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let streams = request.get("stream").and_then(Value::as_bool) == Some(true);
    match (protocol, streams) {
        (Protocol::OpenAi, false) => {
            json_response(StatusCode::OK, completion(reply, &text).to_string())
        }
        (Protocol::Anthropic, false) => {
            json_response(StatusCode::OK, message(reply, &text).to_string())
        }
        (Protocol::OpenAi, true) => {
            let usage = request
                .get("stream_options")
                .and_then(|set| set.get("include_usage"));
            events(chunks(reply, &text, usage == Some(&Value::Bool(true))))
        }
        (Protocol::Anthropic, true) => events(message_events(reply, &text)),
    }
}

/// What a whole answer of a model says.
///
/// # Errors
/// It is more than text, or none of this protocol.
pub(super) fn answer_text(protocol: Protocol, body: &[u8]) -> Result<String, &'static str> {
    let answer: Value = serde_json::from_slice(body).map_err(|_| "it is no JSON")?;
    match protocol {
        Protocol::OpenAi => {
            let message = answer
                .pointer("/choices/0/message")
                .ok_or("it is no completion")?;
            no_tools(message.get("tool_calls"))?;
            let content = message.get("content").and_then(Value::as_str);
            content.map(str::to_owned).ok_or("it has no text")
        }
        Protocol::Anthropic => {
            let blocks = answer.get("content").and_then(Value::as_array);
            let blocks = blocks.ok_or("it is no message")?;
            let kind = |block: &Value, kind: &str| block.get("type").is_some_and(|it| it == kind);
            if blocks.iter().any(|block| kind(block, "tool_use")) {
                return Err(CALLS_A_TOOL);
            }
            let texts = blocks.iter().filter(|block| kind(block, "text"));
            let texts = texts.filter_map(|block| block.get("text")?.as_str());
            Ok(texts.collect())
        }
    }
}

const CALLS_A_TOOL: &str = "it calls a tool";

fn no_tools(calls: Option<&Value>) -> Result<(), &'static str> {
    match calls.and_then(Value::as_array) {
        Some(calls) if !calls.is_empty() => Err(CALLS_A_TOOL),
        _ => Ok(()),
    }
}

/// What a streamed answer of a model says.
///
/// # Errors
/// It is more than text, or did not come to its end.
pub(super) fn streamed_text(protocol: Protocol, body: &[u8]) -> Result<String, &'static str> {
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
        let piece = match protocol {
            Protocol::OpenAi => {
                let delta = event.pointer("/choices/0/delta");
                no_tools(delta.and_then(|delta| delta.get("tool_calls")))?;
                let reason = event.pointer("/choices/0/finish_reason");
                ended |= reason.is_some_and(Value::is_string);
                event.pointer("/choices/0/delta/content")
            }
            Protocol::Anthropic => {
                if event
                    .pointer("/content_block/type")
                    .is_some_and(|it| it == "tool_use")
                {
                    return Err(CALLS_A_TOOL);
                }
                ended |= event.get("type").is_some_and(|it| it == "message_stop");
                event.pointer("/delta/text")
            }
        };
        said.push_str(piece.and_then(Value::as_str).unwrap_or_default());
    }
    if ended {
        Ok(said)
    } else {
        Err("it did not come to its end")
    }
}

fn seconds() -> u64 {
    clock::now_ns() / 1_000_000_000
}

fn completion(reply: Reply<'_>, text: &str) -> Value {
    json!({
        "id": format!("chatcmpl-{}", reply.trace),
        "object": "chat.completion",
        "created": seconds(),
        "model": reply.model,
        "choices": [{
            "index": 0,
            "message": { "role": "assistant", "content": text, "refusal": null },
            "logprobs": null,
            "finish_reason": "stop",
        }],
        "usage": no_usage(),
    })
}

/// An adapter does not tell what it used.
fn no_usage() -> Value {
    json!({ "prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0 })
}

fn chunks(reply: Reply<'_>, text: &str, with_usage: bool) -> String {
    let created = seconds();
    let chunk = |choices: Value| {
        let mut chunk = json!({
            "id": format!("chatcmpl-{}", reply.trace),
            "object": "chat.completion.chunk",
            "created": created,
            "model": reply.model,
            "choices": choices,
        });
        if with_usage && let Some(chunk) = chunk.as_object_mut() {
            chunk.insert("usage".to_owned(), Value::Null);
        }
        chunk
    };
    let choice = |delta: Value, finish: Value| {
        chunk(json!([{ "index": 0, "delta": delta, "logprobs": null, "finish_reason": finish }]))
    };
    let mut all = vec![choice(
        json!({ "role": "assistant", "content": "", "refusal": null }),
        Value::Null,
    )];
    all.extend(pieces(text).map(|piece| choice(json!({ "content": piece }), Value::Null)));
    all.push(choice(json!({}), json!("stop")));
    if with_usage {
        let mut last = chunk(json!([]));
        if let Some(last) = last.as_object_mut() {
            last.insert("usage".to_owned(), no_usage());
        }
        all.push(last);
    }
    let mut stream: String = all
        .iter()
        .map(|chunk| format!("data: {chunk}\n\n"))
        .collect();
    stream.push_str("data: [DONE]\n\n");
    stream
}

fn message(reply: Reply<'_>, text: &str) -> Value {
    json!({
        "id": format!("msg_{}", reply.trace),
        "type": "message",
        "role": "assistant",
        "model": reply.model,
        "content": [{ "type": "text", "text": text }],
        "stop_reason": "end_turn",
        "stop_sequence": null,
        "usage": { "input_tokens": 0, "output_tokens": 0 },
    })
}

fn message_events(reply: Reply<'_>, text: &str) -> String {
    let mut start = message(reply, "");
    if let Some(start) = start.as_object_mut() {
        start.insert("content".to_owned(), json!([]));
        start.insert("stop_reason".to_owned(), Value::Null);
    }
    let mut all = vec![
        json!({ "type": "message_start", "message": start }),
        json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "text", "text": "" } }),
    ];
    all.extend(pieces(text).map(|piece| {
        let delta = json!({ "type": "text_delta", "text": piece });
        json!({ "type": "content_block_delta", "index": 0, "delta": delta })
    }));
    all.push(json!({ "type": "content_block_stop", "index": 0 }));
    all.push(json!({
        "type": "message_delta",
        "delta": { "stop_reason": "end_turn", "stop_sequence": null },
        "usage": { "output_tokens": 0 },
    }));
    all.push(json!({ "type": "message_stop" }));
    let event = |event: &Value| {
        let name = event
            .get("type")
            .and_then(Value::as_str)
            .unwrap_or_default();
        format!("event: {name}\ndata: {event}\n\n")
    };
    all.iter().map(event).collect()
}

/// A text in pieces that are whole characters.
fn pieces(text: &str) -> impl Iterator<Item = String> {
    let characters: Vec<char> = text.chars().collect();
    let pieces: Vec<String> = characters
        .chunks(PIECE)
        .map(|piece| piece.iter().collect())
        .collect();
    pieces.into_iter()
}

fn events(stream: String) -> Response<Body> {
    let mut response = Response::new(Body::from(stream));
    let headers = response.headers_mut();
    let kind = HeaderValue::from_static("text/event-stream; charset=utf-8");
    headers.insert(CONTENT_TYPE, kind);
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    dated(response)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_user_message_of_text_is_an_input() {
        let openai = |body| input(Protocol::OpenAi, &body);
        let anthropic = |body| input(Protocol::Anthropic, &body);
        let user = |content: Value| json!({ "role": "user", "content": content });
        assert_eq!(
            openai(
                json!({ "messages": [{ "role": "system", "content": "s" }, user(json!("hi"))] })
            ),
            Ok(json!("hi"))
        );
        assert_eq!(
            anthropic(
                json!({ "messages": [user(json!([{ "type": "text", "text": "{\"a\":1}" }]))], "tools": [{}] })
            ),
            Ok(json!({ "a": 1 }))
        );
        let image = json!([{ "type": "text", "text": "x" }, { "type": "image" }]);
        assert_eq!(
            anthropic(json!({ "messages": [user(image)] })),
            Err("not_text")
        );
        assert_eq!(
            openai(
                json!({ "messages": [user(json!("a")), { "role": "assistant", "content": "b" }, user(json!("c"))] })
            ),
            Err("conversation")
        );
        assert_eq!(
            openai(json!({ "messages": [{ "role": "assistant", "content": "b" }] })),
            Err("conversation")
        );
        assert_eq!(openai(json!({ "messages": [] })), Err("no_messages"));
        assert_eq!(openai(json!({})), Err("no_messages"));
        assert_eq!(
            openai(json!({ "messages": [user(json!("a"))], "tool_choice": "required" })),
            Err("tool_call_wanted")
        );
        assert_eq!(
            anthropic(json!({ "messages": [user(json!("a"))], "tool_choice": { "type": "any" } })),
            Err("tool_call_wanted")
        );
        assert_eq!(
            openai(json!({ "messages": [user(json!("a"))], "n": 2 })),
            Err("several_answers_wanted")
        );
    }

    #[test]
    fn a_stream_has_the_whole_text_in_whole_characters() {
        let answer = json!("é".repeat(100));
        let reply = Reply {
            trace: "t",
            model: "m",
            answer: &answer,
        };
        let text = "é".repeat(100);
        let joined = |stream: &str, at: &dyn Fn(&Value) -> Option<String>| -> String {
            let data = stream
                .lines()
                .filter_map(|line| line.strip_prefix("data: "));
            data.filter_map(|data| at(&serde_json::from_str::<Value>(data).ok()?))
                .collect()
        };
        let openai = chunks(reply, &text, true);
        assert_eq!(
            joined(&openai, &|chunk| Some(
                chunk["choices"][0]["delta"]["content"].as_str()?.to_owned()
            )),
            text
        );
        assert!(
            openai.ends_with("\"total_tokens\":0}}\n\ndata: [DONE]\n\n"),
            "{openai}"
        );
        let anthropic = message_events(reply, &text);
        assert_eq!(
            joined(&anthropic, &|event| Some(
                event["delta"]["text"].as_str()?.to_owned()
            )),
            text
        );
        assert!(
            anthropic.starts_with("event: message_start\n")
                && anthropic.ends_with("{\"type\":\"message_stop\"}\n\n")
        );
    }
}
