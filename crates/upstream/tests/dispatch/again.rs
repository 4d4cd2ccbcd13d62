//! Exams that are too old are taken again, from the stored set, through the real backend.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use base::clock;
use base::workspace::Workspace;
use routing::audits::kept;
use serde_json::{Value, json};
use upstream::audit::again::Round;
use upstream::audit::exam::Exam;

use crate::adapter::{Adapter, json as reply};
use crate::{Place, ROLE, good};

const DAY_NS: u64 = 24 * 3_600_000_000_000;

fn set(place: &Place) -> PathBuf {
    let case = |input: &str| json!({ "input": input, "expected_format": "json_schema", "verifier_config": { "schema": { "required": ["label"] } } });
    let set = json!({ "audit_id": "a", "version": "v1", "test_cases": [case("one"), case("two")] });
    let path = place.folder.path().join("audit.json");
    fs::write(&path, set.to_string()).unwrap();
    path
}

/// Takes the exam for the first time, as the command line does.
fn taken(place: &Place) -> PathBuf {
    let workspace = Workspace::at(place.folder.path()).unwrap();
    let specialists = place.open();
    let registry = specialists.registry().unwrap();
    let entry = registry.entry(ROLE).unwrap();
    let exam = Exam::open(&workspace, &place.config, &specialists, &set(place)).unwrap();
    let taken = exam
        .take(entry, entry.version("v1").unwrap(), None)
        .unwrap();
    assert!(taken.record.ok);
    taken.path
}

/// Checks once, so many days from now; returns the result of each repeated exam.
fn look(place: &Place, days: u64, stop: bool) -> Vec<Result<bool, String>> {
    let workspace = Workspace::at(place.folder.path()).unwrap();
    let (specialists, stop) = (place.open(), AtomicBool::new(stop));
    let round = Round {
        workspace: &workspace,
        config: &place.config,
        specialists: &specialists,
        now_ns: clock::now_ns() + days * DAY_NS,
        stop: &stop,
    };
    let old = round.old().unwrap();
    let again = old.iter().map(|one| round.again(one));
    again
        .map(|taken| taken.map(|taken| taken.record.ok))
        .collect()
}

fn record(path: &PathBuf) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// Backdates the exam.
fn backdate(path: &PathBuf) {
    let mut old = record(path);
    old["finished_at"] = json!("2020-01-01T00:00:00Z");
    fs::write(path, old.to_string()).unwrap();
}

#[test]
fn an_old_exam_is_taken_again_and_a_young_one_is_not() {
    let adapter = Adapter::new(|_| reply(&good()));
    let place = Place::new(&adapter.url, json!({}), "");
    let path = taken(&place);
    assert_eq!(adapter.seen().len(), 2);
    assert_eq!(look(&place, 29, false), []);
    assert_eq!(look(&place, 31, false), [Ok(true)]);
    assert_eq!(adapter.seen().len(), 4, "the backend was asked again");
    backdate(&path);
    // The set may be missing at its old place; its copy counts.
    fs::remove_file(place.folder.path().join("audit.json")).unwrap();
    assert_eq!(look(&place, 0, false), [Ok(true)]);
    assert_ne!(record(&path)["finished_at"], "2020-01-01T00:00:00Z");
    assert_eq!(look(&place, 0, false), []);
    let events = fs::read_to_string(place.folder.path().join(".role-os/events.jsonl")).unwrap();
    assert_eq!(
        events
            .lines()
            .filter(|line| line.contains("INFER_RESULT"))
            .count(),
        6
    );
}

#[test]
fn never_is_never_and_days_are_days() {
    let adapter = Adapter::new(|_| reply(&good()));
    for (set, wanted) in [("0", 0), ("3650", 0), ("7", 1)] {
        let config = format!("[selection]\naudit_max_age = {set}\n");
        let place = Place::new(&adapter.url, json!({}), &config);
        taken(&place);
        assert_eq!(look(&place, 8, false).len(), wanted, "{set}");
    }
}

#[test]
fn a_version_that_has_become_worse_gets_a_worse_record() {
    let bad = AtomicBool::new(false);
    let bad: &'static AtomicBool = Box::leak(Box::new(bad));
    let adapter = Adapter::new(move |_| {
        let mut answer = good();
        if bad.load(std::sync::atomic::Ordering::SeqCst) {
            answer["verdict"] = json!({ "other": 1 });
        }
        reply(&answer)
    });
    let place = Place::new(&adapter.url, json!({}), "");
    let path = taken(&place);
    bad.store(true, std::sync::atomic::Ordering::SeqCst);
    assert_eq!(look(&place, 31, false), [Ok(false)]);
    assert_eq!(record(&path)["passed"], 0);
}

#[test]
fn what_cannot_be_asked_keeps_its_record() {
    let adapter = Adapter::new(|_| reply(&good()));
    let place = Place::new(&adapter.url, json!({}), "");
    let path = taken(&place);
    let before = record(&path);
    let stopped = look(&place, 31, true);
    assert!(
        stopped[0].as_ref().unwrap_err().contains("stopped"),
        "{stopped:?}"
    );
    let registry = place.folder.path().join(".role-os/specialists.json");
    let text = fs::read_to_string(&registry).unwrap();
    fs::write(&registry, text.replace(&adapter.url, "http://127.0.0.1:9")).unwrap();
    let unreached = look(&place, 31, false);
    assert!(
        unreached[0].as_ref().unwrap_err().contains("broken off"),
        "{unreached:?}"
    );
    let sets = place
        .folder
        .path()
        .join(".role-os/audits")
        .join(kept::FOLDER);
    fs::remove_dir_all(sets).unwrap();
    let lost = look(&place, 31, false);
    assert!(
        lost[0].as_ref().unwrap_err().contains("not kept"),
        "{lost:?}"
    );
    assert_eq!(record(&path), before);
}

#[test]
fn a_registry_that_came_with_a_clone_is_not_followed() {
    let adapter = Adapter::new(|_| reply(&good()));
    let place = Place::new(&adapter.url, json!({}), "");
    taken(&place);
    let git = |words: &[&str]| {
        let mut command = std::process::Command::new("git");
        command.arg("-C").arg(place.folder.path()).args(words);
        assert!(command.output().unwrap().status.success());
    };
    git(&["init", "-q"]);
    git(&["add", "-f", ".role-os/audits"]);
    let tracked = look(&place, 31, false);
    assert!(
        tracked[0]
            .as_ref()
            .unwrap_err()
            .contains("not written by `roleos`"),
        "{tracked:?}"
    );
    git(&["add", "-f", ".role-os/specialists.json"]);
    assert_eq!(look(&place, 31, false), []);
    assert_eq!(adapter.seen().len(), 2, "nobody was asked");
}

#[test]
fn withdrawn_versions_are_left_alone() {
    let adapter = Adapter::new(|_| reply(&good()));
    let place = Place::new(&adapter.url, json!({}), "");
    taken(&place);
    let registry = place.folder.path().join(".role-os/specialists.json");
    let mut value = record(&registry);
    value["specialists"][0]["active_version"] = Value::Null;
    value["specialists"][0]["versions"][0]["status"] = json!("deprecated");
    fs::write(&registry, value.to_string()).unwrap();
    assert_eq!(look(&place, 31, false), []);
}

#[test]
fn the_process_does_it_by_itself_and_counts_it() {
    let adapter = Adapter::new(|_| reply(&good()));
    let place = Place::new(&adapter.url, json!({}), "");
    let path = taken(&place);
    backdate(&path);
    let workspace = Workspace::at(place.folder.path()).unwrap();
    let address = "127.0.0.1:0".parse().unwrap();
    let environment = base::environment::Environment::default();
    let app = server::up::App::open(workspace, place.config, environment, address).unwrap();
    let app = std::sync::Arc::new(app);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind(address).await.unwrap();
        let metrics = std::sync::Arc::clone(&app);
        let stop = async move {
            for _ in 0..2000 {
                if metrics
                    .metrics
                    .text(None, None, None)
                    .contains("audits_total{outcome=\"passed\"} 1")
                {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            panic!("{}", metrics.metrics.text(None, None, None));
        };
        server::up::serve::serve(&app, listener, stop).await;
    });
    assert!(
        app.metrics
            .text(None, None, None)
            .contains("roleos_gateway_old_audits 0")
    );
    assert_ne!(record(&path)["finished_at"], "2020-01-01T00:00:00Z");
}
