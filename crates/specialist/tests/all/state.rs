//! The state between dispatches, the old forms, and the sliding quota.

use serde_json::json;
use specialist::event::{Log, rebuild};
use specialist::quota::{Scope, Source, View, Window};
use specialist::shadow::{HaltRule, Settings};
use specialist::state::{Halt, Reservation, SCHEMA, State, StateError};

#[test]
fn an_empty_state_and_a_round_trip() {
    let mut state = State::default();
    assert_eq!(State::parse(state.print().as_bytes()), Ok(state.clone()));
    let slot = state.slot_mut("A").clone();
    assert_eq!((slot.probe_counter, slot.halt), (0, None));
    state.slot_mut("A").probe_counter = 7;
    assert_eq!(
        state.slot_mut("A").probe_counter,
        7,
        "a slot that is there stays"
    );
    state.slot_mut("B").halt = Some(Halt {
        reason: "why".into(),
        since: "then".into(),
    });
    for source in [Source::Specialist, Source::Claude, Source::Specialist] {
        state.dispatch("A", source, 200);
    }
    let probes = state.slot_mut("A").probes.entry("v1".to_owned());
    probes.or_default().push(false, &Settings::default());
    let text = state.print();
    assert!(text.contains(SCHEMA) && text.ends_with("}\n"));
    assert!(text.contains("\"dispatches\": \"SCS\""), "{text}");
    assert_eq!(State::parse(text.as_bytes()), Ok(state));
}

#[test]
fn what_is_no_state_is_an_error_and_never_an_empty_one() {
    let parse = |text: &str| State::parse(text.as_bytes());
    for text in ["", "{", "{]", "\0"] {
        assert!(matches!(parse(text), Err(StateError::Parse(_))), "{text}");
    }
    let good = |role: &str| {
        format!(
            "{{\"schema\":\"{SCHEMA}\",\"dispatched\":0,\"dispatches\":\"\",\"roles\":{{\"A\":{role}}}}}"
        )
    };
    for text in [
        "{}".to_owned(),
        "[]".to_owned(),
        "null".to_owned(),
        "{\"schema\":\"roleos-specialist-state/v9\",\"roles\":{}}".to_owned(),
        "{\"schema\":\"roleos-specialist-state/v2\",\"roles\":[]}".to_owned(),
        "{\"schema\":\"roleos-specialist-state/v2\",\"roles\":{\"A\":7}}".to_owned(),
        good("{}"),
        good("{\"dispatched\":1,\"dispatches\":\"X\"}"),
        good("{\"dispatched\":1,\"dispatches\":\"S\",\"halt\":\"yes\"}"),
        good("{\"dispatched\":1,\"dispatches\":\"S\",\"halt\":false}"),
        good("{\"dispatched\":1,\"dispatches\":\"S\",\"probe_counter\":-1}"),
        good(
            "{\"dispatched\":1,\"dispatches\":\"S\",\"probes\":{\"total\":1,\"agreed\":2,\"recent\":\"A\"}}",
        ),
        good(
            "{\"dispatched\":1,\"dispatches\":\"S\",\"probes\":{\"total\":1,\"agreed\":1,\"recent\":\"AA\"}}",
        ),
        good("{\"dispatched\":1,\"dispatches\":\"S\",\"probes\":{}}"),
    ] {
        assert!(matches!(parse(&text), Err(StateError::Schema(_))), "{text}");
    }
    assert!(parse(&good("{\"dispatched\":1,\"dispatches\":\"S\"}")).is_ok());
    assert!(
        parse("{")
            .unwrap_err()
            .to_string()
            .starts_with("STATE_PARSE_ERROR: ")
    );
    assert!(
        parse("{}")
            .unwrap_err()
            .to_string()
            .starts_with("STATE_SCHEMA_MISMATCH: ")
    );
}

#[test]
fn version_2_is_read_as_tolerantly_as_it_was() {
    let text = json!({
        "schema": "roleos-specialist-state/v2",
        "dispatches": [ { "t": 1, "route": "specialist" }, { "t": 2, "route": "claude" }, 3, { "t": 4, "route": "?" }, { "route": "claude" }, "x", null ],
        "roles": {
            "A": { "probe_counter": 7, "halt": null },
            "B": { "probe_counter": 0, "halt": { "reason": "why", "since": "then" } },
        },
    });
    let state = State::parse(text.to_string().as_bytes()).unwrap();
    assert_eq!(state.fleet.used(200), 3);
    assert_eq!(state.fleet.dispatched(), 4);
    assert_eq!(state.slot("A").unwrap().probe_counter, 7);
    assert_eq!(state.slot("A").unwrap().window.used(200), 3);
    assert_eq!(state.halt("B").unwrap().reason, "why");
    assert_eq!(state.quota("Nobody", Scope::Role, 200).used, 0);
    assert!(state.print().contains(SCHEMA));
    let no_list = json!({ "schema": "roleos-specialist-state/v2", "dispatches": 7, "roles": {} });
    assert_eq!(
        State::parse(no_list.to_string().as_bytes()),
        Ok(State::default())
    );
}

#[test]
fn version_1_counts_its_time_stamps() {
    let text = json!({
        "schema": "roleos-specialist-state/v1",
        "roles": { "A": { "dispatch_timestamps": [1, 2, 3, "x"], "probe_counter": 4, "halt": null },
                   "B": { "dispatch_timestamps": [5], "halt": { "reason": "r", "since": "s" } } },
    });
    let state = State::parse(text.to_string().as_bytes()).unwrap();
    assert_eq!(state.slot("A").unwrap().window.used(200), 3);
    assert_eq!(state.slot("A").unwrap().probe_counter, 4);
    assert_eq!(state.fleet.used(200), 4);
    assert_eq!(state.halt("B").unwrap().since, "s");
}

#[test]
fn a_window_keeps_its_order_and_its_length() {
    use Source::{Claude as C, Specialist as S};
    let mut window = Window::default();
    for source in [C, C, S, C, S] {
        window.push(source, 3);
    }
    assert_eq!(window.records(), [S, C, S]);
    assert_eq!(window.dispatched(), 5);
    let mut window = Window::default();
    for source in [C, C, C, C, C, S, S, S, S, S] {
        window.push(source, 200);
    }
    assert_eq!((window.used(10), window.used(4)), (5, 4));
    window.correct(9, C);
    window.correct(0, S);
    window.correct(77, S);
    assert_eq!((window.used(10), window.used(1)), (5, 0));
    let mut short = Window::default();
    for _ in 0..5 {
        short.push(S, 2);
    }
    short.correct(0, C);
    short.correct(5, C);
    assert_eq!(short.records(), [S, S]);
    assert_eq!(short.view(2), View { used: 1, window: 2 });
}

/// Dispatches as often as the quota allows, and checks every stretch of the window's length.
fn serve(quota: f64, window: usize, dispatches: usize) -> Vec<bool> {
    let mut state = State::default();
    let mut served = Vec::new();
    for _ in 0..dispatches {
        let view = state.quota("A", Scope::Role, window);
        let source = if view.share_after_next() <= quota {
            Source::Specialist
        } else {
            Source::Claude
        };
        state.dispatch("A", source, window);
        served.push(source == Source::Specialist);
    }
    for stretch in served.windows(window) {
        let used = stretch.iter().filter(|served| **served).count();
        assert!(used as f64 <= quota * window as f64 + 1e-9);
    }
    served
}

#[test]
fn a_whole_quota_is_never_exhausted_and_half_of_one_is_half() {
    let all = serve(1.0, 200, 1000);
    assert!(all.iter().all(|served| *served));
    let half = serve(0.5, 200, 2000);
    let count = half.iter().filter(|served| **served).count();
    assert!((800..=1100).contains(&count), "{count}");
    assert!(half[1800..].iter().filter(|served| **served).count() >= 60);
    serve(0.07, 30, 500);
    assert_eq!(
        serve(0.001, 200, 500)
            .iter()
            .filter(|served| **served)
            .count(),
        0
    );
}

#[test]
fn the_fleet_shares_one_window_and_roles_do_not() {
    let mut state = State::default();
    for _ in 0..10 {
        state.dispatch("A", Source::Specialist, 200);
    }
    assert_eq!(state.quota("B", Scope::Role, 200).used, 0);
    assert_eq!(state.quota("B", Scope::Fleet, 200).used, 10);
    assert_eq!(state.quota("A", Scope::Role, 200).used, 10);
}

#[test]
fn halts_are_set_once_kept_and_cleared_with_a_fresh_guard() {
    let settings = Settings {
        every: 1,
        window: 5,
        tau: 0.4,
        rule: HaltRule::Window,
        error: 0.01,
    };
    let mut state = State::default();
    let mut halts = 0;
    for _ in 0..8 {
        let halt = |_: &_| Halt {
            reason: "r".into(),
            since: "s".into(),
        };
        let (_, triggered) = state.probe(("A", "v1"), ("", false), &settings, true, halt);
        halts += u32::from(triggered);
    }
    assert_eq!(halts, 1);
    assert!(state.halt("A").is_some());
    let halt = Halt {
        reason: "r".into(),
        since: "s".into(),
    };
    assert_eq!(state.halts_for("A").of("v2"), None, "it is of `v1` alone");
    assert_eq!(State::parse(state.print().as_bytes()).unwrap(), state);
    assert_eq!(state.clear("A", Some("v2")), []);
    state.slot_mut("A").halts.insert("v2".into(), halt.clone());
    let lifted = state.clear("A", Some("v1"));
    assert_eq!(lifted, [(Some("v1".to_owned()), halt.clone())]);
    assert_eq!(state.halts_for("A").of("v2"), Some("r"), "it stays halted");
    state.slot_mut("A").halt = Some(halt);
    assert_eq!(state.clear("A", None).len(), 2);
    assert_eq!(state.clear("A", None), []);
    assert_eq!(state.clear("Nobody", None), []);
    assert_eq!(state.probes("A", "v1"), None);
}

#[test]
fn probes_count_for_the_version_that_answered() {
    let settings = Settings::default();
    let halt = |_: &_| Halt {
        reason: "r".into(),
        since: "s".into(),
    };
    let mut state = State::default();
    for _ in 0..3 {
        state.probe(("A", "v1"), ("", false), &settings, true, halt);
        state.probe(("A", "v2"), ("", false), &settings, true, halt);
    }
    assert_eq!(state.halt("A"), None, "three of each are too few");
    let (judgement, triggered) = state.probe(("A", "v2"), ("", false), &settings, false, halt);
    assert!(
        judgement.halts && !triggered,
        "a canary does not halt its role"
    );
    let (judgement, triggered) = state.probe(("A", "v1"), ("", false), &settings, true, halt);
    assert!(triggered && judgement.total == 4);
}

#[test]
fn an_older_count_belongs_to_no_version() {
    let text = format!(
        "{{\"schema\":\"{SCHEMA}\",\"dispatched\":0,\"dispatches\":\"\",\"roles\":{{\"A\":{{\"dispatched\":0,\"dispatches\":\"\",\
         \"probes\":{{\"total\":3,\"agreed\":1,\"recent\":\"DDA\"}}}}}}}}"
    );
    let state = State::parse(text.as_bytes()).unwrap();
    assert_eq!(state.probes("A", "").map(|probes| probes.total), Some(3));
    assert_eq!(state.probes("A", "v1"), None);
}

#[test]
fn a_lost_state_is_rebuilt_from_both_logs() {
    let events = Log::parse(
        b"{\"kind\":\"shadow-probe\",\"role\":\"A\",\"ts\":\"1\",\"data\":{\"agreed\":false}}\n\
          {\"kind\":\"halt\",\"role\":\"A\",\"ts\":\"2\",\"data\":{\"reason\":\"first\"}}\r\n\
          {\"kind\":\"clear-halt\",\"role\":\"A\",\"ts\":\"3\",\"data\":{}}\n\
          torn{\n\
          {\"kind\":\"halt\",\"role\":\"B\",\"ts\":\"4\",\"data\":{\"reason\":\"second\"}}\n\
          [1]\n",
    );
    assert_eq!(events.damaged, [4, 6]);
    let probes = Log::parse(
        b"{\"kind\":\"shadow-probe\",\"role\":\"A\",\"ts\":\"1\",\"data\":{\"agreed\":false}}\n\
          {\"kind\":\"clear-halt\",\"role\":\"A\",\"ts\":\"3\",\"data\":{}}\n\
          {\"kind\":\"shadow-probe\",\"role\":\"A\",\"ts\":\"5\",\"data\":{\"agreed\":true}}\n\
          {\"kind\":\"shadow-probe\",\"role\":\"A\",\"ts\":\"6\",\"data\":{}}\n",
    );
    let state = rebuild(&events, &probes, &Settings::default());
    assert_eq!(state.halt("A"), None);
    assert_eq!(
        state.halt("B"),
        Some(&Halt {
            reason: "second".into(),
            since: "4".into()
        })
    );
    let probes = state.probes("A", "").unwrap();
    assert_eq!((probes.total, probes.agreed), (2, 1));
}

/// Adds a dispatch of a role that holds its slot.
fn reserve(state: &mut State, role: &str, holder: &str, ticket: u64, window: usize) {
    let number = state.dispatch(role, Source::Specialist, window);
    state.reserve(Reservation {
        role: role.to_owned(),
        number,
        holder: holder.to_owned(),
        ticket,
    });
}

#[test]
fn places_of_dead_holders_are_given_back_and_no_others() {
    let mut state = State::default();
    for (role, holder, ticket) in [
        ("A", "dead", 0),
        ("A", "alive", 0),
        ("B", "dead", 1),
        ("A", "dead", 2),
    ] {
        reserve(&mut state, role, holder, ticket, 200);
    }
    state.end_reservation("dead", 2);
    let mut state = State::parse(state.print().as_bytes()).unwrap();
    state.release(|one| one.holder == "dead");
    let of = |role: &str| state.slot(role).unwrap().window.records().to_vec();
    assert_eq!(
        of("A"),
        [Source::Claude, Source::Specialist, Source::Specialist],
        "the answered one counts"
    );
    assert_eq!(of("B"), [Source::Claude]);
    assert_eq!(state.fleet.used(200), 2);
    assert_eq!(state.reservations().len(), 1);
}

#[test]
fn reservations_that_left_both_windows_are_forgotten() {
    let mut state = State::default();
    for ticket in 0..1000 {
        reserve(&mut state, "A", "killed", ticket, 10);
    }
    reserve(&mut state, "B", "killed", 1000, 10);
    let held: Vec<u64> = state.reservations().iter().map(|one| one.ticket).collect();
    assert_eq!(held, (990..=1000).collect::<Vec<_>>());
}

#[test]
fn a_state_of_an_older_version_has_no_reservations_and_damaged_ones_are_an_error() {
    let with = |reservations: &str| {
        let text = format!(
            "{{\"schema\":\"{SCHEMA}\",\"dispatched\":0,\"dispatches\":\"\",{reservations}\"roles\":{{}}}}"
        );
        State::parse(text.as_bytes())
    };
    assert!(with("").unwrap().reservations().is_empty());
    for bad in ["7", "{}", "[7]", "[{}]", "[{\"role\":\"A\"}]"] {
        let state = with(&format!("\"reservations\":{bad},"));
        assert!(matches!(state, Err(StateError::Schema(_))), "{bad}");
    }
}
