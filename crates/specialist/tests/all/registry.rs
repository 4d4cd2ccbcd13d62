//! Refused registries: the rule, the position, and the extent of the refusal.

use serde_json::{Value, json};
use specialist::registry::{Contract, Refused, Registry, complete};

use super::{parse, registry, version};

/// Sets a value by its pointer in a valid registry and expects exactly these rules (or beginnings of words).
fn check(pointer: &str, value: Value, expected: &[&str]) {
    let mut document = registry(json!("v1"), &[version("v1", "L2"), version("v0", "L0")]);
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    let parent = document.pointer_mut(parent).unwrap();
    match parent {
        Value::Array(list) => list[key.parse::<usize>().unwrap()] = value.clone(),
        other => other[key] = value.clone(),
    }
    let registry = parse(&document);
    let found: Vec<String> = registry
        .problems()
        .iter()
        .map(|problem| match problem.rule {
            Some(rule) => rule.name().to_owned(),
            None => problem.what.clone(),
        })
        .collect();
    let matches = found.len() == expected.len()
        && found
            .iter()
            .zip(expected)
            .all(|(found, expected)| found.starts_with(expected));
    assert!(
        matches,
        "{pointer} = {value}: {found:?} instead of {expected:?}"
    );
}

const ENTRY: &str = "/specialists/0";
const VERSION: &str = "/specialists/0/versions/0";

fn in_entry(key: &str, value: Value, expected: &[&str]) {
    check(&format!("{ENTRY}/{key}"), value, expected);
}

fn in_version(key: &str, value: Value, expected: &[&str]) {
    check(&format!("{VERSION}/{key}"), value, expected);
}

#[test]
fn r1_the_claude_family_is_no_base() {
    for model in [
        "claude-haiku-4-5",
        "anthropic/claude-opus",
        "claude3",
        "us.anthropic.claude-x",
        "x-claude-distill",
        "cl\u{430}ude-opus-4",
    ] {
        in_version("base_model", json!(model), &["R1"]);
    }
    for model in ["Qwen/Qwen3-7B", "google/gemma-3-9b", "mistralai/Mistral-7B"] {
        in_version("base_model", json!(model), &[]);
    }
    in_version("base_model", json!(7), &["base_model must be"]);
}

#[test]
fn r2_and_r4_the_pointer_leads_to_a_certified_version() {
    in_entry("active_version", json!("v0"), &["R2"]);
    in_entry("active_version", json!(null), &[]);
    in_entry("active_version", json!("ghost"), &["R4"]);
    in_entry("active_version", json!(""), &["R4"]);
    in_entry(
        "active_version",
        json!(3),
        &["active_version must be a string or null"],
    );
}

#[test]
fn r3_ids_are_unique_within_a_role() {
    // The other `v1` is uncertified, so the pointer may lead to an uncertified version as well.
    check("/specialists/0/versions/1/id", json!("v1"), &["R3", "R2"]);
    check("/specialists/0/versions/1/id", json!("v9"), &[]);
}

#[test]
fn r5_and_r6_numbers_stay_in_their_ranges() {
    for bad in [json!(-0.1), json!(1.1), json!("0.5"), json!(null)] {
        in_version("gate_threshold", bad, &["R5"]);
    }
    for good in [0.0, 0.5, 1.0] {
        in_version("gate_threshold", json!(good), &[]);
    }
    for (floor, expected) in [
        (json!(-1.0), vec![]),
        (json!(1.0), vec![]),
        (json!(1.01), vec!["R5"]),
        (json!("x"), vec!["R5"]),
    ] {
        in_version("ood_floor", floor, &expected);
    }
    for bad in [json!(0), json!(1.5), json!(-1), json!("1")] {
        in_entry("workload_quota", bad, &["R6"]);
    }
    for good in [0.01, 0.5, 1.0] {
        in_entry("workload_quota", json!(good), &[]);
    }
}

#[test]
fn r7_the_schema_is_this_one() {
    let mut document = registry(json!(null), &[]);
    document["schema"] = json!("roleos-specialist-registry/v0");
    let registry = parse(&document);
    assert_eq!(
        registry.problems()[0].to_string(),
        "R7: schema mismatch — got \"roleos-specialist-registry/v0\", expected \"roleos-specialist-registry/v1\""
    );
    assert_eq!(registry.problems()[0].refused, Refused::Registry);
}

#[test]
fn the_rest_is_described() {
    in_entry("role", json!(""), &["role must be a non-empty string"]);
    in_entry("backend_url", json!(""), &["backend_url must be"]);
    in_entry("fallback", json!("gpt"), &["fallback must be"]);
    in_entry("versions", json!({}), &["versions must be an array"]);
    in_entry("contract", json!("grpc"), &["contract must be"]);
    in_entry("contract", json!("openai"), &[]);
    in_entry("timeout_ms", json!(0), &["timeout_ms must be"]);
    in_entry("timeout_ms", json!(1.5), &["timeout_ms must be"]);
    in_entry("auth_env", json!(""), &["auth_env must be"]);
    check(VERSION, json!("x"), &["version must be an object", "R4"]);
    check(ENTRY, json!([]), &["entry must be an object"]);
    for key in [
        "id",
        "adapter_id",
        "exam_hash",
        "created_at",
        "certified_level",
    ] {
        let expected = format!("{key} must be a non-empty string");
        let mut all = vec![expected.as_str()];
        if key == "id" {
            all.push("R4");
        }
        in_version(key, json!(""), &all);
    }
    for junk in ["l0", "none", "uncertified", "L10", "5"] {
        in_version(
            "certified_level",
            json!(junk),
            &["certified_level must be L0 to L9"],
        );
    }
    in_version(
        "field_audit_window",
        json!(0),
        &["field_audit_window must be"],
    );
    in_version("field_audit_window", json!(300.0), &[]);
    for window in [json!(0.5), json!(1e308), json!(1.5)] {
        in_version(
            "field_audit_window",
            window,
            &["field_audit_window must be"],
        );
    }
    in_version("exam_hash", json!("zzz"), &["exam_hash must be"]);
    in_version("created_at", json!("yesterday"), &["created_at must be"]);
    in_version("created_at", json!("2026-09-02"), &[]);
    for url in [" ", "ftp://x", "http://"] {
        in_entry("backend_url", json!(url), &["backend_url must be"]);
        in_version("backend_url", json!(url), &["backend_url must be"]);
    }
    in_version("exam_centroid", json!("x"), &["exam_centroid must be"]);
    in_version(
        "exam_centroid",
        json!([0.1, "x"]),
        &["exam_centroid must be"],
    );
    in_version(
        "lineage",
        json!({"parents": ["a"], "method": "m"}),
        &["lineage.parents"],
    );
    in_version(
        "lineage",
        json!({"parents": ["a", "b"], "method": ""}),
        &["lineage.method"],
    );
    in_version(
        "recipe_card",
        json!({"id": "x", "sha256": "ABC"}),
        &["recipe_card.sha256"],
    );
    in_version(
        "recipe_card",
        json!({"id": "x", "sha256": "0".repeat(64), "path": ""}),
        &["recipe_card.path"],
    );
}

#[test]
fn a_role_stands_once() {
    let mut document = registry(json!(null), &[]);
    let twin = document["specialists"][0].clone();
    document["specialists"].as_array_mut().unwrap().push(twin);
    let registry = parse(&document);
    assert_eq!(
        registry.problems()[0].to_string(),
        "specialists[1] (role=\"Checker\"): duplicate role \"Checker\""
    );
    assert!(registry.entries().is_empty());
}

#[test]
fn a_key_that_stands_twice_refuses_the_registry() {
    let text = registry(json!("v1"), &[version("v1", "L2")]).to_string();
    assert!(Registry::parse(text.as_bytes()).is_valid());
    let twice = text.replacen(
        "\"base_model\":",
        "\"base_model\":\"claude-3\",\"base_model\":",
        1,
    );
    let registry = Registry::parse(twice.as_bytes());
    assert!(registry.entries().is_empty());
    let said = registry.problems()[0].to_string();
    assert!(said.contains("`base_model` is there twice"), "{said}");
}

#[test]
fn every_problem_is_found_and_has_its_place() {
    let document = json!({
        "schema": "other",
        "specialists": [
            { "role": "A", "backend_url": "", "fallback": "x", "workload_quota": 2, "active_version": "ghost",
              "versions": [ { "id": "v", "adapter_id": "a", "base_model": "claude-3", "gate_threshold": 7,
                              "certified_level": "l0", "exam_hash": "h", "field_audit_window": -1, "created_at": "t" } ] },
            7,
        ],
    });
    let registry = parse(&document);
    let all: Vec<String> = registry
        .problems()
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        all,
        [
            "R7: schema mismatch — got \"other\", expected \"roleos-specialist-registry/v1\"",
            "specialists[0] (role=\"A\"): backend_url must be a non-empty string, got \"\"",
            "specialists[0] (role=\"A\"): fallback must be \"claude\", got \"x\"",
            "specialists[0] (role=\"A\"): R6 — workload_quota must be in (0, 1], got 2",
            "specialists[0] (role=\"A\").versions[0] (id=\"v\"): R1 — base_model \"claude-3\" is Claude-family; an adapter that Claude checks must not be built on Claude",
            "specialists[0] (role=\"A\").versions[0] (id=\"v\"): R5 — gate_threshold must be in [0, 1], got 7",
            "specialists[0] (role=\"A\").versions[0] (id=\"v\"): certified_level must be L0 to L9, got \"l0\"",
            "specialists[0] (role=\"A\").versions[0] (id=\"v\"): exam_hash must be a SHA-256 in 64 lower-case hexadecimal digits, got \"h\"",
            "specialists[0] (role=\"A\").versions[0] (id=\"v\"): field_audit_window must be a whole number above 0, got -1",
            "specialists[0] (role=\"A\").versions[0] (id=\"v\"): created_at must be an ISO 8601 time, got \"t\"",
            "specialists[0] (role=\"A\"): R4 — active_version \"ghost\" not found in versions[]",
            "specialists[1]: entry must be an object",
        ]
    );
}

#[test]
fn an_entry_falls_alone_or_the_whole_registry_does() {
    let good = registry(json!("v1"), &[version("v1", "L2")]);
    for (pointer, value, falls_alone) in [
        (
            "/specialists/1/versions/0/base_model",
            json!("claude-3"),
            true,
        ),
        (
            "/specialists/1/versions/0/certified_level",
            json!("L0"),
            true,
        ),
        ("/specialists/1/versions/0/gate_threshold", json!(9), true),
        ("/specialists/1/workload_quota", json!(0), true),
        (
            "/specialists/1/versions/0/certified_level",
            json!("junk"),
            true,
        ),
        ("/specialists/1/active_version", json!("ghost"), false),
        ("/schema", json!("v9"), false),
    ] {
        let mut document = good.clone();
        let mut other = document["specialists"][0].clone();
        other["role"] = json!("Other");
        document["specialists"].as_array_mut().unwrap().push(other);
        *document.pointer_mut(pointer).unwrap() = value;
        let registry = parse(&document);
        assert!(!registry.is_valid());
        assert_eq!(
            registry.entry("Checker").is_some(),
            falls_alone,
            "{pointer}"
        );
        assert!(registry.entry("Other").is_none(), "{pointer}");
        assert!(!registry.problems_of("Other").is_empty(), "{pointer}");
        assert_eq!(
            registry.problems_of("Checker").is_empty(),
            falls_alone,
            "{pointer}"
        );
    }
}

#[test]
fn what_is_no_registry_is_one_error() {
    for text in ["{", "", "nul", "\u{feff}{}"] {
        let registry = Registry::parse(text.as_bytes());
        assert_eq!(registry.problems().len(), 1);
        assert!(
            registry.problems()[0]
                .to_string()
                .starts_with("registry parse error: ")
        );
    }
    assert_eq!(
        Registry::parse(b"[]").problems()[0].to_string(),
        "registry root must be a JSON object"
    );
    let early = parse(&json!({ "schema": "roleos-specialist-registry/v1", "specialists": {} }));
    assert_eq!(
        early.problems()[0].to_string(),
        "specialists must be an array"
    );
    assert!(
        parse(&json!({ "schema": "roleos-specialist-registry/v1", "specialists": [] })).is_valid()
    );
    let deep = "[".repeat(100_000);
    assert!(!Registry::parse(deep.as_bytes()).is_valid());
}

#[test]
fn a_rewrite_changes_one_value_and_keeps_every_key_in_its_place() {
    let mut document = registry(json!("v1"), &[version("v1", "L2"), version("v2", "L1")]);
    document["specialists"][0]["versions"][0]["exam_artifact"] =
        json!({ "z": 1, "a": [1.5, null] });
    document["specialists"][0]["zz_mine"] = json!("kept");
    document["note"] = json!("kept too");
    let before = parse(&document);
    let after = before.with_active("Checker", Some("v2"));
    assert!(after.is_valid());
    assert_eq!(
        after.entry("Checker").unwrap().active_version.as_deref(),
        Some("v2")
    );
    let expected = before
        .print()
        .replace("\"active_version\": \"v1\"", "\"active_version\": \"v2\"");
    assert_eq!(after.print(), expected);
    assert_eq!(
        Registry::parse(after.print().as_bytes()).print(),
        after.print()
    );
    assert!(before.print().starts_with("{\n  \"schema\"") && before.print().ends_with("}\n"));
}

#[test]
fn a_role_and_a_version_are_added_behind_the_others() {
    let registry = Registry::default().with_role("New", "http://h:1", 0.5);
    let mut version = json!({ "id": "v1", "adapter_id": "a", "base_model": "Qwen/Qwen3-8B" });
    complete(version.as_object_mut().unwrap(), "2026-10-01T00:00:00Z");
    let registry = registry.with_version("New", version);
    assert!(registry.is_valid(), "{:?}", registry.problems());
    let entry = registry.entry("New").unwrap();
    assert_eq!(
        (entry.active_version.as_deref(), entry.contract),
        (None, Contract::Verify)
    );
    let version = entry.version("v1").unwrap();
    assert_eq!(
        (version.gate_threshold, version.field_audit_window),
        (0.75, 200)
    );
    assert_eq!(
        (
            version.certified_level.to_string().as_str(),
            version.exam_hash.as_str()
        ),
        ("L0", "0".repeat(64).as_str())
    );
    let twice = registry.with_version("New", super::version("v1", "L1"));
    assert_eq!(twice.problems()[0].rule.unwrap().name(), "R3");
}

#[test]
fn the_active_version_is_an_object_none_or_an_error() {
    let mut entry = super::entry();
    assert_eq!(entry.active().unwrap().unwrap().id, "v1");
    entry.active_version = None;
    assert_eq!(entry.active(), Ok(None));
    entry.active_version = Some("ghost".to_owned());
    assert_eq!(entry.active(), Err("ghost"));
}

#[test]
fn who_serves_beside_the_active_version_is_checked() {
    in_entry("beside", json!(["v0"]), &[]);
    in_entry("beside", json!(["ghost"]), &["beside \"ghost\" not found"]);
    in_entry("beside", json!("v0"), &["beside must be a list"]);
    in_entry("canary", json!({ "version": "v0", "share": 0.1 }), &[]);
    for bad in [
        json!("v0"),
        json!({ "version": "ghost", "share": 0.1 }),
        json!({ "version": "v0", "share": 0.0 }),
        json!({ "version": "v0", "share": 1.5 }),
        json!({ "version": "v0" }),
    ] {
        in_entry("canary", bad, &["canary must name a version"]);
    }
    in_entry("backend_urls", json!(["http://127.0.0.1:2"]), &[]);
    in_entry(
        "backend_urls",
        json!([""]),
        &["backend_urls must be a list"],
    );
    in_version("evidence_level", json!("high"), &["evidence_level must be"]);
    in_version("certified_by", json!(""), &["certified_by must be"]);
}

#[test]
fn a_level_that_no_evidence_here_carries_is_claimed() {
    for (level, evidence, claimed) in [
        ("L2", None, true),
        ("L2", Some("L1"), true),
        ("L2", Some("L2"), false),
        ("L1", Some("L2"), false),
        ("L0", None, false),
    ] {
        let mut one = version("v1", level);
        if let Some(evidence) = evidence {
            one["evidence_level"] = json!(evidence);
        }
        let read = parse(&registry(json!(null), &[one]));
        let found = &read.entry("Checker").unwrap().versions[0];
        assert_eq!(found.claimed, claimed, "{level} {evidence:?}");
        let strict = read.without_claims();
        let strict = &strict.entry("Checker").unwrap().versions[0];
        assert_eq!(
            strict.certified_level.is_certified(),
            level != "L0" && !claimed
        );
    }
}

#[test]
fn addresses_are_tried_in_order() {
    let mut own = version("v1", "L2");
    own["backend_url"] = json!("http://a");
    own["backend_urls"] = json!(["http://a", "http://b"]);
    let mut document = registry(json!("v1"), &[own, version("v2", "L1")]);
    document["specialists"][0]["backend_url"] = json!("http://c");
    document["specialists"][0]["backend_urls"] = json!(["http://d"]);
    let read = parse(&document);
    let entry = read.entry("Checker").unwrap();
    assert_eq!(
        entry.addresses(&entry.versions[0]),
        ["http://a", "http://b"]
    );
    assert_eq!(
        entry.addresses(&entry.versions[1]),
        ["http://c", "http://d"]
    );
}
