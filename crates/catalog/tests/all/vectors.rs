//! The published vectors as values: a catalog of bytes, the operations of a case, its expectation.
//!
//! The tests of the binary use this file too; it does not use the library.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// Bytes by path, from the catalog's root.
pub(crate) type Files = BTreeMap<String, Vec<u8>>;

/// Returns `tests/vectors`, independent of the test program's location.
pub(crate) fn vectors() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../catalog/tests/vectors")
}

/// Returns the valid catalog.
pub(crate) fn base() -> Files {
    let root = vectors().join("catalog");
    let paths = [
        "index.yaml",
        "scripts/content-hashes.json",
        "bundles/garden-desk/en.yaml",
        "bundles/garden-desk/ja.yaml",
        "bundles/night-harbour/en.yaml",
        "bundles/night-harbour/ja.yaml",
    ];
    let read = |path: &str| std::fs::read(root.join(path)).unwrap();
    paths
        .iter()
        .map(|path| ((*path).to_owned(), read(path)))
        .collect()
}

/// Returns all cases of `mutations.json`.
pub(crate) fn cases() -> Vec<Value> {
    let text = std::fs::read(vectors().join("mutations.json")).unwrap();
    let all: Value = serde_json::from_slice(&text).unwrap();
    all["cases"].as_array().unwrap().clone()
}

/// Applies the operations of a case to the catalog.
pub(crate) fn apply(files: &mut Files, ops: &Value) {
    for op in ops.as_array().unwrap() {
        let text = |key: &str| op[key].as_str().unwrap().to_owned();
        let file = text("file");
        match op["op"].as_str().unwrap() {
            "write" => drop(files.insert(file, text("text").into_bytes())),
            "delete" => drop(files.remove(&file).unwrap()),
            kind => {
                let bytes = files.get_mut(&file).unwrap();
                let old = String::from_utf8(bytes.clone()).unwrap();
                *bytes = match kind {
                    "replace" => {
                        assert!(old.contains(&text("find")), "{op}");
                        old.replacen(&text("find"), &text("with"), 1)
                    }
                    "crlf" => old.replace('\n', "\r\n"),
                    "bom" => format!("\u{FEFF}{old}"),
                    _ => panic!("unknown op {op}"),
                }
                .into_bytes();
            }
        }
    }
}

/// Returns the expectation of a case. The reference reports a YAML error of a language file twice, we once.
pub(crate) fn expected(case: &Value) -> Value {
    let mut expect = case["expect"].as_object().unwrap().clone();
    expect.remove("lock_after");
    expect.remove("lock_after_text_sha256");
    let mut kept: Vec<Value> = Vec::new();
    for failure in expect["failures"].as_array().unwrap() {
        if !kept.contains(failure) {
            kept.push(failure.clone());
        }
    }
    expect["failures"] = kept.into();
    expect.into()
}
