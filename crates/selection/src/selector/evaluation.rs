//! How good a selector is on contests that it has not seen: how often it names the winner, how much worth it gives away,
//! and whether its scores mean what they say.

use statistics::rate::{Rate, rate};
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Example, Selector, soft_labels};

/// Bins of the calibration.
const BINS: usize = 10;

/// What was found. Only contests that somebody won count: where all failed nobody could have been chosen.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Evaluation {
    /// Held-out contests with a winner.
    pub contests: u64,
    /// Of them, how often the chosen model was a best one.
    pub right: u64,
    /// Mean worth of the chosen model; one that failed or was not known is worth nothing.
    pub chosen_reward: f64,
    /// Mean worth of the best model of each contest.
    pub best_reward: f64,
    /// Mean distance between score and outcome, from 0 to 1.
    pub calibration_error: f64,
    /// How often each model was chosen where each one was best: by best, then by chosen.
    pub confusion: BTreeMap<String, BTreeMap<String, u64>>,
}

/// What stands in the confusion when no model was chosen.
const NOBODY: &str = "(nobody)";

impl Evaluation {
    /// How often the choice was right, with its bounds.
    #[must_use]
    pub fn accuracy(&self) -> Rate {
        rate(self.right, self.contests)
    }

    /// The worth of all choices together.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a count of contests")]
    pub fn total(&self) -> f64 {
        self.chosen_reward * self.contests as f64
    }
}

/// Tries a selector on held-out contests. It chooses among those that took part. Without a selector nobody is chosen.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "a count of contests")]
pub fn evaluate(selector: Option<&Selector>, held_out: &[Example]) -> Evaluation {
    let mut found = Evaluation::default();
    let mut bins = [(0.0_f64, 0.0_f64, 0_u64); BINS];
    for example in held_out {
        let Some((best, best_reward)) = example.best() else {
            continue;
        };
        let took_part = example.rewards.keys().map(String::as_str);
        let chosen = selector.and_then(|selector| selector.choose(&example.features, took_part));
        let reward = chosen.and_then(|chosen| example.rewards.get(chosen).copied().flatten());
        found.contests += 1;
        found.right += u64::from(reward.is_some_and(|reward| reward >= best_reward));
        found.chosen_reward += reward.unwrap_or(0.0);
        found.best_reward += best_reward;
        let row = found.confusion.entry(best.to_owned()).or_default();
        *row.entry(chosen.unwrap_or(NOBODY).to_owned()).or_insert(0) += 1;
        for (model, label) in soft_labels(&example.rewards) {
            let score = selector.and_then(|selector| selector.score(&example.features, model));
            fill(&mut bins, f64::from(score.unwrap_or(0.0)), label);
        }
    }
    let n = (found.contests as f64).max(1.0);
    found.chosen_reward /= n;
    found.best_reward /= n;
    found.calibration_error = calibration(&bins);
    found
}

fn fill(bins: &mut [(f64, f64, u64); BINS], score: f64, label: f64) {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a score from 0 to 1 picks one of ten bins"
    )]
    let at = ((score * BINS as f64) as usize).min(BINS - 1);
    if let Some((scores, labels, n)) = bins.get_mut(at) {
        *scores += score;
        *labels += label;
        *n += 1;
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of scores")]
fn calibration(bins: &[(f64, f64, u64); BINS]) -> f64 {
    let total: u64 = bins.iter().map(|(_, _, n)| n).sum();
    if total == 0 {
        return 0.0;
    }
    let off = bins
        .iter()
        .map(|(scores, labels, _)| (scores - labels).abs());
    off.sum::<f64>() / total as f64
}
