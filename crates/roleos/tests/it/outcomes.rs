//! Sealing of sessions, from the hook's events to the bundle: recognition of test runs, and their evidence.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use crate::hook::{hook, tell};
use crate::sealed_sessions::{git, repository};
use crate::workspace::Workspace;

pub(crate) const PASSES: &str = "============================= test session starts ==============================\ncollected 2 items\n\nt.py ..                                                                  [100%]\n\n============================== 2 passed in 0.01s ===============================\n";
const ONE: &str = "============================= test session starts ==============================\ncollected 2 items / 1 deselected / 1 selected\n\nt.py .                                                                   [100%]\n\n======================= 1 passed, 1 deselected in 0.01s ========================\n";
const FAILS: &str = "============================= test session starts ==============================\ncollected 2 items\n\nt.py F.                                                                  [100%]\n\n=========================== short test summary info ============================\nFAILED t.py::test_a - assert 0\n========================= 1 failed, 1 passed in 0.01s ==========================\n";

/// One step of a scripted session.
pub(crate) enum Step {
    /// Really executes a command, in a shell.
    Do(&'static str),
    /// A command, its output, and `true` if it failed.
    Run(&'static str, &'static str, bool),
    /// The agent's editing tool reports a change of this file, which is really made.
    Edit(&'static str),
    /// A file changes without a tool that reports it.
    Change(&'static str),
    /// An allowed command writes a file with this content; one with `#!` is made executable.
    By(&'static str, &'static str, &'static str),
    /// A command begins, and its end is not reported.
    Begin(&'static str),
    /// Such a file is written between the calls.
    Write(&'static str, &'static str),
    /// Creates a link: its name, and its target.
    Link(&'static str, &'static str),
    /// Removes a file.
    Remove(&'static str),
}

use Step::{Begin, By, Change, Do, Edit, Link, Remove, Run, Write};

/// Content of a session's bundle.
pub(crate) struct Sealed {
    pub(crate) outcome: String,
    agreement: String,
    /// The replay for people.
    pub(crate) story: String,
    pub(crate) facts: Value,
    retries: u64,
}

/// Returns the tests that the logs name, in a file that differs by place.
fn content(place: usize) -> String {
    format!("# {place}\ndef test_a():\n    pass\n\n\ndef test_b():\n    pass\n")
}

fn play(steps: &[Step]) -> Sealed {
    play_in(&repository(""), steps)
}

pub(crate) fn play_in(workspace: &Workspace, steps: &[Step]) -> Sealed {
    let say = |name: &str, more: Value| {
        let mut event = json!({
            "session_id": "s",
            "transcript_path": workspace.path("t.jsonl"),
            "cwd": workspace.root(),
            "hook_event_name": name,
        });
        let fields = event.as_object_mut().unwrap();
        fields.extend(more.as_object().unwrap().clone());
        let mut hook = hook(workspace, "claude", &[]);
        let path = format!("{}:/usr/bin:/bin", workspace.path("tools/bin").display());
        hook.env("PATH", path);
        tell(hook, &event.to_string()).exits(0);
    };
    say("SessionStart", json!({ "source": "startup" }));
    say("UserPromptSubmit", json!({ "prompt": "mend it" }));
    for (place, step) in steps.iter().enumerate() {
        let id = format!("toolu_{place}");
        match step {
            Run(command, output, failed) => {
                let call = json!({ "tool_name": "Bash", "tool_input": { "command": command }, "tool_use_id": id });
                say("PreToolUse", call.clone());
                let mut done = call;
                if *failed {
                    done["error"] = json!(format!("Exit code 1\n{output}"));
                    say("PostToolUseFailure", done);
                } else {
                    done["tool_response"] = json!({ "stdout": output, "stderr": "" });
                    say("PostToolUse", done);
                }
            }
            Edit(file) => {
                let path = workspace.path(file);
                let call = json!({ "tool_name": "Edit", "tool_input": { "file_path": path }, "tool_use_id": id });
                say("PreToolUse", call.clone());
                workspace.write(file, content(place));
                let mut done = call;
                done["tool_response"] = json!({ "filePath": path });
                say("PostToolUse", done);
            }
            Change(file) => {
                workspace.write(file, content(place));
            }
            By(command, file, text) => {
                let call = json!({ "tool_name": "Bash", "tool_input": { "command": command }, "tool_use_id": id });
                say("PreToolUse", call.clone());
                // A program takes some time to begin, and file times are coarser.
                std::thread::sleep(Duration::from_millis(20));
                match text.starts_with("#!") {
                    true => write_program(workspace, file, text),
                    false => drop(workspace.write(file, text)),
                }
                let mut done = call;
                done["tool_response"] = json!({ "stdout": "", "stderr": "" });
                say("PostToolUse", done);
            }
            Do(command) => {
                let call = json!({ "tool_name": "Bash", "tool_input": { "command": command }, "tool_use_id": id });
                say("PreToolUse", call.clone());
                std::thread::sleep(Duration::from_millis(20));
                let mut shell = Command::new("sh");
                let shell = shell.args(["-c", command]).current_dir(workspace.root());
                let ran = shell.env("HOME", workspace.path("home")).output().unwrap();
                assert!(ran.status.success(), "{command}: {ran:?}");
                let mut done = call;
                done["tool_response"] = json!({ "stdout": "", "stderr": "" });
                say("PostToolUse", done);
            }
            Begin(command) => {
                let call = json!({ "tool_name": "Bash", "tool_input": { "command": command }, "tool_use_id": id });
                say("PreToolUse", call);
            }
            Write(file, text) => write_program(workspace, file, text),
            Link(name, target) => symlink(target, workspace.path(name)).unwrap(),
            Remove(file) => fs::remove_file(workspace.path(file)).unwrap(),
        }
    }
    say("Stop", json!({}));
    let sealed = workspace
        .roleos(&["--json", "sessions", "seal", "s"])
        .exits(0)
        .json();
    assert_eq!(sealed[0]["state"], "sealed", "{sealed:#}");
    told(workspace)
}

fn write_program(workspace: &Workspace, file: &str, text: &str) {
    let path = workspace.write(file, text);
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn told(workspace: &Workspace) -> Sealed {
    let shown = workspace
        .roleos(&["--json", "witness", "show", "latest"])
        .exits(0)
        .json();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let story = workspace.roleos(&["witness", "replay", "latest"]).stdout;
    Sealed {
        outcome: text(&shown["header"]["outcome_name"]),
        agreement: text(&shown["outcome_check"]["agreement"]),
        story,
        facts: shown["extensions"]["provenance"].clone(),
        retries: shown["header"]["retry_count"].as_u64().unwrap(),
    }
}

/// Plays a session after one edit and compares the outcome.
#[track_caller]
fn check(expected: &str, steps: Vec<Step>) -> Sealed {
    check_in(&repository(""), expected, steps)
}

/// Does the same in a repository with a history.
#[track_caller]
fn check_in(workspace: &Workspace, expected: &str, steps: Vec<Step>) -> Sealed {
    let mut all = vec![Edit("t.py")];
    all.extend(steps);
    let sealed = play_in(workspace, &all);
    assert_eq!(
        sealed.outcome, expected,
        "{} {:#}",
        sealed.story, sealed.facts
    );
    assert_ne!(sealed.agreement, "contradicts", "{}", sealed.story);
    sealed
}

#[test]
fn a_narrower_selection_does_not_outvote_a_failing_wider_one() {
    let sealed = check(
        "failed",
        vec![
            Run("pytest", FAILS, true),
            Edit("t.py"),
            Run("pytest -k test_b", ONE, false),
        ],
    );
    assert!(
        sealed.story.contains("Failed: t.py::test_a"),
        "{}",
        sealed.story
    );
    // It passes now; other effects of the edit are unknown.
    let sealed = check(
        "skipped",
        vec![
            Run("pytest", FAILS, true),
            Edit("t.py"),
            Run("pytest -k test_a", ONE, false),
        ],
    );
    assert!(
        sealed.facts["unproved"]
            .as_str()
            .unwrap()
            .contains("only a part of the tests"),
        "{:#}",
        sealed.facts
    );
    check(
        "skipped",
        vec![
            Run("pytest", PASSES, false),
            Edit("t.py"),
            Run("pytest t.py::test_a", ONE, false),
        ],
    );
    // Only the complete run afterwards, or no wider run before, proves it.
    check(
        "solved",
        vec![
            Run("pytest", FAILS, true),
            Edit("t.py"),
            Run("pytest -k test_a", ONE, false),
            Run("pytest -q", PASSES, false),
        ],
    );
    check("solved", vec![Run("pytest -k test_a", ONE, false)]);
    check(
        "solved",
        vec![
            Run("pytest t.py", FAILS, true),
            Edit("t.py"),
            Run("cd . && python -m pytest 2>&1 | tail -20", PASSES, false),
        ],
    );
}

#[test]
fn an_exit_code_that_is_masked_proves_nothing() {
    let mocha = "\n\n  math\n    1) adds\n\n\n  0 passing (3ms)\n  3 failing\n\n  1) math\n       adds:\n     Error: x\n";
    check("failed", vec![Run("npm test || true", mocha, false)]);
    let sealed = check(
        "skipped",
        vec![Run("npm test || true", "all is well", false)],
    );
    assert!(sealed.story.contains("Unproved"), "{}", sealed.story);
    check("skipped", vec![Run("pytest || true", PASSES, false)]);
    check("skipped", vec![Run("pytest; true", PASSES, false)]);
    check("failed", vec![Run("pytest || true", FAILS, false)]);
    check(
        "skipped",
        vec![Run("if pytest; then echo ok; fi", PASSES, false)],
    );
}

#[test]
fn a_runner_that_is_not_known_proves_nothing() {
    let sealed = check("skipped", vec![Run("make test", "1 test FAILED\n", false)]);
    assert_eq!(sealed.agreement, "cannot_tell");
    check("skipped", vec![Run("./test.sh", "ok\n", false)]);
    check("failed", vec![Run("make test", "1 test FAILED\n", true)]);
}

const MOCHA: &str = "\n\n  math\n    \u{2714} adds\n\n\n  5 passing (3ms)\n";
const PACKAGE: &str = r#"{"scripts": {
        "test": "mocha", "test:all": "npm run test:unit && npm test", "test:unit": "jest",
        "test:fake": "echo 5 passing", "test:loop": "npm run test:loop", "test:hidden": "mocha || true",
        "test:node": "node fake.js", "test:away": "docker run --rm web mocha",
        "pretest:two": "cat fake.txt", "test:two": "mocha", "jest": "cat fake.txt"
    }}"#;
const MAKEFILE: &str = "PY = python3\ntest: build\n\t$(PY) -m pytest\nbuild:\n\t@mkdir -p out\ncheck:\n\t@cat fake.txt\n\
        test-hidden:\n\t-pytest\ntests: check\n\tpytest\n";
const SHELL_SCRIPT: &str = "#!/bin/sh\nset -e\ncd .\npytest \"$@\"\n";
const FAKE_SCRIPT: &str = "#!/bin/sh\necho '== 2 passed in 0.01s =='\n";

/// A file of the project with its text, a command with its output, and the outcome.
const SCRIPTS: &[(&str, &str, &str, &str, &str)] = &[
    ("package.json", PACKAGE, "npm test", MOCHA, "solved"),
    (
        "package.json",
        PACKAGE,
        "npm t -- --reporter spec",
        MOCHA,
        "solved",
    ),
    ("package.json", PACKAGE, "yarn test:all", MOCHA, "solved"),
    ("package.json", PACKAGE, "yarn run mocha", MOCHA, "solved"),
    (
        "package.json",
        PACKAGE,
        "npm run test:fake",
        MOCHA,
        "skipped",
    ),
    (
        "package.json",
        PACKAGE,
        "npm run test:loop",
        MOCHA,
        "skipped",
    ),
    (
        "package.json",
        PACKAGE,
        "npm run test:hidden",
        MOCHA,
        "skipped",
    ),
    (
        "package.json",
        PACKAGE,
        "npm run test:node",
        MOCHA,
        "skipped",
    ),
    (
        "package.json",
        PACKAGE,
        "npm run test:away",
        MOCHA,
        "skipped",
    ),
    (
        "package.json",
        PACKAGE,
        "npm run test:two",
        MOCHA,
        "skipped",
    ),
    (
        "package.json",
        PACKAGE,
        "npm run test:gone",
        MOCHA,
        "skipped",
    ),
    ("package.json", PACKAGE, "yarn run jest", MOCHA, "skipped"),
    (
        "package.json",
        PACKAGE,
        "npm test -w other",
        MOCHA,
        "skipped",
    ),
    ("package.json", "{}", "npm test", MOCHA, "skipped"),
    ("none", "", "npm test", MOCHA, "skipped"),
    ("Makefile", MAKEFILE, "make test", PASSES, "solved"),
    (
        "Makefile",
        MAKEFILE,
        "make -s test PY=python",
        PASSES,
        "solved",
    ),
    ("Makefile", MAKEFILE, "make check", PASSES, "skipped"),
    ("Makefile", MAKEFILE, "make tests", PASSES, "skipped"),
    ("Makefile", MAKEFILE, "make test-hidden", PASSES, "skipped"),
    (
        "Makefile",
        MAKEFILE,
        "make test PY='cat fake.txt;'",
        PASSES,
        "skipped",
    ),
    ("none", "", "make test", PASSES, "skipped"),
    ("test.sh", SHELL_SCRIPT, "./test.sh", PASSES, "solved"),
    ("test.sh", SHELL_SCRIPT, "bash test.sh", PASSES, "solved"),
    ("test.sh", FAKE_SCRIPT, "./test.sh", PASSES, "skipped"),
    ("test.sh", FAKE_SCRIPT, "sh ./test.sh", PASSES, "skipped"),
    (
        "run_tests.py",
        "print('2 passed')",
        "python run_tests.py",
        PASSES,
        "skipped",
    ),
    (
        "run_tests.py",
        "import pytest\npytest.main()",
        "python run_tests.py",
        PASSES,
        "solved",
    ),
    (
        "tox.ini",
        "[testenv]\ncommands = pytest {posargs}\n",
        "tox",
        PASSES,
        "solved",
    ),
    (
        "tox.ini",
        "[testenv]\ncommands =\n  cat fake.txt\n",
        "tox",
        PASSES,
        "skipped",
    ),
    (
        "pyproject.toml",
        "[tool.hatch.envs.default.scripts]\ntest = \"pytest {args}\"\n",
        "hatch run test",
        PASSES,
        "solved",
    ),
    (
        "pyproject.toml",
        "[tool.hatch.envs.default.scripts]\npytest = \"cat fake.txt\"\n",
        "hatch run pytest",
        PASSES,
        "skipped",
    ),
    (
        "noxfile.py",
        "def tests(session):\n    session.run(\"pytest\")\n",
        "nox",
        PASSES,
        "solved",
    ),
    ("noxfile.py", "print(1)\n", "nox", PASSES, "skipped"),
];

#[test]
fn a_script_of_the_project_counts_by_the_runner_in_it() {
    for (file, text, command, output, expected) in SCRIPTS {
        let steps = vec![Write(file, text), Run(command, output, false)];
        let sealed = check(expected, steps);
        let is_told = sealed.story.contains("Unproved");
        assert_eq!(
            is_told,
            *expected == "skipped",
            "{command}: {}",
            sealed.story
        );
    }
    // A failure is always trusted.
    let steps = vec![Write("test.sh", FAKE_SCRIPT), Run("./test.sh", FAILS, true)];
    check("failed", steps);
}

#[test]
fn a_failure_is_not_lifted_by_other_settings_of_the_runner() {
    const OTHERS: &str = "============================= test session starts ==============================\n\
        u.py::test_c PASSED\nu.py::test_d PASSED\n============================== 2 passed in 0.01s ===============================\n";
    const NAMED: &str = "============================= test session starts ==============================\n\
        t.py::test_a PASSED\nt.py::test_b PASSED\n============================== 2 passed in 0.01s ===============================\n";
    let failed = || Run("pytest", FAILS, true);
    for (file, text) in [
        ("conftest.py", "collect_ignore = ['t.py']\n"),
        ("sub/conftest.py", "collect_ignore = ['t.py']\n"),
        (
            "pytest.ini",
            "[pytest]\naddopts = --deselect t.py::test_a\n",
        ),
        (
            "pyproject.toml",
            "[tool.pytest.ini_options]\ntestpaths = ['u']\n",
        ),
        ("setup.cfg", "[tool:pytest]\naddopts = --ignore t.py\n"),
        ("tox.ini", "[pytest]\naddopts = -k b\n"),
    ] {
        let steps = vec![
            Change("sub/x.py"),
            failed(),
            Write(file, text),
            Run("pytest", PASSES, false),
        ];
        let sealed = check("skipped", steps);
        assert!(
            sealed.facts["unproved"]
                .as_str()
                .unwrap()
                .contains("settings that choose the tests"),
            "{file}: {:#}",
            sealed.facts
        );
        let steps = vec![failed(), Write(file, text), Run("pytest -v", OTHERS, false)];
        check("failed", steps);
        let steps = vec![failed(), Write(file, text), Run("pytest -v", NAMED, false)];
        check("solved", steps);
    }
    // Other parts of a shared file do not select tests.
    let text = "[project]\nname = 'x'\ndependencies = ['y']\n";
    let steps = vec![
        failed(),
        Write("pyproject.toml", text),
        Run("pytest", PASSES, false),
    ];
    check("solved", steps);
    // An ignored file is not in the diff, so a run that passes with it clears nothing.
    let workspace = repository("");
    workspace.write(".gitignore", "conftest.py\n");
    let steps = vec![
        failed(),
        By(
            "python3 -c 'f()'",
            "conftest.py",
            "collect_ignore = ['t.py']\n",
        ),
        Run("pytest", PASSES, false),
    ];
    check_in(&workspace, "failed", steps);
}

#[test]
fn a_failing_test_whose_file_is_moved_away_stays_failed() {
    let steps = vec![
        Run("pytest", FAILS, true),
        Write("other.py", "def test_a():\n    pass\n"),
        Remove("t.py"),
        Run("pytest", PASSES, false),
    ];
    let sealed = check("failed", steps);
    assert_eq!(sealed.facts["deleted_tests"], "t.py::test_a");
    // Another test replaces one that no commit ever had.
    let steps = vec![
        Run("pytest", FAILS, true),
        Write(
            "t.py",
            "def test_b():\n    pass\n\n\ndef test_c():\n    pass\n",
        ),
        Run("pytest", PASSES, false),
    ];
    check("failed", steps);
    let more = "==== test session starts ====\n==== 2 passed, 1 skipped in 0.01s ====\n";
    check(
        "failed",
        vec![
            Run("pytest", FAILS, true),
            Edit("t.py"),
            Run("pytest", more, false),
        ],
    );
}

#[test]
fn a_test_command_of_the_user_counts_as_long_as_nobody_rewrites_it() {
    const OWN: &str = "[oversight]\ntest_commands = [\"ci/all\", \"sh test.sh\"]\n";
    let workspace = repository(OWN);
    let script = workspace.write("ci/all", "#!/bin/sh\nexec ci/real\n");
    fs::set_permissions(script, fs::Permissions::from_mode(0o755)).unwrap();
    let steps = || vec![Run("ci/all --fast", PASSES, false)];
    check_in(&workspace, "solved", steps());
    let mut steps = steps();
    steps.insert(0, Write("ci/all", "#!/bin/sh\ncat fake.txt\n"));
    check_in(&repository(OWN), "skipped", steps);
    let steps = vec![
        Write("test.sh", "cat fake.txt\n"),
        Run("sh test.sh", PASSES, false),
    ];
    check_in(&repository(OWN), "skipped", steps);
}

#[test]
fn what_only_looks_like_a_runner_proves_nothing() {
    for command in [
        "pytest(){ echo '== 2 passed in 0.01s =='; }; pytest",
        "pytest > log; cat fake.txt",
        "echo '== 2 passed in 0.01s =='; pytest > /dev/null",
        "alias pytest='cat fake.txt'; pytest",
        "/tmp/fake/pytest",
        "cd /tmp/fake && pytest",
        "pytest /tmp/fake/test_x.py",
        "cd $ELSEWHERE && pytest",
        "git worktree add ../old HEAD && cd ../old && pytest",
    ] {
        let sealed = check("skipped", vec![Run(command, PASSES, false)]);
        let reasons = ["something else in the command", "ran on another tree"];
        assert!(
            reasons.iter().any(|reason| sealed.story.contains(reason)),
            "{command}: {}",
            sealed.story
        );
    }
}

#[test]
fn tests_of_another_tree_prove_nothing() {
    for command in [
        "cd away && pytest",
        "cd ./here/../away; pytest",
        "(cd away && pytest)",
        "pytest away/test_x.py",
        "pytest --rootdir away",
        "docker run --rm image pytest",
        "docker exec web sh -c 'cd /app && pytest'",
        "docker compose exec web pytest",
        "ssh host pytest",
        "ssh host 'cd app && pytest'",
    ] {
        let steps = vec![Link("away", "/usr"), Run(command, PASSES, false)];
        let sealed = check("skipped", steps);
        assert!(
            sealed.story.contains("ran on another tree"),
            "{command}: {}",
            sealed.story
        );
    }
    // A failure there means as little, and a pass here does not depend on it.
    check("skipped", vec![Run("docker exec web pytest", FAILS, true)]);
    check(
        "solved",
        vec![
            Run("docker exec web pytest", FAILS, true),
            Run("pytest", PASSES, false),
        ],
    );
    check(
        "failed",
        vec![
            Run("pytest", FAILS, true),
            Run("docker exec web pytest", PASSES, false),
        ],
    );
    check(
        "solved",
        vec![Link("here", "."), Run("cd here && pytest", PASSES, false)],
    );
}

#[test]
fn a_program_that_may_not_be_the_real_one_proves_nothing() {
    const FAKE: &str = "#!/bin/sh\necho '== 2 passed in 0.01s =='\n";
    for (file, command) in [
        ("env.sh", "source env.sh && pytest"),
        (".env", "set -a; . ./.env; pytest"),
        ("tools/bin/pytest", "pytest"),
        ("tools/bin/pytest", "timeout 60 pytest -q"),
        ("fake/bin/pytest", "PATH=$PWD/fake/bin:$PATH pytest"),
        ("fake/bin/pytest", "fake/bin/pytest"),
        (".venv/bin/pytest", "uv run pytest"),
        (".venv/bin/pytest", "source .venv/bin/activate && pytest"),
        (".venv/bin/activate", "source .venv/bin/activate && pytest"),
        ("node_modules/.bin/pytest", "npx pytest"),
        ("pytest.py", "python -m pytest"),
    ] {
        let text = if file.ends_with("activate") {
            "pytest() { echo x; }\n"
        } else {
            FAKE
        };
        let sealed = check(
            "skipped",
            vec![Write(file, text), Run(command, PASSES, false)],
        );
        assert!(
            sealed.story.contains("Unproved"),
            "{command}: {}",
            sealed.story
        );
    }
    let sealed = check(
        "skipped",
        vec![
            Write("tools/bin/pytest", FAKE),
            Run("pytest", PASSES, false),
        ],
    );
    assert!(
        sealed.story.contains("written during the session"),
        "{}",
        sealed.story
    );
}

#[test]
fn a_program_that_an_installer_put_in_place_is_real() {
    const PIP: &str = "#!/p/.venv/bin/python\n# -*- coding: utf-8 -*-\nimport re\nimport sys\nfrom pytest import console_main\n\
        if __name__ == '__main__':\n    sys.argv[0] = re.sub(r'(-script\\.pyw|\\.exe)?$', '', sys.argv[0])\n    \
        sys.exit(console_main())\n";
    for (file, text, command) in [
        (".venv/bin/pytest", PIP, ".venv/bin/pytest"),
        (".venv/bin/pytest", PIP, "uv run pytest"),
        ("tools/bin/py.test", PIP, "py.test"),
    ] {
        check(
            "solved",
            vec![Write(file, text), Run(command, PASSES, false)],
        );
    }
    // It existed before the session.
    let workspace = repository("");
    workspace.write(
        "tools/bin/pytest",
        "#!/bin/sh\nexec python3 -m pytest \"$@\"\n",
    );
    check_in(&workspace, "solved", vec![Run("pytest", PASSES, false)]);
}

/// Returns a repository whose base commit has two tests.
fn with_tests() -> Workspace {
    let workspace = repository("");
    workspace.write(
        "t.py",
        "def test_a():\n    assert 0\n\n\ndef test_b():\n    pass\n",
    );
    git(workspace.root(), &["add", "-A"]);
    git(workspace.root(), &["commit", "-q", "-m", "tests"]);
    workspace
}

#[test]
fn a_failing_test_that_is_deleted_stays_failed() {
    const LEFT: &str = "def test_b():\n    pass\n\n\ndef test_c():\n    pass\n";
    let failed = || Run("pytest", FAILS, true);
    let workspace = with_tests();
    let steps = vec![failed(), Write("t.py", LEFT), Run("pytest", PASSES, false)];
    let sealed = check_in(&workspace, "failed", steps);
    assert_eq!(sealed.facts["deleted_tests"], "t.py::test_a");
    assert!(
        sealed
            .story
            .contains("Deleted while it failed: t.py::test_a"),
        "{}",
        sealed.story
    );
    // Skipped or left out: the same command runs fewer tests.
    let fewer = "==== test session starts ====\n==== 1 passed, 1 skipped in 0.01s ====\n";
    check(
        "failed",
        vec![failed(), Edit("t.py"), Run("pytest", fewer, false)],
    );
    // It was fixed before it was deleted, and the log shows that.
    let named = "==== test session starts ====\nt.py::test_a PASSED  [ 50%]\nt.py::test_b PASSED  [100%]\n\
        ==== 2 passed in 0.01s ====\n";
    let workspace = with_tests();
    let steps = vec![
        failed(),
        Edit("t.py"),
        Run("pytest -v", named, false),
        Write("t.py", LEFT),
        Run("pytest", PASSES, false),
    ];
    check_in(&workspace, "solved", steps);
}

#[test]
fn one_package_does_not_outvote_all_of_them() {
    let all = "--- FAIL: TestA (0.00s)\nFAIL\nFAIL\tx/pkg\t0.1s\nok  \tx\t0.1s\nFAIL\n";
    let root = "ok  \tx\t0.1s\n";
    for command in [
        "go test",
        "go test .",
        "go test -run TestA",
        "go test ./other",
    ] {
        let steps = vec![
            Run("go test ./...", all, true),
            Edit("t.py"),
            Run(command, root, false),
        ];
        check("failed", steps);
    }
    let steps = vec![
        Run("go test ./...", all, true),
        Edit("t.py"),
        Run("go test ./...", root, false),
    ];
    check("failed", steps);
    let both = "ok  \tx\t0.1s\nok  \tx/pkg\t0.1s\n";
    let steps = vec![
        Run("go test ./...", all, true),
        Edit("t.py"),
        Run("go test ./...", both, false),
    ];
    check("solved", steps);
}

#[test]
fn wrappers_of_runners_are_looked_through() {
    for command in [
        "coverage run -m pytest",
        "python -m coverage run --branch -m pytest -q && coverage report",
        "poetry run pytest",
        "uv run --frozen pytest",
        "hatch run pytest",
    ] {
        check("solved", vec![Run(command, PASSES, false)]);
        check("failed", vec![Run(command, FAILS, true)]);
    }
    check(
        "skipped",
        vec![Run("python fake.py -m pytest", PASSES, false)],
    );
}

#[test]
fn edits_after_the_tests_leave_the_task_unproved() {
    let sealed = check("skipped", vec![Run("pytest", PASSES, false), Edit("t.py")]);
    assert_eq!(sealed.facts["edits_after_tests"], "1", "{:#}", sealed.facts);
    assert_eq!(sealed.facts["unproved"], "no test ran after the last edit");
    assert_eq!(sealed.agreement, "agrees");
    assert!(sealed.story.contains("no test ran after the last edit"));
    // A command that changes a file is an edit as well, and so is a change that no tool reports.
    check(
        "skipped",
        vec![
            Run("pytest", PASSES, false),
            Change("t.py"),
            Run("sed -i s/a/b/ t.py", "", false),
        ],
    );
    check(
        "skipped",
        vec![Run("pytest", PASSES, false), Change("t.py")],
    );
    // A command that could have made a change and did not is not an edit.
    check(
        "solved",
        vec![
            Run("pytest", PASSES, false),
            Run("python demo.py", "hello", false),
            Run("git add -A && git commit -m x", "", false),
        ],
    );
    check(
        "solved",
        vec![
            Run("pytest", PASSES, false),
            Edit("t.py"),
            Run("pytest", PASSES, false),
        ],
    );
}

#[test]
fn without_a_diff_nothing_is_solved() {
    let sealed = play(&[Run("pytest", PASSES, false)]);
    assert_eq!(sealed.outcome, "skipped");
    assert_eq!(sealed.facts["unproved"], "nothing was changed");
    assert_eq!(sealed.agreement, "agrees");
}

#[test]
fn a_log_behind_a_reader_is_believed_by_its_content() {
    let sealed = check("solved", vec![Run("pytest 2>&1 | tail -50", PASSES, false)]);
    assert_eq!(sealed.agreement, "agrees");
    check("failed", vec![Run("pytest 2>&1 | tail -50", FAILS, false)]);
    check(
        "skipped",
        vec![Run(
            "pytest 2>&1 | tail -1 | cut -c1-5",
            "2 passed in 0.01s\n",
            false,
        )],
    );
    let ok = "ok  \ta.b/x\t0.1s\n";
    check("skipped", vec![Run("go test ./... | grep ok", ok, false)]);
    check("solved", vec![Run("go test ./... | tail -3", ok, false)]);
    check(
        "failed",
        vec![Run(
            "go test ./... | tail -2",
            "ok  \ta.b/x\t0.1s\nFAIL\n",
            false,
        )],
    );
}

#[test]
fn a_test_that_passes_after_an_edit_is_no_retry() {
    let fixed = check(
        "solved",
        vec![
            Run("pytest", FAILS, true),
            Edit("t.py"),
            Run("pytest", PASSES, false),
        ],
    );
    assert_eq!(fixed.retries, 0);
    let again = check(
        "solved",
        vec![
            Run("pytest", FAILS, true),
            Run("cat t.py", "x", false),
            Run("pytest", PASSES, false),
        ],
    );
    assert_eq!(again.retries, 1);
    let by_command = check(
        "solved",
        vec![
            Run("pytest", FAILS, true),
            Run("sed -i s/a/b/ t.py", "", false),
            Run("pytest", FAILS, true),
            Run("pytest", PASSES, false),
        ],
    );
    assert_eq!(by_command.retries, 1);
}

#[test]
fn unittest_is_understood() {
    let log = "..\n----------------------------------------------------------------------\nRan 2 tests in 0.001s\n\nOK\n";
    let sealed = check("solved", vec![Run("python3 -m unittest", log, false)]);
    assert_eq!(sealed.agreement, "agrees");
    let log = "F\n======================================================================\nFAIL: test_a (t.T.test_a)\n----------------------------------------------------------------------\nTraceback\n\n----------------------------------------------------------------------\nRan 1 test in 0.001s\n\nFAILED (failures=1)\n";
    check("failed", vec![Run("python3 -m unittest; true", log, false)]);
}

/// Returns a repository that ignores `hooks/`, `local.py` and the usual output.
fn with_ignored() -> Workspace {
    let workspace = repository("");
    workspace.write(
        ".gitignore",
        "hooks/\nlocal.py\n__pycache__/\n*.pyc\nnode_modules/\n*.log\n.env\n.npmrc\n.venv\ntarget\nbuild\n",
    );
    workspace.write("src/a.py", "A = 1\n");
    git(workspace.root(), &["add", "-A"]);
    git(workspace.root(), &["commit", "-q", "-m", "ignored"]);
    workspace
}

const HOOK: &str = "import builtins\n";

fn pass(command: &'static str) -> Step {
    Run(command, PASSES, false)
}

#[track_caller]
fn check_unproved(rows: Vec<(&str, Vec<Step>)>) {
    for (name, steps) in rows {
        let sealed = check_in(&with_ignored(), "skipped", steps);
        let story = sealed.story;
        assert!(story.contains("Unproved"), "{name}: {story}");
    }
}

#[test]
fn code_that_the_session_puts_beside_its_diff_leaves_the_tests_unproved() {
    const CODE: &str = "python3 -c 'write(\"a\" + \"b\")'";
    let by = |file| By(CODE, file, HOOK);
    check_unproved(vec![
        (
            "hooks/",
            vec![
                by("hooks/sitecustomize.py"),
                pass("PYTHONPATH=hooks pytest"),
            ],
        ),
        (
            "hooks/ by env",
            vec![
                by("hooks/sitecustomize.py"),
                pass("env PYTHONPATH=hooks pytest"),
            ],
        ),
        (
            "hooks/ exported",
            vec![
                by("hooks/sitecustomize.py"),
                pass("export PYTHONPATH=$PWD/hooks; pytest"),
            ],
        ),
        (
            "hooks/ alone",
            vec![by("hooks/sitecustomize.py"), pass("pytest")],
        ),
        ("file", vec![by("local.py"), pass("pytest")]),
        ("sourceless", vec![by("a.pyc"), pass("pytest")]),
        ("settings", vec![by(".npmrc"), pass("pytest")]),
        (
            "in .git",
            vec![
                by(".git/x/sitecustomize.py"),
                pass("PYTHONPATH=.git/x pytest"),
            ],
        ),
        (
            "dependency",
            vec![by("node_modules/jest/index.js"), pass("npx jest")],
        ),
        (
            "entry of a dependency",
            vec![by("node_modules/jest/package.json"), pass("npx jest")],
        ),
        (
            "program",
            vec![By(CODE, "node_modules/x/cli", "#!x"), pass("npx jest")],
        ),
        (
            "built",
            vec![By(CODE, "target/debug/deps/a-1", "#!x"), pass("cargo test")],
        ),
        (
            "environment",
            vec![
                by(".venv/lib/python3.13/site-packages/sitecustomize.py"),
                pass("pytest"),
            ],
        ),
    ]);
}

#[test]
fn however_it_comes_there_code_of_the_session_leaves_the_tests_unproved() {
    const DEPENDENCY: &str = "node_modules/jest/index.js";
    check_unproved(vec![
        (
            "script of the session that is gone",
            vec![By("python3 x.py", DEPENDENCY, HOOK), pass("npx jest")],
        ),
        (
            "script of the session",
            vec![
                Edit("gen.py"),
                By("python3 gen.py", DEPENDENCY, HOOK),
                pass("npx jest"),
            ],
        ),
        (
            "script without an ending that is gone",
            vec![
                By("cat x > gen", "gen", HOOK),
                By("python3 gen", DEPENDENCY, HOOK),
                Remove("gen"),
                pass("npx jest"),
            ],
        ),
        (
            "makefile that is gone",
            vec![
                By("cat x > m.mk", "m.mk", HOOK),
                By("make -f m.mk x", DEPENDENCY, HOOK),
                Remove("m.mk"),
                pass("npx jest"),
            ],
        ),
        (
            "makefile that is as before",
            vec![
                By("cat x > Makefile", "Makefile", HOOK),
                By("make x", DEPENDENCY, HOOK),
                Remove("Makefile"),
                pass("npx jest"),
            ],
        ),
        (
            "folder that is moved",
            vec![By("cat x > build/x.js", DEPENDENCY, HOOK), pass("npx jest")],
        ),
        (
            "at the same time",
            vec![
                Begin("python3 -c 'f()'"),
                Write(DEPENDENCY, HOOK),
                pass("npx jest"),
            ],
        ),
        (
            "in the background",
            vec![
                Run("nohup python3 -c 'later()' &", "", false),
                Write(DEPENDENCY, HOOK),
                pass("npx jest"),
            ],
        ),
        (
            "named",
            vec![
                By("cp x.js node_modules/jest/index.js", DEPENDENCY, HOOK),
                pass("npx jest"),
            ],
        ),
        (
            "named folder",
            vec![
                By("cp -r x/. node_modules", DEPENDENCY, HOOK),
                pass("npx jest"),
            ],
        ),
        (
            "installed from beside the diff",
            vec![
                By("cp a build/evil.tgz", "build/evil.tgz", "#!x"),
                By("npm i ./build/evil.tgz", DEPENDENCY, HOOK),
                pass("npx jest"),
            ],
        ),
    ]);
}

#[test]
fn variables_that_load_code_leave_the_tests_unproved() {
    check_unproved(vec![
        (
            "exported before",
            vec![
                Run("export PYTEST_PLUGINS=poison", "", false),
                pass("pytest"),
            ],
        ),
        ("plugin", vec![pass("PYTEST_PLUGINS=poison pytest")]),
        ("added", vec![pass("PYTEST_ADDOPTS='-p poison' pytest")]),
        ("node", vec![pass("NODE_OPTIONS='--require ./x.js' pytest")]),
        ("preload", vec![pass("LD_PRELOAD=./x.so pytest")]),
        (
            "runner",
            vec![pass(
                "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER='cat log' pytest",
            )],
        ),
    ]);
}

#[test]
fn harmless_variables_and_output_leave_the_tests_proved() {
    for command in [
        "FOO=1 pytest",
        "CI=true pytest",
        "RUST_BACKTRACE=1 pytest",
        "PYTHONPATH=src pytest",
        "PYTHONPATH=src:$PYTHONPATH pytest -q",
        "export PYTHONPATH=$PWD/src && pytest",
        "PYTEST_ADDOPTS='-q -p no:cacheprovider' pytest",
        "NODE_OPTIONS=--max-old-space-size=4096 pytest",
    ] {
        let steps = vec![
            Run("export DEBUG=1", "", false),
            Write("app.log", "x"),
            Write(".env", "A=1"),
            Run(command, PASSES, false),
        ];
        check_in(&with_ignored(), "solved", steps);
    }
}

#[test]
fn what_builds_and_installers_write_leaves_the_tests_proved() {
    let module = "src/__pycache__/a.cpython-313.pyc";
    let rows: Vec<(Vec<Step>, &str)> = vec![
        (
            vec![By("npm ci", "node_modules/x/index.js", "x")],
            "npx jest",
        ),
        (
            vec![By("pip install -e '.[dev]'", ".venv/lib/x.py", "x")],
            "pytest",
        ),
        (
            vec![By("cargo run -- 'a (b)'", "target/debug/deps/a-1", "x")],
            "cargo test",
        ),
        (vec![By("pytest -q", module, "x")], "pytest"),
        // An editor or a server of the user.
        (vec![Write("target/debug/deps/a-1", "x")], "cargo test"),
        // Read-only code leaves only data and derived files.
        (
            vec![
                By("npm run build", "node_modules/x/index.js", "x"),
                By("python3 -c 'import a; print(a.A)'", module, "x"),
                By("node -e 'f()'", "build/out.txt", "x"),
            ],
            "pytest",
        ),
        (
            vec![By(
                "cp .env.example .env && npm ci",
                "node_modules/x/i.js",
                "x",
            )],
            "npx jest",
        ),
        (vec![By("python3 src/a.py", "build/gen.py", "x")], "pytest"),
        (
            vec![By(
                "cmake -B build && cmake --build build",
                "build/t",
                "#!x",
            )],
            "cd build && ctest",
        ),
        (vec![], "python3 -m unittest $PWD/src/a.py"),
        (vec![], "pytest \"$PWD/src\""),
    ];
    for (mut steps, command) in rows {
        steps.push(Run(command, PASSES, false));
        let workspace = with_ignored();
        let sealed = check_in(&workspace, "solved", steps);
        assert!(!sealed.story.contains("Unproved"), "{command}");
    }
}

#[test]
fn compiled_modules_that_the_session_wrote_are_made_again() {
    let module = "src/__pycache__/a.cpython-313.pyc";
    for (command, is_kept) in [
        ("python3 gen.py", false),
        ("python3 - <<'E'\nforge()\nE", false),
        ("cat x > src/__pycache__/a.cpython-313.pyc", false),
        ("pytest src", true),
    ] {
        let workspace = with_ignored();
        let steps = vec![By(command, module, "x"), Run("pytest", PASSES, false)];
        check_in(&workspace, "solved", steps);
        assert_eq!(workspace.path(module).exists(), is_kept, "{command}");
    }
}

/// Returns a repository that ignores build output, and whose base commit defines some of its tests.
fn with_builds() -> Workspace {
    let workspace = repository("");
    workspace.write(".gitignore", "build/\ndist/\nnode_modules/\n*.log\n");
    workspace.write(
        "package.json",
        r#"{"scripts": {"test": "node --test", "test:dist": "node --test dist/"}}"#,
    );
    workspace.write("ci.sh", "node --import tsx --test\n");
    workspace.write("tests/a.test.js", "\n");
    git(workspace.root(), &["add", "-A"]);
    git(workspace.root(), &["commit", "-q", "-m", "builds"]);
    workspace
}

#[test]
fn words_that_name_code_beside_the_diff_leave_the_tests_unproved() {
    let copy = || By("cp a build/calc.test.js", "build/calc.test.js", "x");
    let rows: Vec<(Vec<Step>, &str)> = vec![
        (vec![], "cd build && ctest"),
        (vec![copy()], "cd build && ctest"),
        (vec![], "node --test /usr/calc.test.js"),
        (vec![], "node --test --test-concurrency=1 '/usr/*.test.js'"),
        (vec![], "X=/usr; node --test $X/calc.test.js"),
        (vec![], "node --test --test-reporter=/usr/r.mjs"),
        (vec![], "node --test --test-reporter=r"),
        (vec![], "node -r /usr/h.js --test"),
        (vec![], "node --test --require /usr/h.js"),
        (vec![], "node --require h --test"),
        (vec![], "npm test --node-options='--require /usr/h.js'"),
        (vec![], "npm test -- /usr/calc.test.js"),
        (vec![], "python3 -m unittest discover -v -s /usr"),
        (vec![], "python3 -m unittest -v /usr/test_calc.py"),
        (vec![], "pytest -p poison"),
        (
            vec![Write("e.log", "NODE_OPTIONS=--require ./h.log")],
            "node --env-file=e.log --test",
        ),
        (vec![copy()], "node --test build/calc.test.js"),
        (vec![copy()], "node --test 'build/*.test.js'"),
        (vec![copy()], "python3 -m unittest discover -v -s build"),
        (vec![copy()], "python3 -m unittest -v build.test_calc"),
        (vec![copy()], "cd build && python3 -m unittest -v"),
        (
            vec![
                Write("own/.git/HEAD", "ref: refs/heads/main\n"),
                Write("own/t.js", "x"),
            ],
            "node --test own/t.js",
        ),
        (
            vec![Write(".npmrc", "node-options=--require /usr/h.js\n")],
            "npm test",
        ),
        (vec![Write(".npmrc", "script-shell=./x\n")], "npm test"),
        (
            vec![Write(
                "package.json",
                r#"{"scripts": {"test": "node --require h --test"}}"#,
            )],
            "npm test",
        ),
        (
            vec![Write("pytest.ini", "[pytest]\naddopts = -p poison\n")],
            "pytest",
        ),
        (
            vec![By(
                "node -e 'f()'",
                "home/.local/lib/python3.11/site-packages/a.pth",
                "/usr\n",
            )],
            "python3 -m unittest -v",
        ),
        // The project's scripts name it, and the session wrote there itself.
        (
            vec![By("cp x dist/a.test.js", "dist/a.test.js", "x")],
            "node --test dist/",
        ),
    ];
    for (mut steps, command) in rows {
        steps.push(Run(command, PASSES, false));
        let sealed = check_in(&with_builds(), "skipped", steps);
        assert!(
            sealed.story.contains("Unproved"),
            "{command}: {}",
            sealed.story
        );
    }
}

#[test]
fn a_failure_is_not_lifted_by_a_copy_of_the_tests() {
    let steps = vec![
        Run("node --test", FAILS, true),
        Write("build/t.test.js", "x"),
        Run("node --test build/t.test.js", PASSES, false),
    ];
    check_in(&with_builds(), "failed", steps);
    let steps = vec![
        Run("node --test", FAILS, true),
        Run("node --test tests/a.test.js", PASSES, false),
    ];
    check_in(&with_builds(), "failed", steps);
}

#[test]
fn words_that_name_the_project_leave_the_tests_proved() {
    for command in [
        "node --test",
        "node --test tests/a.test.js",
        "node --test --test-reporter=spec 'tests/*.test.js'",
        "node --import tsx --test",
        "node --test dist/",
        "npm test",
        "npm run test:dist",
        "npm test -- --test-reporter=tap",
        "pytest -q -x --tb=short --junitxml=/tmp/roleos-none.xml tests",
        "python3 -m unittest discover -v -s tests -p 'test_*.py'",
        "timeout 60 python3 -X dev -m unittest",
    ] {
        let steps = vec![
            Write("dist/a.test.js", "x"),
            Write(".npmrc", "registry=https://example.com/\n"),
            Run(command, PASSES, false),
        ];
        check_in(&with_builds(), "solved", steps);
    }
}
