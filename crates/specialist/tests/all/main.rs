//! Every case of the published behaviour, as data, and the additions of this crate. One test binary, so that it links
//! once.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::needless_pass_by_value,
    clippy::redundant_clone,
    clippy::semicolon_if_nothing_returned,
    reason = "a test that cannot go on fails, and its cases are written alike"
)]

mod conformance;
mod contract;
mod field;
mod gate;
mod hostile;
mod pointer;
mod registry;
mod shadow;
mod state;

use serde_json::{Value, json};
use specialist::registry::{Entry, Registry};

/// Returns a valid version at this level.
fn version(id: &str, level: &str) -> Value {
    json!({
        "id": id, "adapter_id": format!("{id}-adapter"), "base_model": "Qwen/Qwen3-8B",
        "gate_threshold": 0.75, "certified_level": level, "exam_hash": "a".repeat(64),
        "field_audit_window": 200, "created_at": "2026-09-02T09:00:00Z",
    })
}

/// Returns a registry of one role with these versions.
fn registry(active: Value, versions: &[Value]) -> Value {
    json!({
        "schema": "roleos-specialist-registry/v1",
        "specialists": [{
            "role": "Checker", "backend_url": "http://127.0.0.1:8011", "fallback": "claude",
            "workload_quota": 0.7, "active_version": active, "versions": versions,
        }],
    })
}

fn parse(value: &Value) -> Registry {
    Registry::parse(value.to_string().as_bytes())
}

/// Returns the entry of a valid registry whose `v1` is L2 and active.
fn entry() -> Entry {
    let registry = parse(&registry(json!("v1"), &[version("v1", "L2")]));
    registry.entry("Checker").unwrap().clone()
}
