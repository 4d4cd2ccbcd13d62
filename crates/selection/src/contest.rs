//! What comes of a contest: every candidate's cost and reward, the winner, and the lines that are kept of it.
//!
//! While one metric replaces another both rewards are computed and the mixed one decides, as [`crate::migration`] has it.

use std::collections::BTreeMap;

use crate::metric::{Metric, Parts};
use crate::migration::Migration;
use crate::run_log::{More, Record, is_right};
use crate::verifier::Outcome;
use crate::winner::{self, Run};

/// One candidate's execution, as it was measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// Whose output it is.
    pub model_id: String,
    /// Which version of it; empty for the general model, which has none.
    pub version: String,
    /// Whether that version is stable.
    pub stable: bool,
    /// What the verifier said.
    pub outcome: Outcome,
    /// The task's score, when a right output is known.
    pub q1: Option<f64>,
    /// The score against the general model's answer, when that is known.
    pub agreement: Option<f64>,
    /// Set when the version declares no verifier.
    pub unverified: bool,
    /// What it cost in US dollars, where a price is known.
    pub price_usd: Option<f64>,
    /// The refusal penalty.
    pub refusal_penalty: f64,
    /// Time on the wire, the median of the measurements.
    pub time_ms: u64,
    /// Tokens in.
    pub input_tokens: u64,
    /// Tokens out.
    pub output_tokens: u64,
    /// SHA-256 of the output, when there was one.
    pub output_hash: Option<String>,
    /// `warm` or `cold`.
    pub cache_state: Option<String>,
    /// Whether the measurements brought different outputs.
    pub nondeterministic: bool,
}

/// What holds: the metric, and the one before it with its share while both count.
#[derive(Clone, Copy, Debug)]
pub struct Scale<'a> {
    /// The metric.
    pub metric: &'a Metric,
    /// The old metric and its share.
    pub mixed: Option<(&'a Metric, f64)>,
}

/// A candidate with its worth.
#[derive(Clone, Debug, PartialEq)]
pub struct Placed {
    /// What was measured; an output whose numbers are none counts as failed here.
    pub measured: Measured,
    /// The cost.
    pub cost: f64,
    /// What it was worth.
    pub reward: f64,
    /// Its worth under both metrics, while both count.
    pub rewards: Option<BTreeMap<String, f64>>,
}

/// A contest that was held.
#[derive(Clone, Debug, PartialEq)]
pub struct Held {
    /// All candidates, in the order in which they were given.
    pub placed: Vec<Placed>,
    /// Place of the winner in it; nobody when all failed.
    pub winner: Option<usize>,
}

/// What the lines of a contest have in common.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Common {
    /// When, RFC 3339 in UTC.
    pub timestamp: String,
    /// The input's hash.
    pub prompt_hash: String,
    /// The contest's id.
    pub run_id: String,
    /// The role.
    pub role: String,
    /// `serve` or `learn`.
    pub mode: String,
    /// Which fallback served, when nobody won.
    pub fallback: Option<String>,
    /// The dispatch, as its receipt names it.
    pub trace_id: String,
    /// Fields of ours that not every contest has.
    pub further: serde_json::Map<String, serde_json::Value>,
}

impl Placed {
    /// Whether no known answer speaks against it.
    #[must_use]
    pub fn is_right(&self) -> bool {
        is_right(self.measured.q1)
    }
}

impl Held {
    /// The winner.
    #[must_use]
    pub fn winner(&self) -> Option<&Placed> {
        self.placed.get(self.winner?)
    }

    /// The best among those that `may`, by the same rule: when the winner itself may not be served.
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

    /// The lines of the run log, not yet linked.
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

/// The old metric has a cost of its own; the line's is the new one's.
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
