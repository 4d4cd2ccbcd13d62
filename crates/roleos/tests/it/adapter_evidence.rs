//! Regressions for operators of adapters: exams that graded nothing, evidence written by hand, versions that must not
//! serve.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};

use crate::adapter::{Adapter, json as reply};
use crate::evidence::{atlas, level, long, other_words, registered, version};
use crate::workspace::Workspace;

fn audit(workspace: &Workspace, id: &str, set: &str) -> Value {
    let subject = format!("Atlas/{id}");
    let words = ["audit", "run", &subject, "--set", set, "--json"];
    workspace.roleos(&words).exits(0).json()
}

fn certify(workspace: &Workspace, id: &str) -> Value {
    let words = ["specialist", "certify", "Atlas", id, "--json"];
    let done = workspace.roleos(&words);
    serde_json::from_str(&done.stdout).unwrap()
}

fn said(assessed: &Value, name: &str) -> String {
    let checks = assessed["checks"].as_array().unwrap();
    let found = checks.iter().find(|one| one["name"] == name).unwrap();
    found["said"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn cases_that_nothing_grades_and_copies_certify_nothing() {
    let adapter = atlas();
    let workspace = registered(&adapter.url, None, &[version("good", "L0")]);
    let mut ungraded = long(other_words);
    for case in ungraded["test_cases"].as_array_mut().unwrap() {
        case.as_object_mut().unwrap().remove("expected_output");
        case["expected_format"] = json!("rule_check");
        case["verifier_config"] = json!({ "rule": "regex", "pattern": "[A-Z]" });
    }
    workspace.write("ungraded.json", ungraded.to_string());
    workspace.write("copies.json", long(|_| String::new()).to_string());
    let numbered = long(|round| format!(" ---{round}"));
    workspace.write("numbered.json", numbered.to_string());
    for (set, graded, why, next) in [
        (
            "ungraded.json",
            0,
            "30 do not count: not graded",
            "audit draft",
        ),
        (
            "copies.json",
            3,
            "27 do not count: copies",
            "add 27 cases with other inputs",
        ),
        (
            "numbered.json",
            3,
            "27 do not count: copies",
            "add 27 cases with other inputs",
        ),
    ] {
        let record = audit(&workspace, "good", set);
        assert_eq!(record["graded"], graded, "{set}");
        assert_eq!(record["certifies"], false, "{set}");
        let found = certify(&workspace, "good");
        assert_eq!(found["earned"], "L0", "{set}: {found}");
        let size = said(&found, "audit size");
        assert!(size.contains(why) && size.contains(next), "{size}");
    }
    audit(&workspace, "good", "long.json");
    let found = certify(&workspace, "good");
    assert_eq!(found["earned"], "L1", "{found}");
}

#[test]
fn evidence_that_roleos_did_not_write_raises_no_level() {
    let adapter = atlas();
    let workspace = registered(&adapter.url, None, &[version("bad", "L0")]);
    workspace.roleos(&["init", "--agent", "claude"]).succeeds();
    // The registry was written by hand before; a person confirms it elsewhere, here the program writes it.
    std::fs::remove_file(workspace.path(".role-os/specialists.json")).unwrap();
    workspace.write("bad.json", version("bad", "L0").to_string());
    let words = [
        "specialist",
        "register",
        "Atlas",
        "bad.json",
        "--backend-url",
        &adapter.url,
    ];
    workspace.roleos(&words).exits(0);
    let words = ["audit", "run", "Atlas/bad", "--set", "long.json", "--json"];
    let record = workspace.roleos(&words).exits(1).json();
    let path = record["record"].as_str().unwrap();
    assert_eq!(certify(&workspace, "bad")["earned"], "L0");
    let mut forged: Value = serde_json::from_str(&workspace.read(path)).unwrap();
    for answer in forged["answers"].as_array_mut().unwrap() {
        answer["right"] = json!(true);
        answer["verifier_result"] = json!("PASS");
    }
    forged["passed"] = json!(30);
    std::fs::write(path, forged.to_string()).unwrap();
    let found = certify(&workspace, "bad");
    assert_eq!(found["earned"], "L0", "{found}");
    let exam = said(&found, "audit pass rate");
    assert!(
        exam.contains("does not count: it was changed outside of `roleos`"),
        "{exam}"
    );
    assert!(
        exam.contains("`roleos audit run` takes the exam again"),
        "{exam}"
    );
    // A run log of another program, and a state without a seal.
    workspace.write(".role-os/run_log.jsonl", "{}\n");
    let log = said(&certify(&workspace, "bad"), "run log");
    assert!(log.contains("nothing in it counts"), "{log}");
    let probes = json!({ "bad": { "total": 100, "agreed": 100, "recent": "A".repeat(50) } });
    let state = json!({
        "schema": "roleos-specialist-state/v3", "dispatched": 0, "dispatches": "", "reservations": [],
        "roles": { "Atlas": {
            "dispatched": 0, "dispatches": "", "probe_counter": 0, "probes_by_version": probes, "halt": null,
        } },
    });
    workspace.write(".role-os/specialist-state.json", state.to_string());
    let shadow = said(&certify(&workspace, "bad"), "shadow agreement");
    assert!(shadow.starts_with("0 of 0"), "{shadow}");
    assert!(shadow.contains("probes so far do not count"), "{shadow}");
}

/// Regressions: an exam was repeated until it passed, and a restored old record was trusted.
#[test]
fn attempts_at_an_exam_count_together_and_a_record_that_was_put_back_does_not() {
    let wrong = Arc::new(AtomicBool::new(false));
    let adapter = Adapter::new({
        let wrong = Arc::clone(&wrong);
        move |request| {
            let input = request.body["input"].as_str().unwrap_or_default();
            let verdict = match input.split(' ').next() {
                Some("France") => json!("Paris"),
                Some("Spain") if wrong.load(Ordering::SeqCst) => json!("Barcelona"),
                Some("Spain") => json!("Madrid"),
                _ => json!({ "city": "Rome" }),
            };
            reply(&json!({ "verdict": verdict, "adapter_id": request.body["adapter_id"] }))
        }
    });
    for is_initialised in [false, true] {
        let workspace = registered(&adapter.url, None, &[]);
        if is_initialised {
            workspace.roleos(&["init", "--agent", "claude"]).succeeds();
        }
        std::fs::remove_file(workspace.path(".role-os/specialists.json")).unwrap();
        // The same weights under two names.
        for id in ["one", "two"] {
            let mut version = version(id, "L0");
            version["weights_sha256"] = json!("ab".repeat(32));
            workspace.write("version.json", version.to_string());
            let words = ["specialist", "register", "Atlas", "version.json"];
            let words = [&words[..], &["--backend-url", &adapter.url]].concat();
            workspace.roleos(&words).exits(0);
        }
        let take = |subject: &str, set: &str| {
            let words = ["audit", "run", subject, "--set", set, "--json"];
            let done = workspace.roleos(&words);
            serde_json::from_str::<Value>(&done.stdout).unwrap()
        };
        let exam = || take("Atlas/one", "long.json");
        wrong.store(false, Ordering::SeqCst);
        let record = exam();
        let path = record["record"].as_str().unwrap();
        let passed = std::fs::read(path).unwrap();
        assert_eq!(record["attempts_said"], "1 attempt, 30 of 30 right");
        assert_eq!(certify(&workspace, "one")["level"], "L1");
        wrong.store(true, Ordering::SeqCst);
        assert_eq!(exam()["ok"], false);
        let may_not_serve = |when: &str| {
            let words = ["specialist", "promote", "Atlas", "one"];
            let refused = workspace.roleos(&words).exits(2).stderr;
            let why = "did not pass its newest exam";
            assert!(refused.contains(why), "{when}: {refused}");
        };
        may_not_serve("failed");
        if is_initialised {
            std::fs::write(path, &passed).unwrap();
            let found = certify(&workspace, "one");
            assert_eq!(found["earned"], "L0", "{found}");
            let exam = said(&found, "audit pass rate");
            assert!(exam.contains("it was put back"), "{exam}");
            may_not_serve("an older record was put back");
            // A missing record hides no attempt.
            std::fs::remove_file(path).unwrap();
            may_not_serve("its record is gone");
            let exam = said(&certify(&workspace, "one"), "audit pass rate");
            assert!(exam.contains("record of its newest exam is gone"), "{exam}");
        }
        wrong.store(false, Ordering::SeqCst);
        let again = exam();
        assert_eq!(
            (&again["ok"], &again["certifies"]),
            (&json!(true), &json!(false))
        );
        let found = certify(&workspace, "one");
        assert_eq!(found["earned"], "L0", "{found}");
        let pass_rate = said(&found, "audit pass rate");
        let expected = "3 attempts, 80 of 90 right, which is too few of all attempts together";
        assert!(pass_rate.contains(expected), "{pass_rate}");
        // Another description, order and version of the set, without a failed case, and another name.
        let mut set = long(other_words);
        set["description"] = json!("capitals");
        set["version"] = json!("v2");
        set["test_cases"].as_array_mut().unwrap().reverse();
        set["test_cases"].as_array_mut().unwrap().remove(1);
        workspace.write("other.json", set.to_string());
        for subject in ["Atlas/one", "Atlas/two"] {
            let other = take(subject, "other.json");
            assert!(other["attempts"].as_u64() > Some(3), "{other}");
            assert_eq!(other["certifies"], false, "{other}");
        }
        // Another backend is another subject.
        let elsewhere = atlas();
        let words = [
            "specialist",
            "set",
            "Atlas",
            "--backend-url",
            &elsewhere.url,
        ];
        workspace.roleos(&words).exits(0);
        let other = exam();
        assert_eq!(other["attempts"], 1, "{other}");
    }
}

#[test]
fn a_certificate_lapses_with_its_backend_and_a_claim_is_called_one() {
    let (adapter, elsewhere) = (atlas(), atlas());
    let versions = [version("good", "L0"), version("foreign", "L2")];
    let workspace = registered(&adapter.url, None, &versions);
    audit(&workspace, "good", "long.json");
    assert_eq!(certify(&workspace, "good")["level"], "L1");
    let run = |words: &[&str]| workspace.roleos(&[&["specialist"], words].concat());
    let promoted = run(&["promote", "Atlas", "good"]).exits(0).stdout;
    assert!(promoted.contains("L1 certified"), "{promoted}");
    let set = run(&["set", "Atlas", "--backend-url", &elsewhere.url]).exits(0);
    assert!(
        set.stdout
            .contains("`good` was certified with another backend"),
        "{}",
        set.stdout
    );
    workspace.write("in.txt", "France");
    let words = ["explain-route", "Atlas", "--input", "in.txt", "--json"];
    let route = workspace.roleos(&words).json();
    assert_eq!(
        route["decision"]["reason"], "uncertified_active_version",
        "{route}"
    );
    let beside = workspace.roleos(&["--json", "specialist", "beside", "Atlas", "foreign"]);
    assert_eq!(
        beside.exits(2).json_error()["code"],
        "may_not_serve",
        "the claim was of the other backend too"
    );
    run(&["set", "Atlas", "--backend-url", &adapter.url]).exits(0);
    assert_eq!(
        run(&["beside", "Atlas", "foreign"]).exits(0).stdout.trim(),
        "Atlas: beside the active version: foreign"
    );
    run(&["set", "Atlas", "--backend-url", &elsewhere.url]).exits(0);
    audit(&workspace, "good", "long.json");
    assert_eq!(certify(&workspace, "good")["level"], "L1");
    let route = workspace.roleos(&words).json();
    assert_ne!(
        route["decision"]["reason"], "uncertified_active_version",
        "{route}"
    );
    assert_eq!(level(&workspace, "good").0, "L1");
    let canary = workspace.roleos(&[
        "--json",
        "specialist",
        "promote",
        "Atlas",
        "good",
        "--share",
        "20%",
    ]);
    assert_eq!(canary.exits(1).json_error()["code"], "own_canary");
    run(&["deactivate", "Atlas"]).exits(0);
    run(&["set", "Atlas", "--backend-url", &adapter.url]).exits(0);
    let claimed = run(&["promote", "Atlas", "foreign"]).exits(0).stdout;
    assert!(claimed.contains("L2 claimed"), "{claimed}");
    let trust = workspace.roleos(&["trust"]).exits(0).stdout;
    assert!(
        trust.contains("not initialised") && !trust.contains("written by"),
        "{trust}"
    );
    let retired = run(&["retire", "Atlas", "foreign"]).exits(0).stdout;
    assert!(retired.contains("it was active"), "{retired}");
}

#[test]
fn a_role_that_was_never_named_is_not_dispatched_and_bad_sets_are_summed_up() {
    let workspace = registered("http://127.0.0.1:1", None, &[version("good", "L0")]);
    workspace.write("in.txt", "France");
    let words = ["--json", "dispatch", "nobody", "--input", "in.txt"];
    let refused = workspace.roleos(&words).exits(1).json_error();
    assert_eq!(refused["code"], "unknown_role");
    let mut bad = long(other_words);
    for case in bad["test_cases"].as_array_mut().unwrap() {
        case["expected_format"] = json!("eyes");
    }
    workspace.write("bad.json", bad.to_string());
    let words = ["audit", "run", "Atlas/good", "--set", "bad.json"];
    let shown = workspace.roleos(&words).exits(1);
    assert_eq!(
        shown.stderr.matches("is no kind of verifier").count(),
        1,
        "{}",
        shown.stderr
    );
    assert!(
        shown.stderr.contains("and 29 more cases"),
        "{}",
        shown.stderr
    );
    for (file, reason) in [
        (".role-os/specialists.json", "registry_damaged"),
        (".role-os/selector.json", "selector_damaged"),
    ] {
        let workspace = registered("http://127.0.0.1:1", Some("one"), &[version("one", "L1")]);
        workspace.write(file, "{");
        workspace.write("in.txt", "France");
        let words = [
            "dispatch",
            "Atlas",
            "--input",
            "in.txt",
            "--dry-run",
            "--json",
        ];
        let route = workspace.roleos(&words).json();
        assert_eq!(route["decision"]["reason"], reason, "{route}");
    }
}
