//! The record of Codex: one JSON object per line; after every answer an event states the tokens of all answers so far.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{MAX_MESSAGES, Message, Reader, Transcript, Usage, time_ns};

#[derive(Deserialize)]
struct Line {
    #[serde(default)]
    timestamp: Option<String>,
    #[serde(default, rename = "type")]
    kind: String,
    #[serde(default)]
    payload: Payload,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Payload {
    #[serde(rename = "type")]
    kind: String,
    model: Option<String>,
    call_id: Option<String>,
    info: Option<Info>,
    message: Option<Value>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Info {
    total_token_usage: Tokens,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct Tokens {
    input_tokens: u64,
    cached_input_tokens: u64,
    output_tokens: u64,
}

/// Collector of the calls between two counts.
#[derive(Default)]
pub(super) struct Codex {
    transcript: Transcript,
    standing: Standing,
    calls: Vec<String>,
}

/// State for parsing the next lines of a record.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Standing {
    model: String,
    total: Tokens,
}

impl Reader for Codex {
    fn line(&mut self, line: &[u8]) -> Result<(), serde_json::Error> {
        let line: Line = serde_json::from_slice(line)?;
        let payload = line.payload;
        let time_ns = time_ns(line.timestamp.as_deref());
        match (&*line.kind, &*payload.kind) {
            ("turn_context" | "session_meta", _) => {
                if let Some(model) = payload.model {
                    self.standing.model = model;
                }
            }
            ("response_item", "function_call" | "custom_tool_call" | "local_shell_call") => {
                self.calls.extend(payload.call_id);
            }
            ("event_msg", "token_count") => {
                if let Some(info) = payload.info {
                    self.count(time_ns, info.total_token_usage);
                }
            }
            ("event_msg", "error" | "stream_error") => {
                let text = payload.message.as_ref().and_then(Value::as_str);
                self.transcript.broke = Some((time_ns, text.unwrap_or("an error").to_owned()));
            }
            _ => {}
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Transcript {
        self.transcript
    }
}

impl Codex {
    /// Continues from the state of another reader.
    pub(super) fn at(standing: Standing) -> Self {
        Self {
            standing,
            ..Self::default()
        }
    }

    /// Returns the state at the end.
    pub(super) fn standing(&self) -> Standing {
        self.standing.clone()
    }

    /// Adds an answer from a count. The count is of the whole session and is repeated; its growth belongs to the last
    /// answer.
    fn count(&mut self, time_ns: u64, total: Tokens) {
        let before = self.standing.total;
        self.standing.total = total;
        // A restarted session counts from zero.
        let restarted =
            total.output_tokens < before.output_tokens || total.input_tokens < before.input_tokens;
        let before = if restarted { Tokens::default() } else { before };
        let input = total.input_tokens - before.input_tokens;
        let cached = total
            .cached_input_tokens
            .saturating_sub(before.cached_input_tokens)
            .min(input);
        let usage = Usage {
            input: input - cached,
            output: total.output_tokens - before.output_tokens,
            cache_read: cached,
            ..Usage::default()
        };
        if usage.tokens() == 0 || self.transcript.messages.len() >= MAX_MESSAGES {
            return;
        }
        self.transcript.messages.push(Message {
            id: String::new(),
            time_ns,
            model: self.standing.model.clone(),
            usage,
            calls: std::mem::take(&mut self.calls),
            ..Message::default()
        });
    }
}
