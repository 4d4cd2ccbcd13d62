//! Probes: when one is made, its record, when it halts, and the text for the user.

use serde_json::{Value, json};
use specialist::event::{Event, Kind, Log};
use specialist::shadow::{HaltRule, Pair, Probes, Settings, Shadow, halt_reason, same, summary};
use specialist::state::Halt;

const FIXED: Settings = Settings {
    every: 20,
    window: 50,
    tau: 0.15,
    rule: HaltRule::Window,
    error: 0.01,
};

fn probes(outcomes: impl IntoIterator<Item = bool>) -> Probes {
    let mut probes = Probes::default();
    outcomes
        .into_iter()
        .for_each(|agreed| probes.push(agreed, &FIXED));
    probes
}

/// Returns `disagreed` disagreements, then `agreed` agreements.
fn mixed(disagreed: usize, agreed: usize) -> Probes {
    probes(std::iter::repeat_n(false, disagreed).chain(std::iter::repeat_n(true, agreed)))
}

#[test]
fn the_window_rule_needs_n_probes_and_less_than_the_required_share() {
    for (disagreed, agreed, halts) in [
        (5, 0, false),
        (8, 42, true),
        (7, 43, false),
        (10, 40, true),
        (5, 45, false),
        (49, 0, false),
        (50, 50, false),
    ] {
        let judgement = mixed(disagreed, agreed).judge(&FIXED);
        assert_eq!(
            judgement.halts, halts,
            "{disagreed} disagreed, {agreed} agreed"
        );
    }
    assert_eq!(mixed(10, 40).judge(&FIXED).rate, 0.8);
    assert_eq!(
        mixed(50, 50).judge(&FIXED).rate,
        1.0,
        "only the last N count"
    );
    assert_eq!(probes([]).judge(&FIXED).rate, 1.0);
}

#[test]
fn the_sequential_rule_looks_at_all_probes_and_the_window_at_none() {
    let settings = Settings::default();
    for (disagreed, agreed, halts) in [(3, 0, false), (4, 0, true), (8, 42, false), (50, 50, true)]
    {
        let judgement = mixed(disagreed, agreed).judge(&settings);
        assert_eq!(
            judgement.halts, halts,
            "{disagreed} disagreed, {agreed} agreed"
        );
    }
}

#[test]
fn the_reason_says_what_was_seen_what_is_required_and_how_to_resume() {
    let judgement = mixed(10, 40).judge(&FIXED);
    let pair = Pair {
        specialist: "supported".into(),
        claude: "contradicted".into(),
    };
    assert_eq!(
        halt_reason(("Checker", "v2"), &judgement, &FIXED, &pair),
        "version \"v2\" of role \"Checker\" halted: 80.0% agreement over the last 50 probes instead of at least 85.0% (tau=0.15); decided by the window rule; \
         the specialist said supported, the general model said contradicted; resume with: roleos specialist clear-halt \"Checker\" \"v2\""
    );
    let settings = Settings::default();
    let early = mixed(6, 0).judge(&settings);
    let text = halt_reason(("R", "v"), &early, &settings, &Pair::default());
    assert!(
        text.contains(
            "version \"v\" of role \"R\" halted: 0.0% agreement over the last 6 probes instead of at least 85.0% (tau=0.15); the evidence against it is "
        ) && text.contains(", and 4.61 is enough at an error of 0.01"),
        "{text}"
    );
    // A fall after a good history: the share of all alone would not explain it.
    let fallen = mixed(12, 1000).judge(&settings);
    let fell = probes((0..1012).map(|at| at < 1000)).judge(&settings);
    let said = halt_reason(("R", "v"), &fell, &settings, &Pair::default());
    assert!(fell.halts && !fallen.halts);
    assert!(
        said.contains("76.0% agreement over the last 50 probes and 98.8% of all 1012 instead"),
        "{said}"
    );
    assert!(
        text.contains("the specialist said (none), the general model said (none)"),
        "{text}"
    );
}

#[test]
fn verdicts_are_summed_up() {
    for (verdict, expected) in [
        (Value::Null, "(none)".to_owned()),
        (json!("x".repeat(200)), "x".repeat(80)),
        (json!("я".repeat(200)), "я".repeat(80)),
        (json!(3.5), "3.5".to_owned()),
        (json!(true), "true".to_owned()),
        (json!({ "a": 1 }), "{\"a\":1}".to_owned()),
    ] {
        assert_eq!(summary(Some(&verdict)), expected);
    }
    assert_eq!(summary(None), "(none)");
    assert_eq!(summary(Some(&json!(vec![1; 200]))).chars().count(), 120);
}

#[test]
fn agreement_is_equal_json() {
    for (a, b, expected) in [
        (
            json!({ "a": 1, "b": [1, 2] }),
            json!({ "b": [1.0, 2], "a": 1.0 }),
            true,
        ),
        (json!("a"), json!("b"), false),
        (json!([1, 2]), json!([2, 1]), false),
        (json!({ "a": 1 }), json!({ "a": 1, "b": null }), false),
        (json!(null), json!(null), true),
        (json!(1), json!("1"), false),
    ] {
        assert_eq!(same(&a, &b), Some(expected), "{a} {b}");
    }
}

#[test]
fn events_read_back_as_they_were_written() {
    let pair = Pair {
        specialist: "a".into(),
        claude: String::new(),
    };
    let judgement = mixed(10, 40).judge(&FIXED);
    let halt = Halt {
        reason: "why".into(),
        since: "t2".into(),
    };
    let written = [
        Event::probe(("A", "v"), "t1", "trace", ("ab12", false), &pair),
        Event::halt(("A", "v"), &halt, &judgement, &FIXED, &pair),
        Event::new(
            Kind::ClearHalt,
            "B",
            "t3",
            json!({ "operator": "ana", "reason": "" }),
        ),
    ];
    assert_eq!(
        written[0].line(),
        "{\"kind\":\"shadow-probe\",\"role\":\"A\",\"ts\":\"t1\",\"data\":{\"trace_id\":\"trace\",\"version\":\"v\",\"input_form\":\"ab12\",\"agreed\":false,\"specialist_summary\":\"a\"}}\n"
    );
    assert_eq!(
        written[1].line(),
        "{\"kind\":\"halt\",\"role\":\"A\",\"ts\":\"t2\",\"data\":{\"reason\":\"why\",\"version\":\"v\",\"probes\":50,\"agreed\":40,\"rate\":0.8,\"tau\":0.15,\"rule\":\"window\",\"specialist_summary\":\"a\"}}\n"
    );
    let text: String = written.iter().map(Event::line).collect();
    let log = Log::parse(text.as_bytes());
    assert_eq!(log.events, written);
    assert_eq!(log.of("A", &[Kind::Halt]).count(), 1);
    assert_eq!(log.of("A", &[Kind::Halt, Kind::ShadowProbe]).count(), 2);
    assert_eq!(log.of("C", &[Kind::Halt]).count(), 0);
    assert_eq!(Log::parse(b""), Log::default());
}

#[test]
fn receipts_tell_of_the_probe() {
    let judgement = mixed(1, 11).judge(&FIXED);
    for (shadow, expected) in [
        (
            Shadow::Counted { counter: 3 },
            "{\"fired\":false,\"counter\":3}",
        ),
        (
            Shadow::Skipped {
                why: "synthetic_fail_open",
                counter: None,
            },
            "{\"fired\":false,\"skipped\":\"synthetic_fail_open\"}",
        ),
        (
            Shadow::Skipped {
                why: "incomparable",
                counter: Some(0),
            },
            "{\"fired\":false,\"skipped\":\"incomparable\",\"counter\":0}",
        ),
        (
            Shadow::Fired {
                agreed: true,
                judgement,
                halt_triggered: false,
            },
            "{\"fired\":true,\"agreed\":true,\"probes\":12,\"rate\":0.9166666666666666,\"halt_triggered\":false}",
        ),
    ] {
        assert_eq!(shadow.to_json().to_string(), expected);
    }
}

#[test]
fn a_bad_variable_is_an_error_and_an_empty_one_is_unset() {
    let with = |k, n, t| FIXED.with_variables(k, n, t);
    assert_eq!(with(None, Some(""), None), Ok(FIXED));
    let set = with(Some("2"), Some("5"), Some("0.4")).unwrap();
    assert_eq!((set.every, set.window, set.tau), (2, 5, 0.4));
    for bad in ["0", "-1", "1.5", "x", "1e3"] {
        assert!(with(Some(bad), None, None).is_err(), "{bad}");
        assert!(with(None, Some(bad), None).is_err(), "{bad}");
    }
    for bad in ["-0.1", "1.1", "NaN", "x", "inf"] {
        assert!(with(None, None, Some(bad)).is_err(), "{bad}");
    }
    assert_eq!(
        with(Some("often"), None, None).unwrap_err().to_string(),
        "cannot use `ROLEOS_SHADOW_K=often`: expected a whole number of at least 1; the default is 20"
    );
}
