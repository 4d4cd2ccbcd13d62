//! The conformance floor over `conformance/cases.json`: contract, call, notes, and the problems of the contract.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on says so by panicking"
)]

use contracts::{Contracts, Files, Level, NoFiles, Note, OwnSchemas, Weight, World, advice};
use serde_json::{Map, Value, json};

const WORLD: World<'static> = World {
    directory: "/repo",
    home: "/home/dev",
    files: &NoFiles,
    schemas: &OwnSchemas,
};

const HERE: World<'static> = World {
    files: &Machine,
    ..WORLD
};

/// A small machine: `/repo/src/main.rs`, an unreadable directory and one with too many names.
#[derive(Debug)]
struct Machine;

impl Files for Machine {
    fn has_file(&self, path: &str) -> bool {
        path == "/repo/src/main.rs"
    }

    fn list(&self, directory: &str) -> Vec<String> {
        let names: &[&str] = match directory {
            "/" => &["etc", "home", "repo"],
            "/repo" => &["closed", "crowd", "src"],
            "/repo/src" => &["main.rs"],
            "/repo/crowd" => return (0..4096).map(|number| format!("n{number}")).collect(),
            _ => &[],
        };
        names.iter().map(|name| (*name).to_owned()).collect()
    }
}

fn texts(notes: &[Note]) -> Vec<&str> {
    notes.iter().map(|note| note.text.as_str()).collect()
}

fn list(case: &Map<String, Value>, key: &str) -> Vec<String> {
    let items = case.get(key).and_then(Value::as_array);
    let items = items.into_iter().flatten();
    items
        .map(|item| item.as_str().unwrap().to_owned())
        .collect()
}

/// Checks one case of the file: `input`, or `inputs`, which must all give the same notes.
fn check(case: &Value) {
    let mut entry = case.as_object().unwrap().clone();
    let about = entry.remove("about").expect("a case says what it is about");
    let expected = list(&entry, "notes");
    let wanted = |weight| match weight {
        Weight::Error => list(&entry, "problems"),
        Weight::Warning => list(&entry, "warnings"),
    };
    let (errors, warnings) = (wanted(Weight::Error), wanted(Weight::Warning));
    let inputs: Vec<Value> = match (entry.remove("input"), entry.remove("inputs")) {
        (Some(input), None) => vec![input],
        (None, Some(Value::Array(inputs))) => inputs,
        _ => panic!("{about}: `input` or `inputs`"),
    };
    for key in ["notes", "problems", "warnings"] {
        entry.remove(key);
    }
    let contracts = Contracts::parse(&json!({ "t": entry }).to_string());
    for input in inputs {
        let notes = contracts.check("t", &input, HERE);
        assert_eq!(texts(&notes), expected, "{about}: {input}");
        assert_eq!(contracts.check("u", &input, HERE), []);
    }
    for (weight, expected) in [(Weight::Error, errors), (Weight::Warning, warnings)] {
        let problems = contracts.problems().into_iter();
        let problems = problems.filter(|problem| problem.weight == weight);
        let mut paths: Vec<String> = problems.map(|problem| problem.path).collect();
        paths.sort();
        assert_eq!(paths, expected, "{about}: {weight:?}");
    }
}

#[test]
fn all_cases() {
    let cases: Vec<Value> = serde_json::from_str(include_str!("conformance/cases.json")).unwrap();
    assert!(cases.len() > 90, "{}", cases.len());
    for case in &cases {
        check(case);
    }
}

const BOOKING: &str = r#"{
  "mcp__booking__assign_seat": {
    "contract": "seat must be free; payer and passenger differ; card payments need card_token",
    "params": [
      { "name": "seat", "type": "string", "required": true },
      { "name": "cabin", "type": "string", "required": false, "enum": ["eco", "biz"] },
      { "name": "shares", "type": "array", "required": false }
    ],
    "constraints": [
      { "kind": "member", "field": "seat", "in": { "state": "free" } },
      { "kind": "distinct", "fields": ["payer", "passenger"] },
      { "kind": "requires", "when": { "field": "pay_by", "equals": "card" }, "require": ["card_token"] },
      { "kind": "present", "fields": ["email", "phone"], "count": 1 },
      { "kind": "sum", "op": "eq", "of": "shares", "vs": { "value": 100 } },
      { "kind": "cmp", "op": "le", "left": "bags", "right": { "len": "passengers" } },
      { "kind": "char_at", "string": "pnr", "index": "pos", "equals": "letter", "offset": -1 }
    ],
    "state_struct": { "free": ["12A", "12B"] }
  }
}"#;

#[test]
fn a_whole_contract_speaks_with_one_voice() {
    let contracts = Contracts::parse(BOOKING);
    assert_eq!(contracts.problems(), []);
    let tool = "mcp__booking__assign_seat";
    let good = json!({
        "seat": "12A", "cabin": "eco", "shares": [60, 40], "payer": "ana", "passenger": "bo",
        "pay_by": "card", "card_token": "x", "email": "a@example.org", "bags": 1, "passengers": ["bo"],
        "pnr": "QX7", "pos": 2, "letter": "X"
    });
    assert_eq!(contracts.check(tool, &good, WORLD), []);
    assert_eq!(advice(tool, &[]), None);
    let bad = json!({
        "seat": "1C", "cabin": "first", "shares": [50, 40], "payer": "ana", "passenger": "ana", "pay_by": "card",
        "bags": 2, "passengers": ["ana"], "pnr": "QX7", "pos": 1, "letter": "X"
    });
    let notes = contracts.check(tool, &bad, WORLD);
    let levels: Vec<_> = notes.iter().map(|note| note.level).collect();
    assert_eq!(levels.first(), Some(&Level::Range));
    assert!(levels.iter().skip(1).all(|level| *level == Level::Contract));
    assert_eq!(
        advice(tool, &notes).unwrap(),
        "Tool-Call Conformance (advisory): \"mcp__booking__assign_seat\" appears NONCONFORMANT — \
         'cabin' not in enum [\"eco\",\"biz\"]; 'seat'=\"1C\" not in [\"12A\",\"12B\"]; \
         fields [payer, passenger] must be distinct (duplicate ana); \
         when pay_by=\"card\" requires [card_token] present; \
         expected exactly 1 of [email, phone] present, got 0; sum(shares)=90 not eq 100; \
         bags(2) not le len(passengers)(1); pnr[0..]='Q' != expected 'X'."
    );
}

#[test]
fn the_advice_is_the_published_one() {
    let contracts = Contracts::parse(r#"{"Bash":{"params":[{"name":"timeout","max":600000}]}}"#);
    let notes = contracts.check("Bash", &json!({"timeout": 600_001}), WORLD);
    assert_eq!(
        advice("Bash", &notes).unwrap(),
        "Tool-Call Conformance (advisory): \"Bash\" appears NONCONFORMANT — 'timeout' exceeds max 600000."
    );
}

#[test]
fn names_of_tools_are_exact() {
    let contracts = Contracts::parse(r#"{"Bash":{"params":[{"name":"a","required":true}]}}"#);
    for (tool, count) in [("Bash", 1), ("bash", 0), ("Bash ", 0), ("", 0)] {
        assert_eq!(contracts.knows(tool), count == 1);
        let notes = contracts.check(tool, &json!({}), WORLD);
        assert_eq!(notes.len(), count, "{tool}");
    }
}

#[test]
fn a_broken_catalogue_is_empty_and_says_so() {
    for text in [
        "",
        "{",
        "[]",
        "null",
        "5",
        "{} x",
        "{\"a\":{}",
        &"[".repeat(100_000),
    ] {
        let contracts = Contracts::parse(text);
        assert_eq!(contracts.tools().count(), 0);
        let problems = contracts.problems();
        assert_eq!(problems.len(), 1);
        assert_eq!(problems.first().unwrap().path, "$");
    }
    let large = format!("{{}}{}", " ".repeat(4 << 20));
    assert_eq!(Contracts::parse(&large).problems().len(), 1);
}

#[test]
fn a_tool_that_stands_there_twice_counts_once_and_is_named() {
    let text = r#"{"$schema":"x","a b":5,"t":{"params":[{"name":"x","required":true}]},"t":{}}"#;
    let contracts = Contracts::parse(text);
    assert_eq!(contracts.tools().collect::<Vec<_>>(), ["a b", "t"]);
    assert_eq!(contracts.check("t", &json!({}), WORLD), []);
    let problems = contracts.problems();
    let paths: Vec<_> = problems
        .iter()
        .map(|problem| problem.path.as_str())
        .collect();
    assert_eq!(paths, ["t", "$[\"a b\"]"]);
}

#[test]
fn one_tool_can_be_read_alone() {
    let text = format!("\u{FEFF}{BOOKING}");
    let tool = "mcp__booking__assign_seat";
    let alone = Contracts::parse_for(&text, tool);
    assert_eq!(alone.tools().collect::<Vec<_>>(), [tool]);
    assert_eq!(
        alone.check(tool, &json!({}), WORLD),
        Contracts::parse(&text).check(tool, &json!({}), WORLD)
    );
    assert_eq!(Contracts::parse_for(&text, "Bash").tools().count(), 0);
}

#[test]
fn calls_beyond_all_bounds_are_not_checked() {
    let contracts = Contracts::parse(r#"{"t":{"params":[{"name":"x","required":true}]}}"#);
    let count = |input: &Value| contracts.check("t", input, WORLD).len();
    let deep = |levels| (0..levels).fold(json!(1), |inner, _| json!([inner]));
    assert_eq!(count(&json!({ "a": deep(100) })), 1);
    assert_eq!(count(&json!({ "a": deep(1000) })), 0);
    assert_eq!(count(&json!({ "a": vec![0; 1000] })), 1);
    assert_eq!(count(&json!({ "a": vec![0; 200_000] })), 0);
}

#[test]
fn notes_are_few_and_short() {
    let params: Vec<_> = (0..50)
        .map(|number| json!({ "name": format!("p{number}"), "required": true }))
        .collect();
    let rules = json!([{ "kind": "member", "field": "a", "in": [1] }]);
    let contracts = Contracts::parse(
        &json!({ "many": { "params": params }, "long": { "constraints": rules } }).to_string(),
    );
    assert_eq!(contracts.check("many", &json!({}), WORLD).len(), 20);
    let notes = contracts.check("long", &json!({ "a": "é".repeat(100_000) }), WORLD);
    let text = &notes.first().unwrap().text;
    assert_eq!(text.chars().count(), 601);
    assert!(text.ends_with('…'), "{text}");
}
