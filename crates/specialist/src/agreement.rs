//! Agreement of an adapter's answer with the general model's: as a whole, in named fields, or within a tolerance.

use serde_json::Value;

/// Allowance for rounding in a sum with the tolerance.
const EPSILON: f64 = 1e-9;

/// Returns `true` if both answers agree: keys in any order, text without surrounding blanks, numbers within
/// `tolerance` of each other.
#[must_use]
pub fn whole(specialist: &Value, general: &Value, tolerance: f64) -> bool {
    match (specialist, general) {
        (Value::Number(one), Value::Number(other)) => match (one.as_f64(), other.as_f64()) {
            (Some(a), Some(b)) => one == other || (a - b).abs() <= tolerance + EPSILON * b.abs(),
            _ => one == other,
        },
        (Value::String(one), Value::String(other)) => one.trim() == other.trim(),
        (Value::Array(one), Value::Array(other)) => {
            let mut pairs = one.iter().zip(other);
            one.len() == other.len() && pairs.all(|(one, other)| whole(one, other, tolerance))
        }
        (Value::Object(one), Value::Object(other)) => {
            let has = |(key, one): (&String, &Value)| {
                other
                    .get(key)
                    .is_some_and(|other| whole(one, other, tolerance))
            };
            one.len() == other.len() && one.iter().all(has)
        }
        _ => specialist == general,
    }
}

/// Returns `true` if both answers agree in these fields, whatever else they contain. A field is a key, or keys joined
/// by dots; a field that either answer lacks does not agree.
#[must_use]
pub fn fields(specialist: &Value, general: &Value, names: &[String], tolerance: f64) -> bool {
    if !(specialist.is_object() && general.is_object()) {
        return whole(specialist, general, tolerance);
    }
    let same = |name: &String| match (field(specialist, name), field(general, name)) {
        (Some(one), Some(other)) => whole(one, other, tolerance),
        _ => false,
    };
    !names.is_empty() && names.iter().all(same)
}

fn field<'a>(value: &'a Value, name: &str) -> Option<&'a Value> {
    // A key may contain a dot itself.
    if let Some(found) = value.get(name) {
        return Some(found);
    }
    let (first, rest) = name.split_once('.')?;
    field(value.get(first)?, rest)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_whole_answer_agrees_within_its_tolerance() {
        for (one, other, tolerance, agrees) in [
            (
                json!({ "a": 1, "b": "x" }),
                json!({ "b": " x\n", "a": 1.0 }),
                0.0,
                true,
            ),
            (json!({ "a": 1 }), json!({ "a": 1, "b": 2 }), 0.0, false),
            (json!({ "a": 1 }), json!({ "b": 1 }), 0.0, false),
            (json!([1.0, 2.0]), json!([1.1, 2.0]), 0.1, true),
            (json!([1.0, 2.0]), json!([1.2, 2.0]), 0.1, false),
            (json!([1]), json!([1, 2]), 9.0, false),
            (json!("yes"), json!("yes "), 0.0, true),
            (json!("1"), json!(1), 1.0, false),
            (json!(null), json!(null), 0.0, true),
            (json!(u64::MAX), json!(u64::MAX), 0.0, true),
        ] {
            assert_eq!(whole(&one, &other, tolerance), agrees, "{one} {other}");
        }
    }

    #[test]
    fn named_fields_agree_whatever_else_is_said() {
        let names = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
        let one = json!({ "label": "a", "why": "one", "score": { "value": 0.5 } });
        let other = json!({ "label": "a", "why": "two", "score": { "value": 0.54 }, "more": 1 });
        for (fields_of, tolerance, agrees) in [
            (names(&["label"]), 0.0, true),
            (names(&["label", "why"]), 0.0, false),
            (names(&["score.value"]), 0.05, true),
            (names(&["score.value"]), 0.01, false),
            (names(&["label", "absent"]), 0.0, false),
            (names(&["lable"]), 0.0, false),
            (names(&[]), 0.0, false),
            (names(&["more"]), 0.0, false),
        ] {
            assert_eq!(
                fields(&one, &other, &fields_of, tolerance),
                agrees,
                "{fields_of:?}"
            );
        }
        assert!(!fields(&json!("a"), &other, &names(&["absent"]), 0.0));
    }
}
