//! Every published case through the library: exit, problems, lock bytes, and the refusals of a server.

use catalog::canonical;
use catalog::catalog::{Catalog, Rigour};
use catalog::source::LOCK;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::support::{run, sources};
use crate::vectors::{apply, base, cases, expected, vectors};

#[test]
fn all_cases_end_as_published() {
    let cases = cases();
    assert_eq!(cases.len(), 53);
    for case in &cases {
        let mut files = base();
        apply(&mut files, &case["ops"]);
        let lock_before = files.get(LOCK).cloned();
        let refresh = !case["args"].as_array().unwrap().is_empty();
        let found = run(&mut files, refresh, Rigour::Published);
        assert_eq!(found, expected(case), "{}", case["id"]);
        match case["expect"]["lock_after_text_sha256"].as_str() {
            Some(hash) => assert_eq!(
                hex::encode(Sha256::digest(&files[LOCK])),
                hash,
                "{}",
                case["id"]
            ),
            None => assert_eq!(files.get(LOCK), lock_before.as_ref(), "{}", case["id"]),
        }
    }
}

#[test]
fn hashed_texts_are_the_published_ones() {
    let text = std::fs::read(vectors().join("canonical.json")).unwrap();
    let all: Value = serde_json::from_slice(&text).unwrap();
    let catalog = Catalog::parse(sources(&base())).unwrap();
    let roles = catalog.draft().roles();
    assert_eq!(roles.len(), all.as_object().unwrap().len());
    for role in roles {
        let wanted = &all[&role.slug];
        let text = canonical::text(catalog.contents(), &role.slug);
        assert_eq!(text, wanted["canonical"].as_str().unwrap());
        assert_eq!(text.len() as u64, wanted["utf8_bytes"].as_u64().unwrap());
        assert_eq!(role.digest.to_hex(), wanted["sha256"].as_str().unwrap());
    }
}

#[test]
fn strict_mode_finds_only_the_unknown_field_of_the_published_catalog() {
    let found = run(&mut base(), false, Rigour::Strict);
    let unknown =
        serde_json::json!([{ "class": "unknown_field", "file": "bundles/night-harbour/en.yaml" }]);
    assert_eq!(found["failures"], unknown);
}
