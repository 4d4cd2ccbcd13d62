//! `roleos init` on repositories with settings that people wrote: minimal, reversible, and nothing happens twice.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::terminal::Terminal;
use crate::workspace::{ROLEOS, ROLEOS_HOOK, Ran, Workspace, ran};

/// Variables by which an agent would be recognised.
pub(crate) const MARKS: [&str; 6] = [
    "CLAUDECODE",
    "AI_AGENT",
    "CODEX_THREAD_ID",
    "GEMINI_CLI",
    "CURSOR_AGENT",
    "COPILOT_CLI",
];

/// Runs git in the folder, isolated from the settings of the user.
#[track_caller]
pub(crate) fn git(workspace: &Workspace, words: &[&str]) -> Ran {
    let mut command = Command::new("git");
    command.args(words).current_dir(workspace.root());
    ran(quiet(command, workspace))
}

pub(crate) fn quiet(mut command: Command, workspace: &Workspace) -> Command {
    for mark in MARKS {
        command.env_remove(mark);
    }
    command
        .env("HOME", workspace.path("home"))
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_AUTHOR_NAME", "a")
        .env("GIT_AUTHOR_EMAIL", "a@example.org")
        .env("GIT_COMMITTER_NAME", "a")
        .env("GIT_COMMITTER_EMAIL", "a@example.org")
        .env_remove("ROLEOS_CAPABILITY_GATE")
        .env_remove("CODEX_HOME");
    command
}

pub(crate) fn repository() -> Workspace {
    let workspace = Workspace::new();
    git(&workspace, &["init", "--quiet", "-b", "main"]).succeeds();
    workspace
}

#[track_caller]
pub(crate) fn roleos(workspace: &Workspace, words: &[&str]) -> Ran {
    ran(quiet(workspace.command(words), workspace))
}

/// Settings of each agent, with comments and odd formatting if the agent accepts that.
const ODD: [(&str, &str, &str); 5] = [
    (
        "claude",
        ".claude/settings.local.json",
        "\u{feff}{ // my own\r\n\t\"permissions\": { \"allow\": [\"Bash(ls)\"], },\r\n\t/* hooks */ \"hooks\": { \"PreToolUse\": [\r\n\t\t{ \"matcher\": \"Bash\", \"hooks\": [ { \"type\": \"command\", \"command\": \"mine.sh\" } ] } // keep\r\n\t] }\r\n}",
    ),
    (
        "codex",
        ".codex/hooks.json",
        "{\"hooks\":{\"PreToolUse\":[{\"hooks\":[{\"type\":\"command\",\"command\":\"mine\"}]}],\n\n      \"Stop\"  : [ ]   }}\n\n",
    ),
    (
        "gemini",
        ".gemini/settings.json",
        "// top\n{\n    \"theme\": \"dark\" // nice\n    // the end\n}\n",
    ),
    (
        "cursor",
        ".cursor/hooks.json",
        "{\n\"version\": 1,\n   \"hooks\": {\"stop\": [{\"command\": \"./a.sh\"},],},\n}\n",
    ),
    (
        "copilot",
        ".github/hooks/other.json",
        "{\"version\":1,\"hooks\":{}}",
    ),
];

#[test]
fn odd_settings_of_each_agent_are_kept_and_come_back_byte_for_byte() {
    for (agent, file, text) in ODD {
        let workspace = repository();
        workspace.write(file, text);
        workspace.write(".git/info/exclude", "# mine\n*.log");
        roleos(&workspace, &["init", "--agent", agent]).exits(0);
        let after = workspace.read(file);
        if agent == "copilot" {
            assert_eq!(after, text, "its own file is used");
            assert!(
                workspace
                    .read(".github/hooks/role-os.json")
                    .contains("hook copilot --root")
            );
        } else {
            assert!(
                after.contains(ROLEOS) && after.len() > text.len(),
                "{after}"
            );
            let mut rest = after.chars();
            let kept = text.chars().all(|letter| rest.any(|one| one == letter));
            assert!(kept, "something was lost: {after}");
        }
        // A second time changes nothing.
        let before = workspace.snapshot();
        let again = roleos(&workspace, &["init", "--agent", agent]).exits(0);
        assert_eq!(again.stdout, "", "{agent}");
        assert!(again.stderr.contains("nothing to change"), "{again:#?}");
        assert_eq!(workspace.snapshot(), before, "{agent}");
        // Removal.
        roleos(&workspace, &["init", "--uninstall"]).exits(0);
        assert_eq!(workspace.read(file), text, "{agent}");
        assert_eq!(workspace.read(".git/info/exclude"), "# mine\n*.log");
        assert!(!workspace.path(".github/hooks/role-os.json").exists());
        assert!(!workspace.path(".git/hooks/pre-push").exists());
        assert!(!workspace.path(".role-os/installed.json").exists());
        assert!(workspace.path(".role-os/keys").exists(), "keys stay");
    }
}

#[test]
fn a_file_that_was_not_there_is_gone_again_with_its_folder() {
    for (agent, folder) in [
        ("claude", ".claude/settings.local.json"),
        ("codex", ".codex"),
        ("gemini", ".gemini"),
        ("cursor", ".cursor"),
        ("copilot", ".github"),
    ] {
        let workspace = repository();
        roleos(&workspace, &["init", "--agent", agent]).exits(0);
        assert!(workspace.path(folder).exists(), "{agent}");
        roleos(&workspace, &["init", "--uninstall", "--agent", agent]).exits(0);
        assert!(!workspace.path(folder).exists(), "{agent}");
    }
}

#[test]
fn what_others_added_later_stays() {
    let workspace = repository();
    roleos(&workspace, &["init", "--agent", "claude"]).exits(0);
    let file = ".claude/settings.local.json";
    let text = workspace.read(file);
    workspace.write(file, text.replacen('{', "{ \"model\": \"x\", // mine\n", 1));
    roleos(&workspace, &["init", "--uninstall"]).exits(0);
    let left = workspace.read(file);
    assert!(left.contains("\"model\": \"x\""), "{left}");
    assert!(
        left.contains("// mine") && !left.contains("roleos"),
        "{left}"
    );
}

#[test]
fn an_entry_of_an_older_program_is_replaced() {
    let workspace = repository();
    let file = ".claude/settings.local.json";
    let old = r#"{"hooks":{"PreToolUse":[{"matcher":"*","hooks":[{"type":"command","command":"/old/roleos","args":["hook","claude","--root","/x"]}]}]}}"#;
    workspace.write(file, old);
    roleos(&workspace, &["init", "--agent", "claude"]).exits(0);
    let text = workspace.read(file);
    assert!(!text.contains("/old/roleos"), "{text}");
    let settings: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(settings["hooks"]["PreToolUse"].as_array().unwrap().len(), 1);
    let handler = &settings["hooks"]["PreToolUse"][0]["hooks"][0];
    assert_eq!(
        handler["command"],
        fs::canonicalize(ROLEOS_HOOK).unwrap().to_str().unwrap()
    );
    assert_eq!(handler["onFailure"], "block");
    assert_eq!(handler["timeout"], 5);
    let root = workspace.root().canonicalize().unwrap();
    assert_eq!(handler["args"][3], root.to_str().unwrap());
}

#[test]
fn hooks_in_the_toml_of_codex_get_company_there() {
    let workspace = repository();
    let text = "# mine\nmodel = 'x'\n\n[[hooks.PreToolUse]]\nmatcher = \"Bash\"\n[[hooks.PreToolUse.hooks]]\ntype = \"command\"\ncommand = \"mine.sh\" # why\n";
    workspace.write(".codex/config.toml", text);
    roleos(&workspace, &["init", "--agent", "codex"]).exits(0);
    let after = workspace.read(".codex/config.toml");
    assert!(after.starts_with(text), "{after}");
    assert!(after.contains("hook codex --root"), "{after}");
    assert!(!workspace.path(".codex/hooks.json").exists());
    let again = roleos(&workspace, &["init", "--agent", "codex"]).exits(0);
    assert!(again.stderr.contains("nothing to change"), "{again:#?}");
    roleos(&workspace, &["init", "--uninstall"]).exits(0);
    assert_eq!(workspace.read(".codex/config.toml"), text);
    let bare = text.trim_end().to_owned();
    for odd in [text.replace('\n', "\r\n"), bare] {
        workspace.write(".codex/config.toml", &odd);
        roleos(&workspace, &["init", "--agent", "codex"]).exits(0);
        let after = workspace.read(".codex/config.toml");
        assert!(after.starts_with(&odd), "{after:?}");
        roleos(&workspace, &["init", "--uninstall"]).exits(0);
        assert_eq!(workspace.read(".codex/config.toml"), odd);
    }
}

#[test]
fn what_is_no_json_is_refused_with_its_place_and_nothing_is_written() {
    for (agent, file, text) in [
        (
            "claude",
            ".claude/settings.local.json",
            "{\n  \"a\": oops\n}",
        ),
        (
            "codex",
            ".codex/hooks.json",
            "{ // Codex reads no comments\n}",
        ),
        ("gemini", ".gemini/settings.json", "[]"),
        ("cursor", ".cursor/hooks.json", "{\"hooks\": 3}"),
    ] {
        let workspace = repository();
        workspace.write(file, text);
        let before = workspace.snapshot();
        let refused = roleos(&workspace, &["init", "--agent", agent]).exits(1);
        let error = refused.error();
        assert!(error.contains(file) && error.contains("line "), "{error}");
        assert!(error.contains("nothing was written"), "{error}");
        assert_eq!(workspace.snapshot(), before, "{agent}");
    }
}

#[test]
fn a_dry_run_shows_a_patch_that_git_can_apply() {
    let workspace = repository();
    workspace.write(".claude/settings.local.json", "{\n  \"model\": \"x\"\n}\n");
    let before = workspace.snapshot();
    let shown = roleos(&workspace, &["init", "--agent", "claude", "--dry-run"]).exits(0);
    assert_eq!(workspace.snapshot(), before);
    workspace.write("init.patch", &shown.stdout);
    git(&workspace, &["apply", "--exclude=.git/*", "init.patch"]).exits(0);
    let patched = workspace.read(".claude/settings.local.json");
    let config = workspace.read(".role-os/config.toml");
    roleos(&workspace, &["init", "--agent", "claude"]).exits(0);
    assert_eq!(workspace.read(".claude/settings.local.json"), patched);
    assert_eq!(workspace.read(".role-os/config.toml"), config);
}

#[test]
fn the_gate_is_on_afterwards_and_it_says_so() {
    let workspace = repository();
    workspace.write(
        ".role-os/config.toml",
        "# mine\n[oversight]\ncapability_gate = false # for now\n",
    );
    let done = roleos(&workspace, &["init"]).exits(0);
    assert!(
        done.stderr
            .contains("no agent has left traces here, so this is for Claude Code"),
        "{done:#?}"
    );
    assert!(
        done.stderr.contains("the capability gate is on"),
        "{done:#?}"
    );
    assert_eq!(
        workspace.read(".role-os/config.toml"),
        "# mine\n[oversight]\ncapability_gate = true # for now\n"
    );
    for secret in [
        ".role-os/keys/x.key",
        ".role-os/sessions/x.jsonl",
        ".role-os/view.db",
        ".role-os/up.json",
    ] {
        git(&workspace, &["check-ignore", secret]).exits(0);
    }
    git(&workspace, &["check-ignore", ".claude/settings.local.json"]).exits(0);
    git(&workspace, &["check-ignore", ".role-os/config.toml"]).exits(1);
}

#[test]
fn the_agents_of_a_repository_are_found() {
    let workspace = repository();
    workspace.write("CLAUDE.md", "x");
    workspace.write(".gemini/settings.json", "{}");
    let answer = roleos(&workspace, &["--json", "init", "--dry-run"])
        .exits(0)
        .json();
    assert_eq!(answer["agents"], serde_json::json!(["claude", "gemini"]));
    assert_eq!(answer["dry_run"], true);
}

#[test]
fn an_existing_pre_push_hook_is_chained_and_put_back() {
    let workspace = repository();
    let theirs = "#!/bin/sh\ncat > \"$PWD/seen.txt\"\necho \"$1\" >> \"$PWD/seen.txt\"\n";
    let path = workspace.write(".git/hooks/pre-push", theirs);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o750)).unwrap();
    roleos(&workspace, &["init"]).exits(0);
    assert!(workspace.read(".git/hooks/pre-push").contains("Role OS"));
    push_somewhere(&workspace).exits(0);
    let seen = workspace.read("seen.txt");
    assert!(
        seen.starts_with("refs/heads/main ") && seen.ends_with("origin\n"),
        "{seen}"
    );
    roleos(&workspace, &["init", "--uninstall"]).exits(0);
    assert_eq!(workspace.read(".git/hooks/pre-push"), theirs);
    assert_eq!(
        fs::metadata(&path).unwrap().permissions().mode() & 0o777,
        0o750
    );
    assert!(!workspace.path(".git/hooks/pre-push.before-roleos").exists());
}

#[test]
fn a_hooks_path_of_the_repository_is_respected_and_a_shared_one_is_left_alone() {
    let workspace = repository();
    git(&workspace, &["config", "core.hooksPath", ".husky"]).exits(0);
    roleos(&workspace, &["init"]).exits(0);
    assert!(workspace.path(".husky/pre-push").exists());
    assert!(!workspace.path(".git/hooks/pre-push").exists());
    let elsewhere = tempfile::tempdir().unwrap();
    let workspace = repository();
    git(
        &workspace,
        &[
            "config",
            "core.hooksPath",
            elsewhere.path().to_str().unwrap(),
        ],
    )
    .exits(0);
    let done = roleos(&workspace, &["init"]).exits(0);
    assert!(
        done.stderr.contains("other repositories use as well"),
        "{done:#?}"
    );
    assert!(fs::read_dir(elsewhere.path()).unwrap().next().is_none());
}

/// Creates a bare repository beside the working tree, a commit, and a push like a person's.
pub(crate) fn prepare_push(workspace: &Workspace) {
    git(workspace, &["init", "--quiet", "--bare", "remote.git"]).exits(0);
    git(workspace, &["remote", "add", "origin", "./remote.git"]).exits(0);
    git(
        workspace,
        &["commit", "--quiet", "--allow-empty", "-m", "one"],
    )
    .exits(0);
}

fn push_somewhere(workspace: &Workspace) -> Ran {
    prepare_push(workspace);
    git(workspace, &["push", "--quiet", "origin", "main"])
}

/// Makes a push below an agent, like a script of the agent.
#[track_caller]
pub(crate) fn agents_push(workspace: &Workspace, words: &[&str]) -> Ran {
    let mut command = Command::new("git");
    command.args(words).current_dir(workspace.root());
    let mut command = quiet(command, workspace);
    command.env("CLAUDECODE", "1");
    ran(command)
}

#[test]
fn a_push_below_an_agent_is_judged_and_a_persons_own_is_not() {
    let workspace = repository();
    roleos(&workspace, &["init"]).exits(0);
    prepare_push(&workspace);
    let refused = agents_push(&workspace, &["push", "origin", "main"]).exits(1);
    assert!(refused.stderr.contains("`git:push`"), "{refused:#?}");
    assert!(refused.stderr.contains("roleos approve "), "{refused:#?}");
    assert!(!workspace.path("remote.git/refs/heads/main").exists());
    // Ways to skip it, as documented in SECURITY.md.
    agents_push(
        &workspace,
        &["push", "--no-verify", "origin", "main:skipped"],
    )
    .exits(0);
    git(&workspace, &["push", "--quiet", "origin", "main"]).exits(0);
    assert!(workspace.path("remote.git/refs/heads/main").exists());
}

/// Grants one push, and asks the hook about these git arguments: it allows them.
pub(crate) fn let_through_once(workspace: &Workspace, words: &[&str]) {
    let words_of_grant = ["grant", "git:push", "--uses", "1"];
    let words_of_grant = [&[ROLEOS][..], &words_of_grant].concat();
    let home = workspace.path("home");
    let mut terminal = Terminal::run(
        workspace,
        &words_of_grant,
        &[("HOME", home.to_str().unwrap())],
    );
    terminal.expects("[y/N] ").types("y");
    terminal.ends().exits(0);
    let event = serde_json::json!({
        "hook_event_name": "PreToolUse", "session_id": "s", "cwd": workspace.root().canonicalize().unwrap(),
        "tool_name": "Bash", "tool_input": { "command": format!("git {}", words.join(" ")) }, "tool_use_id": "t",
    });
    let hook = quiet(workspace.command(&["hook", "claude"]), workspace);
    let mut hook = assert_cmd::Command::from_std(hook);
    hook.write_stdin(event.to_string())
        .assert()
        .code(0)
        .stdout("");
}

#[test]
fn a_push_that_the_tool_call_let_through_passes_once() {
    let workspace = repository();
    roleos(&workspace, &["init"]).exits(0);
    prepare_push(&workspace);
    let words = ["push", "origin", "main"];
    let_through_once(&workspace, &words);
    agents_push(&workspace, &words).exits(0);
    git(
        &workspace,
        &["commit", "--quiet", "--allow-empty", "-m", "two"],
    )
    .exits(0);
    let refused = agents_push(&workspace, &words).exits(1);
    assert!(
        refused.stderr.contains("`git:push`"),
        "the one use is gone: {refused:#?}"
    );
}

#[test]
fn an_agent_cannot_take_its_own_hook_out() {
    let workspace = repository();
    roleos(&workspace, &["init"]).exits(0);
    let mut command = quiet(workspace.command(&["init", "--uninstall"]), &workspace);
    command.env("CLAUDECODE", "1");
    let refused = ran(command).exits(2);
    assert!(refused.error().contains("is for a person"), "{refused:#?}");
    assert!(workspace.path(".claude/settings.local.json").exists());
}

#[test]
fn the_level_of_the_machine_belongs_to_its_owner() {
    let workspace = repository();
    roleos(
        &workspace,
        &["init", "--agent", "claude", "--agent", "cursor"],
    )
    .exits(0);
    let machine = tempfile::tempdir().unwrap();
    let managed = machine.path().join("etc/claude-code/managed-settings.json");
    fs::create_dir_all(managed.parent().unwrap()).unwrap();
    fs::write(&managed, "{\n  \"company\": true\n}\n").unwrap();
    let prefix = machine.path().to_str().unwrap();
    roleos(&workspace, &["init", "--system", "--prefix", prefix]).exits(0);
    let settings: Value = serde_json::from_str(&fs::read_to_string(&managed).unwrap()).unwrap();
    assert_eq!(settings["company"], true);
    let handler = &settings["hooks"]["PreToolUse"][0]["hooks"][0];
    assert_eq!(handler["args"][0], "ROLEOS_CAPABILITY_GATE=1");
    let program = machine
        .path()
        .canonicalize()
        .unwrap()
        .join("usr/local/bin/roleos-hook");
    assert_eq!(handler["args"][1], program.to_str().unwrap());
    assert_eq!(fs::read(&program).unwrap(), fs::read(ROLEOS_HOOK).unwrap());
    let main = program.with_file_name("roleos");
    assert_eq!(fs::read(main).unwrap(), fs::read(ROLEOS).unwrap());
    assert!(machine.path().join("etc/roleos/approval.pub").exists());
    let secret = fs::metadata(machine.path().join("etc/roleos/approval.key")).unwrap();
    assert_eq!(secret.permissions().mode() & 0o777, 0o600);
    assert!(machine.path().join("etc/codex/hooks.json").exists());
    assert!(!machine.path().join("etc/.gitignore").exists());
    // The same hook twice would count twice.
    assert!(!workspace.path(".claude/settings.local.json").exists());
    assert!(workspace.path(".cursor/hooks.json").exists());
    let again = roleos(&workspace, &["init", "--system", "--prefix", prefix]).exits(0);
    assert!(again.stderr.contains("nothing to change"), "{again:#?}");
    roleos(
        &workspace,
        &["init", "--system", "--uninstall", "--prefix", prefix],
    )
    .exits(0);
    assert_eq!(
        fs::read_to_string(&managed)
            .unwrap()
            .matches("roleos")
            .count(),
        0
    );
    // A directory that other users can write to is refused.
    let open = tempfile::tempdir().unwrap();
    fs::create_dir(open.path().join("etc")).unwrap();
    fs::set_permissions(open.path().join("etc"), fs::Permissions::from_mode(0o777)).unwrap();
    let words = [
        "init",
        "--system",
        "--prefix",
        open.path().to_str().unwrap(),
    ];
    let refused = roleos(&workspace, &words).exits(2);
    assert!(
        refused.error().contains("others than root can write to it"),
        "{refused:#?}"
    );
}

/// Returns the files by name and length, without locks, which are empty and stay, without the record of protected
/// files, which every check may update, and without the cache of known programs.
fn kept(workspace: &Workspace) -> Vec<(String, usize)> {
    let files = workspace.snapshot().into_iter();
    let named = files.map(|(path, bytes)| (path.to_string_lossy().into_owned(), bytes.len()));
    let is_kept = |path: &str| {
        !path.ends_with(".lock")
            && !path.ends_with("/record")
            && !path.contains("/roleos/programs/")
    };
    named.filter(|(path, _)| is_kept(path)).collect()
}

#[test]
fn doctor_says_protected_only_where_the_canary_proved_it() {
    let workspace = repository();
    let nothing = roleos(&workspace, &["doctor"]).exits(1);
    assert!(
        nothing.stdout.contains("the capability gate is off"),
        "{nothing:#?}"
    );
    assert!(
        nothing.stdout.contains("no agent has our hook"),
        "{nothing:#?}"
    );
    let all = ["claude", "codex", "gemini", "cursor", "copilot"];
    let words: Vec<&str> = all.iter().flat_map(|agent| ["--agent", agent]).collect();
    roleos(&workspace, &[&["init"], &words[..]].concat()).exits(0);
    let before = kept(&workspace);
    let report = roleos(&workspace, &["--json", "doctor"]).exits(1).json();
    assert_eq!(kept(&workspace), before, "doctor leaves nothing behind");
    let protected: Vec<bool> = report["agents"]
        .as_array()
        .unwrap()
        .iter()
        .map(|agent| agent["protected"].as_bool().unwrap())
        .collect();
    assert_eq!(protected, [true, false, false, false, false], "{report:#}");
    for agent in report["agents"].as_array().unwrap() {
        let checks = agent["checks"].as_array().unwrap();
        let canary = checks
            .iter()
            .find(|check| check["name"] == "canary")
            .unwrap();
        assert_eq!(canary["standing"], "good", "{agent:#}");
    }
    let wrong: Vec<&Value> = report["agents"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|agent| agent["checks"].as_array().unwrap())
        .filter(|check| check["standing"] == "wrong")
        .collect();
    assert_eq!(wrong.len(), 1, "{wrong:#?}");
    assert_eq!(wrong[0]["name"], "trust");
    assert!(wrong.iter().all(|check| check["next"].is_string()));
}

#[test]
fn doctor_does_not_call_protected_what_lets_calls_pass() {
    let narrowed = |text: &str| text.replacen("\"matcher\": \"*\"", "\"matcher\": \"Read\"", 1);
    let open = |text: &str| text.replacen("\"onFailure\": \"block\"", "\"note\": 1", 1);
    let off = |text: &str| text.replacen('{', "{ \"disableAllHooks\": true, // for now\n", 1);
    type Change = fn(&str) -> String;
    let changes: [(Change, &str); 3] = [
        (narrowed, "its matcher is `Read`"),
        (open, "`\"onFailure\": \"block\"`"),
        (off, "`disableAllHooks`"),
    ];
    for (change, expected) in changes {
        let workspace = repository();
        roleos(&workspace, &["init", "--agent", "claude"]).exits(0);
        let file = ".claude/settings.local.json";
        let whole = workspace.read(file);
        workspace.write(file, change(&whole));
        assert_ne!(workspace.read(file), whole, "{expected}");
        let report = roleos(&workspace, &["doctor"]).exits(1);
        assert!(
            report.stdout.contains("Claude Code: not protected"),
            "{report:#?}"
        );
        assert!(report.stdout.contains(expected), "{report:#?}");
    }
}

#[test]
fn doctor_notices_open_keys_and_a_git_hook_that_cannot_run() {
    let workspace = repository();
    roleos(&workspace, &["init"]).exits(0);
    let mode = |path: &Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    let (key, hook) = (
        workspace.path(".role-os/keys/approval/approval.key"),
        workspace.path(".git/hooks/pre-push"),
    );
    mode(&key, 0o644);
    mode(&hook, 0o644);
    let report = roleos(&workspace, &["doctor"]).exits(1).stdout;
    assert!(report.contains("others can read"), "{report}");
    assert!(report.contains("cannot be executed"), "{report}");
    mode(&key, 0o600);
    roleos(&workspace, &["init"]).exits(0);
    roleos(&workspace, &["doctor"]).exits(0);
}

#[test]
fn doctor_notices_a_program_that_is_gone_and_a_gate_that_is_off() {
    let workspace = repository();
    roleos(&workspace, &["init"]).exits(0);
    roleos(&workspace, &["doctor"]).exits(0);
    let file = ".claude/settings.local.json";
    let text = workspace.read(file);
    let real = fs::canonicalize(ROLEOS_HOOK).unwrap();
    workspace.write(
        file,
        text.replace(real.to_str().unwrap(), "/nowhere/roleos-hook"),
    );
    let gone = roleos(&workspace, &["doctor"]).exits(1);
    assert!(
        gone.stdout.contains("`/nowhere/roleos-hook` is not there"),
        "{gone:#?}"
    );
    assert!(
        gone.stdout.contains("Claude Code: not protected"),
        "{gone:#?}"
    );
    workspace.write(file, text);
    workspace.write(".role-os/config.toml", "");
    let still = roleos(&workspace, &["doctor"]).exits(0);
    assert!(still.stdout.contains("on, by the settings"), "{still:#?}");
    let home = workspace.path("home");
    let words = [ROLEOS, "trust"];
    let mut terminal = Terminal::run(&workspace, &words, &[("HOME", home.to_str().unwrap())]);
    terminal.expects("[y/N] ").types("y");
    terminal.ends().exits(0);
    let off = roleos(&workspace, &["doctor"]).exits(1);
    assert!(
        off.stdout.contains("the capability gate is off"),
        "{off:#?}"
    );
    assert!(!off.stdout.contains("Claude Code: protected"), "{off:#?}");
}

#[test]
fn the_texts_of_init_and_doctor() {
    let workspace = repository();
    let hide = |text: String| {
        let root = workspace.root().canonicalize().unwrap();
        let program = fs::canonicalize(ROLEOS).unwrap();
        let text = text
            .replace(program.to_str().unwrap(), "<program>")
            .replace(root.to_str().unwrap(), "<root>");
        let lines = text.lines().map(|line| match line.split_once(", key ") {
            Some((before, _)) => format!("{before}, key <id>"),
            None if line.starts_with("roleos ") => "roleos <version>".to_owned(),
            None => line.to_owned(),
        });
        lines.collect::<Vec<_>>().join("\n")
    };
    let done = roleos(&workspace, &["init", "--agent", "claude"]).exits(0);
    insta::assert_snapshot!("init", hide(format!("{}---\n{}", done.stdout, done.stderr)));
    let doctor = roleos(&workspace, &["doctor"]).exits(0);
    insta::assert_snapshot!("doctor", hide(doctor.stdout));
    let out = roleos(&workspace, &["init", "--uninstall"]).exits(0);
    insta::assert_snapshot!(
        "init_uninstall",
        hide(format!("{}---\n{}", out.stdout, out.stderr))
    );
    assert!(Path::new(ROLEOS).exists());
}
