//! Versions that are registered, promoted and rolled back, and crashes in between.

use super::*;
use ::specialist::event::Event;

/// Leaves the files as a crash would in the middle of a promotion to `v2`.
fn interrupted(place: &Place, logged: bool, by_hand: bool) -> Recovered {
    let specialists = place.open();
    let before = fs::read(&place.paths.registry).unwrap();
    let after = Registry::parse(&before).with_active(ROLE, Some("v2"));
    let event = Event::new(
        Kind::Promote,
        ROLE,
        "t",
        json!({ "from_version": "v1", "to_version": "v2" }),
    );
    let note = json!({ "event": event.line(), "before": hex::encode(base::digest(&before)), "after": after.print() });
    place.write(&specialists.pending_path(), &note.to_string());
    if logged {
        specialists
            .note(crate::shared::Log::Events, &event, true)
            .unwrap();
    }
    if by_hand {
        let text = Registry::parse(&before).with_active(ROLE, None).print();
        place.write(&place.paths.registry, &text);
    }
    let recovered = specialists.recover().unwrap();
    assert!(!specialists.pending_path().exists());
    assert_eq!(specialists.recover().unwrap(), Recovered::Nothing);
    recovered
}

fn active(place: &Place) -> Option<String> {
    place
        .open()
        .registry()
        .unwrap()
        .entry(ROLE)
        .unwrap()
        .active_version
        .clone()
}

#[test]
fn an_interrupted_promotion_is_finished_undone_or_overtaken() {
    let place = Place::new(1.0);
    assert_eq!(interrupted(&place, false, false), Recovered::Undone);
    assert_eq!(active(&place).as_deref(), Some("v1"));
    assert_eq!(interrupted(&place, true, false), Recovered::Finished);
    assert_eq!(active(&place).as_deref(), Some("v2"));
    let place = Place::new(1.0);
    assert_eq!(interrupted(&place, true, true), Recovered::Overtaken);
    assert_eq!(active(&place), None);
    let last = place.open().events().unwrap().events.pop().unwrap();
    assert_eq!(
        (last.kind.as_str(), &last.data["to_version"]),
        ("rollback", &Value::Null)
    );
}

#[test]
fn reading_the_registry_settles_what_a_crash_left() {
    let place = Place::new(1.0);
    let specialists = place.open();
    let before = fs::read(&place.paths.registry).unwrap();
    let after = Registry::parse(&before).with_active(ROLE, Some("v2"));
    let event = Event::new(Kind::Promote, ROLE, "t", json!({}));
    let note = json!({ "event": event.line(), "before": hex::encode(base::digest(&before)), "after": after.print() });
    place.write(&specialists.pending_path(), &note.to_string());
    specialists
        .note(crate::shared::Log::Events, &event, true)
        .unwrap();
    assert_eq!(serve(&specialists).version.as_deref(), Some("v2"));
}

#[test]
fn promotion_and_rollback_leave_their_receipts_and_refuse_what_they_must() {
    let place = Place::new(1.0);
    let specialists = place.open();
    let forced = Promotion {
        force: true,
        ..Promotion::default()
    };
    let promote = |id: &str| specialists.promote(ROLE, id, forced, operator());
    let back = |id: &str| specialists.rollback(ROLE, Some(id), operator());
    assert!(matches!(
        specialists.promote(ROLE, "v2", Promotion::default(), operator()),
        Err(OperateError::Refused(Refusal::NotCompared { .. }))
    ));
    assert!(matches!(
        back("v2"),
        Err(OperateError::Refused(Refusal::NeverActive { .. }))
    ));
    let moved = promote("v2").unwrap();
    assert_eq!(
        (
            moved.from.as_deref(),
            moved.to.as_str(),
            moved.level.as_str()
        ),
        (Some("v1"), "v2", "L3")
    );
    assert_eq!(
        serve(&specialists).version.as_deref(),
        Some("v2"),
        "the next decision sees it"
    );
    back("v1").unwrap();
    let before = fs::read(&place.paths.registry).unwrap();
    assert!(matches!(promote("v0"), Err(OperateError::Refused(_))));
    assert!(matches!(back("ghost"), Err(OperateError::Refused(_))));
    assert!(matches!(
        specialists.promote("Nobody", "v1", forced, operator()),
        Err(OperateError::UnknownRole(_))
    ));
    assert_eq!(fs::read(&place.paths.registry).unwrap(), before);
    let log = specialists.events().unwrap();
    let kinds: Vec<&str> = log.events.iter().map(|event| event.kind.as_str()).collect();
    assert_eq!(kinds, ["promote", "rollback"]);
    assert_eq!(
        log.events[0].data,
        json!({ "from_version": "v1", "to_version": "v2", "certified_level": "L3", "forced": true, "operator": "ana", "reason": "because" })
    );
}

#[test]
fn a_canary_is_withdrawn_or_becomes_active_by_its_probes() {
    let forced = Promotion {
        force: true,
        share: Some(0.1),
    };
    for (claude, outcome) in [("a", "promote"), ("b", "canary")] {
        let place = Place::new(1.0);
        let specialists = place.open();
        specialists.promote(ROLE, "v2", forced, operator()).unwrap();
        let entry = || specialists.registry().unwrap().entry(ROLE).unwrap().clone();
        let mut probes = 0_usize;
        while entry().canary.is_some() {
            let input = json!({ "text": format!("question wh{}t", "a".repeat(probes)) });
            let compared = Compared {
                version: "v2",
                specialist: &json!("a"),
                claude: &json!(claude),
                agreed: Some(claude == "a"),
            };
            let said = specialists.probe(asked(&input), compared);
            assert_eq!(said.persist_error, None);
            probes += 1;
            assert!(probes <= 100);
        }
        let expected = if outcome == "promote" { "v2" } else { "v1" };
        assert_eq!(entry().active_version.as_deref(), Some(expected));
        assert_eq!(
            specialists.state().unwrap().halt(ROLE),
            None,
            "the role serves on"
        );
        let last = specialists.events().unwrap().events.pop().unwrap();
        assert_eq!(
            (last.kind.as_str(), &last.data["probes"]),
            (outcome, &json!(probes))
        );
        // Regression: a canary that its probes withdrew was promoted immediately.
        if outcome == "canary" {
            for share in [None, Some(0.1)] {
                let how = Promotion {
                    force: false,
                    share,
                };
                let refused = specialists.promote(ROLE, "v2", how, operator());
                let Err(OperateError::Refused(Refusal::Barred { bar, .. })) = refused else {
                    panic!("{refused:?}")
                };
                assert!(bar.to_string().contains("it took no exam since"), "{bar}");
            }
        }
    }
}

/// Regression: it withdrew the active version and left the canary.
#[test]
fn a_rollback_while_a_canary_is_tried_ends_the_canary() {
    let place = Place::new(1.0);
    let specialists = place.open();
    let how = |share| Promotion { force: true, share };
    specialists
        .promote(ROLE, "v2", how(None), operator())
        .unwrap();
    let canary = how(Some(0.1));
    specialists.promote(ROLE, "v1", canary, operator()).unwrap();
    let moved = specialists.rollback(ROLE, None, operator()).unwrap();
    assert_eq!(
        (moved.to.as_str(), moved.ended_canary.as_deref()),
        ("v2", Some("v1"))
    );
    let entry = specialists.registry().unwrap().entry(ROLE).unwrap().clone();
    assert_eq!(
        (entry.active_version.as_deref(), entry.canary),
        (Some("v2"), None)
    );
    let last = specialists.events().unwrap().events.pop().unwrap();
    assert_eq!(
        (last.kind.as_str(), &last.data["outcome"]),
        ("canary", &json!("ended"))
    );
    // No probes gave evidence against it, so it may be tried again.
    specialists.promote(ROLE, "v1", canary, operator()).unwrap();
    specialists.rollback(ROLE, None, operator()).unwrap();
    assert_eq!(
        specialists.rollback(ROLE, None, operator()).unwrap().to,
        "v1"
    );
}

#[test]
fn a_claimed_level_that_is_refused_is_none_for_operators_either() {
    for refuse in [false, true] {
        let mut place = Place::new(1.0);
        place.settings.refuse_claimed = refuse;
        let specialists = place.open();
        let promote = |share| {
            let how = Promotion { force: true, share };
            specialists.promote(ROLE, "v2", how, operator()).map(drop)
        };
        let beside = || specialists.beside(ROLE, &["v2".to_owned()], false, operator());
        for done in [beside().map(drop), promote(Some(0.1)), promote(None)] {
            let is_refused = matches!(
                done,
                Err(OperateError::Refused(Refusal::Uncertified { .. }))
            );
            assert_eq!((is_refused, done.is_ok()), (refuse, !refuse), "{done:?}");
        }
    }
}

/// Regression: sixty equal requests decided a canary, and gave L3's agreement.
#[test]
fn what_is_earned_by_probes_is_counted_by_different_inputs() {
    let place = Place::new(1.0);
    let specialists = place.open();
    let forced = Promotion {
        force: true,
        share: Some(0.1),
    };
    specialists.promote(ROLE, "v2", forced, operator()).unwrap();
    let agreed = Compared {
        version: "v2",
        specialist: &json!("a"),
        claude: &json!("a"),
        agreed: Some(true),
    };
    for number in 0..100 {
        // Punctuation, numbers or other fields do not make another input.
        let signs = "!".repeat(number);
        let input = json!({ "text": format!("Where is it{signs} ---{number}"), "n": number });
        specialists.probe(asked(&input), agreed);
    }
    let entry = || specialists.registry().unwrap().entry(ROLE).unwrap().clone();
    assert!(entry().canary.is_some());
    let inputs = |state: State| {
        let probes = state.probes(ROLE, "v2").unwrap();
        (probes.total, probes.inputs.total, probes.inputs.agreed)
    };
    assert_eq!(inputs(specialists.state().unwrap()), (100, 1, 1));
    fs::remove_file(&place.paths.state).unwrap();
    assert_eq!(inputs(specialists.state().unwrap()), (100, 1, 1), "rebuilt");
}

#[test]
fn a_version_enters_behind_the_others_or_not_at_all() {
    let place = Place::new(1.0);
    let specialists = place.open();
    let register = |role: &str, version: Value, backend| {
        specialists.register(role, version, backend, None, operator())
    };
    let version =
        |base: &str| json!({ "id": "n1", "adapter_id": "a", "base_model": base, "mine": [1] });
    let before = fs::read(&place.paths.registry).unwrap();
    assert!(matches!(
        register("New", version("x/y"), None),
        Err(OperateError::NoBackend(_))
    ));
    assert!(matches!(
        register(ROLE, version("claude-3"), None),
        Err(OperateError::WouldBeInvalid(_))
    ));
    assert!(matches!(
        register(ROLE, json!([]), None),
        Err(OperateError::NotAVersion)
    ));
    let taken = json!({ "id": "v1", "adapter_id": "a", "base_model": "x/y" });
    assert!(matches!(
        register(ROLE, taken, None),
        Err(OperateError::DuplicateVersion { .. })
    ));
    assert_eq!(fs::read(&place.paths.registry).unwrap(), before);
    let registered = register("New", version("x/y"), Some(("http://h:1", 0.5))).unwrap();
    assert_eq!((registered.level.as_str(), registered.active), ("L0", None));
    assert!(
        fs::read_to_string(&place.paths.registry)
            .unwrap()
            .contains("\"mine\": [")
    );
    place.write(&place.paths.registry, "{");
    assert!(matches!(
        register("New", version("x/y"), None),
        Err(OperateError::Invalid { .. })
    ));
}
