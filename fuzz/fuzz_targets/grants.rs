//! Any text as a manifest of grants, at any moment: no panic, a refused grant never lets an act run, and counting down
//! changes one number and nothing else.

#![no_main]

use jiff::Timestamp;
use libfuzzer_sys::fuzz_target;
use oversight::grants::{Grants, Standing, use_once};
use oversight::lookup::Nothing;
use oversight::verdict::{Place, Policy, Verdict, decide_command};
use serde_json::Value;

const ACTION: &str = "git:push";

/// The entry as an independent reader sees it.
fn entry(text: &str) -> Option<Value> {
    serde_json::from_str::<Value>(text).ok()?.get(ACTION).cloned()
}

fuzz_target!(|input: (i64, bool, &str)| {
    let (seconds, enforce_scope, text) = input;
    let Ok(now) = Timestamp::from_second(seconds % 253_402_207_200) else {
        return;
    };
    // Half of the inputs are the entry alone, so that the fuzzer need not find the name of the action.
    let whole = if text.starts_with('{') && text.contains("granted") && !text.contains(ACTION) {
        format!("{{\"{ACTION}\":{text}}}")
    } else {
        text.to_owned()
    };
    let grants = Grants::parse(&whole);
    let granted = grants.standing(ACTION, now) == Standing::Granted;
    let policy = Policy {
        enforce_scope,
        ..Policy::default()
    };
    let place = Place {
        directory: "/w",
        home: "/h",
    };
    let decision = decide_command(&policy, "git push origin main", place, &Nothing, &grants, now);
    let runs = decision.verdict < Verdict::Ask;
    assert!(granted || !runs, "a refused grant lets it run");
    assert!(runs || decision.uses.is_empty(), "a refused act uses up a grant");
    if granted {
        let entry = entry(&whole);
        let flag = entry.as_ref().and_then(|entry| entry.get("granted"));
        assert_eq!(flag, Some(&Value::Bool(true)), "granted by something else than true");
    }
    if let Ok(counted) = use_once(&whole, &[ACTION.to_owned()]) {
        let mut expected: Value = serde_json::from_str(&whole).expect("JSON before");
        let after: Value = serde_json::from_str(&counted).expect("JSON after");
        let uses = expected
            .pointer_mut("/git:push/uses")
            .expect("it was counted");
        let left = uses.as_u64().expect("a number");
        *uses = Value::from(left - 1);
        assert_eq!(after, expected, "counting changed something else");
        assert!(left > 0);
    } else if runs {
        assert!(decision.uses.is_empty(), "a countable grant that cannot be counted lets it run");
    }
});
