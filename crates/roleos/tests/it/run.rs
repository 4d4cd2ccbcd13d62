//! `roleos run` and `roleos-watch`: real programs under supervision, decided when they begin.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::net::UnixListener;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::terminal::Terminal;
use crate::workspace::{ROLEOS, Ran, Workspace, ran};

fn git(folder: &Path, words: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=A", "-c", "user.email=a@example.org"])
        .args(words)
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(output.status.success(), "{words:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Returns a repository with one commit, and a bare one beside it as its remote.
fn repository() -> Workspace {
    let workspace = Workspace::new();
    let root = workspace.root();
    git(root, &["init", "--quiet", "--initial-branch=main"]);
    git(root, &["init", "--quiet", "--bare", ".git/remote.git"]);
    git(root, &["remote", "add", "origin", ".git/remote.git"]);
    git(
        root,
        &["commit", "--quiet", "--allow-empty", "--message", "one"],
    );
    workspace
}

/// Returns the branches of the remote.
fn pushed(workspace: &Workspace) -> String {
    git(&workspace.path(".git/remote.git"), &["branch", "--list"])
}

/// Runs a text under supervision; returns the run and its report.
fn supervised(workspace: &Workspace, text: &str) -> (Ran, Value) {
    let report = workspace.home().join("report.json");
    let words = ["run", "--report", report.to_str().unwrap(), "--shell", text];
    let ran = workspace.roleos(&words);
    let report = fs::read_to_string(report).unwrap_or_default();
    (ran, serde_json::from_str(&report).unwrap_or_default())
}

fn refusals(report: &Value) -> Vec<&str> {
    let refused = report["refused"].as_array().unwrap();
    let actions = refused
        .iter()
        .flat_map(|one| one["actions"].as_array().unwrap());
    actions.map(|action| action.as_str().unwrap()).collect()
}

/// A program that starts its argument, by `posix_spawn` and by `execveat` of a file without a name.
const CALLER: &str = r#"
#define _GNU_SOURCE
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
extern char **environ;
int main(int n, char **words) {
    if (!strcmp(words[1], "spawn")) {
        pid_t child; int status;
        int error = posix_spawnp(&child, words[2], 0, 0, words + 2, environ);
        if (error) { fprintf(stderr, "%s\n", strerror(error)); return 9; }
        waitpid(child, &status, 0);
        return 0;
    }
    int from = open(words[2], O_RDONLY), to = memfd_create("x", 0);
    char bytes[65536]; long read_;
    while ((read_ = read(from, bytes, sizeof bytes)) > 0) if (write(to, bytes, read_) != read_) return 8;
    char *argv[16] = { "harmless" };
    for (int at = 3; at < n && at < 15; at++) argv[at - 2] = words[at];
    syscall(SYS_execveat, to, "", argv, environ, AT_EMPTY_PATH);
    perror("execveat");
    return 9;
}
"#;

#[test]
fn a_push_is_refused_however_it_is_started() {
    let workspace = repository();
    let root = workspace.root();
    fs::write(workspace.path("caller.c"), CALLER).unwrap();
    let built = Command::new("cc")
        .args(["caller.c", "-o", "caller"])
        .current_dir(root)
        .status()
        .unwrap();
    assert!(built.success());
    workspace.write("Makefile", "release:\n\t@V=pu; git $${V}sh origin main\n");
    workspace.write("package.sh", "#!/bin/sh\nexec git push origin main\n");
    fs::set_permissions(
        workspace.path("package.sh"),
        fs::Permissions::from_mode(0o755),
    )
    .unwrap();
    let rows = [
        "git push origin main",
        "make -s release",
        "./package.sh",
        "python3 -c 'import os; os.execvp(\"git\", [\"git\", \"push\", \"origin\", \"main\"])'",
        "python3 -c 'import subprocess; subprocess.call([\"git\", \"push\", \"origin\", \"main\"])'",
        "./caller spawn git push origin main",
        "./caller memory \"$(command -v git)\" push origin main",
        "cp \"$(command -v git)\" ./harmless && ./harmless push origin main",
        "ln -s \"$(command -v git)\" ./linked && ./linked push origin main",
        "cp \"$(command -v git)\" ./harmless && \"/usr/bin/../..$PWD/harmless\" push origin main",
        "git -c alias.send=push send origin main",
        "git -c help.autocorrect=immediate psuh origin main",
        "git -c help.autocorrect=1 upsh origin main",
        "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=help.autocorrect GIT_CONFIG_VALUE_0=-1 git pussh origin main",
        "printf '[help]\\nautocorrect = 1\\n' > cfg; GIT_CONFIG_GLOBAL=$PWD/cfg git puhs origin main",
        "printf '[include]\\npath = %s/cfg\\n' \"$PWD\" > top; GIT_CONFIG_GLOBAL=$PWD/top sh -c 'git \"$0\" origin main' puhs",
        "git send-pack .git/remote.git main",
        "env -i \"$(command -v git)\" push origin main",
        "echo 'git push origin main' | sh",
        "(exec -a ls git push origin main)",
        "$(ls /lib64/ld-linux* /lib/ld-linux* 2>/dev/null | head -n 1) \"$(command -v git)\" push origin main",
        "setsid sh -c 'git push origin main'; true",
        "cp \"$(command -v git)\" ./changed && printf x >> ./changed && ./changed push origin main",
        "cp \"$(which -a git | tail -n 1)\" ./second && printf x >> ./second && ./second push origin main",
        "objcopy --strip-all --remove-section=.note.gnu.build-id \"$(command -v git)\" ./stripped && ./stripped push origin main",
        "./caller memory ./changed push origin main",
        "cp \"$(ls /lib64/ld-linux* /lib/ld-linux* 2>/dev/null | head -n 1)\" ./loader && printf x >> ./loader && ./loader \"$(command -v git)\" push origin main",
        "./loader --argv0 ls ./changed push origin main",
        "$(ls /lib64/ld-linux* /lib/ld-linux* 2>/dev/null | head -n 1) ./changed push origin main",
        "./caller memory ./loader ./changed push origin main",
        // A completely unknown git still sends by its parts.
        "cp /bin/true ./far && ./far host \"git-receive-pack '/remote.git'\"",
        "echo main | git pack-objects --all-progress-implied --revs --stdout >/dev/null",
        "git remote-https origin https://127.0.0.1:1/r </dev/null; true",
    ];
    for text in rows {
        let (ran, report) = supervised(&workspace, text);
        assert_eq!(pushed(&workspace), "", "{text}: {ran:#?}");
        let refused = refusals(&report);
        assert!(!refused.is_empty(), "{text}: {report} {ran:#?}");
        assert!(
            refused.iter().all(|one| *one == "git:push"),
            "{text}: {report}"
        );
        assert!(
            ran.stderr.contains("roleos: refused git:push (act "),
            "{ran:#?}"
        );
        assert_eq!(report["exit"], ran.code, "{text}");
    }
}

#[test]
fn harmless_programs_run_as_without() {
    let workspace = repository();
    let rows = [
        "git status --short; git log --oneline | wc -l; echo ok",
        "git fetch origin; git ls-remote origin; git push --dry-run origin main; true",
        "printf 'git push\\n' > note; cat note; grep push note",
        "echo git push; python3 -c 'print(\"git push\")' git push",
        "sh -c 'exit 3'",
        "no-such-program",
        "cat <<'X'\nnpm publish\nX",
        "rm -rf cloned; git clone -q \"file://$PWD/.git\" cloned; git bundle create --quiet out HEAD; git gc -q; git -C cloned log --oneline | wc -l",
        "cp \"$(command -v git)\" ./mine && ./mine fetch -q origin; ./mine status --short -uno; rm mine",
        "echo 'git-receive-pack' > note; grep -c git-receive-pack note; grep \"git-receive-pack 'r'\" note; rm note",
    ];
    for text in rows {
        let mut plain = Command::new("bash");
        plain
            .args(["-c", text])
            .current_dir(workspace.root())
            .env("HOME", workspace.home());
        let plain = ran(plain);
        let (watched, report) = supervised(&workspace, text);
        assert_eq!(
            (&watched.stdout, watched.code),
            (&plain.stdout, plain.code),
            "{text}: {watched:#?}"
        );
        assert_eq!(report["refused"], json!([]), "{text}");
    }
}

#[test]
fn exit_codes_and_signals_are_the_commands_own() {
    let workspace = Workspace::new();
    let end = |words: &[&str]| {
        let words = [&["run", "--"], words].concat();
        let mut command = workspace.command(&words);
        command
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .unwrap()
    };
    assert_eq!(end(&["true"]).code(), Some(0));
    assert_eq!(end(&["sh", "-c", "exit 255"]).code(), Some(255));
    assert_eq!(end(&["sh", "-c", "kill -TERM $$"]).signal(), Some(15));
    assert_eq!(end(&["sh", "-c", "kill -KILL $$"]).signal(), Some(9));
    assert_eq!(end(&["no-such-program"]).code(), Some(127));
    assert_eq!(end(&["/"]).code(), Some(126));
}

#[test]
fn what_cannot_be_supervised_is_not_started_and_ends_with_125() {
    let workspace = Workspace::new();
    let rows: [&[&str]; 4] = [
        &[
            "run",
            "--report",
            "nowhere/report.json",
            "--",
            "touch",
            "ran",
        ],
        &["run", "--report", ".", "--", "touch", "ran"],
        &[
            "--json",
            "run",
            "--report",
            "nowhere/x",
            "--",
            "touch",
            "ran",
        ],
        &["--quiet", "run", "--report=nowhere/x", "--", "touch", "ran"],
    ];
    for words in rows {
        let ran = workspace.roleos(words);
        assert_eq!(ran.code, 125, "{words:?}: {ran:#?}");
        assert!(ran.stderr.contains("cannot write the report"), "{ran:#?}");
        assert!(!workspace.path("ran").exists(), "{words:?}");
    }
    let broken = Workspace::with_config("[oversight\n");
    for words in [
        vec!["run", "--", "touch", "ran"],
        vec!["--quiet", "run", "--", "touch", "ran"],
    ] {
        let ran = broken.roleos(&words);
        assert_eq!(ran.code, 125, "{words:?}: {ran:#?}");
        assert!(!broken.path("ran").exists(), "{words:?}");
    }
}

#[test]
fn a_report_that_can_no_longer_be_written_leaves_the_exit_code_alone() {
    let workspace = Workspace::new();
    fs::create_dir(workspace.path("place")).unwrap();
    let text = "rm -r place; exit 4";
    let ran = workspace.roleos(&["run", "--report", "place/report.json", "--shell", text]);
    assert_eq!(ran.code, 4, "{ran:#?}");
    assert!(ran.stderr.contains("place/report.json"), "{ran:#?}");
}

/// Returns the hook's answer to a command in Claude Code's format.
fn hook(workspace: &Workspace, command: &str) -> String {
    let event = json!({
        "hook_event_name": "PreToolUse", "session_id": "s", "cwd": fs::canonicalize(workspace.root()).unwrap(),
        "tool_name": "Bash", "tool_input": { "command": command }, "tool_use_id": "t",
    });
    let output = assert_cmd::Command::from_std(workspace.command(&["hook", "claude"]))
        .env("ROLEOS_CAPABILITY_GATE", "1")
        .env_remove("CI")
        .write_stdin(event.to_string())
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_id_is_that_of_the_hook_and_one_approval_lets_the_push_through_once() {
    let workspace = repository();
    let text = "git push origin main";
    let refused = hook(&workspace, text);
    let (_, report) = supervised(&workspace, text);
    let id = report["refused"][0]["id"].as_str().unwrap().to_owned();
    assert!(
        refused.contains(&format!("roleos approve {id}")),
        "{refused} {report}"
    );
    let mut terminal = Terminal::roleos(&workspace, &["approve", &id]);
    terminal.expects("[y/N] ").types("y");
    terminal.ends().exits(0);
    // One act, several programs: `git push`, a shell, `git-receive-pack` and their children.
    let (ran, report) = supervised(&workspace, text);
    assert_eq!(report["refused"], json!([]), "{ran:#?}");
    assert_eq!(pushed(&workspace).trim(), "main", "{ran:#?}");
    git(
        &workspace.path(".git/remote.git"),
        &["update-ref", "-d", "refs/heads/main"],
    );
    let (_, report) = supervised(&workspace, text);
    assert_eq!(refusals(&report), ["git:push"]);
}

#[test]
fn a_push_that_nothing_approved_is_refused_by_the_hook_of_git_below_a_supervisor() {
    let workspace = repository();
    workspace.roleos(&["init", "--agent", "claude"]).exits(0);
    // Git's input to its hook, for a push that no earlier program showed.
    let told = "head=$(git rev-parse HEAD); echo \"refs/heads/main $head refs/heads/main 0000\" \
        | .git/hooks/pre-push origin .git/remote.git";
    let (ran, report) = supervised(&workspace, told);
    assert_ne!(ran.code, 0, "{ran:#?}");
    assert!(ran.stderr.contains("refused git:push"), "{ran:#?} {report}");
    // A push that sends nothing is checked by neither.
    let (ran, _) = supervised(&workspace, "git push --quiet --dry-run origin main");
    assert_eq!(ran.code, 0, "{ran:#?}");
    // One use of a grant is one push, by the program and by its hook together.
    let mut terminal = Terminal::roleos(&workspace, &["grant", "git:push", "--uses", "1"]);
    terminal.expects("[y/N] ").types("y");
    terminal.ends().exits(0);
    let (ran, report) = supervised(
        &workspace,
        "git switch --quiet -c work && git push origin work",
    );
    assert_eq!(pushed(&workspace).trim(), "work", "{ran:#?} {report}");
    let (ran, _) = supervised(&workspace, told);
    assert_ne!(ran.code, 0, "{ran:#?}");
    // A push that git's hook allows by itself leaves no note for the next one.
    let mut terminal = Terminal::roleos(&workspace, &["grant", "git:push", "--uses", "1"]);
    terminal.expects("[y/N] ").types("y");
    terminal.ends().exits(0);
    let told = told.replace("main", "work");
    let (ran, _) = supervised(&workspace, &told);
    assert_eq!(ran.code, 0, "{ran:#?}");
    let (ran, _) = supervised(&workspace, &told);
    assert_ne!(ran.code, 0, "{ran:#?}");
}

#[test]
fn a_run_without_a_gated_program_ends_as_a_bundle_with_its_diff() {
    let workspace = repository();
    workspace.roleos(&["init", "--agent", "claude"]).exits(0);
    workspace
        .roleos(&["run", "--", "sh", "-c", "echo 2 > made.txt"])
        .exits(0);
    workspace.roleos(&["sessions", "seal", "--all"]).exits(0);
    let shown = workspace
        .roleos(&["witness", "replay", "latest", "--json"])
        .exits(0);
    for part in ["sh -c 'echo 2 > made.txt'", "made.txt", "+2"] {
        assert!(shown.stdout.contains(part), "{part}: {shown:#?}");
    }
}

#[test]
fn a_hook_of_the_repository_is_not_covered_by_the_push_that_starts_it() {
    let workspace = repository();
    git(
        workspace.root(),
        &["init", "--quiet", "--bare", ".git/other.git"],
    );
    let hook = workspace.write(
        ".git/hooks/pre-push",
        "#!/bin/sh\ngit push ../../.git/other.git main || git push \"$PWD/.git/other.git\" main\nexit 0\n",
    );
    fs::set_permissions(hook, fs::Permissions::from_mode(0o755)).unwrap();
    let text = "git push origin main";
    let (_, report) = supervised(&workspace, text);
    let id = report["refused"][0]["id"].as_str().unwrap().to_owned();
    let mut terminal = Terminal::roleos(&workspace, &["approve", &id]);
    terminal.expects("[y/N] ").types("y");
    terminal.ends().exits(0);
    let (ran, report) = supervised(&workspace, text);
    assert!(!refusals(&report).is_empty(), "{ran:#?}");
    assert_eq!(
        git(&workspace.path(".git/other.git"), &["branch", "--list"]),
        ""
    );
    assert_eq!(pushed(&workspace).trim(), "main", "{ran:#?}");
}

#[test]
fn a_run_below_a_run_and_a_daemon_stay_judged() {
    let workspace = repository();
    let inner = format!("{ROLEOS} run --report inner.json -- git push origin main; true");
    let (ran, report) = supervised(&workspace, &inner);
    assert_eq!(refusals(&report), ["git:push"], "{ran:#?}");
    assert!(report.get("nested").is_none(), "{report}");
    let inner: Value = serde_json::from_str(&workspace.read("inner.json")).unwrap();
    assert_eq!(inner["nested"], true, "{inner}");
    let text =
        "setsid nohup sh -c 'sleep 0.3; git push origin main; echo $? > ended' >/dev/null 2>&1 &";
    let (ran, _) = supervised(&workspace, text);
    assert_eq!(ran.code, 0);
    let ended = workspace.path("ended");
    for _ in 0..600 {
        if fs::read_to_string(&ended).is_ok_and(|text| !text.is_empty()) {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    assert_ne!(fs::read_to_string(ended).unwrap().trim(), "0");
    assert_eq!(pushed(&workspace), "");
}

#[test]
fn secrets_for_publishing_are_withheld() {
    let workspace = Workspace::with_config("[oversight]\nwithheld_variables = [\"GH_*\"]\n");
    let text = "echo \"[$NPM_TOKEN$TWINE_PASSWORD$CARGO_REGISTRY_TOKEN$GH_TOKEN]$OTHER\"";
    let mut command = workspace.command(&["run", "--shell", text]);
    for name in [
        "NPM_TOKEN",
        "TWINE_PASSWORD",
        "CARGO_REGISTRY_TOKEN",
        "GH_TOKEN",
        "OTHER",
    ] {
        command.env(name, "x");
    }
    assert_eq!(ran(command).succeeds(), "[]x\n");
}

#[test]
fn protected_files_are_mounted_read_only_where_that_is_set() {
    let workspace = Workspace::with_config("[oversight]\nread_only_files = true\n");
    let text = "touch inside && cat .role-os/config.toml >/dev/null && ! (echo x >> .role-os/config.toml) 2>/dev/null";
    let before = workspace.read(".role-os/config.toml");
    let (ran, _) = supervised(&workspace, text);
    // If no mount can be made, only the guard protects.
    let can_mount = |words: &[&str]| {
        let tried = Command::new("unshare").args(words).arg("true").output();
        tried.is_ok_and(|output| output.status.success())
    };
    if can_mount(&["-m"]) || can_mount(&["-Urm"]) {
        assert_eq!(ran.code, 0, "{ran:#?}");
        assert_eq!(workspace.read(".role-os/config.toml"), before);
    }
    assert!(workspace.path("inside").exists(), "{ran:#?}");
}

/// Connects to each socket twice, and prints the results.
const CONNECT: &str = "import socket,sys\nfor name in sys.argv[1:] * 2:\n  s=socket.socket(socket.AF_UNIX)\n  try:\n    s.connect(name); print('open')\n  except PermissionError: print('refused')\n";

#[test]
fn a_socket_that_leads_out_of_the_tree_is_an_act_like_any_other() {
    for name in [
        "docker.sock",
        "containerd.sock",
        "podman.sock",
        "tmux-0",
        "run/user/1/bus",
    ] {
        let workspace = Workspace::new();
        let socket = workspace.path(name);
        fs::create_dir_all(socket.parent().unwrap()).unwrap();
        let listener = UnixListener::bind(&socket).unwrap();
        listener.set_nonblocking(true).unwrap();
        let _other = UnixListener::bind(workspace.path("other.sock")).unwrap();
        workspace.write("connect.py", CONNECT);
        let text = format!("python3 connect.py {name} other.sock");
        let (ran, report) = supervised(&workspace, &text);
        assert_eq!(ran.stdout, "refused\nopen\nrefused\nopen\n", "{ran:#?}");
        assert!(listener.accept().is_err(), "{name}: nobody came");
        let refused = report["refused"].as_array().unwrap();
        let [refused] = refused.as_slice() else {
            panic!("one act: {report}");
        };
        let real = fs::canonicalize(&socket).unwrap();
        assert_eq!(refused["actions"], json!(["daemon:launch"]));
        let shown = format!("unix:{}", real.display());
        let argv = refused["argv"].as_array().unwrap();
        // The first word is the path of the interpreter.
        assert_eq!(
            argv[1..],
            ["connect.py", name, "other.sock", shown.as_str()],
            "{report}"
        );
        let id = refused["id"].as_str().unwrap();
        assert!(
            ran.stderr.contains(&format!("roleos approve {id}")),
            "{ran:#?}"
        );
        let mut terminal = Terminal::roleos(&workspace, &["approve", id]);
        terminal.expects("[y/N] ").types("y");
        terminal.ends().exits(0);
        // One program may connect more than once for one act; the next program is another act.
        let (ran, report) = supervised(&workspace, &format!("{text}; {text}"));
        let lines: Vec<&str> = ran.stdout.lines().collect();
        assert_eq!(lines[..4], ["open"; 4], "{ran:#?}");
        assert_eq!(
            lines[4..],
            ["refused", "open", "refused", "open"],
            "{ran:#?}"
        );
        assert_eq!(refusals(&report), ["daemon:launch"]);
    }
}

#[test]
fn a_grant_opens_the_sockets_of_daemons_and_the_journal_says_so() {
    let workspace = Workspace::new();
    let _listener = UnixListener::bind(workspace.path("docker.sock")).unwrap();
    workspace.write("connect.py", CONNECT);
    let mut terminal = Terminal::roleos(&workspace, &["grant", "daemon:launch"]);
    terminal.expects("[y/N] ").types("y");
    terminal.ends().exits(0);
    let words = [
        "run",
        "--session",
        "s",
        "--",
        "python3",
        "connect.py",
        "docker.sock",
    ];
    let ran = workspace.roleos(&words);
    assert_eq!(ran.stdout, "open\nopen\n", "{ran:#?}");
    let journal = workspace.read(".role-os/sessions/s.jsonl");
    let lines = journal
        .lines()
        .filter(|line| line.contains("daemon:launch"));
    let lines: Vec<&str> = lines.collect();
    assert_eq!(lines.len(), 1, "{journal}");
    assert!(lines[0].contains("docker.sock"), "{journal}");
}

/// Returns a command with the prefix that an agent uses.
fn watch(workspace: &Workspace, gate: bool, text: &str) -> Command {
    let link = workspace.home().join("roleos-watch");
    if !link.exists() {
        symlink(ROLEOS, &link).unwrap();
    }
    let usual = workspace.command(&[]);
    let mut command = Command::new(link);
    command.arg(text).current_dir(workspace.root());
    for (name, value) in usual.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command
        .env("ROLEOS_WATCH_ROOT", workspace.root())
        .env("CLAUDE_CODE_SESSION_ID", "s");
    if gate {
        command.env("ROLEOS_CAPABILITY_GATE", "1");
    }
    command
}

#[test]
fn with_the_gate_off_the_watch_only_runs_the_text() {
    let workspace = repository();
    let ran = ran(watch(
        &workspace,
        false,
        "git push --quiet origin main; cat /proc/self/status | grep Seccomp:",
    ));
    assert_eq!(ran.stdout.split_whitespace().last(), Some("0"), "{ran:#?}");
    assert_eq!(pushed(&workspace).trim(), "main");
    assert!(!workspace.path(".role-os").exists());
}

#[test]
fn a_session_is_watched_once_it_has_proved_that_it_is() {
    let workspace = repository();
    let command = "eval \"$X\"";
    assert!(hook(&workspace, command).contains("\"ask\""));
    let seen = ran(watch(&workspace, true, "true"));
    assert_eq!(seen.code, 0, "{seen:#?}");
    assert_eq!(hook(&workspace, command), "", "the session is watched");
    // A command that was to be supervised and was not makes the next one a question.
    let after = json!({
        "hook_event_name": "PostToolUse", "session_id": "s", "cwd": workspace.root(), "tool_name": "Bash",
        "tool_input": { "command": command }, "tool_response": {}, "tool_use_id": "t",
    });
    assert_cmd::Command::from_std(workspace.command(&["hook", "claude"]))
        .env("ROLEOS_CAPABILITY_GATE", "1")
        .write_stdin(after.to_string())
        .assert()
        .success();
    assert!(hook(&workspace, command).contains("\"ask\""));
    let journal = workspace.read(".role-os/sessions/s.jsonl");
    assert!(journal.contains("\"verdict\":\"watch\""), "{journal}");
    assert!(journal.contains("\"kind\":\"unwatched\""), "{journal}");
}

#[test]
fn what_the_hook_let_through_is_not_judged_twice() {
    let workspace = repository();
    ran(watch(&workspace, true, "true"));
    let text = "git push origin main";
    let refused = hook(&workspace, text);
    let (_, behind) = refused.split_once("roleos approve ").unwrap();
    let id: String = behind.chars().take_while(char::is_ascii_hexdigit).collect();
    let mut terminal = Terminal::roleos(&workspace, &["approve", &id]);
    terminal.expects("[y/N] ").types("y");
    terminal.ends().exits(0);
    assert_eq!(hook(&workspace, text), "", "the approval is used");
    let wrapped = "shopt -u extglob 2>/dev/null || true && eval 'git push origin main' < /dev/null && pwd -P >| /dev/null";
    let seen = ran(watch(&workspace, true, wrapped));
    assert_eq!(pushed(&workspace).trim(), "main", "{seen:#?}");
    git(
        &workspace.path(".git/remote.git"),
        &["update-ref", "-d", "refs/heads/main"],
    );
    let seen = ran(watch(&workspace, true, wrapped));
    assert!(seen.stderr.contains("refused git:push"), "{seen:#?}");
    assert_eq!(pushed(&workspace), "");
}

/// Connects to the socket of a daemon twice, as itself and as a child, with any arguments.
const DOCKER: &str = r#"
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
static void connects(void) {
    struct sockaddr_un address = { AF_UNIX, "docker.sock" };
    int file = socket(AF_UNIX, SOCK_STREAM, 0);
    puts(connect(file, (void *)&address, sizeof address) ? "refused" : "open");
    fflush(stdout);
}
int main(int count, char **words) {
    connects();
    if (!strcmp(words[0], "part")) return 0;
    if (!fork()) { execl("/proc/self/exe", "part", (char *)0); _exit(9); }
    wait(0);
    return 0;
}
"#;

/// Returns a workspace with a socket and a client for it.
fn with_docker(config: &str) -> (Workspace, UnixListener) {
    let workspace = Workspace::with_config(config);
    let listener = UnixListener::bind(workspace.path("docker.sock")).unwrap();
    workspace.write("docker.c", DOCKER);
    let built = Command::new("cc")
        .args(["docker.c", "-o", "docker"])
        .current_dir(workspace.root())
        .status()
        .unwrap();
    assert!(built.success());
    (workspace, listener)
}

#[test]
fn a_yes_to_a_program_is_a_yes_to_the_daemon_that_it_is_for() {
    let (workspace, _listener) = with_docker("");
    let own = std::env::var_os("PATH").unwrap();
    let folders = [workspace.root().to_owned()].into_iter();
    let path = std::env::join_paths(folders.chain(std::env::split_paths(&own))).unwrap();
    let watched = |text: &str| {
        // Wrapped like Claude Code does it.
        let text = format!("true && eval '{text}' < /dev/null && pwd -P >| /dev/null");
        let mut command = watch(&workspace, true, &text);
        command.env("PATH", &path);
        ran(command)
    };
    watched("true");
    let text = "docker run --rm --privileged image ./thing";
    let refused = "refused\nrefused\n";
    // No person was asked about it.
    assert_eq!(watched(text).stdout, refused);
    let asked = hook(&workspace, text);
    assert!(asked.contains("\"ask\""), "{asked}");
    // The approval is for these words.
    assert_eq!(
        watched("docker run --rm --privileged image ./other").stdout,
        refused
    );
    let seen = watched(text);
    assert_eq!(seen.stdout, "open\nopen\n", "{seen:#?}");
    // And for one use.
    assert_eq!(watched(text).stdout, refused);
    // Without a question, the hook allows the installed client, not another program with its name.
    assert_eq!(hook(&workspace, "docker ps"), "");
    assert_eq!(watched("docker ps").stdout, refused);
}

#[test]
fn an_approved_program_for_a_daemon_reaches_it() {
    let (workspace, _listener) = with_docker("[oversight]\nextended = true\n");
    let text = "./docker push acme/web:1";
    let (_, report) = supervised(&workspace, text);
    assert_eq!(refusals(&report), ["docker:push"]);
    let id = report["refused"][0]["id"].as_str().unwrap().to_owned();
    let mut terminal = Terminal::roleos(&workspace, &["approve", &id]);
    terminal.expects("[y/N] ").types("y");
    terminal.ends().exits(0);
    let (ran, _) = supervised(&workspace, text);
    assert_eq!(ran.stdout, "open\nopen\n", "{ran:#?}");
}
