//! Values with the semantics of JavaScript: the first program for the catalogue was written in it, and the same call
//! must give the same text here. Numbers are doubles, lengths are UTF-16 units, and keys that look like indexes come
//! first.

use std::fmt::Write as _;

use serde_json::{Map, Value};

/// Tolerance between two sums.
const TOLERANCE: f64 = 1e-9;

/// Returns `true` for anything but `false`, `0`, `""` and `null`.
pub(super) fn truthy(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(flag) => *flag,
        Value::Number(_) => double(value).is_some_and(|number| number != 0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(_) | Value::Object(_) => true,
    }
}

/// Returns a JSON number as a double; `None` for any other value.
pub(super) fn double(value: &Value) -> Option<f64> {
    value.as_number()?.as_f64()
}

/// Returns a number, or a text that parses as one.
pub(super) fn number(value: &Value) -> Option<f64> {
    match value {
        Value::String(text) => number_in(text),
        value => double(value),
    }
}

fn number_in(text: &str) -> Option<f64> {
    let blank =
        |letter: char| letter == '\u{FEFF}' || (letter.is_whitespace() && letter != '\u{85}');
    let text = text.trim_matches(blank);
    let (head, digits) = text.split_at_checked(2).unwrap_or_default();
    let radix = match head {
        "0x" | "0X" => Some(16),
        "0o" | "0O" => Some(8),
        "0b" | "0B" => Some(2),
        _ => None,
    };
    if let Some(radix) = radix {
        let mut whole = (!digits.is_empty()).then_some(0.0)?;
        for digit in digits.chars() {
            whole = whole * f64::from(radix) + f64::from(digit.to_digit(radix)?);
        }
        return Some(whole);
    }
    match text {
        "Infinity" | "+Infinity" => return Some(f64::INFINITY),
        "-Infinity" => return Some(f64::NEG_INFINITY),
        _ => {}
    }
    // The rest of the grammar is that of Rust, once Rust's words for infinity are excluded.
    let decimal = |byte: u8| byte.is_ascii_digit() || b".eE+-".contains(&byte);
    text.bytes().all(decimal).then(|| text.parse().ok())?
}

/// Returns `true` for equal values without conversion. Lists and objects are never equal.
pub(super) fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(_), Value::Number(_)) => double(a) == double(b),
        (Value::Array(_) | Value::Object(_), _) => false,
        _ => a == b,
    }
}

/// Returns `true` for two numbers that are close, or equal values.
pub(super) fn equal(a: &Value, b: &Value) -> bool {
    match (double(a), double(b)) {
        (Some(a), Some(b)) => close(a, b),
        _ => same(a, b),
    }
}

/// Returns `true` if two numbers differ only by rounding.
pub(super) fn close(a: f64, b: f64) -> bool {
    (a - b).abs() < TOLERANCE
}

/// Returns the entries of an object in the order of JavaScript.
pub(super) fn entries(object: &Map<String, Value>) -> Vec<(&String, &Value)> {
    let mut entries: Vec<_> = object.iter().collect();
    // The sort is stable: keys that are not an index keep their order behind those that are.
    entries.sort_by_key(|(key, _)| index(key).unwrap_or(u32::MAX));
    entries
}

/// Returns the index of a key that is one.
fn index(key: &str) -> Option<u32> {
    let plain = key == "0" || !key.starts_with(['0', '+']);
    let index = plain.then(|| key.parse().ok())??;
    (index != u32::MAX).then_some(index)
}

/// Returns a number in the shortest form that parses to it.
pub(super) fn number_text(number: f64) -> String {
    if number.is_nan() {
        return "NaN".to_owned();
    }
    let sign = if number < 0.0 { "-" } else { "" };
    if number.is_infinite() {
        return format!("{sign}Infinity");
    }
    let shortest = format!("{:e}", number.abs());
    let (mantissa, exponent) = shortest.split_once('e').unwrap_or((&shortest, "0"));
    let digits: String = mantissa.chars().filter(|letter| *letter != '.').collect();
    // Number of digits before the point.
    let point = exponent.parse::<i64>().unwrap_or(0) + 1;
    let length = i64::try_from(digits.len()).unwrap_or(i64::MAX);
    let zeros = |count: i64| "0".repeat(usize::try_from(count).unwrap_or(0));
    let split = |at: i64| {
        digits
            .split_at_checked(usize::try_from(at).unwrap_or(0))
            .unwrap_or_default()
    };
    let text = match point {
        22.. | ..=-6 => {
            let (first, rest) = split(1);
            let dot = if rest.is_empty() { "" } else { "." };
            format!("{first}{dot}{rest}e{:+}", point - 1)
        }
        ..=0 => format!("0.{}{digits}", zeros(-point)),
        _ if length <= point => format!("{digits}{}", zeros(point - length)),
        _ => {
            let (whole, rest) = split(point);
            format!("{whole}.{rest}")
        }
    };
    format!("{sign}{text}")
}

/// Returns a value as JSON without blanks.
pub(super) fn json(value: &Value) -> String {
    let mut text = String::new();
    write_json(value, &mut text);
    text
}

/// Writes a value as JSON. The caller has limited the depth.
fn write_json(value: &Value, out: &mut String) {
    match value {
        Value::Number(_) => out.push_str(&double(value).map_or_else(String::new, number_text)),
        Value::Array(items) => {
            out.push('[');
            for (position, item) in items.iter().enumerate() {
                out.push_str(if position == 0 { "" } else { "," });
                write_json(item, out);
            }
            out.push(']');
        }
        Value::Object(object) => {
            out.push('{');
            for (position, (key, value)) in entries(object).into_iter().enumerate() {
                out.push_str(if position == 0 { "" } else { "," });
                out.push_str(&Value::from(key.as_str()).to_string());
                out.push(':');
                write_json(value, out);
            }
            out.push('}');
        }
        // Writing into a string cannot fail.
        plain => write!(out, "{plain}").unwrap_or_default(),
    }
}

/// Returns a value as text: a string is itself, everything else is JSON.
pub(super) fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        value => json(value),
    }
}

/// Returns the length of a text in UTF-16 units.
pub(super) fn length(text: &str) -> usize {
    text.encode_utf16().count()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_are_written_as_a_browser_writes_them() {
        for (number, expected) in [
            (0.0, "0"),
            (-0.0, "0"),
            (5.0, "5"),
            (-1.5, "-1.5"),
            (600_000.0, "600000"),
            (0.1 + 0.2, "0.30000000000000004"),
            (1e21, "1e+21"),
            (123_456_789_012_345_680_000.0, "123456789012345680000"),
            (1.5e300, "1.5e+300"),
            (1e-6, "0.000001"),
            (1e-7, "1e-7"),
            (1.25e-9, "1.25e-9"),
            (f64::NEG_INFINITY, "-Infinity"),
            (f64::NAN, "NaN"),
        ] {
            assert_eq!(number_text(number), expected);
        }
    }

    #[test]
    fn texts_read_as_numbers_as_a_browser_reads_them() {
        for (text, expected) in [
            ("5", Some(5.0)),
            (" \u{FEFF}5\n", Some(5.0)),
            ("+.5e1", Some(5.0)),
            ("5.", Some(5.0)),
            ("0x1F", Some(31.0)),
            ("0b101", Some(5.0)),
            ("0o17", Some(15.0)),
            ("-Infinity", Some(f64::NEG_INFINITY)),
            ("1e999", Some(f64::INFINITY)),
            ("", None),
            ("  ", None),
            ("0x", None),
            ("-0x5", None),
            ("inf", None),
            ("infinity", None),
            ("nan", None),
            ("NaN", None),
            ("1_000", None),
            ("5px", None),
            (".", None),
            ("e5", None),
            ("\u{85}5", None),
        ] {
            assert_eq!(number(&json!(text)), expected, "{text:?}");
        }
        assert_eq!(number(&json!(true)), None);
        assert_eq!(number(&json!(null)), None);
        assert_eq!(number(&json!([5])), None);
    }

    #[test]
    fn keys_that_are_indexes_come_first() {
        let value =
            json!({"b": 1, "10": 2, "01": 3, "2": 4, "4294967295": 5, "a": 5.0, "-1": "\u{1}\""});
        assert_eq!(
            json(&value),
            r#"{"2":4,"10":2,"b":1,"01":3,"4294967295":5,"a":5,"-1":"\u0001\""}"#
        );
    }

    #[test]
    fn nothing_but_a_plain_value_is_the_same_as_another() {
        assert!(same(&json!(5), &json!(5.0)));
        assert!(!same(&json!(5), &json!("5")));
        assert!(!same(&json!([]), &json!([])));
        assert!(!same(&json!(0.3), &json!(0.1 + 0.2)));
        assert!(equal(&json!(0.3), &json!(0.1 + 0.2)));
        for falsy in [json!(null), json!(false), json!(0), json!(0.0), json!("")] {
            assert!(!truthy(&falsy));
        }
        for truth in [json!(true), json!(-1), json!("false"), json!([]), json!({})] {
            assert!(truthy(&truth));
        }
    }
}
