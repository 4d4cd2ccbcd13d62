//! Canonical text of a JSON value (sorted keys, no spaces, numbers as in RFC 8785) and its SHA-256.

use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// Returns the canonical text.
#[must_use]
pub fn text(value: &Value) -> String {
    // Only a map key that is not a string or a failing writer could fail, and a `Value` has neither.
    serde_json_canonicalizer::to_string(value).unwrap_or_default()
}

/// Returns the SHA-256 of the canonical text, 64 hex digits.
#[must_use]
pub fn hash(value: &Value) -> String {
    hex::encode(Sha256::digest(text(value).as_bytes()))
}

/// Returns the SHA-256 of bytes, 64 hex digits.
#[must_use]
pub fn hash_bytes(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
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
}
