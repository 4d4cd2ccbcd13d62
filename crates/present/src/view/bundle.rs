//! JSON of one bundle: the short answer of `verify` and the full one of `show`.

use serde::Serialize;
use serde_json::{Map, Value, json};
use witness::bundle::{Contents, section_name};
use witness::cost;

use witness::replay::OutcomeCheck;
use witness::trace::Call;
use witness::wire::{MAGIC, Tag};

use base::clock;
use evidence::judged::Judged;

/// One line of `witness verify --json`.
#[derive(Debug, Serialize)]
pub struct VerifyLine {
    file: String,
    verdict: &'static str,
    reason: Option<&'static str>,
    warnings: Vec<&'static str>,
    task_id: Option<String>,
    outcome: Option<&'static str>,
    mode: Option<&'static str>,
    policy_hash: Option<String>,
    sections: Vec<String>,
    trace_entries: usize,
    evidence_complete: bool,
    signed: bool,
}

impl VerifyLine {
    /// Creates the line for one file.
    #[must_use]
    pub fn of(file: &str, judged: &Judged<'_>) -> Self {
        let contents = judged.contents();
        let verdict = judged.verdict();
        Self {
            file: file.to_owned(),
            verdict: verdict.name(),
            reason: verdict.reason(),
            warnings: judged.warnings().iter().map(|one| one.name()).collect(),
            task_id: contents.map(|contents| contents.header().task_id.to_string()),
            outcome: contents.map(|contents| contents.outcome().name()),
            mode: contents
                .and_then(Contents::mode)
                .map(witness::wire::Mode::name),
            policy_hash: contents.map(|contents| hex::encode(contents.header().policy_hash)),
            sections: contents.map_or_else(Vec::new, |contents| {
                contents
                    .sections()
                    .map(|section| section_name(section.tag))
                    .collect()
            }),
            trace_entries: contents.map_or(0, |contents| contents.totals().calls),
            evidence_complete: contents.is_some_and(Contents::evidence_complete),
            signed: judged.is_signed(),
        }
    }
}

/// Returns everything about one well-formed bundle.
#[must_use]
pub fn show(file: &str, judged: &Judged<'_>, contents: &Contents<'_>) -> Value {
    let verdict = judged.verdict();
    let signers = judged.signers();
    json!({
        "file": file,
        "verdict": verdict.name(),
        "reason": verdict.reason(),
        "warnings": judged.warnings().iter().map(|one| one.name()).collect::<Vec<_>>(),
        "signed": judged.is_signed(),
        "signers": {
            "hmac": signers.hmac.map(|id| id.to_string()),
            "ed25519": signers.ed25519.map(|id| id.to_string()),
        },
        "sha256": hex::encode(base::digest(judged.bytes())),
        "header": header(contents),
        "cost_known": cost::is_known(&contents.extensions().provenance),
        "evidence_complete": contents.evidence_complete(),
        "sections": sections(contents),
        "trace": contents.calls().enumerate().map(call).collect::<Vec<_>>(),
        "extensions": extensions(contents),
        "outcome_check": outcome_check(contents),
    })
}

/// Returns the value of [`show`] with the text of the sections, for `export --format json`.
#[must_use]
pub fn export(file: &str, judged: &Judged<'_>, contents: &Contents<'_>) -> Value {
    let mut value = show(file, judged, contents);
    let mut texts = Map::new();
    for tag in Tag::ALL.into_iter().filter(|tag| *tag != Tag::Trace) {
        if let Some(bytes) = contents.section(tag) {
            texts.insert(tag.name().to_lowercase(), text_or_hex(bytes));
        }
    }
    if let Some(fields) = value.as_object_mut() {
        fields.insert("contents".to_owned(), Value::Object(texts));
    }
    value
}

/// Returns text if it is valid UTF-8; otherwise the bytes in hex, so that nothing is lost.
fn text_or_hex(bytes: &[u8]) -> Value {
    match std::str::from_utf8(bytes) {
        Ok(text) => json!(text),
        Err(_) => json!({ "hex": hex::encode(bytes) }),
    }
}

fn header(contents: &Contents<'_>) -> Value {
    let header = contents.header();
    json!({
        "magic": u32::from_le_bytes(MAGIC),
        "version": header.version,
        "flags": header.flags,
        "task_id": header.task_id.to_string(),
        "policy_hash": hex::encode(header.policy_hash),
        // A string, because many JSON parsers cannot represent the number exactly.
        "created_ns": header.created_ns.to_string(),
        "created": clock::text(header.created_ns),
        "outcome": header.outcome,
        "outcome_name": contents.outcome().name(),
        "governance_mode": header.mode,
        "governance_mode_name": contents.mode().map(witness::wire::Mode::name),
        "tool_call_count": header.tool_call_count,
        "total_cost_microdollars": header.total_cost_microdollars,
        "total_latency_ms": header.total_latency_ms,
        "total_tokens": header.total_tokens,
        "retry_count": header.retry_count,
        "section_count": header.section_count,
        "total_bundle_size": header.total_bundle_size,
    })
}

fn sections(contents: &Contents<'_>) -> Vec<Value> {
    contents
        .sections()
        .map(|section| {
            json!({
                "tag": section.tag,
                "name": section_name(section.tag),
                "offset": section.offset,
                "length": section.value.len(),
                "sha256": hex::encode(base::digest(section.value)),
            })
        })
        .collect()
}

fn call((index, call): (usize, Call<'_>)) -> Value {
    json!({
        "index": index,
        "action": String::from_utf8_lossy(call.action),
        "action_hex": hex::encode(call.action),
        "policy_check": call.check as u8,
        "policy_check_name": call.check.name(),
        "args_hash": hex::encode(call.args_hash),
        "result_hash": hex::encode(call.result_hash),
        "latency_ms": call.latency_ms,
        "cost_microdollars": call.cost_microdollars,
        "tokens": call.tokens,
    })
}

fn extensions(contents: &Contents<'_>) -> Value {
    let ours = contents.extensions();
    let policy = ours.policy.as_ref().map(|policy| {
        json!({
            "mode": policy.mode.name(),
            "allowed_tools": policy.allowed_tools,
            "denied_tools": policy.denied_tools,
            "max_cost_microdollars": policy.max_cost_microdollars,
            "max_tool_calls": policy.max_tool_calls,
            "sha256": policy.digest().ok().map(hex::encode),
        })
    });
    let violations = ours.violations.as_ref().map(|violations| {
        let listed = violations.listed.iter();
        json!({
            "count": violations.count,
            "listed": listed.map(|one| json!({"call": one.call, "text": one.text})).collect::<Vec<_>>(),
        })
    });
    let rollbacks = ours.rollbacks.iter().map(|one| {
        json!({"restored": one.restored, "wanted": one.wanted, "found": one.found, "kept": one.kept})
    });
    json!({
        "provenance": ours.provenance,
        "policy": policy,
        "violations": violations,
        "rollbacks": rollbacks.collect::<Vec<_>>(),
        "chain": ours.chain.map(|chain| json!({
            "sequence": chain.sequence,
            "previous": hex::encode(chain.previous),
        })),
        "hmac_key": ours.hmac_key.map(|id| id.to_string()),
    })
}

fn outcome_check(contents: &Contents<'_>) -> Value {
    let check = OutcomeCheck::of(contents);
    let why = match check.agreement {
        witness::replay::Agreement::CannotTell(why) => Some(why),
        _ => None,
    };
    json!({
        "agreement": check.agreement.name(),
        "why": why,
        "test_log": check.reading.map(|reading| json!({
            "runner": reading.runner.name(),
            "passed": reading.passed,
            "failed": reading.failed,
            "skipped": reading.skipped,
            "errors": reading.errors,
            "complete": reading.complete,
            "failures": reading.failures.iter().map(|one| &one.name).collect::<Vec<_>>(),
        })),
    })
}
