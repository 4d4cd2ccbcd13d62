//! The view against the files: an updated view equals a new one after any change of the files.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use evidence::scan::Options;
use witness::builder::Builder;
use witness::cost::Cost;
use witness::curve::Period;
use witness::extension::field;
use witness::policy::{Check, Policy};
use witness::trace::Call;
use witness::wire::{Mode, Outcome, TaskId};

use super::add_up::By;
use super::list::{Filter, Key, Page, TaskColumn};
use super::rows::{Decision, Dispatch};
use super::*;

const WEEK_NS: u64 = 7 * 86_400_000_000_000;
const START_NS: u64 = 1_767_225_600_000_000_000;

struct Place {
    guard: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let guard = tempfile::tempdir().unwrap();
        let place = Self { guard };
        std::fs::create_dir(place.dir()).unwrap();
        place
    }

    fn dir(&self) -> PathBuf {
        self.guard.path().join(".role-os")
    }

    fn store(&self) -> Store {
        let workspace = base::workspace::Workspace::at(self.guard.path()).unwrap();
        Store::of(&workspace, 1 << 20)
    }

    fn sources(&self) -> Sources {
        let dir = self.dir();
        Sources {
            store: self.store(),
            keys: dir.join("keys"),
            sessions: dir.join("sessions"),
            runs: dir.join("run_log.jsonl"),
            events: dir.join("events.jsonl"),
            probes: dir.join("probes.jsonl"),
            field_log: dir.join("field.jsonl"),
            requests: dir.join("gateway.jsonl"),
            options: Options {
                threads: NonZeroUsize::new(2).unwrap(),
                max_bytes: 1 << 20,
            },
        }
    }

    fn view(&self) -> View {
        View::open(&self.dir().join("view.db"), self.sources()).unwrap()
    }

    fn seal(&self, number: u8, outcome: Outcome, role: &str, model: &str) {
        let store = self.store();
        let (keys, _) = store.keys_for_writing().unwrap();
        let created = START_NS + u64::from(number) * WEEK_NS / 4;
        let policy = Policy::of_mode(Mode::Autonomous);
        let mut builder = Builder::new(TaskId([number; 16]), policy, created);
        builder
            .outcome(outcome)
            .diff("+x")
            .spec(format!("task {}", number % 3));
        builder.provenance(field::ROLE, role);
        builder.provenance(field::MODEL, model);
        let call = Call {
            action: b"Read",
            check: Check::Allowed,
            args_hash: [0; 8],
            result_hash: [0; 8],
            latency_ms: 5,
            cost_microdollars: 100 + u32::from(number),
            tokens: 7,
        };
        builder.record(&call).unwrap();
        if number.is_multiple_of(4) {
            builder.provenance(field::COST, "at least that, without a price");
        }
        store.seal(builder, &keys).unwrap();
    }

    fn add(&self, name: &str, text: &str) {
        let path = self.dir().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(path)
            .unwrap();
        file.write_all(text.as_bytes()).unwrap();
    }
}

fn call(seq: u64, verdict: &str) -> String {
    format!(
        "{{\"seq\":{seq},\"prev\":\"\",\"time_ns\":{},\"agent\":\"claude\",\"calls\":{},\"kind\":\"call\",\"tool\":\"Bash\",\
         \"input\":{{\"command\":\"git push {seq}\"}},\"verdict\":\"{verdict}\",\"actions\":[\"git:push\"]}}\n",
        START_NS + seq,
        seq + 1
    )
}

fn run(number: u32, model: &str, passed: bool) -> String {
    let (result, q0) = if passed { ("PASS", 1) } else { ("FAIL", 0) };
    format!(
        "{{\"timestamp\":\"2026-01-0{}T00:00:00Z\",\"prompt_hash\":\"a\",\"model_id\":\"{model}\",\"metric_version\":\"metric_v1\",\
         \"verifier_result\":\"{result}\",\"q0\":{q0},\"cost\":0.5,\"refusal_penalty\":0.0,\"reward\":0.25,\
         \"winner_model_id\":\"{model}\",\"run_id\":\"r{number}\",\"role\":\"checker\"}}\n",
        number % 9 + 1
    )
}

fn probe(agreed: bool) -> String {
    format!(
        "{{\"kind\":\"shadow-probe\",\"role\":\"checker\",\"ts\":\"2026-01-01T00:00:00Z\",\"data\":{{\"agreed\":{agreed}}}}}\n"
    )
}

fn dispatch(number: u32) -> String {
    format!(
        "{{\"role\":\"checker\",\"ts\":\"2026-01-01T00:00:{number:02}Z\",\"trace_id\":\"t{number}\",\"route\":\"specialist\",\
         \"source\":\"claude\",\"input_sha256\":\"\",\"input_len\":1}}\n"
    )
}

/// Returns everything in the tables that does not depend on the time of reading.
fn dump(view: &View) -> Vec<String> {
    let tables = [
        (
            "task",
            "file, stamp, verdict, task_id, created_ns, week, outcome, role, model, calls, cost",
        ),
        (
            "session",
            "session.id, agent, calls, asked, denied, ended, sealed, last_ns",
        ),
        (
            "decision",
            "session, line, seq, time_ns, text, verdict, actions",
        ),
        ("run", "line, ts, run_id, role, model, passed, won, record"),
        ("event", "line, role, kind, ts, agreed, data"),
        ("dispatch", "line, role, ts, trace_id, route, served_by"),
        (
            "source",
            "path, kind, inode, offset, line, hex(mark), damaged",
        ),
    ];
    let mut all = Vec::new();
    for (table, columns) in tables {
        let rows = view.read(|db| {
            let sql = format!("SELECT json_array({columns}) FROM {table}");
            let mut query = db.prepare(&sql)?;
            query
                .query_map([], |row| row.get::<_, String>(0))?
                .collect::<Result<Vec<_>, _>>()
        });
        let mut rows: Vec<String> = rows
            .unwrap()
            .into_iter()
            .map(|row| format!("{table} {row}"))
            .collect();
        rows.sort();
        all.extend(rows);
    }
    all
}

/// Checks that the view equals one that was built from scratch.
fn agrees(place: &Place, view: &View) {
    view.refresh(|_| ()).unwrap();
    let fresh = View::open(&place.dir().join("fresh.db"), place.sources()).unwrap();
    fresh.rebuild(|_| ()).unwrap();
    assert_eq!(dump(view), dump(&fresh));
}

#[test]
fn kept_current_it_is_what_a_new_one_would_be() {
    let place = Place::new();
    let view = place.view();
    agrees(&place, &view);
    place.seal(1, Outcome::Solved, "checker", "small");
    place.add("sessions/s1.jsonl", &call(0, "deny"));
    place.add("run_log.jsonl", &run(1, "a", true));
    place.add("events.jsonl", &probe(true));
    place.add("field.jsonl", &dispatch(1));
    agrees(&place, &view);
    assert_eq!(
        dump(&view)
            .iter()
            .filter(|row| !row.starts_with("source"))
            .count(),
        6
    );

    place.seal(2, Outcome::Failed, "checker", "large");
    place.add("sessions/s1.jsonl", &call(1, "allow"));
    place.add("sessions/s2.jsonl", &call(0, "ask"));
    place.add("run_log.jsonl", &run(2, "b", false));
    place.add("probes.jsonl", &probe(false));
    place.add("field.jsonl", &dispatch(2));
    agrees(&place, &view);
    let changes = view.refresh(|_| ()).unwrap();
    assert_eq!(
        (changes.lines, changes.decisions.0),
        (0, changes.decisions.1)
    );
}

#[test]
fn a_torn_line_waits_for_its_end_and_a_damaged_one_is_counted() {
    let place = Place::new();
    let view = place.view();
    let line = call(0, "deny");
    let (head, rest) = line.split_at(40);
    place.add("sessions/s.jsonl", head);
    assert_eq!(view.refresh(|_| ()).unwrap().lines, 0);
    place.add("sessions/s.jsonl", rest);
    assert_eq!(view.refresh(|_| ()).unwrap().lines, 1);
    place.add("run_log.jsonl", "no json\n");
    agrees(&place, &view);
    assert_eq!(view.run_stats().unwrap().unreadable, 1);
}

#[test]
fn files_that_are_cut_replaced_changed_or_removed_are_read_again() {
    let place = Place::new();
    let view = place.view();
    for number in 0..5 {
        place.add("run_log.jsonl", &run(number, "a", true));
        place.add("sessions/s.jsonl", &call(u64::from(number), "deny"));
    }
    agrees(&place, &view);
    let path = place.dir().join("run_log.jsonl");
    // Truncated.
    let text = fs::read_to_string(&path).unwrap();
    OpenOptions::new()
        .write(true)
        .open(&path)
        .unwrap()
        .set_len(text.len() as u64 / 5)
        .unwrap();
    agrees(&place, &view);
    // Replaced by a longer one.
    base::files::write(
        &path,
        run(9, "other", true).repeat(7).as_bytes(),
        base::files::Privacy::Shared,
    )
    .unwrap();
    agrees(&place, &view);
    assert_eq!(view.run_stats().unwrap().models[0].model, "other");
    // Changed in place, with the same length.
    let text = fs::read_to_string(&path).unwrap().replace("other", "third");
    OpenOptions::new()
        .write(true)
        .open(&path)
        .unwrap()
        .write_all(text.as_bytes())
        .unwrap();
    agrees(&place, &view);
    assert_eq!(view.run_stats().unwrap().models[0].model, "third");
    // Removed.
    fs::remove_file(&path).unwrap();
    fs::remove_file(place.dir().join("sessions/s.jsonl")).unwrap();
    agrees(&place, &view);
    assert_eq!(dump(&view), Vec::<String>::new());
}

#[test]
fn a_field_log_that_is_set_aside_keeps_its_rows() {
    let place = Place::new();
    let view = place.view();
    place.add("field.jsonl", &dispatch(1));
    agrees(&place, &view);
    fs::rename(
        place.dir().join("field.jsonl"),
        place.dir().join("field.jsonl.1"),
    )
    .unwrap();
    place.add("field.jsonl", &dispatch(2));
    agrees(&place, &view);
    let listed = view
        .list::<Dispatch>(&Filter::default(), &Page::first(10))
        .unwrap();
    let traces: Vec<_> = listed
        .items
        .iter()
        .map(|row| row.trace_id.as_str())
        .collect();
    assert_eq!(traces, ["t2", "t1"]);
}

#[test]
fn bundles_that_come_change_or_go_are_seen() {
    let place = Place::new();
    let view = place.view();
    place.seal(1, Outcome::Solved, "a", "m");
    place.seal(2, Outcome::Solved, "a", "m");
    agrees(&place, &view);
    let file = view.files_of("0101").unwrap()[0].1.clone();
    let path = place.store().witness_dir().join(file);
    let bytes = fs::read(&path).unwrap();
    base::files::write(
        &path,
        &bytes[..bytes.len() - 1],
        base::files::Privacy::Shared,
    )
    .unwrap();
    agrees(&place, &view);
    assert_eq!(
        *view.task_values(TaskColumn::Verdict).unwrap(),
        [("malformed".to_owned(), 1), ("valid".to_owned(), 1)]
    );
    fs::remove_file(&path).unwrap();
    agrees(&place, &view);
    assert_eq!(
        *view.task_values(TaskColumn::Verdict).unwrap(),
        [("valid".to_owned(), 1)]
    );
    fs::remove_dir_all(place.store().witness_dir()).unwrap();
    agrees(&place, &view);
    assert!(view.task_values(TaskColumn::Verdict).unwrap().is_empty());
}

#[test]
fn other_keys_mean_another_judgement() {
    let place = Place::new();
    let view = place.view();
    place.seal(1, Outcome::Solved, "a", "m");
    agrees(&place, &view);
    let keys = place.dir().join("keys");
    fs::rename(&keys, place.dir().join("elsewhere")).unwrap();
    view.refresh(|_| ()).unwrap();
    assert_eq!(
        *view.task_values(TaskColumn::Verdict).unwrap(),
        [("unchecked".to_owned(), 1)]
    );
    fs::rename(place.dir().join("elsewhere"), &keys).unwrap();
    view.refresh(|_| ()).unwrap();
    assert_eq!(
        *view.task_values(TaskColumn::Verdict).unwrap(),
        [("valid".to_owned(), 1)]
    );
}

#[test]
fn a_view_that_is_no_database_or_of_another_time_is_built_again() {
    let place = Place::new();
    place.seal(1, Outcome::Solved, "a", "m");
    let path = place.dir().join("view.db");
    base::files::write(&path, &[b'x'; 9000], base::files::Privacy::Shared).unwrap();
    agrees(&place, &place.view());
    let other = Connection::open(&path).unwrap();
    other.pragma_update(None, "user_version", 99).unwrap();
    drop(other);
    agrees(&place, &place.view());
    fs::remove_file(&path).unwrap();
    agrees(&place, &place.view());
}

#[test]
fn one_process_may_build_it_anew_under_another() {
    let place = Place::new();
    let view = place.view();
    place.add("sessions/s.jsonl", &call(0, "deny"));
    view.refresh(|_| ()).unwrap();
    let other = place.view();
    place.add("sessions/s.jsonl", &call(1, "deny"));
    other.rebuild(|_| ()).unwrap();
    assert_eq!(view.refresh(|_| ()).unwrap().lines, 0);
    place.add("sessions/s.jsonl", &call(2, "deny"));
    assert_eq!(view.refresh(|_| ()).unwrap().lines, 1);
    agrees(&place, &view);
}

#[test]
fn pages_show_every_row_once_newest_first_while_others_come_in() {
    let place = Place::new();
    let view = place.view();
    for seq in 0..23 {
        place.add(
            "sessions/s.jsonl",
            &call(seq, if seq % 3 == 0 { "deny" } else { "allow" }),
        );
    }
    view.refresh(|_| ()).unwrap();
    let filter = Filter::default()
        .equal("verdict", Some("deny"))
        .holds("actions", Some("git:push"));
    let mut page = Page::first(3);
    let mut seen = Vec::new();
    loop {
        let listed = view.list::<Decision>(&filter, &page).unwrap();
        assert!(listed.items.len() <= 3);
        seen.extend(listed.items.iter().map(|row| row.seq));
        place.add("sessions/s.jsonl", &call(100 + seen.len() as u64, "deny"));
        view.refresh(|_| ()).unwrap();
        let Some(next) = listed.next else { break };
        page.after = Key::parse(&next.text());
        assert_eq!(page.after, Some(next));
    }
    assert_eq!(seen, [21, 18, 15, 12, 9, 6, 3, 0]);
    let none = Filter::default().holds("actions", Some("git"));
    assert_eq!(view.list::<Decision>(&none, &page).unwrap().total, 0);
}

#[test]
fn scorecard_and_curve_are_those_of_the_files() {
    let place = Place::new();
    let view = place.view();
    let outcomes = [
        Outcome::Solved,
        Outcome::Failed,
        Outcome::Solved,
        Outcome::Skipped,
        Outcome::Error,
    ];
    for number in 1..14_u8 {
        let outcome = outcomes[usize::from(number) % 5];
        place.seal(number, outcome, ["a", "b"][usize::from(number % 2)], "m");
    }
    view.refresh(|_| ()).unwrap();
    let store = place.store();
    let paths = scan::find(&[store.witness_dir().to_owned()]).unwrap();
    let keyring = store.keys().unwrap().keyring();
    let source = evidence::score::Source {
        paths: &paths,
        keyring: &keyring,
        unverified: false,
        options: place.sources().options,
        ledger: Some(&store.comparison(&store.keys().unwrap(), None).unwrap()),
    };
    let wanted = witness::scorecard::Wanted {
        by: witness::scorecard::GroupBy::parse("role"),
        ..Default::default()
    };
    let all = witness::scorecard::Filter::default();
    let scored = evidence::score::scorecard(source, &wanted, |_| ()).unwrap();
    assert_eq!(
        *view.scorecard(Some(By::Role), &all).unwrap(),
        (scored.result, scored.counts)
    );
    assert_eq!(*view.audit().unwrap(), scored.audit.unwrap());
    let points = evidence::score::curve(source, Period::Week, &wanted, |_| ()).unwrap();
    let points = points.result;
    assert_eq!(*view.curve(Period::Week, &all).unwrap(), points);
    assert!(points.iter().any(|point| point.regressions > 0));
    // The cost of the fourth, eighth and twelfth of the thirteen is unknown: one broke, one was skipped, one solved.
    let outcomes = view.outcomes().unwrap();
    let sums = |of: fn(&Cost) -> u64| outcomes.iter().map(|one| of(&one.cost)).sum::<u64>();
    let points = |of: fn(&Cost) -> u64| points.iter().map(|one| of(&one.cost)).sum::<u64>();
    let parts: [fn(&Cost) -> u64; 4] = [
        |cost| cost.stated,
        |cost| cost.known,
        |cost| cost.known_solved,
        |cost| cost.unknown_tasks,
    ];
    assert_eq!(parts.map(sums), [1391, 1391 - 324, 4, 3]);
    assert_eq!(parts.map(points), parts.map(sums));
    // A cached sum does not outlive a new bundle.
    place.seal(20, Outcome::Solved, "a", "m");
    view.refresh(|_| ()).unwrap();
    assert_eq!(
        view.scorecard(Some(By::Role), &all)
            .unwrap()
            .0
            .all
            .total_tasks,
        14
    );
}

#[test]
fn the_ledger_is_compared_without_reading_a_bundle_again() {
    let place = Place::new();
    let view = place.view();
    for number in 1..4 {
        place.seal(number, Outcome::Solved, "a", "m");
    }
    let kinds = || -> Vec<&'static str> {
        view.refresh(|_| ()).unwrap();
        let audit = view.known_audit().expect("a refresh compares");
        audit.problems.iter().map(|one| one.kind).collect()
    };
    assert_eq!(kinds(), [""; 0]);
    // A bundle that is gone, one that was never logged, and a leaf that was changed, each without any other change.
    let paths = scan::find(&[place.store().witness_dir().to_owned()]).unwrap();
    let aside = place.dir().join("aside");
    fs::rename(&paths[1], &aside).unwrap();
    assert_eq!(kinds(), ["missing"]);
    fs::rename(&aside, &paths[1]).unwrap();
    assert_eq!(kinds(), [""; 0]);
    let stray = paths[0].with_file_name("ff.rvww");
    fs::copy(&paths[0], &stray).unwrap();
    assert_eq!(kinds(), ["unlogged"]);
    fs::remove_file(&stray).unwrap();
    assert_eq!(kinds(), [""; 0]);
    let leaves = place.store().leaves_path();
    let text = fs::read_to_string(&leaves).unwrap();
    let put = |text: &str| {
        base::files::write(&leaves, text.as_bytes(), base::files::Privacy::Secret).unwrap();
    };
    put(&text.replacen("\"created_ns\":1", "\"created_ns\":2", 1));
    assert_eq!(kinds(), ["forked"]);
    put("nonsense\n");
    assert_eq!(kinds(), ["ledger_damaged"]);
    put(&text);
    assert_eq!(kinds(), [""; 0]);
    fs::remove_file(leaves.with_file_name("checkpoint")).unwrap();
    assert_eq!(kinds(), ["checkpoint_missing"]);
}

#[test]
fn days_and_hours_have_their_refusals_and_latencies() {
    let place = Place::new();
    let view = place.view();
    let day_ns = WEEK_NS / 7;
    let text: String = [
        (0, "deny"),
        (1, "allow"),
        (day_ns, "ask"),
        (day_ns + 1, "deny"),
    ]
    .map(|(seq, verdict)| call(seq, verdict))
    .concat();
    place.add("sessions/s.jsonl", &text);
    let request = |at: &str, ms: u32| {
        format!(
            "{{\"ts\":\"2026-01-0{at}:00.5Z\",\"trace\":\"t\",\"method\":\"POST\",\"path\":\"/v1\",\"route\":\"general\",\
             \"status\":200,\"outcome\":\"complete\",\"ms\":{ms},\"overhead_us\":1}}\n"
        )
    };
    let hour: String = (1..=20).map(|ms| request("2T10:01", ms)).collect();
    place.add("gateway.jsonl", &hour);
    place.add("gateway.jsonl", &request("2T11:00", 7));
    view.refresh(|_| ()).unwrap();

    let days = view.refusals(30).unwrap();
    let found: Vec<_> = days
        .iter()
        .map(|one| (one.day.as_str(), one.calls, one.asked, one.denied))
        .collect();
    assert_eq!(found, [("2026-01-01", 2, 0, 1), ("2026-01-02", 2, 1, 1)]);
    assert_eq!(view.refusals(1).unwrap()[0].day, "2026-01-02");

    let slots = |since, is_hourly, most| {
        let slots = view.latencies(since, is_hourly, most).unwrap();
        let shown = slots.into_iter();
        shown
            .map(|one| (one.slot, one.requests, one.median_ms, one.p95_ms))
            .collect::<Vec<_>>()
    };
    let ten = ("2026-01-02T10".to_owned(), 20, 10.0, 19.0);
    let eleven = ("2026-01-02T11".to_owned(), 1, 7.0, 7.0);
    assert_eq!(slots("2026", true, 9), [ten, eleven.clone()]);
    assert_eq!(slots("2026", true, 1), std::slice::from_ref(&eleven));
    assert_eq!(slots("2026-01-02T11", true, 9), [eleven]);
    assert_eq!(
        slots("2026", false, 9),
        [("2026-01-02".to_owned(), 21, 10.0, 19.0)]
    );
}
