//! Every published case of the capability gate, as data: its input and the required answer.
//!
//! A case with `reference` is one where the published gate answers otherwise; `docs/differences.md` says why.

#![expect(clippy::expect_used, reason = "a test stops at its first surprise")]

use jiff::Timestamp;
use oversight::governance::{Governance, Recorded, Spent};
use oversight::grants::Grants;
use oversight::lookup::Nothing;
use oversight::{Call, Decision, NoApprovals, Place, Policy, Rules, Verdict, decide};
use serde_json::Value;

const CASES: &str = include_str!("capability/cases.jsonl");

fn answer(case: &Value) -> Decision {
    let text = |key: &str| case.get(key).and_then(Value::as_str);
    let grants = text("manifest").map_or_else(Grants::none, Grants::parse);
    let policy = Policy::default();
    let rules = Rules {
        gate: case.get("gate") == Some(&Value::Bool(true)),
        policy: &policy,
        grants: &grants,
        advice: None,
        governance: &Governance::default(),
        approved: &NoApprovals,
    };
    let call = Call {
        tool: text("tool").expect("a tool"),
        input: case.get("input").expect("an input"),
        place: Place {
            directory: "/w",
            home: "/home/me",
        },
    };
    let now: Timestamp = text("now").expect("a moment").parse().expect("a moment");
    decide(&rules, &call, &Spent::default(), &Nothing, now)
}

#[test]
fn every_published_case_is_answered_as_written() {
    let mut wrong = Vec::new();
    let mut differs = 0;
    let cases = CASES
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("a case"));
    for case in cases {
        let decision = answer(&case);
        let expected = case.get("verdict").and_then(Value::as_str);
        let actions: Vec<&str> = case
            .get("actions")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let reasons = decision.reasons.join("\n");
        let contains = case.get("contains").and_then(Value::as_array);
        let said = contains
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .all(|part| reasons.contains(part));
        let right_record = match decision.verdict {
            Verdict::Deny => decision.recorded == Recorded::Denied,
            Verdict::Ask => decision.recorded == Recorded::Confirmed,
            _ => decision.recorded == Recorded::Allowed,
        };
        let gated = case.get("gate") == Some(&Value::Bool(true));
        // An unparsed command runs under supervision, if that is available.
        let only_opaque = decision.actions.is_empty() && decision.guarded.is_empty();
        let supervised = only_opaque && !decision.opaque.is_empty() && expected == Some("allow");
        if (Some(decision.verdict.as_str()) != expected && !supervised)
            || (gated && decision.actions != actions)
            || !said
            || !right_record
            || !decision.violations.is_empty()
        {
            wrong.push(format!(
                "{case}\n  {:?} {:?} {reasons}",
                decision.verdict, decision.actions
            ));
        }
        differs += usize::from(case.get("reference").is_some());
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(
        differs > 20,
        "the intended differences are part of the cases"
    );
}
