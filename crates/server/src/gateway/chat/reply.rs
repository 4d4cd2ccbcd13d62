//! Formats an answer of a role for each client, whole or streamed, with its tokens.

use axum::body::Body;
use base::clock;
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use hyper::{Response, StatusCode};
use selection::output;
use serde_json::{Value, json};
use specialist::contract::Usage;

use super::Dialect;
use web::problem::{dated, json_response};

/// Characters per piece of a streamed answer.
const PIECE: usize = 80;

/// The tokens of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::gateway) struct Used {
    /// Number of tokens.
    pub(in crate::gateway) usage: Usage,
    /// Set if they were reported, and not estimated from the texts.
    pub(in crate::gateway) is_told: bool,
}

/// Returns the reported tokens, else an estimate by the length of the texts.
pub(in crate::gateway) fn estimated(told: Option<Usage>, input: &Value, answer: &Value) -> Used {
    let estimate = || Usage {
        input: output::tokens(&output::text(input)),
        output: output::tokens(&output::text(answer)),
    };
    Used {
        usage: told.unwrap_or_else(estimate),
        is_told: told.is_some(),
    }
}

/// An answer of a role.
#[derive(Clone, Copy, Debug)]
pub(in crate::gateway) struct Reply<'a> {
    pub(in crate::gateway) trace: &'a str,
    /// The model that answered.
    pub(in crate::gateway) model: &'a str,
    pub(in crate::gateway) answer: &'a Value,
    pub(in crate::gateway) usage: Usage,
}

/// Formats the answer for the client: whole, or streamed after verification.
pub(in crate::gateway) fn reply(
    dialect: Dialect,
    request: &Value,
    reply: Reply<'_>,
) -> Response<Body> {
    let text = output::text(reply.answer);
    let streams = request.get("stream").and_then(Value::as_bool) == Some(true);
    let whole = |answer: Value| json_response(StatusCode::OK, answer.to_string());
    match (dialect, streams) {
        (Dialect::Chat, false) => whole(completion(reply, &text)),
        (Dialect::Messages, false) => whole(message(reply, &text)),
        (Dialect::Responses, false) => whole(response(reply, &text)),
        (Dialect::Chat, true) => {
            let usage = request.pointer("/stream_options/include_usage");
            events(chunks(reply, &text, usage == Some(&Value::Bool(true))))
        }
        (Dialect::Messages, true) => events(named_events(&message_events(reply, &text))),
        (Dialect::Responses, true) => events(named_events(&response_events(reply, &text))),
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
        "usage": completion_usage(reply.usage),
    })
}

fn completion_usage(Usage { input, output }: Usage) -> Value {
    json!({
        "prompt_tokens": input,
        "completion_tokens": output,
        "total_tokens": input.saturating_add(output),
    })
}

pub(super) fn chunks(reply: Reply<'_>, text: &str, with_usage: bool) -> String {
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
            last.insert("usage".to_owned(), completion_usage(reply.usage));
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
        "usage": { "input_tokens": reply.usage.input, "output_tokens": reply.usage.output },
    })
}

pub(super) fn message_events(reply: Reply<'_>, text: &str) -> Vec<Value> {
    let mut start = message(reply, "");
    if let Some(start) = start.as_object_mut() {
        start.insert("content".to_owned(), json!([]));
        start.insert("stop_reason".to_owned(), Value::Null);
        let usage = json!({ "input_tokens": reply.usage.input, "output_tokens": 0 });
        start.insert("usage".to_owned(), usage);
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
        "usage": { "output_tokens": reply.usage.output },
    }));
    all.push(json!({ "type": "message_stop" }));
    all
}

/// Returns an object of the responses API. Fields without a request value are `null`, as in that API.
fn response(reply: Reply<'_>, text: &str) -> Value {
    let Usage { input, output } = reply.usage;
    let mut response = unfinished(reply);
    let done = json!({
        "status": "completed",
        "output": [item(reply, text)],
        "usage": {
            "input_tokens": input,
            "input_tokens_details": { "cached_tokens": 0 },
            "output_tokens": output,
            "output_tokens_details": { "reasoning_tokens": 0 },
            "total_tokens": input.saturating_add(output),
        },
    });
    if let (Value::Object(response), Value::Object(done)) = (&mut response, done) {
        response.extend(done);
    }
    response
}

fn unfinished(reply: Reply<'_>) -> Value {
    json!({
        "id": format!("resp_{}", reply.trace),
        "object": "response",
        "created_at": seconds(),
        "status": "in_progress",
        "background": false,
        "error": null,
        "incomplete_details": null,
        "instructions": null,
        "max_output_tokens": null,
        "metadata": {},
        "model": reply.model,
        "output": [],
        "parallel_tool_calls": false,
        "previous_response_id": null,
        "reasoning": { "effort": null, "summary": null },
        "store": false,
        "temperature": null,
        "text": { "format": { "type": "text" } },
        "tool_choice": "auto",
        "tools": [],
        "top_p": null,
        "truncation": "disabled",
        "usage": null,
    })
}

fn item(reply: Reply<'_>, text: &str) -> Value {
    json!({
        "type": "message",
        "id": format!("msg_{}", reply.trace),
        "status": "completed",
        "role": "assistant",
        "content": [part(text)],
    })
}

fn part(text: &str) -> Value {
    json!({ "type": "output_text", "text": text, "annotations": [], "logprobs": [] })
}

pub(super) fn response_events(reply: Reply<'_>, text: &str) -> Vec<Value> {
    let id = format!("msg_{}", reply.trace);
    let empty = json!({
        "type": "message", "id": id, "status": "in_progress", "role": "assistant", "content": [],
    });
    let placed = |kind: &str, key: &str, value: Value| json!({ "type": kind, "item_id": id, "output_index": 0, "content_index": 0, key: value });
    let mut all = vec![
        json!({ "type": "response.created", "response": unfinished(reply) }),
        json!({ "type": "response.in_progress", "response": unfinished(reply) }),
        json!({ "type": "response.output_item.added", "output_index": 0, "item": empty }),
        placed("response.content_part.added", "part", part("")),
    ];
    all.extend(pieces(text).map(|piece| {
        let mut delta = placed("response.output_text.delta", "delta", json!(piece));
        if let Some(delta) = delta.as_object_mut() {
            delta.insert("logprobs".to_owned(), json!([]));
        }
        delta
    }));
    let mut done = placed("response.output_text.done", "text", json!(text));
    if let Some(done) = done.as_object_mut() {
        done.insert("logprobs".to_owned(), json!([]));
    }
    all.push(done);
    all.push(placed("response.content_part.done", "part", part(text)));
    all.push(json!({
        "type": "response.output_item.done", "output_index": 0, "item": item(reply, text),
    }));
    all.push(json!({ "type": "response.completed", "response": response(reply, text) }));
    for (number, event) in all.iter_mut().enumerate() {
        if let Some(event) = event.as_object_mut() {
            event.insert("sequence_number".to_owned(), json!(number));
        }
    }
    all
}

/// Returns a stream in which the name of every event is its type.
pub(super) fn named_events(all: &[Value]) -> String {
    let event = |event: &Value| {
        let name = event
            .get("type")
            .and_then(Value::as_str)
            .unwrap_or_default();
        format!("event: {name}\ndata: {event}\n\n")
    };
    all.iter().map(event).collect()
}

/// Splits a text into pieces of whole characters.
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
