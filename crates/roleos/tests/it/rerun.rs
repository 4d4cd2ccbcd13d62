//! Reruns of tests: a real repository, a real diff, and commands that misbehave.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::workspace::{Ran, Workspace, ran};

const FIX: &str = "diff --git a/sum b/sum\n--- a/sum\n+++ b/sum\n@@ -1 +1 @@\n-1-1\n+1+1\n";
const WRONG: &str = "diff --git a/sum b/sum\n--- a/sum\n+++ b/sum\n@@ -1 +1 @@\n-1-1\n+1+2\n";
const STALE: &str = "diff --git a/sum b/sum\n--- a/sum\n+++ b/sum\n@@ -1 +1 @@\n-2-2\n+1+1\n";

/// A test in the Test Anything Protocol, with a line that would clear a terminal.
const TEST: &str = "echo running\nprintf '\\033[2J\\n1..1\\n'\nif test $(($(cat sum))) = 2; then echo ok 1 - sum; \
                    else echo not ok 1 - sum; exit 1; fi\n";

/// A repository whose test fails until the sum is right.
struct Repository {
    workspace: Workspace,
    base: String,
}

impl Repository {
    /// Creates one; the user vouches for its test, which is a separate script.
    fn new(config: &str) -> Self {
        Self::unvouched(&format!(
            "{config}[oversight]\ntest_commands = [\"./test.sh\"]\n"
        ))
    }

    fn unvouched(config: &str) -> Self {
        let workspace = Workspace::with_config(config);
        workspace.write("sum", "1-1\n");
        let test = workspace.write("test.sh", TEST);
        fs::set_permissions(test, fs::Permissions::from_mode(0o755)).unwrap();
        let repository = Self {
            base: String::new(),
            workspace,
        };
        repository.git(&["init", "--quiet"]);
        repository.git(&["add", "sum", "test.sh"]);
        repository.git(&["commit", "--quiet", "-m", "base"]);
        let base = repository.git(&["rev-parse", "HEAD"]).trim().to_owned();
        Self { base, ..repository }
    }

    fn git(&self, words: &[&str]) -> String {
        let output = Command::new("git")
            .args(["-c", "user.name=Test", "-c", "user.email=test@example.org"])
            .args(words)
            .current_dir(self.workspace.root())
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn seal(&self, diff: &str, test_command: &str) {
        self.workspace.write("change.patch", diff);
        self.workspace.seal(&[
            "--outcome",
            "solved",
            "--diff",
            "change.patch",
            "--base-commit",
            &self.base,
            "--test-command",
            test_command,
        ]);
    }

    /// Runs the latest bundle again, and asserts that nothing of it is left behind.
    fn rerun(&self, words: &[&str]) -> Ran {
        let words = [&["--json", "witness", "rerun", "latest"], words].concat();
        let ran = self.workspace.roleos(&words);
        self.is_clean();
        ran
    }

    fn is_clean(&self) {
        let worktrees = self.git(&["worktree", "list"]);
        assert_eq!(worktrees.lines().count(), 1, "{worktrees}");
        assert_eq!(
            self.workspace.read("sum"),
            "1-1\n",
            "the user's own files are untouched"
        );
    }

    /// Seals and runs again.
    #[track_caller]
    fn check(
        &self,
        diff: &str,
        test_command: &str,
        code: i32,
        observed: &str,
        because: &str,
    ) -> Value {
        self.seal(diff, test_command);
        let ran = self.rerun(&[]);
        let answer = ran.json();
        assert_eq!(answer["observed"], observed, "{ran:#?}");
        assert_eq!(answer["same"], code == 0, "{ran:#?}");
        assert!(
            answer["because"].as_str().unwrap().contains(because),
            "{ran:#?}"
        );
        ran.exits(code);
        answer
    }
}

#[test]
fn a_fix_is_confirmed_and_a_wrong_one_is_not() {
    let repository = Repository::new("");
    repository.check(FIX, "./test.sh", 0, "solved", "exit code 0");
    repository.check(WRONG, "./test.sh", 1, "failed", "exit code 1");
    repository.check("", "./test.sh", 1, "failed", "exit code 1");
    repository.check(STALE, "./test.sh", 1, "failed", "the diff does not apply");
    repository.check(
        "nonsense\n",
        "./test.sh",
        1,
        "failed",
        "the diff does not apply",
    );
    repository.check(FIX, "kill -9 $$", 1, "error", "signal 9");
    repository.check(FIX, "no-such-program", 1, "error", "exit code 127");
}

#[test]
fn an_exit_code_alone_confirms_nothing() {
    let repository = Repository::new("");
    for (command, observed) in [
        ("true", "cannot_tell"),
        ("echo all is well", "cannot_tell"),
        ("make test || true", "cannot_tell"),
        ("./test.sh || true", "cannot_tell"),
        ("echo '1..1'; echo 'ok 1'", "cannot_tell"),
        ("false", "failed"),
    ] {
        repository.check(FIX, command, 1, observed, "exit code");
    }
    let shown =
        repository
            .workspace
            .roleos(&["witness", "rerun", "latest", "--test-command", "true"]);
    let shown = shown.exits(1).stdout;
    assert!(
        shown.contains("cannot tell: the bundle says solved, the new run shows nothing"),
        "{shown}"
    );
}

#[test]
fn people_see_the_output_and_the_answer() {
    let repository = Repository::new("");
    repository.seal(FIX, "./test.sh");
    let ran = repository
        .workspace
        .roleos(&["witness", "rerun", "latest"])
        .exits(0);
    assert!(ran.stdout.contains("running"), "{ran:#?}");
    assert!(ran.stdout.ends_with("same: the bundle says solved, the new run shows solved (the test command ended with exit code 0)\n"));
    assert!(
        !ran.stdout.contains('\x1b'),
        "what the command prints moves no cursor"
    );
}

#[test]
fn the_diff_stays_in_its_worktree() {
    let repository = Repository::new("");
    for path in ["../escape", "/tmp/roleos-escape", ".git/config"] {
        let diff = format!("diff --git a/x b/x\n--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+x\n");
        repository.check(&diff, "true", 1, "failed", "the diff does not apply");
    }
    assert!(!Path::new("/tmp/roleos-escape").exists());
}

#[test]
fn a_command_that_takes_too_long_is_ended() {
    let repository = Repository::new("[rerun]\ntimeout_seconds = 1\n");
    let started = Instant::now();
    repository.check(FIX, "sleep 300", 1, "error", "took longer than 1 s");
    assert!(started.elapsed() < Duration::from_secs(20));
}

/// Ctrl-C: the tests end, the worktree is removed, and the answer reports it.
#[test]
fn an_interrupted_run_cleans_up() {
    let repository = Repository::new("");
    let started = repository.workspace.path("started");
    let command = format!("touch {}; sleep 300", started.display());
    repository.seal(FIX, &command);
    let child = repository
        .workspace
        .command(&["--json", "witness", "rerun", "latest"])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let deadline = Instant::now() + Duration::from_secs(20);
    while !started.exists() {
        assert!(Instant::now() < deadline, "the tests never started");
        std::thread::sleep(Duration::from_millis(20));
    }
    let interrupt = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(interrupt.unwrap().success());
    let output = child.wait_with_output().unwrap();
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answer["observed"], "error");
    assert_eq!(answer["because"], "the test command was interrupted");
    assert_eq!(output.status.code(), Some(1));
    repository.is_clean();
}

/// Runs a command that leaves a process behind, and asserts that the process is ended.
fn check_left_behind(test_command: &str) {
    let repository = Repository::new("[rerun]\ntimeout_seconds = 5\n");
    let number = repository.workspace.path("number");
    let test_command = test_command.replace("NUMBER", number.to_str().unwrap());
    let started = Instant::now();
    repository.check(FIX, &test_command, 1, "cannot_tell", "exit code 0");
    assert!(
        started.elapsed() < Duration::from_secs(20),
        "it was waited for"
    );
    let process = repository.workspace.read("number");
    let process = Path::new("/proc").join(process.trim());
    let is_running = || {
        let status = fs::read_to_string(process.join("stat")).unwrap_or_default();
        !status.is_empty() && !status.contains(") Z ")
    };
    let deadline = Instant::now() + Duration::from_secs(5);
    while is_running() {
        assert!(Instant::now() < deadline, "{process:?} still runs");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn children_that_are_left_behind_are_ended() {
    check_left_behind("sleep 300 & echo $! > NUMBER");
}

#[test]
fn daemons_that_left_the_group_are_ended_and_not_waited_for() {
    check_left_behind(
        "setsid sh -c 'echo $$ > NUMBER; exec sleep 300' & while ! test -s NUMBER; do sleep 0.01; done",
    );
}

#[test]
fn a_swarm_of_children_is_ended() {
    let repository = Repository::new("[rerun]\ntimeout_seconds = 1\n");
    // A time that no other process sleeps for.
    let nap = format!("sleep 1.{}", std::process::id());
    let swarm = format!(
        "for i in 1 2 3 4 5 6 7 8 9 10; do (setsid sh -c 'while :; do {nap}; done' &); done; sleep 300"
    );
    repository.check(FIX, &swarm, 1, "error", "took longer than 1 s");
    let napping = |entry: &fs::DirEntry| {
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line)
            .replace('\0', " ")
            .contains(&nap)
    };
    let processes = fs::read_dir("/proc").unwrap();
    assert_eq!(processes.flatten().filter(napping).count(), 0);
}

#[test]
fn output_beyond_the_limit_is_dropped() {
    let repository = Repository::new("[rerun]\nmax_output_mib = 1\n");
    let answer = repository.check(
        FIX,
        "head -c 5000000 /dev/zero | tr '\\0' x",
        1,
        "cannot_tell",
        "exit code 0",
    );
    assert_eq!(answer["output_truncated"], true);
    let ran = repository
        .workspace
        .roleos(&["witness", "rerun", "latest"])
        .exits(1);
    assert!(
        (1 << 20..1_200_000).contains(&ran.stdout.len()),
        "{}",
        ran.stdout.len()
    );
    assert!(ran.stdout.contains("more was printed than is kept"));
    let answer = repository.check(FIX, "echo little", 1, "cannot_tell", "exit code 0");
    assert_eq!(answer["output_truncated"], false);
}

#[test]
fn memory_beyond_the_limit_is_not_given() {
    let repository = Repository::new("[rerun]\nmax_memory_mib = 64\n");
    // `tail` keeps possible output, here a line without an end.
    let greedy = "head -c 200000000 /dev/zero | tail -n 1 | wc -c | grep -q 200000000";
    repository.check(FIX, greedy, 1, "failed", "exit code 1");
    repository.check(FIX, "./test.sh", 0, "solved", "exit code 0");
}

#[test]
fn hooks_of_the_repository_do_not_run() {
    let repository = Repository::new("");
    let mark = repository.workspace.path("hook-ran");
    for hook in [
        "post-checkout",
        "pre-applypatch",
        "reference-transaction",
        "post-index-change",
    ] {
        let script = format!("#!/bin/sh\ntouch {}\n", mark.display());
        let path = repository
            .workspace
            .write(&format!(".git/hooks/{hook}"), script);
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    repository.check(FIX, "./test.sh", 0, "solved", "exit code 0");
    assert!(!mark.exists());
}

#[test]
fn a_git_that_calls_us_does_not_redirect_ours() {
    let repository = Repository::new("");
    repository.seal(FIX, "cd \"$(git rev-parse --show-toplevel)\" && ./test.sh");
    let mut command = repository
        .workspace
        .command(&["--json", "witness", "rerun", "latest"]);
    // The environment of a hook.
    command
        .env("GIT_DIR", "/nonexistent")
        .env("GIT_INDEX_FILE", "/nonexistent/index")
        .env("GIT_WORK_TREE", "/");
    ran(command).exits(0);
    repository.is_clean();
}

#[test]
fn what_nobody_vouches_for_is_not_run() {
    let repository = Repository::new("");
    repository.seal(FIX, "./test.sh");
    let stranger = Workspace::with_config("[oversight]\ntest_commands = [\"./test.sh\"]\n");
    let repo = repository.workspace.root().to_str().unwrap();
    let sealed = repository
        .workspace
        .roleos(&["--json", "witness", "show", "latest"])
        .exits(0)
        .json();
    let file = sealed["file"].as_str().unwrap();
    let words = ["--json", "witness", "rerun", file, "--repo", repo];
    let error = stranger.roleos(&words).exits(2).json_error();
    assert_eq!(error["code"], "not_believed");
    let words = [&words[..], &["--unverified"]].concat();
    stranger.roleos(&words).exits(0);
    repository.is_clean();
    // Damaged bundles are never run.
    let mut bytes = fs::read(file).unwrap();
    bytes.truncate(100);
    stranger.write("cut.rvww", bytes);
    let words = [
        "--json",
        "witness",
        "rerun",
        "cut.rvww",
        "--repo",
        repo,
        "--unverified",
    ];
    stranger.roleos(&words).exits(2).json_error();
}

#[test]
fn a_script_that_may_print_what_it_likes_shows_no_success() {
    let repository = Repository::unvouched("");
    repository.check(
        FIX,
        "./test.sh",
        1,
        "cannot_tell",
        "no test runner that is known",
    );
    repository.check(WRONG, "./test.sh", 1, "failed", "exit code 1");
}

#[test]
fn what_is_missing_is_asked_for() {
    let repository = Repository::new("");
    repository.workspace.seal(&["--outcome", "solved"]);
    let words = ["witness", "rerun", "latest"];
    let ran = repository.workspace.roleos(&words).exits(1);
    assert_eq!(
        ran.error(),
        "error: the bundle does not say its `base_commit`\nhint: give it with `--base`"
    );
    let ran = repository
        .workspace
        .roleos(&[&words[..], &["--base", "HEAD"]].concat())
        .exits(1);
    assert_eq!(
        ran.error(),
        "error: the bundle does not say its `test_command`\nhint: give it with `--test-command`"
    );
    let given = ["--base", "HEAD", "--test-command", "./test.sh"];
    repository.rerun(&given).exits(1);
    for base in ["no-such-commit", "--help", "-n1"] {
        let given = [format!("--base={base}"), "--test-command=true".to_owned()];
        let ran = repository
            .rerun(&given.each_ref().map(String::as_str))
            .exits(2);
        assert_eq!(ran.json_error()["code"], "rerun");
    }
    let nowhere = Workspace::new();
    let words = [
        "--json",
        "witness",
        "rerun",
        "latest",
        "--base",
        "HEAD",
        "--test-command",
        "true",
        "--repo",
    ];
    let words = [&words[..], &[nowhere.root().to_str().unwrap()]].concat();
    let error = repository.workspace.roleos(&words).exits(1).json_error();
    assert_eq!(error["code"], "no_repository");
}
