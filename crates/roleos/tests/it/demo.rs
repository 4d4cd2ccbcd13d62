//! `roleos up --demo`, at a small size: its claims are checked through the product's own commands.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::workspace::ROLEOS;

/// Starts a small demo.
fn begun(root: &Path, words: &[&str]) -> Child {
    Command::new(ROLEOS)
        .arg("--root")
        .arg(root)
        .args(["up", "--demo", "--listen", "127.0.0.1:0"])
        .args(["--demo-dispatches", "100"])
        .args(words)
        .env("HOME", root)
        // A demo that used the user's variables would write to the user's files.
        .env("ROLEOS_SPECIALISTS_PATH", root.join("users-own.json"))
        .env("ROLEOS_SHADOW_K", "1000000")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Sends Ctrl-C's signal.
fn interrupt(child: &Child) {
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(pid, Signal::INT).unwrap();
}

/// Ends the demo with Ctrl-C's signal as soon as it has printed this phrase, and asserts that no process of it is left.
fn broken_off_after(root: &Path, phrase: &str) {
    let mut child = begun(root, &[]);
    let mut said = String::new();
    for line in BufReader::new(child.stderr.take().unwrap()).lines() {
        let line = line.unwrap();
        said.push_str(&line);
        said.push('\n');
        if line.contains(phrase) {
            interrupt(&child);
        }
    }
    let code = child.wait().unwrap().code();
    assert_eq!(code, Some(2), "{phrase}: {said}");
    assert!(
        said.contains("the same command goes on from here"),
        "{said}"
    );
    let mark = fs::read_to_string(root.join(".role-os-demo/roleos-demo.json")).unwrap();
    let mark: Value = serde_json::from_str(&mark).unwrap();
    let backstage = mark["backstage"].as_str().unwrap();
    assert!(TcpStream::connect(backstage).is_err(), "adapters still run");
}

/// Plays the demo until it serves, and ends it with Ctrl-C's signal. Returns its output for people.
fn played(root: &Path, words: &[&str]) -> String {
    let mut child = begun(root, words);
    let mut line = String::new();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    stdout.read_line(&mut line).unwrap();
    if !line.is_empty() {
        interrupt(&child);
    }
    let mut said = String::new();
    let mut stderr = child.stderr.take().unwrap();
    stderr.read_to_string(&mut said).unwrap();
    let code = child.wait().unwrap().code();
    assert!(line.starts_with("roleos is up at http://"), "{line}{said}");
    assert_eq!(code, Some(0), "{said}");
    said
}

fn workspace(root: &Path) -> PathBuf {
    root.join(".role-os-demo/workspace")
}

fn json(root: &Path, words: &[&str]) -> Value {
    let output = Command::new(ROLEOS)
        .arg("--root")
        .arg(workspace(root))
        .arg("--json")
        .args(words)
        .env("HOME", root)
        .output()
        .unwrap();
    assert!(output.status.success(), "{words:?}: {output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn lines(root: &Path, name: &str) -> Vec<Value> {
    let text = fs::read_to_string(workspace(root).join(name)).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Returns every log file of the demo, with its size.
fn history(root: &Path) -> Vec<(String, usize)> {
    let names = [
        ".role-os/run_log.jsonl",
        ".role-os/specialist-events.jsonl",
        ".role-os/specialist-field-log.jsonl",
        ".role-os/specialist-shadow-probes.jsonl",
        ".role-os/events.jsonl",
        ".role-os/sessions/demo-agent.jsonl",
        ".role-os/receipts.jsonl",
    ];
    let mut history: Vec<(String, usize)> = names
        .iter()
        .map(|name| ((*name).to_owned(), lines(root, name).len()))
        .collect();
    let bundles = json(root, &["witness", "list"]).as_array().unwrap().len();
    history.push(("bundles".to_owned(), bundles));
    history
}

#[test]
fn the_loop_is_played_once_and_holds() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let said = played(root, &[]);
    assert!(said.contains("drifter-1 is halted"), "{said}");
    assert!(!root.join("users-own.json").exists());
    let shelf = json(root, &["catalog", "list"]);
    assert_eq!(shelf["bundles"].as_array().unwrap().len(), 3, "{shelf:#}");
    assert!(!root.join(".role-os").exists(), "only its own folder");

    let events = lines(root, ".role-os/specialist-events.jsonl");
    let of = |kind: &str| -> Vec<&Value> {
        let found = events.iter().filter(|event| event["kind"] == kind);
        found.collect()
    };
    let promoted: Vec<(&Value, &Value)> = of("promote")
        .iter()
        .map(|event| (&event["role"], &event["data"]["to_version"]))
        .collect();
    assert_eq!(
        promoted,
        [
            (&"ticket-router".into(), &"wide-1".into()),
            (&"date-reader".into(), &"drifter-1".into())
        ]
    );
    assert_eq!(of("certify").len(), 2, "the others failed their exams");
    assert_eq!(of("halt").len(), 1);
    assert_eq!(of("halt")[0]["role"], "date-reader");

    let runs = lines(root, ".role-os/run_log.jsonl");
    let wins = |end: &str| {
        let own = |run: &&Value| run["model_id"].as_str().unwrap().ends_with(end);
        let of_model = runs.iter().filter(own);
        let won = of_model.clone().filter(|run| {
            run["winner_model_id"] == run["model_id"] && run["winner_version"] == run["version"]
        });
        (of_model.count(), won.count())
    };
    assert_eq!(wins("-refuser"), (40, 0), "asked and never the winner");
    for specialised in ["router-money", "router-machines"] {
        assert!(wins(specialised).1 > 0, "{specialised} has its strengths");
    }
    let field = lines(root, ".role-os/specialist-field-log.jsonl");
    assert_eq!(field.len(), 100);

    let session = lines(root, ".role-os/sessions/demo-agent.jsonl");
    let verdicts: Vec<&Value> = session
        .iter()
        .filter(|line| line["kind"] == "call" && line["input"]["command"] == "git push origin main")
        .map(|line| &line["verdict"])
        .collect();
    assert_eq!(verdicts, ["deny", "allow", "deny"], "{session:#?}");
    let pushed = |reference: &str, folder: &Path| {
        let output = Command::new("git")
            .args(["rev-parse", reference])
            .current_dir(folder)
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        output.stdout
    };
    let origin = root.join(".role-os-demo/origin.git");
    assert_eq!(pushed("main", &origin), pushed("HEAD", &workspace(root)));

    let card = json(root, &["scorecard"]);
    let reasons = card["reasons"].as_array().unwrap();
    let codes: Vec<_> = reasons.iter().map(|one| &one["code"]).collect();
    assert_eq!(codes, ["tasks", "policies"], "{card:#}");
    assert_eq!(
        (&card["total_tasks"], &card["solved"]),
        (&30.into(), &27.into())
    );
    json(root, &["ledger", "verify"]);
    let bundles = json(root, &["witness", "list"]);
    let bundles = bundles.as_array().unwrap();
    assert!(bundles.iter().all(|one| one["verdict"] == "valid"));
    let days: std::collections::BTreeSet<&str> = bundles
        .iter()
        .map(|one| one["created"].as_str().unwrap().split('T').next().unwrap())
        .collect();
    assert!(days.len() >= 28, "spread over six weeks: {days:?}");

    let own = agents_bundle(root);
    assert_eq!(own["outcome"], "solved", "{own:#}");
    assert!(own["cost_microdollars"].as_u64() > Some(1000), "{own:#}");

    let before = history(root);
    let again = played(root, &[]);
    assert_eq!(again.matches("(was done)").count(), 6, "{again}");
    assert_eq!(history(root), before, "nothing is done twice");
}

/// Returns the cost of the session's bundle, in dollars.
fn agents_bundle(root: &Path) -> Value {
    let bundles = json(root, &["witness", "list"]);
    let own = bundles.as_array().unwrap().iter().find(|one| {
        let shown = json(root, &["witness", "show", one["task_id"].as_str().unwrap()]);
        shown.to_string().contains("demo-agent")
    });
    own.unwrap().clone()
}

#[test]
fn broken_off_anywhere_it_goes_on_and_begins_anew_when_told_to() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    for phrase in [
        "1. adapters",
        "3. the selector",
        "4. dispatches",
        "5. six weeks",
    ] {
        broken_off_after(root, phrase);
    }
    let said = played(root, &[]);
    assert!(said.contains("drifter-1 is halted"), "{said}");
    assert!(
        said.contains("refused, then approved once, then refused"),
        "{said}"
    );
    let field = lines(root, ".role-os/specialist-field-log.jsonl");
    assert_eq!(field.len(), 100, "no dispatch is lost or made twice");
    let card = json(root, &["scorecard"]);
    assert_eq!(card["solved"], 27, "{card:#}");
    json(root, &["ledger", "verify"]);

    let mark = root.join(".role-os-demo/roleos-demo.json");
    let before = fs::read_to_string(&mark).unwrap();
    let said = played(root, &["--fresh"]);
    assert!(!said.contains("(was done)"), "{said}");
    assert_ne!(fs::read_to_string(&mark).unwrap(), before);
    assert_eq!(
        lines(root, ".role-os/specialist-field-log.jsonl").len(),
        100
    );
    assert_eq!(
        json(root, &["witness", "list"]).as_array().unwrap().len(),
        30
    );
    json(root, &["ledger", "verify"]);
}

#[test]
fn only_its_own_folder_is_ever_removed() {
    let folder = tempfile::tempdir().unwrap();
    let demo = folder.path().join(".role-os-demo");
    let refused = |what: &str| {
        let output = Command::new(ROLEOS)
            .arg("--root")
            .arg(folder.path())
            .args(["up", "--demo", "--fresh", "--listen", "127.0.0.1:0"])
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{what}: {said}");
        assert!(said.contains("is not a demo's folder"), "{what}: {said}");
    };
    fs::create_dir(&demo).unwrap();
    fs::write(demo.join("mine.txt"), "precious").unwrap();
    refused("somebody's files");
    fs::write(demo.join("roleos-demo.json"), "{}").unwrap();
    refused("another mark");
    assert_eq!(
        fs::read_to_string(demo.join("mine.txt")).unwrap(),
        "precious"
    );
    let elsewhere = folder.path().join("elsewhere");
    fs::rename(&demo, &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &demo).unwrap();
    refused("a link");
    assert!(elsewhere.join("mine.txt").exists());
}
