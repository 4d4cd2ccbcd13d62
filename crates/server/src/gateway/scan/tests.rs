//! The scan against a full parser, and edits that leave every other byte alone.

use super::*;
use serde_json::{Value, json};

fn model(body: &str) -> Option<String> {
    scan(body.as_bytes()).unwrap().model(body.as_bytes())
}

#[test]
fn the_model_is_found_wherever_it_stands() {
    for body in [
        r#"{"model":"m"}"#,
        " {\n\t\"a\" : [1, {\"model\": \"no\"}, \"]}\"] , \"model\"\r\n: \"m\" }",
        r#"{"messages":[{"role":"user","content":"say \"model\": \\"}],"model":"m"}"#,
        r#"{"mod\u0065l":"\u006d"}"#,
        r#"{"model":"first","model":"m"}"#,
        r#"{"n":-1.5e3,"t":true,"z":null,"model":"m"}trailing"#,
    ] {
        assert_eq!(model(body).as_deref(), Some("m"), "{body}");
    }
    for body in [
        "{}",
        "{ }",
        r#"{"model":1}"#,
        r#"{"x":{"model":"m"}}"#,
        r#"{"Model":"m"}"#,
    ] {
        assert_eq!(model(body), None, "{body}");
    }
    for body in [
        "",
        "[]",
        "null",
        "{",
        r#"{"model""#,
        r#"{"model":"m""#,
        r#"{"a":1,}"#,
        r#"{"a" 1}"#,
        r#"{"a":[}"#,
        r#"{"a":"\"#,
        "{a:1}",
    ] {
        assert!(scan(body.as_bytes()).is_err(), "{body}");
    }
}

fn edited(body: &str, edit: impl Fn(&mut Edits<'_>)) -> String {
    let scanned = scan(body.as_bytes()).unwrap();
    let mut edits = Edits::new(body.as_bytes(), &scanned);
    edit(&mut edits);
    String::from_utf8(edits.done()).unwrap()
}

#[test]
fn an_edit_leaves_every_other_byte_alone() {
    let body = "{ \"x\" : 1.0 ,\n \"model\":\"role:a\", \"y\":[ ] }";
    assert_eq!(
        edited(body, |edits| edits.model("b\"c")),
        "{ \"x\" : 1.0 ,\n \"model\":\"b\\\"c\", \"y\":[ ] }"
    );
    assert_eq!(edited("{}", |edits| edits.model("m")), r#"{"model":"m"}"#);
    assert_eq!(
        edited(r#"{"a":1}"#, |edits| edits.model("m")),
        r#"{"model":"m","a":1}"#
    );
    assert_eq!(edited(body, |_| {}), body);
}

#[test]
fn the_list_of_models_goes_with_one_comma() {
    let gone = |body: &str| edited(body, |edits| edits.drop_models());
    assert_eq!(gone(r#"{"models":["a"],"x":1}"#), r#"{"x":1}"#);
    assert_eq!(gone(r#"{"x":1 , "models":["a"] }"#), r#"{"x":1  }"#);
    assert_eq!(gone(r#"{"models":[]}"#), "{}");
    assert_eq!(gone(r#"{"x":1,"models":["a"],"y":2}"#), r#"{"x":1,"y":2}"#);
    let both = edited(r#"{"models":["a","b"]}"#, |edits| {
        edits.drop_models();
        edits.model("a");
    });
    assert_eq!(both, r#"{"model":"a"}"#);
}

#[test]
fn a_roles_instructions_stand_beside_the_clients_own() {
    let block = |body: &str| -> Value {
        serde_json::from_str(&edited(body, |edits| edits.system_block("I\n"))).unwrap()
    };
    assert_eq!(block("{}"), json!({ "system": "I\n" }));
    assert_eq!(block(r#"{"system":null}"#), json!({ "system": "I\n" }));
    let own = json!({ "type": "text", "text": "own" });
    let role = json!({ "type": "text", "text": "I\n" });
    assert_eq!(
        block(r#"{"system":"own"}"#),
        json!({ "system": [own, role] })
    );
    assert_eq!(
        block(r#"{"a":1,"system":[{"type":"text","text":"own"}]}"#),
        json!({ "a": 1, "system": [own, role] })
    );
    assert_eq!(block(r#"{"system":[ ]}"#), json!({ "system": [role] }));
    let message = |body: &str| -> Value {
        serde_json::from_str(&edited(body, |edits| edits.system_message("I"))).unwrap()
    };
    let said = json!({ "role": "system", "content": "I" });
    assert_eq!(message(r#"{"messages":[]}"#), json!({ "messages": [said] }));
    assert_eq!(
        message(r#"{"messages":[{"role":"user"}]}"#),
        json!({ "messages": [said, { "role": "user" }] })
    );
}

proptest::proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..200)) {
        if let Ok(scanned) = scan(&bytes) {
            let mut edits = Edits::new(&bytes, &scanned);
            edits.model("m");
            edits.drop_models();
            edits.system_block("i");
            edits.system_message("i");
            edits.done();
        }
    }

    #[test]
    fn it_agrees_with_a_full_parser(text in r#"\{("(model|x|m\\u006fdel)" ?: ?("[a-z\\n"]{0,3}"|[0-9]|\[("a",?)?\]|\{\}|null),? ?){0,4}\}"#) {
        if let Ok(Value::Object(object)) = serde_json::from_str::<Value>(&text) {
            let found = scan(text.as_bytes()).unwrap().model(text.as_bytes());
            let expected = object.get("model").and_then(Value::as_str).map(str::to_owned);
            proptest::prop_assert_eq!(found, expected);
        }
    }
}
