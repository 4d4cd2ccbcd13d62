//! The two programs: the content of the small one, equal answers of both, and the behaviour if one is missing.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::hook::{answer, call, hook};
use crate::init::{quiet, repository};
use crate::workspace::{ROLEOS, ROLEOS_HOOK, Ran, Workspace, ran};

const GATE: &str = "[oversight]\ncapability_gate = true\n";
const SETTINGS: &str = ".claude/settings.local.json";

/// Returns a folder with hard links to these programs.
fn installed(programs: &[&str]) -> TempDir {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    for program in programs {
        add(&folder, program);
    }
    folder
}

fn add(folder: &TempDir, program: &str) {
    let name = Path::new(program).file_name().unwrap();
    fs::hard_link(program, folder.path().join(name)).unwrap();
}

fn run(workspace: &Workspace, folder: &TempDir, arguments: &[&str]) -> Ran {
    let program = folder.path().join("roleos");
    let command = workspace.program(program.to_str().unwrap(), arguments);
    ran(quiet(command, workspace))
}

/// Returns the program in Claude Code's entry.
fn started(workspace: &Workspace) -> PathBuf {
    let settings: Value = serde_json::from_str(&workspace.read(SETTINGS)).unwrap();
    let handler = &settings["hooks"]["PreToolUse"][0]["hooks"][0];
    PathBuf::from(handler["command"].as_str().unwrap())
}

#[test]
fn the_small_program_holds_no_network_database_argument_parser_or_schemas() {
    // The programs are large, and this test is not optimised.
    let has = |program: &str, text: &str| {
        let mut grep = Command::new("grep");
        grep.args(["-q", "-a", "-F", text, program]);
        grep.status().unwrap().success()
    };
    // Locations of panics name the contained crates; SQLite names itself, and so do schemas and Unicode scripts.
    for text in [
        "/tokio-1.",
        "/rustls-0.",
        "/hyper-1.",
        "/clap_builder-4.",
        "SQLite format 3",
        "json-schema.org/draft/2020-12/meta",
        "Old_Permic",
    ] {
        assert!(
            has(ROLEOS, text),
            "{text} does not show in `roleos`, so this test shows nothing"
        );
        assert!(!has(ROLEOS_HOOK, text), "{text} is in `roleos-hook`");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn both_programs_are_position_independent() {
    for program in [ROLEOS, ROLEOS_HOOK] {
        // The type in the header of an ELF file; 3 means position-independent.
        assert_eq!(fs::read(program).unwrap()[16..18], [3, 0], "{program}");
    }
}

#[test]
fn both_programs_answer_alike() {
    let workspace = Workspace::with_config(GATE);
    let root = workspace.root().to_str().unwrap();
    let calls = ["ls -la", "cat .role-os/keys/x.key", "roleos grant git:push"];
    let mut events: Vec<String> = calls
        .map(|command| call("claude", root, &json!({ "command": command })).to_string())
        .to_vec();
    events.push("not JSON".to_owned());
    for event in &events {
        let small = hook(&workspace, "claude", &[]);
        let mut large = workspace.program(ROLEOS, &[]);
        large.args(small.get_args());
        for (name, value) in small.get_envs() {
            match value {
                Some(value) => large.env(name, value),
                None => large.env_remove(name),
            };
        }
        assert_eq!(small.get_program(), ROLEOS_HOOK);
        let (small, large) = (answer(small, event), answer(large, event));
        assert_eq!(
            (&small.stdout, &small.stderr, small.code),
            (&large.stdout, &large.stderr, large.code),
            "{event}"
        );
    }
}

#[test]
fn the_small_program_refuses_what_it_does_not_know() {
    let workspace = Workspace::new();
    for words in [
        &[][..],
        &["grant", "git:push"],
        &["hook"],
        &["hook", "nobody"],
        &["pre-push"],
    ] {
        let refused = ran(workspace.program(ROLEOS_HOOK, words)).exits(2);
        assert!(
            refused.stderr.starts_with("usage: roleos-hook hook"),
            "{refused:#?}"
        );
        assert_eq!(refused.stdout, "");
    }
    let version = ran(workspace.program(ROLEOS_HOOK, &["--version"])).succeeds();
    assert!(version.starts_with("roleos-hook 0."), "{version}");
}

#[test]
fn the_small_program_has_the_large_one_hold_a_call_against_a_schema() {
    let workspace = Workspace::with_config(GATE);
    let contract = r#"{"Bash":{"schema":{"properties":{"command":{"maxLength":5}}}}}"#;
    workspace.write(".claude/role-os/tool-contracts.json", contract);
    let root = workspace.root().to_str().unwrap();
    let alone = installed(&[ROLEOS_HOOK]);
    let advice = "'/command' by its schema: length must be <=5, but got 6";
    for (command, program, is_told) in [
        ("ls -la", ROLEOS_HOOK, true),
        ("ls -l", ROLEOS_HOOK, false),
        (
            "ls -la",
            alone.path().join("roleos-hook").to_str().unwrap(),
            false,
        ),
    ] {
        let beside = hook(&workspace, "claude", &[]);
        let mut asked = workspace.program(program, &[]);
        asked.args(beside.get_args());
        let event = call("claude", root, &json!({ "command": command })).to_string();
        let told = answer(asked, &event);
        assert_eq!(told.code, 0, "{told:#?}");
        assert_eq!(told.stdout.contains(advice), is_told, "{told:#?}");
    }
}

#[test]
fn an_installation_without_the_small_program_works_and_is_brought_up_to_date() {
    let workspace = repository();
    let folder = installed(&[ROLEOS]);
    run(&workspace, &folder, &["init", "--agent", "claude"]).exits(0);
    assert_eq!(started(&workspace), folder.path().join("roleos"));
    let doctor = run(&workspace, &folder, &["doctor"]).exits(0).stdout;
    assert!(
        doctor.contains("roleos-hook` is missing, so hooks start"),
        "{doctor}"
    );
    add(&folder, ROLEOS_HOOK);
    let doctor = run(&workspace, &folder, &["doctor"]).exits(0).stdout;
    assert!(doctor.contains("`roleos init` would install"), "{doctor}");
    assert!(
        doctor.contains("through `roleos` instead of `roleos-hook`"),
        "{doctor}"
    );
    run(&workspace, &folder, &["init", "--agent", "claude"]).exits(0);
    assert_eq!(started(&workspace), folder.path().join("roleos-hook"));
    assert!(
        workspace
            .read(".git/hooks/pre-push")
            .contains("/roleos-hook pre-push")
    );
    let doctor = run(&workspace, &folder, &["doctor"]).exits(0).stdout;
    assert!(!doctor.contains("roleos-hook` is missing"), "{doctor}");
    if cfg!(target_os = "linux") {
        let link = fs::read_link(folder.path().join("roleos-watch")).unwrap();
        assert_eq!(link, Path::new("roleos-hook"));
    }
}

#[test]
fn doctor_says_when_the_small_program_is_alone() {
    let workspace = repository();
    let folder = installed(&[ROLEOS, ROLEOS_HOOK]);
    run(&workspace, &folder, &["init", "--agent", "claude"]).exits(0);
    fs::remove_file(folder.path().join("roleos")).unwrap();
    let doctor = workspace.program(ROLEOS, &["doctor"]);
    let doctor = ran(quiet(doctor, &workspace)).exits(1).stdout;
    assert!(doctor.contains("there is no `roleos` beside"), "{doctor}");
}
