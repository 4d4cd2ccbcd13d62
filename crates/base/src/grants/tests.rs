//! Tests of the grants file: one entry changes at a time, and everything else is kept.

use std::fs;

use serde_json::json;

use super::*;
use crate::approval_key;

fn scene() -> (tempfile::TempDir, Workspace, SigningKey) {
    let guard = tempfile::tempdir().unwrap();
    let workspace = Workspace::at(guard.path()).unwrap();
    let key = approval_key::ensure(&workspace, None).unwrap();
    (guard, workspace, key)
}

fn put(workspace: &Workspace, text: &str) {
    let path = workspace.grants_path();
    files::make_directory(files::parent(&path), Privacy::Shared).unwrap();
    files::write(&path, text.as_bytes(), Privacy::Shared).unwrap();
}

fn text(workspace: &Workspace) -> String {
    String::from_utf8(fs::read(workspace.grants_path()).unwrap()).unwrap()
}

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

#[test]
fn a_grant_is_written_and_everything_else_stays() {
    let (_guard, workspace, key) = scene();
    put(
        &workspace,
        r#"{"$schema":"x","npm:publish":{"granted":true,"note":"mine","scope":"a"},"odd":3}"#,
    );
    let new = NewGrant {
        action: "git:push".to_owned(),
        expires: Some(at("2026-12-01T00:00:00Z")),
        uses: Some(3),
        scope: Some("origin main".to_owned()),
        enforce: true,
    };
    assert!(!grant(&workspace, &new, &key).unwrap());
    let written: Value = serde_json::from_str(&text(&workspace)).unwrap();
    assert_eq!(
        written,
        json!({
            "$schema": "x",
            "npm:publish": { "granted": true, "note": "mine", "scope": "a" },
            "odd": 3,
            "git:push": {
                "granted": true,
                "expires": "2026-12-01T00:00:00Z",
                "uses": 3,
                "scope": "origin main",
                "enforce": true,
            },
        })
    );
    let again = NewGrant {
        action: "git:push".to_owned(),
        ..NewGrant::default()
    };
    assert!(grant(&workspace, &again, &key).unwrap());
    revoke(&workspace, "npm:publish", &key).unwrap();
    let written: Value = serde_json::from_str(&text(&workspace)).unwrap();
    let expected = json!({ "$schema": "x", "odd": 3, "git:push": { "granted": true } });
    assert_eq!(written, expected);
    let error = revoke(&workspace, "npm:publish", &key).unwrap_err();
    assert_eq!(error.to_string(), "`npm:publish` is not granted");
}

#[test]
fn the_list_says_what_holds_now() {
    let (_guard, workspace, _) = scene();
    assert!(list(&workspace, Timestamp::UNIX_EPOCH).unwrap().is_empty());
    put(
        &workspace,
        r#"{"b":{"granted":true,"expires":"2026-01-01","uses":2,"scope":"s"},"a":{"granted":"yes"}}"#,
    );
    let entries = list(&workspace, at("2025-06-01T00:00:00Z")).unwrap();
    let names: Vec<_> = entries.iter().map(|entry| entry.action.as_str()).collect();
    assert_eq!(names, ["a", "b"]);
    assert!(matches!(entries[0].standing, Standing::Refused(_)));
    assert_eq!(entries[1].standing, Standing::Granted);
    assert_eq!(
        (entries[1].uses, entries[1].scope.as_deref()),
        (Some(2), Some("s"))
    );
    let later = list(&workspace, at("2026-06-01T00:00:00Z")).unwrap();
    assert!(matches!(later[1].standing, Standing::Refused(_)));
}

#[test]
fn what_is_no_list_of_grants_is_left_alone() {
    for bad in ["", "[]", "{", "null", "\u{feff}{}"] {
        let (_guard, workspace, key) = scene();
        put(&workspace, bad);
        let new = NewGrant {
            action: "git:push".to_owned(),
            ..NewGrant::default()
        };
        let error = grant(&workspace, &new, &key).unwrap_err();
        assert!(
            error.to_string().contains("is no list of grants"),
            "{error}"
        );
        assert!(revoke(&workspace, "git:push", &key).is_err());
        let uses = count_use(&workspace, &["git:push".to_owned()], Timestamp::UNIX_EPOCH);
        let is_yes = matches!(uses, Ok(Counted::Yes(_)));
        assert!(!is_yes, "nothing may be allowed by it");
        assert_eq!(text(&workspace), bad);
        let standing = load(&workspace).standing("git:push", Timestamp::UNIX_EPOCH);
        assert!(matches!(standing, Standing::Refused(why) if why.contains("cannot be used")));
    }
}

#[test]
fn a_missing_file_grants_nothing_and_a_directory_says_so() {
    let (_guard, workspace, _) = scene();
    let standing =
        |workspace: &Workspace| load(workspace).standing("git:push", Timestamp::UNIX_EPOCH);
    assert!(
        matches!(standing(&workspace), Standing::Refused(why) if why.starts_with("has no grant"))
    );
    fs::create_dir_all(workspace.grants_path()).unwrap();
    assert!(matches!(standing(&workspace), Standing::Refused(why) if why.contains("directory")));
}

#[test]
fn uses_are_counted_for_all_actions_or_for_none() {
    let (_guard, workspace, _) = scene();
    put(
        &workspace,
        r#"{"a":{"granted":true,"uses":2},"b":{"granted":true,"uses":1},"c":{"granted":true}}"#,
    );
    let count = |actions: &[&str]| {
        let actions: Vec<String> = actions.iter().map(|&action| action.to_owned()).collect();
        count_use(&workspace, &actions, Timestamp::UNIX_EPOCH).unwrap()
    };
    let left = |action: &str, uses| (action.to_owned(), uses);
    assert_eq!(count(&["c"]), Counted::Yes(Vec::new()));
    assert_eq!(
        count(&["a", "b", "c"]),
        Counted::Yes(vec![left("a", 1), left("b", 0)])
    );
    let Counted::No(action, why) = count(&["a", "b"]) else {
        panic!("`b` was used up");
    };
    assert_eq!(
        (action.as_str(), why.as_str()),
        ("b", "its grant is used up")
    );
    assert_eq!(
        count(&["a"]),
        Counted::Yes(vec![left("a", 0)]),
        "`a` was not counted in vain"
    );
    assert!(matches!(count(&["a", "d"]), Counted::No(..)));
    let expected =
        r#"{"a":{"granted":true,"uses":0},"b":{"granted":true,"uses":0},"c":{"granted":true}}"#;
    assert_eq!(
        text(&workspace),
        expected,
        "nothing but the numbers was touched"
    );
}
