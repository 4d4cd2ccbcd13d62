//! Killed programs and a crashing database, under load: everything acknowledged is stored exactly once.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot be prepared has failed"
)]

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use ::routing::shared::{Log, REGISTRY, Shared as _};
use postgres::NoTls;
use serde_json::{Value, json};
use team::throwaway::{Durability, Server};
use team::{Address, Routing, Team};

const ROLE: &str = "Checker";

fn registry() -> String {
    json!({
        "schema": "roleos-specialist-registry/v1",
        "specialists": [{
            "role": ROLE, "backend_url": "http://127.0.0.1:1", "fallback": "claude", "workload_quota": 0.5,
            "active_version": "v1", "versions": [{
                "id": "v1", "adapter_id": "v1-a", "base_model": "Qwen/Qwen3-8B", "gate_threshold": 0.75,
                "certified_level": "L2", "exam_hash": "e".repeat(64), "field_audit_window": 200,
                "created_at": "2026-09-02T09:00:00Z", "exam_centroid": [1.0, 0.0],
            }],
        }],
    })
    .to_string()
}

/// A program under load, and its acknowledged dispatches.
struct Replica {
    child: Child,
    folder: tempfile::TempDir,
    reader: Option<JoinHandle<Vec<String>>>,
}

impl Replica {
    fn start(url: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let program: PathBuf = std::env::current_exe().unwrap();
        let target = program.parent().unwrap().parent().unwrap();
        let mut child = Command::new(target.join("examples/replica"))
            .arg(url)
            .arg(folder.path())
            .args([ROLE, "4", "each"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let reader = thread::spawn(move || lines.map_while(Result::ok).collect());
        Self {
            child,
            folder,
            reader: Some(reader),
        }
    }

    /// Kills it, and returns the acknowledged dispatches.
    fn kill(&mut self) -> Vec<String> {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.reader.take().unwrap().join().unwrap()
    }
}

#[test]
fn kills_and_restarts_under_load_lose_nothing_that_was_acknowledged() {
    let mut server = Server::start(Durability::Synced).unwrap();
    let url = server.database().unwrap();
    let open = |queue: &std::path::Path| {
        let team = Team::new(Address::parse(&url, None).unwrap()).unwrap();
        Routing::new(team, queue).unwrap()
    };
    let desk = tempfile::tempdir().unwrap();
    let routing = open(&desk.path().join("queue"));
    let held = routing.hold_document(REGISTRY).unwrap();
    held.replace(&registry(), Vec::new()).unwrap();

    let mut replicas: Vec<Replica> = (0..4).map(|_| Replica::start(&url)).collect();
    thread::sleep(Duration::from_secs(3));
    let mut acknowledged = replicas.pop().unwrap().kill();
    assert!(!acknowledged.is_empty(), "it was under load");
    // The database crashes, recovers, and stops for a while.
    server.crash().unwrap();
    server.resume().unwrap();
    thread::sleep(Duration::from_secs(2));
    server.stop().unwrap();
    thread::sleep(Duration::from_secs(1));
    server.resume().unwrap();
    thread::sleep(Duration::from_secs(3));
    for replica in &mut replicas {
        acknowledged.extend(replica.kill());
    }
    // A restarted program on a machine delivers its waiting lines.
    for replica in &replicas {
        let again = open(&replica.folder.path().join("team-queue.jsonl"));
        again.deliver().unwrap();
        assert_eq!(again.waiting_bytes(), 0);
    }
    let mut stored: BTreeMap<String, u32> = BTreeMap::new();
    routing
        .lines(Log::Field, None, &mut |line| {
            let row: Value = serde_json::from_str(line).unwrap();
            let trace = row["trace_id"].as_str().unwrap().to_owned();
            *stored.entry(trace).or_default() += 1;
        })
        .unwrap();
    let lost: Vec<&String> = acknowledged
        .iter()
        .filter(|trace| !stored.contains_key(*trace))
        .collect();
    assert!(lost.is_empty(), "lost: {lost:?}");
    assert!(stored.values().all(|count| *count == 1), "none twice");
    eprintln!(
        "{} dispatches acknowledged, {} stored: none lost, none twice",
        acknowledged.len(),
        stored.len()
    );
    // Places of the killed programs are released once they are known to be gone.
    let mut client = url
        .parse::<postgres::Config>()
        .unwrap()
        .connect(NoTls)
        .unwrap();
    client
        .batch_execute("UPDATE replicas SET seen_at = now() - interval '1 hour'")
        .unwrap();
    let given_back = AtomicBool::new(false);
    let shared: Arc<Routing> = Arc::new(open(&desk.path().join("queue")));
    for _ in 0..100 {
        let state = shared.state().unwrap();
        let gone = |one: &::specialist::state::Reservation| shared.is_gone(&one.holder);
        if state.reservations().iter().all(gone) {
            given_back.store(true, Ordering::Relaxed);
            break;
        }
        thread::sleep(Duration::from_millis(100));
    }
    assert!(given_back.load(Ordering::Relaxed));
}
