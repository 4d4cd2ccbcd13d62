//! Conditions of becoming active and of serving, and the names of versions.

use serde_json::{Value, json};
use specialist::event::Log;
use specialist::pointer::{Compared, Facts, Move, Refusal, serviceable, target, was_active};
use specialist::registry::{Canary, Entry};
use specialist::serving::Standing;

use super::{parse, registry, version};

fn entry() -> Entry {
    let mut model = version("v3", "L3");
    model["model_id"] = json!("router-good");
    let versions = [
        version("v1", "L1"),
        version("v2", "L2"),
        model,
        version("v0", "L0"),
    ];
    parse(&registry(json!("v1"), &versions))
        .entry("Checker")
        .unwrap()
        .clone()
}

fn compared(holds: bool) -> Facts {
    let said = "quality -0.400".to_owned();
    Facts {
        compared: Some(Compared { holds, said }),
        ..Facts::default()
    }
}

/// Returns the id that becomes active, or the first words of the refusal.
fn told(entry: &Entry, id: &str, direction: Move, facts: &Facts) -> String {
    match target(entry, id, direction, facts) {
        Ok(version) => version.id.clone(),
        Err(refusal) => refusal.to_string(),
    }
}

#[test]
fn a_promotion_needs_a_comparison_on_one_exam() {
    let entry = entry();
    let promote = |id: &str, facts: &Facts| told(&entry, id, Move::Promote, facts);
    let forced = Facts {
        forced: true,
        ..compared(false)
    };
    let failed = Facts {
        standing: Standing {
            failed_exam: Some("27 of 40 cases".to_owned()),
            ..Standing::default()
        },
        ..compared(true)
    };
    for (id, facts, expected) in [
        ("v2", &compared(true), "v2"),
        (
            "v2",
            &compared(false),
            "`Checker/v2` is worse than the active `v1`: quality -0.400",
        ),
        (
            "v2",
            &Facts::default(),
            "`Checker/v2` and the active `v1` took no exam together and cannot be compared",
        ),
        (
            "v2",
            &failed,
            "`Checker/v2` did not pass its newest exam: 27 of 40 cases",
        ),
        ("v2", &forced, "v2"),
        ("v1", &Facts::default(), "v1"),
        (
            "ghost",
            &forced,
            "R4: role `Checker` has no version `ghost`",
        ),
        (
            "v0",
            &forced,
            "refusing to promote an L0 (uncertified) version: Checker/v0",
        ),
    ] {
        assert_eq!(promote(id, facts), expected);
    }
    let mut alone = entry.clone();
    alone.active_version = None;
    let first = |facts: &Facts| told(&alone, "v3", Move::Promote, facts);
    assert_eq!(first(&Facts::default()), "v3", "the first has no rival");
    assert!(first(&failed).contains("did not pass"));
}

#[test]
fn a_rollback_goes_back_to_a_version_that_was_active() {
    let mut entry = entry();
    let line = |kind: &str, from: Value, to: Value| {
        json!({ "kind": kind, "role": "Checker", "ts": "t", "data": { "from_version": from, "to_version": to } })
            .to_string()
    };
    let log = [
        line("promote", Value::Null, json!("v2")),
        line("promote", json!("v2"), json!("v1")),
    ];
    let facts = Facts {
        was_active: was_active(&Log::parse(log.join("\n").as_bytes()), "Checker"),
        ..Facts::default()
    };
    let back = |entry: &Entry, id: &str| told(entry, id, Move::Rollback, &facts);
    assert_eq!(back(&entry, "v2"), "v2");
    assert!(back(&entry, "v3").contains("was never active"));
    assert!(back(&entry, "v0").contains("an L0 (uncertified) version"));
    entry.active_version = None;
    assert!(back(&entry, "v2").contains("nothing to roll back from"));
}

/// One rule for all ways in; an operator overrides exams when promoting, and nothing else.
#[test]
fn what_bars_a_version_bars_it_everywhere() {
    let said = |text: &str| Some(text.to_owned());
    let failed = Standing {
        failed_exam: said("27 of 40"),
        ..Standing::default()
    };
    let halted = Standing {
        halt: said("it disagreed"),
        ..Standing::default()
    };
    let doubtful = Standing {
        halted_since_exam: said("2026-03-04"),
        ..Standing::default()
    };
    for (standing, why, is_forcible) in [
        (failed, "did not pass its newest exam", true),
        (doubtful, "took no exam since", true),
        (halted, "it is halted: it disagreed", false),
    ] {
        let facts = |forced| Facts {
            was_active: ["v2".to_owned()].into(),
            standing: standing.clone(),
            forced,
            ..compared(true)
        };
        let entry = entry();
        let back = told(&entry, "v2", Move::Rollback, &facts(true));
        assert!(back.contains(why), "{back}");
        let promoted = told(&entry, "v2", Move::Promote, &facts(false));
        assert!(promoted.contains(why), "{promoted}");
        let forced = told(&entry, "v2", Move::Promote, &facts(true));
        assert_eq!(forced == "v2", is_forcible, "{forced}");
        let beside = serviceable(&entry, "v2", "serve", &standing, false);
        assert!(beside.unwrap_err().to_string().contains(why));
    }
}

#[test]
fn a_version_is_named_by_its_id_a_beginning_of_it_or_its_model() {
    let mut entry = entry();
    for (at, id) in ["13b57aa", "13b57bb", "ca5f49"].into_iter().enumerate() {
        entry.versions[at].id = id.to_owned();
    }
    let named = |text: &str| entry.resolve(text).map(|version| version.id.as_str());
    for (text, id) in [
        ("13b57aa", "13b57aa"),
        ("13b57b", "13b57bb"),
        ("ca", "ca5f49"),
        ("router-good", "ca5f49"),
    ] {
        assert_eq!(named(text), Ok(id), "{text}");
    }
    assert!(matches!(named("13b57"), Err(Refusal::AmbiguousVersion { ids, .. }) if ids.len() == 2));
    for text in ["", "x", "router"] {
        assert!(
            matches!(named(text), Err(Refusal::UnknownVersion { .. })),
            "{text}"
        );
    }
}

#[test]
fn only_the_active_version_and_those_put_beside_it_serve() {
    let mut entry = entry();
    let serving = |entry: &Entry| -> Vec<String> {
        entry.serving().map(|version| version.id.clone()).collect()
    };
    assert_eq!(serving(&entry), ["v1"]);
    entry.beside = ["v0", "v1", "v3"].map(str::to_owned).to_vec();
    assert_eq!(serving(&entry), ["v1", "v3"], "an L0 never serves");
    entry.active_version = None;
    assert!(
        serving(&entry).is_empty(),
        "without an active one, none does"
    );
}

#[test]
fn a_canary_gets_its_share_by_a_hash_of_the_input() {
    let mut entry = entry();
    entry.canary = Some(Canary {
        version: "v2".to_owned(),
        share: 0.1,
    });
    let taken = |input: &str| entry.canary_for(input).is_some();
    let inputs: Vec<String> = (0..10_000)
        .map(|number| format!("claim {number}"))
        .collect();
    let count = inputs.iter().filter(|input| taken(input)).count();
    assert!((900..1_100).contains(&count), "{count}");
    entry.active_version = None;
    assert!(inputs.iter().all(|input| entry.canary_for(input).is_none()));
}
