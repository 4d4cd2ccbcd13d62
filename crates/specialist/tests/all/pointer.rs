//! Which version may become active.

use serde_json::json;
use specialist::pointer::{Audited, Move, Refusal, target};
use specialist::registry::Entry;

use super::{parse, registry, version};

fn entry() -> Entry {
    let mut other = version("v3", "L3");
    other["exam_hash"] = json!("b".repeat(64));
    let versions = [
        version("v1", "L1"),
        version("v2", "L2"),
        other,
        version("v0", "L0"),
    ];
    parse(&registry(json!("v1"), &versions))
        .entry("Checker")
        .unwrap()
        .clone()
}

fn audited(version: &str, exam: &str) -> Audited {
    Audited {
        version: version.to_owned(),
        exam_hash: exam.to_owned(),
    }
}

#[test]
fn certified_known_and_examined_alike() {
    let entry = entry();
    let promote = |id: &str, audits: &[Audited]| {
        target(&entry, id, Move::Promote, audits).map(|version| version.id.clone())
    };
    assert_eq!(promote("v2", &[]), Ok("v2".to_owned()));
    assert!(matches!(
        promote("ghost", &[]),
        Err(Refusal::UnknownVersion { .. })
    ));
    assert_eq!(
        promote("v0", &[]).unwrap_err().to_string(),
        "refusing to promote an L0 (uncertified) version: Checker/v0"
    );
    assert!(matches!(promote("v3", &[]), Err(Refusal::OtherExam { .. })));
    assert!(promote("v3", &[audited("v1", "c"), audited("v3", "d")]).is_err());
    assert!(promote("v3", &[audited("v1", "c"), audited("v2", "c")]).is_err());
    assert_eq!(
        promote("v3", &[audited("v1", "c"), audited("v3", "c")]),
        Ok("v3".to_owned())
    );
}

#[test]
fn the_first_promotion_and_a_rollback_compare_nothing() {
    let mut entry = entry();
    assert!(target(&entry, "v3", Move::Rollback, &[]).is_ok());
    assert_eq!(
        target(&entry, "v0", Move::Rollback, &[])
            .unwrap_err()
            .to_string(),
        "refusing to rollback to an L0 (uncertified) version: Checker/v0"
    );
    entry.active_version = None;
    assert!(target(&entry, "v3", Move::Promote, &[]).is_ok());
}
