//! The team's store beside `pgbench -N` on the same server: dispatch decisions with an exact quota over four programs, and
//! the memory of one of them.

#![expect(
    clippy::unwrap_used,
    reason = "a measurement that cannot be made has no figure"
)]

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use base::config::Config;
use base::environment::Environment;
use base::workspace::Workspace;
use routing::shared::{REGISTRY, Shared as _};
use routing::specialists::{Asked, Named, Paths, Settings, Specialists};
use serde_json::{Value, json};
use specialist::classifier::Embedding;
use team::throwaway::{Durability, Server, find};
use team::{Address, Routing, Team};

use crate::measure::Figure;
use crate::row::{Goal, Row};

/// Number of programs, and of callers of each.
const PROGRAMS: usize = 4;
const CALLERS: usize = 8;

/// Number of roles of the dispatches.
const ROLES: usize = 4;

/// Seconds of one measurement, and number of turns of each side.
const SECONDS: u64 = 5;
const TURNS: usize = 3;

/// Returns the rows with wanted names.
pub(crate) fn rows(wanted: &dyn Fn(&str) -> bool) -> Vec<Row> {
    let (speed, memory) = (
        "team dispatch decisions, 4 programs, exact quota",
        "memory of a program under that load",
    );
    if !wanted(speed) && !wanted(memory) {
        return Vec::new();
    }
    let measured = measure();
    vec![
        Row::new(
            speed,
            (measured.decisions, measured.transactions),
            "pgbench -N, same server",
            "1/s",
            Goal::AtLeast(0.5),
        ),
        Row::within(memory, measured.mebibytes, 150.0, "MiB"),
    ]
}

struct Measured {
    decisions: Figure,
    transactions: Figure,
    mebibytes: f64,
}

fn measure() -> Measured {
    let server = Server::start(Durability::Synced).unwrap();
    let url = server.database().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let routing = open(&url, folder.path());
    let held = routing.hold_document(REGISTRY).unwrap();
    held.replace(&registry(), Vec::new()).unwrap();
    pgbench(&server, &["-i", "-q", "-s", "10"]);
    let (mut decisions, mut transactions, mut mebibytes) = (Vec::new(), Vec::new(), 0.0);
    for _ in 0..TURNS {
        transactions.push(tps(&server));
        let (rate, memory) = dispatch(&url);
        decisions.push(rate);
        mebibytes = f64::max(mebibytes, memory);
    }
    // Every decision was counted, in order, and no window contains more than its share.
    let state = routing.state().unwrap();
    for (_, slot) in state.roles() {
        assert!(slot.window.used(200) <= 100);
    }
    Measured {
        decisions: Figure::of(decisions),
        transactions: Figure::of(transactions),
        mebibytes,
    }
}

fn open(url: &str, folder: &std::path::Path) -> Routing {
    let team = Team::new(Address::parse(url, None).unwrap()).unwrap();
    Routing::new(team, &folder.join("queue")).unwrap()
}

fn registry() -> String {
    let role = |number: usize| {
        json!({
            "role": format!("R{number}"), "backend_url": "http://127.0.0.1:1", "fallback": "claude", "workload_quota": 0.5,
            "active_version": "v1", "versions": [{
                "id": "v1", "adapter_id": "v1-a", "base_model": "Qwen/Qwen3-8B", "gate_threshold": 0.75,
                "certified_level": "L2", "exam_hash": "e".repeat(64), "field_audit_window": 200,
                "created_at": "2026-09-02T09:00:00Z", "exam_centroid": [1.0, 0.0],
            }],
        })
    };
    let roles: Vec<Value> = (0..ROLES).map(role).collect();
    json!({ "schema": "roleos-specialist-registry/v1", "specialists": roles }).to_string()
}

fn pgbench(server: &Server, arguments: &[&str]) -> String {
    let output = Command::new(find("pgbench").unwrap())
        .args(["-U", "roleos", "-h"])
        .arg(server.socket_folder())
        .args(arguments)
        .arg("postgres")
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn tps(server: &Server) -> f64 {
    let seconds = SECONDS.to_string();
    let clients = (PROGRAMS * CALLERS).to_string();
    let text = pgbench(
        server,
        &["-N", "-n", "-c", &clients, "-j", "2", "-T", &seconds],
    );
    let line = text.lines().find_map(|line| line.strip_prefix("tps = "));
    line.and_then(|line| line.split(' ').next()?.parse().ok())
        .unwrap()
}

/// Returns the decisions per second of all programs together, and the largest memory of one of them, in MiB.
fn dispatch(url: &str) -> (f64, f64) {
    let mut programs: Vec<Child> = (0..PROGRAMS)
        .map(|_| {
            Command::new(std::env::current_exe().unwrap())
                .args(["--replica-of", url])
                .stdout(Stdio::piped())
                .spawn()
                .unwrap()
        })
        .collect();
    let latest: Vec<Arc<AtomicU64>> = programs.iter_mut().map(follow).collect();
    let sum = || -> u64 { latest.iter().map(|one| one.load(Ordering::Relaxed)).sum() };
    // Every one has begun.
    while latest.iter().any(|one| one.load(Ordering::Relaxed) == 0) {
        thread::sleep(Duration::from_millis(10));
    }
    let (began, before) = (Instant::now(), sum());
    thread::sleep(Duration::from_secs(SECONDS));
    let (elapsed, after) = (began.elapsed().as_secs_f64(), sum());
    let peak = programs.iter().map(|program| peak_of(program.id())).max();
    for program in &mut programs {
        program.kill().unwrap();
        program.wait().unwrap();
    }
    let mebibytes = peak.unwrap_or_default() as f64 / 1024.0;
    ((after - before) as f64 / elapsed, mebibytes)
}

/// Follows the output of a program and keeps the newest count.
fn follow(program: &mut Child) -> Arc<AtomicU64> {
    let lines = BufReader::new(program.stdout.take().unwrap()).lines();
    let latest = Arc::new(AtomicU64::default());
    let kept = Arc::clone(&latest);
    thread::spawn(move || {
        for count in lines.map_while(|line| line.ok()?.parse().ok()) {
            kept.store(count, Ordering::Relaxed);
        }
    });
    latest
}

/// Returns the largest memory of a program, in KiB.
fn peak_of(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().split(' ').next()?.parse().ok())
        .unwrap()
}

/// Dispatches until it is killed, and prints the number of decisions every 50 ms.
pub(crate) fn replica(url: &str) -> ! {
    let folder = tempfile::tempdir().unwrap();
    let workspace = Workspace::at(folder.path()).unwrap();
    let paths = Paths::find(&workspace, &Environment::default(), &Named::default());
    let settings = Settings::load(&Config::default(), &Environment::default()).unwrap();
    let shared = Arc::new(open(url, folder.path()));
    let specialists = Specialists::new(paths, settings).with_shared(shared);
    let decided = AtomicU64::new(0);
    thread::scope(|scope| {
        for caller in 0..CALLERS {
            let (specialists, decided) = (&specialists, &decided);
            scope.spawn(move || {
                let (input, role) = (
                    json!({ "embedding": [1.0, 0.0] }),
                    format!("R{}", caller % ROLES),
                );
                let asked = Asked {
                    role: &role,
                    input: &input,
                    trace_id: "t",
                    now: "2026-09-03T10:00:00Z",
                };
                loop {
                    let begun = specialists.begin(asked, &Embedding, &|_| Ok(()));
                    assert!(
                        ["ok", "quota_exhausted"].contains(&begun.decision.reason.name()),
                        "{}",
                        begun.decision.detail
                    );
                    specialists.settle(asked, &begun, begun.decision.route, Err("no_fallback"));
                    decided.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        while decided.load(Ordering::Relaxed) == 0 {
            thread::sleep(Duration::from_millis(1));
        }
        loop {
            #[expect(clippy::print_stdout, reason = "the measuring process reads it")]
            {
                println!("{}", decided.load(Ordering::Relaxed));
            }
            thread::sleep(Duration::from_millis(50));
        }
    })
}
