//! Probes, halts, and the state that holds them.

use super::*;

fn compared(agreed: Option<bool>) -> Compared<'static> {
    Compared {
        version: "v1",
        specialist: &Value::Bool(true),
        claude: &Value::Bool(false),
        agreed,
    }
}

#[test]
fn a_disagreeing_adapter_is_halted_once_and_stays_so_without_its_state() {
    let mut place = Place::new(1.0);
    place.settings.shadow.every = 1;
    let specialists = place.open();
    let input = input();
    let mut halts = 0;
    for _ in 0..6 {
        let probed = specialists.probe(asked(&input), compared(Some(false)));
        assert_eq!(probed.persist_error, None);
        let Shadow::Fired {
            halt_triggered,
            agreed,
            ..
        } = probed.shadow
        else {
            panic!("{probed:?}")
        };
        halts += u32::from(halt_triggered);
        assert!(!agreed);
    }
    assert_eq!(halts, 1);
    assert_eq!(reason(&serve(&place.open())), "shadow_probe_halt");
    fs::remove_file(&place.paths.state).unwrap();
    let begun = serve(&place.open());
    assert_eq!(reason(&begun), "shadow_probe_halt");
    assert!(
        begun
            .decision
            .detail
            .contains("0.0% agreement over the last 4 probes"),
        "{}",
        begun.decision.detail
    );
    let cleared = place.open().clear_halt(ROLE, None, operator()).unwrap();
    assert!(!cleared.lifted.is_empty());
    fs::remove_file(&place.paths.state).unwrap();
    assert_eq!(reason(&serve(&place.open())), "ok");
    let state = place.open().state().unwrap();
    assert_eq!(
        state.probes(ROLE, "v1"),
        None,
        "a clearing begins a fresh guard"
    );
}

#[test]
fn verdicts_that_cannot_be_compared_are_no_probe() {
    let place = Place::new(1.0);
    let input = input();
    let probed = place.open().probe(asked(&input), compared(None));
    assert_eq!(
        probed.shadow,
        Shadow::Skipped {
            why: "incomparable",
            counter: Some(0)
        }
    );
    // It does not count, and is reported.
    let [probes, _] = place.open().probes().unwrap();
    let kinds: Vec<&str> = probes.events.iter().map(|one| one.kind.as_str()).collect();
    assert_eq!(kinds, ["shadow-probe-dropped"]);
    assert_eq!(place.open().state().unwrap().probes(ROLE, "v1"), None);
}

#[test]
fn a_damaged_state_routes_nothing_and_is_left_alone_until_it_is_repaired() {
    let place = Place::new(1.0);
    let specialists = place.open();
    specialists.halt(ROLE, operator()).unwrap();
    for damage in ["", "{", "{\"schema\":\"other\"}", "\0\0\0"] {
        place.write(&place.paths.state, damage);
        let begun = serve(&specialists);
        assert_eq!(reason(&begun), "state_unreadable");
        assert!(
            begun.decision.detail.starts_with("STATE_"),
            "{}",
            begun.decision.detail
        );
        assert!(matches!(
            specialists.halt(ROLE, operator()),
            Err(OperateError::Unreadable { .. })
        ));
        assert!(matches!(
            specialists.clear_halt(ROLE, None, operator()),
            Err(OperateError::Unreadable { .. })
        ));
        assert_eq!(fs::read_to_string(&place.paths.state).unwrap(), damage);
        let repaired = specialists.repair("2026-09-03T10:00:00Z").unwrap();
        assert_eq!(repaired.halted, [ROLE]);
        let aside = repaired.set_aside.unwrap();
        assert_eq!(fs::read_to_string(&aside).unwrap(), damage);
        fs::remove_file(aside).unwrap();
        assert_eq!(reason(&serve(&specialists)), "shadow_probe_halt");
    }
    assert_eq!(specialists.repair("now").unwrap().set_aside, None);
}

#[test]
fn one_of_each_stretch_of_answers_is_probed_wherever_it_is_drawn() {
    let mut place = Place::new(1.0);
    place.settings.shadow.every = 5;
    let input = input();
    let is_probed = || {
        // Each answer by another process: everything needed is in the state.
        let specialists = place.open();
        let begun = specialists.begin(asked(&input), &Embedding, &|_| Ok(()));
        let settled = specialists.settle(asked(&input), &begun, Source::Specialist, Ok(()));
        settled.shadow.is_none()
    };
    let drawn: Vec<bool> = (0..200).map(|_| is_probed()).collect();
    let stretches = drawn.chunks(5).map(|stretch| {
        let mut places = stretch.iter().enumerate().filter(|(_, drawn)| **drawn);
        let (first, more) = (places.next(), places.count());
        assert_eq!(more, 0, "{drawn:?}");
        first.expect("one of each").0
    });
    let places: std::collections::BTreeSet<usize> = stretches.collect();
    assert_eq!(places.len(), 5, "each place is drawn at some time");
}

/// Regression: a restored older state with more agreement was trusted.
#[test]
#[expect(clippy::disallowed_methods, reason = "plays who puts files back")]
fn agreement_of_a_state_that_was_put_back_does_not_count() {
    let mut place = Place::new(1.0);
    let environment = Environment {
        state: Some(place._guard.path().join("state")),
        ..Environment::default()
    };
    let root = place._guard.path().join("repository");
    fs::create_dir_all(root.join(".role-os")).unwrap();
    let workspace = Workspace::find(Some(&root), &environment).unwrap();
    trust::initialise(&workspace).unwrap();
    let registry = fs::read_to_string(&place.paths.registry).unwrap();
    place.paths = Paths::find(&workspace, &environment, &Named::default());
    place.write(&place.paths.registry, &registry);
    let probe = |number: usize, agreed: bool| {
        let input = json!({ "text": format!("question wh{}t", "a".repeat(number)) });
        let probed = place.open().probe(asked(&input), compared(Some(agreed)));
        assert_eq!(probed.persist_error, None);
    };
    let counts = || {
        let state = place.open().state().unwrap();
        let probes = state.probes(ROLE, "v1").unwrap().clone();
        (probes.agreed, probes.inputs.agreed, probes.total)
    };
    (0..10).for_each(|number| probe(number, true));
    assert_eq!(counts(), (10, 10, 10));
    let older = fs::read(&place.paths.state).unwrap();
    probe(10, false);
    assert_eq!(counts(), (10, 10, 11));
    assert_eq!(place.open().state_doubt(), None);
    fs::write(&place.paths.state, &older).unwrap();
    assert_eq!(place.open().state_doubt(), Some(Doubt::Older));
    // Regression: only the evidence against a version was kept, and it was halted next.
    assert_eq!(
        counts(),
        (10, 0, 11),
        "as the log has it, and nothing is earned"
    );
    probe(11, true);
    assert_eq!(
        place.open().state_doubt(),
        None,
        "from here on it counts again"
    );
    assert_eq!(counts(), (11, 1, 12));
    // The logs have no seal; a repair does not give them one.
    fs::write(&place.paths.state, "{").unwrap();
    place.open().repair("now").unwrap();
    assert_eq!(counts(), (11, 0, 12));
    fs::remove_file(&place.paths.state).unwrap();
    assert_eq!(counts(), (11, 0, 12));
}

#[test]
fn nothing_older_than_a_halt_is_left_beside_the_state() {
    let place = Place::new(1.0);
    let specialists = place.open();
    (0..3).for_each(|_| drop(serve(&specialists)));
    let older = place.paths.state.with_added_extension("new");
    assert!(older.exists(), "the two files trade their names");
    specialists.halt(ROLE, operator()).unwrap();
    assert!(!older.exists());
    (0..3).for_each(|_| drop(serve(&specialists)));
    let text = fs::read_to_string(&older).unwrap();
    assert!(text.contains("halted by ana"), "{text}");
    specialists.clear_halt(ROLE, None, operator()).unwrap();
    assert!(!older.exists());
}
