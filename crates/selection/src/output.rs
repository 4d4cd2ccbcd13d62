//! Forms of a model's output for verifying and scoring: its value, its text, and its length.

use std::borrow::Cow;

use serde_json::Value;

/// Characters per token.
const CHARACTERS_A_TOKEN: usize = 4;

/// Returns the text of an output: text as it is, anything else as JSON.
#[must_use]
pub fn text(output: &Value) -> Cow<'_, str> {
    match output {
        Value::String(text) => Cow::Borrowed(text),
        other => Cow::Owned(other.to_string()),
    }
}

/// Returns the output in its declared format: with `json`, JSON inside a text is extracted first.
///
/// # Errors
/// Fails if the format is `json` and the text is not JSON.
pub fn shaped<'a>(output: &'a Value, format: Option<&str>) -> Result<Cow<'a, Value>, String> {
    let Value::String(text) = output else {
        return Ok(Cow::Borrowed(output));
    };
    if !format.is_some_and(|format| format.eq_ignore_ascii_case("json")) {
        return Ok(Cow::Borrowed(output));
    }
    if text.trim().is_empty() {
        return Err("the output is empty".to_owned());
    }
    serde_json::from_str(text)
        .map(Cow::Owned)
        .map_err(|error| format!("the output is no JSON: {error}"))
}

/// Returns the number of tokens of a text, for the cost: a fixed share of its characters, the same for every
/// candidate. The count reported by a backend could be made up.
#[must_use]
pub fn tokens(text: &str) -> u64 {
    text.chars().count().div_ceil(CHARACTERS_A_TOKEN) as u64
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn json_in_a_text_is_taken_out_only_where_json_was_promised() {
        let wrapped = json!("{\"a\":1}");
        assert_eq!(*shaped(&wrapped, Some("json")).unwrap(), json!({ "a": 1 }));
        assert_eq!(*shaped(&wrapped, Some("text")).unwrap(), wrapped);
        assert_eq!(*shaped(&wrapped, None).unwrap(), wrapped);
        assert_eq!(*shaped(&json!([1]), Some("json")).unwrap(), json!([1]));
        assert!(shaped(&json!("{"), Some("json")).is_err());
        assert!(shaped(&json!(" \n"), Some("json")).is_err());
    }

    #[test]
    fn tokens_are_counted_alike_for_everybody() {
        assert_eq!(
            [tokens(""), tokens("a"), tokens("abcd"), tokens("абвгд")],
            [0, 1, 1, 2]
        );
        assert_eq!(text(&json!("x")), "x");
        assert_eq!(text(&json!({ "a": 1 })), "{\"a\":1}");
    }
}
