//! Scorecards through the binary: the published figures, bundles that count and that do not, groups, and acceptance.

use base::environment::Environment;
use evidence::store::Store;
use serde_json::{Value, json};
use witness::wire::{Mode, Outcome};

use crate::sample::{DAY, KEY_HEX, Sample};
use crate::vectors::{manifest, vector};
use crate::workspace::Workspace;

/// The fifteen metrics, named as in the documents of the format.
const METRICS: [&str; 15] = [
    "total_tasks",
    "solved",
    "failed",
    "skipped",
    "errors",
    "policy_violations",
    "rollback_count",
    "total_cost_microdollars",
    "median_latency_ms",
    "p95_latency_ms",
    "total_tokens",
    "total_retries",
    "evidence_coverage",
    "cost_per_solve",
    "solve_rate",
];

/// Returns a workspace with these bundles in `runs/`.
fn runs(bundles: impl IntoIterator<Item = Vec<u8>>) -> Workspace {
    let workspace = Workspace::new();
    std::fs::create_dir(workspace.path("runs")).unwrap();
    for (index, bytes) in bundles.into_iter().enumerate() {
        workspace.write(&format!("runs/{index:03}.rvww"), bytes);
    }
    workspace
}

fn score(workspace: &Workspace, more: &[&str]) -> Value {
    let words = [&["--json", "scorecard", "runs", "--key-hex", KEY_HEX], more].concat();
    workspace.roleos(&words).exits(0).json()
}

#[track_caller]
fn check(card: &Value, expected: &[(&str, Value)]) {
    for (name, value) in expected {
        assert_eq!(card[name], *value, "{name} of {card:#}");
    }
}

/// Returns the metric from the manifest.
fn published(expected: &Value, metric: &str) -> Value {
    match metric {
        "cost_per_solve" => expected["cost_per_solve_microdollars"].clone(),
        _ => expected[metric].clone(),
    }
}

#[test]
fn the_published_figures_come_out() {
    let manifest = manifest();
    let mut seen = 0;
    for card in manifest["scorecards"].as_array().unwrap() {
        let Some(rows) = card["rows"].as_array() else {
            continue;
        };
        // A bundle with an invalid outcome cannot be created, and would be malformed.
        if card["id"] == "unknown-outcome" {
            continue;
        }
        let workspace = runs(
            rows.iter()
                .enumerate()
                .map(|(task, row)| sample(task, row).signed()),
        );
        let answer = score(&workspace, &["--all"]);
        for metric in METRICS {
            let expected = match (card["id"].as_str().unwrap(), metric) {
                // The reference wraps around; ours saturates.
                ("u64-totals", "cost_per_solve") => json!(u32::MAX),
                _ => published(&card["expected"], metric),
            };
            let (ours, theirs) = (answer[metric].as_f64(), expected.as_f64());
            assert_eq!(ours, theirs, "{} {metric}", card["id"]);
        }
        assert_eq!(answer["bundles"]["verified"], rows.len());
        seen += 1;
    }
    assert_eq!(seen, 18);
}

fn sample(task: usize, row: &Value) -> Sample {
    let number = |column: usize| row[column].as_u64().unwrap();
    let figure = |column: usize| u32::try_from(number(column)).unwrap();
    Sample {
        outcome: Outcome::from_wire(u8::try_from(number(0)).unwrap()).unwrap(),
        latency_ms: figure(1),
        cost_microdollars: figure(2),
        tokens: figure(3),
        retries: u16::try_from(number(4)).unwrap(),
        evidence_complete: row[5].as_bool().unwrap(),
        violations: figure(6),
        rollbacks: vec![true; usize::try_from(number(7)).unwrap()],
        ..Sample::new(u8::try_from(task).unwrap())
    }
}

#[test]
fn the_goldens_are_counted_once_a_task() {
    let manifest = manifest();
    let files = manifest["bundles"].as_array().unwrap();
    let files: Vec<String> = files
        .iter()
        .map(|golden| {
            vector(golden["file"].as_str().unwrap())
                .display()
                .to_string()
        })
        .collect();
    let mut words = vec!["--json", "scorecard", "--unverified", "--all"];
    words.extend(files.iter().map(String::as_str));
    let answer = Workspace::new().roleos(&words).exits(0).json();
    // g03, g04 and g05 are bundles of one task.
    check(&answer, &[("total_tasks", json!(16))]);
    check(
        &answer["bundles"],
        &[
            ("files", json!(18)),
            ("verified", json!(0)),
            ("unverified", json!(16)),
            ("duplicates", json!(2)),
        ],
    );
}

#[test]
fn nothing_is_a_scorecard_too() {
    let workspace = Workspace::new();
    let answer = workspace.roleos(&["--json", "scorecard"]).exits(0).json();
    for metric in METRICS {
        assert_eq!(answer[metric].as_f64(), Some(0.0), "{metric}");
    }
    check(&answer, &[("rollback_correctness", json!(1.0))]);
    check(&answer["acceptance"], &[("accepted", json!(false))]);
    assert_eq!(answer["bundles"]["files"], 0);
    workspace.roleos(&["scorecard", "--accept"]).exits(1);
    assert!(workspace.snapshot().is_empty());
}

#[test]
fn the_newest_bundle_of_a_task_counts() {
    let first = Sample::new(1);
    let second = Sample {
        created_ns: first.created_ns + DAY,
        outcome: Outcome::Failed,
        ..first.clone()
    };
    // For any file names.
    for bundles in [[&first, &second], [&second, &first]] {
        let answer = score(&runs(bundles.map(Sample::signed)), &[]);
        check(&answer, &[("total_tasks", json!(1)), ("failed", json!(1))]);
        check(
            &answer["bundles"],
            &[("files", json!(2)), ("duplicates", json!(1))],
        );
    }
}

#[test]
fn what_nobody_signed_counts_only_when_asked_for_and_apart() {
    let workspace = runs([Sample::new(1).signed(), Sample::new(2).unsigned()]);
    let answer = score(&workspace, &[]);
    check(&answer, &[("total_tasks", json!(1))]);
    check(
        &answer["bundles"],
        &[
            ("verified", json!(1)),
            ("unverified", json!(0)),
            ("left_out", json!({"unsigned": 1})),
        ],
    );
    let answer = score(&workspace, &["--unverified"]);
    check(&answer, &[("total_tasks", json!(2))]);
    check(
        &answer["bundles"],
        &[
            ("verified", json!(1)),
            ("unverified", json!(1)),
            ("left_out", json!({})),
        ],
    );
}

#[test]
fn an_unsigned_copy_never_takes_the_place_of_a_signed_bundle() {
    let honest = Sample {
        outcome: Outcome::Failed,
        ..Sample::new(1)
    };
    let forged = Sample {
        created_ns: honest.created_ns + DAY,
        ..Sample::new(1)
    };
    let answer = score(
        &runs([honest.signed(), forged.unsigned()]),
        &["--unverified"],
    );
    check(
        &answer,
        &[
            ("total_tasks", json!(1)),
            ("failed", json!(1)),
            ("solved", json!(0)),
        ],
    );
}

#[test]
fn bad_signatures_and_damage_never_count() {
    let mut forged = Sample::new(2).signed();
    forged[0x28] = Outcome::Failed as u8;
    let mut cut = Sample::new(3).signed();
    cut.truncate(100);
    let workspace = runs([Sample::new(1).signed(), forged, cut]);
    for more in [&[][..], &["--unverified"]] {
        let answer = score(&workspace, more);
        check(&answer, &[("total_tasks", json!(1))]);
        let left_out = json!({"bad_signature": 1, "malformed": 1});
        check(&answer["bundles"], &[("left_out", left_out)]);
    }
}

#[test]
fn a_cost_that_is_not_known_is_no_cost_of_nothing() {
    let unpriced = |task, cost_microdollars, fact| Sample {
        cost_microdollars,
        facts: vec![fact, ("model", "house")],
        ..Sample::new(task)
    };
    let unknown = unpriced(2, 0, ("cost", "unknown: no price for `house`"));
    let in_part = unpriced(3, 400, ("cost", "at least 400 millionths: no price"));
    let untold = unpriced(4, 0, ("usage", "unknown: no record"));
    let free = Sample {
        cost_microdollars: 0,
        ..Sample::new(5)
    };
    let all = [&Sample::new(1), &unknown, &in_part, &untold, &free];
    let workspace = runs(all.map(Sample::signed));
    let answer = score(&workspace, &["--by", "model"]);
    check(
        &answer,
        &[
            ("tasks_without_cost", json!(3)),
            ("total_cost_microdollars", json!(1400)),
            ("cost_per_solve", json!(500)),
        ],
    );
    check(&answer["groups"][1], &[("cost_per_solve", json!(null))]);
    let say = |words: &[&str]| {
        let words = [words, &["--key-hex", KEY_HEX]].concat();
        workspace.roleos(&words).succeeds()
    };
    let card = say(&["scorecard", "runs", "--by", "model"]);
    let curve = say(&["curve", "runs"]);
    for (shown, lines) in [
        (
            &card,
            &["total_cost ≥ $0.0014", "cost_per_solve $0.0005"][..],
        ),
        (&curve, &["2026-W01 5 5 $0.0005 10 0 0"]),
    ] {
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        let said: Vec<_> = shown.lines().map(words).collect();
        for line in lines {
            assert!(said.iter().any(|one| one == line), "{line}: {shown}");
        }
        assert!(shown.contains("The cost of 3 of 5 tasks is not known"));
        assert!(shown.contains("[oversight.prices]"), "{shown}");
    }
    let group = card.lines().find(|line| line.starts_with("house "));
    assert!(group.is_some_and(|line| line.contains("unknown")), "{card}");
    let list = say(&["witness", "list", "runs"]);
    let costs: Vec<_> = ["unknown ", "≥ $0.0004 ", "$0.00 "]
        .map(|cost| list.matches(cost).count())
        .to_vec();
    assert_eq!(costs, [2, 1, 1], "{list}");
    let replay = |file| say(&["witness", "replay", file]);
    let (untold, free) = (replay("runs/003.rvww"), replay("runs/004.rvww"));
    assert!(untold.contains("cost            unknown"), "{untold}");
    assert!(!untold.contains("$0.000000"), "{untold}");
    assert!(free.contains("cost            $0.00"), "{free}");
    assert!(free.contains("$0.000000"), "{free}");
}

#[test]
fn a_scorecard_is_divided_by_what_is_asked_for() {
    let by_model = |task, model, outcome, days: u64| Sample {
        facts: vec![("model", model)],
        outcome,
        created_ns: Sample::new(task).created_ns + days * DAY,
        ..Sample::new(task)
    };
    let workspace = runs([
        by_model(1, "large", Outcome::Solved, 0).signed(),
        by_model(2, "large", Outcome::Failed, 7).signed(),
        by_model(3, "small", Outcome::Solved, 7).signed(),
        Sample {
            mode: Mode::Approved,
            ..Sample::new(4)
        }
        .signed(),
    ]);
    let check_groups = |by: &str, expected: &[(&str, u64, u64)]| {
        let answer = score(&workspace, &["--by", by]);
        assert_eq!(answer["by"], by);
        assert_eq!(answer["total_tasks"], 4);
        let groups: Vec<_> = answer["groups"].as_array().unwrap().iter().collect();
        let found: Vec<_> = groups
            .iter()
            .map(|group| {
                let number = |name: &str| group[name].as_u64().unwrap();
                (
                    group["group"].as_str().unwrap(),
                    number("total_tasks"),
                    number("solved"),
                )
            })
            .collect();
        assert_eq!(found, expected, "by {by}");
    };
    check_groups(
        "model",
        &[("(none)", 1, 1), ("large", 2, 1), ("small", 1, 1)],
    );
    check_groups("week", &[("2026-W01", 2, 2), ("2026-W02", 2, 1)]);
    check_groups("day", &[("2026-01-01", 2, 2), ("2026-01-08", 2, 1)]);
    check_groups("mode", &[("approved", 1, 1), ("autonomous", 3, 2)]);
    check_groups("fact:no_such_fact", &[("(none)", 4, 3)]);
    let words = ["scorecard", "runs", "--by", "foo"];
    let error = workspace.roleos(&words).exits(1).stderr;
    assert!(error.contains("fact:NAME"), "{error}");
    let table = workspace.roleos(&["scorecard", "runs", "--key-hex", KEY_HEX, "--by", "model"]);
    assert!(table.succeeds().contains("\nlarge "));
}

/// Returns a workspace whose own ledger has these bundles.
fn sealed(samples: &[Sample]) -> Workspace {
    let workspace = Workspace::new();
    seal_more(&workspace, samples);
    workspace
}

fn seal_more(workspace: &Workspace, samples: &[Sample]) {
    let library = base::workspace::Workspace::at(workspace.root()).unwrap();
    let trust = Environment {
        state: Some(workspace.home().join(".local/state/roleos")),
        ..Environment::default()
    };
    let store = Store::of(&library.trusted_by(&trust), 1 << 20);
    let (keys, _) = store.keys_for_writing().unwrap();
    for sample in samples {
        store.seal(sample.builder(), &keys).unwrap();
    }
}

/// Returns this number of solved tasks with everything in order.
fn solved(count: u8) -> Vec<Sample> {
    (1..=count).map(Sample::new).collect()
}

/// Returns the reasons against acceptance, and asserts the matching exit code.
#[track_caller]
fn reasons(workspace: &Workspace, more: &[&str]) -> Vec<String> {
    let words = [&["--json", "scorecard"], more].concat();
    let answer = workspace.roleos(&words).exits(0).json();
    let reasons = answer["reasons"].as_array().unwrap();
    let accepted = reasons.is_empty();
    assert_eq!(answer["accepted"], accepted);
    assert_eq!(answer["acceptance"]["accepted"], accepted);
    let words = [&["scorecard", "--accept"], more].concat();
    workspace.roleos(&words).exits(i32::from(!accepted));
    let code = |one: &Value| one["code"].as_str().unwrap().to_owned();
    reasons.iter().map(code).collect()
}

#[test]
fn acceptance_is_the_exit_code_when_asked_for() {
    let with = |change: fn(&mut Sample)| {
        let mut samples = solved(100);
        change(&mut samples[99]);
        reasons(&sealed(&samples), &[])
    };
    assert_eq!(with(|_| {}), [""; 0]);
    assert_eq!(with(|sample| sample.violations = 1), ["policy_violations"]);
    assert_eq!(
        with(|sample| sample.evidence_complete = false),
        ["evidence_coverage"]
    );
    assert_eq!(with(|sample| sample.rollbacks = vec![true, true]), [""; 0]);
    assert_eq!(
        with(|sample| sample.rollbacks = vec![true, false]),
        ["rollback_correctness"]
    );
    assert_eq!(with(|sample| sample.mode = Mode::Approved), ["policies"]);
    assert_eq!(
        with(|sample| sample.facts = vec![("sealed_below_agent", "Claude Code")]),
        ["tasks"]
    );
}

#[test]
fn thresholds_are_options_and_settings() {
    let mut samples = solved(5);
    samples[3].outcome = Outcome::Failed;
    samples[4].outcome = Outcome::Failed;
    let workspace = sealed(&samples);
    assert_eq!(reasons(&workspace, &[]), ["tasks"]);
    assert_eq!(reasons(&workspace, &["--min-tasks", "5"]), [""; 0]);
    assert_eq!(
        reasons(
            &workspace,
            &["--min-tasks", "5", "--min-solve-rate", "0.61"]
        ),
        ["solve_rate"]
    );
    workspace.write(
        ".role-os/config.toml",
        "[acceptance]\nmin_tasks = 5\nmin_solve_rate = 0.9\n",
    );
    assert_eq!(reasons(&workspace, &[]), ["solve_rate"]);
    for bad in [
        &["--min-solve-rate", "1.5"][..],
        &["--min-tasks", "0"],
        &["--since", "yesterday"],
        &["--since", "2026-02-02", "--until", "2026-02-01"],
        &["--role", ""],
        &["--ledger", ".role-os/ledger"],
    ] {
        workspace.roleos(&[&["scorecard"], bad].concat()).exits(1);
    }
    let answer = workspace.roleos(&["--json", "scorecard"]).exits(0).json();
    assert_eq!(answer["tasks"], 5);
    assert_eq!(answer["policy_hashes"].as_array().unwrap().len(), 1);
    assert_eq!(answer["ledger"]["ok"], true);
}

/// Failed bundles are moved away: this was accepted before.
#[test]
fn deleting_failed_evidence_is_noticed() {
    let mut samples = solved(5);
    samples[4].outcome = Outcome::Failed;
    let workspace = sealed(&samples);
    let few = &["--min-tasks", "3"];
    assert_eq!(reasons(&workspace, few), [""; 0]);
    let paths = || evidence::scan::find(&[workspace.path(".role-os/witness")]).unwrap();
    let failed = paths().into_iter().find(|path| {
        let words = ["--json", "witness", "verify", path.to_str().unwrap()];
        workspace.roleos(&words).stdout.contains("failed")
    });
    let failed = failed.expect("one failed");
    let bytes = std::fs::read(&failed).unwrap();
    std::fs::remove_file(&failed).unwrap();
    assert_eq!(reasons(&workspace, few), ["ledger"]);
    let verified = workspace.roleos(&["ledger", "verify"]);
    assert!(
        verified.code != 0 && verified.stdout.contains("missing"),
        "{verified:#?}"
    );
    let answer = workspace.roleos(&["--json", "scorecard"]).exits(0).json();
    assert_eq!(answer["ledger"]["problems"], "1 missing");
    let curve = workspace.roleos(&["curve"]).exits(0);
    assert!(
        curve.stderr.contains("does not hold: 1 missing"),
        "{curve:#?}"
    );
    let curve = workspace.roleos(&["--json", "curve"]).exits(0).json();
    assert_eq!(curve["ledger"]["ok"], false);
    // Changing it, or replacing it by another one, does not help either.
    let mut edited = bytes.clone();
    *edited.last_mut().unwrap() ^= 1;
    std::fs::write(&failed, edited).unwrap();
    assert_eq!(reasons(&workspace, few), ["ledger", "left_out"]);
    let other = paths().into_iter().find(|path| *path != failed).unwrap();
    std::fs::copy(other, &failed).unwrap();
    assert_eq!(reasons(&workspace, few), ["ledger"]);
    std::fs::write(&failed, bytes).unwrap();
    assert_eq!(reasons(&workspace, few), [""; 0]);
    // Neither does removing its leaf, or the whole ledger.
    std::fs::remove_dir_all(workspace.path(".role-os/ledger")).unwrap();
    assert_eq!(reasons(&workspace, few), ["ledger"]);
}

#[test]
fn a_ledger_put_back_to_an_older_state_is_not_accepted() {
    let workspace = sealed(&solved(4));
    let copy = |from: &str, to: &str| {
        let ran = std::process::Command::new("cp")
            .args(["-a", from, to])
            .current_dir(workspace.root())
            .status();
        assert!(ran.unwrap().success());
    };
    copy(".role-os", "kept");
    let mut failed = Sample::new(9);
    failed.outcome = Outcome::Failed;
    seal_more(&workspace, &[failed]);
    let few = &["--min-tasks", "2"];
    assert_eq!(reasons(&workspace, few), [""; 0]);
    std::fs::remove_dir_all(workspace.path(".role-os")).unwrap();
    copy("kept", ".role-os");
    assert_eq!(reasons(&workspace, few), ["ledger"]);
    let said = workspace.roleos(&["ledger", "verify"]).exits(1);
    assert!(said.stdout.contains("rolled_back"), "{said:#?}");
    assert!(said.stderr.contains("roleos ledger adopt"), "{said:#?}");
    // Only a person may adopt a ledger.
    workspace.roleos(&["ledger", "adopt"]).exits(2);
}

#[test]
fn an_older_copy_of_a_ledger_is_not_accepted_in_another_place() {
    let workspace = sealed(&solved(4));
    let copied = std::process::Command::new("cp")
        .args(["-a", ".role-os", "kept"])
        .current_dir(workspace.root())
        .status();
    assert!(copied.unwrap().success());
    let old = &[
        "kept/witness",
        "--ledger",
        "kept/ledger",
        "--min-tasks",
        "2",
    ];
    assert_eq!(
        reasons(&workspace, old),
        [""; 0],
        "a copy of the present state"
    );
    let mut failed = Sample::new(9);
    failed.outcome = Outcome::Failed;
    seal_more(&workspace, &[failed]);
    assert_eq!(reasons(&workspace, old), ["ledger"]);
    let card = workspace.roleos(&[
        "--json",
        "scorecard",
        "kept/witness",
        "--ledger",
        "kept/ledger",
    ]);
    let text = card.exits(0).json()["reasons"].to_string();
    assert!(text.contains("rolled back"), "{text}");
}

#[test]
fn a_folder_is_accepted_only_with_its_ledger() {
    let workspace = sealed(&solved(3));
    let elsewhere = Workspace::new();
    let path = |name: &str| workspace.path(name).display().to_string();
    let (bundles, ledger) = (path(".role-os/witness"), path(".role-os/ledger"));
    let public = std::fs::read_dir(workspace.path(".role-os/keys")).unwrap();
    let public = public.map(|entry| entry.unwrap().path());
    let public = public
        .filter(|path| path.extension().is_some_and(|end| end == "pub"))
        .last()
        .unwrap()
        .display()
        .to_string();
    let with = |more: &[&str]| {
        let words = [
            &[bundles.as_str(), "--key-file", &public, "--min-tasks", "3"],
            more,
        ]
        .concat();
        reasons(&elsewhere, &words)
    };
    assert_eq!(with(&[]), ["no_ledger"]);
    assert_eq!(with(&["--ledger", &ledger]), [""; 0]);
    let words = ["scorecard", &bundles, "--ledger", "nowhere"];
    elsewhere.roleos(&words).exits(1);
    let first = evidence::scan::find(&[workspace.path(".role-os/witness")]).unwrap();
    std::fs::remove_file(&first[0]).unwrap();
    assert_eq!(with(&["--ledger", &ledger]), ["tasks", "ledger"]);
}

#[test]
fn filters_choose_what_counts() {
    let of = |task, model, days: u64| Sample {
        facts: vec![("model", model), ("suite_task", "s/1")],
        created_ns: Sample::new(task).created_ns + days * DAY,
        ..Sample::new(task)
    };
    let workspace = sealed(&[of(1, "large", 0), of(2, "large", 7), of(3, "small", 7)]);
    let tasks = |more: &[&str]| {
        let card = workspace.roleos(&[&["--json", "scorecard"], more].concat());
        let curve = workspace.roleos(&[&["--json", "curve"], more].concat());
        let card = card.exits(0).json();
        let points = curve.exits(0).json()["points"].as_array().unwrap().clone();
        let sum: u64 = points
            .iter()
            .map(|one| one["tasks"].as_u64().unwrap())
            .sum();
        assert_eq!(card["tasks"], sum);
        (sum, card["bundles"]["filtered"].as_u64().unwrap())
    };
    assert_eq!(tasks(&[]), (3, 0));
    assert_eq!(tasks(&["--model", "large"]), (2, 1));
    assert_eq!(tasks(&["--since", "2026-01-08"]), (2, 1));
    assert_eq!(tasks(&["--until", "2026-01-08T00:00:00Z"]), (1, 2));
    assert_eq!(tasks(&["--suite", "s", "--model", "small"]), (1, 2));
    assert_eq!(tasks(&["--role", "editor"]), (0, 3));
}

#[test]
fn a_new_workspace_says_what_is_missing() {
    let workspace = Workspace::new();
    let said = workspace.roleos(&["scorecard"]).succeeds();
    assert!(said.contains("acceptance  not yet"), "{said}");
    assert!(said.contains("no task yet"), "{said}");
    assert!(!said.contains("fail "), "{said}");
    seal_more(&workspace, &solved(3));
    // An answered question is not a task.
    let question = Sample {
        outcome: Outcome::Skipped,
        evidence_complete: false,
        ..Sample::new(7)
    };
    seal_more(&workspace, &[question]);
    let said = workspace.roleos(&["scorecard"]).succeeds();
    assert!(said.contains("3 of 100 tasks"), "{said}");
    assert!(said.contains("1 sessions without a task"), "{said}");
    assert!(said.contains("not yet"), "{said}");
    let all = workspace
        .roleos(&["--json", "scorecard", "--all"])
        .exits(0)
        .json();
    assert_eq!(all["tasks"], 4);
}

const FAILING: &str = "=========================== short test summary info ============================\nFAILED t.py::a - x\n========================= 3 failed, 1 passed in 0.01s ==========================\n";

#[test]
fn a_contradiction_is_not_sealed() {
    let workspace = Workspace::new();
    workspace.write("bad.txt", FAILING);
    let words = [
        "--json",
        "witness",
        "seal",
        "--test-log",
        "bad.txt",
        "--outcome",
    ];
    let error = workspace
        .roleos(&[&words[..], &["solved"]].concat())
        .exits(1)
        .json_error();
    assert_eq!(error["code"], "contradiction");
    assert!(!workspace.path(".role-os/witness").exists());
    workspace
        .roleos(&[&words[..], &["failed"]].concat())
        .exits(0);
}

#[test]
fn a_bundle_sealed_below_an_agent_is_marked() {
    let workspace = Workspace::new();
    let mut command = workspace.command(&[
        "--json",
        "witness",
        "seal",
        "--outcome",
        "solved",
        "--fact",
        "sealed_below_agent=",
    ]);
    command.env("CLAUDECODE", "1");
    let ran = crate::workspace::ran(command);
    // If it is refused altogether, there is no bundle that could be marked.
    if ran.code == 0 {
        let file = ran.json()["file"].as_str().unwrap().to_owned();
        let shown = workspace
            .roleos(&["--json", "witness", "show", &file])
            .exits(0)
            .stdout;
        assert!(
            shown.contains(r#""sealed_below_agent":"Claude Code""#),
            "{shown}"
        );
        let answer = workspace.roleos(&["--json", "scorecard"]).exits(0).json();
        assert_eq!(answer["bundles"]["sealed_below_agent"], 1);
        assert_eq!(answer["tasks"], 0);
    }
}

/// Renaming a file changed the solve rate before.
#[test]
fn a_tie_does_not_depend_on_the_name_of_a_file() {
    let solved = Sample::new(1);
    let failed = Sample {
        outcome: Outcome::Failed,
        ..Sample::new(1)
    };
    let one = score(&runs([solved.signed(), failed.signed()]), &[]);
    let other = score(&runs([failed.signed(), solved.signed()]), &[]);
    assert_eq!(one["solved"], other["solved"]);
    assert_eq!(one["bundles"]["duplicates"], 1);
}
