//! Questions to the conformance role and the parsing of its answers.

use serde_json::{Value, json};
use specialist::conformance::{Verdict, agree, question};

#[test]
fn the_question_is_the_published_one() {
    let contract = json!({
        "contract": "url must be https",
        "params": [{ "name": "url", "type": "string", "required": true }],
        "constraints": [{ "kind": "present", "fields": ["url"], "count": 1 }],
    });
    let call = json!({ "url": "https://a.example" });
    let asked = question("http_get", &contract, &call, Some("read the status page"));
    let published = json!({
        "tool": {
            "name": "http_get", "contract": "url must be https",
            "params": [{ "name": "url", "type": "string", "required": true }],
        },
        "call": { "url": "https://a.example" },
        "intent": "read the status page",
        "evidence": "TOOL: http_get\nCONTRACT: url must be https\nPARAMS (JSON schema): {\"url\":{\"type\":\"string\",\"required\":true}}\nINTENT: read the status page",
        "claim": "CALL: http_get({\"url\":\"https://a.example\"})",
    });
    assert_eq!(asked.to_string(), published.to_string());
}

#[test]
fn state_is_told_where_there_is_one_and_odd_contracts_ask_as_much_as_they_can() {
    let contract = json!({ "state_struct": { "free": ["12A"] } });
    let asked = question("seat", &contract, &json!({}), None);
    assert_eq!(
        asked["evidence"],
        "TOOL: seat\nCONTRACT: \nPARAMS (JSON schema): {}\nSTATE: {\"free\":[\"12A\"]}"
    );
    assert_eq!(asked["state"], json!({ "free": ["12A"] }));
    assert_eq!(asked.get("intent"), None);
    for odd in [
        json!(null),
        json!([]),
        json!({ "contract": 1, "params": { "a": 1 } }),
        json!({ "params": [1, {}, { "name": 2 }] }),
    ] {
        let asked = question("t", &odd, &json!(null), None);
        assert_eq!(
            asked["evidence"],
            "TOOL: t\nCONTRACT: \nPARAMS (JSON schema): {}"
        );
    }
}

#[test]
fn what_is_no_verdict_abstains() {
    let read = |answer: Value| Verdict::read(&answer);
    assert_eq!(read(json!("conformant")), Verdict::Conformant);
    assert_eq!(
        read(json!({ "verdict": "nonconformant", "why": "x" })),
        Verdict::Nonconformant
    );
    for other in [
        json!("abstain"),
        json!("NONCONFORMANT"),
        json!("nonconformant "),
        json!({ "label": "nonconformant" }),
        json!({ "verdict": { "verdict": "nonconformant" } }),
        json!(null),
        json!(["nonconformant"]),
        json!(true),
    ] {
        assert_eq!(read(other.clone()), Verdict::Abstain, "{other}");
    }
}

#[test]
fn one_who_abstains_is_not_compared() {
    let check = |one: Value, other: Value, expected| {
        assert_eq!(agree(&one, &other), expected, "{one} {other}");
    };
    check(
        json!("conformant"),
        json!({ "verdict": "conformant" }),
        Some(true),
    );
    check(json!("conformant"), json!("nonconformant"), Some(false));
    check(json!({ "verdict": "abstain" }), json!("conformant"), None);
    check(json!("nonconformant"), json!("abstain"), None);
}
