//! Showing a catalog, writing for it, installing from it and exporting it.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::workspace::{Ran, Workspace};

/// Returns the shipped catalog.
fn shipped() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../catalog")
}

/// Returns a workspace with a copy of the shipped catalog.
pub(crate) fn with_catalog() -> Workspace {
    let workspace = Workspace::new();
    copy(&shipped(), &workspace.path("catalog"));
    workspace
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &target);
        } else {
            fs::copy(&path, &target).unwrap();
        }
    }
}

/// Runs `roleos --json catalog …`.
#[track_caller]
fn catalog(workspace: &Workspace, arguments: &[&str]) -> Ran {
    workspace.roleos(&[&["--json", "catalog"], arguments].concat())
}

/// Returns the JSON answer of a run that must succeed.
#[track_caller]
fn answer(workspace: &Workspace, arguments: &[&str]) -> Value {
    catalog(workspace, arguments).exits(0).json()
}

#[test]
fn a_list_has_bundles_languages_and_roles_with_their_state() {
    let workspace = with_catalog();
    let list = answer(&workspace, &["list", "--lang", "ru"]);
    assert_eq!(list["languages"], json!(["en", "ru"]));
    assert_eq!(list["bundles"][1]["name"], "Исследования");
    let role = &list["bundles"][1]["roles"][0];
    assert_eq!(
        *role,
        json!({ "slug": "researcher", "version": 1, "state": "locked" })
    );
    let text = workspace.roleos(&["catalog", "list"]).succeeds();
    assert!(text.contains("structural-editor"), "{text}");
}

#[test]
fn a_card_is_readable_and_says_which_language_it_is_in() {
    let workspace = with_catalog();
    let ran = workspace
        .roleos(&["catalog", "show", "researcher", "--lang", "fr"])
        .exits(0);
    assert!(ran.stdout.starts_with("🧭 Researcher\n"), "{ran:#?}");
    assert!(ran.stdout.contains("## Method"), "{ran:#?}");
    assert_eq!(ran.stderr, "there is no text in `fr`; this is `en`\n");
    let card = answer(&workspace, &["show", "researcher", "--lang", "ru"]);
    assert_eq!(card["language"], "ru");
    assert_eq!(card["autoStart"], false);
    let error = catalog(&workspace, &["show", "nobody"])
        .exits(1)
        .json_error();
    assert_eq!(error["code"], "role_not_found");
}

#[test]
fn a_card_cannot_play_with_the_terminal() {
    let workspace = Workspace::new();
    workspace.write("catalog/index.yaml", "schemaVersion: 1\nbundles: [{ id: a, name: {}, languages: [en], roles: [{ slug: x, version: 1 }] }]");
    workspace.write("catalog/bundles/a/en.yaml", "schemaVersion: 1\nlanguage: en\nroles: [{ slug: x, name: \"\\e[2J\", instructions: \"\\e]0;t\\a\" }]");
    let text = workspace.roleos(&["catalog", "show", "x"]).succeeds();
    assert!(!text.contains('\u{1b}'), "{text:?}");
}

fn git(workspace: &Workspace, arguments: &[&str]) {
    let output = std::process::Command::new("git")
        .args(["-c", "user.name=a", "-c", "user.email=a@example.org"])
        .args(arguments)
        .current_dir(workspace.root())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
}

/// Replaces text in a file of the workspace.
fn replace(workspace: &Workspace, path: &str, from: &str, to: &str) {
    let text = workspace.read(path);
    assert!(text.contains(from), "{path} has no {from}");
    workspace.write(path, text.replace(from, to));
}

#[test]
fn a_bump_changes_one_number_and_keeps_comments() {
    let workspace = with_catalog();
    let before = workspace.read("catalog/index.yaml");
    let bumped = answer(&workspace, &["bump", "researcher"]);
    assert_eq!(bumped, json!({ "slug": "researcher", "from": 1, "to": 2 }));
    let after = workspace.read("catalog/index.yaml");
    assert_eq!(
        after,
        before.replace(
            "researcher\n        version: 1",
            "researcher\n        version: 2"
        )
    );
    replace(
        &workspace,
        "catalog/index.yaml",
        "version: 2",
        "version: 2.5",
    );
    let error = catalog(&workspace, &["bump", "researcher"])
        .exits(1)
        .json_error();
    assert_eq!(error["code"], "not_edited");
}

#[test]
fn a_diff_compares_with_the_locked_text_that_git_has() {
    let workspace = with_catalog();
    let error = catalog(&workspace, &["diff", "researcher"])
        .exits(1)
        .json_error();
    assert_eq!(error["code"], "no_locked_text");
    git(&workspace, &["init", "-q"]);
    git(&workspace, &["add", "-A"]);
    git(&workspace, &["commit", "-qm", "one"]);
    assert_eq!(
        workspace
            .roleos(&["catalog", "diff", "researcher"])
            .succeeds(),
        "no difference from version 1\n"
    );
    replace(
        &workspace,
        "catalog/bundles/research/en.yaml",
        "## Confidence",
        "## Trust",
    );
    git(&workspace, &["commit", "-qam", "two"]);
    let text = workspace
        .roleos(&["catalog", "diff", "researcher"])
        .succeeds();
    assert!(text.contains("\n-## Confidence\n+## Trust\n"), "{text}");
    let diff = answer(&workspace, &["diff", "researcher", "--lang", "ru"]);
    assert_eq!(diff["languages"].as_array().unwrap().len(), 1);
    assert_eq!(diff["languages"][0]["changed"], false);
}

#[test]
fn a_new_catalog_passes_the_check_once_it_is_locked() {
    let workspace = Workspace::new();
    let printed = workspace
        .roleos(&["catalog", "new", "bundle", "desk", "--role", "clerk"])
        .succeeds();
    assert!(printed.contains("- slug: clerk"), "{printed}");
    assert!(!workspace.path("catalog").exists());
    let steps: [&[&str]; 4] = [
        &[
            "new", "bundle", "desk", "--lang", "en", "--lang", "de", "--role", "clerk", "--write",
        ],
        &["new", "role", "desk", "editor", "--write"],
        &["new", "language", "desk", "fr", "--write"],
        &["check", "--update-hashes"],
    ];
    for step in steps {
        catalog(&workspace, step).exits(0);
    }
    let checked = answer(&workspace, &["check"]);
    assert_eq!(checked["served"], json!({}));
    workspace.write("catalog/bundles/desk/it.yaml", "schemaVersion: 1");
    let strict = catalog(&workspace, &["check", "--strict"]).exits(1).json();
    let failures = strict["failures"].as_array().unwrap();
    for class in ["unfinished", "undeclared"] {
        let has_class = failures.iter().any(|one| one["class"] == class);
        assert!(has_class, "{class}: {strict}");
    }
    let error = catalog(&workspace, &["new", "role", "desk", "clerk"])
        .exits(1)
        .json_error();
    assert_eq!(error["message"], "there is a role `clerk` already");
}

#[test]
fn roles_are_imported_listed_and_updated() {
    let workspace = with_catalog();
    let all = ["import", "research", "--lang", "en", "--conflict", "skip"];
    let done = answer(&workspace, &all);
    assert_eq!(
        (&done["created"], &done["renamed"], &done["skipped"]),
        (&json!(1), &json!(0), &json!(0))
    );
    let again = answer(&workspace, &all);
    assert_eq!(again["skippedRoles"][0]["reason"], "already-installed");
    let list = answer(&workspace, &["installed"]);
    assert_eq!(
        list[0]["source"],
        json!({ "slug": "researcher", "language": "en", "version": 1 })
    );
    assert_eq!(list[0]["edited"], false);

    assert_eq!(
        answer(&workspace, &["update", "--all"])[0]["reason"],
        "up-to-date"
    );
    catalog(&workspace, &["bump", "researcher"]).exits(0);
    let file = ".role-os/roles/researcher.en.yaml";
    replace(&workspace, file, "## Method", "## My method");
    assert_eq!(
        answer(&workspace, &["update", "researcher"])[0]["reason"],
        "local-edits"
    );
    let done = answer(&workspace, &["update", "researcher", "--overwrite"]);
    assert_eq!(
        (&done[0]["fromVersion"], &done[0]["toVersion"]),
        (&json!(1), &json!(2))
    );
    assert!(!workspace.read(file).contains("My method"));
    let error = catalog(&workspace, &["update", "nobody"])
        .exits(1)
        .json_error();
    assert_eq!(error["code"], "not_installed");
}

#[test]
fn an_import_says_which_slugs_failed_and_which_model_is_asked_for() {
    let workspace = Workspace::new();
    workspace.write("catalog/index.yaml", "schemaVersion: 1\nbundles: [{ id: a, name: {}, languages: [en], roles: [{ slug: x, version: 1 }] }]");
    workspace.write("catalog/bundles/a/en.yaml", "schemaVersion: 1\nlanguage: en\nroles: [{ slug: x, name: X, instructions: i, modelConfig: { driver: ollama } }]");
    let ran = workspace
        .roleos(&[
            "catalog",
            "import",
            "a",
            "--lang",
            "en",
            "--slug",
            "x",
            "--slug",
            "ghost",
            "--conflict",
            "skip",
        ])
        .exits(1);
    assert!(
        ran.stdout.contains("ghost  not found in the bundle"),
        "{ran:#?}"
    );
    assert!(
        ran.stderr
            .starts_with("x asks for the model {\"driver\":\"ollama\"}\n"),
        "{ran:#?}"
    );
    assert!(
        !workspace
            .read(".role-os/roles/x.en.yaml")
            .contains("ollama")
    );
    let error = catalog(
        &workspace,
        &["import", "b", "--lang", "en", "--conflict", "skip"],
    )
    .exits(1)
    .json_error();
    assert_eq!(error["code"], "bundle_unknown");
}

#[test]
fn the_shipped_catalog_is_locked_and_passes_the_strict_check() {
    let workspace = Workspace::new();
    let path = shipped();
    let answer = answer(&workspace, &["check", path.to_str().unwrap(), "--strict"]);
    assert_eq!(
        (&answer["ok"], &answer["served"]),
        (&json!(true), &json!({}))
    );
}

#[test]
fn an_export_never_replaces_what_is_not_ours() {
    let workspace = with_catalog();
    let agents = ["export", "--to", "claude-agents"];
    let done = answer(&workspace, &agents);
    assert_eq!(done.as_array().unwrap().len(), 11);
    let file = ".claude/agents/researcher.md";
    let text = workspace.read(file);
    assert!(text.contains("\nname: \"researcher\"\n"), "{text}");
    assert!(answer(&workspace, &agents)[5]["state"] == "unchanged");

    let ru = [
        "export",
        "--to",
        "claude-agents",
        "--lang",
        "ru",
        "researcher",
    ];
    assert_eq!(answer(&workspace, &ru)[0]["state"], "written");
    replace(
        &workspace,
        file,
        "name: \"researcher\"",
        "tools: Read\nname: \"researcher\"",
    );
    let kept = catalog(&workspace, &ru).exits(1).json();
    assert_eq!(
        kept,
        json!([{
            "slug": "researcher", "language": "ru", "file": file, "state": "kept", "error": null,
            "lost": kept[0]["lost"],
        }])
    );
    assert!(workspace.read(file).contains("tools: Read"));
    let forced = [&ru[..], &["--overwrite"]].concat();
    assert_eq!(answer(&workspace, &forced)[0]["state"], "written");
}

#[test]
fn a_skill_goes_into_a_folder_of_its_name_and_losses_are_said() {
    let workspace = with_catalog();
    let words = [
        "catalog",
        "export",
        "--to",
        "agent-skills",
        "--out",
        "elsewhere",
        "proofreader",
    ];
    let ran = workspace.roleos(&words).exits(0);
    assert_eq!(ran.stdout, "wrote      skills/proofreader/SKILL.md\n");
    assert!(ran.stderr.contains("launch message"), "{ran:#?}");
    assert!(
        workspace
            .read("elsewhere/skills/proofreader/SKILL.md")
            .contains("\nname: \"proofreader\"\n")
    );
}

#[test]
fn the_shipped_catalog_is_in_the_program() {
    let workspace = Workspace::new();
    let builtin = |words: &[&str]| answer(&workspace, &[words, &["--from", "builtin"]].concat());
    assert_eq!(builtin(&["list"])["bundles"][2]["id"], "engineering");
    assert_eq!(
        builtin(&["show", "debugger", "--lang", "ru"])["name"],
        "Отладчик"
    );
    assert_eq!(
        builtin(&["import", "engineering", "--lang", "en"])["created"],
        5
    );
    assert_eq!(builtin(&["update", "debugger"])[0]["reason"], "up-to-date");
    let same = builtin(&["diff", "debugger"]);
    assert_eq!(
        same["languages"],
        json!([{ "language": "en", "changed": false, "diff": "" }])
    );
    let error = catalog(&workspace, &["list"]).exits(1).json_error();
    assert!(error["hint"].as_str().unwrap().contains("--from builtin"));
}

#[test]
fn every_target_gets_its_files() {
    let workspace = Workspace::new();
    workspace.write("AGENTS.md", "# Mine\n");
    for (target, files) in [
        (
            "claude-plugin",
            &[
                "agents/debugger.md",
                ".claude-plugin/plugin.json",
                ".claude-plugin/marketplace.json",
            ][..],
        ),
        ("codex", &[".codex/agents/debugger.toml", "AGENTS.md"]),
        ("cursor", &[".cursor/agents/debugger.md"]),
        ("gemini", &[".gemini/agents/debugger.md"]),
        ("opencode", &[".opencode/agents/debugger.md"]),
        ("copilot", &[".github/agents/debugger.agent.md"]),
    ] {
        let words = ["export", "--to", target, "--from", "builtin", "debugger"];
        let done = answer(&workspace, &words);
        let written: Vec<_> = done
            .as_array()
            .unwrap()
            .iter()
            .map(|one| &one["file"])
            .collect();
        assert_eq!(written, files);
        for file in files {
            assert!(!workspace.read(file).is_empty());
        }
        let again = answer(&workspace, &words);
        assert!(
            again
                .as_array()
                .unwrap()
                .iter()
                .all(|one| one["state"] == "unchanged"),
            "{again}"
        );
    }
    assert!(
        workspace
            .read("AGENTS.md")
            .starts_with("# Mine\n\n<!-- roleos-")
    );
    let manifest: Value =
        serde_json::from_str(&workspace.read(".claude-plugin/marketplace.json")).unwrap();
    assert_eq!(manifest["plugins"][0]["source"], "./");
}
