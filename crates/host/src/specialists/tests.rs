//! The specialists' files under crashes, crowds and hands.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use ::specialist::classifier::Embedding;
use ::specialist::event::Kind;
use ::specialist::pointer::Move;
use ::specialist::quota::Source;
use ::specialist::shadow::{Shadow, same};
use serde_json::{Value, json};

use super::pending::Recovered;
use super::spending::{Spending, SpendingError};
use super::*;
use crate::files::Privacy;

const ROLE: &str = "Checker";

/// A folder with a registry whose `v1` is active and takes every input with the embedding `[1, 0]`.
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
                "certified_level": level, "exam_hash": "e", "field_audit_window": 200,
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

/// One dispatch whose adapter answers.
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

#[test]
fn ten_thousand_dispatches_of_sixteen_workers_hold_the_quota_at_every_moment() {
    let place = Place::new(0.5);
    let specialists = place.open();
    thread::scope(|scope| {
        for worker in 0..16 {
            let specialists = &specialists;
            scope.spawn(move || {
                let input = input();
                for number in 0..625 {
                    let begun = specialists.begin(asked(&input), &Embedding, &|_| Ok(()));
                    // Every seventh adapter call fails, so that places are given back while others take theirs.
                    let failed = (worker + number) % 7 == 0;
                    let source = if failed {
                        Source::Claude
                    } else {
                        begun.decision.route
                    };
                    specialists.settle(asked(&input), &begun, source, Err("no_fallback"));
                    specialists
                        .log_field(asked(&input), &begun, source, None, None)
                        .unwrap();
                }
            });
        }
    });
    let state = specialists.state().unwrap();
    assert_eq!(state.slot(ROLE).unwrap().window.dispatched(), 10_000);
    let log = specialists.field_log().unwrap();
    let mut rows: Vec<(u64, bool)> = log
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| {
            let row: Value = serde_json::from_slice(line).unwrap();
            (
                row["number"].as_u64().unwrap(),
                row["source"] == "specialist",
            )
        })
        .collect();
    rows.sort_unstable();
    let numbers: Vec<u64> = rows.iter().map(|(number, _)| *number).collect();
    assert_eq!(
        numbers,
        (0..10_000).collect::<Vec<_>>(),
        "no count is lost and none is given twice"
    );
    for stretch in rows.windows(200) {
        let used = stretch.iter().filter(|(_, served)| *served).count();
        assert!(used <= 100, "{used} of 200");
    }
    let served = rows.iter().filter(|(_, served)| *served).count();
    assert!(served > 3000, "{served}");
}

#[test]
fn a_running_crowd_never_overwrites_a_halt() {
    let place = Place::new(1.0);
    let specialists = place.open();
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    serve(&specialists);
                }
            });
        }
        for _ in 0..20 {
            assert_eq!(specialists.halt(ROLE, operator()).unwrap(), None);
            thread::sleep(std::time::Duration::from_millis(5));
            assert_eq!(reason(&serve(&specialists)), "shadow_probe_halt");
            assert!(specialists.clear_halt(ROLE, operator()).unwrap().is_some());
        }
        stop.store(true, Ordering::Relaxed);
    });
    let log = specialists.events().unwrap();
    assert_eq!(log.of(ROLE, &[Kind::Halt]).count(), 20);
    assert_eq!(log.of(ROLE, &[Kind::ClearHalt]).count(), 20);
}

#[test]
fn a_disagreeing_adapter_is_halted_once_and_stays_so_without_its_state() {
    let mut place = Place::new(1.0);
    place.settings.shadow.every = 1;
    let specialists = place.open();
    let input = input();
    let mut halts = 0;
    for _ in 0..6 {
        let probed = specialists.probe(asked(&input), &json!("a"), &json!("b"), same);
        assert_eq!(probed.persist_error, None);
        let Shadow::Fired {
            halt_triggered,
            agreed,
            ..
        } = probed.shadow
        else {
            panic!("{probed:?}")
        };
        halts += u32::from(halt_triggered);
        assert!(!agreed);
    }
    assert_eq!(halts, 1);
    assert_eq!(reason(&serve(&place.open())), "shadow_probe_halt");
    fs::remove_file(&place.paths.state).unwrap();
    let begun = serve(&place.open());
    assert_eq!(reason(&begun), "shadow_probe_halt");
    assert!(
        begun
            .decision
            .detail
            .contains("0.0% agreement over 4 probes"),
        "{}",
        begun.decision.detail
    );
    let cleared = place.open().clear_halt(ROLE, operator()).unwrap();
    assert!(cleared.is_some());
    fs::remove_file(&place.paths.state).unwrap();
    assert_eq!(reason(&serve(&place.open())), "ok");
    let state = place.open().state().unwrap();
    assert_eq!(
        state.slot(ROLE).unwrap().probes.total,
        0,
        "a clearing begins a fresh guard"
    );
}

#[test]
fn verdicts_that_cannot_be_compared_are_no_probe() {
    let place = Place::new(1.0);
    let input = input();
    let probed = place
        .open()
        .probe(asked(&input), &json!(1), &json!(2), |_, _| None);
    assert_eq!(
        probed.shadow,
        Shadow::Skipped {
            why: "incomparable",
            counter: Some(0)
        }
    );
    assert!(!place.paths.probes.exists());
}

#[test]
fn a_damaged_state_routes_nothing_and_is_left_alone_until_it_is_repaired() {
    let place = Place::new(1.0);
    let specialists = place.open();
    specialists.halt(ROLE, operator()).unwrap();
    for damage in ["", "{", "{\"schema\":\"other\"}", "\0\0\0"] {
        place.write(&place.paths.state, damage);
        let begun = serve(&specialists);
        assert_eq!(reason(&begun), "state_unreadable");
        assert!(
            begun.decision.detail.starts_with("STATE_"),
            "{}",
            begun.decision.detail
        );
        assert!(matches!(
            specialists.halt(ROLE, operator()),
            Err(OperateError::Unreadable { .. })
        ));
        assert!(matches!(
            specialists.clear_halt(ROLE, operator()),
            Err(OperateError::Unreadable { .. })
        ));
        assert_eq!(fs::read_to_string(&place.paths.state).unwrap(), damage);
        let repaired = specialists.repair("2026-09-03T10:00:00Z").unwrap();
        assert_eq!(repaired.halted, [ROLE]);
        let aside = repaired.set_aside.unwrap();
        assert_eq!(fs::read_to_string(&aside).unwrap(), damage);
        fs::remove_file(aside).unwrap();
        assert_eq!(reason(&serve(&specialists)), "shadow_probe_halt");
    }
    assert_eq!(specialists.repair("now").unwrap().set_aside, None);
}

/// Puts the files as a crash leaves them after `steps` of the three steps of a promotion to `v2`.
fn interrupted(place: &Place, logged: bool, by_hand: bool) -> Recovered {
    let specialists = place.open();
    let before = fs::read(&place.paths.registry).unwrap();
    let after = Registry::parse(&before).with_active(ROLE, Some("v2"));
    let event = Event::new(
        Kind::Promote,
        ROLE,
        "t",
        json!({ "from_version": "v1", "to_version": "v2" }),
    );
    let note = json!({ "event": event.line(), "before": hex::encode(crate::digest(&before)), "after": after.print() });
    place.write(&specialists.pending_path(), &note.to_string());
    if logged {
        specialists.note(&place.paths.events, &event, true).unwrap();
    }
    if by_hand {
        let text = Registry::parse(&before).with_active(ROLE, None).print();
        place.write(&place.paths.registry, &text);
    }
    let recovered = specialists.recover().unwrap();
    assert!(!specialists.pending_path().exists());
    assert_eq!(specialists.recover().unwrap(), Recovered::Nothing);
    recovered
}

fn active(place: &Place) -> Option<String> {
    place
        .open()
        .registry()
        .unwrap()
        .entry(ROLE)
        .unwrap()
        .active_version
        .clone()
}

#[test]
fn an_interrupted_promotion_is_finished_undone_or_overtaken() {
    let place = Place::new(1.0);
    assert_eq!(interrupted(&place, false, false), Recovered::Undone);
    assert_eq!(active(&place).as_deref(), Some("v1"));
    assert_eq!(interrupted(&place, true, false), Recovered::Finished);
    assert_eq!(active(&place).as_deref(), Some("v2"));
    let place = Place::new(1.0);
    assert_eq!(interrupted(&place, true, true), Recovered::Overtaken);
    assert_eq!(active(&place), None);
    let last = place.open().events().unwrap().events.pop().unwrap();
    assert_eq!(
        (last.kind.as_str(), &last.data["to_version"]),
        ("rollback", &Value::Null)
    );
}

#[test]
fn reading_the_registry_settles_what_a_crash_left() {
    let place = Place::new(1.0);
    let specialists = place.open();
    let before = fs::read(&place.paths.registry).unwrap();
    let after = Registry::parse(&before).with_active(ROLE, Some("v2"));
    let event = Event::new(Kind::Promote, ROLE, "t", json!({}));
    let note = json!({ "event": event.line(), "before": hex::encode(crate::digest(&before)), "after": after.print() });
    place.write(&specialists.pending_path(), &note.to_string());
    specialists.note(&place.paths.events, &event, true).unwrap();
    assert_eq!(serve(&specialists).version.as_deref(), Some("v2"));
}

#[test]
fn promotion_and_rollback_leave_their_receipts_and_refuse_what_they_must() {
    let place = Place::new(1.0);
    let specialists = place.open();
    let point = |id: &str, direction| specialists.repoint(ROLE, id, direction, operator());
    let moved = point("v2", Move::Promote).unwrap();
    assert_eq!(
        (
            moved.from.as_deref(),
            moved.to.as_str(),
            moved.level.as_str()
        ),
        (Some("v1"), "v2", "L3")
    );
    assert_eq!(
        serve(&specialists).version.as_deref(),
        Some("v2"),
        "the next decision sees it"
    );
    point("v1", Move::Rollback).unwrap();
    let before = fs::read(&place.paths.registry).unwrap();
    assert!(matches!(
        point("v0", Move::Promote),
        Err(OperateError::Refused(_))
    ));
    assert!(matches!(
        point("ghost", Move::Rollback),
        Err(OperateError::Refused(_))
    ));
    assert!(matches!(
        specialists.repoint("Nobody", "v1", Move::Promote, operator()),
        Err(OperateError::UnknownRole(_))
    ));
    assert_eq!(fs::read(&place.paths.registry).unwrap(), before);
    let log = specialists.events().unwrap();
    let kinds: Vec<&str> = log.events.iter().map(|event| event.kind.as_str()).collect();
    assert_eq!(kinds, ["promote", "rollback"]);
    assert_eq!(
        log.events[0].data,
        json!({ "from_version": "v1", "to_version": "v2", "certified_level": "L3", "operator": "ana", "reason": "because" })
    );
}

#[test]
fn a_version_enters_behind_the_others_or_not_at_all() {
    let place = Place::new(1.0);
    let specialists = place.open();
    let register = |role: &str, version: Value, backend| {
        specialists.register(role, version, backend, operator())
    };
    let version =
        |base: &str| json!({ "id": "n1", "adapter_id": "a", "base_model": base, "mine": [1] });
    let before = fs::read(&place.paths.registry).unwrap();
    assert!(matches!(
        register("New", version("x/y"), None),
        Err(OperateError::NoBackend(_))
    ));
    assert!(matches!(
        register(ROLE, version("claude-3"), None),
        Err(OperateError::WouldBeInvalid(_))
    ));
    assert!(matches!(
        register(ROLE, json!([]), None),
        Err(OperateError::NotAVersion)
    ));
    let taken = json!({ "id": "v1", "adapter_id": "a", "base_model": "x/y" });
    assert!(matches!(
        register(ROLE, taken, None),
        Err(OperateError::DuplicateVersion { .. })
    ));
    assert_eq!(fs::read(&place.paths.registry).unwrap(), before);
    let registered = register("New", version("x/y"), Some(("http://h:1", 0.5))).unwrap();
    assert_eq!((registered.level.as_str(), registered.active), ("L0", None));
    assert!(
        fs::read_to_string(&place.paths.registry)
            .unwrap()
            .contains("\"mine\": [")
    );
    place.write(&place.paths.registry, "{");
    assert!(matches!(
        register("New", version("x/y"), None),
        Err(OperateError::Invalid { .. })
    ));
}

#[test]
fn a_reader_without_the_lock_sees_a_whole_state_while_others_write() {
    let place = Place::new(1.0);
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let writers: Vec<_> = (0..2)
            .map(|_| {
                let specialists = place.open();
                scope.spawn(move || (0..400).for_each(|_| drop(serve(&specialists))))
            })
            .collect();
        let (place, done) = (&place, &done);
        scope.spawn(move || {
            while !done.load(Ordering::SeqCst) {
                place.open().state().unwrap();
            }
        });
        for writer in writers {
            writer.join().unwrap();
        }
        done.store(true, Ordering::SeqCst);
    });
    let state = place.open().state().unwrap();
    assert_eq!(state.slot(ROLE).unwrap().window.dispatched(), 800);
}

#[test]
fn nothing_older_than_a_halt_is_left_beside_the_state() {
    let place = Place::new(1.0);
    let specialists = place.open();
    (0..3).for_each(|_| drop(serve(&specialists)));
    let older = place.paths.state.with_added_extension("new");
    assert!(older.exists(), "the two files trade their names");
    specialists.halt(ROLE, operator()).unwrap();
    assert!(!older.exists());
    (0..3).for_each(|_| drop(serve(&specialists)));
    let text = fs::read_to_string(&older).unwrap();
    assert!(text.contains("halted by ana"), "{text}");
    specialists.clear_halt(ROLE, operator()).unwrap();
    assert!(!older.exists());
}

#[test]
fn nothing_is_there_in_the_beginning() {
    let place = Place::new(1.0);
    fs::remove_file(&place.paths.registry).unwrap();
    let specialists = place.open();
    let registry = specialists.registry().unwrap();
    assert!(registry.is_valid() && registry.entries().is_empty());
    assert_eq!(specialists.state().unwrap(), State::default());
    assert!(specialists.events().unwrap().events.is_empty());
    let [probes, _] = specialists.probes().unwrap();
    assert!(probes.events.is_empty() && probes.damaged.is_empty());
    assert!(specialists.field_log().unwrap().is_empty());
    assert_eq!(reason(&serve(&specialists)), "no_registry_entry");
}

#[test]
fn a_torn_line_stays_visible_and_spoils_no_other() {
    let place = Place::new(1.0);
    place.write(&place.paths.events, "{\"kind\":\"halt\",\"role\":\"Chec");
    let specialists = place.open();
    specialists
        .repoint(ROLE, "v2", Move::Promote, operator())
        .unwrap();
    let log = specialists.events().unwrap();
    assert_eq!((log.events.len(), log.damaged), (1, vec![1]));
    assert_eq!(specialists.repair("now").unwrap().damaged_events, [1]);
}

#[test]
fn the_field_log_is_set_aside_when_it_is_long() {
    let mut place = Place::new(1.0);
    place.settings.field_log_bytes = 2000;
    place.settings.field_log_keep = 2;
    let specialists = place.open();
    for _ in 0..60 {
        serve(&specialists);
    }
    let length = |name: &str| {
        fs::metadata(place.paths.field_log.with_added_extension(name))
            .map(|file| file.len())
            .ok()
    };
    assert!(length("1").is_some_and(|length| (2000..3000).contains(&length)));
    assert!(length("2").is_some());
    assert_eq!(length("3"), None);
    assert!(fs::metadata(&place.paths.field_log).unwrap().len() < 3000);
}

#[test]
fn a_crowd_loses_no_row_when_the_field_log_is_set_aside() {
    let mut place = Place::new(1.0);
    place.settings.field_log_bytes = 4000;
    place.settings.field_log_keep = 1000;
    thread::scope(|scope| {
        for _ in 0..8 {
            let specialists = place.open();
            scope.spawn(move || (0..50).for_each(|_| drop(serve(&specialists))));
        }
    });
    let folder = files::parent(&place.paths.field_log);
    let mut rows = 0;
    let mut files = 0;
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with("specialist-field-log.jsonl") && !name.ends_with(".lock") {
            let text = fs::read_to_string(entry.path()).unwrap();
            rows += text.lines().count();
            files += 1;
        }
    }
    assert_eq!(rows, 400);
    assert!(files > 10, "{files}");
    let read = place.open().field_log().unwrap();
    let lines = read.split(|byte| *byte == b'\n').count() - 1;
    assert!(
        (11..40).contains(&lines),
        "the present one and the one before: {lines}"
    );
}

#[test]
fn inputs_are_kept_only_on_request() {
    let mut place = Place::new(1.0);
    serve(&place.open());
    place.settings.keep_inputs = true;
    serve(&place.open());
    let log = String::from_utf8(place.open().field_log().unwrap()).unwrap();
    let kept: Vec<bool> = log.lines().map(|line| line.contains("embedding")).collect();
    assert_eq!(kept, [false, true]);
}

#[test]
fn a_roles_own_file_switches_off_or_disagrees() {
    let place = Place::new(1.0);
    let specialists = place.open();
    let role = |extra: &str| {
        let text = format!(
            "source:\n  slug: {ROLE}\n  language: en\n  version: 1\nname: x\ninstructions: y\n{extra}"
        );
        place.write(&place.paths.roles.join("checker.en.yaml"), &text);
        reason(&serve(&specialists))
    };
    assert_eq!(role(""), "ok");
    assert_eq!(role("specialist: null\n"), "role_block_off");
    assert_eq!(
        role("specialist:\n  adapter_id: v1-a\n  certified_level: L2\n"),
        "ok"
    );
    assert_eq!(
        role("specialist:\n  adapter_id: v9-a\n"),
        "role_block_mismatch"
    );
    let named = "name: Checker\ninstructions: y\nspecialist: null\n";
    fs::remove_file(place.paths.roles.join("checker.en.yaml")).unwrap();
    place.write(&place.paths.roles.join("mine.yaml"), named);
    assert_eq!(reason(&serve(&specialists)), "role_block_off");
}

#[test]
fn a_refused_entry_is_named_and_the_breaker_has_its_own_reason() {
    let place = Place::new(1.0);
    let input = input();
    let open = place
        .open()
        .begin(asked(&input), &Embedding, &|_| Err("resting".to_owned()));
    assert_eq!(
        (reason(&open), open.decision.detail.as_str()),
        ("circuit_open", "resting")
    );
    let text = fs::read_to_string(&place.paths.registry)
        .unwrap()
        .replace("Qwen/Qwen3-8B", "claude-3");
    place.write(&place.paths.registry, &text);
    let begun = serve(&place.open());
    assert_eq!(reason(&begun), "no_registry_entry");
    assert!(
        begun.decision.detail.contains("R1"),
        "{}",
        begun.decision.detail
    );
    let peeked = place.open().peek(asked(&input), &Embedding);
    assert_eq!(peeked.reason.name(), "no_registry_entry");
}

#[test]
fn a_cap_holds_for_sixteen_at_once_and_what_was_not_spent_comes_back() {
    let folder = tempfile::tempdir().unwrap();
    let spending = Spending::new(folder.path(), Some(1000));
    let paid = thread::scope(|scope| {
        let workers: Vec<_> = (0..16)
            .map(|_| scope.spawn(|| (0..20).filter(|_| spending.reserve(10).is_ok()).count()))
            .collect();
        workers
            .into_iter()
            .map(|worker| worker.join().unwrap())
            .sum::<usize>()
    });
    assert_eq!(paid, 100);
    assert!(matches!(
        spending.reserve(1),
        Err(SpendingError::Cap {
            cap: 1000,
            spent: 1000
        })
    ));
    spending.settle(10, 3).unwrap();
    spending.reserve(7).unwrap();
    assert!(spending.reserve(1).is_err());
    let yesterday = "{\"day\":\"2020-01-01\",\"micro_usd\":1000}";
    files::write(
        &folder.path().join("fallback-spending.json"),
        yesterday.as_bytes(),
        Privacy::Shared,
    )
    .unwrap();
    spending.reserve(1000).unwrap();
    files::write(
        &folder.path().join("fallback-spending.json"),
        b"?",
        Privacy::Shared,
    )
    .unwrap();
    assert!(matches!(
        spending.reserve(1),
        Err(SpendingError::Damaged(_))
    ));
    assert!(Spending::new(folder.path(), None).reserve(u64::MAX).is_ok());
}

#[test]
fn a_program_answers_fails_is_too_slow_or_too_loud() {
    let run = |script: &str| {
        let words = ["sh", "-c", script].map(str::to_owned);
        command::run(
            &words,
            &vec![b'x'; 1 << 20],
            std::time::Duration::from_secs(2),
            1000,
        )
    };
    assert_eq!(run("echo '{\"a\":1}'").unwrap(), b"{\"a\":1}\n");
    assert_eq!(run("cat | wc -c").unwrap().trim_ascii(), b"1048576");
    assert!(
        run("exit 3")
            .unwrap_err()
            .to_string()
            .contains("exit status: 3")
    );
    assert!(
        run("sleep 60")
            .unwrap_err()
            .to_string()
            .contains("longer than 2 seconds")
    );
    assert!(
        run("yes | head -c 5000")
            .unwrap_err()
            .to_string()
            .contains("more than 1000 bytes")
    );
    let missing = command::run(
        &["/no/such/program".to_owned()],
        b"",
        std::time::Duration::from_secs(1),
        10,
    );
    assert!(
        missing
            .unwrap_err()
            .to_string()
            .contains("cannot start `/no/such/program`")
    );
}
