//! The metric as data with a hash, and the cost and reward of a run under it. Speed is a cost, never a reward.
//!
//! Scales are fixed in the metric, not taken from the rivals of a run: a slow rival must not make another one
//! cheaper, and one line of the log must be enough to recompute its reward.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::canonical;

/// A metric. Two metrics with one hash are one metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Metric {
    /// Name in logs, for example `metric_v1`.
    pub metric_version: String,
    /// Weight of the score of the task.
    pub beta: f64,
    /// Weight of the cost.
    pub lambda: f64,
    /// Weight of the refusal penalty.
    pub pi: f64,
    /// Share of the structure in the score of a JSON output.
    pub alpha_q1: f64,
    /// Weight of time in the cost.
    pub w_t: f64,
    /// Weight of output tokens in the cost.
    pub w_o: f64,
    /// Time that counts as 1.
    pub t_ref_ms: f64,
    /// Output tokens that count as 1.
    pub tokens_ref: f64,
    /// Weight of the price in the cost. A metric without it uses the default, and keeps its hash.
    #[serde(default = "usual_w_p", skip_serializing_if = "is_usual_w_p")]
    pub w_p: f64,
    /// Price that counts as 1, in US dollars; see [`Metric::w_p`].
    #[serde(default = "usual_price", skip_serializing_if = "is_usual_price")]
    pub price_ref_usd: f64,
    /// Method of comparing strings; see [`crate::quality`].
    pub similarity: String,
    /// Method of recognising refusals; see [`crate::refusal`].
    pub refusal_rule: String,
}

/// Largest weight: a reward must stay a number that can be added and compared.
const MAX_WEIGHT: f64 = 1_000.0;

/// Bounds of a scale.
const SCALES: std::ops::RangeInclusive<f64> = 1e-3..=1e12;

/// Invalid metric.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{field}`: {problem}")]
pub struct BadMetric {
    /// Name of the field.
    pub field: String,
    /// Description of the problem.
    pub problem: String,
}

/// Inputs of a reward.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parts {
    /// Set if the verifier passed the output.
    pub passed: bool,
    /// Score of the task, if there is one.
    pub q1: Option<f64>,
    pub cost: f64,
    /// Penalty for a refusal.
    pub refusal_penalty: f64,
}

impl Metric {
    /// Returns the metric with the published weights.
    #[must_use]
    pub fn v1() -> Self {
        Self {
            metric_version: "metric_v1".to_owned(),
            beta: 1.0,
            lambda: 0.3,
            pi: 1.0,
            alpha_q1: 0.4,
            w_t: 1.0,
            w_o: 0.2,
            t_ref_ms: 10_000.0,
            tokens_ref: 1_000.0,
            w_p: usual_w_p(),
            price_ref_usd: usual_price(),
            similarity: "token_f1".to_owned(),
            refusal_rule: "vacuous_v1".to_owned(),
        }
    }

    /// Parses a metric definition.
    ///
    /// # Errors
    /// Fails if a field is missing, unknown or out of range.
    pub fn parse(value: &Value) -> Result<Self, BadMetric> {
        let metric: Self = serde_json::from_value(value.clone()).map_err(|error| BadMetric {
            field: "metric".to_owned(),
            problem: error.to_string(),
        })?;
        metric.check()?;
        Ok(metric)
    }

    fn check(&self) -> Result<(), BadMetric> {
        let bad = |field: &str, problem: &str| BadMetric {
            field: field.to_owned(),
            problem: problem.to_owned(),
        };
        if version_number(&self.metric_version).is_none() {
            return Err(bad("metric_version", "is not `metric_v` and a number"));
        }
        let weights = [
            ("beta", self.beta),
            ("lambda", self.lambda),
            ("pi", self.pi),
            ("w_t", self.w_t),
            ("w_o", self.w_o),
            ("w_p", self.w_p),
        ];
        for (field, weight) in weights {
            if !(0.0..=MAX_WEIGHT).contains(&weight) {
                return Err(bad(
                    field,
                    "is not between 0 and 1000; a negative weight would reward what it should cost",
                ));
            }
        }
        if !(0.0..=1.0).contains(&self.alpha_q1) {
            return Err(bad("alpha_q1", "is not between 0 and 1"));
        }
        for (field, scale) in [
            ("t_ref_ms", self.t_ref_ms),
            ("tokens_ref", self.tokens_ref),
            ("price_ref_usd", self.price_ref_usd),
        ] {
            if !SCALES.contains(&scale) {
                return Err(bad(field, "is not between 0.001 and 1e12"));
            }
        }
        if self.similarity != "token_f1" {
            return Err(bad(
                "similarity",
                "is not `token_f1`, the one that there is",
            ));
        }
        if self.refusal_rule != "vacuous_v1" {
            return Err(bad(
                "refusal_rule",
                "is not `vacuous_v1`, the one that there is",
            ));
        }
        Ok(())
    }

    /// Returns the metric as JSON.
    #[must_use]
    pub fn to_value(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    /// Returns the SHA-256 of the canonical JSON, which identifies a log line's metric whatever its name.
    #[must_use]
    pub fn hash(&self) -> String {
        canonical::hash(&self.to_value())
    }

    /// Returns the cost of a run, from 0 to `w_t + w_o + w_p`. An unknown price adds nothing.
    #[must_use]
    pub fn cost(&self, total_ms: f64, tokens_out: u64, price_usd: Option<f64>) -> f64 {
        #[expect(
            clippy::cast_precision_loss,
            reason = "a count of tokens beyond 2^53 is clamped to 1 anyway"
        )]
        let tokens = tokens_out as f64;
        let time = (total_ms / self.t_ref_ms).clamp(0.0, 1.0);
        let output = (tokens / self.tokens_ref).clamp(0.0, 1.0);
        let price = (price_usd.unwrap_or(0.0) / self.price_ref_usd).clamp(0.0, 1.0);
        self.w_t * time + self.w_o * output + self.w_p * price
    }

    /// Returns `q0 + beta·q1 − lambda·cost − pi·penalty`, or `None` if a part is not finite, so that nothing can be
    /// compared.
    #[must_use]
    pub fn reward(&self, parts: Parts) -> Option<f64> {
        let q0 = if parts.passed { 1.0 } else { 0.0 };
        let q1 = parts.q1.unwrap_or(0.0);
        let sound = q1.is_finite() && parts.cost.is_finite() && parts.refusal_penalty.is_finite();
        let reward =
            q0 + self.beta * q1 - self.lambda * parts.cost - self.pi * parts.refusal_penalty;
        sound.then_some(reward)
    }
}

fn usual_w_p() -> f64 {
    1.0
}

fn usual_price() -> f64 {
    0.01
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde hands out references"
)]
fn is_usual_w_p(weight: &f64) -> bool {
    weight.to_bits() == usual_w_p().to_bits()
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde hands out references"
)]
fn is_usual_price(price: &f64) -> bool {
    price.to_bits() == usual_price().to_bits()
}

/// Returns the number in `metric_v1`; also in `v1`, the name in the published schema.
#[must_use]
pub fn version_number(name: &str) -> Option<u32> {
    let digits = name
        .strip_prefix("metric_")
        .unwrap_or(name)
        .strip_prefix('v')?;
    (!digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))
        .then(|| digits.parse().ok())
        .flatten()
}

/// Returns the name in the published schema, for example `v1`.
#[must_use]
pub fn schema_name(name: &str) -> String {
    name.strip_prefix("metric_").unwrap_or(name).to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(passed: bool, q1: f64, cost: f64, refusal_penalty: f64, expected: f64) {
        let reward = Metric::v1().reward(Parts {
            passed,
            q1: Some(q1),
            cost,
            refusal_penalty,
        });
        let reward = reward.expect("all parts are numbers");
        assert!((reward - expected).abs() < 1e-12, "{reward}");
    }

    #[test]
    fn the_worked_values_hold() {
        check(true, 0.71, 0.33, 0.0, 1.611);
        check(true, 0.9, 0.2, 0.0, 1.84);
        check(true, 0.0, 0.0, 1.0, 0.0);
        check(false, 0.3, 0.1, 0.0, 0.27);
        check(true, 0.85, 1.2, 0.5, 0.99);
    }

    #[test]
    fn what_is_no_number_has_no_reward() {
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let parts = Parts {
                passed: true,
                q1: None,
                cost: 0.0,
                refusal_penalty: 0.0,
            };
            assert_eq!(
                Metric::v1().reward(Parts {
                    q1: Some(bad),
                    ..parts
                }),
                None
            );
            assert_eq!(Metric::v1().reward(Parts { cost: bad, ..parts }), None);
            assert_eq!(
                Metric::v1().reward(Parts {
                    refusal_penalty: bad,
                    ..parts
                }),
                None
            );
        }
    }

    #[test]
    fn cost_stays_on_its_scale() {
        let metric = Metric::v1();
        for (time, tokens, price, cost) in [
            (5_000.0, 500, None, 0.6),
            (5_000.0, 500, Some(0.0), 0.6),
            (5_000.0, 500, Some(0.002_25), 0.825),
            (1e12, u64::MAX, Some(1e9), 2.2),
            (-5.0, 0, Some(-1.0), 0.0),
        ] {
            assert!((metric.cost(time, tokens, price) - cost).abs() < 1e-12);
        }
    }

    #[test]
    fn a_metric_is_data_with_a_hash() {
        let metric = Metric::v1();
        assert_eq!(Metric::parse(&metric.to_value()), Ok(metric.clone()));
        assert!(metric.to_value().get("w_p").is_none(), "older logs hold");
        for change in [
            |metric: &mut Metric| metric.lambda = 0.4,
            |metric: &mut Metric| metric.w_p = 2.0,
            |metric: &mut Metric| metric.price_ref_usd = 0.1,
        ] {
            let mut other = metric.clone();
            change(&mut other);
            assert_ne!(metric.hash(), other.hash());
            assert_eq!(Metric::parse(&other.to_value()), Ok(other));
        }
    }

    #[test]
    fn a_metric_that_would_reward_speed_is_refused() {
        for (field, value) in [
            ("lambda", json!(-0.1)),
            ("t_ref_ms", json!(0)),
            ("beta", json!(1e308)),
            ("pi", json!(1_000.1)),
            ("tokens_ref", json!(1e-300)),
            ("t_ref_ms", json!(1e13)),
            ("w_p", json!(-1)),
            ("price_ref_usd", json!(0)),
            ("alpha_q1", json!(1.5)),
            ("metric_version", json!("latest")),
            ("similarity", json!("vibes")),
        ] {
            let mut bad = Metric::v1().to_value();
            bad[field] = value;
            assert_eq!(Metric::parse(&bad).unwrap_err().field, field);
        }
        let mut more = Metric::v1().to_value();
        more["speed_bonus"] = json!(1);
        assert!(Metric::parse(&more).is_err());
    }

    #[test]
    fn both_spellings_of_a_version_are_read() {
        assert_eq!(version_number("metric_v12"), Some(12));
        assert_eq!(version_number("v3"), Some(3));
        for bad in ["metric_1", "v", "v1.2", "vx", "", "metric_v", "v-1"] {
            assert_eq!(version_number(bad), None, "{bad}");
        }
        assert_eq!(schema_name("metric_v1"), "v1");
    }
}
