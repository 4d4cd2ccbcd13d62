//! Every agent's dialect through the real binary: a recorded event as input, the exact answer and exit code as output.

use std::fmt::Write as _;
use std::fs::File;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::workspace::{ROLEOS, ROLEOS_HOOK, Ran, Workspace};

/// Variables by which an agent around the tests would be recognised.
const OF_AGENTS: &[&str] = &[
    "CI",
    "GITHUB_ACTIONS",
    "CLAUDECODE",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_SESSION_ATTENDED",
    "ROLEOS_CAPABILITY_GATE",
];

const GATE: &str = "[oversight]\ncapability_gate = true\n";

const CONTRACT: &str = r#"{"params":[{"name":"timeout","type":"number","max":600000}]}"#;

/// Returns the binary like an installed hook.
pub(crate) fn hook(workspace: &Workspace, agent: &str, more: &[&str]) -> Command {
    let root = workspace.root().to_str().unwrap().to_owned();
    let words = [&["hook", agent, "--root", &root], more].concat();
    let mut command = workspace.command(&words);
    command
        .env("HOME", workspace.path("home"))
        .env("XDG_STATE_HOME", workspace.home().join(".local/state"));
    for variable in OF_AGENTS {
        command.env_remove(variable);
    }
    command
}

/// Sends an event to a hook and returns the answer, as the agent treats it.
pub(crate) fn tell(command: Command, event: &str) -> Ran {
    answer(command, event).seen_by_agent()
}

/// Does the same, byte for byte.
pub(crate) fn answer(mut command: Command, event: &str) -> Ran {
    use std::io::Write as _;
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A hook that refuses without reading is not a failure of the test.
    child.stdin.take().unwrap().write_all(event.as_bytes()).ok();
    let output = child.wait_with_output().unwrap();
    Ran {
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
        code: output.status.code().unwrap_or(-1),
    }
}

/// Returns a call as each agent reports it before it runs.
pub(crate) fn call(agent: &str, root: &str, input: &Value) -> Value {
    match agent {
        "claude" => json!({
            "session_id": "0199c0de-0000-7000-8000-000000000001",
            "prompt_id": "p-1",
            "transcript_path": "/nowhere/t.jsonl",
            "cwd": root,
            "permission_mode": "default",
            "effort": { "level": "high" },
            "hook_event_name": "PreToolUse",
            "tool_name": "Bash",
            "tool_input": input,
            "tool_use_id": "toolu_01",
        }),
        "codex" => json!({
            "session_id": "0199c0de-0000-7000-8000-000000000002",
            "turn_id": "1",
            "transcript_path": null,
            "cwd": root,
            "hook_event_name": "PreToolUse",
            "model": "scripted",
            "permission_mode": "bypassPermissions",
            "tool_name": "Bash",
            "tool_input": input,
            "tool_use_id": "call_1",
        }),
        "gemini" => json!({
            "session_id": "0199c0de-0000-7000-8000-000000000003",
            "transcript_path": "/nowhere/t.json",
            "cwd": root,
            "hook_event_name": "BeforeTool",
            "timestamp": "2026-11-01T12:00:00Z",
            "tool_name": "run_shell_command",
            "tool_input": input,
        }),
        "cursor" => json!({
            "conversation_id": "0199c0de-0000-7000-8000-000000000004",
            "generation_id": "g-1",
            "model": "scripted",
            "hook_event_name": "preToolUse",
            "cursor_version": "3.0.0",
            "workspace_roots": [root],
            "user_email": "a@example.org",
            "transcript_path": null,
            "tool_name": "Shell",
            "tool_input": input,
            "tool_use_id": "t-1",
            "cwd": root,
        }),
        "copilot" => json!({
            "sessionId": "0199c0de-0000-7000-8000-000000000005",
            "timestamp": 1_793_534_400_000_u64,
            "cwd": root,
            "toolName": "bash",
            "toolArgs": input,
        }),
        other => panic!("no agent `{other}`"),
    }
}

fn workspace(gate: bool) -> Workspace {
    let workspace = Workspace::new();
    workspace.write(".role-os/config.toml", if gate { GATE } else { "" });
    let tools = ["Bash", "run_shell_command", "Shell", "bash"];
    let contracts: Vec<String> = tools
        .iter()
        .map(|tool| format!("\"{tool}\":{CONTRACT}"))
        .collect();
    let contracts = format!("{{{}}}", contracts.join(","));
    workspace.write(".claude/role-os/tool-contracts.json", contracts);
    workspace
}

/// Replaces ids and paths, which differ from run to run.
fn settled(workspace: &Workspace, text: &str) -> String {
    let root = workspace.root().canonicalize().unwrap();
    let mut text = text
        .replace(root.to_str().unwrap(), "[root]")
        .replace(workspace.root().to_str().unwrap(), "[root]");
    // The line of the panic changes with every edit of that file.
    let mut parts = text.split("hook/tool.rs:").map(str::to_owned);
    let mut placeless = parts.next().unwrap_or_default();
    for part in parts {
        placeless.push_str("hook/tool.rs:[place]:");
        placeless.push_str(part.trim_start_matches(|c: char| c.is_ascii_digit() || c == ':'));
    }
    text = placeless;
    let mut parts = text.split("roleos approve ");
    let mut settled = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (id, rest) = part.split_at(12);
        assert!(id.bytes().all(|digit| digit.is_ascii_hexdigit()), "{id}");
        settled.push_str("roleos approve [id]");
        settled.push_str(rest);
    }
    settled
}

/// Returns every possible answer to an agent, as one text.
fn story(agent: &str) -> String {
    let open = workspace(false);
    let closed = workspace(true);
    let mut story = String::new();
    let mut scene = |what: &str, workspace: &Workspace, more: &[&str], event: &str| {
        let ran = answer(hook(workspace, agent, more), event);
        let part = |name: &str, text: &str| match settled(workspace, text) {
            text if text.is_empty() => String::new(),
            text => format!("{name}: {text}"),
        };
        let stdout = part("stdout", &ran.stdout);
        let stderr = part("stderr", &ran.stderr);
        writeln!(story, "{what}: exit {}\n{stdout}{stderr}", ran.code).unwrap();
    };
    let event = |workspace: &Workspace, input: Value| {
        call(agent, workspace.root().to_str().unwrap(), &input).to_string()
    };
    let command = |command: &str| json!({ "command": command });
    scene("allow", &closed, &[], &event(&closed, command("ls -la")));
    let slow = json!({ "command": "ls", "timeout": 700_000 });
    scene("advise", &closed, &[], &event(&closed, slow));
    scene("ask", &closed, &[], &event(&closed, command("eval \"$X\"")));
    scene(
        "deny",
        &closed,
        &[],
        &event(&closed, command("git push && npm publish")),
    );
    scene("broken input", &closed, &[], "{\"hook_event_name\":");
    scene("no input", &closed, &[], "");
    let renamed = |from: &str, to: &str| event(&closed, command("ls")).replace(from, to);
    let tool = call(agent, "", &json!({}));
    let tool = ["tool_name", "toolName"]
        .iter()
        .find_map(|name| tool[*name].as_str());
    let tool = format!("\"{}\"", tool.unwrap());
    scene(
        "panic",
        &closed,
        &[],
        &renamed(&tool, "\"roleos-test-panic\""),
    );
    let unknown = json!({ "hook_event_name": "SomethingNew", "session_id": "s" }).to_string();
    scene("unknown event", &closed, &[], &unknown);
    scene(
        "gate off: deny",
        &open,
        &[],
        &event(&open, command("git push")),
    );
    scene(
        "gate off: broken input",
        &open,
        &[],
        "{\"hook_event_name\":",
    );
    let off = event(&open, command("ls")).replace(&tool, "\"roleos-test-panic\"");
    scene("gate off: panic", &open, &[], &off);
    let session = only_journal(&closed);
    let lock = File::options()
        .append(true)
        .open(closed.path(&session))
        .unwrap();
    lock.lock().unwrap();
    let more = ["--deadline-ms", "200"];
    scene("deadline", &closed, &more, &event(&closed, command("ls")));
    story
}

/// Returns the only journal, relative to the root.
pub(crate) fn only_journal(workspace: &Workspace) -> String {
    let entries = std::fs::read_dir(workspace.path(".role-os/sessions")).unwrap();
    let names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".jsonl"))
        .collect();
    assert_eq!(names.len(), 1, "{names:?}");
    format!(".role-os/sessions/{}", names[0])
}

#[test]
fn claude() {
    insta::assert_snapshot!(story("claude"));
}

#[test]
fn codex() {
    insta::assert_snapshot!(story("codex"));
}

#[test]
fn gemini() {
    insta::assert_snapshot!(story("gemini"));
}

#[test]
fn cursor() {
    insta::assert_snapshot!(story("cursor"));
}

#[test]
fn copilot() {
    insta::assert_snapshot!(story("copilot"));
}

fn push(workspace: &Workspace, agent: &str) -> String {
    let root = workspace.root().to_str().unwrap();
    call(agent, root, &json!({ "command": "git push" })).to_string()
}

#[test]
fn the_environment_switches_the_gate_on_and_never_off() {
    let open = Workspace::new();
    for (value, code) in [("1", 2), ("true", 2), ("0", 0), ("yes", 0), ("", 0)] {
        let mut command = hook(&open, "claude", &[]);
        command.env("ROLEOS_CAPABILITY_GATE", value);
        tell(command, &push(&Workspace::new(), "claude")).exits(code);
    }
    let closed = Workspace::with_config(GATE);
    let mut command = hook(&closed, "claude", &[]);
    command.env("ROLEOS_CAPABILITY_GATE", "0");
    tell(command, &push(&closed, "claude")).exits(2);
}

#[test]
fn a_question_without_a_person_is_a_refusal_unless_it_was_allowed() {
    let check = |config: &str, attended: &str, code: i32| {
        let workspace = Workspace::with_config(config);
        let root = workspace.root().to_str().unwrap();
        let event = call("claude", root, &json!({ "command": "eval \"$X\"" }));
        let mut command = hook(&workspace, "claude", &[]);
        command.env("CLAUDE_CODE_SESSION_ATTENDED", attended);
        let ran = tell(command, &event.to_string()).exits(code);
        assert_eq!(ran.stdout.contains("\"ask\""), code == 0, "{ran:#?}");
    };
    check(GATE, "1", 0);
    check(GATE, "0", 2);
    check(&format!("{GATE}unattended = \"ask\"\n"), "0", 0);
}

#[test]
fn what_cannot_be_read_blocks_a_call_and_nothing_else() {
    let check = |config: &str, grants: &str, expected: &str| {
        let workspace = Workspace::with_config(config);
        workspace.write(".claude/role-os/capabilities.json", grants);
        let ran = tell(hook(&workspace, "claude", &[]), &push(&workspace, "claude")).exits(2);
        assert!(ran.stderr.contains(expected), "{ran:#?}");
        let stop = json!({ "hook_event_name": "Stop", "session_id": "s" }).to_string();
        tell(hook(&workspace, "claude", &[]), &stop).exits(0);
    };
    check("[oversight]\ncapability_gate = maybe", "{}", "config.toml");
    check("[oversight]\nmode = \"free\"", "{}", "config.toml");
    check(GATE, "[]", "capabilities.json");
    check(GATE, "{", "capabilities.json");
    let gone = Workspace::new();
    let mut command = Command::new(crate::workspace::ROLEOS);
    command.args(["hook", "claude", "--root", "/nowhere/at/all"]);
    let ran = tell(command, &push(&gone, "claude")).exits(2);
    assert!(ran.stderr.contains("/nowhere/at/all"), "{ran:#?}");
    for program in [ROLEOS, ROLEOS_HOOK] {
        let ran = answer(gone.program(program, &["hook", "cluade"]), "").exits(2);
        assert!(ran.stderr.contains("claude"), "{ran:#?}");
    }
}

#[test]
fn a_grant_lets_through_as_often_as_it_says() {
    let workspace = Workspace::with_config(GATE);
    let grants = r#"{"git:push":{"granted":true,"uses":2}}"#;
    workspace.write(".claude/role-os/capabilities.json", grants);
    for code in [0, 0, 2] {
        tell(hook(&workspace, "claude", &[]), &push(&workspace, "claude")).exits(code);
    }
    let journal = workspace.read(&only_journal(&workspace));
    assert_eq!(
        journal.matches(r#""grants":["git:push"]"#).count(),
        2,
        "{journal}"
    );
}

#[test]
fn grants_that_appear_in_a_session_without_a_person_are_void() {
    let workspace = Workspace::with_config(GATE);
    tell(hook(&workspace, "claude", &[]), &push(&workspace, "claude")).exits(2);
    let grants = r#"{"git:push":{"granted":true}}"#;
    workspace.write(".claude/role-os/capabilities.json", grants);
    let ran = tell(hook(&workspace, "claude", &[]), &push(&workspace, "claude")).exits(2);
    assert!(ran.stderr.contains("since this session began"), "{ran:#?}");
    // Another session knows them from its start.
    let other = push(&workspace, "claude").replace("0199c0de", "0199c0df");
    tell(hook(&workspace, "claude", &[]), &other).exits(0);
}

#[test]
fn switching_the_gate_off_behind_our_back_does_not_end_it_for_the_session() {
    let workspace = Workspace::with_config(GATE);
    tell(hook(&workspace, "claude", &[]), &push(&workspace, "claude")).exits(2);
    workspace.write(".role-os/config.toml", "");
    tell(hook(&workspace, "claude", &[]), &push(&workspace, "claude")).exits(2);
    let other = push(&workspace, "claude").replace("0199c0de", "0199c0df");
    tell(hook(&workspace, "claude", &[]), &other).exits(0);
}

#[test]
fn a_mode_governs_without_the_gate() {
    let workspace =
        Workspace::with_config("[oversight]\nmode = \"autonomous\"\nmax_tool_calls = 2\n");
    let root = workspace.root().to_str().unwrap();
    let event = call("claude", root, &json!({ "command": "ls" })).to_string();
    for code in [0, 0, 2, 2] {
        tell(hook(&workspace, "claude", &[]), &event).exits(code);
    }
    let journal = workspace.read(&only_journal(&workspace));
    assert!(
        journal.contains("tool call budget exceeded: 3 > 2"),
        "{journal}"
    );
}

#[test]
fn a_change_of_settings_that_takes_the_hook_out_is_refused() {
    let workspace = Workspace::with_config(GATE);
    let settings = r#"{"hooks":{"PreToolUse":[{"hooks":[{"command":"/bin/roleos","args":["hook","claude"]}]}]}}"#;
    workspace.write(".claude/settings.local.json", settings);
    let event = |name: &str| {
        json!({ "hook_event_name": name, "session_id": "s", "source": "local_settings" })
            .to_string()
    };
    let tell = |name: &str| tell(hook(&workspace, "claude", &[]), &event(name));
    tell("SessionStart").exits(0);
    tell("ConfigChange").exits(0);
    workspace.write(".claude/settings.local.json", "{}");
    let ran = tell("ConfigChange").exits(2);
    assert!(
        ran.stderr.contains("take the hook of roleos out"),
        "{ran:#?}"
    );
    let narrow = settings.replacen("{\"hooks\":[", "{\"matcher\":\"Read\",\"hooks\":[", 1);
    workspace.write(".claude/settings.local.json", narrow);
    tell("ConfigChange").exits(2);
    workspace.write(".claude/settings.local.json", settings);
    workspace.write(".claude/settings.json", "{ // \"disableAllHooks\": true\n}");
    tell("ConfigChange").exits(0);
    workspace.write(".claude/settings.json", "{ \"disableAllHooks\" : true }");
    tell("ConfigChange").exits(2);
}

#[test]
fn a_question_that_does_not_arrive_blocks_and_says_so_and_advice_does_not() {
    let workspace = workspace(true);
    let root = workspace.root().to_str().unwrap().to_owned();
    let inputs = [
        (json!({ "command": "bash -c \"$X\"" }), 2, "could not ask"),
        (json!({ "command": "ls", "timeout": 700_000 }), 0, ""),
    ];
    for (input, code, expected) in inputs {
        let event = call("claude", &root, &input).to_string();
        let heard = tell(hook(&workspace, "claude", &[]), &event).exits(0);
        assert!(!heard.stdout.is_empty(), "{heard:#?}");
        let mut child = hook(&workspace, "claude", &[])
            .stdin(Stdio::piped())
            .stdout(File::create("/dev/full").unwrap())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), event.as_bytes()).unwrap();
        let ended = child.wait_with_output().unwrap();
        let said = String::from_utf8(ended.stderr).unwrap();
        assert_eq!(ended.status.code(), Some(code), "{said}");
        assert!(said.contains(expected), "{said}");
    }
}

#[test]
fn a_text_that_was_cut_inside_of_a_character_is_still_an_event() {
    let workspace = workspace(true);
    let root = workspace.root().to_str().unwrap().to_owned();
    for (command, code) in [("echo half", 0), ("git push; echo half", 2)] {
        let event = call("claude", &root, &json!({ "command": command })).to_string();
        let event = event.replace("half", "\\ud83d");
        tell(hook(&workspace, "claude", &[]), &event).exits(code);
    }
}

#[test]
fn giving_the_settings_to_git_does_not_free_a_running_session() {
    let workspace = crate::init::repository();
    workspace.write(
        ".role-os/config.toml",
        "[oversight]\nmode = \"autonomous\"\nmax_tool_calls = 1\n",
    );
    let root = workspace.root().to_str().unwrap().to_owned();
    let event = call("claude", &root, &json!({ "command": "ls" })).to_string();
    tell(hook(&workspace, "claude", &[]), &event).exits(0);
    crate::init::git(&workspace, &["add", "-f", ".role-os/config.toml"]).exits(0);
    // Settings that may have come with a clone are not trusted: the mode becomes `approved`, and the stricter budget
    // applies.
    let other = event.replace("8000-000000000001", "8000-000000000009");
    for event in [&event, &other, &other] {
        let asked = tell(hook(&workspace, "claude", &[]), event).exits(0);
        let answer = asked.json();
        let decision = &answer["hookSpecificOutput"]["permissionDecision"];
        assert_eq!(decision, "ask", "{asked:#?}");
    }
}

#[test]
fn settings_that_are_gone_do_not_switch_off_what_was_installed() {
    let workspace = crate::init::repository();
    crate::init::roleos(&workspace, &["init", "--agent", "claude"]).exits(0);
    crate::init::git(&workspace, &["clean", "--quiet", "-fd"]).exits(0);
    assert!(!workspace.path(".role-os/config.toml").exists());
    let event = push(&workspace, "claude");
    tell(hook(&workspace, "claude", &[]), &event).exits(2);
    let doctor = crate::init::roleos(&workspace, &["doctor"]).exits(1);
    assert!(
        doctor.stdout.contains("the gate counts as on"),
        "{doctor:#?}"
    );
    crate::init::roleos(&workspace, &["init", "--uninstall"]).exits(0);
    // Another session: one that began with the gate keeps it.
    let event = event.replace("8000-000000000001", "8000-000000000009");
    tell(hook(&workspace, "claude", &[]), &event).exits(0);
}

#[test]
fn a_file_that_cursor_does_not_name_is_not_read() {
    let workspace = workspace(true);
    let event =
        json!({ "hook_event_name": "beforeReadFile", "conversation_id": "c", "content": "x" });
    let refused = tell(hook(&workspace, "cursor", &[]), &event.to_string()).exits(2);
    assert!(refused.stderr.contains("`file_path`"), "{refused:#?}");
}

#[test]
fn settings_that_are_links_are_protected_where_they_lead() {
    let workspace = workspace(true);
    let root = workspace.root().to_str().unwrap().to_owned();
    workspace.write("dots/claude.json", "{}");
    std::fs::create_dir_all(workspace.path(".claude")).unwrap();
    let link = workspace.path(".claude/settings.local.json");
    std::os::unix::fs::symlink("../dots/claude.json", link).unwrap();
    for (file, code) in [("claude.json", 2), ("other.json", 0)] {
        let command = format!("echo x > dots/{file}");
        let event = call("claude", &root, &json!({ "command": command }));
        tell(hook(&workspace, "claude", &[]), &event.to_string()).exits(code);
    }
}

#[test]
fn secrets_are_not_kept() {
    let workspace = Workspace::with_config(GATE);
    let key = format!("ghp_{}", "0123456789abcdefghij".repeat(2));
    let root = workspace.root().to_str().unwrap();
    let event = call(
        "claude",
        root,
        &json!({ "command": format!("curl -H 'x: {key}' https://a.b") }),
    );
    tell(hook(&workspace, "claude", &[]), &event.to_string());
    let prompt = json!({ "hook_event_name": "UserPromptSubmit", "session_id": event["session_id"], "prompt": format!("use {key}") });
    tell(hook(&workspace, "claude", &[]), &prompt.to_string()).exits(0);
    let journal = workspace.read(&only_journal(&workspace));
    assert!(!journal.contains(&key), "{journal}");
    assert_eq!(
        journal.matches("[redacted:github-token]").count(),
        2,
        "{journal}"
    );
}

#[test]
fn an_event_that_is_too_long_or_too_deep_is_refused_quickly() {
    let workspace = Workspace::with_config(GATE);
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let ran = tell(hook(&workspace, "claude", &[]), &deep).exits(2);
    assert!(ran.stderr.contains("no JSON"), "{ran:#?}");
    let long = format!("\"{}\"", "x".repeat(33 << 20));
    let ran = tell(hook(&workspace, "claude", &[]), &long).exits(2);
    assert!(ran.stderr.contains("longer than"), "{ran:#?}");
}
