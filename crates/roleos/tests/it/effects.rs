//! The effect of tool calls on protected files: events of the hook with the real command between them.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use serde_json::{Value, json};

use crate::hook::{hook, tell};
use crate::init::{git, repository};
use crate::terminal::Terminal;
use crate::workspace::{Ran, Workspace};

const HOOK: &str = ".claude/settings.local.json";
const GRANTS: &str = ".claude/role-os/capabilities.json";
const PLANTED: &str = "{\"git:push\":{\"granted\":true}}";

/// Returns a workspace with the hook, a folder `evil` with other settings and a grant, and archives of it.
pub(crate) fn prepared() -> Workspace {
    let workspace = repository();
    workspace.roleos(&["init", "--agent", "claude"]).succeeds();
    workspace.write("evil/.claude/settings.local.json", "{}\n");
    workspace.write("evil/.claude/settings.json", "{\"disableAllHooks\":true}\n");
    workspace.write("evil/.claude/role-os/capabilities.json", PLANTED);
    workspace.write(
        "evil/.role-os/config.toml",
        "[oversight]\ncapability_gate = false\n",
    );
    workspace.write("evil/.git/hooks/pre-push", "#!/bin/sh\nexit 0\n");
    shell(
        &workspace,
        "tar cf x.tar -C evil . && (cd evil && zip -qr ../x.zip . || true)",
    );
    session(
        &workspace,
        "SessionStart",
        "a",
        &json!({ "source": "startup" }),
    )
    .exits(0);
    workspace
}

fn shell(workspace: &Workspace, command: &str) {
    let mut bash = Command::new("bash");
    bash.args(["-c", command])
        .current_dir(workspace.root())
        .env("HOME", workspace.home())
        .env("GIT_CONFIG_GLOBAL", "/dev/null");
    let output = bash.output().unwrap();
    assert!(output.status.success(), "{command}: {output:?}");
}

pub(crate) fn session(workspace: &Workspace, name: &str, session: &str, more: &Value) -> Ran {
    attended(workspace, name, session, more, false)
}

/// Makes a call with a person: without one a question is a refusal, so later changes would not be approved.
fn attended(
    workspace: &Workspace,
    name: &str,
    session: &str,
    more: &Value,
    is_attended: bool,
) -> Ran {
    let mut event = json!({
        "hook_event_name": name,
        "session_id": session,
        "cwd": fs::canonicalize(workspace.root()).unwrap(),
        "transcript_path": "/nowhere/t.jsonl",
    });
    let fields = event.as_object_mut().unwrap();
    fields.extend(more.as_object().unwrap().clone());
    let mut command = hook(workspace, "claude", &[]);
    if !is_attended {
        command.env("CI", "true");
    }
    tell(command, &event.to_string())
}

pub(crate) fn before(workspace: &Workspace, tool: &str, input: &Value) -> Ran {
    let more = json!({ "tool_name": tool, "tool_input": input, "tool_use_id": "t1" });
    session(workspace, "PreToolUse", "a", &more)
}

fn after(workspace: &Workspace, tool: &str, input: &Value) -> Ran {
    let response = json!({ "stdout": "", "stderr": "" });
    let more = json!({ "tool_name": tool, "tool_input": input, "tool_use_id": "t1", "tool_response": response });
    session(workspace, "PostToolUse", "a", &more).exits(0)
}

/// Makes one call of an agent: asks the hook, runs the command regardless of the answer, reports it. Returns the
/// message to the agent afterwards.
pub(crate) fn run(workspace: &Workspace, command: &str) -> String {
    run_by(workspace, command, || shell(workspace, command))
}

/// Does the same with `act` in place of the command.
pub(crate) fn run_by(workspace: &Workspace, command: &str, act: impl FnOnce()) -> String {
    let input = json!({ "command": command });
    // The gate's answer is not tested here: it can analyse some of these and refuses them.
    before(workspace, "Bash", &input);
    act();
    after(workspace, "Bash", &input).stdout
}

/// Returns the bytes and permissions of every protected file.
pub(crate) fn protected(workspace: &Workspace) -> Vec<(String, Option<Vec<u8>>, u32)> {
    [
        HOOK,
        ".claude/settings.json",
        GRANTS,
        ".mcp.json",
        ".role-os/config.toml",
        ".role-os/installed.json",
        ".git/hooks/pre-push",
        ".git/commondir",
        ".git/gitdir",
        ".git/config.worktree",
        ".codex/config.toml",
        ".gemini/settings.json",
        ".cursor/hooks.json",
    ]
    .into_iter()
    .map(|name| {
        let path = workspace.path(name);
        let mode = fs::symlink_metadata(&path).map_or(0, |facts| facts.permissions().mode());
        (name.to_owned(), fs::read(path).ok(), mode)
    })
    .collect()
}

#[track_caller]
pub(crate) fn refuses_push(workspace: &Workspace, name: &str) {
    let more = json!({ "tool_name": "Bash", "tool_input": { "command": "git push origin main" }, "tool_use_id": "p" });
    let ran = session(workspace, "PreToolUse", name, &more);
    let answer: Value = serde_json::from_str(&ran.stdout).unwrap_or_default();
    let decision = &answer["hookSpecificOutput"]["permissionDecision"];
    assert!(ran.code == 2 || decision == "deny", "{ran:#?}");
}

#[test]
fn no_writer_changes_a_protected_file() {
    for command in [
        "cat x.tar | tar x",
        "tar x < x.tar",
        "cmake -E copy_directory evil . || cp -rT evil .",
        "shopt -s dotglob; cp -r evil/* .",
        "python3 -c \"import shutil; shutil.copytree('evil', '.', dirs_exist_ok=True)\"",
        "perl -e 'open my $f, \">\", \".cl\".\"aude/settings.local.json\"; print $f \"{}\"'",
        "python3 -c \"import zipfile, os; z = '.cl' + 'aude'; open(z + '/settings.local.json', 'w').write('{}')\"",
        "find .claude -name '*.json' | xargs rm",
        "for f in $(find .claude -name '*.json'); do rm \"$f\"; done",
        "find . -name 'settings*' -path '*claude*' | while read f; do echo '{}' > \"$f\"; done",
        "rm -rf .claude; ln -s evil/.claude .claude",
        "mv .claude elsewhere; cp -r evil/.claude .claude",
        "d=.claude; rm $d/settings.local.json; mkdir $d/settings.local.json",
        "rm .claude/settings.local.json; ln -s ../evil/.claude/settings.json .claude/settings.local.json",
        "python3 -c \"import os; s = '/'; os.chmod('.cl' + 'aude' + s + 'settings.lo' + 'cal.json', 0); os.remove('.gi' + 't' + s + 'hoo' + 'ks' + s + 'pre-' + 'push')\"",
        "printf '{}' | dd of=.claude/settings.local.json 2>/dev/null",
        "mkdir -p .codex .gemini .cursor; echo x > .codex/config.toml; echo '{}' > .gemini/settings.json; echo '{}' > .cursor/hooks.json; echo '{}' > .mcp.json",
        "python3 -c \"open('.gi' + 't' + '/common' + 'dir', 'w').write('/tmp/evil')\"",
        "python3 -c \"import os; os.symlink('/tmp/evil', '.gi' + 't' + '/git' + 'dir')\"",
        "python3 -c \"open('.gi' + 't' + '/con' + 'fig.worktree', 'w').write('[core]\\n\\thoo' + 'ksPath = x\\n')\"",
        "python3 -c \"open('.gi' + 't' + '/con' + 'fig', 'a').write('[core]\\n\\thoo' + 'ksPath = x\\n')\"",
    ] {
        let workspace = prepared();
        let files = protected(&workspace);
        let config = workspace.read(".git/config");
        let told = run(&workspace, command);
        assert_eq!(protected(&workspace), files, "{command}");
        assert_eq!(workspace.read(".git/config"), config, "{command}");
        assert!(told.contains("put back"), "{command}: {told}");
        assert!(
            told.contains("systemMessage") && told.contains("additionalContext"),
            "{told}"
        );
        refuses_push(&workspace, "b");
        let shown = workspace.roleos(&["sessions", "show", "a"]).succeeds();
        assert!(shown.contains("restored"), "{command}: {shown}");
    }
}

#[test]
fn a_commit_that_comes_with_a_pull_or_a_computed_revision_changes_no_protected_file() {
    for command in [
        "git pull -q . wicked",
        "git checkout -q $(echo wicked)",
        "git merge -q $(printf wick)ed",
    ] {
        let workspace = prepared();
        git(&workspace, &["commit", "-q", "--allow-empty", "-m", "one"]).succeeds();
        git(&workspace, &["checkout", "-qb", "wicked"]).succeeds();
        shell(
            &workspace,
            "cp evil/.claude/settings.json .claude/settings.json; echo t > t.txt",
        );
        git(&workspace, &["add", "-f", ".claude/settings.json", "t.txt"]).succeeds();
        git(&workspace, &["commit", "-qm", "two"]).succeeds();
        git(&workspace, &["checkout", "-q", "main"]).succeeds();
        session(&workspace, "Stop", "a", &json!({})).exits(0);
        let files = protected(&workspace);
        let told = run(&workspace, command);
        assert_eq!(protected(&workspace), files, "{command}");
        assert_eq!(workspace.read("t.txt"), "t\n", "{command}");
        assert!(told.contains(".claude/settings.json"), "{told}");
    }
}

#[test]
fn tools_of_servers_cannot_change_a_protected_file_however_the_path_is_written() {
    for input in [
        json!({ "directory": ".claude", "name": "settings.local.json", "content": "{}" }),
        json!({ "path": { "parent": { "of": ".claude" }, "leaf": "settings.local.json" } }),
        json!({ "request": "{\"path\": \".cl\\u0061ude/settings.local.json\", \"text\": \"{}\"}" }),
        json!({ "archive": "x.tar", "to": "." }),
        json!({ "revision": "wicked" }),
    ] {
        let workspace = prepared();
        let files = protected(&workspace);
        let tool = "mcp__files__do";
        before(&workspace, tool, &input);
        workspace.write(HOOK, "{}");
        let told = after(&workspace, tool, &input).stdout;
        assert_eq!(protected(&workspace), files, "{input}");
        assert!(told.contains(HOOK), "{told}");
    }
}

#[test]
fn a_call_that_was_cut_off_is_looked_at_with_the_next_event() {
    for (name, more) in [
        (
            "PreToolUse",
            json!({ "tool_name": "Bash", "tool_input": { "command": "ls" }, "tool_use_id": "t2" }),
        ),
        ("UserPromptSubmit", json!({ "prompt": "go on" })),
        ("Stop", json!({})),
        ("SessionEnd", json!({ "reason": "exit" })),
        ("ConfigChange", json!({ "source": "local_settings" })),
    ] {
        let workspace = prepared();
        let files = protected(&workspace);
        before(
            &workspace,
            "Bash",
            &json!({ "command": "cat x.tar | tar x" }),
        );
        shell(&workspace, "cat x.tar | tar x");
        session(&workspace, name, "a", &more);
        assert_eq!(protected(&workspace), files, "{name}");
    }
}

#[test]
fn a_person_loses_nothing() {
    let workspace = prepared();
    let mine = "{\"permissions\":{\"deny\":[\"WebFetch\"]}}\n";
    before(&workspace, "Bash", &json!({ "command": "sleep 1" }));
    workspace.write(".claude/settings.json", mine);
    let told = after(&workspace, "Bash", &json!({ "command": "sleep 1" })).stdout;
    assert!(!workspace.path(".claude/settings.json").exists());
    let kept = told
        .split("kept in `")
        .nth(1)
        .unwrap()
        .split('`')
        .next()
        .unwrap();
    assert_eq!(fs::read_to_string(kept).unwrap(), mine);
    // The next session reports it once, and `doctor` until a person has settled it.
    let start = json!({ "source": "startup" });
    let news = session(&workspace, "SessionStart", "b", &start).stdout;
    assert!(
        news.contains("earlier session") && news.contains(".claude/settings.json"),
        "{news}"
    );
    assert!(
        !session(&workspace, "SessionStart", "c", &start)
            .stdout
            .contains("earlier session")
    );
    let doctor = workspace.roleos(&["doctor"]).stdout;
    assert!(
        doctor.contains("`.claude/settings.json` was changed by a tool call"),
        "{doctor}"
    );
    let mut terminal = Terminal::roleos(&workspace, &["trust"]);
    terminal.expects("WebFetch").expects("[y/N] ").types("y");
    terminal.ends().exits(0);
    assert_eq!(workspace.read(".claude/settings.json"), mine);
    run(&workspace, "true");
    assert_eq!(workspace.read(".claude/settings.json"), mine);
    assert!(
        !workspace
            .roleos(&["doctor"])
            .stdout
            .contains("was changed by a tool call")
    );
}

#[test]
fn between_calls_only_the_hook_and_its_switches_are_put_back() {
    let workspace = prepared();
    run(&workspace, "true");
    let mine = "{\"permissions\":{\"deny\":[\"WebFetch\"]}}\n";
    workspace.write(".claude/settings.json", mine);
    workspace.write(".mcp.json", "{\"mcpServers\":{}}\n");
    session(&workspace, "Stop", "a", &json!({})).exits(0);
    run(&workspace, "true");
    assert_eq!(workspace.read(".claude/settings.json"), mine);
    assert_eq!(workspace.read(".mcp.json"), "{\"mcpServers\":{}}\n");
    // Our hook is removed from a file with other content, and hooks are switched off in another.
    workspace.write(HOOK, "{\n  // mine\n  \"model\": \"opus\"\n}\n");
    workspace.write(
        ".claude/settings.json",
        "{\"disableAllHooks\": true, \"model\": \"x\"}\n",
    );
    let told = session(&workspace, "Stop", "a", &json!({})).exits(0).stdout;
    assert!(told.contains("the hook of roleos was put back"), "{told}");
    let hook = workspace.read(HOOK);
    assert!(hook.contains("// mine") && hook.contains("opus"), "{hook}");
    assert_eq!(hook.matches("\"hook\"").count(), 9, "{hook}");
    let switched = workspace.read(".claude/settings.json");
    assert_eq!(switched, "{\"disableAllHooks\": false, \"model\": \"x\"}\n");
    // A missing file is restored.
    fs::remove_file(workspace.path(HOOK)).unwrap();
    session(
        &workspace,
        "UserPromptSubmit",
        "a",
        &json!({ "prompt": "x" }),
    )
    .exits(0);
    assert_eq!(workspace.read(HOOK), hook);
}

#[test]
fn what_roleos_writes_for_a_person_stays() {
    let workspace = prepared();
    before(&workspace, "Bash", &json!({ "command": "sleep 1" }));
    let mut terminal = Terminal::roleos(&workspace, &["grant", "git:push", "--uses", "2"]);
    terminal.expects("[y/N] ").types("y");
    terminal.ends().exits(0);
    workspace.roleos(&["key", "rotate"]).succeeds();
    let grants = workspace.read(GRANTS);
    let told = after(&workspace, "Bash", &json!({ "command": "sleep 1" })).stdout;
    assert_eq!(told, "");
    assert_eq!(workspace.read(GRANTS), grants);
    // A person may remove the hook as well.
    before(&workspace, "Bash", &json!({ "command": "sleep 1" }));
    workspace.roleos(&["init", "--uninstall"]).succeeds();
    after(&workspace, "Bash", &json!({ "command": "sleep 1" }));
    assert!(!workspace.path(HOOK).exists());
}

#[test]
fn a_rule_of_claude_code_for_the_running_command_stays() {
    let rule = |rule: &str, command: &str| {
        let workspace = prepared();
        let input = json!({ "command": command });
        before(&workspace, "Bash", &input);
        let mut settings: Value = serde_json::from_str(&workspace.read(HOOK)).unwrap();
        settings["permissions"] = json!({ "allow": [rule] });
        workspace.write(HOOK, settings.to_string());
        after(&workspace, "Bash", &input);
        workspace.read(HOOK).contains("permissions")
    };
    assert!(rule("Bash(npm run test:*)", "npm run test -- --watch"));
    assert!(!rule("Bash(*)", "npm run test"));
    assert!(!rule("Bash", "npm run test"));
    assert!(!rule("Bash(git push:*)", "npm run test"));
    assert!(!rule("WebFetch(domain:example.org)", "npm run test"));
}

#[test]
fn an_act_that_a_person_approved_stays() {
    let workspace = prepared();
    let input = json!({ "command": "git config core.hooksPath .hooks" });
    let more = json!({ "tool_name": "Bash", "tool_input": input, "tool_use_id": "t1" });
    let ask = || attended(&workspace, "PreToolUse", "a", &more, true);
    let asked = ask().stdout;
    assert!(asked.contains("\"ask\""), "{asked}");
    // The person answered yes, so it runs.
    shell(&workspace, "git config core.hooksPath .hooks");
    assert_eq!(after(&workspace, "Bash", &input).stdout, "");
    assert!(workspace.read(".git/config").contains("hooksPath"));
    // An approval of that does not cover other settings of the agent.
    ask();
    workspace.write(HOOK, "{}");
    after(&workspace, "Bash", &input);
    assert!(workspace.read(HOOK).contains("PreToolUse"));
}

/// Creates a branch with other settings of the agent, and with a grant if `granted`.
fn branch_with_settings(granted: bool) -> Workspace {
    let workspace = prepared();
    git(&workspace, &["commit", "-q", "--allow-empty", "-m", "one"]).succeeds();
    git(&workspace, &["checkout", "-qb", "team"]).succeeds();
    workspace.write(
        ".claude/settings.json",
        "{\"disableAllHooks\": true, \"model\": \"x\"}\n",
    );
    git(&workspace, &["add", "-f", ".claude/settings.json"]).succeeds();
    if granted {
        workspace.write(GRANTS, PLANTED);
        git(&workspace, &["add", "-f", GRANTS]).succeeds();
    }
    git(&workspace, &["commit", "-qm", "two"]).succeeds();
    git(&workspace, &["checkout", "-q", "main"]).succeeds();
    session(&workspace, "Stop", "a", &json!({})).exits(0);
    workspace
}

#[test]
fn a_person_may_approve_settings_that_a_branch_brings() {
    let workspace = branch_with_settings(false);
    let merge = json!({ "command": "git merge -q team" });
    let refused = before(&workspace, "Bash", &merge).exits(2).stderr;
    let id = refused.split("roleos approve ").nth(1).expect(&refused);
    let id = id.get(..12).unwrap().to_owned();
    let mut terminal = Terminal::roleos(&workspace, &["approve", &id]);
    terminal
        .expects(".claude/settings.json")
        .expects("[y/N] ")
        .types("y");
    terminal.ends().exits(0);
    before(&workspace, "Bash", &merge).exits(0);
    shell(&workspace, "git merge -q team");
    after(&workspace, "Bash", &merge);
    // The settings stay, and hooks stay on.
    assert_eq!(
        workspace.read(".claude/settings.json"),
        "{\"disableAllHooks\": false, \"model\": \"x\"}\n"
    );
    refuses_push(&workspace, "b");
}

#[test]
fn an_approval_of_settings_covers_nothing_else() {
    // A grant in the content cannot be approved, and neither can a revision that may change until then.
    for (granted, command) in [
        (true, "git merge -q team"),
        (false, "git merge -q team@{0}"),
        (false, "git merge -q FETCH_HEAD"),
    ] {
        let workspace = branch_with_settings(granted);
        shell(&workspace, "git fetch -q . team");
        let refused = before(&workspace, "Bash", &json!({ "command": command }));
        let refused = refused.exits(2).stderr;
        assert!(refused.contains("no approval can allow it"), "{refused}");
    }
    // A file that git mistakes for the branch.
    let workspace = branch_with_settings(false);
    let merge = json!({ "command": "git merge -q team" });
    let refused = before(&workspace, "Bash", &merge).exits(2).stderr;
    assert!(refused.contains("roleos approve"), "{refused}");
    shell(&workspace, "git rev-parse team > .git/team");
    let refused = before(&workspace, "Bash", &merge).exits(2).stderr;
    assert!(refused.contains("no approval can allow it"), "{refused}");
}

#[test]
fn everyday_git_settings_stay() {
    let workspace = prepared();
    let told = run(
        &workspace,
        "git remote add up https://example.org/x.git && git config user.name B",
    );
    assert_eq!(told, "");
    assert!(workspace.read(".git/config").contains("[remote \"up\"]"));
}

#[test]
fn a_record_that_was_exchanged_blocks_until_a_person_looked() {
    let workspace = prepared();
    run(&workspace, "true");
    shell(
        &workspace,
        "find ~ -path '*protected*' -name record | while read -r f; do echo '{}' > \"$f\"; done",
    );
    let ran = before(&workspace, "Bash", &json!({ "command": "ls" }));
    assert_eq!(ran.code, 2, "{ran:#?}");
    assert!(ran.stderr.contains("roleos trust"), "{ran:#?}");
    let mut terminal = Terminal::roleos(&workspace, &["trust"]);
    terminal.expects("[y/N] ").types("y");
    terminal.ends().exits(0);
    before(&workspace, "Bash", &json!({ "command": "ls" })).exits(0);
}

const FAILS: &str = "collected 2 items\n\nt.py F.    [100%]\n\nFAILED t.py::test_a - assert 0\n=========== 1 failed, 1 passed in 0.01s ===========\n";
const PASSES: &str =
    "collected 1 item\n\nu.py .    [100%]\n\n=========== 1 passed in 0.01s ===========\n";

/// Returns a session whose tests failed.
fn failed() -> Workspace {
    let workspace = prepared();
    git(&workspace, &["commit", "-q", "--allow-empty", "-m", "one"]).succeeds();
    let edit = json!({ "file_path": workspace.path("m.py"), "content": "1" });
    before(&workspace, "Write", &edit);
    workspace.write("m.py", "1");
    after(&workspace, "Write", &edit);
    let call =
        json!({ "tool_name": "Bash", "tool_input": { "command": "pytest" }, "tool_use_id": "t1" });
    session(&workspace, "PreToolUse", "a", &call).exits(0);
    let mut done = call;
    done["error"] = json!(format!("Exit code 1\n{FAILS}"));
    session(&workspace, "PostToolUseFailure", "a", &done).exits(0);
    workspace
}

/// Returns the outcomes of all bundles, and the story of the last one.
fn sealed(workspace: &Workspace) -> (String, String) {
    workspace.roleos(&["sessions", "seal", "--all"]).exits(0);
    let shown = workspace.roleos(&["witness", "list"]).succeeds();
    let story = workspace.roleos(&["witness", "replay", "latest"]).stdout;
    (shown, story)
}

#[test]
fn a_journal_that_a_program_cut_or_removed_is_missed() {
    for (command, goes_on) in [
        (
            "import glob, os; [os.remove(x) for x in glob.glob('.r*/ses*/a.*')]",
            true,
        ),
        (
            "import glob, os; [os.remove(x) for x in glob.glob('.r*/ses*/a.*')]",
            false,
        ),
        (
            "import glob; [open(x, 'w') for x in glob.glob('.r*/ses*/a.*')]",
            true,
        ),
        (
            "import glob; x = glob.glob('.r*/ses*/a.*')[0]; t = open(x).readlines(); open(x, 'w').writelines(t[:2])",
            true,
        ),
        (
            "import glob; x = glob.glob('.r*/ses*/a.*')[0]; t = open(x).read().replace('1 failed', '0 failed'); open(x, 'w').write(t)",
            true,
        ),
    ] {
        let workspace = failed();
        let python = format!("python3 -c \"{command}\"");
        let input = json!({ "command": python });
        before(&workspace, "Bash", &input);
        shell(&workspace, &python);
        if goes_on {
            after(&workspace, "Bash", &input);
            before(&workspace, "Bash", &json!({ "command": "pytest" }));
            let input = json!({ "command": "pytest" });
            let response = json!({ "stdout": PASSES, "stderr": "" });
            let more = json!({ "tool_name": "Bash", "tool_input": input, "tool_use_id": "t1", "tool_response": response });
            session(&workspace, "PostToolUse", "a", &more).exits(0);
            session(&workspace, "SessionEnd", "a", &json!({ "reason": "exit" })).exits(0);
        }
        let (outcomes, story) = sealed(&workspace);
        assert!(outcomes.contains("failed"), "{command}: {outcomes}");
        assert!(!outcomes.contains("solved"), "{command}: {outcomes}");
        assert!(story.contains("journal"), "{command}: {story}");
    }
}

#[test]
fn a_note_that_a_crash_tore_is_no_loss() {
    let workspace = failed();
    let state = workspace.home().join(".local/state/roleos");
    let notes = all_files(&state).into_iter();
    let mut notes = notes.filter(|path| path.ends_with("journals/a"));
    let note = notes.next().unwrap();
    let bytes = fs::read(&note).unwrap();
    fs::write(&note, bytes.get(..bytes.len() / 2).unwrap()).unwrap();
    session(&workspace, "SessionEnd", "a", &json!({ "reason": "exit" })).exits(0);
    let (outcomes, story) = sealed(&workspace);
    assert!(outcomes.contains("failed"), "{outcomes}");
    assert!(!story.contains("journal was removed"), "{story}");
}

#[test]
fn the_note_of_a_running_call_holds_no_secret() {
    let workspace = prepared();
    let command = "curl -u ada:hunter2xyz https://example.org";
    before(&workspace, "Bash", &json!({ "command": command })).exits(0);
    let state = workspace.home().join(".local/state/roleos");
    let mut calls = 0;
    for path in all_files(&state) {
        let bytes = fs::read(&path).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        calls += usize::from(text.contains("curl -u"));
        assert!(!text.contains("hunter2xyz"), "{}", path.display());
    }
    assert_eq!(calls, 1);
}

#[test]
fn nothing_is_written_for_a_call_that_changes_nothing() {
    let workspace = prepared();
    let state = |workspace: &Workspace| {
        let mut found = Vec::new();
        for entry in walk(&workspace.home().join(".local/state/roleos")) {
            let facts = fs::metadata(&entry).unwrap();
            found.push((entry, facts.modified().unwrap()));
        }
        found.sort();
        found
    };
    // The facts of a fresh file prove nothing, so the first checks may still settle.
    std::thread::sleep(std::time::Duration::from_millis(2100));
    run(&workspace, "true");
    let settled = state(&workspace);
    run(&workspace, "true");
    assert_eq!(state(&workspace), settled);
}

/// Returns the files that only change with a protected file: neither running calls nor journals.
fn walk(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut found = all_files(folder);
    found.retain(|path| {
        let path = path.to_string_lossy();
        !path.contains("/calls/") && !path.contains("/journals/")
    });
    found
}

fn all_files(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| {
            if path.is_dir() {
                all_files(&path)
            } else {
                vec![path]
            }
        })
        .collect()
}
