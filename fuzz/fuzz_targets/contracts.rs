//! Any text as a catalogue of contracts and any JSON as a call: no panic, the same notes every time, and a part that is
//! malformed changes nothing about the others.

#![no_main]

use contracts::{Contracts, Level, NoFiles, Note, OwnSchemas, Weight, World, advice};
use libfuzzer_sys::fuzz_target;
use serde_json::{Map, Value, json};

const WORLD: World<'static> = World {
    directory: "/repo",
    home: "/home/dev",
    files: &NoFiles,
    schemas: &OwnSchemas,
};

/// As many notes as are told; beyond them parts do compete.
const MAX_NOTES: usize = 20;

fn check(contracts: &Contracts, tool: &str, input: &Value) -> Vec<Note> {
    contracts.check(tool, input, WORLD)
}

/// The notes by an entry that stands alone.
fn alone(entry: &Map<String, Value>, input: &Value) -> Vec<Note> {
    let text = json!({ "t": entry }).to_string();
    check(&Contracts::parse_for(&text, "t"), "t", input)
}

fn entry(text: &str, tool: &str) -> Option<Map<String, Value>> {
    let whole: Value = serde_json::from_str(text.trim_start_matches('\u{FEFF}')).ok()?;
    let entry = whole.get(tool)?;
    // A long number may change its last digit when it is written and read again.
    let again: Value = serde_json::from_str(&entry.to_string()).ok()?;
    (again == *entry).then(|| entry.as_object().cloned())?
}

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let (text, input) = text.split_once('\0').unwrap_or((&text, "{}"));
    let contracts = Contracts::parse(text);
    let input: Value = serde_json::from_str(input).unwrap_or(Value::Null);
    let again = Contracts::parse(text);
    for problem in contracts.problems() {
        assert!(!problem.path.is_empty() && !problem.what.is_empty());
        assert!(problem.weight <= Weight::Error);
    }
    for tool in contracts.tools().take(4) {
        let notes = check(&contracts, tool, &input);
        assert_eq!(notes, check(&again, tool, &input), "not the same twice");
        assert_eq!(
            notes,
            check(&Contracts::parse_for(text, tool), tool, &input)
        );
        assert_eq!(advice(tool, &notes).is_some(), !notes.is_empty());
        let Some(mut entry) = entry(text, tool) else {
            continue;
        };
        if notes.len() < MAX_NOTES {
            among_broken_parts(&mut entry, &input, &notes);
        }
    }
});

/// Broken parts in front change nothing, and what the relations say together is what each says alone.
fn among_broken_parts(entry: &mut Map<String, Value>, input: &Value, notes: &[Note]) {
    for (key, broken) in [
        ("params", json!([null, {"type": 5}, 7])),
        (
            "constraints",
            json!([null, {"kind": "cmp"}, {"kind": "present", "fields": "a"}, {"kind": "x"}, []]),
        ),
    ] {
        if let Some(Value::Array(parts)) = entry.get_mut(key)
            && parts.len() < 900
        {
            let Value::Array(broken) = broken else { return };
            parts.splice(0..0, broken);
        }
    }
    assert_eq!(alone(entry, input), notes, "a broken part speaks");
    let Some(Value::Array(constraints)) = entry.remove("constraints") else {
        return;
    };
    entry.remove("schema");
    entry.remove("params");
    let mut each = Vec::new();
    if constraints.len() > 50 {
        return;
    }
    for constraint in constraints {
        entry.insert("constraints".to_owned(), json!([constraint]));
        each.extend(alone(entry, input));
    }
    let relations = notes.iter().filter(|note| note.level == Level::Contract);
    let relations: Vec<Note> = relations.cloned().collect();
    assert_eq!(each, relations, "together they say something else");
}
