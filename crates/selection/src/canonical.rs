//! One text for one JSON value, and its SHA-256: keys sorted, no spaces, numbers as RFC 8785 writes them.

use serde_json::Value;
use sha2::{Digest as _, Sha256};
use unicode_normalization::UnicodeNormalization as _;

/// The canonical text.
#[must_use]
pub fn text(value: &Value) -> String {
    // Only a map key that is no string or a failing writer could fail, and a `Value` has neither.
    serde_json_canonicalizer::to_string(value).unwrap_or_default()
}

/// SHA-256 of the canonical text, 64 hex digits.
#[must_use]
pub fn hash(value: &Value) -> String {
    hex::encode(Sha256::digest(text(value).as_bytes()))
}

/// SHA-256 of bytes, 64 hex digits.
#[must_use]
pub fn hash_bytes(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

/// Symbols that change what a number after them means.
const MEANING: &str = "+-*/=<>.%^";

/// An input without what makes no difference to a reader, so that copies are seen: of a text, and of every text in JSON,
/// its runs of letters and digits in one form and in lower case, with one separator between them. A symbol that changes
/// the meaning of the digit behind it stays. A text without a letter or a digit stays as it is.
#[must_use]
pub fn input_form(input: &str) -> String {
    let structured = serde_json::from_str::<Value>(input).ok();
    match structured.filter(|value| value.is_object() || value.is_array()) {
        Some(value) => text(&folded(value)),
        None => letters(input),
    }
}

fn folded(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(letters(&text)),
        Value::Array(items) => items.into_iter().map(folded).collect(),
        Value::Object(fields) => {
            let fields = fields.into_iter();
            Value::Object(fields.map(|(key, value)| (key, folded(value))).collect())
        }
        other => other,
    }
}

fn letters(text: &str) -> String {
    let composed = text.nfkc().flat_map(char::to_lowercase);
    let mut kept = String::new();
    let (mut is_apart, mut symbols) = (false, String::new());
    for letter in composed.filter(|letter| !is_invisible(*letter)) {
        if letter.is_alphanumeric() {
            if is_apart && !kept.is_empty() {
                kept.push(' ');
            }
            if letter.is_numeric() {
                kept.push_str(&symbols);
            }
            kept.push(letter);
            (is_apart, symbols) = (false, String::new());
            continue;
        }
        is_apart = true;
        if MEANING.contains(letter) {
            symbols.push(letter);
        } else if !letter.is_whitespace() {
            symbols.clear();
        }
    }
    if kept.is_empty() {
        return text.to_owned();
    }
    kept
}

/// Returns `true` if a reader does not see it: a soft hyphen, a joiner, a mark of direction, a selector of a variant.
fn is_invisible(letter: char) -> bool {
    matches!(letter, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_order_of_keys_and_the_way_a_number_is_written_do_not_matter() {
        let one: Value = serde_json::from_str(r#"{ "b": 1.0, "a": [true, null, "é"] }"#).unwrap();
        let other: Value = serde_json::from_str(r#"{"a":[true,null,"\u00e9"],"b":1}"#).unwrap();
        assert_eq!(text(&one), r#"{"a":[true,null,"é"],"b":1}"#);
        assert_eq!(hash(&one), hash(&other));
        assert_ne!(hash(&one), hash(&json!({ "b": 2, "a": [true, null, "é"] })));
    }

    #[test]
    fn inputs_that_differ_in_what_nobody_reads_are_copies() {
        for (one, other, is_copy) in [
            ("Where is my parcel?", "where is my  parcel", true),
            (
                "Where is my parcel?",
                "Where is\u{200b} my par\u{ad}cel!?",
                true,
            ),
            ("Where is my parcel?", "Where is your parcel?", false),
            ("ÉTÉ", "été", true),
            ("1 2", "12", false),
            ("2+2", "22", false),
            ("2+2", "2 - 2", false),
            ("2+2", " 2 + 2 ?", true),
            ("is it 5", "is it -5", false),
            ("x > 5", "x < 5", false),
            ("It is 5.", "it is 5", true),
            ("1.5", "15", false),
            ("well-known", "well known!", true),
            ("therapist", "the rapist", false),
            ("ﬁle Ⅻ ｘ", "file xii x", true),
            ("e\u{301}t\u{e9}", "\u{e9}te\u{301}", true),
            ("?", "!", false),
            ("\"A b\"", "a B", true),
            (r#"{"q": "A b", "n": 1}"#, r#"{"n":1.0,"q":"a\nB."}"#, true),
            (r#"{"q": "A b", "n": 1}"#, r#"{"q": "A b", "n": -1}"#, false),
            (r#"["a", "b"]"#, r#"["ab"]"#, false),
        ] {
            let forms = (input_form(one), input_form(other));
            assert_eq!(forms.0 == forms.1, is_copy, "{forms:?}");
        }
    }
}
