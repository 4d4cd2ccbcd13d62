//! Suites and runs through the real binary: a scratch repository is mined, agents are run over it in boxes under
//! supervision, and a run is killed repeatedly.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::workspace::Workspace;

pub(crate) const TEST: &str = "for f in {files}; do . ./$f; done > {report}";
pub(crate) const TASKS: usize = 4;

pub(crate) fn git(folder: &Path, words: &[&str]) -> String {
    let output = Command::new("git")
        .args([
            "-c",
            "user.name=Test",
            "-c",
            "user.email=test@example.org",
            "-c",
            "init.defaultBranch=main",
        ])
        .args(words)
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Returns a workspace with a repository of several faults, each fixed by a commit with a test, and its suite.
pub(crate) fn workspace() -> Workspace {
    let workspace = Workspace::new();
    let source = workspace.path("source");
    workspace.write("source/lib.sh", "zero() { echo 0; }\n");
    workspace.write("source/tests/zero.sh", ". ./lib.sh\necho 'ok 1 zero'\n");
    git(&source, &["init", "--quiet"]);
    git(&source, &["add", "."]);
    git(&source, &["commit", "--quiet", "-m", "First"]);
    for task in 1..=TASKS {
        let functions: String = (1..=task)
            .map(|one| format!("times{one}() {{ echo $(($1 * {one})); }}\n"))
            .collect();
        workspace.write(
            "source/lib.sh",
            format!("zero() {{ echo 0; }}\n{functions}"),
        );
        let test = format!(
            ". ./lib.sh\nif [ \"$(times{task} 2)\" = {} ]; then echo 'ok 1 t{task}'; else echo 'not ok 1 t{task}'; fi\n",
            2 * task
        );
        workspace.write(&format!("source/tests/t{task}.sh"), test);
        git(&source, &["add", "."]);
        git(
            &source,
            &[
                "commit",
                "--quiet",
                "-m",
                &format!("Multiply a number by {task} with a function of its own"),
            ],
        );
    }
    let words = [
        "suite", "from-git", "source", "--name", "x/y", "--test", TEST, "--format", "tap",
        "--runs", "2", "--out", "suite", "--json",
    ];
    let mined = workspace.roleos(&words).exits(0).json();
    assert_eq!(mined["tasks"], TASKS, "{mined}");
    workspace
}

fn prove(workspace: &Workspace, agent: &str, code: i32) -> Value {
    let words = [
        "prove",
        "suite",
        "--agent",
        agent,
        "--mode",
        "autonomous",
        "--json",
    ];
    workspace.roleos(&words).exits(code).json()
}

#[test]
fn the_built_in_agents_show_that_the_harness_is_sound() {
    let workspace = workspace();
    let source = workspace.path("source");
    let before = (
        git(&source, &["for-each-ref"]),
        git(&source, &["status", "--porcelain", "--ignored"]),
    );

    let reference = prove(&workspace, "reference", 1);
    assert_eq!(
        (
            reference["solved"].as_u64(),
            reference["with_evidence"].as_u64()
        ),
        (Some(4), Some(4)),
        "{reference}"
    );
    assert_eq!(
        (&reference["verdict"], &reference["reasons"]),
        (&"NOT YET".into(), &serde_json::json!(["4 of 100 tasks"]))
    );
    let null = prove(&workspace, "null", 1);
    assert_eq!(
        (
            null["solved"].as_u64(),
            null["causes"]["empty_patch"].as_u64()
        ),
        (Some(0), Some(4)),
        "{null}"
    );
    let rogue = prove(&workspace, "rogue", 1);
    assert_eq!(
        (
            rogue["solved"].as_u64(),
            rogue["policy_violations"].as_u64()
        ),
        (Some(0), Some(4)),
        "{rogue}"
    );
    assert_eq!(rogue["rollbacks"], serde_json::json!([4, 4]), "{rogue}");
    assert!(rogue["refused"].as_u64() >= Some(8), "{rogue}");

    // It is seen while the agent goes on, and ends it.
    let full = prove(&workspace, "truncate -s 2G ~/big; sleep 1000", 1);
    assert_eq!(full["policy_violations"].as_u64(), Some(4), "{full}");

    let after = (
        git(&source, &["for-each-ref"]),
        git(&source, &["status", "--porcelain", "--ignored"]),
    );
    assert_eq!(after, before, "the source changed");
    workspace.roleos(&["ledger", "verify"]).exits(0);
    let listed = workspace
        .roleos(&["witness", "list", "--json"])
        .exits(0)
        .json();
    let solved = listed
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["outcome"] == "solved")
        .unwrap_or_else(|| panic!("{listed}"));
    let task = solved["task_id"].as_str().unwrap();
    let again = workspace
        .roleos(&["witness", "rerun", task, "--json"])
        .exits(0)
        .json();
    assert_eq!(
        (&again["observed"], &again["same"]),
        (&"solved".into(), &true.into())
    );
    // Without its suite, the tests in the bundle are used; without the repository, that is the error, and the bundle is
    // not called wrong.
    fs::rename(workspace.path("suite"), workspace.path("moved")).unwrap();
    let alone = workspace
        .roleos(&["witness", "rerun", task, "--json"])
        .exits(0)
        .json();
    assert_eq!(alone["same"], true, "{alone}");
    fs::rename(&source, workspace.path("away")).unwrap();
    workspace.roleos(&["witness", "rerun", task]).exits(2);
    fs::rename(workspace.path("away"), &source).unwrap();
    workspace
        .roleos(&["witness", "rerun", task, "--suite", "moved"])
        .exits(0);
}

#[test]
fn a_withheld_reference_is_not_solved_and_runs_are_compared() {
    let workspace = workspace();
    let all = prove(&workspace, "reference", 1);
    let first = fs::read_dir(workspace.path("suite/tasks"))
        .unwrap()
        .flatten()
        .next()
        .unwrap()
        .path();
    fs::remove_file(first.join("reference.patch")).unwrap();
    let fewer = prove(&workspace, "reference", 1);
    assert_eq!(
        (
            fewer["solved"].as_u64(),
            fewer["causes"]["empty_patch"].as_u64()
        ),
        (Some(3), Some(1)),
        "{fewer}"
    );
    let name = |report: &Value| report["run"]["run"].as_str().unwrap().to_owned();
    let words = ["prove", "compare", &name(&all), &name(&fewer), "--json"];
    let compared = workspace.roleos(&words).exits(0).json();
    // The task was changed, so it counts as another one.
    assert_eq!(
        (compared["tasks"].as_u64(), compared["left_out"].as_u64()),
        (Some(3), Some(2)),
        "{compared}"
    );
    workspace
        .roleos(&["prove", "regrade", &name(&fewer)])
        .exits(0);
    let rows = workspace
        .roleos(&["prove", "export", &name(&all), "--format", "predictions"])
        .exits(0)
        .json_lines();
    assert_eq!(rows.len(), TASKS);
    // Changes made elsewhere are graded alike, and not accepted.
    let lines: Vec<String> = rows.iter().skip(1).map(Value::to_string).collect();
    workspace.write("predictions.jsonl", lines.join("\n"));
    let words = [
        "prove",
        "suite",
        "--predictions",
        "predictions.jsonl",
        "--json",
    ];
    let graded = workspace.roleos(&words).exits(1).json();
    assert_eq!(
        (graded["solved"].as_u64(), &graded["verdict"]),
        (Some(3), &"NOT ACCEPTED".into()),
        "{graded}"
    );
}

#[test]
fn money_that_could_be_used_up_starts_no_trial() {
    let workspace = workspace();
    let agent = "echo '{\"cost_usd\":0.4,\"tokens\":7}' > {out}/cost.json";
    let words = [
        "prove",
        "suite",
        "--agent",
        agent,
        "--jobs",
        "1",
        "--max-cost",
        "1.2",
        "--json",
    ];
    let stopped = workspace.roleos(&words).exits(2);
    // Each task may cost a dollar: after the first, another one could exceed the limit.
    assert!(
        stopped.stderr.contains("3 trials were not started"),
        "{stopped:?}"
    );
    let report = stopped.json();
    assert_eq!(
        (report["trials"].as_u64(), &report["verdict"]),
        (Some(1), &"NOT ACCEPTED".into()),
        "{report}"
    );
}

#[test]
fn a_restricted_agent_reads_and_suggests() {
    let workspace = workspace();
    let task = fs::read_dir(workspace.path("suite/tasks"))
        .unwrap()
        .flatten()
        .map(|entry| entry.path());
    let mut tasks: Vec<_> = task.collect();
    tasks.sort();
    let patch = fs::read_to_string(tasks[0].join("reference.patch")).unwrap();
    let agent = format!(
        "touch here && exit 9; printf '%s\n' '```diff'; cat <<'END'\n{patch}END\nprintf '%s\n' '```'"
    );
    let id = tasks[0].file_name().unwrap().to_string_lossy().into_owned();
    let words = [
        "prove",
        "suite",
        "--agent",
        &agent,
        "--mode",
        "restricted",
        "--only",
        &id,
        "--json",
    ];
    let report = workspace.roleos(&words).exits(1).json();
    assert_eq!(
        (
            report["solved"].as_u64(),
            report["policy_violations"].as_u64()
        ),
        (Some(1), Some(0)),
        "{report}"
    );
}

#[test]
fn a_run_that_is_killed_goes_on_and_leaves_nothing_behind() {
    let workspace = workspace();
    let mark = format!("{}.5", 7000 + std::process::id() % 1000);
    let agent = format!(
        "sleep 0.3; sh -c 'sleep {mark}' & printf 'times1() {{ echo $(($1)); }}\\n' >> lib.sh"
    );
    let words = [
        "prove",
        "suite",
        "--agent",
        agent.as_str(),
        "--attempts",
        "2",
        "--json",
    ];
    for kill in 0..8 {
        let resume = if kill == 0 {
            &[][..]
        } else {
            &["--resume"][..]
        };
        let all: Vec<&str> = words.iter().chain(resume).copied().collect();
        let mut child = workspace
            .command(&all)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        thread::sleep(Duration::from_millis(400 + 150 * kill));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let words: Vec<&str> = words.into_iter().chain(["--resume"]).collect();
    let report = workspace.roleos(&words).exits(1).json();
    assert_eq!(
        (report["trials"].as_u64(), report["errors"].as_u64()),
        (Some(8), Some(0)),
        "{report}"
    );
    // Only the first task needs that function.
    assert_eq!(report["solved"].as_u64(), Some(2), "{report}");
    workspace.roleos(&["ledger", "verify"]).exits(0);
    let run = workspace.path(&format!(
        ".role-os/prove/{}",
        report["run"]["run"].as_str().unwrap()
    ));
    assert!(!run.join("slots").exists());
    let is_left = || {
        fs::read_dir("/proc").unwrap().flatten().any(|entry| {
            let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&line).contains(&format!("sleep\0{mark}"))
        })
    };
    // The kernel ends the processes of a box by itself; a busy machine takes its time.
    let deadline = Instant::now() + Duration::from_secs(10);
    while is_left() {
        assert!(Instant::now() < deadline, "a process of the run is left");
        thread::sleep(Duration::from_millis(50));
    }
}
