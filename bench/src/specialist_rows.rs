//! The specialist room against its own limits: one decision of the gate, and what a dispatch costs beside the calls.

use std::hint::black_box;
use std::time::{Duration, Instant};

use host::config::Config;
use host::environment::Environment;
use host::files::{self, Privacy};
use host::specialists::{Asked, Named, Paths, Settings, Specialists};
use host::workspace::Workspace;
use serde_json::{Value, json};
use specialist::classifier::Embedding;
use specialist::gate::{Gate, Question};
use specialist::quota::View;
use specialist::registry::Registry;
use specialist::role_block::RoleBlock;

use crate::row::{Goal, Row};

const ROLE: &str = "Checker";

/// Rows whose names are wanted.
pub(crate) fn rows(wanted: &dyn Fn(&str) -> bool) -> Vec<Row> {
    let mut rows = Vec::new();
    let decision = "gate decision on a 2 KB input";
    if wanted(decision) {
        rows.push(row(decision, decide().as_secs_f64() * 1e6, 20.0));
    }
    let overhead = "dispatch beside the calls, logs included";
    if wanted(overhead) {
        rows.extend(dispatch().map(|took| row(overhead, took.as_secs_f64() * 1e6, 300.0)));
    }
    rows
}

fn row(name: &'static str, ours: f64, limit: f64) -> Row {
    Row {
        name,
        ours,
        peer: limit,
        peer_name: "the limit",
        unit: "µs",
        goal: Goal::AtMost(1.0),
    }
}

fn input() -> Value {
    let embedding: Vec<f64> = (0..64).map(|number| f64::from(number) / 64.0).collect();
    json!({ "embedding": embedding, "text": "x".repeat(1500) })
}

fn registry() -> String {
    let input = input();
    let document = json!({
        "schema": "roleos-specialist-registry/v1",
        "specialists": [{
            "role": ROLE, "backend_url": "http://127.0.0.1:1", "fallback": "claude", "workload_quota": 1,
            "active_version": "v1",
            "versions": [{
                "id": "v1", "adapter_id": "a", "base_model": "Qwen/Qwen3-8B", "gate_threshold": 0.75,
                "certified_level": "L2", "exam_hash": "e", "field_audit_window": 200,
                "created_at": "2026-09-02T09:00:00Z", "exam_centroid": input.get("embedding"),
            }],
        }],
    });
    document.to_string()
}

fn decide() -> Duration {
    let registry = Registry::parse(registry().as_bytes());
    let input = input();
    let question = Question {
        role: ROLE,
        input: &input,
        entry: registry.entry(ROLE),
        block: &RoleBlock::Absent,
        quota: View {
            used: 0,
            window: 200,
        },
        halt: None,
        classifier: &Embedding,
    };
    median(|| {
        black_box(Gate::decide(black_box(question)));
    })
}

/// One dispatch whose backend takes no time: gate, quota, settling, field log. `None` when there is no place to write.
fn dispatch() -> Option<Duration> {
    let folder = tempfile::tempdir().ok()?;
    let workspace = Workspace::at(folder.path()).ok()?;
    let environment = Environment::default();
    let paths = Paths::find(&workspace, &environment, &Named::default());
    files::make_directory(&workspace.role_os_dir(), Privacy::Shared).ok()?;
    files::write(&paths.registry, registry().as_bytes(), Privacy::Shared).ok()?;
    let settings = Settings::load(&Config::default(), &environment).ok()?;
    let specialists = Specialists::new(paths, settings);
    let input = input();
    let asked = Asked {
        role: ROLE,
        input: &input,
        trace_id: "t",
        now: "2026-09-03T10:00:00Z",
    };
    // A window that is full is the usual case, and a registry that was not written just now.
    std::thread::sleep(Duration::from_millis(1100));
    let mut once = || {
        let begun = specialists.begin(asked, &Embedding, &|_| Ok(()));
        let source = begun.decision.route;
        specialists.settle(asked, &begun, source, Err("no_fallback"));
        specialists
            .log_field(asked, &begun, source, None, None)
            .ok();
    };
    (0..250).for_each(|_| once());
    Some(median(once))
}

fn median(mut work: impl FnMut()) -> Duration {
    work();
    let mut times: Vec<Duration> = (0..501)
        .map(|_| {
            let start = Instant::now();
            work();
            start.elapsed()
        })
        .collect();
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}
