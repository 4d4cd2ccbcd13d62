//! Result of a contest: every candidate's cost and reward, the winner, and the lines of the run log.
//!
//! While one metric replaces another, both rewards are computed and the mixed one decides; see [`crate::migration`].

use std::collections::BTreeMap;

use crate::metric::{Metric, Parts};
use crate::migration::Migration;
use crate::run_log::{More, Record, is_right};
use crate::verifier::Outcome;
use crate::winner::{self, Run};

/// Measurements of one candidate's execution.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// Model of the output.
    pub model_id: String,
    /// Version of the model; empty for the general model, which has none.
    pub version: String,
    /// Set if that version is stable.
    pub stable: bool,
    /// Result of the verifier.
    pub outcome: Outcome,
    /// Score of the task, if a right output is known.
    pub q1: Option<f64>,
    /// Score against the general model's answer, if that is known.
    pub agreement: Option<f64>,
    /// Set when the version declares no verifier.
    pub unverified: bool,
    /// Price in US dollars, if it is known.
    pub price_usd: Option<f64>,
    /// Penalty for a refusal, from 0 to 1.
    pub refusal_penalty: f64,
    /// Time on the wire, the median of the measurements.
    pub time_ms: u64,
    /// Number of input tokens.
    pub input_tokens: u64,
    /// Number of output tokens.
    pub output_tokens: u64,
    /// SHA-256 of the output, if there was one.
    pub output_hash: Option<String>,
    /// `warm` or `cold`.
    pub cache_state: Option<String>,
    /// Set if the measurements gave different outputs.
    pub nondeterministic: bool,
}

/// Metrics in force: the current one, and the one before it with its share while both count.
#[derive(Clone, Copy, Debug)]
pub struct Scale<'a> {
    pub metric: &'a Metric,
    /// The old metric and its share.
    pub mixed: Option<(&'a Metric, f64)>,
}

/// A candidate with its reward.
#[derive(Clone, Debug, PartialEq)]
pub struct Placed {
    /// The measurements; an output with a number that is not finite counts as failed.
    pub measured: Measured,
    pub cost: f64,
    /// Reward under the metrics in force.
    pub reward: f64,
    /// Rewards under both metrics, while both count.
    pub rewards: Option<BTreeMap<String, f64>>,
}

/// A finished contest.
#[derive(Clone, Debug, PartialEq)]
pub struct Held {
    /// All candidates, in the order in which they were given.
    pub placed: Vec<Placed>,
    /// Index of the winner in `placed`; `None` if all failed.
    pub winner: Option<usize>,
}

/// Fields that the lines of a contest share.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Common {
    /// Time of the contest, RFC 3339 in UTC.
    pub timestamp: String,
    /// Hash of the input.
    pub prompt_hash: String,
    /// Id of the contest.
    pub run_id: String,
    pub role: String,
    /// `serve` or `learn`.
    pub mode: String,
    /// Fallback that served, if no candidate won.
    pub fallback: Option<String>,
    /// Id of the dispatch, as in its receipt.
    pub trace_id: String,
    /// Our own optional fields.
    pub further: serde_json::Map<String, serde_json::Value>,
}

impl Placed {
    /// Returns `true` if the answer is right, or no right answer is known.
    #[must_use]
    pub fn is_right(&self) -> bool {
        is_right(self.measured.q1)
    }
}

impl Held {
    /// Returns the winner.
    #[must_use]
    pub fn winner(&self) -> Option<&Placed> {
        self.placed.get(self.winner?)
    }

    /// Returns the best of the candidates that `may` accepts, by the same rule: for the case that the winner itself
    /// may not be served.
    #[must_use]
    pub fn best(&self, scale: Scale<'_>, may: impl Fn(&Measured) -> bool) -> Option<usize> {
        let hidden = |placed: &Placed| {
            let mut measured = placed.measured.clone();
            if !may(&measured) {
                measured.outcome = Outcome::Fail("may not be served".to_owned());
            }
            measured
        };
        hold(scale, self.placed.iter().map(hidden).collect()).winner
    }

    /// Returns the lines of the run log, not yet linked.
    #[must_use]
    pub fn records(&self, scale: Scale<'_>, common: &Common) -> Vec<Record> {
        let winner = self.winner().map(|placed| &placed.measured);
        let record = |(index, placed): (usize, &Placed)| {
            let measured = &placed.measured;
            Record {
                timestamp: common.timestamp.clone(),
                prompt_hash: common.prompt_hash.clone(),
                model_id: measured.model_id.clone(),
                metric_version: scale.metric.metric_version.clone(),
                verifier_result: measured.outcome.as_str().to_owned(),
                q0: u8::from(measured.outcome.passed()),
                q1: measured.q1,
                cost: placed.cost,
                refusal_penalty: measured.refusal_penalty,
                reward: placed.reward,
                winner_model_id: winner.map(|winner| winner.model_id.clone()),
                more: More {
                    run_id: Some(common.run_id.clone()),
                    candidate_index: u32::try_from(index).ok(),
                    winner_version: winner.and_then(|winner| named(&winner.version)),
                    version: named(&measured.version),
                    role: Some(common.role.clone()),
                    time_ms: Some(measured.time_ms),
                    input_tokens: Some(measured.input_tokens),
                    output_tokens: Some(measured.output_tokens),
                    output_hash: measured.output_hash.clone(),
                    cache_state: measured.cache_state.clone(),
                    mode: Some(common.mode.clone()),
                    fallback: common.fallback.clone(),
                    nondeterministic: measured.nondeterministic.then_some(true),
                    price_usd: measured.price_usd,
                    agreement: measured.agreement,
                    unverified: measured.unverified.then_some(true),
                    trace_id: named(&common.trace_id),
                    input_form: None,
                    stable: Some(measured.stable),
                    metric_hash: Some(scale.metric.hash()),
                    rewards: placed.rewards.clone(),
                    mix_alpha: scale.mixed.map(|(_, alpha)| alpha),
                    prev: None,
                    unknown: common.further.clone(),
                },
            }
        };
        self.placed.iter().enumerate().map(record).collect()
    }
}

fn named(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

/// Scores all candidates and finds the winner.
#[must_use]
pub fn hold(scale: Scale<'_>, measured: Vec<Measured>) -> Held {
    let metric = scale.metric;
    let run = |one: &Measured| Run {
        model_id: one.model_id.clone(),
        outcome: one.outcome.clone(),
        q1: one.q1,
        cost: cost(metric, one),
        refusal_penalty: one.refusal_penalty,
        stable: one.stable,
    };
    let contest = winner::decide(metric, measured.iter().map(run).collect());
    let mut placed: Vec<Placed> = measured
        .into_iter()
        .zip(contest.scored)
        .map(|(mut measured, scored)| {
            measured.outcome = scored.run.outcome;
            Placed {
                measured,
                cost: scored.run.cost,
                reward: scored.reward,
                rewards: None,
            }
        })
        .collect();
    let Some((old, alpha)) = scale.mixed else {
        return Held {
            placed,
            winner: contest.winner,
        };
    };
    for one in &mut placed {
        mix(one, metric, old, alpha);
    }
    let winner = placed
        .iter()
        .enumerate()
        .rev()
        .filter(|(_, one)| one.measured.outcome.passed())
        .max_by(|(_, one), (_, other)| one.reward.total_cmp(&other.reward))
        .map(|(at, _)| at);
    Held { placed, winner }
}

#[expect(clippy::cast_precision_loss, reason = "milliseconds of one run")]
fn cost(metric: &Metric, measured: &Measured) -> f64 {
    metric.cost(
        measured.time_ms as f64,
        measured.output_tokens,
        measured.price_usd,
    )
}

/// Mixes the rewards of both metrics. The old metric has a cost of its own; the line has the new one's.
fn mix(placed: &mut Placed, new: &Metric, old: &Metric, alpha: f64) {
    let measured = &placed.measured;
    let before = old.reward(Parts {
        passed: measured.outcome.passed(),
        q1: measured.q1,
        cost: cost(old, measured),
        refusal_penalty: measured.refusal_penalty,
    });
    let before = before.unwrap_or(0.0);
    placed.rewards = Some(BTreeMap::from([
        (old.metric_version.clone(), before),
        (new.metric_version.clone(), placed.reward),
    ]));
    placed.reward = Migration::mix(alpha, before, placed.reward);
}

#[cfg(test)]
mod tests;
