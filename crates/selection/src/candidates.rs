//! Who takes part in a contest: what a registered version declares, what keeps it out, and which of the rest are asked.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::growth::{LEAST_TRIALS, reserved};
use crate::manifest::Fallback;
use crate::verifier::{BadVerifier, Declared};

/// What a registered version declares, as far as a contest needs it.
#[derive(Clone, Debug, PartialEq)]
pub struct Declaration {
    /// Its verifier; nothing when it declares none, and then it cannot win.
    pub verifier: Result<Option<Declared>, BadVerifier>,
    /// Tasks that it is not for.
    pub non_scope: Vec<String>,
    /// Least score of the selector.
    pub min_confidence: f64,
    /// What comes when nobody passed.
    pub fallback: Fallback,
    /// Routing tags.
    pub tags: Vec<String>,
    /// Why it takes no part any more, `deprecated` or `revoked`.
    pub withdrawn: Option<String>,
}

impl Declaration {
    /// Of a version as the registry has it. What is missing is not asked for: a registry without these keys is a good one.
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
        let fallback = routing.get("fallback").and_then(Value::as_str);
        let status = version.get("status").and_then(Value::as_str);
        Self {
            verifier: Declared::of_version(version),
            non_scope: texts(group("scope").get("non_scope")),
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

    /// Why the version is kept out of a contest before anybody is ranked. A score that is not known keeps nobody out.
    #[must_use]
    pub fn excluded(&self, task: Option<&str>, score: Option<f64>) -> Option<String> {
        if let Some(status) = &self.withdrawn {
            return Some(format!("it is {status}"));
        }
        if let Some(task) = task.filter(|task| self.non_scope.iter().any(|out| out == task)) {
            return Some(format!("`{task}` is in its non_scope"));
        }
        let score = score.filter(|score| *score < self.min_confidence)?;
        let least = self.min_confidence;
        Some(format!(
            "score {score:.3} < its least confidence {least:.3}"
        ))
    }
}

/// The task that an input names: its `task`, when it is an object with one.
#[must_use]
pub fn task(input: &Value) -> Option<&str> {
    input.get("task")?.as_str()
}

/// One who could take part.
#[derive(Clone, Debug, PartialEq)]
pub struct Eligible {
    /// Its version.
    pub version: String,
    /// What the selector thinks of it here.
    pub score: Option<f64>,
}

/// Who is asked when serving, as places in the list: the first stays first, the others by their scores, equal ones in order.
#[must_use]
pub fn serving(eligible: &[Eligible], k: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..eligible.len()).collect();
    if let Some((_, others)) = order.split_first_mut() {
        by_score(others, eligible);
    }
    order.truncate(k);
    order
}

/// Who is asked in a learning run: one place is kept for the least tried while it has too few trials, the others go by
/// score.
#[must_use]
pub fn learning(eligible: &[Eligible], trials: &BTreeMap<String, u64>, k: usize) -> Vec<usize> {
    let versions: Vec<String> = eligible.iter().map(|one| one.version.clone()).collect();
    let newcomer = reserved(&versions, trials, &BTreeSet::new())
        .and_then(|version| versions.iter().position(|one| one == version));
    let mut order: Vec<usize> = (0..eligible.len()).collect();
    by_score(&mut order, eligible);
    order.retain(|at| Some(*at) != newcomer);
    order.truncate(k.saturating_sub(usize::from(newcomer.is_some())));
    order.extend(newcomer.filter(|_| k > 0));
    order
}

/// Whether a version has had its trials; until then a low score does not keep it from learning runs.
#[must_use]
pub fn is_tried(version: &str, trials: &BTreeMap<String, u64>) -> bool {
    trials.get(version).copied().unwrap_or(0) >= LEAST_TRIALS
}

fn by_score(order: &mut [usize], eligible: &[Eligible]) {
    let score = |at: &usize| eligible.get(*at).and_then(|one| one.score).unwrap_or(-1.0);
    order.sort_by(|one, other| score(other).total_cmp(&score(one)));
}

#[cfg(test)]
mod tests {
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
        assert_eq!(plain.excluded(Some("t"), Some(0.0)), None);
    }

    #[test]
    fn non_scope_confidence_and_withdrawal_keep_out() {
        let version = Declaration::of(&json!({
            "scope": { "tasks": ["a"], "non_scope": ["poems"] },
            "routing": { "tags": ["t"], "recommended_min_confidence": 0.65, "fallback": "unsure" },
        }));
        assert_eq!(version.fallback, Fallback::Unsure);
        assert!(version.excluded(Some("poems"), None).is_some());
        assert_eq!(version.excluded(Some("poem"), Some(0.65)), None);
        assert!(version.excluded(None, Some(0.64)).is_some());
        assert_eq!(version.excluded(None, None), None);
        let gone = Declaration::of(&json!({ "status": "revoked" }));
        assert!(gone.excluded(None, None).is_some());
        assert_eq!(task(&json!({ "task": "poems" })), Some("poems"));
        assert_eq!(task(&json!("poems")), None);
    }

    #[test]
    fn serving_keeps_the_first_and_ranks_the_rest() {
        let list = eligible(&[Some(0.1), Some(0.5), None, Some(0.9)]);
        assert_eq!(serving(&list, 2), [0, 3]);
        assert_eq!(serving(&list, 9), [0, 3, 1, 2]);
        assert_eq!(serving(&[], 2), [0usize; 0]);
    }

    #[test]
    fn learning_keeps_a_place_for_who_was_tried_least() {
        let list = eligible(&[Some(0.9), Some(0.8), Some(0.7), Some(0.1), None]);
        let tried = |counts: [u64; 5]| -> BTreeMap<String, u64> {
            let named = counts.iter().enumerate();
            named.map(|(at, n)| (format!("v{at}"), *n)).collect()
        };
        assert_eq!(learning(&list, &tried([60, 60, 60, 49, 50]), 3), [0, 1, 3]);
        assert_eq!(learning(&list, &tried([60, 60, 60, 50, 50]), 3), [0, 1, 2]);
        assert_eq!(learning(&list, &BTreeMap::new(), 1), [0]);
        assert_eq!(learning(&list, &tried([60, 60, 60, 60, 0]), 1), [4]);
        assert!(!is_tried("v3", &tried([60, 60, 60, 49, 50])));
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
            for order in [serving(&list, k), learning(&list, &trials, k)] {
                let distinct: BTreeSet<usize> = order.iter().copied().collect();
                prop_assert_eq!(distinct.len(), order.len());
                prop_assert_eq!(order.len(), k.min(list.len()));
                prop_assert!(order.iter().all(|at| *at < list.len()));
            }
        }
    }
}
