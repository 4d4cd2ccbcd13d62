//! A killed dispatch releases its place in the quota, and one that only waits keeps it.

use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::adapter::{Adapter, Reply, json as reply};
use crate::workspace::Workspace;

const DISPATCH: [&str; 5] = ["--json", "dispatch", "Checker", "--input", "in.json"];

/// Returns a workspace whose adapter may answer three of five dispatches.
fn workspace(url: &str) -> Workspace {
    let workspace = Workspace::new();
    let registry = json!({
        "schema": "roleos-specialist-registry/v1",
        "specialists": [{
            "role": "Checker", "backend_url": url, "fallback": "claude", "workload_quota": 0.6, "active_version": "v1",
            "versions": [{
                "id": "v1", "adapter_id": "v1-adapter", "base_model": "Qwen/Qwen3-8B", "gate_threshold": 0.75,
                "certified_level": "L1", "exam_hash": "a11ce0de".repeat(8), "field_audit_window": 200,
                "created_at": "2026-09-02T09:00:00Z", "exam_centroid": [1.0, 0.0],
            }],
        }],
    });
    workspace.write(".role-os/specialists.json", registry.to_string());
    workspace.write("in.json", "{\"embedding\":[1,0]}");
    workspace.write(
        ".role-os/config.toml",
        "[specialist]\nshadow_every = 1000000\nquota_window = 5\nbackend_timeout_ms = 120000\n\
         [fallback.claude]\nkind = \"command\"\n\
         command = [\"sh\", \"-c\", \"cat >/dev/null; echo '\\\"general\\\"'\"]\n",
    );
    workspace
}

fn reason(workspace: &Workspace) -> Value {
    let answer = workspace.roleos(&DISPATCH).exits(0).json();
    answer["receipt"]["decision"]["reason"].clone()
}

fn used(workspace: &Workspace) -> Value {
    let status = workspace.roleos(&["--json", "specialist", "status"]);
    status.exits(0).json()["roles"][0]["quota"]["used"].clone()
}

#[test]
fn killed_dispatches_give_their_places_back_and_waiting_ones_keep_them() {
    let answers = Arc::new(AtomicBool::new(false));
    let ready = Arc::clone(&answers);
    let adapter = Adapter::new(move |request| match ready.load(Ordering::SeqCst) {
        true => reply(&json!({ "verdict": "yes", "adapter_id": request.body["adapter_id"] })),
        false => Reply::Silence(Duration::from_secs(120)),
    });
    let place = workspace(&adapter.url);
    let mut waiting: Vec<Child> = (0..3)
        .map(|_| {
            let mut command = place.command(&DISPATCH);
            let command = command.stdout(Stdio::null()).stderr(Stdio::null());
            command.spawn().unwrap()
        })
        .collect();
    let started = Instant::now();
    while adapter.seen().len() < 3 {
        assert!(started.elapsed() < Duration::from_secs(100), "nobody asks");
        thread::sleep(Duration::from_millis(20));
    }
    answers.store(true, Ordering::SeqCst);
    assert_eq!(used(&place), 3);
    assert_eq!(reason(&place), "quota_exhausted", "three are under way");
    for child in &mut waiting {
        child.kill().unwrap();
        child.wait().unwrap();
    }
    assert_eq!(used(&place), 0, "nothing was served");
    for _ in 0..3 {
        assert_eq!(reason(&place), "ok");
    }
    assert_eq!(reason(&place), "quota_exhausted", "the quota itself holds");
    let left = std::fs::read_dir(place.path(".role-os/specialist-state.json.leases"));
    assert_eq!(left.unwrap().count(), 0, "no file stays behind");
}
