//! Actions through MCP servers, other agents' tools and PowerShell.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::grants::Grants;
use crate::verdict::{Decision, Place, Policy, Verdict, decide_tool};
use actions::lookup::Nothing;

fn decide(tool: &str, input: &Value) -> Decision {
    let place = Place {
        directory: "/w",
        home: "/h",
    };
    let now = Timestamp::UNIX_EPOCH;
    decide_tool(
        &Policy::default(),
        tool,
        input,
        place,
        &Nothing,
        &Grants::none(),
        now,
    )
}

fn found(tool: &str, input: &Value, expected: &[&str]) {
    let decision = decide(tool, input);
    assert_eq!(decision.actions, expected, "{tool} {input}");
    let verdict = if expected.is_empty() {
        Verdict::Allow
    } else {
        Verdict::Deny
    };
    assert_eq!(
        decision.verdict, verdict,
        "{tool} {input} {:?}",
        decision.reasons
    );
}

#[test]
fn a_command_is_followed_whatever_the_tool_is_called() {
    let push = json!({"command": "git push"});
    for tool in ["Monitor", "shell_command", "mcp__ide__watch", "Background"] {
        found(tool, &push, &["git:push"]);
    }
    found(
        "write_stdin",
        &json!({"chars": "git push\n"}),
        &["git:push"],
    );
    found("write_bash", &json!({"input": "git push\n"}), &["git:push"]);
    // Words that are not commands, and text that is possibly never run.
    for input in [
        json!({"command": "create", "path": "/tmp/x", "file_text": "git push"}),
        json!({"command": "/review $1"}),
        json!({"command": "$X"}),
    ] {
        found("mcp__editor__work", &input, &[]);
    }
    found("write_stdin", &json!({"chars": "$X\n"}), &[]);
}

#[test]
fn a_short_name_means_what_its_server_is() {
    found("mcp__git__push", &json!({}), &["git:push"]);
    found("mcp__npm__publish", &json!({}), &["npm:publish"]);
    found("mcp__pypi-tools__upload", &json!({}), &["pypi:publish"]);
    found("mcp__git__run", &json!({"args": ["push"]}), &["git:push"]);
    found(
        "mcp__gh__exec",
        &json!({"command": "pr create"}),
        &["gh:pr-create"],
    );
    found("mcp__git__run", &json!({"args": ["log"]}), &[]);
    found("mcp__queue__push", &json!({}), &[]);
    found("mcp__blog__publish", &json!({}), &[]);
}

#[test]
fn code_that_a_tool_runs_is_looked_into() {
    let python = json!({"code": "import os; os.system('git push')"});
    let script = json!({"code": "require('child_process').execSync('npm publish')"});
    let tools = ["mcp__ide__executeCode", "run_python", "mcp__repl__eval"];
    for (tool, code) in tools
        .map(|tool| (tool, &python))
        .into_iter()
        .chain([("mcp__sandbox__run_javascript", &script)])
    {
        let decision = decide(tool, code);
        assert_eq!(decision.verdict, Verdict::Ask, "{tool}");
        assert!(decision.opaque.iter().any(|note| note.escapes), "{tool}");
    }
    let said = json!({"language": "bash", "code": "git push"});
    found("mcp__sandbox__run_code", &said, &["git:push"]);
    found("mcp__notes__create", &python, &[]);
    let harmless = json!({"code": "df.groupby('push').size()"});
    found("mcp__ide__executeCode", &harmless, &[]);
}

#[test]
fn servers_perform_the_same_actions() {
    let repository = json!({"owner":"a","repo":"b"});
    found(
        "mcp__github__create_pull_request",
        &repository,
        &["gh:pr-create"],
    );
    found(
        "mcp__plugin_x_github__create_pull_request",
        &json!({}),
        &["gh:pr-create"],
    );
    found("github.create_pull_request", &json!({}), &["gh:pr-create"]);
    found(
        "mcp_github_create_pull_request",
        &json!({}),
        &["gh:pr-create"],
    );
    found("mcp__gh__createPullRequest", &json!({}), &["gh:pr-create"]);
    found("mcp__github__push_files", &repository, &["git:push"]);
    found("mcp__github__delete_file", &repository, &["git:push"]);
    found(
        "mcp__github__pull_request_write",
        &json!({"method":"create"}),
        &["gh:pr-create"],
    );
    found(
        "mcp__github__pull_request_write",
        &json!({"method":"get"}),
        &[],
    );
    found("mcp__github__get_pull_request", &repository, &[]);
    found("mcp__github__list_releases", &repository, &[]);
    // Extended actions are off by default.
    found("mcp__github__merge_pull_request", &repository, &[]);
}

#[test]
fn local_files_are_no_repositories() {
    found("delete_file", &json!({"target_file":"a.txt"}), &[]);
    found(
        "mcp__filesystem__delete_file",
        &json!({"path":"a.txt"}),
        &[],
    );
}

#[test]
fn what_a_server_runs_is_followed() {
    found(
        "mcp__desktop__execute_command",
        &json!({"command":"cd x && git push"}),
        &["git:push"],
    );
    found(
        "mcp__desktop__execute_command",
        &json!({"command":"git","args":["push"]}),
        &["git:push"],
    );
    found(
        "mcp__git__git",
        &json!({"args":["-C","x","push"]}),
        &["git:push"],
    );
    found(
        "mcp__tools__npm",
        &json!({"command":"publish --access public"}),
        &["npm:publish"],
    );
    found("mcp__tools__npm", &json!({"command":"ls"}), &[]);
    found(
        "mcp__http__request",
        &json!({"url":"https://api.github.com/repos/a/b/releases","method":"post"}),
        &["gh:release"],
    );
    found(
        "mcp__http__request",
        &json!({"url":"https://api.github.com/repos/a/b/releases"}),
        &[],
    );
    found(
        "shell",
        &json!({"command":["bash","-lc","git push"]}),
        &["git:push"],
    );
}

#[test]
fn a_shell_whose_command_cannot_be_read_is_asked_about() {
    assert_eq!(decide("Bash", &json!({"command":3})).verdict, Verdict::Ask);
    assert_eq!(decide("Bash", &json!({})).verdict, Verdict::Ask);
    assert_eq!(
        decide("shell", &json!({"command":["git",3]})).verdict,
        Verdict::Ask
    );
    assert_eq!(decide("PowerShell", &json!(null)).verdict, Verdict::Ask);
}

/// PowerShell is not parsed, so that all of it leads to a question; a literal act in it is refused.
#[test]
fn powershell_is_not_read_and_shows_what_stands_there_word_for_word() {
    use Verdict::{Ask, Deny};
    for (command, verdict, actions) in [
        ("git push", Deny, &["git:push"][..]),
        ("git.exe push origin main", Deny, &["git:push"]),
        (
            "& 'C:\\Program Files\\Git\\bin\\git.exe' push",
            Deny,
            &["git:push"],
        ),
        ("cd x; git push", Deny, &["git:push"]),
        ("git add . ; if ($?) { git push }", Deny, &["git:push"]),
        ("bash -c 'git push'", Deny, &["git:push"]),
        (
            "Get-Item x | ForEach-Object { git push }",
            Deny,
            &["git:push"],
        ),
        ("npm test && npm publish", Deny, &["npm:publish"]),
        ("$out = git push 2>&1", Ask, &[]),
        ("cmd /c git push", Ask, &["git:push"]),
        ("iex 'git push'", Ask, &[]),
        ("g`it pu`sh", Ask, &[]),
        ("powershell -EncodedCommand ZwBpAHQA", Ask, &[]),
        ("npm publish --dry-run", Ask, &[]),
        ("Get-ChildItem -Recurse -Filter *.rs", Ask, &[]),
        ("Write-Host 'git push'", Ask, &[]),
        ("echo x > .role-os\\config.toml", Deny, &[]),
        ("roleos grant git:push", Deny, &[]),
        (
            "Set-Content -Path .role-os\\config.toml -Value x",
            Deny,
            &[],
        ),
    ] {
        let decision = decide("PowerShell", &json!({ "command": command }));
        assert_eq!(decision.actions, actions, "{command}");
        assert_eq!(
            decision.verdict, verdict,
            "{command} {:?}",
            decision.reasons
        );
    }
}

/// Unknown tools: every string counts, and prose does not.
#[test]
fn tools_that_are_not_known_are_answered_as_the_corpus_says() {
    let corpus = include_str!("../../tests/corpus/tools.jsonl");
    assert!(corpus.lines().count() > 300);
    for line in corpus.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let decision = decide(case["tool"].as_str().unwrap(), &case["input"]);
        let verdict = format!("{:?}", decision.verdict).to_lowercase();
        let answer = (json!(verdict), json!(decision.actions));
        let expected = (case["verdict"].clone(), case["actions"].clone());
        assert_eq!(answer, expected, "{line} {:?}", decision.reasons);
    }
}
