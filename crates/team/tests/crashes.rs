//! Programs that are killed and a database that ends, under load, with clocks that differ: what was acknowledged stands, and
//! stands once, and a halt holds.

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
use ::routing::specialists::{Named, Operator, Paths, Settings, Specialists};
use base::config::Config;
use base::environment::Environment;
use base::workspace::Workspace;
use evidence::archive::Archive as _;
use evidence::archive::people::Act;
use postgres::NoTls;
use serde_json::{Value, json};
use team::throwaway::{Durability, Server};
use team::{Address, DatabaseArchive, Routing, Team};
use witness::key::SigningKey;
use witness::ledger::tiles::TiledTree;
use witness::wire::TaskId;

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

/// What the clocks of three machines show at one moment.
const CLOCKS: [&str; 3] = [
    "2026-09-03T09:55:00Z",
    "2026-09-03T10:00:00Z",
    "2026-09-03T10:05:00Z",
];

impl Replica {
    /// A program that dispatches; its clock shows `now`.
    fn start(url: &str, now: &str) -> Self {
        Self::spawn("replica", url, &[ROLE, "4", now, "each"])
    }

    fn spawn(example: &str, url: &str, arguments: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let program: PathBuf = std::env::current_exe().unwrap();
        let target = program.parent().unwrap().parent().unwrap();
        let mut child = Command::new(target.join("examples").join(example))
            .arg(url)
            .arg(folder.path())
            .args(arguments)
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

/// Kills a program under load, lets the database crash, recover and stop for a while, and kills the other programs. Returns
/// what was acknowledged to all of them.
fn disturb(server: &mut Server, replicas: &mut Vec<Replica>) -> Vec<String> {
    thread::sleep(Duration::from_secs(3));
    let mut acknowledged = replicas.pop().unwrap().kill();
    assert!(!acknowledged.is_empty(), "it was under load");
    server.crash().unwrap();
    server.resume().unwrap();
    thread::sleep(Duration::from_secs(2));
    server.stop().unwrap();
    thread::sleep(Duration::from_secs(1));
    server.resume().unwrap();
    thread::sleep(Duration::from_secs(3));
    for replica in replicas {
        acknowledged.extend(replica.kill());
    }
    acknowledged
}

fn first_word(line: &str) -> String {
    line.split(' ').next().unwrap().to_owned()
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

    let mut replicas: Vec<Replica> = (0..4)
        .map(|number| Replica::start(&url, CLOCKS[number % 3]))
        .collect();
    let lines = disturb(&mut server, &mut replicas);
    let acknowledged: Vec<String> = lines.iter().map(|line| first_word(line)).collect();
    // A program that starts again on a machine delivers what waits there.
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

/// Seconds since the machine started, which every process reads alike.
fn uptime() -> f64 {
    let text = std::fs::read_to_string("/proc/uptime").unwrap();
    text.split(' ').next().unwrap().parse().unwrap()
}

#[test]
fn an_acknowledged_halt_holds_while_programs_are_killed_and_the_database_restarts() {
    let mut server = Server::start(Durability::Synced).unwrap();
    let url = server.database().unwrap();
    let desk = tempfile::tempdir().unwrap();
    let workspace = Workspace::at(desk.path()).unwrap();
    let paths = Paths::find(&workspace, &Environment::default(), &Named::default());
    let settings = Settings::load(&Config::default(), &Environment::default()).unwrap();
    let team = Team::new(Address::parse(&url, None).unwrap()).unwrap();
    let routing = Routing::new(team, &desk.path().join("queue")).unwrap();
    let held = routing.hold_document(REGISTRY).unwrap();
    held.replace(&registry(), Vec::new()).unwrap();
    let specialists = Specialists::new(paths, settings).with_shared(Arc::new(routing));

    let mut replicas: Vec<Replica> = CLOCKS.iter().map(|now| Replica::start(&url, now)).collect();
    let mut lines = Vec::new();
    let mut halted = Vec::new();
    for round in 0..6 {
        thread::sleep(Duration::from_millis(700));
        let by = Operator {
            name: "ana",
            reason: "a test",
            now: CLOCKS[round % 3],
        };
        while specialists.halt(ROLE, by).is_err() {
            thread::sleep(Duration::from_millis(50));
        }
        // The uptime is counted in hundredths.
        thread::sleep(Duration::from_millis(30));
        let from = uptime();
        match round {
            1 => lines.extend(replicas.pop().unwrap().kill()),
            2 => {
                server.crash().unwrap();
                server.resume().unwrap();
            }
            4 => {
                server.stop().unwrap();
                thread::sleep(Duration::from_millis(500));
                server.resume().unwrap();
            }
            _ => {}
        }
        thread::sleep(Duration::from_millis(700));
        halted.push((from, uptime()));
        while specialists.clear_halt(ROLE, None, by).is_err() {
            thread::sleep(Duration::from_millis(50));
        }
    }
    thread::sleep(Duration::from_millis(700));
    for replica in &mut replicas {
        lines.extend(replica.kill());
    }
    // Each was decided at some moment between its call and its answer.
    let moment = |word: Option<&str>| -> f64 { word.unwrap().parse().unwrap() };
    let served: Vec<(f64, f64)> = lines
        .iter()
        .filter(|line| line.contains(" specialist "))
        .map(|line| {
            let mut words = line.split(' ').skip(2);
            (moment(words.next()), moment(words.next()))
        })
        .collect();
    let is_inside = |(began, answered): &&(f64, f64)| {
        let mut halts = halted.iter();
        // The hundredth in which the halt was lifted may hold answers from behind that.
        halts.any(|(from, to)| from <= began && answered < to)
    };
    let inside = served.iter().filter(is_inside).count();
    assert_eq!(inside, 0, "dispatches to a halted specialist");
    assert!(served.len() > 50, "it served");
    let asked = lines.len() - served.len();
    eprintln!(
        "6 halts: none of {} dispatches served under one, {asked} went elsewhere",
        lines.len()
    );
}

#[test]
fn evidence_that_was_acknowledged_is_kept_once_whoever_is_killed() {
    let mut server = Server::start(Durability::Synced).unwrap();
    let url = server.database().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let team = Team::new(Address::parse(&url, None).unwrap()).unwrap();
    let archive = DatabaseArchive::new(team, &Workspace::at(folder.path()).unwrap());
    let key = SigningKey::new(&[9; 32]);
    let act = Act::now("ana", "key.enroll", "keeper", "a test");
    archive.enroll(&key.public(), "keeper", &act).unwrap();
    let mut keepers: Vec<Replica> = [-300, 0, 300]
        .iter()
        .zip(["0", "10000000", "20000000"])
        .map(|(offset, first)| Replica::spawn("keeper", &url, &[first, &offset.to_string()]))
        .collect();
    let acknowledged = disturb(&mut server, &mut keepers);
    let mut tree = TiledTree::of_size(0);
    let mut tasks = BTreeMap::new();
    archive
        .each_bundle(0, &mut |kept| {
            assert_eq!(kept.index, tree.size(), "no gap");
            assert_eq!(base::digest(&kept.bytes.unwrap()), kept.leaf.bundle_sha256);
            tree.push(&kept.leaf).unwrap();
            *tasks.entry(kept.leaf.task_id).or_insert(0) += 1;
            Ok(())
        })
        .unwrap();
    assert!(tasks.values().all(|count| *count == 1), "none twice");
    let mut kept = BTreeMap::new();
    archive
        .each_line(&mut |line| {
            *kept.entry(line.number).or_insert(0) += 1;
            Ok(())
        })
        .unwrap();
    assert!(kept.values().all(|count| *count == 1), "no line twice");
    for line in &acknowledged {
        let number: u64 = line.parse().unwrap();
        assert!(
            tasks.contains_key(&TaskId(u128::from(number).to_be_bytes())),
            "lost: {number}"
        );
        assert!(kept.contains_key(&number), "lost: line {number}");
    }
    // The tree over what is kept is the one that the last checkpoint states.
    let identity = archive.identity().unwrap();
    let committed = archive.commit(&[]).unwrap();
    let attested = committed
        .checkpoint
        .unwrap()
        .verify(&identity.keys)
        .unwrap();
    assert_eq!(attested.checkpoint().size(), tree.size());
    assert_eq!(attested.checkpoint().root(), tree.root().unwrap());
    eprintln!(
        "{} bundles acknowledged, {} kept: none lost, none twice",
        acknowledged.len(),
        tasks.len()
    );
}
