//! How good a selector is on contests that it has not seen: how often it names the winner, how much worth it gives away,
//! and whether its scores mean what they say.

use std::collections::BTreeMap;

use super::{Example, Selector};
use crate::statistics::{Rate, rate};

/// Bins of the calibration.
const BINS: usize = 10;

/// What was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Evaluation {
    /// How often the chosen model was a best one.
    pub accuracy: Rate,
    /// Mean worth of the chosen model.
    pub chosen_reward: f64,
    /// Mean worth of the best model of each contest.
    pub best_reward: f64,
    /// Mean distance between score and outcome, from 0 to 1.
    pub calibration_error: f64,
    /// How often each model was chosen where each one was best: `(best, chosen)`.
    pub confusion: BTreeMap<(String, String), u64>,
}

/// Tries a selector on held-out contests.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "a count of contests")]
pub fn evaluate(selector: &Selector, held_out: &[Example]) -> Evaluation {
    let mut confusion: BTreeMap<(String, String), u64> = BTreeMap::new();
    let (mut right, mut chosen_sum, mut best_sum) = (0, 0.0, 0.0);
    let mut bins = [(0.0_f64, 0_u64, 0_u64); BINS];
    for example in held_out {
        let best = example
            .rewards
            .iter()
            .max_by(|one, other| one.1.total_cmp(other.1));
        let (Some((best, best_reward)), Some(chosen)) = (best, selector.choose(&example.features))
        else {
            continue;
        };
        let reward = example.rewards.get(chosen).copied().unwrap_or(0.0);
        right += u64::from(reward >= *best_reward);
        chosen_sum += reward;
        best_sum += best_reward;
        *confusion
            .entry((best.clone(), chosen.to_owned()))
            .or_insert(0) += 1;
        for (model, score) in selector
            .models()
            .iter()
            .zip(selector.scores(&example.features))
        {
            fill(&mut bins, f64::from(score), model == best);
        }
    }
    let count = held_out.len() as u64;
    let n = (count as f64).max(1.0);
    Evaluation {
        accuracy: rate(right, count),
        chosen_reward: chosen_sum / n,
        best_reward: best_sum / n,
        calibration_error: calibration(&bins),
        confusion,
    }
}

fn fill(bins: &mut [(f64, u64, u64); BINS], score: f64, hit: bool) {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a score from 0 to 1 picks one of ten bins"
    )]
    let at = ((score * BINS as f64) as usize).min(BINS - 1);
    if let Some((sum, hits, n)) = bins.get_mut(at) {
        *sum += score;
        *hits += u64::from(hit);
        *n += 1;
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of scores")]
fn calibration(bins: &[(f64, u64, u64); BINS]) -> f64 {
    let total: u64 = bins.iter().map(|(_, _, n)| n).sum();
    if total == 0 {
        return 0.0;
    }
    let off = bins.iter().map(|(sum, hits, _)| (sum - *hits as f64).abs());
    off.sum::<f64>() / total as f64
}
