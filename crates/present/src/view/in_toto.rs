//! A bundle as an in-toto statement in a DSSE envelope, which other tools can verify without our format.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use witness::dsse::Envelope;
use witness::evidence::Evidence;
use witness::key::SigningKey;
use witness::replay::OutcomeCheck;

/// Media type of the signed payload.
pub const PAYLOAD_TYPE: &str = "application/vnd.in-toto+json";
const STATEMENT_TYPE: &str = "https://in-toto.io/Statement/v1";
/// Type of the predicate below.
pub const PREDICATE_TYPE: &str = "urn:roleos:witness-bundle:v1";

/// Returns the envelope for verified evidence; `file` names its subject.
#[must_use]
pub fn envelope(file: &str, evidence: &Evidence<'_>, key: &SigningKey) -> Value {
    let statement = statement(file, evidence).to_string();
    let envelope = Envelope::sign(PAYLOAD_TYPE, statement.into_bytes(), key);
    let signatures = envelope
        .signatures
        .iter()
        .map(|one| json!({"keyid": one.keyid, "sig": STANDARD.encode(one.sig)}));
    json!({
        "payloadType": envelope.payload_type,
        "payload": STANDARD.encode(&envelope.payload),
        "signatures": signatures.collect::<Vec<_>>(),
    })
}

/// Returns the statement about the bundle: its digest, and its content in numbers.
fn statement(file: &str, evidence: &Evidence<'_>) -> Value {
    let contents = evidence.contents();
    let header = contents.header();
    let ours = contents.extensions();
    let check = OutcomeCheck::of(contents);
    json!({
        "_type": STATEMENT_TYPE,
        "subject": [{ "name": file, "digest": { "sha256": hex::encode(evidence.digest()) } }],
        "predicateType": PREDICATE_TYPE,
        "predicate": {
            "taskId": header.task_id.to_string(),
            "createdOn": base::clock::text(header.created_ns),
            "outcome": contents.outcome().name(),
            "outcomeCheck": check.agreement.name(),
            "governanceMode": contents.mode().map(witness::wire::Mode::name),
            "policyHash": hex::encode(header.policy_hash),
            "policySha256": ours.policy.as_ref().and_then(|policy| policy.digest().ok()).map(hex::encode),
            "toolCalls": contents.totals().calls,
            "costMicrodollars": header.total_cost_microdollars,
            "latencyMs": header.total_latency_ms,
            "tokens": header.total_tokens,
            "retries": header.retry_count,
            "violations": witness::scorecard::violations(contents),
            "rollbacks": ours.rollbacks.len(),
            "evidenceComplete": contents.evidence_complete(),
            "provenance": ours.provenance,
        },
    })
}
