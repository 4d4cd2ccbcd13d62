//! A model that follows a script, in the wire formats of the real ones. Listens on loopback only.
//!
//! Anthropic Messages for Claude Code and OpenAI Responses for Codex, both as event streams; OpenAI Chat Completions
//! for agents without a stream. The agent's answer to a call is passed to the script, which decides the next turn; a
//! turn that is requested twice is repeated, not decided again, because agents repeat a request when a connection
//! breaks.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{StatusCode, Uri, header};
use axum::response::{IntoResponse as _, Response};
use serde_json::{Value, json};

use crate::failure::{Failure, Result};

/// Next action of the model.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Turn {
    /// It calls a tool.
    Call {
        /// Name of the tool.
        tool: &'static str,
        /// Arguments of the call.
        input: Value,
    },
    /// It returns a text, and its turn is over.
    Say(String),
}

/// Script that decides the turns.
pub(crate) trait Script: Send + Sync + 'static {
    /// Returns the next turn, after these answers to the calls so far.
    fn next(&self, answers: &[String]) -> Turn;
}

/// A listening model.
#[derive(Debug)]
pub(crate) struct Model {
    address: SocketAddr,
    answers: Arc<Mutex<Vec<String>>>,
}

struct Stage {
    script: Box<dyn Script>,
    said: Mutex<Vec<Turn>>,
    answers: Arc<Mutex<Vec<String>>>,
}

impl Model {
    /// Starts to listen on a free port; the thread ends with the process.
    pub(crate) fn start(script: impl Script) -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .map_err(|error| Failure::of("cannot listen on loopback", error))?;
        let address = listener
            .local_addr()
            .map_err(|error| Failure::of("cannot tell the own address", error))?;
        listener
            .set_nonblocking(true)
            .map_err(|error| Failure::of("cannot use the listener", error))?;
        let answers = Arc::new(Mutex::new(Vec::new()));
        let stage = Arc::new(Stage {
            script: Box::new(script),
            said: Mutex::new(Vec::new()),
            answers: Arc::clone(&answers),
        });
        thread::spawn(move || serve(listener, stage));
        Ok(Self { address, answers })
    }

    /// Returns its address.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns its address as a URL.
    pub(crate) fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the agent's answers to each call.
    pub(crate) fn answers(&self) -> Vec<String> {
        self.answers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

fn serve(listener: TcpListener, stage: Arc<Stage>) {
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
    else {
        return;
    };
    runtime.block_on(async {
        if let Ok(listener) = tokio::net::TcpListener::from_std(listener) {
            let router = Router::new().fallback(answer).with_state(stage);
            // It ends with the process; an error here shows as an agent that cannot reach its model.
            drop(axum::serve(listener, router).await);
        }
    });
}

async fn answer(State(stage): State<Arc<Stage>>, uri: Uri, body: Bytes) -> Response {
    let request: Value = serde_json::from_slice(&body).unwrap_or_default();
    let events = match uri.path() {
        "/v1/messages" => messages(&stage, &request),
        "/v1/responses" => responses(&stage, &request),
        "/v1/chat/completions" => return axum::Json(chat(&stage, &request)).into_response(),
        _ => return StatusCode::NOT_FOUND.into_response(),
    };
    let mut text = String::new();
    for event in events {
        let name = event.get("type").and_then(Value::as_str).unwrap_or("event");
        text.push_str(&format!("event: {name}\ndata: {event}\n\n"));
    }
    ([(header::CONTENT_TYPE, "text/event-stream")], text).into_response()
}

impl Stage {
    /// Returns the turn after `answers`, which is decided once.
    fn turn(&self, answers: &[String]) -> Turn {
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(turn) = said.get(answers.len()) {
            return turn.clone();
        }
        *self.answers.lock().unwrap_or_else(PoisonError::into_inner) = answers.to_vec();
        let turn = self.script.next(answers);
        said.push(turn.clone());
        turn
    }
}

/// Answers in Anthropic's format. A request without the shell tool is a side question (a title, a summary) and gets a
/// short text.
fn messages(stage: &Stage, request: &Value) -> Vec<Value> {
    let answers = blocks(request, "tool_result", "content");
    let turn = if offers(request, "Bash") {
        stage.turn(&answers)
    } else {
        Turn::Say("A task.".to_owned())
    };
    let id = format!("msg_{:04}", answers.len());
    let (start, delta, stop) = match turn {
        Turn::Call { tool, input } => (
            json!({ "type": "tool_use", "id": format!("toolu_{:04}", answers.len()), "name": tool, "input": {} }),
            json!({ "type": "input_json_delta", "partial_json": input.to_string() }),
            "tool_use",
        ),
        Turn::Say(text) => (
            json!({ "type": "text", "text": "" }),
            json!({ "type": "text_delta", "text": text }),
            "end_turn",
        ),
    };
    vec![
        json!({ "type": "message_start", "message": {
            "id": id, "type": "message", "role": "assistant", "model": request.get("model"), "content": [],
            "stop_reason": null, "stop_sequence": null, "usage": { "input_tokens": 1000, "output_tokens": 1 } } }),
        json!({ "type": "content_block_start", "index": 0, "content_block": start }),
        json!({ "type": "content_block_delta", "index": 0, "delta": delta }),
        json!({ "type": "content_block_stop", "index": 0 }),
        json!({ "type": "message_delta", "delta": { "stop_reason": stop, "stop_sequence": null }, "usage": { "output_tokens": 50 } }),
        json!({ "type": "message_stop" }),
    ]
}

/// Answers in `OpenAI`'s format.
fn responses(stage: &Stage, request: &Value) -> Vec<Value> {
    let items = request.get("input").and_then(Value::as_array);
    let answers: Vec<String> = items
        .into_iter()
        .flatten()
        .filter(|item| item.get("type").and_then(Value::as_str) == Some("function_call_output"))
        .map(|item| text_of(item.get("output")))
        .collect();
    let id = format!("resp_{:04}", answers.len());
    let item = match stage.turn(&answers) {
        Turn::Call { tool, input } => {
            json!({ "type": "function_call", "id": format!("fc_{:04}", answers.len()),
                "call_id": format!("call_{:04}", answers.len()), "name": tool, "arguments": input.to_string() })
        }
        Turn::Say(text) => {
            json!({ "type": "message", "id": format!("msg_{:04}", answers.len()), "role": "assistant",
                "content": [{ "type": "output_text", "text": text }] })
        }
    };
    let usage = json!({ "input_tokens": 1000, "input_tokens_details": { "cached_tokens": 0 }, "output_tokens": 50,
        "output_tokens_details": { "reasoning_tokens": 0 }, "total_tokens": 1050 });
    vec![
        json!({ "type": "response.created", "response": { "id": id } }),
        json!({ "type": "response.output_item.done", "output_index": 0, "item": item }),
        json!({ "type": "response.completed", "response": { "id": id, "usage": usage } }),
    ]
}

/// Answers in `OpenAI`'s older format, as one response.
fn chat(stage: &Stage, request: &Value) -> Value {
    let messages = request.get("messages").and_then(Value::as_array);
    let answers: Vec<String> = messages
        .into_iter()
        .flatten()
        .filter(|message| message.get("role").and_then(Value::as_str) == Some("tool"))
        .map(|message| text_of(message.get("content")))
        .collect();
    let (message, reason) = match stage.turn(&answers) {
        Turn::Call { tool, input } => {
            let function = json!({ "name": tool, "arguments": input.to_string() });
            let id = format!("call_{:04}", answers.len());
            let call = json!({ "id": id, "type": "function", "function": function });
            let text = "The next step.";
            (
                json!({ "role": "assistant", "content": text, "tool_calls": [call] }),
                "tool_calls",
            )
        }
        Turn::Say(text) => (json!({ "role": "assistant", "content": text }), "stop"),
    };
    json!({
        "id": format!("chatcmpl-{:04}", answers.len()), "object": "chat.completion", "created": 1,
        "model": request.get("model"),
        "choices": [{ "index": 0, "message": message, "finish_reason": reason }],
        "usage": { "prompt_tokens": 1000, "completion_tokens": 50, "total_tokens": 1050 },
    })
}

fn offers(request: &Value, tool: &str) -> bool {
    let tools = request.get("tools").and_then(Value::as_array);
    tools
        .into_iter()
        .flatten()
        .any(|offered| offered.get("name").and_then(Value::as_str) == Some(tool))
}

/// Returns the text of all blocks of one kind in the conversation.
fn blocks(request: &Value, kind: &str, field: &str) -> Vec<String> {
    let messages = request.get("messages").and_then(Value::as_array);
    messages
        .into_iter()
        .flatten()
        .filter_map(|message| message.get("content")?.as_array())
        .flatten()
        .filter(|block| block.get("type").and_then(Value::as_str) == Some(kind))
        .map(|block| text_of(block.get(field)))
        .collect()
}

/// Returns a text, or the texts of a list of parts.
fn text_of(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => parts
            .iter()
            .map(|part| text_of(part.get("text")))
            .collect::<Vec<_>>()
            .join("\n"),
        _ => String::new(),
    }
}
