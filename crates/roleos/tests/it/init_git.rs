//! Git's `pre-push` hook among hooks of others: husky, links, several working trees; and its checks of a push.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use crate::init::{agents_push, git, let_through_once, prepare_push, quiet, repository, roleos};
use crate::workspace::{Ran, Workspace, ran};

fn executable(path: &Path) {
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Like husky 9: each hook runs `h`, which finds the project's hook by its own name.
const HUSKY_H: &str = "#!/usr/bin/env sh\nn=$(basename \"$0\")\ns=$(dirname \"$(dirname \"$0\")\")/$n\n\n[ ! -f \"$s\" ] && exit 0\nsh -e \"$s\" \"$@\"\n";
const HUSKY_STUB: &str = "#!/usr/bin/env sh\n. \"$(dirname \"$0\")/h\"";

fn with_husky() -> Workspace {
    let workspace = repository();
    git(&workspace, &["config", "core.hooksPath", ".husky/_"]).exits(0);
    for (name, text) in [("h", HUSKY_H), ("pre-push", HUSKY_STUB)] {
        executable(&workspace.write(&format!(".husky/_/{name}"), text));
    }
    workspace.write(
        ".husky/pre-push",
        "cat > seen.txt\necho \"$1\" >> seen.txt\n",
    );
    workspace
}

#[test]
fn the_hook_of_a_project_with_husky_still_runs() {
    let workspace = with_husky();
    roleos(&workspace, &["init"]).exits(0);
    prepare_push(&workspace);
    agents_push(&workspace, &["push", "origin", "main"]).exits(1);
    assert!(!workspace.path("seen.txt").exists());
    git(&workspace, &["push", "--quiet", "origin", "main"]).exits(0);
    let seen = workspace.read("seen.txt");
    assert!(
        seen.starts_with("refs/heads/main ") && seen.ends_with("origin\n"),
        "{seen}"
    );
    // An installation of packages writes husky's own hooks again.
    workspace.write(".husky/_/pre-push", HUSKY_STUB);
    let doctor = roleos(&workspace, &["doctor"]).exits(1);
    assert!(
        doctor.stdout.contains("there is no pre-push hook of ours"),
        "{doctor:#?}"
    );
    roleos(&workspace, &["init"]).exits(0);
    agents_push(&workspace, &["push", "origin", "main:again"]).exits(1);
    roleos(&workspace, &["init", "--uninstall"]).exits(0);
    assert_eq!(workspace.read(".husky/_/pre-push"), HUSKY_STUB);
    assert!(!workspace.path(".husky/_/pre-push.before-roleos").exists());
}

#[test]
fn a_kept_hook_that_is_another_one_is_not_overwritten() {
    let workspace = with_husky();
    roleos(&workspace, &["init"]).exits(0);
    workspace.write(".husky/_/pre-push", "#!/bin/sh\n# a third one\n");
    let refused = roleos(&workspace, &["init"]).exits(1);
    assert!(
        refused
            .error()
            .contains("pre-push.before-roleos`: it is there"),
        "{refused:#?}"
    );
    assert_eq!(
        workspace.read(".husky/_/pre-push.before-roleos"),
        HUSKY_STUB
    );
}

#[test]
fn a_tracked_hook_is_pointed_out_and_what_is_kept_is_not_committed() {
    let workspace = repository();
    git(&workspace, &["config", "core.hooksPath", "hooks"]).exits(0);
    executable(&workspace.write("hooks/pre-push", "#!/bin/sh\nexit 0\n"));
    git(&workspace, &["add", "hooks"]).exits(0);
    git(&workspace, &["commit", "--quiet", "-m", "hooks"]).exits(0);
    let done = roleos(&workspace, &["init"]).exits(0);
    assert!(
        done.stderr.contains("`hooks/pre-push` is tracked by git"),
        "{done:#?}"
    );
    let status = git(&workspace, &["status", "--porcelain", "hooks"]).succeeds();
    assert_eq!(status, " M hooks/pre-push\n");
    roleos(&workspace, &["init", "--uninstall"]).exits(0);
    let status = git(&workspace, &["status", "--porcelain", "hooks"]).succeeds();
    assert_eq!(status, "");
}

#[test]
fn a_hook_that_is_a_link_stays_one() {
    for exists in [true, false] {
        let workspace = repository();
        if exists {
            executable(&workspace.write("scripts/push.sh", "#!/bin/sh\ncat > seen.txt\n"));
        }
        fs::create_dir_all(workspace.path(".git/hooks")).unwrap();
        let hook = workspace.path(".git/hooks/pre-push");
        symlink("../../scripts/push.sh", &hook).unwrap();
        roleos(&workspace, &["init"]).exits(0);
        prepare_push(&workspace);
        agents_push(&workspace, &["push", "origin", "main"]).exits(1);
        git(&workspace, &["push", "--quiet", "origin", "main"]).exits(0);
        assert_eq!(workspace.path("seen.txt").exists(), exists);
        roleos(&workspace, &["init", "--uninstall"]).exits(0);
        let leads_to = fs::read_link(&hook).unwrap();
        assert_eq!(leads_to, Path::new("../../scripts/push.sh"));
        let kept = workspace.path(".git/hooks/pre-push.before-roleos");
        assert!(kept.symlink_metadata().is_err());
    }
}

/// Runs the binary in a folder that is a separate workspace.
fn roleos_in(workspace: &Workspace, folder: &Path, words: &[&str]) -> Ran {
    let mut command = workspace.command(words);
    command.current_dir(folder).env_remove("ROLEOS_ROOT");
    ran(quiet(command, workspace))
}

#[test]
fn working_trees_of_one_repository_share_the_hook() {
    let workspace = repository();
    prepare_push(&workspace);
    let tree = workspace.home().join("a tree");
    let (tree_name, remote) = (tree.to_str().unwrap(), workspace.path("remote.git"));
    let add = ["worktree", "add", "--quiet", tree_name, "-b", "side"];
    git(&workspace, &add).exits(0);
    let both = [workspace.root(), &tree];
    for folder in both {
        roleos_in(&workspace, folder, &["init", "--agent", "claude"]).exits(0);
    }
    for folder in both {
        let again = roleos_in(&workspace, folder, &["init", "--agent", "claude"]).exits(0);
        assert!(again.stderr.contains("nothing to change"), "{again:#?}");
        roleos_in(&workspace, folder, &["doctor"]).exits(0);
    }
    // Each uses the gate of its own workspace.
    let push = ["-C", tree_name, "push", remote.to_str().unwrap(), "side"];
    let refused = agents_push(&workspace, &push).exits(1);
    let after = refused.stderr.split("roleos approve ").nth(1).unwrap();
    let id = after.split_whitespace().next().unwrap();
    let kept = tree.join(format!(".role-os/approvals/{id}.refused"));
    assert!(kept.exists(), "{refused:#?}");

    roleos_in(&workspace, &tree, &["init", "--uninstall"]).exits(0);
    roleos_in(&workspace, workspace.root(), &["doctor"]).exits(0);
    agents_push(&workspace, &["push", "origin", "main"]).exits(1);
    roleos_in(&workspace, workspace.root(), &["init", "--uninstall"]).exits(0);
    assert!(!workspace.path(".git/hooks/pre-push").exists());
}

#[test]
fn a_persons_push_does_not_depend_on_our_settings() {
    let workspace = repository();
    roleos(&workspace, &["init"]).exits(0);
    prepare_push(&workspace);
    workspace.write(".role-os/config.toml", "[oversight\n");
    git(&workspace, &["push", "--quiet", "origin", "main"]).exits(0);
    let refused = agents_push(&workspace, &["push", "origin", "main:other"]).exits(1);
    assert!(refused.stderr.contains("config.toml"), "{refused:#?}");
}

#[test]
fn options_of_a_push_do_not_make_it_another_one() {
    let workspace = repository();
    roleos(&workspace, &["init"]).exits(0);
    prepare_push(&workspace);
    let words = [
        "push",
        "--receive-pack",
        "git-receive-pack",
        "origin",
        "main",
    ];
    let_through_once(&workspace, &words);
    agents_push(&workspace, &words).exits(0);
}
