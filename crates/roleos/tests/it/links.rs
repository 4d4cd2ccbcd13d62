//! Links and pipes that came with a clone: none below `.role-os/` or `.claude/role-os/` is followed or written to.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;
use std::process::Command;

use serde_json::json;

use crate::hook::{call, hook, tell};
use crate::workspace::{Ran, Workspace, is_root, ran};

const GATE: &str = "[oversight]\ncapability_gate = true\n";
const SESSION: &str = "0199c0de-0000-7000-8000-000000000001";
const REGISTRY: &str = r#"{"schema":"roleos-specialist-registry/v1","specialists":[{"role":"Checker",
  "backend_url":"http://127.0.0.1:1","fallback":"claude","workload_quota":0.6,"active_version":"v1","versions":[{
  "id":"v1","adapter_id":"a","base_model":"b","gate_threshold":0.75,"certified_level":"L1",
  "exam_hash":"a11ce0dea11ce0dea11ce0dea11ce0dea11ce0dea11ce0dea11ce0dea11ce0de","field_audit_window":200,
  "created_at":"2026-09-02T09:00:00Z","exam_centroid":[1.0,0.0]}]}]}"#;

/// A workspace, and a folder of the user outside it.
struct Scene {
    workspace: Workspace,
    victim: tempfile::TempDir,
}

impl Scene {
    fn new() -> Self {
        let workspace = Workspace::with_config(GATE);
        workspace.write(".role-os/specialists.json", REGISTRY);
        let victim = tempfile::tempdir().unwrap();
        fs::write(victim.path().join("rc"), "mine\n").unwrap();
        fs::create_dir(victim.path().join("folder")).unwrap();
        Self { workspace, victim }
    }

    fn link(&self, name: &str, target: &str) {
        let path = self.workspace.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(self.victim.path().join(target), path).unwrap();
    }

    fn pipe(&self, name: &str) {
        let path = self.workspace.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
    }

    fn agent_calls(&self) -> Ran {
        let root = self.workspace.root().to_str().unwrap();
        let event = call("claude", root, &json!({ "command": "ls" }));
        tell(hook(&self.workspace, "claude", &[]), &event.to_string())
    }

    /// Asserts that no file of the user was changed or created.
    #[track_caller]
    fn is_untouched(&self) {
        let all = walk(self.victim.path().to_owned());
        assert_eq!(all.len(), 2, "{all:?}");
        let rc = self.victim.path().join("rc");
        assert_eq!(fs::read_to_string(rc).unwrap(), "mine\n");
    }

    /// Asserts that the command refuses and names the link.
    #[track_caller]
    fn refuses(&self, words: &[&str]) {
        let words = [&["--json"], words].concat();
        let ran = self.workspace.roleos(&words);
        assert!(
            ran.stderr.contains("is a symbolic link"),
            "{words:?} {ran:#?}"
        );
        assert_ne!(ran.code, 0, "{ran:#?}");
        self.is_untouched();
    }
}

fn walk(folder: PathBuf) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(walk(path.clone()));
        }
        found.push(path);
    }
    found
}

const SEAL: &[&str] = &["witness", "seal", "--outcome", "failed"];
const UP: &[&str] = &["up", "--listen", "127.0.0.1:0"];
const HALT: &[&str] = &["specialist", "halt", "Checker", "--reason", "r"];

#[test]
fn a_command_that_would_write_through_a_link_is_refused() {
    for (link, target, words) in [
        (".role-os/witness", "folder", SEAL),
        (".role-os/ledger", "folder", SEAL),
        (".role-os/ledger/origin", "new", SEAL),
        (".role-os/keys", "folder", SEAL),
        (".role-os/keys/.gitignore", "new", SEAL),
        (".role-os/gateway.jsonl", "rc", UP),
        (".role-os/gateway.jsonl", "new", UP),
        (".role-os/up.lock", "new", UP),
        (".role-os/view.db", "new", UP),
        (".role-os/view.db", "rc", UP),
        (".role-os/specialist-state.json", "new", HALT),
        (".role-os/specialist-state.json", "rc", HALT),
        (".role-os/specialist-state.json.lock", "new", HALT),
        (".role-os/specialist-events.jsonl", "rc", HALT),
        (".role-os/specialist-events.jsonl", "new", HALT),
        (".role-os/metrics", "folder", &["metric", "show"]),
        (".claude/role-os", "folder", &["grants"]),
        (".claude/role-os/capabilities.json", "rc", &["grants"]),
    ] {
        let scene = Scene::new();
        scene.link(link, target);
        scene.refuses(words);
    }
}

#[test]
fn a_ledger_that_is_a_link_or_a_pipe_is_refused() {
    let leaves = ".role-os/ledger/leaves.jsonl";
    for put in [
        &(|scene: &Scene| scene.link(leaves, "rc")) as &dyn Fn(&Scene),
        &|scene| scene.pipe(leaves),
    ] {
        let scene = Scene::new();
        scene.workspace.roleos(SEAL).exits(0);
        fs::remove_file(scene.workspace.path(leaves)).unwrap();
        put(&scene);
        let ran = scene.workspace.roleos(SEAL);
        assert_ne!(ran.code, 0, "{ran:#?}");
        scene.is_untouched();
    }
}

#[test]
fn a_linked_role_os_folder_is_not_used() {
    for words in [
        SEAL,
        UP,
        HALT,
        &["specialist", "list"],
        &["grants"],
        &["sessions", "list"],
    ] {
        let scene = Scene::new();
        fs::remove_dir_all(scene.workspace.path(".role-os")).unwrap();
        scene.link(".role-os", "folder");
        scene.refuses(words);
    }
}

#[test]
fn an_unusable_journal_blocks_and_feeds_no_other_file() {
    let journal = format!(".role-os/sessions/{SESSION}.jsonl");
    for (link, target) in [
        (journal.as_str(), "rc"),
        (journal.as_str(), "new"),
        (".role-os/sessions", "folder"),
    ] {
        let scene = Scene::new();
        scene.link(link, target);
        let ran = scene.agent_calls().exits(2);
        assert!(ran.stderr.contains("symbolic link"), "{ran:#?}");
        scene.is_untouched();
    }
    // Bytes written into a pipe are lost.
    let scene = Scene::new();
    scene.pipe(&journal);
    let ran = scene.agent_calls().exits(2);
    assert!(ran.stderr.contains("not a regular file"), "{ran:#?}");
}

#[test]
fn a_pipe_in_place_of_a_log_is_refused_at_once() {
    for (pipe, words) in [
        (".role-os/gateway.jsonl", UP),
        (".role-os/specialist-events.jsonl", HALT),
        (".role-os/specialist-state.json.lock", HALT),
    ] {
        let scene = Scene::new();
        scene.pipe(pipe);
        let ran = scene.workspace.roleos(words);
        assert_ne!(ran.code, 0, "{pipe} {ran:#?}");
        let says = ["not a regular file", "a pipe, not a file"];
        assert!(
            says.iter().any(|said| ran.stderr.contains(said)),
            "{pipe} {ran:#?}"
        );
    }
}

#[test]
fn a_linked_workspace_root_is_fine() {
    let scene = Scene::new();
    let link = scene.victim.path().join("root");
    symlink(scene.workspace.root(), &link).unwrap();
    let root = link.to_str().unwrap();
    scene
        .workspace
        .roleos(&[&["--root", root], SEAL].concat())
        .exits(0);
    assert!(scene.workspace.path(".role-os/witness").is_dir());
}

/// Returns the permission bits of a file.
fn mode(workspace: &Workspace, name: &str) -> u32 {
    fs::metadata(workspace.path(name))
        .unwrap()
        .permissions()
        .mode()
        & 0o777
}

#[test]
fn another_user_cannot_hold_up_the_emergency_stop() {
    let scene = Scene::new();
    let lock = ".role-os/specialist-state.json.lock";
    // As an older version left it.
    let path = scene.workspace.write(lock, "");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    scene.workspace.roleos(HALT).exits(0);
    scene.workspace.roleos(SEAL).exits(0);
    for lock in [lock, ".role-os/ledger/.lock", ".role-os/keys/.lock"] {
        assert_eq!(mode(&scene.workspace, lock), 0o600, "{lock}");
    }
    if !is_root() {
        return;
    }
    let open = "import sys; open(sys.argv[1])";
    let mut command = Command::new("python3");
    command.args(["-c", open]).arg(&path);
    let other = std::os::unix::process::CommandExt::uid(&mut command, 65_534).env("HOME", "/");
    let output = other.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("PermissionError"), "{said}");
}

#[test]
fn a_new_workspace_folder_is_closed_to_others() {
    let workspace = Workspace::new();
    ran(workspace.command(SEAL)).exits(0);
    assert_eq!(mode(&workspace, ".role-os"), 0o700);
}
