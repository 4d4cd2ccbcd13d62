//! Candidates of a contest: declarations of registered versions, exclusion rules, and the choice among the rest.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::manifest::Fallback;
use crate::output;
use crate::verifier::{BadVerifier, Declared};

/// Part of a registered version's declaration that a contest uses.
#[derive(Clone, Debug, PartialEq)]
pub struct Declaration {
    /// Declared verifier; without one the version cannot win.
    pub verifier: Result<Option<Declared>, BadVerifier>,
    /// Tasks in scope; empty for all.
    pub tasks: Vec<String>,
    /// Tasks out of scope.
    pub non_scope: Vec<String>,
    /// Limit of input tokens.
    pub max_tokens: Option<u64>,
    /// Required parts of an input, as names joined by `+`.
    pub required_format: Option<String>,
    /// Least score of the selector.
    pub min_confidence: f64,
    /// Fallback when no candidate passed.
    pub fallback: Fallback,
    /// Routing tags.
    pub tags: Vec<String>,
    /// Status that excludes the version, `deprecated` or `revoked`.
    pub withdrawn: Option<String>,
}

impl Declaration {
    /// Reads the declaration of a version from the registry. A missing key sets no condition.
    #[must_use]
    pub fn of(version: &Value) -> Self {
        let group = |name: &str| version.get(name).unwrap_or(&Value::Null);
        let texts = |value: Option<&Value>| -> Vec<String> {
            let items = value.and_then(Value::as_array).into_iter().flatten();
            items
                .filter_map(|item| item.as_str().map(str::to_owned))
                .collect()
        };
        let routing = group("routing");
        let input = group("io_contract").get("input").unwrap_or(&Value::Null);
        let format = input.get("required_format").and_then(Value::as_str);
        let fallback = routing.get("fallback").and_then(Value::as_str);
        let status = version.get("status").and_then(Value::as_str);
        Self {
            verifier: Declared::of_version(version),
            tasks: texts(group("scope").get("tasks")),
            non_scope: texts(group("scope").get("non_scope")),
            max_tokens: input.get("max_tokens").and_then(Value::as_u64),
            required_format: format.map(str::to_owned),
            min_confidence: routing
                .get("recommended_min_confidence")
                .and_then(Value::as_f64)
                .unwrap_or(0.0),
            fallback: match fallback {
                Some("unsure") => Fallback::Unsure,
                None | Some("base") => Fallback::Base,
                Some(model) => Fallback::Model(model.to_owned()),
            },
            tags: texts(routing.get("tags")),
            withdrawn: status
                .filter(|status| matches!(*status, "deprecated" | "revoked"))
                .map(str::to_owned),
        }
    }

    /// Returns why the version does not take an input, whatever its score. An input without a task or tags excludes
    /// no version.
    #[must_use]
    pub fn out_of_scope(&self, input: &Value, task: Option<&str>) -> Option<String> {
        if let Some(status) = &self.withdrawn {
            return Some(format!("it is {status}"));
        }
        if let Some(task) = task {
            if self.non_scope.iter().any(|out| out == task) {
                return Some(format!("`{task}` is in its non_scope"));
            }
            if !self.tasks.is_empty() && !self.tasks.iter().any(|own| own == task) {
                return Some(format!("`{task}` is not among its scope.tasks"));
            }
        }
        let named: Vec<String> = listed(input).collect();
        let shares = |tag: &String| self.tags.contains(tag);
        if !named.is_empty() && !self.tags.is_empty() && !named.iter().any(shares) {
            let named = named.join("`, `");
            return Some(format!("none of the input's tags is its own: `{named}`"));
        }
        if let Some(most) = self.max_tokens {
            let tokens = output::tokens(&output::text(input.get("text").unwrap_or(input)));
            if tokens > most {
                return Some(format!("the input has {tokens} tokens, it takes {most}"));
            }
        }
        let missing = self.required_format.as_deref()?;
        let missing = missing
            .split('+')
            .find(|part| !self.has(part.trim(), input))?;
        Some(format!(
            "the input has no `{missing}`, which its required_format names"
        ))
    }

    /// Returns `true` if an input has a part of the format: `prompt` and `text` are any text, `json` is an object or
    /// a list, `schema` may be the version's own, anything else is a key.
    fn has(&self, part: &str, input: &Value) -> bool {
        let key = input.get(part).is_some_and(|value| !value.is_null());
        match part {
            "" => true,
            "prompt" | "text" => key || input.is_string() || input.get("text").is_some(),
            "json" => input.is_object() || input.is_array(),
            "schema" => key || matches!(&self.verifier, Ok(Some(own)) if own.has_schema()),
            _ => key,
        }
    }
}

/// Returns the `task` of an input that is an object.
#[must_use]
pub fn task(input: &Value) -> Option<&str> {
    input.get("task")?.as_str()
}

/// Returns the tags of an input, and its task as one of them.
pub fn tags(input: &Value) -> impl Iterator<Item = String> + '_ {
    listed(input).chain(task(input).map(|task| format!("task:{task}")))
}

fn listed(input: &Value) -> impl Iterator<Item = String> + '_ {
    let tags = input.get("tags").and_then(Value::as_array);
    let tags = tags.into_iter().flatten().filter_map(Value::as_str);
    tags.map(str::to_owned)
}

/// A version that may take part.
#[derive(Clone, Debug, PartialEq)]
pub struct Eligible {
    /// Id of the version.
    pub version: String,
    /// Score by the selector for this input.
    pub score: Option<f64>,
}

/// Returns the indices of the versions that take part in a learning run: the last slot goes to the least tried
/// version, so that every version has its turn however low its score; the other slots go by score.
#[must_use]
pub fn learning(eligible: &[Eligible], trials: &BTreeMap<String, u64>, k: usize) -> Vec<usize> {
    let Some(others) = k.checked_sub(1) else {
        return Vec::new();
    };
    let tried = |at: &usize| {
        let version = eligible.get(*at).map(|one| one.version.as_str());
        version.and_then(|version| trials.get(version).copied())
    };
    let least = (0..eligible.len()).min_by_key(|at| tried(at).unwrap_or(0));
    let mut order: Vec<usize> = (0..eligible.len()).collect();
    by_score(&mut order, eligible);
    order.retain(|at| Some(*at) != least);
    order.truncate(others);
    order.extend(least);
    order
}

fn by_score(order: &mut [usize], eligible: &[Eligible]) {
    let score = |at: &usize| eligible.get(*at).and_then(|one| one.score).unwrap_or(-1.0);
    order.sort_by(|one, other| score(other).total_cmp(&score(one)));
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn eligible(scores: &[Option<f64>]) -> Vec<Eligible> {
        let one = |(at, score): (usize, &Option<f64>)| Eligible {
            version: format!("v{at}"),
            score: *score,
        };
        scores.iter().enumerate().map(one).collect()
    }

    #[test]
    fn a_plain_version_declares_nothing_and_is_kept_in() {
        let plain = Declaration::of(&json!({ "id": "v1" }));
        assert_eq!(plain.verifier, Ok(None));
        assert_eq!(plain.fallback, Fallback::Base);
        assert_eq!(plain.out_of_scope(&json!("x"), Some("t")), None);
    }

    #[test]
    fn a_manifest_keeps_its_promises() {
        let version = json!({
            "scope": { "tasks": ["sum", "poems"], "non_scope": ["poems"] },
            "io_contract": { "input": { "max_tokens": 3, "required_format": "prompt+lang" } },
            "routing": { "tags": ["format:json"], "recommended_min_confidence": 0.65, "fallback": "unsure" },
        });
        let declaration = Declaration::of(&version);
        assert_eq!(declaration.fallback, Fallback::Unsure);
        let fits = json!({ "text": "short", "lang": "en", "task": "sum" });
        for (change, why) in [
            (json!({}), None),
            (json!({ "task": null }), None),
            (json!({ "task": "poems" }), Some("non_scope")),
            (json!({ "task": "exploit" }), Some("scope.tasks")),
            (json!({ "tags": ["format:json", "x"] }), None),
            (json!({ "tags": ["x"] }), Some("tags")),
            (json!({ "tags": [] }), None),
            (
                json!({ "text": "longer than three tokens" }),
                Some("6 tokens"),
            ),
            (json!({ "lang": null }), Some("required_format")),
        ] {
            let mut input = fits.clone();
            for (key, value) in change.as_object().unwrap() {
                input[key] = value.clone();
            }
            let found = declaration.out_of_scope(&input, task(&input));
            let expected = why.is_none() == found.is_none()
                && why.is_none_or(|why| found.as_ref().is_some_and(|found| found.contains(why)));
            assert!(expected, "{input}: {found:?}");
        }
        let gone = Declaration::of(&json!({ "status": "revoked" }));
        assert!(gone.out_of_scope(&json!("x"), None).is_some());
        let schema = json!({ "io_contract": {
            "input": { "max_tokens": 100, "required_format": "prompt+schema" },
            "output": { "format": "json", "schema_ref": "o.json" } }, "verifier": { "type": "json_schema" } });
        assert_eq!(
            Declaration::of(&schema).out_of_scope(&json!("x"), None),
            None
        );
        assert_eq!(task(&json!({ "task": "poems" })), Some("poems"));
        assert_eq!(task(&json!("poems")), None);
    }

    #[test]
    fn learning_keeps_a_place_for_who_was_tried_least() {
        let list = eligible(&[Some(0.9), Some(0.8), Some(0.7), Some(0.1), None]);
        let tried = |counts: [u64; 5]| -> BTreeMap<String, u64> {
            let named = counts.iter().enumerate();
            named.map(|(at, n)| (format!("v{at}"), *n)).collect()
        };
        assert_eq!(learning(&list, &tried([60, 60, 60, 49, 50]), 3), [0, 1, 3]);
        assert_eq!(learning(&list, &tried([60, 60, 60, 59, 50]), 3), [0, 1, 4]);
        assert_eq!(learning(&list, &BTreeMap::new(), 1), [0]);
        assert_eq!(learning(&list, &tried([60, 60, 60, 60, 0]), 1), [4]);
    }

    /// Regression: with more versions than slots, a low score excluded one for ever.
    #[test]
    fn every_version_has_its_turn_whatever_its_score() {
        let list = eligible(&[Some(0.9), Some(0.8), Some(0.7), Some(0.6), Some(0.1), None]);
        let mut trials: BTreeMap<String, u64> = BTreeMap::new();
        for _ in 0..1000 {
            for at in learning(&list, &trials, 4) {
                *trials.entry(format!("v{at}")).or_default() += 1;
            }
        }
        let counts: Vec<u64> = trials.into_values().collect();
        assert_eq!(counts.len(), 6);
        assert!(counts.iter().all(|count| *count >= 333), "{counts:?}");
    }

    proptest! {
        #[test]
        fn nobody_is_asked_twice_and_no_place_stays_empty(
            scores in proptest::collection::vec(proptest::option::of(0.0..=1.0f64), 0..9),
            counts in proptest::collection::vec(0u64..100, 9),
            k in 0usize..12,
        ) {
            let list = eligible(&scores);
            let trials = counts.iter().enumerate().map(|(at, n)| (format!("v{at}"), *n)).collect();
            let order = learning(&list, &trials, k);
            let distinct: BTreeSet<usize> = order.iter().copied().collect();
            prop_assert_eq!(distinct.len(), order.len());
            prop_assert_eq!(order.len(), k.min(list.len()));
            prop_assert!(order.iter().all(|at| *at < list.len()));
        }
    }
}
