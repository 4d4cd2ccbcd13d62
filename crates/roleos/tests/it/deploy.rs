//! The files in `examples/` that run the product elsewhere: each is read by its tool, if there is one.

use std::env;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use catalog::yaml::{Document, Node};
use serde_json::{Value, json};

use crate::workspace::{ROLEOS, Workspace};

fn example(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../examples")
        .join(path)
}

fn read(path: &str) -> String {
    fs::read_to_string(example(path)).unwrap()
}

#[test]
fn the_dockerfile_passes_its_linter_and_compose_agrees_with_it() {
    let python = env::var_os("ROLEOS_TEST_PYTHON").expect(
        "ROLEOS_TEST_PYTHON names no interpreter; `cargo xtask test` makes one with the linter",
    );
    let linter = Path::new(&python).with_file_name("hadolint");
    let linted = Command::new(linter)
        .arg(example("deploy/Dockerfile"))
        .output()
        .unwrap();
    assert!(linted.status.success(), "{linted:?}");
    let compose = Document::parse(read("deploy/compose.yaml").into()).unwrap();
    let service = compose
        .root()
        .get("services")
        .and_then(|all| all.get("roleos"))
        .unwrap();
    let text = |path: &[&str]| {
        let found = path.iter().try_fold(service, |node, key| node.get(key));
        found.and_then(Node::text).unwrap_or_default().to_owned()
    };
    assert!(example("..").join(text(&["build", "dockerfile"])).is_file());
    assert_eq!(text(&["healthcheck", "interval"]), "30s");
    let volumes: Vec<_> = service
        .get("volumes")
        .unwrap()
        .items()
        .filter_map(Node::text)
        .collect();
    assert_eq!(volumes, ["workspace:/workspace", "state:/home/roleos"]);
    let ignored = read("deploy/Dockerfile.dockerignore");
    assert!(ignored.lines().any(|line| line == "**/.role-os"));
    let dockerfile = read("deploy/Dockerfile");
    for part in [
        "VOLUME [\"/workspace\"]",
        "HEALTHCHECK",
        "USER 10001",
        "rust:1.95-",
    ] {
        assert!(dockerfile.contains(part), "{part}");
    }
}

#[test]
fn the_unit_is_accepted_and_hardened() {
    if Command::new("systemd-analyze")
        .arg("--version")
        .output()
        .is_err()
    {
        eprintln!("there is no systemd-analyze here, so that the unit is not checked");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let unit = folder.path().join("roleos.service");
    let text = read("deploy/roleos.service");
    assert!(text.contains("ExecStart=/usr/local/bin/roleos up "));
    fs::write(&unit, text.replace("/usr/local/bin/roleos", ROLEOS)).unwrap();
    for words in [
        &["verify"][..],
        &["security", "--offline=true", "--threshold=30"],
    ] {
        let output = Command::new("systemd-analyze")
            .args(words)
            .arg(&unit)
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
    }
}

#[test]
fn the_action_summarises_and_takes_over_the_exit_code() {
    let workspace = Workspace::new();
    workspace.seal_some(2);
    let keys = fs::read_dir(workspace.path(".role-os/keys")).unwrap();
    let mut keys = keys.map(|entry| entry.unwrap().path());
    let key = keys
        .find(|path| path.extension().is_some_and(|one| one == "pub"))
        .unwrap();
    let run = |arguments: &str| {
        let summary = workspace.path("summary.md");
        let script = example("github-action/scorecard.sh");
        let status = workspace
            .program(script.to_str().unwrap(), &[])
            .env("ROLEOS", ROLEOS)
            .env("BUNDLES", ".role-os/witness")
            .env("LEDGER", ".role-os/ledger")
            .env("KEY_FILE", &key)
            .env("ARGUMENTS", arguments)
            .env("GITHUB_STEP_SUMMARY", &summary)
            .status()
            .unwrap();
        let text = fs::read_to_string(&summary).unwrap();
        fs::remove_file(&summary).unwrap();
        (status.code(), text)
    };
    let (code, text) = run("");
    assert_eq!(code, Some(1), "{text}");
    assert!(
        text.starts_with("## Role OS scorecard: not accepted\n\n    "),
        "{text}"
    );
    let (code, text) = run("--min-tasks 2 --min-evidence-coverage 0");
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("accepted"), "{text}");
    let (code, text) = run("--no-such-option");
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("unexpected argument"), "{text}");
    let action = Document::parse(read("github-action/action.yml").into()).unwrap();
    assert!(action.root().get("runs").is_some());
}

/// The plugin registers the same events as `roleos init`, blocks in the same cases, and its command refuses a push.
#[test]
fn the_claude_plugin_guards_as_an_installation_does() {
    let parse = |text: String| serde_json::from_str::<Value>(&text).unwrap();
    let plugin = parse(read("claude-plugin/.claude-plugin/plugin.json"));
    let market = parse(read("claude-plugin/.claude-plugin/marketplace.json"));
    assert_eq!(plugin["name"], market["plugins"][0]["name"]);
    let hooks = parse(read("claude-plugin/hooks/hooks.json"));

    let workspace = Workspace::new();
    workspace.roleos(&["init", "--agent", "claude"]).exits(0);
    let settings = fs::read_to_string(workspace.path(".claude/settings.local.json")).unwrap();
    let installed = parse(settings);
    let shape = |hooks: &Value| {
        let events = hooks["hooks"].as_object().unwrap().iter();
        let first = events.map(|(event, groups)| {
            let group = &groups[0];
            let hook = &group["hooks"][0];
            json!([event, group["matcher"], hook["onFailure"], hook["timeout"]])
        });
        let mut all: Vec<String> = first.map(|one| one.to_string()).collect();
        all.sort();
        all
    };
    assert_eq!(shape(&hooks), shape(&installed));

    let command = hooks["hooks"]["PreToolUse"][0]["hooks"][0]["command"].as_str();
    let guarded = Workspace::new();
    guarded.write(
        ".role-os/config.toml",
        "[oversight]\ncapability_gate = true\n",
    );
    let event = json!({
        "hook_event_name": "PreToolUse", "session_id": "s", "cwd": guarded.root(), "tool_name": "Bash",
        "tool_input": { "command": "git push origin main" },
    });
    let path = format!(
        "{}:/usr/bin:/bin",
        Path::new(ROLEOS).parent().unwrap().display()
    );
    let mut hook = Command::new("sh")
        .args(["-c", command.unwrap()])
        .env_clear()
        .env("PATH", path)
        .env("HOME", guarded.home())
        .env("CLAUDE_PROJECT_DIR", guarded.root())
        .current_dir(guarded.root())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = hook.stdin.take().unwrap();
    input.write_all(event.to_string().as_bytes()).unwrap();
    drop(input);
    let answer = hook.wait_with_output().unwrap();
    let answer = parse(String::from_utf8(answer.stdout).unwrap());
    let verdict = &answer["hookSpecificOutput"]["permissionDecision"];
    assert_eq!(verdict, "deny", "{answer}");
}
