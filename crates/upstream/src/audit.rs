//! Sends the cases of an exam to a backend, several at a time, and measures each answer on the wire.

use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use futures_util::stream;
use serde_json::Value;
use specialist::contract::{Call, CallError};

use crate::backend::Backends;

pub mod again;
pub mod exam;

/// An answer to a case.
#[derive(Debug)]
pub struct Reply {
    /// Index of the case.
    pub index: usize,
    /// The answer, or the error.
    pub answer: Result<Value, CallError>,
    /// Measured duration.
    pub time_ms: u64,
}

/// Sends all calls, at most `at_once` at a time, and passes every reply to `take` as it arrives, until `take` returns
/// `false`.
pub async fn ask_all(
    backends: &Backends,
    calls: Vec<(usize, Call)>,
    at_once: usize,
    mut take: impl FnMut(Reply) -> bool,
) {
    let asked = calls.into_iter().map(|(index, call)| async move {
        let started = Instant::now();
        let answer = backends.call(&call).await;
        let took = match &answer {
            Ok(answered) => Duration::try_from_secs_f64(answered.wire_ms / 1000.0).ok(),
            Err(_) => None,
        };
        let took = took.unwrap_or_else(|| started.elapsed());
        let time_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        Reply {
            index,
            answer: answer.map(|answered| answered.verdict),
            time_ms,
        }
    });
    let mut replies = stream::iter(asked).buffer_unordered(at_once.max(1));
    while let Some(reply) = replies.next().await {
        if !take(reply) {
            return;
        }
    }
}

/// Returns `true` if an error is not about the version: no server was reached, or another one answered. The case can be
/// repeated later; all other errors are the version's own failures.
#[must_use]
pub fn is_unreached(error: &CallError) -> bool {
    match error.error.as_str() {
        "timeout" => false,
        "adapter_id_mismatch"
        | "base_model_mismatch"
        | "http_429"
        | "http_502"
        | "http_503"
        | "http_504" => true,
        _ => error.status.is_none_or(|status| status == 0),
    }
}
