//! `roleos catalog check` as a program: every published case, output for people, and a lock that is repaired.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a helper that fails is a test that fails"
)]

#[path = "../../../catalog/tests/all/vectors.rs"]
mod vectors;

use std::path::Path;
use std::process::Output;

use assert_cmd::Command;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;
use vectors::{Files, apply, base, cases, expected};

const LOCK: &str = "scripts/content-hashes.json";

/// Writes the files into a directory `catalog`, in a new folder.
fn on_disk(files: &Files) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (path, bytes) in files {
        put(&folder.path().join("catalog").join(path), bytes);
    }
    folder
}

fn put(path: &Path, bytes: &[u8]) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let mut file = std::fs::File::create(path).unwrap();
    std::io::Write::write_all(&mut file, bytes).unwrap();
}

fn roleos(folder: &TempDir, arguments: &[&str]) -> Output {
    let mut command = Command::cargo_bin("roleos").unwrap();
    command.current_dir(folder.path()).env("NO_COLOR", "1");
    command
        .args(["catalog", "check"])
        .args(arguments)
        .output()
        .unwrap()
}

fn lock(folder: &TempDir) -> Option<Vec<u8>> {
    std::fs::read(folder.path().join("catalog").join(LOCK)).ok()
}

/// Returns the program's answer in the format of the vectors.
fn answer(output: &Output, refreshed: bool) -> Value {
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(found["ok"], json!(output.status.success()));
    let mut answer = json!({
        "exit": output.status.code(),
        "failures": found["failures"],
        "served_files_not_valid": found["served"],
    });
    let mut keys: Vec<_> = found.as_object().unwrap().keys().collect();
    keys.sort();
    let wanted = [
        "added",
        "failures",
        "lock_written",
        "ok",
        "pruned",
        "served",
        "updated",
        "warnings",
    ];
    assert_eq!(keys, wanted);
    if refreshed {
        answer["lock_written"] = found["lock_written"].clone();
    } else {
        assert_eq!(found["lock_written"], json!(false));
    }
    if found["lock_written"] == json!(true) {
        for key in ["added", "updated", "pruned"] {
            answer[key] = found[key].clone();
        }
    }
    answer
}

#[test]
fn all_cases_end_as_published() {
    let cases = cases();
    assert_eq!(cases.len(), 53);
    for case in &cases {
        let mut files = base();
        apply(&mut files, &case["ops"]);
        let folder = on_disk(&files);
        let words: Vec<_> = case["args"]
            .as_array()
            .unwrap()
            .iter()
            .map(|word| word.as_str().unwrap())
            .collect();
        let before = lock(&folder);
        let output = roleos(&folder, &[&words[..], &["--json"]].concat());
        assert_eq!(
            answer(&output, !words.is_empty()),
            expected(case),
            "{}",
            case["id"]
        );
        match case["expect"]["lock_after_text_sha256"].as_str() {
            Some(hash) => {
                let now = lock(&folder).unwrap();
                assert_eq!(hex::encode(Sha256::digest(&now)), hash, "{}", case["id"]);
            }
            None => assert_eq!(lock(&folder), before, "{}", case["id"]),
        }
    }
}

/// Returns the output for people, after one edit of the catalog.
fn shown(file: &str, find: &str, with: &str, arguments: &[&str]) -> String {
    let mut files = base();
    let text = String::from_utf8(files[file].clone()).unwrap();
    assert!(text.contains(find));
    files.insert(file.to_owned(), text.replacen(find, with, 1).into_bytes());
    let output = roleos(&on_disk(&files), arguments);
    format!(
        "{}exit {}",
        String::from_utf8(output.stdout).unwrap(),
        output.status.code().unwrap()
    )
}

#[test]
fn a_sound_catalog_is_ok() {
    let found = shown("index.yaml", "version: 4", "version: 4", &[]);
    assert_eq!(found, "OK\nexit 0");
}

#[test]
fn problems_show_their_line() {
    insta::assert_snapshot!(shown(
        "bundles/garden-desk/en.yaml",
        "name: Seed librarian",
        "name: \"\"",
        &[]
    ));
}

#[test]
fn a_syntax_error_shows_its_line() {
    let with = "name: 種の司書: \u{1b}[31mred";
    insta::assert_snapshot!(shown(
        "bundles/garden-desk/ja.yaml",
        "name: 種の司書",
        with,
        &[]
    ));
}

#[test]
fn an_empty_index_is_explained() {
    let mut files = base();
    files.insert("index.yaml".to_owned(), b"# nothing\n".to_vec());
    let output = roleos(&on_disk(&files), &[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        String::from_utf8(output.stdout)
            .unwrap()
            .contains("index.yaml says nothing")
    );
}

#[test]
fn strict_findings_fail_the_check() {
    insta::assert_snapshot!(shown(
        "bundles/garden-desk/en.yaml",
        "language: en",
        "language: zz",
        &["--strict"]
    ));
}

#[test]
fn a_refresh_tells_what_changed() {
    let found = shown("index.yaml", "version: 4", "version: 5", &["--fix"]);
    assert_eq!(found, "updated compost-chemist\nOK\nexit 0");
}

#[test]
fn a_damaged_lock_is_repaired_on_request_and_kept() {
    let mut files = base();
    let sound = files
        .insert(LOCK.to_owned(), b"<<<<<<< ours".to_vec())
        .unwrap();
    let folder = on_disk(&files);
    let refused = roleos(&folder, &["--update-hashes"]);
    assert_eq!(refused.status.code(), Some(1));
    assert_eq!(lock(&folder).unwrap(), b"<<<<<<< ours");
    let repaired = roleos(&folder, &["--repair-lock", "--json"]);
    assert_eq!(repaired.status.code(), Some(0));
    assert_eq!(lock(&folder).unwrap(), sound);
    let kept = folder
        .path()
        .join("catalog/scripts/content-hashes.json.damaged");
    assert_eq!(std::fs::read(kept).unwrap(), b"<<<<<<< ours");
}

#[test]
fn the_catalog_is_found_or_named() {
    let folder = on_disk(&base());
    assert_eq!(roleos(&folder, &[]).status.code(), Some(0));
    assert_eq!(roleos(&folder, &["catalog"]).status.code(), Some(0));
    let empty = tempfile::tempdir().unwrap();
    let output = roleos(&empty, &["--json"]);
    assert_eq!(output.status.code(), Some(1));
    let error: Value = serde_json::from_slice(&output.stderr).unwrap();
    assert_eq!(error["code"], "no_catalog");
    assert_eq!(roleos(&empty, &["nowhere"]).status.code(), Some(1));
    let bare = roleos(&empty, &[".", "--json"]);
    let found: Value = serde_json::from_slice(&bare.stdout).unwrap();
    assert_eq!(found["failures"], json!([{ "class": "index_missing" }]));
}
