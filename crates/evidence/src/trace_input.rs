//! Tool calls of other programs, the input of `witness seal --trace`: one JSON object per line.
//!
//! ```text
//! {"action":"Bash","args":{"command":"cargo test"},"result":"ok","latency_ms":1200,"cost_microdollars":30,"tokens":120}
//! ```
//!
//! `args` and `result` are hashed and not stored; a program that has only the hashes passes `args_hash` and
//! `result_hash`.

use serde::Deserialize;
use serde_json::Value;
use witness::builder::{Builder, Refused};
use witness::policy::{Check, short_hash};
use witness::trace::Call;

use base::config::within::Within;

/// A number of the bundle format.
type Number = Within<0, { u32::MAX as u64 }>;

/// One line.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    #[serde(alias = "tool")]
    action: String,
    #[serde(default)]
    args: Option<Value>,
    #[serde(default)]
    result: Option<Value>,
    #[serde(default)]
    args_hash: Option<String>,
    #[serde(default)]
    result_hash: Option<String>,
    #[serde(default)]
    latency_ms: Number,
    #[serde(default)]
    cost_microdollars: Number,
    #[serde(default)]
    tokens: Number,
    /// Set if the call repeats a failed one.
    #[serde(default)]
    retry: bool,
    /// Set if a guard stopped the call before it ran.
    #[serde(default)]
    refused: bool,
}

/// A line that cannot be recorded.
#[derive(Debug, thiserror::Error)]
#[error("line {line}: {why}")]
pub struct BadLine {
    line: usize,
    why: String,
}

/// Records every line of `text` in the builder.
///
/// # Errors
/// A line is malformed, or the bundle cannot hold it.
pub fn record(text: &[u8], builder: &mut Builder) -> Result<(), BadLine> {
    for (index, line) in text.split(|byte| *byte == b'\n').enumerate() {
        if line.trim_ascii().is_empty() {
            continue;
        }
        let bad = |why: String| BadLine {
            line: index + 1,
            why,
        };
        let line: Line = serde_json::from_slice(line).map_err(|error| bad(explain(&error)))?;
        record_line(&line, builder).map_err(bad)?;
    }
    Ok(())
}

/// Returns the parser's message with the column; the line number of the parser is always 1.
fn explain(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let what = text
        .rsplit_once(" at line ")
        .map_or(&*text, |(what, _)| what);
    format!("{what} (column {})", error.column())
}

fn record_line(line: &Line, builder: &mut Builder) -> Result<(), String> {
    let call = Call {
        action: line.action.as_bytes(),
        check: Check::Allowed,
        args_hash: hash(line.args.as_ref(), line.args_hash.as_deref())?,
        result_hash: hash(line.result.as_ref(), line.result_hash.as_deref())?,
        latency_ms: number(line.latency_ms),
        cost_microdollars: number(line.cost_microdollars),
        tokens: number(line.tokens),
    };
    let recorded: Result<(), Refused> = if line.refused {
        builder.record_refused(&call)
    } else {
        builder.record(&call).map(drop)
    };
    recorded.map_err(|error| error.to_string())?;
    if line.retry {
        builder.retry();
    }
    Ok(())
}

fn number(number: Number) -> u32 {
    u32::try_from(number.get()).unwrap_or(u32::MAX)
}

/// Returns the hash of a value: of a string itself, else of its compact JSON. Zeros if there is neither value nor hash.
fn hash(value: Option<&Value>, given: Option<&str>) -> Result<[u8; 8], String> {
    match (value, given) {
        (Some(_), Some(_)) => Err("give the value or its hash, not both".to_owned()),
        (Some(Value::String(text)), None) => Ok(short_hash(text.as_bytes())),
        (Some(value), None) => Ok(short_hash(value.to_string().as_bytes())),
        (None, Some(text)) => hex::decode(text)
            .ok()
            .and_then(|bytes| bytes.try_into().ok())
            .ok_or_else(|| format!("`{text}` is not a hash of 16 hexadecimal digits")),
        (None, None) => Ok([0; 8]),
    }
}
