//! Tools that are not known: every string counts.

use super::*;

const GRANTS: &str = ".claude/role-os/capabilities.json";

fn verdict(tool: &str, input: &Value, expected: Verdict) {
    let decision = decide(tool, input);
    assert_eq!(
        decision.verdict, expected,
        "{tool} {input} {:?}",
        decision.reasons
    );
}

#[test]
fn a_protected_path_is_refused_whatever_the_tool_is_called() {
    for name in [
        "write_file",
        "overwrite",
        "store",
        "dump",
        "export",
        "sync",
        "extract",
        "batch",
        "transaction",
        "restore",
        "commit",
        "fs",
        "execute_plan",
        "tool",
        "call",
        "codegen",
        "scaffold",
        "generate",
        "format",
        "refactor",
    ] {
        let input = json!({"path": GRANTS, "content": "{}"});
        verdict(&format!("mcp__any__{name}"), &input, Verdict::Deny);
    }
}

#[test]
fn a_protected_path_is_refused_wherever_it_stands() {
    for input in [
        json!({"files": {GRANTS: "{}"}}),
        json!({"target": GRANTS}),
        json!({"p": GRANTS}),
        json!({"p": "a b/../.claude/role-os/capabilities.json"}),
        json!({"operations": [{"args": [GRANTS, "{}"]}]}),
        json!({"path": [".claude", "role-os", "capabilities.json"]}),
        json!({"uri": "file:///w/%2Eclaude/role-os/x.json"}),
        json!({"u": "file://localhost/w/.%63laude/role-os/x.json"}),
        json!({"a": {"b": {"c": {"d": {"e": {"f": {"g": {"h": {"i": [{"j": GRANTS}]}}}}}}}}}),
        json!([GRANTS]),
        json!({"changes": {".mcp.json": null}}),
        json!({"path": "C:\\x\\.claude\\settings.json"}),
    ] {
        verdict("mcp__any__apply", &input, Verdict::Deny);
    }
}

#[test]
fn prose_and_other_paths_are_left_alone() {
    let long = "Run `git push` when the tests pass, and see .claude/settings.json.\n".repeat(3);
    for input in [
        json!({"title": "git push fails with 403 when the token has expired", "body": long}),
        json!({"body": "Please do not git push to main before the release is out."}),
        json!({"text": "see .claude/settings.json for the hook"}),
        json!({"path": "src/main.rs", "content": "x"}),
        json!({"text": "npm publish is broken since the registry asks for a second factor"}),
        json!({"labels": ["git", "bug"], "repo": "x"}),
        json!({"query": "role of the hooks directory"}),
        json!({"branch": "claude/fix-push"}),
    ] {
        verdict("mcp__github__create_issue", &input, Verdict::Allow);
    }
    for (tool, input) in [
        (
            "mcp__fs__read_file",
            json!({"path": ".claude/settings.json"}),
        ),
        (
            "mcp__github__search_code",
            json!({"query": ".claude/settings.json"}),
        ),
        ("mcp__fs__get_settings", json!({"file": ".mcp.json"})),
        ("TodoWrite", json!({"todos": [{"content": "git push"}]})),
        (
            "WebFetch",
            json!({"url": "https://example.com", "prompt": "git push"}),
        ),
        ("Read", json!({"file_path": GRANTS})),
        (
            "Write",
            json!({"file_path": "notes.md", "content": "git push"}),
        ),
        (
            "Edit",
            json!({"file_path": "a.md", "old_string": "a", "new_string": GRANTS}),
        ),
    ] {
        verdict(tool, &input, Verdict::Allow);
    }
}

#[test]
fn a_gated_command_is_an_act_wherever_it_stands() {
    for input in [
        json!({"shell_command": "git push"}),
        json!({"bash": "git push"}),
        json!({"program": "git", "arguments": ["push"]}),
        json!({"executable": "git", "argv": ["push"]}),
        json!({"steps": [{"run": "git push"}]}),
        json!({"request": {"command": "git push"}}),
        json!({"commands": ["ls", "git push"]}),
        json!({"jobs": {"a": {"program": "/usr/bin/git", "args": "push origin"}}}),
        json!({"runCommand": "cd x && git push"}),
    ] {
        found("mcp__any__work", &input, &["git:push"]);
    }
    for (tool, input) in [
        (
            "mcp__desktop-commander__interact_with_process",
            json!({"pid": 1, "input": "git push\n"}),
        ),
        ("mcp__docker__exec", json!({"input": "git push"})),
        ("mcp__any__work", json!({"text": "git push"})),
        ("mcp__any__work", json!({"data": "git push origin main"})),
        ("mcp__any__work", json!({"keys": "git push"})),
        ("mcp__any__work", json!({"line": "npm publish"})),
        ("mcp__any__work", json!({"stdin": "git push --force"})),
        ("mcp__any__work", json!({"words": ["git", "push"]})),
        (
            "CronCreate",
            json!({"cron": "* * * * *", "prompt": "git push"}),
        ),
        (
            "Workflow",
            json!({"script": "await agent(); execSync('git push')"}),
        ),
    ] {
        let decision = decide(tool, &input);
        assert!(decision.verdict >= Verdict::Ask, "{tool} {input}");
        assert!(!decision.actions.is_empty(), "{tool} {input}");
    }
}

#[test]
fn commands_for_people_and_other_agents_count_there_too() {
    for input in [
        json!({"steps": [{"run": "roleos grant git:push"}]}),
        json!({"program": "roleos", "args": ["approve", "x"]}),
        json!({"command": "claude --bare -p x"}),
        json!({"script": "rm -rf .role-os"}),
    ] {
        verdict("mcp__any__work", &input, Verdict::Deny);
    }
    verdict(
        "mcp__any__work",
        &json!({"prompt": "roleos grant git:push"}),
        Verdict::Ask,
    );
}
