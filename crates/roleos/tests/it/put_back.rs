//! Restoration after a call, although the call removed files to prevent it: settings, the trust store, the ledger,
//! refs.

use std::fs;

use serde_json::json;

use crate::effects::{before, prepared, protected, refuses_push, run, run_by, session};
use crate::init::git;
use crate::workspace::{Workspace, ran};

/// Returns the files in a folder and below, by their paths from the root.
fn files(workspace: &Workspace, folder: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![workspace.path(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false => found.push(
                    path.strip_prefix(workspace.root())
                        .unwrap()
                        .display()
                        .to_string(),
                ),
            }
        }
    }
    found.sort();
    found
}

#[test]
fn settings_that_cannot_be_read_keep_nothing_from_being_put_back() {
    for breaks in [
        "git log --output=.role-os/config.toml",
        "echo '[[[' > .role-os/config.toml",
        "printf '\\377' > .role-os/config.toml",
        "rm .role-os/config.toml; mkdir .role-os/config.toml",
        "ln -sf /dev/zero .role-os/config.toml",
        "rm -r .role-os/config.toml .role-os/installed.json",
        "printf '[oversight]\\ncapability_gate = false\\n' > .role-os/config.toml; rm .role-os/installed.json",
        "mv .role-os away",
    ] {
        let workspace = prepared();
        git(&workspace, &["commit", "-q", "--allow-empty", "-m", "one"]).succeeds();
        let known = protected(&workspace);
        let told = run(
            &workspace,
            &format!(
                "{breaks}; echo '{{}}' > .claude/settings.local.json; echo '{{\"git:push\":{{}}}}' > .claude/role-os/capabilities.json"
            ),
        );
        assert_eq!(protected(&workspace), known, "{breaks}");
        assert!(told.contains("put back"), "{breaks}: {told}");
        refuses_push(&workspace, "a");
    }
}

#[test]
fn settings_that_stay_unreadable_block() {
    let workspace = prepared();
    workspace.write(".role-os/config.toml", "[[[");
    let ran = before(&workspace, "Bash", &json!({ "command": "ls" }));
    assert!(ran.code == 2, "{ran:#?}");
}

#[test]
fn what_a_call_brings_into_or_takes_out_of_a_folder_of_an_agent_is_put_back() {
    let workspace = prepared();
    workspace.write(".claude/agents/mine.md", "mine");
    workspace.write(".claude/skills/one/SKILL.md", "one");
    workspace.write(".cursor/agents/a.md", "a");
    git(&workspace, &["commit", "-q", "--allow-empty", "-m", "one"]).succeeds();
    session(
        &workspace,
        "SessionStart",
        "a",
        &json!({ "source": "resume" }),
    )
    .exits(0);
    let all = |workspace: &Workspace| {
        let folders = [
            ".claude/agents",
            ".claude/skills",
            ".claude/plugins",
            ".cursor",
            ".gemini",
            ".codex",
        ];
        let names = folders.iter().flat_map(|folder| files(workspace, folder));
        names
            .map(|name| (workspace.read(&name), name))
            .collect::<Vec<_>>()
    };
    let known = all(&workspace);
    for command in [
        "git format-patch -q -1 -o .claude/agents",
        "d=$(ls -d .c*/agents | head -1); echo x > $d/evil.md; echo y > $d/mine.md",
        "find .claude -name '*.md' | xargs rm",
        "rm -rf .claude/skills",
        "mkdir -p .claude/skills/two/deep; echo x > .claude/skills/two/deep/SKILL.md",
        "mkdir -p .codex/prompts .gemini/extensions/e; echo x > .codex/prompts/p.md; echo {} > .gemini/extensions/e/x.json",
        "ln -s /tmp .claude/agents/link",
        "mv .cursor/agents .cursor/elsewhere; rm -r .cursor/elsewhere",
    ] {
        let told = run(&workspace, command);
        assert_eq!(all(&workspace), known, "{command}");
        assert!(told.contains("put back"), "{command}: {told}");
    }
    // A person may do this between calls.
    workspace.write(".claude/agents/new.md", "new");
    run(&workspace, "true");
    session(&workspace, "Stop", "a", &json!({})).exits(0);
    fs::remove_file(workspace.path(".claude/agents/new.md")).unwrap();
    session(
        &workspace,
        "UserPromptSubmit",
        "a",
        &json!({ "prompt": "x" }),
    )
    .exits(0);
    assert!(!workspace.path(".claude/agents/new.md").exists());
}

#[test]
fn a_trust_store_that_a_call_removes_comes_back_with_all_that_it_knows() {
    for command in [
        "rm -rf ~/.local/state/role*",
        "echo ~/.local/state | xargs rm -rf",
        "rm -rf ~/.local/state/roleos/protected",
        "rm -f ~/.local/state/roleos/workspaces/* ~/.local/state/roleos/protected/*/record",
        "mv ~/.local/state/roleos ~/gone",
        "rm -rf ~/.local/state/roleos; echo x > ~/.local/state/roleos",
        "rm -rf ~/.local/state/roleos; ln -s /nowhere ~/.local/state/roleos",
        "rm -rf ~/.local/state/roleos/protected; echo x > ~/.local/state/roleos/protected",
        "for f in $(find ~/.local/state/roleos -type f); do : > $f; done",
        "for f in ~/.local/state/roleos/protected/*/record; do echo '{}' > $f; done",
    ] {
        let workspace = sealed();
        let known = protected(&workspace);
        let told = run(
            &workspace,
            &format!("{command}; echo '{{}}' > .claude/settings.local.json"),
        );
        assert_eq!(protected(&workspace), known, "{command}: {told}");
        assert!(told.contains("state/roleos"), "{command}: {told}");
        assert!(!told.contains("could not be put back"), "{command}: {told}");
        refuses_push(&workspace, "a");
        let told = run(&workspace, "true");
        assert!(!told.contains("put back"), "{command}: {told}");
    }
}

#[test]
fn without_the_trust_store_and_its_copy_calls_are_blocked_until_a_person_looked() {
    let workspace = prepared();
    run(
        &workspace,
        "rm -rf ~/.local; echo '{}' > .claude/settings.json",
    );
    for _ in 0..2 {
        let answer = before(&workspace, "Bash", &json!({ "command": "ls" }));
        assert!(answer.code == 2, "{answer:#?}");
    }
    // An agent can run `init` as well.
    let mut below_agent = workspace.command(&["init", "--agent", "claude"]);
    below_agent.env("CLAUDECODE", "1");
    ran(below_agent);
    let answer = before(&workspace, "Bash", &json!({ "command": "ls" }));
    assert!(answer.code == 2, "{answer:#?}");
    assert!(answer.stderr.contains("roleos trust"), "{answer:#?}");
}

#[test]
#[cfg(target_os = "linux")]
fn a_supervised_call_cannot_remove_the_trust_store_with_its_copy() {
    for command in [
        "rm -rf ~/.local",
        "rm -rf ~/.local/state/roleos ~/.local/share/roleos",
        "find ~/.local -type f -name record -delete",
        "find ~/.local -type f | while read f; do : > $f; rm $f; done",
    ] {
        let workspace = sealed();
        let known = protected(&workspace);
        let command = format!("{command}; echo '{{}}' > .claude/settings.local.json");
        let told = run_by(&workspace, &command, || {
            workspace.roleos(&["run", "--shell", &command]).exits(0);
        });
        assert_eq!(protected(&workspace), known, "{command}: {told}");
        refuses_push(&workspace, "a");
        let told = run(&workspace, "true");
        assert!(!told.contains("put back"), "{command}: {told}");
    }
}

#[test]
fn snapshots_that_a_call_removes_or_moves_come_back() {
    let workspace = prepared();
    git(&workspace, &["commit", "-q", "--allow-empty", "-m", "one"]).succeeds();
    git(&workspace, &["commit", "-q", "--allow-empty", "-m", "two"]).succeeds();
    git(
        &workspace,
        &["update-ref", "refs/roleos/snapshot/a", "HEAD~"],
    )
    .succeeds();
    git(
        &workspace,
        &["update-ref", "refs/roleos/undone/a/1", "HEAD"],
    )
    .succeeds();
    session(
        &workspace,
        "SessionStart",
        "a",
        &json!({ "source": "resume" }),
    )
    .exits(0);
    let refs = |workspace: &Workspace| git(workspace, &["for-each-ref", "refs/roleos"]).succeeds();
    let known = refs(&workspace);
    for (command, changes) in [
        (
            "git for-each-ref --format='delete %(refname)' refs/roleos | git update-ref --stdin",
            true,
        ),
        ("git pack-refs --all", false),
        (
            "git for-each-ref --format='%(refname)' refs/roleos | xargs -n1 git update-ref -d",
            true,
        ),
        (
            "git for-each-ref --format='%(refname)' refs/roleos | xargs -I{} git update-ref {} HEAD",
            true,
        ),
        ("rm -rf .git/refs/roleos .git/packed-refs", true),
        ("git gc -q", false),
    ] {
        let told = run(&workspace, command);
        assert_eq!(refs(&workspace), known, "{command}");
        assert_eq!(told.contains("refs/roleos"), changes, "{command}: {told}");
    }
}

/// Returns a workspace with the hook and a sealed bundle, known to the session.
fn sealed() -> Workspace {
    let workspace = prepared();
    workspace.seal_some(1);
    session(
        &workspace,
        "SessionStart",
        "a",
        &json!({ "source": "resume" }),
    )
    .exits(0);
    workspace
}

#[test]
fn a_ledger_that_a_call_removes_comes_back() {
    for command in [
        "ls -d .role-os/* | grep ledger | xargs rm -rf",
        "ls -d .role-os/* | grep ledger | xargs rm -rf; rm -rf ~/.local/state/role*",
    ] {
        let workspace = sealed();
        let told = run(&workspace, command);
        assert!(told.contains(".role-os/ledger/leaves.jsonl"), "{told}");
        workspace.roleos(&["ledger", "verify"]).exits(0);
    }
}

#[test]
fn a_ledger_that_is_gone_with_other_traces_is_missed() {
    for also in [
        &[][..],
        &[".role-os/witness"],
        &[".role-os/witness", "state"],
        &[".role-os/witness", "state", "copy"],
        &[".role-os/witness", "state", "copy", ".role-os/sessions"],
        &[
            ".role-os/witness",
            "state",
            "copy",
            ".role-os/installed.json",
        ],
    ] {
        let workspace = sealed();
        for name in [".role-os/ledger"].iter().chain(also) {
            let path = match *name {
                "state" => workspace.home().join(".local/state/roleos"),
                "copy" => workspace.home().join(".local/share/roleos"),
                name => workspace.path(name),
            };
            // A seal in the background may still write there.
            while path.is_dir() {
                fs::remove_dir_all(&path).ok();
            }
            fs::remove_file(&path).ok();
        }
        workspace.roleos(&["ledger", "verify"]).exits(1);
        let report = workspace.roleos(&["doctor"]).stdout;
        assert!(report.contains("ledger"), "{also:?}: {report}");
    }
}

#[test]
fn a_workspace_that_never_sealed_says_so() {
    let workspace = prepared();
    let told = workspace.roleos(&["ledger", "verify"]).succeeds();
    assert!(
        told.contains("nothing was sealed since `roleos init`"),
        "{told}"
    );
    // The record of the installation is still there after the trust store is removed.
    fs::remove_dir_all(workspace.home().join(".local")).unwrap();
    let told = workspace.roleos(&["ledger", "verify"]).succeeds();
    assert!(
        told.contains("nothing was sealed since `roleos init`"),
        "{told}"
    );
    fs::remove_file(workspace.path(".role-os/installed.json")).unwrap();
    workspace.roleos(&["ledger", "verify"]).exits(1);
    let plain = Workspace::new();
    let told = plain.roleos(&["ledger", "verify"]).succeeds();
    assert!(told.contains("no ledger yet"), "{told}");
}
