//! Options of `roleos suite from-git` and `roleos prove` through the real binary.

use std::fs;

use serde_json::Value;

use crate::prove::{TASKS, TEST, git, workspace};
use crate::workspace::Workspace;

fn mine(workspace: &Workspace, out: &str, more: &[&str], code: i32) -> Value {
    let words = [
        "suite", "from-git", "source", "--name", "x/y", "--test", TEST, "--format", "tap",
        "--runs", "1", "--json", "--out", out,
    ];
    let words: Vec<&str> = words.iter().chain(more).copied().collect();
    workspace.roleos(&words).exits(code).json()
}

fn prove(workspace: &Workspace, suite: &str, more: &[&str], code: i32) -> Value {
    let words: Vec<&str> = ["prove", suite, "--json"]
        .iter()
        .chain(more)
        .copied()
        .collect();
    workspace.roleos(&words).exits(code).json()
}

#[test]
fn a_vendored_suite_needs_no_repository() {
    let workspace = workspace();
    mine(&workspace, "whole", &["--vendor"], 0);
    mine(&workspace, "again", &["--vendor"], 0);
    let store = |suite: &str| {
        fs::read(workspace.path(&format!("{suite}/store/y.git/objects/pack/pack-trees.pack")))
            .unwrap()
    };
    assert_eq!(store("whole"), store("again"), "two runs differ");
    fs::rename(workspace.path("source"), workspace.path("gone")).unwrap();
    let report = prove(&workspace, "whole", &["--agent", "reference"], 1);
    assert_eq!(report["solved"].as_u64(), Some(TASKS as u64), "{report}");
    // The trees exist, and no commit does.
    let objects = git(
        &workspace.path("whole/store/y.git"),
        &[
            "cat-file",
            "--batch-all-objects",
            "--batch-check=%(objecttype)",
        ],
    );
    assert!(
        objects.contains("tree") && !objects.contains("commit"),
        "{objects}"
    );
}

#[test]
fn mining_chooses_paths_keeps_invalid_commits_and_goes_on() {
    let workspace = workspace();
    workspace.write("source/other.sh", "other() { :; }\n");
    workspace.write(
        "source/tests/zero.sh",
        ". ./lib.sh\n. ./other.sh\necho 'ok 1 zero'\n",
    );
    let source = workspace.path("source");
    git(&source, &["add", "."]);
    git(
        &source,
        &[
            "commit",
            "--quiet",
            "-m",
            "Add a function that does nothing at all",
        ],
    );
    let all = mine(&workspace, "all", &["--keep-invalid"], 0);
    assert_eq!(all["dropped"]["no_fail_to_pass"].as_u64(), Some(1), "{all}");
    let kept = fs::read_dir(workspace.path("all/invalid/tasks"))
        .unwrap()
        .count();
    assert_eq!(kept, 1);
    let none = mine(&workspace, "other", &["--paths", "other.sh"], 1);
    assert_eq!(none["tasks"].as_u64(), Some(0), "{none}");
    assert!(!workspace.path("other/invalid").exists());
    // A run is killed; its progress is trusted, here a commit that was marked as flaky.
    let first = fs::read_dir(workspace.path("all/tasks"))
        .unwrap()
        .flatten()
        .next()
        .unwrap();
    let name = first.file_name().into_string().unwrap();
    let commit = git(&source, &["rev-parse", name.rsplit('-').next().unwrap()]);
    let words = [
        "suite", "from-git", "source", "--name", "x/y", "--test", TEST, "--format", "tap",
        "--runs", "1", "--out", "more", "--json",
    ];
    let mut child = workspace
        .command(&words)
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let plan = workspace.path("more.work/tried/plan");
    while !plan.exists() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    fs::remove_dir_all(workspace.path("more.work/tried/found")).ok();
    let stale = format!(
        "{{\"commit\":\"{}\",\"reason\":\"flaky\",\"detail\":\"\"}}\n",
        commit.trim()
    );
    workspace.write("more.work/tried/dropped.jsonl", stale);
    let other: Vec<&str> = words
        .iter()
        .copied()
        .chain(["--resume", "--max-files", "3"])
        .collect();
    let refused = workspace.roleos(&other).exits(1);
    assert!(
        refused.stderr.contains("leave `--resume` out"),
        "{refused:?}"
    );
    let resumed = mine(&workspace, "more", &["--resume"], 0);
    assert_eq!(
        (
            resumed["tasks"].as_u64(),
            resumed["dropped"]["flaky"].as_u64()
        ),
        (Some(TASKS as u64 - 1), Some(1)),
        "{resumed}"
    );
}

#[test]
fn a_policy_and_a_confirmation_are_part_of_the_run() {
    let workspace = workspace();
    workspace.write(
        "policy.toml",
        "[oversight]\ncapability_gate = false\nextended = true\n",
    );
    let agent = "git push; git commit -q --allow-empty -m x";
    let plain = prove(&workspace, "suite", &["--agent", agent, "--limit", "1"], 1);
    let words = [
        "--agent",
        agent,
        "--limit",
        "1",
        "--policy",
        "policy.toml",
        "--mode",
        "approved",
        "--confirm",
        "deny",
    ];
    let strict = prove(&workspace, "suite", &words, 1);
    // A policy cannot switch the gate off.
    assert!(
        strict["refused"].as_u64() >= plain["refused"].as_u64()
            && plain["refused"].as_u64() >= Some(1),
        "{strict}"
    );
    assert_ne!(strict["run"]["policy"], plain["run"]["policy"]);
    assert_eq!(
        (&strict["run"]["confirm"], &plain["run"]["confirm"]),
        (&"deny".into(), &"".into())
    );
    workspace.write("policy.toml", "[oversight]\nno_such_key = 1\n");
    let words = [
        "prove",
        "suite",
        "--agent",
        "null",
        "--policy",
        "policy.toml",
    ];
    let refused = workspace.roleos(&words).exits(1);
    assert!(refused.stderr.contains("no_such_key"), "{refused:?}");
}

#[test]
fn a_regression_is_confirmed_by_fresh_attempts() {
    let workspace = workspace();
    let patch = workspace.path("patch");
    // The agent has the fix as long as a file outside its box says so.
    let tasks = fs::read_dir(workspace.path("suite/tasks"))
        .unwrap()
        .flatten();
    let mut tasks: Vec<_> = tasks.map(|entry| entry.path()).collect();
    tasks.sort();
    fs::create_dir(&patch).unwrap();
    for task in &tasks {
        let name = task.file_name().unwrap().to_str().unwrap();
        fs::copy(task.join("reference.patch"), patch.join(name)).unwrap();
    }
    let folder = patch.to_str().unwrap().to_owned();
    let agent = format!("git apply {folder}/$ROLEOS_TASK");
    let words = [
        "--agent",
        &agent,
        "--agent-dir",
        &folder,
        "--cutoff",
        "2020-01-01",
    ];
    for _ in 0..3 {
        let report = prove(&workspace, "suite", &words, 1);
        assert_eq!(report["solved"].as_u64(), Some(TASKS as u64), "{report}");
        let parts = report["parts"].as_array().unwrap();
        assert!(
            parts.iter().any(|part| part["name"] == "since 2020-01-01"),
            "{report}"
        );
    }
    let lost = tasks[0].file_name().unwrap().to_str().unwrap();
    fs::write(patch.join(lost), "").unwrap();
    let words: Vec<&str> = words
        .iter()
        .copied()
        .chain(["--baseline", "last"])
        .collect();
    let report = prove(&workspace, "suite", &words, 1);
    assert_eq!(
        report["solved"].as_u64(),
        Some(TASKS as u64 - 1),
        "{report}"
    );
    assert_eq!(
        report["baseline"][1]["confirmed"],
        serde_json::json!([lost]),
        "{report}"
    );
    let before = report["baseline"][0].as_str().unwrap();
    let now = report["run"]["run"].as_str().unwrap();
    let words = ["prove", "compare", before, now, "--fail-on-regression"];
    let compared = workspace.roleos(&words).exits(1);
    assert!(
        compared
            .stdout
            .contains(&format!("confirmed regressions: {lost}")),
        "{compared:?}"
    );
}

#[test]
fn an_engine_without_a_daemon_is_named_and_runs_nothing() {
    let workspace = workspace();
    let words = ["prove", "suite", "--agent", "null", "--engine", "docker"];
    let refused = workspace.roleos(&words).exits(1);
    assert!(refused.stderr.contains("--image"), "{refused:?}");
    let words: Vec<&str> = words
        .iter()
        .copied()
        .chain(["--image", "python:3.12"])
        .collect();
    // An empty search path has no engine, on every machine.
    let mut command = workspace.command(&words);
    let output = command
        .env("PATH", workspace.path("suite"))
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(
        text.contains("nothing was run: `docker` cannot be started"),
        "{text}"
    );
}

#[test]
fn a_suite_that_came_with_a_repository_runs_after_a_confirmation_only() {
    let workspace = workspace();
    git(&workspace.path("."), &["init", "--quiet"]);
    prove(&workspace, "suite", &["--agent", "null", "--limit", "1"], 1);
    git(&workspace.path("."), &["add", "suite"]);
    for words in [
        &["prove", "suite", "--agent", "null"][..],
        &["suite", "check", "suite"],
    ] {
        let refused = workspace.roleos(words).exits(2);
        let text = &refused.stderr;
        assert!(
            text.contains("is not run: it came with the repository")
                && text.contains("roleos trust"),
            "{refused:?}"
        );
    }
    workspace
        .roleos(&["suite", "check", "--static", "suite"])
        .exits(0);
}
