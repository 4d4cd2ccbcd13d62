//! The gate's order and its reasons.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use specialist::classifier::{Classifier, Embedding, cosine};
use specialist::gate::{Decision, Declared, Gate, Question};
use specialist::quota::{Source, View};
use specialist::registry::{Entry, Version};
use specialist::role_block::RoleBlock;
use specialist::state::{Halt, Halts};

/// Classifier with the results of a case.
struct Says {
    ood: Result<bool, String>,
    score: Result<f64, String>,
}

impl Classifier for Says {
    fn is_ood(&self, _: &str, _: &Value, _: &Version) -> Result<bool, String> {
        self.ood.clone()
    }

    fn score(&self, _: &str, _: &Value, _: &Version) -> Result<f64, String> {
        self.score.clone()
    }
}

/// One case; `change` makes it invalid.
struct Case {
    entry: Option<Entry>,
    block: RoleBlock,
    quota: (u64, u64),
    halt: Option<&'static str>,
    halts: BTreeMap<String, Halt>,
    says: Says,
}

fn case() -> Case {
    Case {
        entry: Some(super::entry()),
        block: RoleBlock::NoFile,
        quota: (0, 200),
        halt: None,
        halts: BTreeMap::new(),
        says: Says {
            ood: Ok(false),
            score: Ok(0.9),
        },
    }
}

const INPUT: &Value = &Value::Null;

fn decide(case: &Case) -> Decision {
    Gate::decide(question(case))
}

fn question(case: &Case) -> Question<'_> {
    Question {
        role: "Checker",
        input: INPUT,
        entry: case.entry.as_ref(),
        block: &case.block,
        quota: View {
            used: case.quota.0,
            window: case.quota.1,
        },
        halts: Halts {
            role: case.halt,
            versions: Some(&case.halts),
        },
        classifier: &case.says,
        declared: &Declared::nothing,
    }
}

#[track_caller]
fn check(reason: &str, change: impl FnOnce(&mut Case)) -> Decision {
    let mut case = case();
    change(&mut case);
    let decision = decide(&case);
    assert_eq!(decision.reason.name(), reason, "{decision:?}");
    assert_eq!(decision.route == Source::Specialist, reason == "ok");
    decision
}

#[test]
fn all_holds() {
    let decision = check("ok", |_| {});
    assert_eq!(
        (decision.score, decision.ood, decision.quota_ok),
        (0.9, false, true)
    );
    assert_eq!(decision.detail, "score 0.900 >= threshold 0.750; v1 at L2");
}

#[test]
fn equality_routes_and_less_does_not() {
    check("ok", |case| case.says.score = Ok(0.75));
    let low = check("score_below_threshold", |case| case.says.score = Ok(0.5));
    assert_eq!(low.score, 0.5);
    assert_eq!(low.detail, "score 0.500 < threshold 0.750");
    for bad in [1.5, -0.1, f64::NAN, f64::INFINITY] {
        let decision = check("score_invalid", |case| case.says.score = Ok(bad));
        assert_eq!(decision.score, 0.0);
    }
}

#[test]
fn the_quota_counts_the_next_dispatch() {
    let full = check("quota_exhausted", |case| case.quota = (70, 100));
    assert!(!full.quota_ok);
    assert_eq!(full.detail, "(70 + 1) of 100 is 0.710 > quota 0.700");
    check("ok", |case| case.quota = (69, 100));
    check("quota_exhausted", |case| case.quota = (1, 0));
}

#[test]
fn who_may_serve() {
    check("no_registry_entry", |case| case.entry = None);
    check("no_active_version", |case| {
        case.entry.as_mut().unwrap().active_version = None
    });
    let ghost = check("registry_dangling_pointer", |case| {
        case.entry.as_mut().unwrap().active_version = Some("ghost".to_owned());
    });
    assert_eq!(
        ghost.detail,
        "active_version \"ghost\" not found in versions[]"
    );
    check("uncertified_active_version", |case| {
        case.entry.as_mut().unwrap().versions[0].certified_level =
            specialist::level::Level::UNCERTIFIED;
    });
}

#[test]
fn the_gate_trusts_the_entry() {
    check("ok", |case| {
        case.entry.as_mut().unwrap().versions[0].base_model = "claude-3".to_owned()
    });
}

#[test]
fn what_cannot_be_told_fails_open() {
    let threw = |case: &mut Case| case.says.ood = Err("no model".to_owned());
    assert_eq!(check("ood_check_threw", threw).detail, "no model");
    let threw = |case: &mut Case| case.says.score = Err("boom".to_owned());
    assert_eq!(check("score_fn_threw", threw).detail, "boom");
}

#[test]
fn the_order_is_the_contract() {
    let all_wrong = |case: &mut Case| {
        case.quota = (200, 200);
        case.says = Says {
            ood: Ok(true),
            score: Ok(0.99),
        };
        case.block = RoleBlock::read(Some(&json!({ "adapter_id": "other" })));
        case.entry.as_mut().unwrap().versions[0].certified_level =
            specialist::level::Level::UNCERTIFIED;
    };
    let halted = check("shadow_probe_halt", |case| {
        all_wrong(case);
        case.entry.as_mut().unwrap().active_version = Some("ghost".to_owned());
        case.block = RoleBlock::Off;
        case.halt = Some("disagreed");
    });
    assert_eq!(halted.detail, "disagreed");
    assert_eq!(
        check("shadow_probe_halt", |case| case.halt = Some("")).detail,
        "the role is halted"
    );
    check("uncertified_active_version", all_wrong);
    check("role_block_mismatch", |case| {
        all_wrong(case);
        *case.entry.as_mut().unwrap() = super::entry();
    });
    check("quota_exhausted", |case| {
        all_wrong(case);
        *case.entry.as_mut().unwrap() = super::entry();
        case.block = RoleBlock::NoFile;
    });
    let ood = check("ood", |case| {
        case.says = Says {
            ood: Ok(true),
            score: Ok(0.99),
        }
    });
    assert!(ood.ood);
}

#[test]
fn a_role_block_switches_off_agrees_or_stands_in_the_way() {
    let block = |value: Value| move |case: &mut Case| case.block = RoleBlock::read(Some(&value));
    check("role_block_off", block(json!(null)));
    check("ok", block(json!({})));
    let agrees = json!({
        "backend_url": "http://127.0.0.1:8011", "adapter_id": "v1-adapter", "gate_threshold": 0.75,
        "fallback": "claude", "workload_quota": 0.7, "certified_level": "L2", "mine": 1,
    });
    check("ok", block(agrees.clone()));
    for (key, value) in [
        ("backend_url", json!("http://evil")),
        ("adapter_id", json!("v2-adapter")),
        ("gate_threshold", json!(0.5)),
        ("fallback", json!("gpt")),
        ("workload_quota", json!(1)),
        ("certified_level", json!("L5")),
        ("certified_level", json!(2)),
    ] {
        let mut other = agrees.clone();
        other[key] = value;
        let decision = check("role_block_mismatch", block(other));
        assert!(decision.detail.contains(key), "{}", decision.detail);
    }
    check("role_block_mismatch", block(json!("yes")));
}

/// Returns a role with two versions beside each other, of which some are halted.
fn beside(halted: &[&str]) -> Case {
    let mut entry = super::entry();
    let mut other = entry.versions[0].clone();
    other.id = "v2".to_owned();
    entry.versions.push(other);
    entry.beside = vec!["v2".to_owned()];
    let halt = |id: &&str| {
        let (reason, since) = (format!("{id} disagreed"), String::new());
        ((*id).to_owned(), Halt { reason, since })
    };
    Case {
        entry: Some(entry),
        halts: halted.iter().map(halt).collect(),
        ..case()
    }
}

#[test]
fn a_halt_of_one_version_leaves_those_beside_it() {
    for (halted, reason, detail) in [
        (&[][..], "ok", "v1 at"),
        (&["v1"], "ok", "v2 at"),
        (&["v2"], "ok", "v1 at"),
        (&["v1", "v2"], "shadow_probe_halt", "v1 disagreed"),
    ] {
        let decision = decide(&beside(halted));
        assert_eq!(decision.reason.name(), reason, "{halted:?}");
        assert!(decision.detail.contains(detail), "{halted:?}: {decision:?}");
    }
}

#[test]
fn a_certificate_holds_for_the_backend_that_took_the_exam() {
    let certified = |case: &mut Case| {
        let entry = case.entry.as_mut().unwrap();
        let subject = entry.subject(&entry.versions[0]);
        entry.versions[0].certified_for = Some(subject);
    };
    check("ok", certified);
    let moved = check("uncertified_active_version", |case| {
        certified(case);
        case.entry.as_mut().unwrap().backend_url = "http://127.0.0.1:9".to_owned();
    });
    assert!(
        moved.detail.contains("its backend is not the one"),
        "{moved:?}"
    );
}

/// A share is one of the role's inputs, whichever version serves beside the active one and however high its reward.
#[test]
fn a_canary_comes_first_within_its_share() {
    let mut case = beside(&[]);
    let entry = case.entry.as_mut().unwrap();
    let mut tried = entry.versions[0].clone();
    tried.id = "v3".to_owned();
    entry.versions.push(tried);
    entry.canary = Some(specialist::registry::Canary {
        version: "v3".to_owned(),
        share: 0.2,
    });
    let answers = |number: usize| {
        let question = Question {
            input: &json!(format!("input {number}")),
            ..question(&case)
        };
        let first = Gate::weigh(question)
            .admitted
            .first()
            .map(|one| one.id.clone());
        first == Some("v3".to_owned())
    };
    let count = (0..2_000).filter(|number| answers(*number)).count();
    assert!((340..460).contains(&count), "{count} of 2000");
}

fn by_embedding(input: &Value, centroid: Option<Vec<f64>>, floor: Option<f64>) -> (bool, f64) {
    let mut version = super::entry().versions[0].clone();
    version.exam_centroid = centroid;
    version.ood_floor = floor;
    let judge = Embedding;
    (
        judge.is_ood("x", input, &version).unwrap(),
        judge.score("x", input, &version).unwrap(),
    )
}

#[test]
fn the_default_classifier_compares_embedding_and_centroid() {
    let same = json!({ "embedding": [1.0, 0.0] });
    for (input, centroid, floor, expected) in [
        (json!({}), Some(vec![1.0, 0.0]), None, (true, 0.0)),
        (same.clone(), None, None, (true, 0.0)),
        (same.clone(), Some(vec![]), None, (true, 0.0)),
        (same.clone(), Some(vec![1.0]), None, (true, 0.0)),
        (
            json!({ "embedding": [1.0, "x"] }),
            Some(vec![1.0, 0.0]),
            None,
            (true, 0.0),
        ),
        (json!("text"), Some(vec![1.0, 0.0]), None, (true, 0.0)),
        (same.clone(), Some(vec![1.0, 0.0]), None, (false, 1.0)),
        (same.clone(), Some(vec![0.0, 1.0]), Some(0.4), (true, 0.5)),
        (same.clone(), Some(vec![0.0, 1.0]), None, (true, 0.5)),
        (same.clone(), Some(vec![0.0, 1.0]), Some(-0.5), (false, 0.5)),
        (
            same.clone(),
            Some(vec![-1.0, 0.0]),
            Some(-1.0),
            (false, 0.0),
        ),
    ] {
        assert_eq!(
            by_embedding(&input, centroid.clone(), floor),
            expected,
            "{input} {centroid:?}"
        );
    }
    assert_eq!(cosine(&[0.0, 0.0], &[1.0, 1.0]), 0.0);
    assert_eq!(cosine(&[2.0, 2.0], &[1.0, 1.0]), 1.0);
    assert_eq!(cosine(&[1e300, 1e300], &[1e300, 1e300]), 0.0);
}

#[test]
fn end_to_end_with_and_without_an_embedding() {
    let mut entry = super::entry();
    entry.versions[0].exam_centroid = Some(vec![0.6, 0.8]);
    let ask = |input: Value| {
        Gate::decide(Question {
            role: "Checker",
            input: &input,
            entry: Some(&entry),
            block: &RoleBlock::NoFile,
            quota: View {
                used: 0,
                window: 200,
            },
            halts: Halts::default(),
            classifier: &Embedding,
            declared: &Declared::nothing,
        })
    };
    let served = ask(json!({ "embedding": [0.6, 0.8] }));
    assert_eq!((served.reason.name(), served.score), ("ok", 1.0));
    assert_eq!(ask(json!({ "text": "x" })).reason.name(), "ood");
}
