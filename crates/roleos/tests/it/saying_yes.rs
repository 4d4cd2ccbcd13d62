//! Actions that only a person may perform, at a terminal and without one: approve, grant, revoke, mode, trust, and the
//! approval key.

use std::fs;
use std::path::Path;
use std::process::Command;

use guard::approvals::{self, Act, Taken};
use oversight::decide::Call;
use oversight::verdict::{Place, Policy, decide_command};
use serde_json::{Value, json};

use crate::terminal::Terminal;
use crate::workspace::{ROLEOS, Ran, Workspace};

fn git(folder: &Path, words: &[&str]) {
    let output = Command::new("git")
        .args(["-c", "user.name=A", "-c", "user.email=a@example.org"])
        .args(words)
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(output.status.success(), "{words:?}: {output:?}");
}

/// Returns a repository with one commit and a remote.
fn repository() -> Workspace {
    let workspace = Workspace::new();
    git(
        workspace.root(),
        &["init", "--quiet", "--initial-branch=main"],
    );
    git(
        workspace.root(),
        &["remote", "add", "origin", "https://example.org/a.git"],
    );
    git(
        workspace.root(),
        &["commit", "--quiet", "--allow-empty", "--message", "one"],
    );
    workspace
}

fn library(workspace: &Workspace) -> base::workspace::Workspace {
    base::workspace::Workspace::at(workspace.root()).unwrap()
}

/// Returns the act of a command in the workspace, as the hook sees it.
fn act(workspace: &Workspace, command: &str) -> Act {
    let root = fs::canonicalize(workspace.root()).unwrap();
    let directory = root.to_str().unwrap();
    let place = Place {
        directory,
        home: directory,
    };
    let grants = oversight::grants::Grants::none();
    let now = jiff::Timestamp::UNIX_EPOCH;
    let lookup = lookup::Disk;
    let decision = decide_command(&Policy::default(), command, place, &lookup, &grants, now);
    let input = json!({ "command": command });
    let call = Call {
        tool: "Bash",
        input: &input,
        place,
    };
    Act::of(&call, &decision.act)
}

/// Refuses a command like the hook, and returns the id.
fn refused(workspace: &Workspace, command: &str) -> String {
    let reasons = ["`git:push` (push to a remote) is irreversible and has no grant".to_owned()];
    let now = base::clock::now_ns();
    let act = act(workspace, command);
    approvals::refuse(&library(workspace), &act, &reasons, now)
        .unwrap()
        .to_string()
}

fn take(workspace: &Workspace, command: &str) -> Taken {
    let act = act(workspace, command);
    approvals::take(&library(workspace), &act, base::clock::now_ns()).unwrap()
}

/// Returns the output for a person, without parts that differ from run to run.
fn scrubbed(workspace: &Workspace, text: &str) -> String {
    let real = fs::canonicalize(workspace.root()).unwrap();
    let mut text = text
        .replace(real.to_str().unwrap(), "[root]")
        .replace(workspace.root().to_str().unwrap(), "[root]")
        .replace(workspace.home().to_str().unwrap(), "[home]");
    let mut shown = String::new();
    for line in std::mem::take(&mut text).lines() {
        let words = line.split(' ').map(|word| {
            let bare = word.trim_end_matches(',');
            let is_time = bare.len() >= 16 && bare.parse::<jiff::Timestamp>().is_ok();
            let is_id =
                matches!(word.len(), 12 | 16) && word.bytes().all(|byte| byte.is_ascii_hexdigit());
            match (is_time, is_id) {
                (true, _) => word.replace(bare, "[time]"),
                (_, true) => "[id]".to_owned(),
                _ => word.to_owned(),
            }
        });
        shown.push_str(&words.collect::<Vec<_>>().join(" "));
        shown.push('\n');
    }
    shown
}

#[test]
fn a_person_approves_a_push_and_it_holds_once() {
    let workspace = repository();
    let id = refused(&workspace, "git push origin main");
    assert_eq!(take(&workspace, "git push origin main"), Taken::No);
    let mut terminal = Terminal::roleos(&workspace, &["approve", &id]);
    terminal
        .expects("Allow exactly this, once, within 10 min? [y/N] ")
        .types("y");
    let ended = terminal.ends().exits(0);
    insta::assert_snapshot!("approve_screen", scrubbed(&workspace, &ended.seen));
    insta::assert_snapshot!("approve_answer", scrubbed(&workspace, &ended.stdout));
    assert!(matches!(
        take(&workspace, "git push origin main"),
        Taken::Yes(_)
    ));
    assert_eq!(take(&workspace, "git push origin main"), Taken::No);
    let error = Terminal::roleos(&workspace, &["--json", "approve", &id])
        .ends()
        .exits(1);
    assert!(
        error.seen.contains("\"code\":\"unknown_act\""),
        "{error:#?}"
    );
}

#[test]
fn no_means_no() {
    for answer in ["n", "", "nein", "yy", "\u{4}"] {
        let workspace = repository();
        let id = refused(&workspace, "git push");
        let mut terminal = Terminal::roleos(&workspace, &["approve", &id]);
        terminal.expects("[y/N] ").types(answer);
        let ended = terminal.ends().exits(2);
        assert!(ended.seen.contains("nothing was changed"), "{ended:#?}");
        assert_eq!(take(&workspace, "git push"), Taken::No);
    }
}

#[test]
fn an_approval_is_not_offered_for_what_has_changed() {
    let workspace = repository();
    let id = refused(&workspace, "git push");
    git(
        workspace.root(),
        &["commit", "--quiet", "--allow-empty", "--message", "two"],
    );
    let ended = Terminal::roleos(&workspace, &["approve", &id])
        .ends()
        .exits(2);
    assert!(ended.seen.contains("is no longer as it was"), "{ended:#?}");
}

#[test]
fn an_approval_is_void_when_the_repository_changes_after_it() {
    let workspace = repository();
    let id = refused(&workspace, "git push");
    Terminal::roleos(&workspace, &["approve", &id])
        .expects("[y/N]")
        .types("y")
        .ends()
        .exits(0);
    git(
        workspace.root(),
        &["commit", "--quiet", "--allow-empty", "--message", "two"],
    );
    assert_eq!(take(&workspace, "git push"), Taken::No);
    git(workspace.root(), &["reset", "--quiet", "--hard", "HEAD~1"]);
    assert!(
        matches!(take(&workspace, "git push"), Taken::Yes(_)),
        "as it was again"
    );
}

#[test]
fn a_command_cannot_paint_over_what_it_is() {
    let workspace = repository();
    let id = refused(&workspace, "git push\u{1b}[2K\rgit status");
    let mut terminal = Terminal::roleos(&workspace, &["approve", &id]);
    terminal.expects("[y/N]").types("n");
    let seen = terminal.ends().exits(2).seen;
    assert!(!seen.contains('\u{1b}'), "{seen:?}");
    assert!(seen.contains("git push␛[2K␍git status"), "{seen}");
}

#[test]
fn what_was_refused_is_listed() {
    let workspace = repository();
    let empty = workspace.roleos(&["approve"]).exits(0);
    assert_eq!(
        empty.stderr,
        "nothing was refused here that could be approved\n"
    );
    let id = refused(&workspace, "git push");
    let listed = workspace.roleos(&["approve"]).succeeds();
    assert!(
        listed.starts_with(&id) && listed.contains("git push"),
        "{listed}"
    );
    let listed = workspace.roleos(&["--json", "approve"]).exits(0).json();
    assert_eq!(listed[0]["id"], id);
    assert_eq!(listed[0]["actions"], json!(["git:push"]));
}

/// Returns every command that asks a person.
fn asking(workspace: &Workspace) -> Vec<Vec<String>> {
    let id = refused(workspace, "git push");
    workspace.write(".role-os/config.toml", "[oversight]\nopaque = \"allow\"\n");
    workspace.write(
        ".claude/role-os/capabilities.json",
        "{\"git:push\":{\"granted\":true}}",
    );
    git(workspace.root(), &["add", ".role-os/config.toml"]);
    let commands: [&[&str]; 6] = [
        &["approve", &id],
        &["grant", "npm:publish"],
        &["revoke", "git:push"],
        &["mode", "restricted"],
        &["trust"],
        &["key", "new", "--approval"],
    ];
    let owned = |words: &&[&str]| words.iter().map(|&word| word.to_owned()).collect();
    commands.iter().map(owned).collect()
}

#[test]
fn without_a_terminal_nothing_is_changed() {
    let workspace = repository();
    for words in asking(&workspace) {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let before = workspace.snapshot();
        let words = [&["--quiet"], &words[..]].concat();
        let ran = workspace.roleos(&words).exits(2);
        assert!(
            ran.error().contains("standard input is no terminal"),
            "{ran:#?}"
        );
        assert!(workspace.snapshot() == before, "{words:?}");
    }
}

#[test]
fn below_an_agent_nothing_is_changed() {
    let workspace = repository();
    let marks = [
        ("CLAUDECODE", "1"),
        ("AI_AGENT", "claude-code_agent"),
        ("CODEX_SANDBOX", "seatbelt"),
        ("GEMINI_CLI", "1"),
        ("CURSOR_AGENT", "1"),
        ("COPILOT_CLI", "1"),
    ];
    for (index, words) in asking(&workspace).iter().enumerate() {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let before = workspace.snapshot();
        let mark = marks[index % marks.len()];
        let ended = Terminal::run(&workspace, &[&[ROLEOS], &words[..]].concat(), &[mark]).ends();
        assert_eq!(ended.code, 2, "{ended:#?}");
        assert!(
            ended.seen.contains("is for a person, and this runs below"),
            "{ended:#?}"
        );
        assert!(workspace.snapshot() == before, "{words:?}");
    }
}

#[test]
fn an_agent_that_hides_its_variables_is_seen_by_its_process() {
    let workspace = repository();
    let id = refused(&workspace, "git push");
    let agent = workspace.path("bin/claude");
    fs::create_dir(workspace.path("bin")).unwrap();
    std::os::unix::fs::symlink("/bin/sh", &agent).unwrap();
    // The shell stays above the command, because it has more to do afterwards.
    let script = format!("{ROLEOS} approve {id}; code=$?; exit $code");
    let words = [agent.to_str().unwrap(), "-c", &script];
    let ended = Terminal::run(&workspace, &words, &[]).ends().exits(2);
    assert!(
        ended.seen.contains("above this one is Claude Code"),
        "{ended:#?}"
    );
}

#[test]
fn grants_are_written_listed_and_revoked() {
    let workspace = Workspace::new();
    workspace.write(
        ".claude/role-os/capabilities.json",
        "{ \"npm:publish\": { \"granted\": true, \"note\": \"mine\", \"expires\": \"2020-01-01\" } }",
    );
    let words = [
        "grant",
        "git:push",
        "--until",
        "2099-12-01T00:00Z",
        "--uses",
        "3",
        "--scope",
        "origin main",
        "--enforce",
    ];
    let mut terminal = Terminal::roleos(&workspace, &words);
    terminal.expects("Grant it? [y/N] ").types("y");
    let ended = terminal.ends().exits(0);
    insta::assert_snapshot!("grant_screen", scrubbed(&workspace, &ended.seen));
    insta::assert_snapshot!("grant_answer", ended.stdout);
    let written: Value =
        serde_json::from_str(&workspace.read(".claude/role-os/capabilities.json")).unwrap();
    let expected = json!({
        "npm:publish": { "granted": true, "note": "mine", "expires": "2020-01-01" },
        "git:push": {
            "granted": true, "expires": "2099-12-01T00:00:00Z", "uses": 3, "scope": "origin main", "enforce": true,
        },
    });
    assert_eq!(written, expected);
    insta::assert_snapshot!("grants", workspace.roleos(&["grants"]).succeeds());
    let listed = workspace.roleos(&["--json", "grants"]).exits(0).json();
    assert_eq!(listed[0]["action"], "git:push");
    assert_eq!(listed[0]["uses"], 3);
    assert_eq!(listed[1]["granted"], false);

    let mut terminal = Terminal::roleos(&workspace, &["--json", "revoke", "git:push"]);
    terminal
        .expects("Revoke the grant of git:push? [y/N] ")
        .types("yes");
    let answer: Value = serde_json::from_str(&terminal.ends().exits(0).stdout).unwrap();
    assert_eq!(answer["granted"], false);
    let written: Value =
        serde_json::from_str(&workspace.read(".claude/role-os/capabilities.json")).unwrap();
    assert!(written.get("git:push").is_none() && written.get("npm:publish").is_some());
    assert_eq!(
        workspace.read(".role-os/receipts.jsonl").lines().count(),
        3,
        "key, grant, revoke"
    );
}

#[test]
fn grants_that_cannot_be_are_explained() {
    let workspace = Workspace::new();
    let cases: [(&str, &[&str]); 7] = [
        ("error_grant_typo", &["grant", "git:psuh"]),
        ("error_grant_unknown", &["grant", "coffee"]),
        ("error_grant_extended", &["grant", "docker:push"]),
        (
            "error_grant_past",
            &["grant", "git:push", "--until", "2020-01-01"],
        ),
        (
            "error_grant_duration",
            &["grant", "git:push", "--for", "soon"],
        ),
        ("error_revoke_nothing", &["revoke", "git:push"]),
        ("error_approve_id", &["approve", "../../etc"]),
    ];
    for (name, words) in cases {
        let ran = workspace.roleos(words).exits(1);
        insta::assert_snapshot!(name, ran.error());
    }
    let before = workspace.snapshot();
    for words in [
        &["grant", "git:push", "--uses", "0"][..],
        &["grant", "git:push", "--for", "-2h"],
    ] {
        workspace.roleos(words).exits(1);
    }
    assert!(workspace.snapshot() == before);
}

#[test]
fn the_mode_is_shown_and_set_and_comments_stay() {
    let text = "# mine\n[oversight]\n# why\nmode = \"off\" # for now\ncapability_gate = true\n\n[witness]\nthreads = 2\n";
    let workspace = Workspace::with_config(text);
    let shown = workspace.roleos(&["mode"]).succeeds();
    assert!(shown.starts_with("off  no lists"), "{shown}");
    let mut terminal = Terminal::roleos(&workspace, &["mode", "restricted"]);
    terminal
        .expects("off → restricted")
        .expects("Change the mode? [y/N] ")
        .types("y");
    terminal.ends().exits(0);
    assert_eq!(
        workspace.read(".role-os/config.toml"),
        text.replace("\"off\"", "\"restricted\"")
    );
    assert_eq!(
        workspace.roleos(&["--json", "mode"]).exits(0).json()["mode"],
        "restricted"
    );
    let fresh = Workspace::new();
    Terminal::roleos(&fresh, &["mode", "approved"])
        .expects("[y/N]")
        .types("y")
        .ends()
        .exits(0);
    assert_eq!(
        fresh.read(".role-os/config.toml"),
        "[oversight]\nmode = \"approved\"\n"
    );
}

#[test]
fn settings_of_a_clone_are_ignored_until_they_are_trusted() {
    let workspace = repository();
    let weak = "[oversight]\ncapability_gate = true\nopaque = \"allow\"\nunattended = \"ask\"\n";
    workspace.write(".role-os/config.toml", weak);
    let mode = |workspace: &Workspace| workspace.roleos(&["mode"]).exits(0).stderr;
    assert_eq!(mode(&workspace), "", "a file of my own needs no trust");
    git(workspace.root(), &["add", ".role-os/config.toml"]);
    insta::assert_snapshot!("trust_warning", mode(&workspace));
    let mut terminal = Terminal::roleos(&workspace, &["trust"]);
    terminal
        .expects("Trust exactly this content? [y/N] ")
        .types("y");
    let ended = terminal.ends().exits(0);
    insta::assert_snapshot!("trust_screen", scrubbed(&workspace, &ended.seen));
    assert_eq!(mode(&workspace), "");
    let again = workspace.roleos(&["--json", "trust"]).exits(0).json();
    assert_eq!(again["changed"], false);
    workspace.write(
        ".role-os/config.toml",
        format!("{weak}approval_minutes = 60\n"),
    );
    assert!(
        mode(&workspace).contains("`oversight.approval_minutes`"),
        "other content, other trust"
    );
    workspace.write(
        ".role-os/config.toml",
        "[oversight]\ncapability_gate = true\n",
    );
    assert_eq!(mode(&workspace), "", "a stricter setting is welcome");
}

#[test]
fn a_passphrase_stands_before_every_yes() {
    let workspace = repository();
    let mut terminal = Terminal::roleos(&workspace, &["key", "new", "--approval", "--passphrase"]);
    terminal.expects("[y/N] ").types("y");
    terminal
        .expects("New passphrase: ")
        .types_secretly("correct horse");
    terminal
        .expects("The same again: ")
        .types_secretly("correct horse");
    let ended = terminal.ends().exits(0);
    assert!(
        ended.stdout.contains("approval key  passphrase"),
        "{ended:#?}"
    );
    assert!(!ended.seen.contains("horse"), "it is not shown: {ended:#?}");

    let id = refused(&workspace, "git push");
    let mut terminal = Terminal::roleos(&workspace, &["approve", &id]);
    terminal.expects("[y/N] ").types("y");
    terminal
        .expects("Passphrase of the approval key: ")
        .types_secretly("wrong horse");
    let ended = terminal.ends().exits(2);
    assert!(
        ended.seen.contains("the passphrase does not open"),
        "{ended:#?}"
    );
    assert_eq!(take(&workspace, "git push"), Taken::No);

    let mut terminal = Terminal::roleos(&workspace, &["approve", &id]);
    terminal.expects("[y/N] ").types("y");
    terminal
        .expects("Passphrase of the approval key: ")
        .types_secretly("correct horse");
    terminal.ends().exits(0);
    assert!(matches!(take(&workspace, "git push"), Taken::Yes(_)));

    // A person who forgot it creates a new key.
    let mut terminal = Terminal::roleos(&workspace, &["key", "new", "--approval", "--lost"]);
    terminal.expects("Replace the approval key?").types("y");
    let ended = terminal.ends().exits(0);
    assert!(
        ended.stdout.contains("approval key  same user"),
        "{ended:#?}"
    );
}

#[test]
fn a_poor_passphrase_is_not_taken() {
    for (first, second) in [("short", "short"), ("long enough", "long enouhg")] {
        let workspace = Workspace::new();
        let mut terminal =
            Terminal::roleos(&workspace, &["key", "new", "--approval", "--passphrase"]);
        terminal.expects("[y/N] ").types("y");
        terminal.expects("New passphrase: ").types_secretly(first);
        if first.len() > 8 {
            terminal.expects("The same again: ").types_secretly(second);
        }
        terminal.ends().exits(1);
        assert!(!workspace.path(".role-os/keys/approval").exists());
    }
}

/// Sends one event in Claude Code's format to the hook.
fn event(workspace: &Workspace, name: &str, command: &str) -> Ran {
    let root = fs::canonicalize(workspace.root()).unwrap();
    let event = json!({
        "session_id": "a-session",
        "transcript_path": root.join("transcript.jsonl"),
        "cwd": root,
        "permission_mode": "default",
        "hook_event_name": name,
        "source": "startup",
        "tool_name": "Bash",
        "tool_input": { "command": command },
        "tool_use_id": "call",
    });
    let mut words = workspace.command(&["hook", "claude", "--root", root.to_str().unwrap()]);
    words.env("ROLEOS_CAPABILITY_GATE", "1");
    let output = assert_cmd::Command::from_std(words)
        .write_stdin(event.to_string())
        .output()
        .unwrap();
    Ran {
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
        code: output.status.code().unwrap_or(-1),
    }
    .seen_by_agent()
}

fn call(workspace: &Workspace, command: &str) -> Ran {
    event(workspace, "PreToolUse", command)
}

/// Returns the id in a refusal.
fn id_in(refusal: &Ran) -> String {
    let (_, rest) = refusal
        .stderr
        .split_once("roleos approve ")
        .unwrap_or_else(|| panic!("{refusal:#?}"));
    rest.chars().take_while(char::is_ascii_hexdigit).collect()
}

fn grant(workspace: &Workspace, words: &[&str]) {
    let words = [&["grant"], words].concat();
    Terminal::roleos(workspace, &words)
        .expects("[y/N]")
        .types("y")
        .ends()
        .exits(0);
}

#[test]
fn of_64_hooks_one_lets_the_approved_push_through() {
    let workspace = repository();
    event(&workspace, "SessionStart", "").exits(0);
    let id = id_in(&call(&workspace, "git push").exits(2));
    Terminal::roleos(&workspace, &["approve", &id])
        .expects("[y/N]")
        .types("y")
        .ends()
        .exits(0);
    call(&workspace, "git push --force").exits(2);
    let allowed = std::thread::scope(|scope| {
        let calls: Vec<_> = (0..64)
            .map(|_| scope.spawn(|| call(&workspace, "git push").code))
            .collect();
        let codes = calls.into_iter().map(|call| call.join().unwrap());
        codes.filter(|code| *code == 0).count()
    });
    assert_eq!(allowed, 1);
    call(&workspace, "git push").exits(2);
}

#[test]
fn a_counted_grant_lets_so_many_pushes_through() {
    let workspace = repository();
    event(&workspace, "SessionStart", "").exits(0);
    call(&workspace, "git push").exits(2);
    grant(&workspace, &["git:push", "--uses", "3"]);
    let allowed = std::thread::scope(|scope| {
        let calls: Vec<_> = (0..8)
            .map(|_| scope.spawn(|| call(&workspace, "git push").code))
            .collect();
        let codes = calls.into_iter().map(|call| call.join().unwrap());
        codes.filter(|code| *code == 0).count()
    });
    assert_eq!(allowed, 3);
    let refusal = call(&workspace, "git push").exits(2);
    assert!(refusal.stderr.contains("used up"), "{refusal:#?}");
}

#[test]
fn the_arguments_of_a_tool_may_come_in_another_order_and_with_no_other_value() {
    let workspace = repository();
    let opens = |title: &str, first: &str| {
        let (owner, repo) = (r#""owner":"a""#, r#""repo":"b""#);
        let input = match first {
            "owner" => format!(r#"{{{owner},{repo},"title":"{title}"}}"#),
            _ => format!(r#"{{"title":"{title}",{repo},{owner}}}"#),
        };
        let root = workspace.root().to_str().unwrap();
        let event = format!(
            r#"{{"hook_event_name":"PreToolUse","session_id":"s","cwd":"{root}","tool_use_id":"t",
                "tool_name":"mcp__github__create_pull_request","tool_input":{input}}}"#
        );
        crate::hook::tell(crate::hook::hook(&workspace, "claude", &[]), &event)
    };
    let id = |ran: &Ran| {
        ran.stderr
            .split("roleos approve ")
            .nth(1)
            .map(str::to_owned)
    };
    workspace.write(
        ".role-os/config.toml",
        "[oversight]\ncapability_gate = true\n",
    );
    let refused = id(&opens("x", "owner").exits(2));
    assert!(refused.is_some());
    assert_eq!(id(&opens("x", "title").exits(2)), refused);
    assert_ne!(id(&opens("y", "owner").exits(2)), refused);
}

#[test]
fn a_grant_that_no_person_gave_is_void_in_this_session() {
    let workspace = repository();
    grant(&workspace, &["git:push"]);
    event(&workspace, "SessionStart", "").exits(0);
    call(&workspace, "git push").exits(0);
    event(&workspace, "Stop", "").exits(0);
    let mut grants: Value =
        serde_json::from_str(&workspace.read(".claude/role-os/capabilities.json")).unwrap();
    grants["npm:publish"] = json!({ "granted": true });
    workspace.write(".claude/role-os/capabilities.json", grants.to_string());
    for command in ["npm publish", "git push"] {
        let refusal = call(&workspace, command).exits(2);
        assert!(
            refusal
                .stderr
                .contains("not by `roleos`; all grants and approvals are void"),
            "{refusal:#?}"
        );
        assert!(
            !refusal.stderr.contains("roleos approve"),
            "an approval would not count: {refusal:#?}"
        );
    }
}
