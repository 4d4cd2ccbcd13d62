//! The workspace's keys: created once, closed to other users, never printed, replaced without invalidating their
//! signatures.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::workspace::{ROLEOS, Workspace, keys, ran};

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

/// Returns the secrets in the workspace's key files.
fn secrets(workspace: &Workspace) -> Vec<String> {
    let files = fs::read_dir(workspace.path(".role-os/keys")).unwrap();
    let secret = |path: &Path| {
        let file: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
        file["secret"].as_str().unwrap().to_owned()
    };
    files
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "key"))
        .map(|path| secret(&path))
        .collect()
}

fn list(workspace: &Workspace) -> Vec<Value> {
    let answer = workspace.roleos(&["--json", "key", "list"]).exits(0).json();
    answer.as_array().unwrap().clone()
}

#[test]
fn the_first_seal_makes_keys_that_only_the_owner_can_read() {
    let workspace = Workspace::new();
    let ran = workspace
        .roleos(&["witness", "seal", "--outcome", "solved"])
        .exits(0);
    assert!(
        ran.stderr
            .contains("made a new hmac-sha256 key\nmade a new ed25519 key\n"),
        "{ran:#?}"
    );
    let folder = workspace.path(".role-os/keys");
    assert_eq!(mode(&folder), 0o700);
    assert_eq!(mode(&workspace.path(".role-os")), 0o700);
    let mut keys = 0;
    for entry in fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|end| end == "key") {
            assert_eq!(mode(&path), 0o600, "{path:?}");
            keys += 1;
        }
    }
    assert_eq!(keys, 2);
    let ran = workspace
        .roleos(&["witness", "seal", "--outcome", "solved"])
        .exits(0);
    assert_eq!(ran.stderr, "", "the second seal makes none");
}

#[test]
fn git_leaves_the_keys_alone() {
    let workspace = Workspace::new();
    workspace.seal_some(1);
    let git = |words: &[&str]| {
        let output = std::process::Command::new("git")
            .args(words)
            .current_dir(workspace.root())
            .output();
        String::from_utf8(output.unwrap().stdout).unwrap()
    };
    git(&["init", "--quiet"]);
    git(&["add", "--all"]);
    let added = git(&["ls-files"]);
    assert!(added.contains(".role-os/ledger/leaves.jsonl"), "{added}");
    assert!(!added.contains(".role-os/keys"), "{added}");
}

#[test]
fn keys_are_made_listed_and_replaced() {
    let workspace = Workspace::new();
    assert!(list(&workspace).is_empty());
    workspace
        .roleos(&["key", "new", "--algorithm", "hmac"])
        .exits(0);
    assert_eq!(list(&workspace).len(), 1);
    workspace.roleos(&["key", "new"]).exits(0);
    let made = list(&workspace);
    assert_eq!(made.len(), 2);
    assert_eq!(
        keys(&made[0]),
        ["id", "algorithm", "created", "signs", "public_key"]
    );
    let error = workspace
        .roleos(&["--json", "key", "new"])
        .exits(1)
        .json_error();
    assert_eq!(error["code"], "key_exists");

    let sealed = workspace.seal(&["--outcome", "solved"]);
    let bundle = sealed["file"].as_str().unwrap();
    let mut signing: Vec<Value> = Vec::new();
    for _ in 0..5 {
        workspace.roleos(&["key", "rotate"]).exits(0);
        let signs: Vec<_> = list(&workspace)
            .into_iter()
            .filter(|key| key["signs"] == true)
            .collect();
        assert_eq!(signs.len(), 2, "one of each kind signs");
        let ids: Vec<_> = signs.iter().map(|key| key["id"].clone()).collect();
        assert!(
            ids.iter().all(|id| !signing.contains(id)),
            "the newest one signs"
        );
        signing.extend(ids);
        let task = sealed["task_id"].as_str().unwrap();
        for named in [bundle, "latest", task, task.get(..8).unwrap()] {
            let ran = workspace.roleos(&["witness", "verify", named]).exits(0);
            assert!(ran.stdout.contains(bundle), "{named}: {}", ran.stdout);
        }
    }
    assert_eq!(list(&workspace).len(), 12);
    workspace.seal_some(2);
    assert_eq!(
        workspace.audit(&[]).1,
        [""; 0],
        "the old key's checkpoint was continued"
    );
    let rotated = workspace
        .roleos(&["--json", "key", "rotate", "--algorithm", "ed25519"])
        .exits(0)
        .json();
    assert_eq!(rotated.as_array().unwrap().len(), 1);
}

#[test]
fn the_newest_key_is_the_newest_by_time_and_not_by_text() {
    let workspace = Workspace::new();
    workspace
        .roleos(&["key", "new", "--algorithm", "hmac"])
        .exits(0);
    workspace
        .roleos(&["key", "rotate", "--algorithm", "hmac"])
        .exits(0);
    let ids: Vec<_> = list(&workspace)
        .iter()
        .map(|key| key["id"].as_str().unwrap().to_owned())
        .collect();
    let date = |id: &str, created: &str| {
        let name = format!(".role-os/keys/{id}.key");
        let mut file: Value = serde_json::from_str(&workspace.read(&name)).unwrap();
        file["created"] = created.into();
        workspace.write(&name, file.to_string());
    };
    for (older, newer) in [
        ("2026-01-01T00:00:00.5Z", "2026-01-01T00:00:00.51Z"),
        ("2026-01-01T00:00:00Z", "2026-01-01T00:00:00.1Z"),
    ] {
        for (first, second) in [(0, 1), (1, 0)] {
            date(&ids[first], older);
            date(&ids[second], newer);
            let signs = list(&workspace)
                .into_iter()
                .find(|key| key["signs"] == true)
                .unwrap();
            assert_eq!(signs["id"], ids[second], "{newer} is newer than {older}");
        }
    }
}

#[test]
fn no_command_prints_a_secret() {
    let workspace = Workspace::new();
    workspace.roleos(&["key", "new"]).exits(0);
    workspace.seal_some(1);
    workspace.roleos(&["key", "rotate"]).exits(0);
    let secrets = secrets(&workspace);
    assert_eq!(secrets.len(), 4);
    let commands: [&[&str]; 9] = [
        &["key", "list"],
        &["key", "rotate"],
        &["witness", "list"],
        &["witness", "show", "latest"],
        &["witness", "export", "latest"],
        &["witness", "export", "latest", "--format", "in-toto"],
        &["witness", "replay", "latest"],
        &["ledger", "checkpoint"],
        &["scorecard"],
    ];
    for words in commands {
        for json in [&[][..], &["--json"]] {
            let ran = workspace.roleos(&[words, json].concat()).exits(0);
            for secret in &secrets {
                assert!(
                    !ran.stdout.contains(secret) && !ran.stderr.contains(secret),
                    "{words:?}"
                );
            }
        }
    }
}

#[test]
fn a_key_on_the_command_line_is_not_repeated() {
    let workspace = Workspace::new();
    let secret = "c2VjcmV0LXNlY3JldC1zZWNyZXQ";
    for json in [&[][..], &["--json"]] {
        let words = [&["witness", "verify", "x", "--key-hex", secret], json].concat();
        let ran = workspace.roleos(&words).exits(1);
        assert!(!ran.stderr.contains(secret), "{ran:#?}");
    }
}

#[test]
fn a_damaged_key_file_is_named() {
    let cases = [
        ("format", json!("v9"), "its format is not `roleos-key/v1`"),
        (
            "id",
            json!("0011223344556677"),
            "its id does not belong to its secret",
        ),
        ("created", json!("yesterday"), "its `created` is not a time"),
        ("algorithm", json!("rsa"), "unknown variant `rsa`"),
        (
            "secret",
            json!("00"),
            "its id does not belong to its secret",
        ),
        ("more", json!(1), "unknown field `more`"),
    ];
    for (field, value, message) in cases {
        let workspace = Workspace::new();
        workspace
            .roleos(&["key", "new", "--algorithm", "hmac"])
            .exits(0);
        let id = list(&workspace)[0]["id"].as_str().unwrap().to_owned();
        let name = format!(".role-os/keys/{id}.key");
        let mut file: Value = serde_json::from_str(&workspace.read(&name)).unwrap();
        file[field] = value;
        workspace.write(&name, file.to_string());
        check_damaged(&workspace, &id, message);
    }
    for bytes in [&b""[..], b"{", b"\xff\xfe", b"roleos-ed25519 12 34"] {
        let workspace = Workspace::new();
        workspace.write(".role-os/keys/abc.key", bytes);
        check_damaged(&workspace, "abc", "is not a key file");
    }
}

fn check_damaged(workspace: &Workspace, id: &str, message: &str) {
    let before = workspace.snapshot();
    for words in [
        &["witness", "seal", "--outcome", "solved"][..],
        &["key", "list"],
        &["ledger", "verify"],
    ] {
        let ran = workspace.roleos(words).exits(1);
        let error = ran.error();
        assert!(
            error.contains(message) && error.contains(&format!("{id}.key")),
            "{ran:#?}"
        );
    }
    assert!(workspace.snapshot() == before);
}

#[test]
fn a_rotation_of_which_no_key_signs_yet_is_taken_back() {
    let workspace = Workspace::new();
    workspace.roleos(&["key", "new"]).exits(0);
    let before = list(&workspace);
    let keys = workspace.path(".role-os/keys");
    workspace.roleos(&["key", "rotate"]).exits(0);
    let made: Vec<Value> = list(&workspace)
        .into_iter()
        .filter(|key| !before.contains(key) && key["signs"] == true)
        .collect();
    let mut set = Vec::new();
    for key in &made {
        let id = key["id"].as_str().unwrap();
        let path = keys.join(format!("{id}.key"));
        set.push(serde_json::from_slice::<Value>(&fs::read(&path).unwrap()).unwrap());
        fs::remove_file(&path).unwrap();
        fs::remove_file(keys.join(format!("{id}.pub"))).ok();
    }
    workspace.write(
        ".role-os/keys/.rotation",
        json!({ "keys": set }).to_string(),
    );
    // As on a disk that is full; ignored, the signal becomes an error.
    let script = "trap '' XFSZ; ulimit -f 0; exec \"$@\"";
    let plain = workspace.command(&["key", "rotate"]);
    let mut shell = Command::new("sh");
    shell.args(["-c", script, "sh", ROLEOS]);
    shell.args(plain.get_args()).current_dir(workspace.root());
    for (name, value) in plain.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    ran(shell).exits(2);
    assert!(
        !keys.join(".rotation").exists(),
        "it would be finished later"
    );
    for key in &made {
        let id = key["id"].as_str().unwrap();
        assert!(!keys.join(format!("{id}.key")).exists());
    }
}

#[test]
fn a_rotation_that_was_interrupted_is_finished_by_the_next() {
    let workspace = Workspace::new();
    workspace.roleos(&["key", "new"]).exits(0);
    let before = list(&workspace).len();
    let keys = workspace.path(".role-os/keys");
    workspace.roleos(&["key", "rotate"]).exits(0);
    let made: Vec<Value> = list(&workspace)
        .into_iter()
        .filter(|key| key["signs"] == true)
        .collect();
    assert_eq!(list(&workspace).len(), before + 2);
    // The state after a kill between the two: the set is recorded, and one key has its file.
    let mut set = Vec::new();
    for key in &made {
        let path = keys.join(format!("{}.key", key["id"].as_str().unwrap()));
        let file: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        set.push(file);
    }
    let rotation = json!({ "keys": set }).to_string();
    workspace.write(".role-os/keys/.rotation", rotation);
    let last = made.last().unwrap()["id"].as_str().unwrap();
    fs::remove_file(keys.join(format!("{last}.key"))).unwrap();
    fs::remove_file(keys.join(format!("{last}.pub"))).ok();
    assert_eq!(list(&workspace).len(), before + 1);
    let finished = workspace
        .roleos(&["--json", "key", "rotate"])
        .exits(0)
        .json();
    let ids = |keys: &[Value]| -> Vec<String> {
        let mut ids: Vec<String> = keys
            .iter()
            .map(|key| key["id"].as_str().unwrap().to_owned())
            .collect();
        ids.sort();
        ids
    };
    assert_eq!(ids(finished.as_array().unwrap()), ids(&made));
    assert_eq!(list(&workspace).len(), before + 2, "no second set was made");
    assert!(!keys.join(".rotation").exists());
    workspace.roleos(&["key", "rotate"]).exits(0);
    assert_eq!(list(&workspace).len(), before + 4);
}
