//! Authority only with evidence: only files that `roleos` wrote for the user or that the user confirmed count in a
//! workspace.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::hook::{hook, tell};
use crate::terminal::Terminal;
use crate::workspace::{Ran, Workspace};

const PLANTED: &str = "{\"git:push\":{\"granted\":true}}";
const GRANTS: &str = ".claude/role-os/capabilities.json";
const CONFIG: &str = ".role-os/config.toml";

pub(crate) fn git(folder: &Path, words: &[&str]) {
    let output = Command::new("git")
        .args(["-c", "user.name=A", "-c", "user.email=a@example.org"])
        .args(words)
        .current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    assert!(output.status.success(), "{words:?}: {output:?}");
}

/// Returns a repository with one commit and a remote.
fn repository() -> Workspace {
    let workspace = Workspace::new();
    let root = workspace.root();
    git(root, &["init", "--quiet", "--initial-branch=main"]);
    git(
        root,
        &["remote", "add", "origin", "https://example.org/a.git"],
    );
    git(
        root,
        &["commit", "--quiet", "--allow-empty", "--message", "one"],
    );
    workspace
}

fn initialised() -> Workspace {
    let workspace = repository();
    workspace.roleos(&["init", "--agent", "claude"]).succeeds();
    workspace
}

fn event(workspace: &Workspace, session: &str, name: &str, more: &Value) -> Ran {
    let mut event = json!({
        "hook_event_name": name,
        "session_id": session,
        "cwd": fs::canonicalize(workspace.root()).unwrap(),
        "transcript_path": "/nowhere/t.jsonl",
    });
    let fields = event.as_object_mut().unwrap();
    fields.extend(more.as_object().unwrap().clone());
    tell(hook(workspace, "claude", &[]), &event.to_string())
}

fn call(workspace: &Workspace, session: &str, tool: &str, input: &Value) -> Ran {
    let more = json!({ "tool_name": tool, "tool_input": input, "tool_use_id": "t" });
    event(workspace, session, "PreToolUse", &more)
}

fn bash(workspace: &Workspace, session: &str, command: &str) -> Ran {
    call(workspace, session, "Bash", &json!({ "command": command }))
}

/// Returns the answer to a call: `allow`, `ask` or `deny`.
fn verdict(ran: &Ran) -> String {
    if ran.code == 2 {
        return "deny".to_owned();
    }
    assert_eq!(ran.code, 0, "{ran:#?}");
    let answer: Value = serde_json::from_str(&ran.stdout).unwrap_or_default();
    let decision = answer.pointer("/hookSpecificOutput/permissionDecision");
    decision
        .and_then(Value::as_str)
        .unwrap_or("allow")
        .to_owned()
}

#[track_caller]
fn refuses_push(workspace: &Workspace, session: &str) -> String {
    let ran = bash(workspace, session, "git push origin main");
    assert_eq!(verdict(&ran), "deny", "{ran:#?}");
    format!("{}{}", ran.stdout, ran.stderr)
}

#[track_caller]
fn allows_push(workspace: &Workspace, session: &str) {
    let ran = bash(workspace, session, "git push origin main");
    assert_eq!(verdict(&ran), "allow", "{ran:#?}");
}

/// Answers every question with yes.
fn confirmed(workspace: &Workspace, words: &[&str], questions: usize) -> String {
    let mut terminal = Terminal::roleos(workspace, words);
    for _ in 0..questions {
        terminal.expects("[y/N] ").types("y");
    }
    let ended = terminal.ends().exits(0);
    format!("{}{}", ended.seen, ended.stdout)
}

#[test]
fn a_grant_that_comes_with_a_pull_is_refused_in_every_session() {
    let upstream = repository();
    let folder = tempfile::tempdir().unwrap();
    let workspace = Workspace::new();
    let from = upstream.root().to_str().unwrap();
    git(workspace.root(), &["clone", "--quiet", from, "."]);
    workspace.roleos(&["init", "--agent", "claude"]).succeeds();
    refuses_push(&workspace, "s1");
    upstream.write(GRANTS, PLANTED);
    git(upstream.root(), &["add", "--force", "."]);
    git(upstream.root(), &["commit", "--quiet", "--message", "docs"]);
    git(workspace.root(), &["pull", "--quiet"]);
    refuses_push(&workspace, "s1");
    let said = refuses_push(&workspace, "s2");
    assert!(said.contains("unconfirmed"), "{said}");
    let listed = workspace.roleos(&["grants"]).succeeds();
    assert!(listed.contains("unconfirmed"), "{listed}");
    let listed = workspace.roleos(&["--json", "grants"]).json();
    assert_eq!(listed[0]["unconfirmed"], true);
    let doctor = workspace.roleos(&["doctor"]).exits(1).stdout;
    assert!(
        doctor.contains("unconfirmed, so refused: git:push"),
        "{doctor}"
    );
    let explained = workspace.roleos(&["explain", "git push"]).stdout;
    assert!(explained.starts_with("deny"), "{explained}");
    drop(folder);
}

#[test]
fn a_grant_that_the_agent_planted_is_refused_in_the_next_session() {
    let workspace = initialised();
    refuses_push(&workspace, "a");
    workspace.write(GRANTS, PLANTED);
    refuses_push(&workspace, "a");
    refuses_push(&workspace, "b");
    // Confirmed by a person it counts, and only with this content.
    let seen = confirmed(&workspace, &["trust"], 1);
    assert!(
        seen.contains("git:push") && seen.contains("capabilities.json"),
        "{seen}"
    );
    allows_push(&workspace, "b");
    event(&workspace, "b", "Stop", &json!({})).exits(0);
    workspace.write(
        GRANTS,
        "{\"git:push\":{\"granted\":true},\"npm:publish\":{\"granted\":true}}",
    );
    refuses_push(&workspace, "b");
}

#[test]
fn trust_shows_the_difference_to_what_was_confirmed() {
    let workspace = initialised();
    confirmed(&workspace, &["grant", "npm:publish"], 1);
    let text = workspace.read(GRANTS);
    let planted = text.replacen('{', "{\n  \"git:push\": {\"granted\": true},", 1);
    workspace.write(GRANTS, planted);
    let seen = confirmed(&workspace, &["trust"], 1);
    assert!(
        seen.contains("+  \"git:push\": {\"granted\": true},"),
        "{seen}"
    );
    assert!(seen.contains("changed outside of `roleos`"), "{seen}");
    // A second time there is nothing to ask.
    let said = workspace.roleos(&["trust"]).succeeds();
    assert!(said.contains("nothing needs confirmation"), "{said}");
}

#[test]
fn trust_needs_a_person() {
    let workspace = initialised();
    workspace.write(GRANTS, PLANTED);
    workspace.roleos(&["trust"]).exits(2);
    refuses_push(&workspace, "s");
}

#[test]
fn without_init_a_hand_written_grant_counts_unless_git_tracks_it() {
    let workspace = repository();
    workspace.write(GRANTS, PLANTED);
    let push = |workspace: &Workspace, session: &str| {
        let mut command = hook(workspace, "claude", &[]);
        command.env("ROLEOS_CAPABILITY_GATE", "1");
        let event = json!({
            "hook_event_name": "PreToolUse", "session_id": session, "tool_use_id": "t",
            "cwd": fs::canonicalize(workspace.root()).unwrap(),
            "tool_name": "Bash", "tool_input": { "command": "git push origin main" },
        });
        verdict(&tell(command, &event.to_string()))
    };
    assert_eq!(push(&workspace, "a"), "allow");
    git(workspace.root(), &["add", "--force", GRANTS]);
    assert_eq!(push(&workspace, "b"), "deny");
}

#[test]
fn duplicate_keys_in_the_grants_are_refused() {
    for twice in [
        "{\"git:push\":{\"granted\":false},\"git:push\":{\"granted\":true}}",
        "{\"git:push\":{\"granted\":false,\"granted\":true}}",
        "{\"git:push\":{\"granted\":true,\"expires\":\"2001-01-01\",\"expires\":\"2099-01-01\"}}",
    ] {
        let workspace = Workspace::with_config("[oversight]\ncapability_gate = true\n");
        workspace.write(GRANTS, twice);
        let said = refuses_push(&workspace, "s");
        assert!(said.contains("twice"), "{said}");
    }
}

#[test]
fn committing_the_settings_does_not_switch_governance_off() {
    let workspace = initialised();
    workspace.write(
        CONFIG,
        "[oversight]\ncapability_gate = true\nmode = \"autonomous\"\nmax_tool_calls = 5\ndenied_tools = [\"WebFetch\"]\n",
    );
    git(workspace.root(), &["add", "--all"]);
    git(workspace.root(), &["commit", "--quiet", "--message", "wip"]);
    let start = event(
        &workspace,
        "s2",
        "SessionStart",
        &json!({ "source": "startup" }),
    );
    let told = format!("{}{}", start.stdout, start.stderr);
    assert!(
        told.contains("oversight.mode") && told.contains("roleos trust"),
        "{told}"
    );
    let mode = workspace.roleos(&["--json", "mode"]).json();
    assert_eq!(mode["mode"], "approved");
    let fetch = call(
        &workspace,
        "s2",
        "WebFetch",
        &json!({ "url": "https://example.org", "prompt": "x" }),
    );
    assert_eq!(verdict(&fetch), "deny", "{fetch:#?}");
    let mut verdicts = Vec::new();
    for _ in 0..6 {
        let read = call(
            &workspace,
            "s2",
            "Read",
            &json!({ "file_path": "/etc/hostname" }),
        );
        verdicts.push(verdict(&read));
    }
    assert!(
        verdicts.iter().any(|verdict| verdict != "allow"),
        "{verdicts:?}"
    );
}

/// A person's manual change to stricter settings applies for the session, also if a program restores the confirmed
/// file.
#[test]
fn a_session_keeps_the_stricter_settings_with_which_it_began() {
    let workspace = initialised();
    let confirmed = workspace.read(CONFIG);
    for (session, stricter, tool) in [
        ("a", "mode = \"restricted\"", "Bash"),
        (
            "b",
            "mode = \"approved\"\ndenied_tools = [\"WebFetch\"]",
            "WebFetch",
        ),
    ] {
        workspace.write(
            CONFIG,
            confirmed.replacen("[oversight]", &format!("[oversight]\n{stricter}"), 1),
        );
        event(
            &workspace,
            session,
            "SessionStart",
            &json!({ "source": "startup" }),
        )
        .exits(0);
        let input = json!({ "command": "touch a", "url": "https://example.org", "prompt": "x" });
        let before = verdict(&call(&workspace, session, tool, &input));
        assert_eq!(before, "deny", "{stricter}");
        workspace.write(CONFIG, &confirmed);
        let after = verdict(&call(&workspace, session, tool, &input));
        assert_eq!(
            after, "deny",
            "{stricter}: the agent put the confirmed file back"
        );
        let next = format!("{session}-next");
        event(
            &workspace,
            &next,
            "SessionStart",
            &json!({ "source": "startup" }),
        )
        .exits(0);
        assert_ne!(
            verdict(&call(&workspace, &next, tool, &input)),
            "deny",
            "the next session begins with what is there"
        );
        // A call that has not ended could have changed the settings below.
        event(&workspace, &next, "Stop", &json!({})).exits(0);
    }
}

#[test]
fn a_stricter_budget_of_an_unconfirmed_file_holds() {
    let workspace = initialised();
    let text = "[oversight]\ncapability_gate = true\nmode = \"restricted\"\nmax_tool_calls = 3\n";
    workspace.write(CONFIG, text);
    git(workspace.root(), &["add", "--force", "."]);
    let read = |_| {
        verdict(&call(
            &workspace,
            "s",
            "Read",
            &json!({ "file_path": "/etc/hostname" }),
        ))
    };
    let verdicts: Vec<String> = (0..5).map(read).collect();
    assert_eq!(verdicts, ["allow", "allow", "allow", "deny", "deny"]);
}

#[test]
fn a_program_in_the_settings_of_a_clone_never_runs_however_the_index_looks() {
    let workspace = initialised();
    let mark = workspace.path("MARK");
    let config = workspace.read(CONFIG);
    workspace.write(
        CONFIG,
        format!("{config}\n[fallback.claude]\nkind = \"command\"\ncommand = [\"sh\", \"-c\", \"touch {}; echo 1\"]\n", mark.display()),
    );
    workspace.write("in.json", "{}");
    let dispatch = || {
        workspace.roleos(&["dispatch", "checker", "--input", "in.json"]);
        assert!(!mark.exists());
    };
    dispatch();
    git(workspace.root(), &["add", "--force", "."]);
    dispatch();
    git(workspace.root(), &["read-tree", "--empty"]);
    dispatch();
    fs::remove_file(workspace.path(".git/index")).unwrap();
    dispatch();
    fs::remove_dir_all(workspace.path(".git")).unwrap();
    dispatch();
    git(workspace.root(), &["init", "--quiet"]);
    dispatch();
}

#[test]
fn an_approval_key_that_came_with_a_clone_is_refused() {
    let author = initialised();
    let workspace = repository();
    let keys = ".role-os/keys/approval";
    for name in ["approval.pub", "approval.key"] {
        let bytes = fs::read(author.path(keys).join(name)).unwrap();
        workspace.write(&format!("{keys}/{name}"), bytes);
    }
    git(workspace.root(), &["add", "--force", "."]);
    let said = workspace.roleos(&["init", "--agent", "claude"]).exits(0);
    assert!(said.stderr.contains("approval.pub"), "{said:#?}");
    let refused = Terminal::roleos(&workspace, &["--json", "grant", "git:push"]);
    let mut refused = refused;
    refused.expects("[y/N] ").types("y");
    let ended = refused.ends().exits(2);
    assert!(ended.seen.contains("key_not_confirmed"), "{ended:#?}");
    let doctor = workspace.roleos(&["doctor"]).exits(1).stdout;
    assert!(doctor.contains("approval"), "{doctor}");
}

#[test]
fn the_trust_store_is_private_and_the_hook_carries_its_path() {
    let workspace = initialised();
    let state = workspace.home().join(".local/state/roleos");
    let mode = fs::metadata(&state).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o700);
    let settings = workspace.read(".claude/settings.local.json");
    let settings: Value = serde_json::from_str(&settings).unwrap();
    let arguments = &settings["hooks"]["PreToolUse"][0]["hooks"][0]["args"];
    let arguments: Vec<&str> = arguments
        .as_array()
        .unwrap()
        .iter()
        .map(|word| word.as_str().unwrap())
        .collect();
    let at = arguments
        .iter()
        .position(|word| *word == "--trust-store")
        .unwrap();
    assert_eq!(Path::new(arguments[at + 1]), state);
    // With another HOME and another XDG_STATE_HOME the store is the same.
    confirmed(&workspace, &["grant", "git:push"], 1);
    let elsewhere = tempfile::tempdir().unwrap();
    let mut command = workspace.command(&arguments);
    command
        .env("HOME", elsewhere.path())
        .env("XDG_STATE_HOME", elsewhere.path());
    let event = json!({
        "hook_event_name": "PreToolUse", "session_id": "s", "tool_use_id": "t",
        "cwd": fs::canonicalize(workspace.root()).unwrap(),
        "tool_name": "Bash", "tool_input": { "command": "git push origin main" },
    });
    assert_eq!(verdict(&tell(command, &event.to_string())), "allow");
}

#[test]
fn init_ignores_what_must_not_be_committed_and_says_what_to_commit() {
    let workspace = repository();
    let said = workspace.roleos(&["init", "--agent", "claude"]).exits(0);
    assert!(
        said.stderr.contains("commit `.role-os/config.toml`"),
        "{said:#?}"
    );
    confirmed(&workspace, &["grant", "git:push"], 1);
    allows_push(&workspace, "s");
    for log in [
        "specialist-state.json",
        "run_log.jsonl",
        "features.jsonl",
        "events.jsonl",
        "specialist-events.jsonl",
    ] {
        workspace.write(&format!(".role-os/{log}"), "{}\n");
    }
    git(workspace.root(), &["add", "--all"]);
    let listed = Command::new("git")
        .args(["ls-files"])
        .current_dir(workspace.root())
        .output()
        .unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    let mut names: Vec<&str> = listed.lines().collect();
    names.sort_unstable();
    assert_eq!(
        names,
        [
            ".claude/role-os/.gitignore",
            ".claude/role-os/tool-contracts.json",
            ".role-os/.gitignore",
            ".role-os/config.toml",
        ]
    );
}

#[test]
fn a_hook_with_nothing_to_decide_writes_nothing_where_it_was_never_set_up() {
    let workspace = repository();
    event(
        &workspace,
        "s",
        "SessionStart",
        &json!({ "source": "startup" }),
    );
    assert_eq!(verdict(&bash(&workspace, "s", "git push")), "allow");
    event(&workspace, "s", "SessionEnd", &json!({ "reason": "other" }));
    assert!(!workspace.path(".role-os").exists());
    // With the gate on only by the variable, there is a journal, and git ignores it.
    let mut command = hook(&workspace, "claude", &[]);
    command.env("ROLEOS_CAPABILITY_GATE", "1");
    let event = json!({
        "hook_event_name": "PreToolUse", "session_id": "s", "tool_use_id": "t",
        "cwd": fs::canonicalize(workspace.root()).unwrap(),
        "tool_name": "Bash", "tool_input": { "command": "ls" },
    });
    assert_eq!(verdict(&tell(command, &event.to_string())), "allow");
    assert!(workspace.path(".role-os/sessions").is_dir());
    let status = Command::new("git")
        .args(["status", "--porcelain", "--untracked-files=all"])
        .current_dir(workspace.root())
        .output()
        .unwrap();
    let status = String::from_utf8(status.stdout).unwrap();
    assert!(!status.contains("sessions"), "{status}");
}

#[test]
fn a_grant_whose_rename_failed_leaves_the_running_session_as_it_was() {
    let workspace = initialised();
    confirmed(&workspace, &["grant", "npm:publish"], 1);
    let publish = |workspace: &Workspace| verdict(&bash(workspace, "s1", "npm publish"));
    assert_eq!(publish(&workspace), "allow");
    // A debug build fails this one between the receipt and the rename.
    let words = [
        "grant",
        "git:push",
        "--for",
        "2h",
        "--scope",
        "roleos-test-rename",
    ];
    let mut terminal = Terminal::roleos(&workspace, &words);
    terminal.expects("[y/N] ").types("y");
    terminal.ends().exits(2);
    assert_eq!(publish(&workspace), "allow");
    refuses_push(&workspace, "s1");
    confirmed(&workspace, &["grant", "git:push", "--for", "2h"], 1);
    assert_eq!(publish(&workspace), "allow");
    allows_push(&workspace, "s1");
}

#[test]
fn a_ledger_whose_record_is_gone_is_not_accepted() {
    let workspace = initialised();
    workspace
        .roleos(&["witness", "seal", "--outcome", "failed"])
        .succeeds();
    workspace.roleos(&["ledger", "verify"]).succeeds();
    let copy = ".local/share/roleos/trust/ledgers";
    for folder in [".local/state/roleos/ledgers", copy] {
        fs::remove_dir_all(workspace.home().join(folder)).unwrap();
    }
    let is_missing = || {
        let verified = workspace.roleos(&["--json", "ledger", "verify"]).exits(1);
        assert!(verified.stdout.contains("record_missing"), "{verified:#?}");
    };
    is_missing();
    // A further seal creates no new record: it could vouch for an older ledger.
    let sealed = workspace.roleos(&["witness", "seal", "--outcome", "failed"]);
    let said = format!("{}{}", sealed.stdout, sealed.stderr);
    assert!(said.contains("no record of this ledger"), "{sealed:#?}");
    is_missing();
    let accepted = workspace.roleos(&["scorecard", "--accept", "--min-tasks", "1"]);
    assert!(accepted.stdout.contains("record missing"), "{accepted:#?}");
}

#[test]
fn a_grant_that_is_revoked_from_an_unconfirmed_file_does_not_come_back() {
    let workspace = initialised();
    confirmed(&workspace, &["grant", "git:push"], 1);
    let granted = workspace.read(GRANTS);
    let planted = granted.replacen('{', "{\n  \"npm:publish\": {\"granted\": true},", 1);
    workspace.write(GRANTS, planted);
    confirmed(&workspace, &["revoke", "git:push"], 1);
    workspace.write(GRANTS, granted);
    refuses_push(&workspace, "s");
}

#[test]
fn settings_that_came_from_init_count_in_a_clone() {
    let workspace = initialised();
    git(workspace.root(), &["add", "--all"]);
    git(
        workspace.root(),
        &["commit", "--quiet", "--message", "set up"],
    );
    let clone = Workspace::new();
    git(
        clone.root(),
        &["clone", "--quiet", workspace.root().to_str().unwrap(), "."],
    );
    let said = clone.roleos(&["init", "--agent", "claude"]).exits(0);
    assert!(!said.stderr.contains("not confirmed"), "{said:#?}");
    refuses_push(&clone, "s");
}

#[test]
fn a_session_in_which_nothing_changed_has_no_diff_when_the_files_of_init_are_committed() {
    let workspace = initialised();
    git(workspace.root(), &["add", "--all"]);
    git(
        workspace.root(),
        &["commit", "--quiet", "--message", "set up"],
    );
    event(
        &workspace,
        "s",
        "SessionStart",
        &json!({ "source": "startup" }),
    );
    event(&workspace, "s", "SessionEnd", &json!({ "reason": "other" }));
    workspace.roleos(&["sessions", "seal", "s"]);
    let shown = workspace.roleos(&["witness", "replay", "latest"]);
    assert!(!shown.stdout.contains("deleted file"), "{shown:#?}");
}
