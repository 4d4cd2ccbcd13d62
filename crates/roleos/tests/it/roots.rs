//! Tests of finding the workspace.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::workspace::{ROLEOS, Ran, Workspace, ran};

/// Runs in a folder, without the variable that the other tests set.
fn roleos_in(folder: &Path, root: Option<&Path>, words: &[&str]) -> Ran {
    let mut command = Command::new(ROLEOS);
    command
        .args(words)
        .current_dir(folder)
        .env_remove("ROLEOS_ROOT")
        .env_remove("ROLEOS_CONFIG");
    if let Some(root) = root {
        command.env("ROLEOS_ROOT", root);
    }
    ran(command)
}

/// Seals in `start`, and asserts that the bundle is below `expected`.
#[track_caller]
fn check(workspace: &Workspace, start: &str, root: Option<&str>, words: &[&str], expected: &str) {
    let root = root.map(|root| workspace.path(root));
    let words = [&["--json", "witness", "seal", "--outcome", "solved"], words].concat();
    let sealed = roleos_in(&workspace.path(start), root.as_deref(), &words)
        .exits(0)
        .json();
    let expected = workspace
        .path(expected)
        .canonicalize()
        .unwrap()
        .join(".role-os/witness");
    let file = sealed["file"].as_str().unwrap();
    assert!(
        Path::new(file).starts_with(&expected),
        "{file} is not below {expected:?}"
    );
}

fn folders(names: &[&str]) -> Workspace {
    let workspace = Workspace::new();
    for name in names {
        fs::create_dir_all(workspace.path(name)).unwrap();
    }
    workspace
}

#[test]
fn the_nearest_workspace_above_is_taken() {
    let workspace = folders(&[".role-os", "a/.role-os", "a/b/c", "d"]);
    check(&workspace, "a/b/c", None, &[], "a");
    check(&workspace, "d", None, &[], "");
}

#[test]
fn without_one_it_is_the_git_root() {
    let workspace = folders(&["repo/.git", "repo/src"]);
    check(&workspace, "repo/src", None, &[], "repo");
}

#[test]
fn what_is_named_wins() {
    let workspace = folders(&["here/.role-os", "variable", "option"]);
    check(&workspace, "here", Some("variable"), &[], "variable");
    check(
        &workspace,
        "here",
        Some("variable"),
        &["--root", "../option"],
        "option",
    );
    check(&workspace, "here", None, &["--root", "../option"], "option");
}

#[test]
fn a_root_that_is_none_is_an_error() {
    let workspace = folders(&["here"]);
    workspace.write("file", "");
    for (root, message) in [
        ("nowhere", "cannot open the workspace root"),
        ("file", "is not a folder"),
    ] {
        let root = workspace.path(root);
        let ran = roleos_in(&workspace.path("here"), Some(&root), &["witness", "list"]).exits(1);
        assert!(ran.error().contains(message), "{ran:#?}");
        let words = ["witness", "list", "--root", root.to_str().unwrap()];
        let ran = roleos_in(&workspace.path("here"), None, &words).exits(1);
        assert!(ran.error().contains(message), "{ran:#?}");
    }
}
