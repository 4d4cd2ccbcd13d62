//! Prepares texts of agents for storage: removes secrets, caps sizes, hashes the whole.

use serde_json::{Map, Value};

use super::record::Kept;
use base::digest;

/// Bytes of one text that are kept: prompts, plans, final messages.
pub const MAX_TEXT: usize = 16 * 1024;

/// Bytes of a tool's output that are kept, of tests and of failures.
pub const MAX_OUTPUT: usize = 64 * 1024;

/// Bytes of a call's arguments that are kept, all texts together.
pub const MAX_INPUT: usize = 16 * 1024;

/// Redacts and caps a text. Tests print their summary at the end, so the middle is cut.
#[must_use]
pub fn text(whole: &str, limit: usize) -> Kept {
    let redacted = redact::text(whole);
    let capped = redacted.text.len() > limit;
    Kept {
        text: if capped {
            cap(&redacted.text, limit)
        } else {
            redacted.text.into_owned()
        },
        sha256: hex::encode(digest(whole.as_bytes())),
        bytes: whole.len() as u64,
        redacted: redacted.count,
        capped,
    }
}

/// Keeps the first and the last half of `limit` bytes, with a note between them.
fn cap(text: &str, limit: usize) -> String {
    let half = limit / 2;
    let head_end = text.floor_char_boundary(half);
    let tail_start = text.ceil_char_boundary(text.len().saturating_sub(half));
    let head = text.get(..head_end).unwrap_or_default();
    let tail = text.get(tail_start..).unwrap_or_default();
    let left_out = tail_start.saturating_sub(head_end);
    format!("{head}\n[… {left_out} bytes left out …]\n{tail}")
}

/// Arguments of a call as they are stored.
#[derive(Clone, Debug, PartialEq)]
pub struct Input {
    /// Redacted and capped.
    pub value: Value,
    /// SHA-256 of the whole, as canonical JSON.
    pub sha256: String,
    /// Number of secrets that were removed.
    pub redacted: u64,
    /// Set if not all was kept.
    pub capped: bool,
}

/// Redacts and caps arguments.
#[must_use]
pub fn input(whole: &Value) -> Input {
    let (mut value, redacted) = redact::value(whole);
    let mut room = MAX_INPUT;
    let capped = cap_value(&mut value, &mut room);
    Input {
        value,
        sha256: hex::encode(digest(canonical(whole).as_bytes())),
        redacted,
        capped,
    }
}

/// Spends `room` on strings and names in order; cuts the rest and reports that.
fn cap_value(value: &mut Value, room: &mut usize) -> bool {
    match value {
        Value::String(text) => {
            let fits = text.len() <= *room;
            if !fits {
                *text = cap(text, (*room).max(64));
            }
            *room = room.saturating_sub(text.len());
            !fits
        }
        Value::Array(items) => {
            let mut capped = false;
            let fitting = items.len().min(*room / 8 + 1);
            capped |= fitting < items.len();
            items.truncate(fitting);
            for item in items {
                *room = room.saturating_sub(8);
                capped |= cap_value(item, room);
            }
            capped
        }
        Value::Object(entries) => {
            let mut capped = false;
            let mut kept = Map::new();
            for (name, mut item) in std::mem::take(entries) {
                if name.len() + 8 > *room {
                    capped = true;
                    break;
                }
                *room -= name.len() + 8;
                capped |= cap_value(&mut item, room);
                kept.insert(name, item);
            }
            *entries = kept;
            capped
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Returns JSON without spaces, with the keys sorted at every level, so that equal arguments have equal hashes.
#[must_use]
pub fn canonical(value: &Value) -> String {
    let mut sorted = value.clone();
    sorted.sort_all_objects();
    sorted.to_string()
}
