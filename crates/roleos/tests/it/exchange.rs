//! Exports for SWE-bench and Harbor, checked with their published packages; and imports of them.

#![expect(
    clippy::print_stdout,
    reason = "a test that cannot be prepared has failed"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use prove::grade::{self, Observed};
use prove::task::Tests;
use serde_json::{Value, json};

use crate::prove::workspace;
use crate::workspace::Workspace;

/// Returns the script with the packages; its output is not captured.
fn packages(words: &[&str]) -> Command {
    let python = env::var_os("ROLEOS_TEST_EXCHANGE").expect(
        "ROLEOS_TEST_EXCHANGE names no interpreter; `cargo xtask test` makes one with \
         xtask/exchange-requirements.txt and sets the variable",
    );
    let mut command = Command::new(python);
    command
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/exchange.py"))
        .args(words);
    command
}

fn passes(output: &std::process::Output) {
    assert!(
        output.status.success(),
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    println!("{}", String::from_utf8_lossy(&output.stdout));
}

/// SplitMix64, so that a failure is reproducible.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % limit
    }
}

#[test]
fn the_grader_of_swebench_gives_our_verdict() {
    let mut random = Random(22);
    let mut child = packages(&["grading"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    for _ in 0..3000 {
        let mut tests = Tests::default();
        // In JUnit's format, because the name of an expected failure depends on the reader of the report.
        let mut status = BTreeMap::new();
        let mut cases = BTreeMap::new();
        let most_pass = random.below(3) > 0;
        for test in 0..=random.below(6) {
            let name = match random.below(8) {
                // Cut off, like hundreds of names in SWE-bench Verified.
                0 => format!("t{test}[a"),
                _ => format!("t{test}"),
            };
            let list = match random.below(2) {
                0 => &mut tests.fail_to_pass,
                _ => &mut tests.pass_to_pass,
            };
            list.insert(name.clone());
            if random.below(if most_pass { 30 } else { 5 }) == 0 {
                continue;
            }
            let (theirs, ours) = match random.below(if most_pass { 30 } else { 5 }) {
                0 => ("FAILED", Some(prove::cases::Status::Failed)),
                1 => ("ERROR", Some(prove::cases::Status::Error)),
                2 => ("SKIPPED", Some(prove::cases::Status::Skipped)),
                3 => ("XFAIL", Some(prove::cases::Status::Passed)),
                _ => ("PASSED", Some(prove::cases::Status::Passed)),
            };
            let whole = name.replace("[a", "[abc]");
            status.insert(whole.clone(), theirs);
            cases.extend(ours.map(|ours| (whole, ours)));
        }
        let verdict = grade::decide(
            &tests,
            &Observed {
                cases: Some(cases),
                code: Some(1),
                canary: None,
            },
        );
        let failing: BTreeSet<&String> = verdict.failing.iter().map(|(name, _)| name).collect();
        let is_solved = failing.is_empty();
        let line =
            json!({"tests": tests, "status": status, "solved": is_solved, "failing": failing});
        writeln!(input, "{line}").unwrap();
    }
    drop(input);
    let output = child.wait_with_output().unwrap();
    passes(&output);
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let solved: u64 = printed.split(' ').nth(3).unwrap().parse().unwrap();
    assert!((500..2500).contains(&solved), "one-sided: {printed}");
}

/// An agent that solves the first task, fails the second, and leaves the others.
const AGENT: &str = "if grep -q ' 1 ' {issue_file}; then printf 'times1() { echo $(($1 * 1)); }\\n' >> lib.sh; \
    elif grep -q ' 2 ' {issue_file}; then echo x > y; fi";

fn export(workspace: &Workspace, run: &str, format: &str) -> String {
    let words = ["prove", "export", run, "--format", format];
    workspace.roleos(&words).exits(0).stdout
}

/// Exports a suite and a run in all formats.
fn exported(workspace: &Workspace) {
    let words = ["prove", "suite", "--agent", AGENT, "--json"];
    let report = workspace.roleos(&words).exits(1).json();
    let counts = (report["solved"].as_u64(), &report["causes"]);
    assert_eq!(
        counts,
        (Some(1), &json!({"empty_patch": 2, "tests": 1})),
        "{report}"
    );
    let run = report["run"]["run"].as_str().unwrap();
    for (format, file) in [
        ("predictions", "out/predictions.jsonl"),
        ("swebench-report", "out/report.json"),
        ("harbor", "out/trials.jsonl"),
        ("atif", "out/atif.jsonl"),
    ] {
        workspace.write(file, export(workspace, run, format));
    }
    let suite = |format: &str, to: &str, more: &[&str]| {
        let words = ["suite", "export", "suite", "--format", format, "-o", to];
        let words: Vec<&str> = words.iter().chain(more).copied().collect();
        workspace.roleos(&words).exits(0);
    };
    suite("swebench", "out/v4.jsonl", &["--v4"]);
    suite("swebench", "out/v5.jsonl", &[]);
    suite("harbor", "out/harbor", &[]);
}

#[test]
fn published_packages_take_every_export() {
    let workspace = workspace();
    exported(&workspace);
    let folder = workspace.path("out");
    let ran = packages(&["exported", &folder.to_string_lossy()]).output();
    passes(&ran.unwrap());
    run_folders(&folder.join("harbor"));

    // The way back: the same tasks, from folders completely, from rows except for data that rows cannot contain.
    let digests = |suite: &str| {
        let text = fs::read_to_string(workspace.path(suite).join("suite.toml")).unwrap();
        text.lines()
            .filter(|line| line.starts_with("x__y"))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let words = [
        "suite",
        "import",
        "out/harbor",
        "--format",
        "harbor",
        "--out",
        "back",
    ];
    workspace.roleos(&words).exits(0);
    assert_eq!(digests("back"), digests("suite"));
    assert!(!digests("back").is_empty());
    fs::rename(workspace.path("source"), workspace.path("y")).unwrap();
    let mut imported = Vec::new();
    for (rows, suite) in [("out/v5.jsonl", "first"), ("again.jsonl", "second")] {
        let words = [
            "suite",
            "import",
            rows,
            "--source-root",
            ".",
            "--test",
            crate::prove::TEST,
            "--report",
            "tap",
            "--out",
            suite,
            "--format",
            "swebench",
        ];
        workspace.roleos(&words).exits(0);
        imported.push(digests(suite));
        let words = [
            "suite",
            "export",
            suite,
            "--format",
            "swebench",
            "-o",
            "again.jsonl",
        ];
        workspace.roleos(&words).exits(0);
    }
    assert_eq!(imported[0], imported[1]);
    assert!(!imported[0].is_empty());
}

/// Runs the scripts of task folders in boxes that resemble their containers: the tests fail, and pass with the
/// solution.
fn run_folders(folders: &Path) {
    for folder in fs::read_dir(folders).unwrap() {
        let folder = folder.unwrap().path();
        for (script, expected) in [("true", "0"), ("bash /solution/solve.sh", "1")] {
            let logs = tempfile::tempdir().unwrap();
            let command = format!(
                "mkdir -p /w/env && tar -xf /environment/repo.tar -C /w/repo && cd /w/repo && git init -q && {script} && bash /tests/test.sh"
            );
            let mut words = vec![
                "--unshare-all",
                "--die-with-parent",
                "--ro-bind",
                "/usr",
                "/usr",
                "--symlink",
                "usr/bin",
                "/bin",
                "--symlink",
                "usr/lib",
                "/lib",
                "--symlink",
                "usr/lib64",
                "/lib64",
                "--ro-bind",
                "/etc",
                "/etc",
                "--dev",
                "/dev",
                "--proc",
                "/proc",
                "--tmpfs",
                "/tmp",
                "--clearenv",
                "--setenv",
                "PATH",
                "/usr/bin",
                "--setenv",
                "HOME",
                "/tmp",
            ];
            let parts = ["environment", "solution", "tests"].map(|part| {
                (
                    folder.join(part).to_string_lossy().into_owned(),
                    format!("/{part}"),
                )
            });
            parts
                .iter()
                .for_each(|(from, to)| words.extend(["--ro-bind", from, to]));
            let log = logs.path().to_string_lossy().into_owned();
            words.extend([
                "--dir",
                "/w/repo",
                "--bind",
                &log,
                "/logs/verifier",
                "sh",
                "-c",
                &command,
            ]);
            let ran = Command::new("bwrap").args(&words).output().unwrap();
            let reward = fs::read_to_string(logs.path().join("reward.txt"));
            assert_eq!(
                reward.ok().as_deref().map(str::trim),
                Some(expected),
                "{ran:?}"
            );
        }
    }
}

#[test]
fn folders_of_others_are_refused_with_the_reason() {
    let workspace = Workspace::new();
    workspace.write("theirs/one/task.toml", "schema_version = \"1.4\"\n");
    workspace.write("theirs/one/instruction.md", "Do it.\n");
    let words = [
        "suite", "import", "theirs", "--format", "harbor", "--out", "suite", "--json",
    ];
    let answer: Value = workspace.roleos(&words).exits(1).json();
    assert_eq!(answer["tasks"], 0);
    assert!(
        answer["lost"].to_string().contains("needs a container"),
        "{answer}"
    );
}
