//! Invariants for any text: the hashed form is JSON of the same fields, and damage never panics.

use catalog::canonical;
use catalog::catalog::{Draft, Rigour};
use catalog::source::{File, LOCK, Sources};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::{records, run, sources};
use crate::vectors::base;

/// Generates any text, including characters that JSON escapes.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        "[a-z \\n\\t\"\\\\/\u{0}-\u{1F}\u{7F}-\u{9F}\u{2028}\u{FEFF}]{0,12}",
    ]
}

fn field() -> impl Strategy<Value = Option<String>> {
    proptest::option::of(text())
}

/// Returns JSON as YAML, which requires two more escapes.
fn as_yaml(value: &Value) -> Vec<u8> {
    let escape = |c: char| match c {
        '\u{7F}'..='\u{9F}' | '\u{FEFF}' | '\u{FFFE}' | '\u{FFFF}' => {
            format!("\\u{:04x}", c as u32)
        }
        _ => c.to_string(),
    };
    value
        .to_string()
        .chars()
        .map(escape)
        .collect::<String>()
        .into_bytes()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn hashed_text_is_the_json_of_the_same_fields(
        fields in (field(), proptest::option::of(any::<bool>()), text(), field(), text(), field()),
        languages in proptest::collection::btree_set("[a-zéж𝒳]{1,3}", 1..4),
    ) {
        let (emoji, auto_start, name, description, instructions, launch_message) = fields;
        let hashed = json!({
            "emoji": emoji, "autoStart": auto_start, "name": name, "description": description,
            "instructions": instructions, "launchMessage": launch_message,
        });
        let mut role = hashed.clone();
        role["slug"] = "x".into();
        let index = json!({ "bundles": [{
            "id": "b", "languages": languages, "roles": [{ "slug": "x", "version": 1 }],
        }]});
        let file = json!({ "roles": [role] });
        let mut sources = Sources::new(File::of(as_yaml(&index)));
        for path in sources.wanted() {
            sources.add(path, File::of(as_yaml(&file)));
        }
        let draft = Draft::read(sources);
        let mut sorted: Vec<_> = languages.into_iter().collect();
        sorted.sort_by_key(|language| language.encode_utf16().collect::<Vec<_>>());
        let expected: Vec<_> = sorted.into_iter().map(|language| json!([language, hashed])).collect();
        prop_assert_eq!(canonical::text(draft.claims(), "x"), Value::from(expected).to_string());
    }

    #[test]
    fn a_damaged_catalog_never_panics(
        damage in proptest::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), any::<[u8; 3]>(), 0..4_usize), 1..6),
        refresh in any::<bool>(),
    ) {
        let mut files = base();
        for (which, place, bytes, cut) in damage {
            let path = files.keys().nth(which.index(files.len())).unwrap().clone();
            let content = files.get_mut(&path).unwrap();
            let start = place.index(content.len() + 1);
            let end = (start + cut).min(content.len());
            content.splice(start..end, bytes);
        }
        run(&mut files.clone(), refresh, Rigour::Strict);
        let draft = Draft::read(sources(&files));
        for problem in draft.check(&records(&files), Rigour::Strict).problems {
            prop_assert!(!problem.explain().is_empty());
            let place = problem.place.as_ref();
            place.and_then(|place| draft.claims().sources().locate(place));
        }
    }

    #[test]
    fn a_refresh_makes_the_check_pass(version in 1_u32.., name in "[a-zA-Z ]{1,20}x") {
        let mut files = base();
        let path = "bundles/night-harbour/en.yaml";
        let text = String::from_utf8(files[path].clone()).unwrap();
        files.insert(path.to_owned(), text.replacen("Signal keeper", &format!("'{name}'"), 1).into_bytes());
        let index = String::from_utf8(files["index.yaml"].clone()).unwrap();
        let index = index.replacen("version: 10", &format!("version: {version}"), 1);
        files.insert("index.yaml".to_owned(), index.into_bytes());
        let lock = files[LOCK].clone();
        let answer = run(&mut files, true, Rigour::Published);
        if version > 10 {
            prop_assert_eq!(&answer["exit"], 0);
            prop_assert_eq!(&run(&mut files, false, Rigour::Published)["exit"], 0);
            let again = files[LOCK].clone();
            run(&mut files, true, Rigour::Published);
            prop_assert_eq!(&files[LOCK], &again);
        } else {
            prop_assert_eq!(&answer["exit"], 1);
            prop_assert_eq!(&files[LOCK], &lock);
        }
    }
}
