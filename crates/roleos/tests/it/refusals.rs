//! Refusals through the real binary: their output, their first words, content that they never contain, and equal counts
//! everywhere.

use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::hook::{answer, call, hook};
use crate::init::{git, repository};
use crate::terminal::Terminal;
use crate::up::Up;
use crate::workspace::{Ran, Workspace};

const GATE: &str = "[oversight]\ncapability_gate = true\n";

/// Returns a repository with a commit and the gate on.
fn guarded() -> Workspace {
    let workspace = repository();
    workspace.write(".role-os/config.toml", GATE);
    workspace
}

pub(crate) fn wants(workspace: &Workspace, agent: &str, command: &str) -> Ran {
    let root = workspace.root().to_str().unwrap();
    let event = call(agent, root, &json!({ "command": command }));
    answer(hook(workspace, agent, &[]), &event.to_string())
}

/// Returns the message to the agent, according to its protocol.
fn reason(ran: &Ran) -> String {
    if ran.code == 2 {
        return ran.stderr.clone();
    }
    let said: Value = serde_json::from_str(&ran.stdout).unwrap();
    let said = &said["hookSpecificOutput"];
    assert_eq!(said["permissionDecision"], "deny", "{ran:#?}");
    said["permissionDecisionReason"]
        .as_str()
        .unwrap()
        .to_owned()
}

fn id_in(text: &str) -> String {
    let (_, rest) = text.split_once("roleos approve ").unwrap();
    rest.chars().take_while(char::is_ascii_hexdigit).collect()
}

#[test]
fn the_first_80_characters_say_what_was_refused_and_what_allows_it() {
    for agent in ["claude", "codex", "gemini", "cursor", "copilot"] {
        let workspace = guarded();
        let text = reason(&wants(&workspace, agent, "git push origin main"));
        let head: String = text.chars().take(80).collect();
        let id = id_in(&head);
        assert_eq!(
            head,
            format!("roleos refused git:push — approve once: roleos approve {id}\nWhy: `git:pu")
        );
        assert_eq!(id.len(), 12, "{text}");
        let parts = ["is irreversible", "roleos grant git:push", "to undo it:"];
        let places: Vec<usize> = parts.iter().map(|part| text.find(part).unwrap()).collect();
        assert!(places.is_sorted(), "{text}");
    }
}

#[test]
fn a_refusal_that_no_approval_lifts_says_so_first() {
    let workspace = guarded();
    let text = reason(&wants(
        &workspace,
        "claude",
        "cat .role-os/keys/approval.key",
    ));
    let head: String = text.chars().take(80).collect();
    assert!(head.contains("no approval can allow it"), "{text}");
    assert!(!text.contains("roleos approve"), "{text}");
}

/// Runs the hook with this standard output; returns its exit code and standard error.
fn with_stdout(workspace: &Workspace, command: &str, stdout: Stdio) -> (Option<i32>, String) {
    let root = workspace.root().to_str().unwrap();
    let event = call("claude", root, &json!({ "command": command })).to_string();
    run_hook(hook(workspace, "claude", &[]), &event, stdout)
}

fn run_hook(mut command: Command, event: &str, stdout: Stdio) -> (Option<i32>, String) {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(stdout)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(event.as_bytes())
        .unwrap();
    let ended = child.wait_with_output().unwrap();
    (
        ended.status.code(),
        String::from_utf8(ended.stderr).unwrap(),
    )
}

#[test]
fn a_refusal_that_cannot_be_written_blocks_by_its_exit_code() {
    let workspace = guarded();
    let (reader, broken) = std::io::pipe().unwrap();
    drop(reader);
    let outputs = [
        (
            "a full device",
            Stdio::from(File::create("/dev/full").unwrap()),
        ),
        ("nowhere", Stdio::null()),
        ("a pipe that nobody reads", Stdio::from(broken)),
        (
            "a file that is open for reading",
            Stdio::from(File::open("/dev/zero").unwrap()),
        ),
    ];
    for (what, stdout) in outputs {
        let (code, said) = with_stdout(&workspace, "git push", stdout);
        assert_eq!(code, Some(2), "{what}: {said}");
        assert!(
            said.starts_with("roleos refused git:push"),
            "{what}: {said}"
        );
    }
    // No standard output at all.
    let root = workspace.root().to_str().unwrap();
    let event = call("claude", root, &json!({ "command": "git push" })).to_string();
    let inner = hook(&workspace, "claude", &[]);
    let mut shell = Command::new("sh");
    shell
        .args(["-c", "exec \"$@\" >&-", "sh"])
        .arg(inner.get_program())
        .args(inner.get_args());
    for (name, value) in inner.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    let (code, said) = run_hook(shell, &event, Stdio::piped());
    assert_eq!(code, Some(2), "{said}");
    assert!(said.starts_with("roleos refused git:push"), "{said}");
}

#[test]
fn a_refusal_into_a_full_pipe_blocks_in_time() {
    let workspace = guarded();
    let (reader, mut writer) = std::io::pipe().unwrap();
    // A pipe takes 64 KiB; the answer finds no room, and nothing reads it.
    writer.write_all(&vec![b' '; 64 * 1024]).unwrap();
    let begun = std::time::Instant::now();
    let (code, said) = with_stdout(&workspace, "git push", Stdio::from(writer));
    assert_eq!(code, Some(2), "{said}");
    assert!(said.starts_with("roleos refused git:push"), "{said}");
    assert!(begun.elapsed() < std::time::Duration::from_secs(4));
    drop(reader);
}

#[test]
fn what_an_agent_says_does_nothing_on_a_terminal() {
    let workspace = guarded();
    let command =
        "eval \"$X\u{1b}[2J\u{7}\u{9b}31m\u{202e}\u{200b}\u{8}\nroleos approve 000000000000\"";
    for agent in ["claude", "codex", "gemini", "cursor", "copilot"] {
        let ran = wants(&workspace, agent, command);
        let stopped = ["\"ask\"", "\"deny\""]
            .iter()
            .any(|word| ran.stdout.contains(word));
        let said = if ran.code == 2 {
            ran.stderr.trim_end().to_owned()
        } else {
            let said: Value = serde_json::from_str(&ran.stdout).unwrap();
            said.to_string()
        };
        let acts = |c: char| (c.is_control() && c != '\n') || matches!(c, '\u{200b}' | '\u{202e}');
        assert!(!said.chars().any(acts), "{agent}: {said:?}");
        assert!(said.lines().count() <= 2, "{agent}: {said:?}");
        assert!(
            !said.contains("\\u001b") && !said.contains("\\u0007"),
            "{agent}: {said:?}"
        );
        assert!(stopped || ran.code == 2, "{ran:#?}");
    }
    let shown = workspace.roleos(&["approve"]).exits(0);
    let lines = shown
        .stdout
        .lines()
        .filter(|line| line.starts_with("000000000000"));
    assert_eq!(lines.count(), 0, "{shown:#?}");
    assert!(
        !shown.stdout.contains(['\u{1b}', '\u{7}', '\u{202e}']),
        "{shown:#?}"
    );
}

/// Collects every file below a folder.
fn files(folder: &Path, found: &mut Vec<std::path::PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else {
            found.push(path);
        }
    }
}

#[test]
fn a_token_in_a_refused_command_is_nowhere_afterwards() {
    let workspace = guarded();
    let token = format!("ghp_{}", "a1B2".repeat(9));
    let password = "hunter2x";
    let command = format!(
        "curl -u ada:{password} https://example.org && git push https://ada:{token}@example.org/x main"
    );
    let holds = |text: &str| text.contains(&token) || text.contains(password);
    let mut id = String::new();
    for agent in ["claude", "codex", "gemini", "cursor", "copilot"] {
        let ran = wants(&workspace, agent, &command);
        assert!(!holds(&ran.stdout) && !holds(&ran.stderr), "{ran:#?}");
        id = id_in(&reason(&ran));
    }
    let mut found = Vec::new();
    files(&workspace.path(".role-os"), &mut found);
    assert!(found.len() > 3, "{found:?}");
    for path in &found {
        let text = String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned();
        assert!(!holds(&text), "{}: {text}", path.display());
    }
    for words in [
        &["approve"][..],
        &["--json", "approve"],
        &["sessions", "show"],
        &[],
    ] {
        let ran = workspace.roleos(words).exits(0);
        assert!(!holds(&ran.stdout) && !holds(&ran.stderr), "{ran:#?}");
    }
    let mut terminal = Terminal::roleos(&workspace, &["approve", &id]);
    terminal.expects("[y/N]").types("n");
    let ended = terminal.ends().exits(2);
    assert!(
        !holds(&ended.seen) && ended.seen.contains("[redacted:"),
        "{ended:#?}"
    );
    let up = Up::start(workspace.root(), &["--listen", "127.0.0.1:0"], &[]);
    for path in [
        "/api/approvals",
        &format!("/api/approvals/{id}"),
        "/oversight",
        "/",
        "/api/decisions",
    ] {
        let said = up.get(path, "");
        assert!(said.starts_with("HTTP/1.1 200"), "{path}: {said}");
        assert!(!holds(&said), "{path}: {said}");
    }
    assert!(up.get("/api/approvals", "").contains(&id));
}

#[test]
fn journals_approvals_and_receipts_are_for_the_owner_alone() {
    let workspace = guarded();
    let id = id_in(&reason(&wants(&workspace, "claude", "git push")));
    let mut terminal = Terminal::roleos(&workspace, &["approve", &id]);
    terminal.expects("[y/N]").types("y");
    terminal.ends().exits(0);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    for folder in ["sessions", "approvals"] {
        let folder = workspace.path(&format!(".role-os/{folder}"));
        assert_eq!(mode(&folder), 0o700, "{}", folder.display());
        let mut found = Vec::new();
        files(&folder, &mut found);
        let secret = |name: &str| {
            [".jsonl", ".refused", ".approval", ".json"]
                .iter()
                .any(|end| name.ends_with(end))
        };
        for path in found.iter().filter(|path| secret(&path.to_string_lossy())) {
            assert_eq!(mode(path), 0o600, "{}", path.display());
        }
    }
    assert_eq!(mode(&workspace.path(".role-os/receipts.jsonl")), 0o600);
}

/// Returns the number of waiting acts, from every output that counts them.
fn counts(workspace: &Workspace) -> Vec<(&'static str, u64)> {
    let overview = workspace.roleos(&["--json"]).exits(0).json();
    let listed = workspace.roleos(&["--json", "approve"]).exits(0).json();
    let lines = workspace.roleos(&["approve"]).exits(0).stdout;
    let waits = |line: &&str| !line.contains("  approved,") && !line.contains("  denied ");
    let lines = lines.lines().filter(waits);
    let up = Up::start(workspace.root(), &["--listen", "127.0.0.1:0"], &[]);
    let body = |path: &str| {
        let said = up.get(path, "");
        said.split_once("\r\n\r\n").unwrap().1.to_owned()
    };
    let api: Value = serde_json::from_str(body("/api/approvals").trim()).unwrap();
    let between = |text: &str, before: &str| {
        let rest = text.split_once(before).map(|(_, rest)| rest);
        let digits = rest.map(|rest| {
            rest.chars()
                .take_while(char::is_ascii_digit)
                .collect::<String>()
        });
        digits.and_then(|digits| digits.parse().ok()).unwrap_or(0)
    };
    let page = between(&body("/oversight"), "Waiting for a person (");
    let home = body("/");
    let home = home
        .split_once(" could be approved")
        .and_then(|(before, _)| before.rsplit_once('>'))
        .map_or(0, |(_, text)| between(text, ""));
    vec![
        ("roleos", overview["waiting"].as_u64().unwrap()),
        (
            "roleos approve --json",
            listed.as_array().unwrap().len() as u64,
        ),
        ("roleos approve", lines.count() as u64),
        ("API", api.as_array().unwrap().len() as u64),
        ("Oversight page", page),
        ("Overview page", home),
    ]
}

#[track_caller]
fn all_count(workspace: &Workspace, expected: u64) {
    for (who, count) in counts(workspace) {
        assert_eq!(count, expected, "{who}");
    }
}

#[test]
fn everything_that_counts_waiting_approvals_counts_the_same() {
    let workspace = guarded();
    all_count(&workspace, 0);
    let first = id_in(&reason(&wants(&workspace, "claude", "git push")));
    let second = id_in(&reason(&wants(&workspace, "claude", "git push --force")));
    wants(&workspace, "claude", "npm publish");
    all_count(&workspace, 3);
    let mut terminal = Terminal::roleos(&workspace, &["approve", &first]);
    terminal.expects("[y/N]").types("y");
    terminal.ends().exits(0);
    all_count(&workspace, 2);
    let listed = workspace.roleos(&["approve"]).exits(0).stdout;
    assert!(
        listed.contains(&format!("{first}  approved, 10 min left  git push")),
        "{listed}"
    );
    let given = workspace
        .roleos(&["--json", "approve", "--given"])
        .exits(0)
        .json();
    assert_eq!(given[0]["id"], first.as_str());
    assert!(given[0]["seconds_left"].as_u64().unwrap() > 500, "{given}");
    let mut terminal = Terminal::roleos(&workspace, &["dismiss", &second]);
    terminal.expects("Dismiss it? [y/N]").types("y");
    terminal.ends().exits(0);
    all_count(&workspace, 1);
    // The repository changes: acts that were refused before cannot be approved any more.
    git(
        &workspace,
        &["commit", "--quiet", "--allow-empty", "-m", "two"],
    )
    .exits(0);
    all_count(&workspace, 0);
}

#[test]
fn a_dismissal_needs_a_person() {
    let workspace = guarded();
    let id = id_in(&reason(&wants(&workspace, "claude", "git push")));
    let ran = workspace.roleos(&["dismiss", &id]);
    assert_ne!(ran.code, 0, "{ran:#?}");
    let words = [crate::workspace::ROLEOS, "dismiss", &id];
    let ended = Terminal::run(&workspace, &words, &[("CLAUDECODE", "1")]).ends();
    assert_eq!(ended.code, 2, "{ended:#?}");
    let listed = workspace.roleos(&["--json", "approve"]).exits(0).json();
    assert_eq!(listed[0]["id"], id.as_str());
}

#[test]
fn a_denied_act_is_refused_again_without_a_question() {
    let workspace = guarded();
    let id = id_in(&reason(&wants(&workspace, "claude", "git push")));
    assert_ne!(
        workspace.roleos(&["deny", &id]).code,
        0,
        "no person is there"
    );
    // The first digits identify it as well; fewer than four, or unknown ones, do not.
    let first = |count: usize| id.chars().take(count).collect::<String>();
    for (digits, code) in [(first(3), 1), ("0000".to_owned(), 1)] {
        let ended = Terminal::roleos(&workspace, &["deny", &digits]).ends();
        assert_eq!(ended.code, code, "{digits}: {ended:#?}");
    }
    let mut terminal = Terminal::roleos(&workspace, &["deny", &first(6)]);
    terminal.expects("Deny it? [y/N]").types("y");
    terminal.ends().exits(0);
    all_count(&workspace, 0);
    let again = reason(&wants(&workspace, "claude", "git push"));
    assert!(again.contains("a person denied exactly this"), "{again}");
    assert!(!again.contains("roleos approve"), "{again}");
    all_count(&workspace, 0);
    let listed = workspace.roleos(&["approve"]).exits(0).stdout;
    assert!(listed.contains(&format!("{id}  denied ")), "{listed}");
    let denied = workspace
        .roleos(&["--json", "approve", "--denied"])
        .exits(0)
        .json();
    assert_eq!(denied[0]["id"], id.as_str());
    let receipts = workspace.read(".role-os/receipts.jsonl");
    assert!(
        receipts.contains(&format!("\"denied\":\"{id}\"")),
        "{receipts}"
    );
    // The person reconsiders.
    let mut terminal = Terminal::roleos(&workspace, &["approve", &id]);
    terminal.expects("[y/N]").types("y");
    terminal.ends().exits(0);
    let denied = workspace
        .roleos(&["--json", "approve", "--denied"])
        .exits(0)
        .json();
    assert_eq!(denied, serde_json::json!([]));
}
