//! The strict check and the tombstones: mistakes that the published check accepts, one at a time.

use catalog::catalog::Rigour;
use catalog::source::{INDEX, LOCK, TOMBSTONES};
use serde_json::{Value, json};

use crate::support::run;
use crate::vectors::{self, Files};

const EN: &str = "bundles/garden-desk/en.yaml";

fn replace(files: &mut Files, file: &str, find: &str, with: &str) {
    let text = String::from_utf8(files[file].clone()).unwrap();
    assert!(text.contains(find), "{find}");
    files.insert(file.to_owned(), text.replacen(find, with, 1).into_bytes());
}

/// Returns the published catalog without the field that the format does not have.
fn base() -> Files {
    let mut files = vectors::base();
    let file = "bundles/night-harbour/en.yaml";
    replace(
        &mut files,
        file,
        "    notes: [ignored, by, the, hash]\n",
        "",
    );
    files
}

/// Makes one mistake, records the catalog if possible, and expects exactly these problems from the strict check.
fn check(file: &str, find: &str, with: &str, expected: &Value) {
    let mut files = base();
    replace(&mut files, file, find, with);
    let without_lock: Vec<Value> = run(&mut files, false, Rigour::Strict)["failures"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|failure| failure["class"] != "content_changed_not_bumped")
        .cloned()
        .collect();
    assert_eq!(Value::from(without_lock), json!([expected]), "{with}");
}

#[test]
fn slips_in_a_language_file_are_found() {
    check(
        EN,
        "language: en",
        "language: zz",
        &json!({
            "class": "language_mismatch", "bundle": "garden-desk", "language": "en", "file": EN,
        }),
    );
    check(
        EN,
        "emoji: \"🌱\"",
        "emoji: \"🌲\"",
        &json!({
            "class": "translation_drift", "bundle": "garden-desk", "slug": "seed-librarian", "field": "emoji",
            "first": "garden-desk/ja", "second": "garden-desk/en",
        }),
    );
    check(
        EN,
        "autoStart: true",
        "autoStart: false",
        &json!({
            "class": "translation_drift", "bundle": "garden-desk", "slug": "seed-librarian", "field": "autoStart",
            "first": "garden-desk/ja", "second": "garden-desk/en",
        }),
    );
    check(
        EN,
        "name: Seed librarian",
        "name: 種の司書",
        &json!({
            "class": "untranslated", "bundle": "garden-desk", "slug": "seed-librarian", "field": "name",
            "first": "garden-desk/ja", "second": "garden-desk/en",
        }),
    );
    check(
        EN,
        "name: Seed librarian",
        "name: '  '",
        &json!({
            "class": "blank_field", "bundle": "garden-desk", "language": "en", "slug": "seed-librarian", "field": "name",
        }),
    );
    check(
        EN,
        "name: Seed librarian",
        "name: 12",
        &json!({
            "class": "wrong_type", "file": EN, "field": "name",
        }),
    );
    check(
        EN,
        "schemaVersion: 1",
        "schemaVersion: one",
        &json!({
            "class": "wrong_type", "file": EN, "field": "schemaVersion",
        }),
    );
    check(
        EN,
        "  - name: Compost",
        "  - { slug: compost-chemist, name: x, instructions: y, emoji: 🧑🏽‍🔬, autoStart: false }\n  - name: Compost",
        &json!({
            "class": "duplicate_slug_in_file", "bundle": "garden-desk", "language": "en", "slug": "compost-chemist",
        }),
    );
}

#[test]
fn slips_in_the_index_are_found() {
    check(
        INDEX,
        "languages: [en, ja]",
        "languages: [en, ja, en]",
        &json!({
            "class": "duplicate_language", "bundle": "night-harbour", "language": "en",
        }),
    );
    check(
        INDEX,
        "name: { en: Night harbour, ja: 夜の港 }",
        "name: Night",
        &json!({
            "class": "wrong_type", "file": INDEX, "field": "name",
        }),
    );
}

#[test]
fn odd_versions_and_ids_are_found() {
    let strict = |index: &str| {
        let mut files = Files::from([(INDEX.to_owned(), index.as_bytes().to_vec())]);
        let found = run(&mut files, false, Rigour::Strict);
        let found = found["failures"].as_array().unwrap().iter();
        found
            .map(|failure| failure["class"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    let index = |rest: &str| {
        format!(
            "schemaVersion: 1\nbundles:\n  - {{ id: a, name: {{}}, languages: [en], {rest} }}\n"
        )
    };
    let common = ["language_file_missing", "not_in_lock"];
    for version in ["0", "-1", "1.5"] {
        let found = strict(&index(&format!(
            "roles: [{{ slug: x, version: {version} }}]"
        )));
        assert_eq!(
            found,
            [&common[..], &["version_not_positive_integer"]].concat()
        );
    }
    let found = strict(&index("roles: [{ slug: X_1, version: 1 }]"));
    assert_eq!(found, [&common[..], &["unsafe_id"]].concat());
    let twice = index("roles: []").replace("id: a", "id: ../a");
    assert!(strict(&twice).contains(&"unsafe_id".to_owned()));
    let bundle = "  - { id: a, name: {}, languages: [en], roles: [] }\n";
    let found = strict(&format!("schemaVersion: 1\nbundles:\n{bundle}{bundle}"));
    assert!(found.contains(&"duplicate_bundle_id".to_owned()));
}

/// Returns the classes of the strict check.
fn strict_classes(files: &mut Files) -> Vec<String> {
    let found = run(files, false, Rigour::Strict);
    let found = found["failures"].as_array().unwrap().iter();
    found
        .map(|failure| failure["class"].as_str().unwrap().to_owned())
        .collect()
}

/// Removes `tide-clerk` from the index and both files.
fn without_tide_clerk(files: &Files) -> Files {
    let mut files = files.clone();
    replace(
        &mut files,
        INDEX,
        "      - { slug: tide-clerk, version: 2 }\n",
        "",
    );
    for file in [
        "bundles/night-harbour/en.yaml",
        "bundles/night-harbour/ja.yaml",
    ] {
        let text = String::from_utf8(files[file].clone()).unwrap();
        let start = text.find("  - slug: tide-clerk").unwrap();
        let end = text[start + 4..]
            .find("\n  - ")
            .map_or(text.len(), |end| start + 4 + end + 1);
        let text = [&text[..start], &text[end..]].concat();
        files.insert(file.to_owned(), text.into_bytes());
    }
    files
}

#[test]
fn a_role_that_comes_back_changed_needs_a_higher_version() {
    let mut files = base();
    let mut pruned = without_tide_clerk(&files);
    assert_eq!(
        run(&mut pruned, true, Rigour::Published)["pruned"],
        json!(["tide-clerk"])
    );
    let tombstones = String::from_utf8(pruned[TOMBSTONES].clone()).unwrap();
    assert!(
        tombstones.starts_with("{\n  \"tide-clerk\": {\n    \"version\": 2,\n    \"hash\": \"881a")
    );
    // It comes back with another text, and the published tool records it as new.
    for file in [LOCK, TOMBSTONES] {
        files.insert(file.to_owned(), pruned[file].clone());
    }
    replace(
        &mut files,
        "bundles/night-harbour/en.yaml",
        "'Tide clerk''s desk'",
        "Tide desk",
    );
    assert_eq!(
        strict_classes(&mut files),
        ["not_in_lock", "readded_not_bumped"]
    );
    let refused = run(&mut files.clone(), true, Rigour::Strict);
    assert_eq!(refused["failures"][0]["class"], "readded_not_bumped");
    assert_eq!(run(&mut files, true, Rigour::Published)["exit"], 0);
    assert_eq!(strict_classes(&mut files), ["readded_not_bumped"]);
    // A higher version was missing; the tombstone is then no longer needed.
    replace(
        &mut files,
        INDEX,
        "slug: tide-clerk, version: 2",
        "slug: tide-clerk, version: 3",
    );
    assert_eq!(run(&mut files, true, Rigour::Strict)["exit"], 0);
    assert_eq!(files[TOMBSTONES], b"{}\n");
}

#[test]
fn a_role_that_comes_back_as_it_was_is_fine() {
    let mut files = base();
    let mut pruned = without_tide_clerk(&files);
    run(&mut pruned, true, Rigour::Published);
    for file in [LOCK, TOMBSTONES] {
        files.insert(file.to_owned(), pruned[file].clone());
    }
    assert_eq!(
        run(&mut files, true, Rigour::Strict)["added"],
        json!(["tide-clerk"])
    );
}

#[test]
fn a_version_that_was_lowered_is_remembered() {
    let mut files = base();
    replace(&mut files, INDEX, "version: 4", "version: 3");
    assert_eq!(
        strict_classes(&mut files),
        ["version_drift", "version_lowered"]
    );
    assert_eq!(run(&mut files.clone(), true, Rigour::Strict)["exit"], 1);
    // The published tool lowers it; edit and raise back would then look like a proper change.
    run(&mut files, true, Rigour::Published);
    assert_eq!(strict_classes(&mut files), ["version_lowered"]);
    replace(&mut files, EN, "Folded text", "Other text");
    replace(&mut files, INDEX, "version: 3", "version: 4");
    assert_eq!(run(&mut files, true, Rigour::Published)["exit"], 0);
    assert_eq!(strict_classes(&mut files), ["readded_not_bumped"]);
}

#[test]
fn damaged_tombstones_are_told_and_kept() {
    let mut files = base();
    files.insert(TOMBSTONES.to_owned(), b"{nope".to_vec());
    assert_eq!(strict_classes(&mut files), ["tombstones_unreadable"]);
    assert_eq!(run(&mut files, true, Rigour::Published)["exit"], 0);
    assert_eq!(files[TOMBSTONES], b"{nope");
}
