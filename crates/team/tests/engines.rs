//! The same tests over both engines: the files of a workspace, and the team's database.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot be prepared has failed"
)]

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use ::routing::shared::REGISTRY;
use ::routing::specialists::{
    Asked, Begun, Compared, Named, Operator, Paths, Promotion, Settings, Specialists,
};
use ::specialist::classifier::Embedding;
use ::specialist::event::Kind;
use ::specialist::quota::Source;
use base::config::Config;
use base::environment::Environment;
use base::files::{self, Privacy};
use base::workspace::Workspace;
use serde_json::{Value, json};
use team::throwaway::{Durability, Server};
use team::{Address, Routing, Team};

const ROLE: &str = "Checker";

/// A workspace, and the way to open it like a separate program.
struct Place {
    folder: tempfile::TempDir,
    url: Option<String>,
    settings: Settings,
}

fn registry(quota: f64) -> String {
    let version = |id: &str, level: &str| {
        json!({
            "id": id, "adapter_id": format!("{id}-a"), "base_model": "Qwen/Qwen3-8B", "gate_threshold": 0.75,
            "certified_level": level, "exam_hash": "e".repeat(64), "field_audit_window": 200,
            "created_at": "2026-09-02T09:00:00Z", "exam_centroid": [1.0, 0.0],
        })
    };
    json!({
        "schema": "roleos-specialist-registry/v1",
        "specialists": [{
            "role": ROLE, "backend_url": "http://127.0.0.1:1", "fallback": "claude", "workload_quota": quota,
            "active_version": "v1", "versions": [version("v1", "L2"), version("v2", "L3")],
        }],
    })
    .to_string()
}

impl Place {
    fn new(server: Option<&Server>, quota: f64) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let place = Self {
            folder,
            url: server.map(|server| server.database().unwrap()),
            settings: Settings::load(&Config::default(), &Environment::default()).unwrap(),
        };
        let text = registry(quota);
        let opened = place.open();
        match opened.shared() {
            Some(shared) => {
                let held = shared.hold_document(REGISTRY).unwrap();
                held.replace(&text, Vec::new()).unwrap();
            }
            None => {
                let path = &opened.paths().registry;
                files::make_directory(files::parent(path), Privacy::Shared).unwrap();
                files::write(path, text.as_bytes(), Privacy::Shared).unwrap();
            }
        }
        place
    }

    /// Opens another program, with separate connections.
    fn open(&self) -> Specialists {
        let workspace = Workspace::at(self.folder.path()).unwrap();
        let paths = Paths::find(&workspace, &Environment::default(), &Named::default());
        let specialists = Specialists::new(paths, self.settings);
        let Some(url) = &self.url else {
            return specialists;
        };
        let team = Team::new(Address::parse(url, None).unwrap()).unwrap();
        let queue = self.folder.path().join("team-queue.jsonl");
        specialists.with_shared(Arc::new(Routing::new(team, &queue).unwrap()))
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

fn begin(specialists: &Specialists) -> Begun {
    specialists.begin(asked(&input()), &Embedding, &|_| Ok(()))
}

fn serve(specialists: &Specialists) -> Begun {
    let begun = begin(specialists);
    let (input, source) = (input(), begun.decision.route);
    specialists.settle(asked(&input), &begun, source, Ok(()));
    specialists
        .log_field(asked(&input), &begun, source, None, None)
        .unwrap();
    begun
}

fn reason(begun: &Begun) -> &'static str {
    begun.decision.reason.name()
}

/// Runs a test over the files, and over a new database on one server.
fn over_both(test: impl Fn(&dyn Fn(f64) -> Place)) {
    test(&|quota| Place::new(None, quota));
    let server = Server::start(Durability::Quick).unwrap();
    test(&|quota| Place::new(Some(&server), quota));
}

#[test]
fn four_programs_hold_the_quota_at_every_moment_and_lose_no_count() {
    over_both(|place| {
        let place = place(0.5);
        thread::scope(|scope| {
            for worker in 0..4 {
                let specialists = Arc::new(place.open());
                for thread in 0..4 {
                    let specialists = Arc::clone(&specialists);
                    scope.spawn(move || {
                        let input = input();
                        for number in 0..50 {
                            let begun = begin(&specialists);
                            let failed = (worker + thread + number) % 7 == 0;
                            let source = match failed {
                                true => Source::Claude,
                                false => begun.decision.route,
                            };
                            specialists.settle(asked(&input), &begun, source, Err("no_fallback"));
                            specialists
                                .log_field(asked(&input), &begun, source, None, None)
                                .unwrap();
                        }
                    });
                }
            }
        });
        let specialists = place.open();
        let state = specialists.state().unwrap();
        assert_eq!(state.slot(ROLE).unwrap().window.dispatched(), 800);
        assert_eq!(state.reservations().len(), 0);
        let log = specialists.field_log().unwrap();
        let rows = log
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty());
        let mut rows: Vec<(u64, bool)> = rows
            .map(|line| {
                let row: Value = serde_json::from_slice(line).unwrap();
                let served = row["source"] == "specialist";
                (row["number"].as_u64().unwrap(), served)
            })
            .collect();
        rows.sort_unstable();
        let numbers: Vec<u64> = rows.iter().map(|(number, _)| *number).collect();
        assert_eq!(numbers, (0..800).collect::<Vec<_>>());
        for stretch in rows.windows(200) {
            let used = stretch.iter().filter(|(_, served)| *served).count();
            assert!(used <= 100, "{used} of 200");
        }
        assert!(rows.iter().filter(|(_, served)| *served).count() > 200);
    });
}

#[test]
fn a_halt_holds_on_every_program_once_it_is_acknowledged() {
    over_both(|place| {
        let place = place(1.0);
        let (one, other) = (place.open(), place.open());
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            for specialists in [&one, &other, &other] {
                let stop = &stop;
                scope.spawn(move || {
                    while !stop.load(Ordering::Relaxed) {
                        serve(specialists);
                    }
                });
            }
            for _ in 0..10 {
                assert_eq!(one.halt(ROLE, operator()).unwrap(), None);
                for specialists in [&one, &other] {
                    assert_eq!(reason(&begin(specialists)), "shadow_probe_halt");
                }
                let lifted = other.clear_halt(ROLE, None, operator()).unwrap().lifted;
                assert_eq!(lifted.len(), 1);
                assert_ne!(reason(&begin(&one)), "shadow_probe_halt");
            }
            stop.store(true, Ordering::Relaxed);
        });
        let log = one.events().unwrap();
        assert_eq!(log.of(ROLE, &[Kind::Halt]).count(), 10);
        assert_eq!(log.of(ROLE, &[Kind::ClearHalt]).count(), 10);
        let unknown = one.halt("Nobody", operator()).unwrap_err();
        assert!(
            unknown.to_string().contains("no role `Nobody`"),
            "{unknown}"
        );
    });
}

#[test]
fn a_promotion_and_a_rollback_hold_on_every_program_with_their_receipts() {
    over_both(|place| {
        let place = place(1.0);
        let (one, other) = (place.open(), place.open());
        let forced = Promotion {
            force: true,
            ..Promotion::default()
        };
        assert_eq!(begin(&other).version.as_deref(), Some("v1"));
        let moved = one.promote(ROLE, "v2", forced, operator()).unwrap();
        assert_eq!((moved.from.as_deref(), &*moved.to), (Some("v1"), "v2"));
        assert_eq!(begin(&other).version.as_deref(), Some("v2"));
        let moved = other.rollback(ROLE, None, operator()).unwrap();
        assert_eq!(moved.to, "v1");
        assert_eq!(begin(&one).version.as_deref(), Some("v1"));
        one.promote(ROLE, "v9", forced, operator()).unwrap_err();
        let kinds = one.events().unwrap();
        let kinds: Vec<&str> = kinds.events.iter().map(|one| one.kind.as_str()).collect();
        assert_eq!(kinds, ["promote", "rollback"]);
        let version = json!({ "id": "v3", "adapter_id": "v3-a", "base_model": "Qwen/Qwen3-8B" });
        one.register(ROLE, version, None, None, operator()).unwrap();
        let known = other.registry().unwrap();
        assert!(known.entry(ROLE).unwrap().version("v3").is_some());
        assert_eq!(one.retire(ROLE, Some("v3"), operator()).unwrap(), ["v3"]);
        assert_eq!(
            other.deactivate(ROLE, operator()).unwrap().as_deref(),
            Some("v1")
        );
        assert_eq!(reason(&begin(&one)), "no_active_version");
    });
}

#[test]
fn disagreeing_probes_halt_a_version_on_every_program() {
    over_both(|place| {
        let place = place(1.0);
        let (one, other) = (place.open(), place.open());
        let answers = (json!("yes"), json!("no"));
        let halted = (0..200).any(|number| {
            let input = json!({ "embedding": [1.0, 0.0], "n": number });
            let compared = Compared {
                version: "v1",
                specialist: &answers.0,
                claude: &answers.1,
                agreed: Some(false),
            };
            let probed = one.probe(asked(&input), compared);
            assert_eq!(probed.persist_error, None);
            reason(&begin(&other)) == "shadow_probe_halt"
        });
        assert!(halted);
        let probes = other.probes_of(ROLE).unwrap();
        let lines: usize = probes
            .iter()
            .map(|log| log.of(ROLE, &[Kind::ShadowProbe]).count())
            .sum();
        let counted = other.state().unwrap();
        assert_eq!(lines as u64, counted.probes(ROLE, "v1").unwrap().total);
        assert_eq!(one.events().unwrap().of(ROLE, &[Kind::Halt]).count(), 1);
    });
}

#[test]
fn a_dispatch_that_is_dropped_gives_its_place_back() {
    over_both(|place| {
        let place = place(1.0);
        let specialists = place.open();
        let begun = begin(&specialists);
        assert_eq!(begun.decision.route, Source::Specialist);
        assert_eq!(specialists.state().unwrap().reservations().len(), 1);
        assert_eq!(
            place.open().state().unwrap().reservations().len(),
            1,
            "another program"
        );
        drop(begun);
        assert_eq!(specialists.state().unwrap().reservations().len(), 0);
    });
}

#[test]
fn the_store_away_fails_open_with_a_reason_and_lines_arrive_later_once() {
    let mut server = Server::start(Durability::Synced).unwrap();
    let place = Place::new(Some(&server), 1.0);
    let specialists = place.open();
    assert_eq!(begin(&specialists).decision.route, Source::Specialist);
    server.stop().unwrap();
    let mut expected = BTreeSet::new();
    for number in 0..5 {
        let (input, trace) = (input(), format!("away-{number}"));
        let asked = Asked {
            trace_id: &trace,
            ..asked(&input)
        };
        let begun = specialists.begin(asked, &Embedding, &|_| Ok(()));
        assert_eq!(reason(&begun), "store_unreachable");
        assert_eq!(begun.decision.route, Source::Claude);
        specialists
            .log_field(asked, &begun, Source::Claude, None, None)
            .unwrap();
        expected.insert(trace);
    }
    specialists.halt(ROLE, operator()).unwrap_err();
    let queue = place.folder.path().join("team-queue.jsonl");
    let waiting = std::fs::read(&queue).unwrap();
    server.resume().unwrap();
    let arrived = || -> Vec<String> {
        let log = specialists.field_log().unwrap_or_default();
        let rows = log
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty());
        rows.map(|line| {
            let row: Value = serde_json::from_slice(line).unwrap();
            row["trace_id"].as_str().unwrap().to_owned()
        })
        .collect()
    };
    let is_empty = |_| {
        thread::sleep(Duration::from_millis(200));
        !queue.exists()
    };
    assert!((0..100).any(is_empty), "the queue is delivered by itself");
    assert_eq!(arrived().into_iter().collect::<BTreeSet<_>>(), expected);
    // Delivered again, as after a crash before the queue was removed.
    files::write_plainly(&queue, waiting.as_ref()).unwrap();
    assert!((0..100).any(is_empty));
    assert_eq!(arrived().len(), 5, "none stands twice");
    assert_eq!(reason(&begin(&specialists)), "ok");
}

#[test]
fn what_is_moved_to_the_store_and_back_is_the_same() {
    let server = Server::start(Durability::Quick).unwrap();
    let files = Place::new(None, 0.5);
    let one = files.open();
    for _ in 0..30 {
        serve(&one);
    }
    one.halt(ROLE, operator()).unwrap();
    let original = one.pack().unwrap();
    assert_eq!(original.lines(), 31);
    let open = |url: Option<&str>| Place {
        folder: tempfile::tempdir().unwrap(),
        url: url.map(str::to_owned),
        settings: files.settings,
    };
    let url = server.database().unwrap();
    let store = open(Some(&url));
    store.open().unpack(&original).unwrap();
    assert_eq!(reason(&begin(&store.open())), "shadow_probe_halt");
    let said = store.open().unpack(&original).unwrap_err().to_string();
    assert!(said.contains("already"), "{said}");
    let there = store.open().pack().unwrap();
    let back = open(None);
    back.open().unpack(&there).unwrap();
    assert_eq!(back.open().pack().unwrap().registry, original.registry);
    assert_eq!(reason(&begin(&back.open())), "shadow_probe_halt");
    back.open().unpack(&there).unwrap_err();
}
