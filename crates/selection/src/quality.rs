//! Score of a JSON output against a known right one: structure, strings, lists.
//!
//! `alpha · J + (1 − alpha) · mean(S, A)`: J compares the top-level keys, S the strings under common keys, A the
//! lists. A part without anything to compare is left out of the mean; with neither, the score is J.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use crate::canonical;
use crate::output;

/// Returns the score of any output against a right one, from 0 to 1: objects as [`json_score`], lists by their items,
/// anything else by its words.
#[must_use]
pub fn score(alpha: f64, output: &Value, target: &Value) -> f64 {
    match target {
        Value::Object(_) => json_score(alpha, output, target),
        Value::Array(wanted) => list_f1(Some(output), wanted),
        wanted => token_f1(&output::text(output), &output::text(wanted)),
    }
}

/// Returns the score from 0 to 1. An output that is not an object has no keys.
#[must_use]
pub fn json_score(alpha: f64, output: &Value, target: &Value) -> f64 {
    let nothing = Map::new();
    let output = output.as_object().unwrap_or(&nothing);
    let target = target.as_object().unwrap_or(&nothing);
    let structure = jaccard(output, target);
    let mut strings = Mean::default();
    let mut lists = Mean::default();
    for (key, wanted) in target {
        let given = output.get(key);
        match wanted {
            Value::Array(wanted) => lists.add(list_f1(given, wanted)),
            Value::String(wanted) => strings.add(token_f1(&as_text(given), wanted)),
            // Numbers, truth values and nested objects compare as their canonical text.
            wanted => strings.add(token_f1(&as_text(given), &canonical::text(wanted))),
        }
    }
    let mut parts = Mean::default();
    for part in [strings.value(), lists.value()].into_iter().flatten() {
        parts.add(part);
    }
    match parts.value() {
        Some(content) => alpha * structure + (1.0 - alpha) * content,
        None => structure,
    }
}

/// Returns the F1 of the words that two texts share, with their counts.
#[must_use]
pub fn token_f1(one: &str, other: &str) -> f64 {
    let (one, other) = (counts(one), counts(other));
    let common: usize = one
        .iter()
        .map(|(word, count)| (*count).min(other.get(word).copied().unwrap_or(0)))
        .sum();
    f1(common, one.values().sum(), other.values().sum())
}

fn counts(text: &str) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    for word in text.split_whitespace() {
        *counts.entry(word).or_insert(0) += 1;
    }
    counts
}

/// Returns the F1 of two sets of items, by their canonical text. A value that is not a list has no items.
fn list_f1(given: Option<&Value>, wanted: &[Value]) -> f64 {
    let given = given
        .and_then(Value::as_array)
        .map_or(&[][..], Vec::as_slice);
    let given: BTreeSet<String> = given.iter().map(canonical::text).collect();
    let wanted: BTreeSet<String> = wanted.iter().map(canonical::text).collect();
    f1(
        given.intersection(&wanted).count(),
        given.len(),
        wanted.len(),
    )
}

#[expect(
    clippy::cast_precision_loss,
    reason = "counts of words and items of one output"
)]
fn f1(common: usize, one: usize, other: usize) -> f64 {
    if one == 0 && other == 0 {
        return 1.0;
    }
    2.0 * common as f64 / (one + other) as f64
}

#[expect(clippy::cast_precision_loss, reason = "counts of keys of one output")]
fn jaccard(one: &Map<String, Value>, other: &Map<String, Value>) -> f64 {
    let common = one.keys().filter(|key| other.contains_key(*key)).count();
    let all = one.len() + other.len() - common;
    if all == 0 {
        1.0
    } else {
        common as f64 / all as f64
    }
}

fn as_text(value: Option<&Value>) -> String {
    match value {
        None => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => canonical::text(other),
    }
}

#[derive(Default)]
struct Mean {
    sum: f64,
    count: u32,
}

impl Mean {
    fn add(&mut self, value: f64) {
        self.sum += value;
        self.count += 1;
    }

    fn value(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / f64::from(self.count))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    #[expect(clippy::needless_pass_by_value, reason = "reads better in the table")]
    fn check(output: Value, target: Value, expected: f64) {
        let score = json_score(0.4, &output, &target);
        assert!((score - expected).abs() < 1e-12, "{output} → {score}");
    }

    #[test]
    fn the_worked_value_holds() {
        check(
            json!({ "title": "A b", "summary": "c", "entities": ["x"] }),
            json!({ "title": "A b", "summary": "c d", "entities": ["x", "y"] }),
            0.85,
        );
    }

    #[test]
    fn a_part_with_nothing_to_compare_is_left_out() {
        check(json!({}), json!({}), 1.0);
        check(json!({ "a": "x" }), json!({ "a": "x" }), 1.0);
        check(json!({ "a": [1] }), json!({ "a": [1] }), 1.0);
        check(json!("text"), json!({ "a": "x" }), 0.0);
        check(json!({ "b": "x" }), json!({}), 0.0);
        check(json!({ "n": 3 }), json!({ "n": 3.0 }), 1.0);
        check(json!({ "a": [] }), json!({ "a": [] }), 1.0);
        check(json!({ "a": "no list" }), json!({ "a": [1] }), 0.4);
    }

    #[test]
    fn what_is_no_object_is_compared_by_what_it_is() {
        let near = |output: Value, target: Value, expected: f64| {
            let score = score(0.4, &output, &target);
            assert!((score - expected).abs() < 1e-12, "{output} → {score}");
        };
        near(json!("a b"), json!("a b"), 1.0);
        near(json!("c"), json!("a b"), 0.0);
        near(json!([1, 2]), json!([2, 1]), 1.0);
        near(json!("x"), json!([1]), 0.0);
        near(json!(4), json!(4), 1.0);
        near(json!({ "a": "x" }), json!({ "a": "x" }), 1.0);
    }

    #[test]
    fn words_count_as_often_as_they_stand_there() {
        assert!((token_f1("a a b", "a b") - 0.8).abs() < 1e-12);
        assert!((token_f1("", "") - 1.0).abs() < 1e-12);
        assert!(token_f1("", "a").abs() < 1e-12);
    }
}
