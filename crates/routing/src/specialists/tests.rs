//! The specialists' files with crashes, concurrent processes and manual edits.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use ::specialist::classifier::Embedding;
use ::specialist::event::{Kind, Log};
use ::specialist::pointer::Refusal;
use ::specialist::quota::Source;
use ::specialist::shadow::Shadow;
use serde_json::{Value, json};

use super::pending::Recovered;
use super::spending::{Spending, SpendingError};
use super::*;
use base::files::Privacy;
use base::workspace::Workspace;

const ROLE: &str = "Checker";

/// A folder with a registry whose `v1` is active and accepts every input with the embedding `[1, 0]`.
struct Place {
    _guard: tempfile::TempDir,
    paths: Paths,
    settings: Settings,
}

impl Place {
    fn new(quota: f64) -> Self {
        let guard = tempfile::tempdir().unwrap();
        let workspace = Workspace::at(guard.path()).unwrap();
        let paths = Paths::find(&workspace, &Environment::default(), &Named::default());
        let settings = Settings::load(&Config::default(), &Environment::default()).unwrap();
        let place = Self {
            _guard: guard,
            paths,
            settings,
        };
        let version = |id: &str, level: &str| {
            json!({
                "id": id, "adapter_id": format!("{id}-a"), "base_model": "Qwen/Qwen3-8B", "gate_threshold": 0.75,
                "certified_level": level, "exam_hash": "e".repeat(64), "field_audit_window": 200,
                "created_at": "2026-09-02T09:00:00Z", "exam_centroid": [1.0, 0.0],
            })
        };
        let registry = json!({
            "schema": "roleos-specialist-registry/v1",
            "specialists": [{
                "role": ROLE, "backend_url": "http://127.0.0.1:1", "fallback": "claude", "workload_quota": quota,
                "active_version": "v1", "versions": [version("v1", "L2"), version("v2", "L3"), version("v0", "L0")],
            }],
        });
        place.write(&place.paths.registry, &registry.to_string());
        place
    }

    fn write(&self, path: &Path, text: &str) {
        files::make_directory(files::parent(path), Privacy::Shared).unwrap();
        files::write(path, text.as_bytes(), Privacy::Shared).unwrap();
    }

    fn open(&self) -> Specialists {
        Specialists::new(self.paths.clone(), self.settings)
    }
}

fn input() -> Value {
    json!({ "embedding": [1.0, 0.0] })
}

fn asked<'a>(input: &'a Value) -> Asked<'a> {
    Asked {
        role: ROLE,
        input,
        trace_id: "t",
        now: "2026-09-03T10:00:00Z",
    }
}

fn operator() -> Operator<'static> {
    Operator {
        name: "ana",
        reason: "because",
        now: "2026-09-03T10:00:00Z",
    }
}

/// Executes one dispatch whose adapter answers.
fn serve(specialists: &Specialists) -> Begun {
    let input = input();
    let begun = specialists.begin(asked(&input), &Embedding, &|_| Ok(()));
    let source = begun.decision.route;
    specialists.settle(asked(&input), &begun, source, Ok(()));
    specialists
        .log_field(asked(&input), &begun, source, None, None)
        .unwrap();
    begun
}

fn reason(begun: &Begun) -> &'static str {
    begun.decision.reason.name()
}

mod crowds;
mod general;
mod halts;
mod leases;
mod logs;
mod pointer;
mod routing;
