//! The conformance role's second opinion on a tool call: one request to its specialist with a short time limit, or
//! none.
//!
//! It uses the same gate, quota and logs as every dispatch. The specialist has no replacement: if it may not or does
//! not answer, the verdict is to abstain, and there is nothing to compare it with.

use std::time::Duration;

use routing::specialists::{Asked, Specialists};
use specialist::conformance::{Ceiling, Verdict};
use specialist::quota::Source;
use specialist::receipt::Receipt;

use crate::backend::Backends;

/// Result of a consultation.
#[derive(Debug)]
pub struct Consulted {
    /// The specialist's verdict, or an abstention.
    pub verdict: Verdict,
    /// The version that answered.
    pub version: Option<String>,
    pub receipt: Receipt,
    /// Error of logging; it does not affect the verdict.
    pub not_logged: Option<String>,
}

fn skips(specialists: &Specialists, role: &str) -> bool {
    let Ok(registry) = specialists.registry() else {
        return false;
    };
    let active = registry.entry(role).and_then(|entry| entry.active().ok()?);
    active.is_some_and(Ceiling::skips)
}

/// Requests a second opinion. The call to the backend takes at most `time`.
pub async fn consult(
    specialists: &Specialists,
    backends: &Backends,
    asked: Asked<'_>,
    time: Duration,
) -> Consulted {
    let may_call = |call: &_| backends.may_call(call);
    let mut begun = specialists.begin(asked, &Ceiling, &may_call);
    if begun.call.is_some() && skips(specialists, asked.role) {
        begun.decision.score = 0.0;
        begun.decision.detail =
            "the version has no centroid, so its inputs are not tested".to_owned();
    }
    let call = match &mut begun.call {
        Some(call) => {
            let most = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
            call.timeout_ms = Some(call.timeout_ms.map_or(most, |own| own.min(most)));
            Some(backends.call(call).await)
        }
        None => None,
    };
    let answered = call.as_ref().and_then(|call| call.as_ref().ok());
    let source = match answered {
        Some(_) => Source::Specialist,
        None => Source::Claude,
    };
    let verdict = answered.map(|answered| &answered.verdict);
    let settled = specialists.settle(asked, &begun, source, Err("synthetic_fail_open"));
    let score = answered.and_then(|answered| answered.score);
    let logged = specialists.log_field(asked, &begun, source, verdict, score);
    Consulted {
        verdict: verdict.map_or(Verdict::Abstain, Verdict::read),
        version: begun.version,
        not_logged: logged
            .err()
            .map(|error| format!("{error}: {}", error.source)),
        receipt: Receipt {
            role: asked.role.to_owned(),
            ts: asked.now.to_owned(),
            trace_id: asked.trace_id.to_owned(),
            source,
            decision: begun.decision,
            call,
            shadow: settled.shadow,
            persist_error: settled.persist_error,
            is_unsure: false,
        },
    }
}
