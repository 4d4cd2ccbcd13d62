//! Merges into texts that people wrote: examples, and properties over generated ones.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use base::insertion::{apply, undo};

fn group(command: &str) -> Value {
    json!({ "matcher": "*", "hooks": [{ "type": "command", "command": command }] })
}

fn wanted() -> Wanted {
    let entry = |event| Entry {
        event,
        value: group("ours"),
    };
    Wanted {
        beside: Vec::new(),
        entries: vec![entry("PreToolUse"), entry("Stop")],
        inside: Vec::new(),
    }
}

fn ours(value: &Value) -> bool {
    value["command"] == "ours"
}

fn merged(text: &str) -> String {
    apply(
        text,
        &insertions(text, Dialect::Comments, &wanted()).unwrap(),
    )
}

/// Merges, and asserts this result; then removes, and asserts the old text, exactly and by meaning.
#[track_caller]
fn check(text: &str, expected: &str) {
    let insertions = insertions(text, Dialect::Comments, &wanted()).unwrap();
    let after = apply(text, &insertions);
    assert_eq!(after, expected);
    assert_eq!(undo(&after, &insertions).unwrap(), text);
}

const OURS: &str = r#"{
        "matcher": "*",
        "hooks": [
          {
            "type": "command",
            "command": "ours"
          }
        ]
      }"#;

#[test]
fn a_new_file_is_plain_json() {
    let text = merged("");
    let expected = json!({ "hooks": { "PreToolUse": [group("ours")], "Stop": [group("ours")] } });
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), expected);
    assert!(
        text.starts_with("{\n  \"hooks\": {\n    \"PreToolUse\": [\n      {"),
        "{text}"
    );
    assert!(text.ends_with("}\n"), "{text}");
}

#[test]
fn comments_stay_beside_what_they_speak_of() {
    check(
        "{ // mine\n  \"model\": \"x\" // the good one\n}\n",
        &format!(
            "{{ // mine\n  \"model\": \"x\", // the good one\n  \"hooks\": {{\n    \"PreToolUse\": [\n      {OURS}\n    ],\n    \"Stop\": [\n      {OURS}\n    ]\n  }}\n}}\n"
        ),
    );
}

#[test]
fn entries_of_others_come_first_and_a_trailing_comma_stays_one() {
    check(
        "{\n  \"hooks\": {\n    \"PreToolUse\": [\n      1, /* two */ 2, // last\n    ],\n    \"Stop\": [],\n  },\n}",
        &format!(
            "{{\n  \"hooks\": {{\n    \"PreToolUse\": [\n      1, /* two */ 2, // last\n      {OURS},\n    ],\n    \"Stop\": [\n      {OURS}\n    ],\n  }},\n}}"
        ),
    );
}

#[test]
fn one_line_stays_one_line_and_tabs_stay_tabs() {
    let one = "{\"a\":[1],\"hooks\":{\"Stop\":[]}}\n";
    assert_eq!(
        merged(one),
        "{\"a\":[1],\"hooks\":{\"Stop\":[{\"matcher\":\"*\",\"hooks\":[{\"type\":\"command\",\"command\":\"ours\"}]}],\
         \"PreToolUse\":[{\"matcher\":\"*\",\"hooks\":[{\"type\":\"command\",\"command\":\"ours\"}]}]}}\n"
    );
    let tabs = merged("\u{feff}{\r\n\t\"a\": 1\r\n}\r\n");
    assert!(
        tabs.starts_with("\u{feff}{\r\n\t\"a\": 1,\r\n\t\"hooks\": {\r\n\t\t\"PreToolUse\": [\r\n"),
        "{tabs:?}"
    );
    assert_eq!(tabs.matches('\n').count(), tabs.matches("\r\n").count());
}

#[test]
fn keys_beside_are_added_only_when_missing() {
    let wanted = Wanted {
        beside: vec![("version", json!(1))],
        ..wanted()
    };
    let with = |text: &str| apply(text, &insertions(text, Dialect::Strict, &wanted).unwrap());
    assert!(with("").starts_with("{\n  \"version\": 1,\n  \"hooks\""));
    assert!(with("{}").starts_with("{\n  \"version\": 1,\n  \"hooks\""));
    assert_eq!(with("{ \"version\": 2 }").matches("version").count(), 1);
}

#[test]
fn variables_are_added_beside_those_of_others_and_come_out_again() {
    let wanted = Wanted {
        inside: vec![("env", "OURS", json!("x")), ("env", "ALSO", json!("y"))],
        ..wanted()
    };
    let with = |text: &str| apply(text, &insertions(text, Dialect::Strict, &wanted).unwrap());
    let ours = |name: &str, value: &Value| {
        (name == "OURS" && value == "x") || (name == "ALSO" && value == "y")
    };
    let without = |text: &str| {
        let text = super::without(text, Dialect::Strict, &self::ours).unwrap();
        super::without_variables(&text, Dialect::Strict, "env", &ours).unwrap()
    };
    let value = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    for before in [
        "{}",
        "{\n  \"env\": {}\n}",
        "{\"env\":{\"A\":\"1\"}}",
        "{\n  \"env\": {\n    \"A\": \"1\"\n  },\n  \"model\": \"m\"\n}\n",
    ] {
        let after = with(before);
        assert_eq!(value(&after)["env"]["OURS"], "x", "{after}");
        assert_eq!(value(&after)["env"]["ALSO"], "y", "{after}");
        let back = value(&without(&after));
        let mut expected = value(before);
        if expected["env"]
            .as_object()
            .is_some_and(|env| env.is_empty())
        {
            expected.as_object_mut().unwrap().remove("env");
        }
        assert_eq!(back.get("env"), expected.get("env"), "{after}");
    }
    // A value of the user stays, and is not removed.
    let theirs = "{\"env\":{\"OURS\":\"theirs\"}}";
    let after = with(theirs);
    assert_eq!(value(&after)["env"]["OURS"], "theirs");
    assert_eq!(value(&without(&after))["env"]["OURS"], "theirs");
}

#[test]
fn what_is_not_understood_is_refused_with_its_place() {
    let refused = |text: &str, dialect| {
        insertions(text, dialect, &wanted())
            .unwrap_err()
            .to_string()
    };
    let comments = Dialect::Comments;
    assert_eq!(
        refused("[]", comments),
        "line 1, column 1: expected an object: `{`"
    );
    assert_eq!(
        refused("{\n \"hooks\": []}", comments),
        "line 2, column 11: expected `hooks` to be an object: `{`"
    );
    assert_eq!(
        refused("{\"hooks\": {\n\"Stop\": {}}}", comments),
        "line 2, column 9: expected the hooks of `Stop` to be a list: `[`"
    );
    assert_eq!(
        refused("{\"hooks\": {},\n \"hooks\": {}}", comments),
        "line 2, column 2: the key `hooks` stands twice"
    );
    assert!(refused("{\n  broken", comments).starts_with("line 2, column "));
    assert!(refused("{ // no\n}", Dialect::Strict).starts_with("line 1, column 3: "));
    assert!(refused("{\"a\": 1,}", Dialect::Strict).starts_with("line 1, column "));
    assert!(refused("not json at all", comments).starts_with("line 1, column 1: "));
}

#[test]
fn taking_out_leaves_the_entries_of_others() {
    let text = "{\n  // mine\n  \"hooks\": {\n    \"Stop\": [\n      { \"hooks\": [{ \"command\": \"theirs\" }, { \"command\": \"ours\" }] }, // why\n      { \"hooks\": [{ \"command\": \"ours\" }] }\n    ]\n  }\n}\n";
    assert_eq!(
        without(text, Dialect::Comments, &ours).unwrap(),
        "{\n  // mine\n  \"hooks\": {\n    \"Stop\": [\n      { \"hooks\": [{ \"command\": \"theirs\" }] } // why\n    ]\n  }\n}\n"
    );
}

#[test]
fn a_comment_never_swallows_what_follows_a_removed_entry() {
    let text = "{\"a\": 1, // one\n\"hooks\": {\"Stop\": [{\"command\": \"ours\"}]}}";
    let without = without(text, Dialect::Comments, &ours).unwrap();
    assert_eq!(without, "{\"a\": 1 // one\n}");
}

/// Generates blanks and comments as people place them.
fn trivia() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => Just(String::new()),
        3 => Just(" ".to_owned()),
        3 => Just("\n  ".to_owned()),
        1 => Just("\n\t".to_owned()),
        1 => Just("/* c, } ] */".to_owned()),
        1 => Just(" // c, } ]\n".to_owned()),
        1 => Just(" // c\r\n\n".to_owned()),
    ]
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "it is a generator's last use of them"
)]
fn listed(open: char, items: Vec<(String, String, String)>, trailing: bool, close: char) -> String {
    let mut text = String::from(open);
    let last = items.len().saturating_sub(1);
    for (index, (before, item, after)) in items.iter().enumerate() {
        text.push_str(before);
        text.push_str(item);
        text.push_str(after);
        if index < last || trailing {
            text.push(',');
        }
    }
    text.chars().chain(std::iter::once(close)).collect()
}

fn array(item: BoxedStrategy<String>) -> BoxedStrategy<String> {
    let items = proptest::collection::vec((trivia(), item, trivia()), 0..3);
    (items, any::<bool>(), trivia())
        .prop_map(|(items, trailing, inner)| {
            let trailing = trailing && !items.is_empty();
            let text = listed('[', items, trailing, ']');
            text.replace("[]", &format!("[{inner}]"))
        })
        .boxed()
}

fn object_of(keys: &'static [&'static str], item: BoxedStrategy<String>) -> BoxedStrategy<String> {
    let keys = proptest::sample::subsequence(keys, 0..=keys.len());
    (
        keys,
        proptest::collection::vec((trivia(), item, trivia(), trivia()), 6),
        any::<bool>(),
        trivia(),
    )
        .prop_map(|(keys, items, trailing, inner)| {
            let items: Vec<_> = keys
                .iter()
                .zip(items)
                .map(|(key, (before, value, colon, after))| {
                    (before, format!("\"{key}\":{colon}{value}"), after)
                })
                .collect();
            let trailing = trailing && !items.is_empty();
            let text = listed('{', items, trailing, '}');
            if text == "{}" {
                format!("{{{inner}}}")
            } else {
                text
            }
        })
        .boxed()
}

fn value() -> BoxedStrategy<String> {
    let leaf = prop_oneof![
        Just("1".to_owned()),
        Just("null".to_owned()),
        Just("\"a // b /* \\\" ü\"".to_owned()),
        Just("-2.5e3".to_owned()),
    ];
    leaf.boxed()
        .prop_recursive(2, 8, 3, |inner| {
            prop_oneof![
                array(inner.clone().boxed()),
                object_of(&["x", "y"], inner.boxed())
            ]
        })
        .boxed()
}

/// Generates a settings file: a few keys, perhaps other hooks, any layout.
fn document() -> impl Strategy<Value = String> {
    let handler = object_of(&["command", "timeout"], value());
    let theirs = prop_oneof![
        value(),
        handler.prop_map(|handler| format!("{{\"hooks\": [{handler}]}}")),
    ];
    let events = object_of(
        &["Notification", "PreToolUse", "Stop"],
        array(theirs.boxed()),
    );
    let keyed = prop_oneof![
        value().prop_map(|value| ("model", value)),
        events.prop_map(|events| ("hooks", events)),
    ];
    let pair = (trivia(), keyed, trivia(), trivia(), value());
    (trivia(), pair, any::<(bool, bool, bool, bool)>(), trivia()).prop_map(
        |(
            start,
            (before, (key, value), colon, after, other),
            (mark, crlf, more, trailing),
            end,
        )| {
            let mut items = vec![(before.clone(), format!("\"{key}\":{colon}{value}"), after)];
            if more {
                items.push((before, format!("\"other\": {other}"), end.clone()));
            }
            let body = listed('{', items, trailing, '}');
            let text = format!("{start}{body}{end}");
            let text = if crlf {
                text.replace('\n', "\r\n")
            } else {
                text
            };
            if mark {
                format!("\u{feff}{text}")
            } else {
                text
            }
        },
    )
}

fn meaning(text: &str) -> Value {
    let file = Parsed::new(text, Dialect::Comments).unwrap();
    file.root.map_or(Value::Null, Value::from)
}

/// Returns `true` if every byte of `before` is in `after`, in order, between the insertions.
fn only_added(before: &str, after: &str, insertions: &[Insertion]) -> bool {
    let added: usize = insertions.iter().map(|one| one.text.len()).sum();
    let mut rest = after.bytes();
    before.len() + added == after.len() && before.bytes().all(|byte| rest.any(|one| one == byte))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn in_and_out_gives_the_same_bytes(text in document()) {
        let insertions = insertions(&text, Dialect::Comments, &wanted()).unwrap();
        let after = apply(&text, &insertions);
        prop_assert!(only_added(&text, &after, &insertions), "{text:?} {after:?}");
        let undone = undo(&after, &insertions);
        prop_assert_eq!(undone.as_deref(), Some(text.as_str()));
        // The user's values are unchanged, ours follow them.
        let (before, after) = (meaning(&text), meaning(&after));
        for (key, value) in before.as_object().unwrap() {
            if key != "hooks" {
                prop_assert_eq!(&after[key], value);
            }
        }
        for event in ["PreToolUse", "Stop"] {
            let list = after["hooks"][event].as_array().unwrap();
            let theirs = before["hooks"][event].as_array().cloned().unwrap_or_default();
            prop_assert_eq!(list.last(), Some(&group("ours")));
            prop_assert_eq!(&list[..list.len() - 1], &theirs[..]);
        }
    }

    /// Without a receipt, our entries are found by meaning, and nothing else is lost, comments included.
    #[test]
    fn taking_out_by_meaning_keeps_the_rest(text in document()) {
        let after = merged(&text);
        let cut = without(&after, Dialect::Comments, &ours).unwrap();
        let mut expected = meaning(&text);
        let mut found = meaning(&cut);
        for value in [&mut expected, &mut found] {
            let Some(hooks) = value.get_mut("hooks").and_then(Value::as_object_mut) else { continue };
            hooks.retain(|_, list| list.as_array().is_none_or(|list| !list.is_empty()));
            if hooks.is_empty() {
                value.as_object_mut().unwrap().remove("hooks");
            }
        }
        prop_assert_eq!(found, expected);
        prop_assert_eq!(cut.matches("/* c").count(), after.matches("/* c").count());
        prop_assert_eq!(cut.matches("// c").count(), after.matches("// c").count());
    }
}
