//! The record of Claude Code: one JSON object per line; an answer spans several lines with the same message id.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::{MAX_MESSAGES, Message, Reader, Transcript, Usage, time_ns};

/// Model of answers that the program itself wrote.
const NO_MODEL: &str = "<synthetic>";

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(default, rename = "type")]
    kind: &'a str,
    #[serde(default)]
    timestamp: Option<String>,
    #[serde(default, rename = "isApiErrorMessage")]
    is_error: bool,
    #[serde(default)]
    message: Option<Answer>,
    /// Cost of the answer according to the program, in US dollars.
    #[serde(default, rename = "costUSD")]
    cost_usd: Option<f64>,
}

/// The kind of a line; those of people and tools have other shapes and are not parsed.
#[derive(Deserialize)]
struct Kind<'a> {
    #[serde(default, rename = "type")]
    kind: &'a str,
}

#[derive(Deserialize)]
struct Answer {
    #[serde(default)]
    id: String,
    #[serde(default)]
    model: String,
    #[serde(default)]
    usage: Option<Tokens>,
    #[serde(default)]
    content: Vec<Part>,
}

#[derive(Deserialize)]
struct Tokens {
    #[serde(default)]
    input_tokens: u64,
    #[serde(default)]
    output_tokens: u64,
    #[serde(default)]
    cache_read_input_tokens: u64,
    #[serde(default)]
    cache_creation_input_tokens: u64,
    #[serde(default)]
    cache_creation: Option<Creation>,
}

#[derive(Deserialize)]
struct Creation {
    #[serde(default)]
    ephemeral_1h_input_tokens: u64,
}

#[derive(Deserialize)]
struct Part {
    #[serde(default, rename = "type")]
    kind: String,
    #[serde(default)]
    id: String,
    #[serde(default)]
    text: String,
}

/// Collector of answers by their id.
#[derive(Default)]
pub(super) struct Claude {
    transcript: Transcript,
    places: HashMap<String, usize>,
}

impl Reader for Claude {
    fn line(&mut self, line: &[u8]) -> Result<(), serde_json::Error> {
        let kind: Kind<'_> = serde_json::from_slice(line)?;
        if kind.kind != "assistant" {
            return Ok(());
        }
        let line: Line<'_> = serde_json::from_slice(line)?;
        debug_assert_eq!(line.kind, "assistant");
        let Some(answer) = line.message else {
            return Ok(());
        };
        let time_ns = time_ns(line.timestamp.as_deref());
        if line.is_error {
            let text: Vec<&str> = answer.content.iter().map(|part| &*part.text).collect();
            self.transcript.broke = Some((time_ns, text.join(" ")));
            return Ok(());
        }
        if answer.model == NO_MODEL {
            return Ok(());
        }
        self.add(time_ns, answer, line.cost_usd.and_then(microdollars));
        Ok(())
    }

    fn finish(self: Box<Self>) -> Transcript {
        self.transcript
    }
}

impl Claude {
    fn add(&mut self, time_ns: u64, answer: Answer, cost: Option<u64>) {
        let messages = &mut self.transcript.messages;
        let known = self.places.get(&answer.id).copied();
        let place = match known {
            Some(place) if !answer.id.is_empty() => place,
            _ if messages.len() >= MAX_MESSAGES => return,
            _ => {
                messages.push(Message {
                    id: answer.id.clone(),
                    time_ns,
                    model: answer.model,
                    ..Message::default()
                });
                self.places.insert(answer.id, messages.len() - 1);
                messages.len() - 1
            }
        };
        let Some(message) = messages.get_mut(place) else {
            return;
        };
        message.cost = message.cost.max(cost);
        if let Some(usage) = answer.usage {
            message.usage = message.usage.grown(usage.into());
        }
        for part in answer.content {
            if part.kind == "tool_use" && !message.calls.contains(&part.id) {
                message.calls.push(part.id);
            }
        }
    }
}

/// Converts an amount of dollars to millionths; `None` if it is not an amount.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the range is checked before"
)]
fn microdollars(dollars: f64) -> Option<u64> {
    (0.0..=1e6)
        .contains(&dollars)
        .then(|| (dollars * 1e6).round() as u64)
}

impl From<Tokens> for Usage {
    fn from(tokens: Tokens) -> Self {
        let hour = tokens
            .cache_creation
            .map_or(0, |creation| creation.ephemeral_1h_input_tokens);
        Self {
            input: tokens.input_tokens,
            output: tokens.output_tokens,
            cache_read: tokens.cache_read_input_tokens,
            cache_write: tokens.cache_creation_input_tokens.saturating_sub(hour),
            cache_write_hour: hour,
        }
    }
}

/// Lists the records of subagents, which newer versions keep in a folder beside the session's own.
pub(super) fn subagents(path: &Path) -> Vec<PathBuf> {
    let folder = path.with_extension("").join("subagents");
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut found: Vec<PathBuf> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "jsonl")
        })
        .collect();
    found.sort();
    found
}
