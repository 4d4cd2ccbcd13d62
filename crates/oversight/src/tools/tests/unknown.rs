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

#[test]
fn text_for_people_is_no_act() {
    for (tool, input) in [
        ("mcp__docs__search", json!({"q": "git push"})),
        ("mcp__docs__search", json!({"text": "git push --force"})),
        ("mcp__any__work", json!({"q": "git push"})),
        ("mcp__any__work", json!({"labels": ["git", "push"]})),
        (
            "mcp__slack__post_message",
            json!({"channel": "x", "text": "git push origin main"}),
        ),
        (
            "mcp__jira__create_issue",
            json!({"summary": "npm publish", "body": "git push"}),
        ),
        (
            "mcp__memory__add_observations",
            json!({"observations": ["git push", "npm publish"]}),
        ),
        (
            "mcp__web__fetch",
            json!({"url": "https://example.org", "prompt": "git push"}),
        ),
        ("ToolSearch", json!({"query": "git push"})),
        ("Task", json!({"description": "push", "prompt": "git push"})),
    ] {
        verdict(tool, &input, Verdict::Allow);
    }
    // What runs things is not taken to be for people, whatever else it is called and its fields are.
    for (tool, input) in [
        ("mcp__docs__run", json!({"q": "git push"})),
        ("mcp__any__execute_search", json!({"query": "git push"})),
        ("mcp__tmux__send_message", json!({"text": "git push"})),
        ("mcp__any__post", json!({"command": "git push"})),
        ("mcp__any__search", json!({"steps": [{"run": "git push"}]})),
        (
            "mcp__any__note",
            json!({"program": "git", "args": ["push"]}),
        ),
    ] {
        let decision = decide(tool, &input);
        assert!(decision.verdict >= Verdict::Ask, "{tool} {input}");
    }
}

#[test]
fn json_in_a_string_is_read() {
    let inner = json!({"command": "git push"}).to_string();
    found("mcp__any__call", &json!({"payload": inner}), &["git:push"]);
    let twice = json!(inner).to_string();
    found("mcp__any__call", &json!({"payload": twice}), &["git:push"]);
    let path = json!({"path": GRANTS, "text": "{}"}).to_string();
    verdict("mcp__any__put", &json!({"request": path}), Verdict::Deny);
    // The content of a file is no request.
    let scripts = json!({"scripts": {"release": "npm publish"}}).to_string();
    let input = json!({"path": "package.json", "content": scripts});
    verdict("mcp__fs__write_file", &input, Verdict::Allow);
}

#[test]
fn a_protected_path_in_parts_or_in_a_patch_is_refused() {
    let patch = format!("--- a/{GRANTS}\n+++ b/{GRANTS}\n@@ -1 +1 @@\n-a\n+b\n");
    for input in [
        json!({"directory": ".claude", "name": "settings.local.json", "content": "{}"}),
        json!({"dir": "/w/.claude", "file": "settings.json"}),
        json!({"path": {"parent": ".claude", "leaf": "settings.local.json"}}),
        json!({"tree": {".claude": {"settings.local.json": "{}"}}}),
        json!({"tree": [{"name": ".claude", "children": [{"name": "settings.local.json"}]}]}),
        json!({"changes": patch}),
    ] {
        verdict("mcp__any__put", &input, Verdict::Deny);
    }
    for input in [
        json!({"directory": ".claude", "name": "notes.md"}),
        json!({"files": [".claude"]}),
        json!({"directory": "src", "name": "settings.json"}),
        json!({"title": ".claude/commands", "state": "settings.json"}),
    ] {
        verdict("mcp__any__put", &input, Verdict::Allow);
    }
    let input = json!({"directory": ".claude", "name": "settings.local.json"});
    verdict("mcp__fs__read_file", &input, Verdict::Allow);
}

#[test]
fn a_field_for_an_output_is_written_by_a_tool_that_reads() {
    for (tool, input) in [
        (
            "mcp__any__get_report",
            json!({"output_file": ".claude/settings.json"}),
        ),
        (
            "mcp__web__fetch",
            json!({"url": "x", "saveAs": ".role-os/config.toml"}),
        ),
        ("mcp__any__read", json!({"dest": ".role-os/config.toml"})),
        ("mcp__any__list", json!({"output": {"path": ".mcp.json"}})),
        (
            "mcp__any__search",
            json!({"outDir": ".claude", "file": "settings.json"}),
        ),
        ("mcp__any__query", json!({"export-to": GRANTS})),
    ] {
        verdict(tool, &input, Verdict::Deny);
    }
    for (tool, input) in [
        (
            "mcp__any__get_report",
            json!({"output_file": "report.json"}),
        ),
        (
            "mcp__any__read",
            json!({"path": ".claude/settings.json", "output": "json"}),
        ),
        (
            "mcp__any__search",
            json!({"path": ".claude", "output_mode": "content"}),
        ),
    ] {
        verdict(tool, &input, Verdict::Allow);
    }
}

#[test]
fn a_program_and_its_arguments_in_different_places_are_one_command() {
    for input in [
        json!({"process": {"exe": "git"}, "options": {"args": ["push"]}}),
        json!({"a": {"binary": "/usr/bin/git"}, "b": {"argv": "push origin main"}}),
        json!({"file": "git", "argv": ["push"]}),
        json!({"exe": "npm", "args": {"0": "publish"}}),
        json!({"spec": [{"program": {"path": "/usr/bin/git"}}, {"arguments": ["push"]}]}),
        json!({"command": ["git", "-c", "x.y=z", ["push"]]}),
        json!({"bin": "git", "sub": "push"}),
        json!({"bin": "git", "dir": "x", "sub": "push"}),
        json!({"argv0": "git", "argv1": "push"}),
        json!({"argv0": "git", "argv1": "-C", "argv2": "x", "argv3": "push"}),
        json!({"sub": "push", "zbin": "git"}),
        json!({"argv": ["timeout", "5", "git", "push"]}),
        json!({"x": [["bash"], ["-c", "git push"]]}),
        json!({"bin": "git", "push": true}),
        json!({"a": ["npm"], "b": ["publish"]}),
        json!({"git": "push"}),
        json!({"cmd": {"git": {"push": true}}}),
        json!({"c": "g=git; $g push"}),
    ] {
        let decision = decide("mcp__any__work", &input);
        assert!(decision.verdict >= Verdict::Ask, "{input}");
        assert!(!decision.actions.is_empty(), "{input}");
    }
    for input in [
        json!({"process": {"exe": "git"}, "options": {"args": ["status"]}}),
        json!({"tool": "git", "params": {"repo": "x", "branch": "push"}, "labels": ["push"]}),
        json!({"file": "src/git.rs", "args": ["push"]}),
    ] {
        verdict("mcp__docs__search", &input, Verdict::Allow);
    }
}

#[test]
fn code_that_starts_a_gated_command_is_an_act_in_any_field() {
    for (field, code) in [
        ("code", "import os; os.system(\"git push\")"),
        (
            "source",
            "import subprocess\nsubprocess.run(['git', 'push'])",
        ),
        ("snippet", "require('child_process').exec(`git push`)"),
        ("cell", "subprocess.check_call([\n  \"npm\",\"publish\"])"),
        (
            "body",
            "std::process::Command::new(\"git\").args([\"push\"]).status()",
        ),
        ("text", "exec.Command(\"git\", \"push\", \"origin\").Run()"),
    ] {
        let input = json!({ field: code });
        let decision = decide("mcp__any__work", &input);
        assert!(decision.verdict >= Verdict::Ask, "{input}");
        assert!(!decision.actions.is_empty(), "{input}");
    }
    for (tool, input) in [
        (
            "mcp__fs__write_file",
            json!({"path": "a.py", "content": "os.system('git push')"}),
        ),
        (
            "mcp__fs__create_file",
            json!({"file": "a.py", "code": "os.system('git push')"}),
        ),
        (
            "mcp__jira__add_comment",
            json!({"body": "it calls os.system('git push')"}),
        ),
        ("mcp__any__work", json!({"code": "os.system('git status')"})),
        ("mcp__any__work", json!({"code": "print('git', 'push')"})),
    ] {
        verdict(tool, &input, Verdict::Allow);
    }
}

#[test]
fn a_search_that_can_reach_the_keys_reads_them() {
    for (tool, input) in [
        ("Grep", json!({"pattern": ".", "glob": ".role-os/keys/**"})),
        (
            "Grep",
            json!({"pattern": ".", "path": "/w", "glob": "**/.role-os/**"}),
        ),
        (
            "Grep",
            json!({"pattern": ".", "path": ".role-os", "glob": "**/*.key"}),
        ),
        ("Grep", json!({"pattern": ".", "path": ".role-os"})),
        ("Grep", json!({"pattern": ".", "glob": "{src,.role-os}/**"})),
        ("Glob", json!({"pattern": ".role-os/keys/*"})),
        ("Glob", json!({"path": ".role-os", "pattern": "keys/**"})),
        (
            "mcp__rg__search",
            json!({"path": ".role-os", "include": "keys/*"}),
        ),
    ] {
        verdict(tool, &input, Verdict::Deny);
    }
    for (tool, input) in [
        ("Grep", json!({"pattern": "keys", "glob": "*.rs"})),
        ("Grep", json!({"pattern": ".role-os/keys", "path": "src"})),
        ("Grep", json!({"pattern": "x", "glob": "!.role-os/**"})),
        ("Grep", json!({"pattern": "x"})),
        ("Glob", json!({"pattern": "**/*"})),
        ("Glob", json!({"pattern": "**/*.key"})),
    ] {
        verdict(tool, &input, Verdict::Allow);
    }
}

#[track_caller]
fn is_act(tool: &str, input: &Value, action: &str) {
    let decision = decide(tool, input);
    assert!(decision.verdict >= Verdict::Ask, "{tool} {input}");
    assert!(
        decision.actions.iter().any(|found| found == action),
        "{tool} {input} {:?}",
        decision.actions
    );
}

#[test]
fn a_string_is_read_as_a_shell_and_a_terminal_read_it() {
    for text in [
        "sh -c \"git push origin main\"",
        "bash -lc 'git push'",
        "env A=1 git push",
        "A=1 env B=2 git push origin main",
        "timeout 5 git push",
        "nohup timeout -k 1 5 git push origin main",
        "sudo -u me git push",
        "/usr/bin/env git push",
        "git push\r",
        "\u{3}git push\r",
        "\u{15}cd x\rgit push\r",
        "git push<Enter>",
        "git<Space>push<CR>",
        "git push{ENTER}",
        "<C-c>git push<Return>",
    ] {
        for field in ["text", "data", "input", "keys", "value", "x"] {
            is_act("mcp__any__work", &json!({ field: text }), "git:push");
        }
        is_act(
            "mcp__any__work",
            &json!({"items": ["ls", text]}),
            "git:push",
        );
        verdict(
            "mcp__slack__post_message",
            &json!({"text": text}),
            Verdict::Allow,
        );
        verdict("mcp__any__work", &json!({"title": text}), Verdict::Allow);
    }
    for keys in [
        json!(["g", "i", "t", " ", "p", "u", "s", "h", "Enter"]),
        json!(["git", "Space", "push", "Enter"]),
        json!(["git push", "C-m"]),
        json!(["git Space push Enter"]),
        json!(["C-c", "git push", "\r"]),
    ] {
        is_act("mcp__tmux__send_keys", &json!({ "keys": keys }), "git:push");
        is_act("mcp__any__work", &json!({ "keys": keys }), "git:push");
    }
    is_act(
        "mcp__any__run_steps",
        &json!({"lines": "cd x\ngit push\n"}),
        "git:push",
    );
    for text in [
        "git status\r",
        "timeout 5 cargo test",
        "env A=1 git log",
        "sh -c 'git fetch'",
        "time to explain why the git push of the release was slow today",
        "press <Enter> to go on",
    ] {
        verdict("mcp__any__work", &json!({ "text": text }), Verdict::Allow);
    }
}

#[test]
fn the_words_of_a_tool_are_read_behind_the_program_that_it_is_named_after() {
    for (tool, input) in [
        ("mcp__git__git_command", json!({"command": "push"})),
        (
            "mcp__git__run_command",
            json!({"command": "push origin main"}),
        ),
        ("mcp__git__raw", json!({"cmd": ["push"]})),
        (
            "mcp__git__raw",
            json!({"cmd": ["-C", "x", "push", "origin"]}),
        ),
        ("mcp__git__execute", json!({"operation": "push"})),
        ("mcp__git__tool", json!({"action": "push"})),
        ("mcp__git__repo", json!({"op": "push", "remote": "origin"})),
        ("mcp__git__repo", json!({"steps": [{"op": "push"}]})),
        ("mcp__git__commit", json!({"message": "x", "push": true})),
        ("mcp__my-git-server__do", json!({"what": "push"})),
        ("mcp__tools__git_any", json!({"verb": "push --force"})),
        ("mcp__git__work", json!({"keys": "push\r"})),
    ] {
        is_act(tool, &input, "git:push");
    }
    is_act("mcp__npm__do", &json!({"op": "publish"}), "npm:publish");
    for (tool, input) in [
        ("mcp__git__git_commit", json!({"message": "push"})),
        (
            "mcp__git__git_commit",
            json!({"message": "x", "push": false}),
        ),
        ("mcp__git__git_checkout", json!({"branch": "push"})),
        ("mcp__git__git_add", json!({"files": ["push"]})),
        ("mcp__git__git_log", json!({"query": "push"})),
        ("mcp__git__execute", json!({"operation": "status"})),
        (
            "mcp__git__run_command",
            json!({"command": "log", "cwd": "/w/x"}),
        ),
        ("mcp__git__repo", json!({"op": "pull", "note": "push"})),
        ("mcp__queue__do", json!({"op": "push"})),
        ("mcp__github__list_workflow_runs", json!({"event": "push"})),
    ] {
        verdict(tool, &input, Verdict::Allow);
    }
}

#[test]
fn a_forge_is_changed_by_method_and_path_too() {
    for (tool, input, action) in [
        (
            "mcp__github__request",
            json!({"method": "POST", "path": "/repos/o/r/releases"}),
            "gh:release",
        ),
        (
            "mcp__github__call",
            json!({"method": "PUT", "url": "/repos/o/r/contents/x"}),
            "git:push",
        ),
        (
            "mcp__any__call",
            json!({"request": {"verb": "post", "route": "repos/o/r/pulls"}}),
            "gh:pr-create",
        ),
        (
            "mcp__github__repo",
            json!({"method": "push_files"}),
            "git:push",
        ),
        (
            "mcp__github__pull_requests",
            json!({"method": "create"}),
            "gh:pr-create",
        ),
        (
            "mcp__github__releases",
            json!({"action": "delete"}),
            "gh:release",
        ),
        (
            "mcp__any__use",
            json!({"tool": "createRelease"}),
            "gh:release",
        ),
        (
            "mcp__github__update_ref",
            json!({"ref": "heads/main"}),
            "git:push",
        ),
    ] {
        is_act(tool, &input, action);
    }
    for (tool, input) in [
        (
            "mcp__github__request",
            json!({"method": "GET", "path": "/repos/o/r/releases"}),
        ),
        (
            "mcp__github__request",
            json!({"method": "POST", "path": "/repos/o/r/issues"}),
        ),
        ("mcp__github__pull_requests", json!({"method": "list"})),
        (
            "mcp__github__issues",
            json!({"method": "create", "title": "create_release"}),
        ),
        ("mcp__docs__search", json!({"query": "push_files"})),
    ] {
        verdict(tool, &input, Verdict::Allow);
    }
}
