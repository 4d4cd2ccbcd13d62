//! Contests against real servers on loopback: entrants, winners, served answers, and logs.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::adapter::{Adapter, Reply, Request, json as reply};
use base::config::Config;
use base::environment::Environment;
use base::workspace::Workspace;
use routing::events;
use routing::metrics;
use routing::runs;
use routing::specialists::{Asked, Named, Paths, Settings, Specialists, Wanted};
use routing::verifiers::Verifiers;
use selection::metric::Metric;
use selection::run_log::{GENERAL, Record};
use serde_json::{Map, Value, json};
use specialist::classifier::Embedding;
use upstream::backend::{Backends, Limits};
use upstream::blocking;
use upstream::contest::{Arena, Asking, Contested, Logs};
use upstream::dispatch::Dispatcher;
use upstream::fallback::Fallback;

const ROLE: &str = "summariser";

/// A workspace whose versions are served at one address.
struct Place {
    folder: tempfile::TempDir,
    config: Config,
    measurements: u64,
}

/// Returns a version with a schema as its verifier.
fn version(id: &str, level: &str) -> Value {
    json!({
        "id": id, "adapter_id": id, "base_model": "Qwen/Qwen3-8B", "gate_threshold": 0.5, "certified_level": level,
        "exam_hash": "e".repeat(64), "field_audit_window": 200, "created_at": "2026-09-02T09:00:00Z", "exam_centroid": [1.0, 0.0],
        "verifier": {
            "type": "json_schema", "pass_condition": "schema_valid == true",
            "config": { "schema": { "type": "object", "required": ["title"] } },
        },
        "io_contract": { "output": { "format": "json" } },
    })
}

impl Place {
    fn new(url: &str, active: Option<&str>, versions: &[Value], config: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let certified = versions.iter().filter(|one| one["certified_level"] != "L0");
        let beside: Vec<&Value> = certified
            .map(|one| &one["id"])
            .filter(|id| id.as_str() != active)
            .collect();
        let registry = json!({
            "schema": "roleos-specialist-registry/v1",
            "specialists": [{
                "role": ROLE, "backend_url": url, "fallback": "claude", "workload_quota": 1,
                "active_version": active, "versions": versions, "beside": beside,
            }],
        });
        std::fs::create_dir(folder.path().join(".role-os")).unwrap();
        let path = folder.path().join(".role-os/specialists.json");
        std::fs::write(path, registry.to_string()).unwrap();
        let config = Config::parse(Path::new("config.toml"), config).unwrap();
        Self {
            folder,
            config,
            measurements: 3,
        }
    }

    fn workspace(&self) -> Workspace {
        Workspace::at(self.folder.path()).unwrap()
    }

    fn specialists(&self) -> Specialists {
        let environment = Environment::default();
        let paths = Paths::find(&self.workspace(), &environment, &Named::default());
        Specialists::new(paths, Settings::load(&self.config, &environment).unwrap())
    }

    fn contest(&self, learn: bool, k: usize, target: Option<&Value>) -> Contested {
        self.about(
            &json!({ "embedding": [1.0, 0.0], "text": "x" }),
            learn,
            k,
            target,
        )
    }

    /// Holds one contest with fresh state.
    fn about(&self, input: &Value, learn: bool, k: usize, target: Option<&Value>) -> Contested {
        let specialists = self.specialists();
        let backends = Backends::new(Limits::from(&self.config.specialist));
        let fallback = Fallback::new(&self.config.fallback.claude, self.folder.path());
        let dispatcher = Dispatcher::new(&specialists, &backends, fallback.as_ref(), &Embedding);
        let logs = Logs::of(&self.workspace(), &self.config);
        let trials = runs::trials(&logs.runs, ROLE).unwrap();
        let current = metrics::contest(&self.workspace()).unwrap().0;
        let arena = Arena {
            dispatcher: &dispatcher,
            verifiers: Arc::new(Verifiers::new(&self.config.selection)),
            logs,
            measurements: self.measurements,
            config: &self.config,
        };
        let hash = "ab".repeat(32);
        let asked = Asked {
            role: ROLE,
            input,
            trace_id: "t-1",
            now: "2026-09-03T10:00:00Z",
        };
        let asking = Asking {
            instructions: None,
            prompt_hash: &hash,
            further: Map::new(),
            target,
            wanted: Wanted {
                k,
                learn,
                task: selection::candidates::task(input),
                trials: &trials,
            },
            current: &current,
            run_id: base::fresh_task_id().to_string(),
        };
        blocking::run(arena.hold(asked, asking)).unwrap()
    }

    fn log(&self) -> Vec<Record> {
        let mut records = Vec::new();
        let path = runs::path(&self.workspace());
        if path.exists() {
            let (_, bad) =
                runs::verify(&base::seals::Seals::default(), &path, vec![Metric::v1()]).unwrap();
            assert_eq!(bad, [], "the log holds");
            runs::lines(&path, |line| records.push(Record::parse(line).unwrap())).unwrap();
        }
        records
    }

    fn events(&self) -> Vec<String> {
        let mut names = Vec::new();
        let path = events::path(&self.workspace());
        events::read(&path, |envelope| names.push(envelope.event)).unwrap();
        names
    }
}

/// Serves the table's answer for the adapter.
fn serving(table: &[(&'static str, Value)]) -> Adapter {
    let table: BTreeMap<&'static str, Value> = table.iter().cloned().collect();
    Adapter::new(move |request: &Request| {
        let pin = request.body["adapter_id"].as_str().unwrap();
        reply(&json!({ "verdict": table[pin], "adapter_id": pin, "duration_ms": 0 }))
    })
}

fn winner(held: &Contested) -> Option<&str> {
    held.held
        .winner()
        .map(|placed| placed.measured.model_id.as_str())
}

fn pins(adapter: &Adapter) -> Vec<String> {
    let mut pins: Vec<String> = adapter
        .seen()
        .iter()
        .map(|request| request.body["adapter_id"].as_str().unwrap().to_owned())
        .collect();
    pins.sort();
    pins
}

/// Returns settings with a program as the general model, which prints this JSON.
fn general(json: &str) -> String {
    let word = Value::String(json.to_owned());
    format!("[fallback.claude]\nkind = \"command\"\ncommand = [\"echo\", {word}]\n")
}

#[test]
fn a_learning_run_measures_three_times_and_an_uncertified_winner_is_not_served() {
    let adapter = serving(&[
        ("new", json!({ "title": "a b" })),
        ("old", json!({ "title": "a" })),
        ("broken", json!({ "name": 1 })),
    ]);
    let versions = [
        version("old", "L1"),
        version("new", "L0"),
        version("broken", "L0"),
    ];
    let place = Place::new(&adapter.url, Some("old"), &versions, &general("\"x\""));
    let target = json!({ "title": "a b" });
    let held = place.contest(true, 4, Some(&target));
    assert_eq!(winner(&held), Some("new"));
    assert_eq!(
        held.answer.result.as_ref().unwrap(),
        &json!({ "title": "a" })
    );
    assert!(held.verified && held.answered);
    assert_eq!(held.answer.receipt.to_json()["source"], "specialist");
    let all: Vec<&str> = ["broken", "new", "old"]
        .into_iter()
        .flat_map(|pin| [pin; 3])
        .collect();
    assert_eq!(pins(&adapter), all);
    let log = place.log();
    assert_eq!(log.len(), 4);
    assert!(log[3].is_general(), "the general model takes part, last");
    for record in &log {
        assert_eq!(record.winner_model_id.as_deref(), Some("new"));
        assert_eq!(record.more.mode.as_deref(), Some("learn"));
        let passes = !["broken", GENERAL].contains(&record.model_id.as_str());
        assert_eq!(record.passed(), passes);
    }
    assert_eq!(
        place.events(),
        [
            "INFER_REQUEST",
            "INFER_RESULT",
            "INFER_RESULT",
            "INFER_RESULT",
            "INFER_RESULT",
            "SELECT_TRAIN_EXAMPLE"
        ]
    );
    let features = std::fs::read_to_string(place.folder.path().join(".role-os/features.jsonl"));
    assert_eq!(features.unwrap().lines().count(), 1);
}

#[test]
fn serving_asks_the_active_one_and_the_next_certified_one_and_nobody_uncertified() {
    let adapter = serving(&[
        ("a", json!({ "title": "I cannot do that" })),
        ("b", json!({ "title": "fine" })),
        ("c", json!({ "title": "never asked" })),
    ]);
    let versions = [version("c", "L0"), version("b", "L2"), version("a", "L1")];
    let place = Place::new(&adapter.url, Some("a"), &versions, "");
    let held = place.contest(false, 3, None);
    assert_eq!(pins(&adapter), ["a", "b"]);
    // The refusing candidate is as fast and passed, and does not win.
    assert_eq!(winner(&held), Some("b"));
    assert_eq!(held.answer.result.as_ref().unwrap()["title"], "fine");
    assert_eq!(held.left_out.len(), 1);
    let log = place.log();
    assert_eq!(log.len(), 2);
    assert!(log.iter().all(|record| record.q1.is_none()));
    // One is enough when one is wanted.
    place.contest(false, 1, None);
    assert_eq!(pins(&adapter), ["a", "a", "b"]);
}

#[test]
fn all_fail_and_the_general_model_is_held_against_the_same_contract() {
    let adapter = serving(&[("a", json!({ "name": 1 }))]);
    let place = |config: &str| Place::new(&adapter.url, Some("a"), &[version("a", "L1")], config);
    let good = place(&general("{\"title\":\"from the general model\"}"));
    let held = good.contest(false, 2, None);
    assert_eq!(winner(&held), None);
    assert_eq!((held.fallback, held.verified), (Some("claude"), true));
    assert_eq!(
        held.answer.result.as_ref().unwrap()["title"],
        "from the general model"
    );
    let log = good.log();
    assert_eq!(log[0].winner_model_id, None);
    assert_eq!(log[0].more.fallback.as_deref(), Some("claude"));

    assert_eq!(held.answer.receipt.to_json()["fallback"], Value::Null);

    let bad = place(&general("{\"name\":2}"));
    let held = bad.contest(false, 2, None);
    assert_eq!(held.answer.receipt.to_json()["fallback"], "unsure");
    let field = bad
        .workspace()
        .role_os_dir()
        .join("specialist-field-log.jsonl");
    let field = std::fs::read_to_string(field).unwrap();
    assert!(!field.contains("UNSURE"), "no model said it: {field}");
    let result = held.answer.result.unwrap();
    assert_eq!(
        (held.fallback, result["status"].as_str()),
        (Some("unsure"), Some("UNSURE"))
    );
    assert!(held.answered);

    let none = place("");
    let held = none.contest(false, 2, None);
    assert_eq!(held.answer.result.unwrap()["status"], "UNSURE");
}

#[test]
fn a_manifest_may_prefer_unsure_or_name_another_model_as_its_fallback() {
    let adapter = serving(&[
        ("a", json!({ "name": 1 })),
        ("b", json!({ "title": "b" })),
        ("c", json!({ "title": "c" })),
    ]);
    let with = |fallback: &str| {
        let mut first = version("a", "L1");
        first["routing"] = json!({ "tags": ["t"], "fallback": fallback });
        let versions = [first, version("b", "L1"), version("c", "L1")];
        Place::new(
            &adapter.url,
            Some("a"),
            &versions,
            &general("{\"title\":\"g\"}"),
        )
    };
    let held = with("unsure").contest(false, 1, None);
    assert_eq!(held.answer.result.unwrap()["status"], "UNSURE");
    let place = with("c");
    let held = place.contest(false, 1, None);
    assert_eq!(held.answer.result.unwrap()["title"], "c");
    assert_eq!(place.log().len(), 2);
}

#[test]
fn a_backend_that_is_down_leaves_the_input_to_the_general_model_whatever_the_manifest_prefers() {
    let adapter = Adapter::new(|_| Reply::Http(500, "", "{}".to_owned()));
    let mut only = version("a", "L1");
    only["routing"] = json!({ "tags": ["t"], "fallback": "unsure" });
    let with = |config: &str| Place::new(&adapter.url, Some("a"), &[only.clone()], config);
    let held = with(&general("{\"title\":\"g\"}")).contest(false, 1, None);
    assert_eq!(held.answer.result.unwrap()["title"], "g");
    assert_eq!(held.fallback, Some("claude"));
    let held = with("").contest(false, 1, None);
    let unsure = held.answer.result.unwrap();
    assert_eq!(unsure["status"], "UNSURE");
    let why = unsure["reason"].as_str().unwrap();
    assert!(why.starts_with("no candidate answered"), "{why}");
    assert!(!held.answered);
}

#[test]
fn without_a_verifier_the_active_version_is_served_unverified_and_does_not_win() {
    let adapter = serving(&[("a", json!("anything"))]);
    let mut plain = version("a", "L1");
    plain.as_object_mut().unwrap().remove("verifier");
    let place = Place::new(&adapter.url, Some("a"), &[plain], "");
    let held = place.contest(false, 2, None);
    assert_eq!(winner(&held), None);
    assert_eq!(held.answer.result.as_ref().unwrap(), "anything");
    assert!(!held.verified);
}

#[test]
fn a_command_verifier_that_hangs_fails_its_candidate_and_the_contest_goes_on() {
    let adapter = serving(&[("slow", json!("x")), ("good", json!({ "title": "x" }))]);
    let mut slow = version("slow", "L1");
    slow["verifier"] = json!({
        "type": "unit_test", "pass_condition": "exit_code == 0", "config": { "command": ["sleep", "60"] },
    });
    slow["io_contract"] = json!({ "output": { "format": "text" } });
    let place = Place::new(
        &adapter.url,
        Some("slow"),
        &[slow, version("good", "L1")],
        "[selection]\nverifier_seconds = 1\n",
    );
    let held = place.contest(false, 2, None);
    assert_eq!(winner(&held), Some("good"));
    assert!(!place.log()[0].passed());
}

#[test]
fn who_does_not_answer_fails_and_the_time_is_what_we_measured() {
    let adapter = Adapter::new(|request| {
        let pin = request.body["adapter_id"].as_str().unwrap().to_owned();
        match pin.as_str() {
            "broken" => Reply::Http(500, "", String::new()),
            "liar" => {
                std::thread::sleep(Duration::from_millis(300));
                reply(&json!({ "verdict": { "title": "x" }, "adapter_id": pin, "duration_ms": 1 }))
            }
            _ => reply(&json!({ "verdict": { "title": "x" }, "adapter_id": pin })),
        }
    });
    let versions = [
        version("liar", "L1"),
        version("broken", "L1"),
        version("honest", "L1"),
    ];
    let place = Place::new(&adapter.url, Some("liar"), &versions, "");
    let held = place.contest(false, 3, None);
    assert_eq!(winner(&held), Some("honest"));
    let of = |model: &str| {
        let found = held
            .held
            .placed
            .iter()
            .find(|one| one.measured.model_id == model);
        found.unwrap()
    };
    assert!(of("liar").measured.time_ms >= 300);
    assert!(!of("broken").measured.outcome.passed());
    assert_eq!(of("broken").measured.output_hash, None);
}

#[test]
fn non_scope_and_a_halt_keep_versions_out_of_every_contest() {
    let adapter = serving(&[("a", json!({ "title": "a" }))]);
    let mut narrow = version("a", "L1");
    narrow["scope"] = json!({ "tasks": ["sum"], "non_scope": ["poems"] });
    let place = Place::new(
        &adapter.url,
        Some("a"),
        &[narrow],
        &general("{\"title\":\"g\"}"),
    );
    let poem = json!({ "embedding": [1.0, 0.0], "task": "poems" });
    for learn in [false, true] {
        let held = place.about(&poem, learn, 2, None);
        assert_eq!(held.answer.result.unwrap()["title"], "g");
        assert_eq!((held.ran.len(), held.left_out.len()), (0, 1));
    }
    let operator = routing::specialists::Operator {
        name: "me",
        reason: "test",
        now: "2026-09-03T10:00:00Z",
    };
    place.specialists().halt(ROLE, operator).unwrap();
    for learn in [false, true] {
        let held = place.contest(learn, 2, None);
        assert_eq!(
            held.answer.receipt.to_json()["decision"]["reason"],
            "shadow_probe_halt"
        );
    }
    assert_eq!(adapter.seen().len(), 0);
    assert!(place.log().is_empty());
}

#[test]
fn learning_takes_nothing_of_the_quota() {
    let adapter = serving(&[("a", json!({ "title": "a" }))]);
    let config = format!(
        "[specialist]\nquota_window = 10\n{}",
        general("{\"title\":\"g\"}")
    );
    let place = Place::new(&adapter.url, Some("a"), &[version("a", "L1")], &config);
    let path = place.folder.path().join(".role-os/specialists.json");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(
        &path,
        text.replace("\"workload_quota\":1", "\"workload_quota\":0.3"),
    )
    .unwrap();
    let served = |learn: bool| {
        let held = place.contest(learn, 1, None);
        held.answer.receipt.to_json()["source"] == "specialist"
    };
    assert!(
        (0..10).all(|_| served(true)),
        "no learning run is held back"
    );
    let all: Vec<bool> = (0..10).map(|_| served(false)).collect();
    assert_eq!(all.iter().filter(|served| **served).count(), 3);
}

#[test]
fn a_newcomer_is_tried_fifty_times_among_many() {
    let adapter = Adapter::new(|request| {
        let pin = request.body["adapter_id"].clone();
        reply(&json!({ "verdict": { "title": "x" }, "adapter_id": pin }))
    });
    let versions: Vec<Value> = (0..4).map(|at| version(&format!("v{at}"), "L1")).collect();
    let mut place = Place::new(&adapter.url, Some("v0"), &versions, "");
    place.measurements = 1;
    // Two places, four versions: the reserved place goes to the version with the fewest trials.
    for _ in 0..150 {
        place.contest(true, 2, None);
    }
    let trials = runs::trials(&runs::path(&place.workspace()), ROLE).unwrap();
    assert_eq!(trials.len(), 4);
    assert!(trials.values().all(|tried| *tried >= 50), "{trials:?}");
}

/// Regression: a low score from a broken backend stopped the version from learning after the repair.
#[test]
fn a_low_score_keeps_nobody_from_learning() {
    let adapter = serving(&[("a", json!({ "title": "a" }))]);
    let mut unsure = version("a", "L1");
    unsure["routing"] = json!({ "recommended_min_confidence": 0.5 });
    let mut place = Place::new(&adapter.url, Some("a"), &[unsure], "");
    place.measurements = 1;
    let far = json!({ "embedding": [0.0, 1.0], "text": "x" });
    for contest in 0..55 {
        let held = place.about(&far, true, 2, None);
        assert_eq!(held.ran.len(), 1, "{contest}: {:?}", held.left_out);
    }
    assert!(
        place.about(&far, false, 2, None).ran.is_empty(),
        "it does not serve"
    );
}
