//! The linear part: weights of features, learned for one version at a time from acceptable and unacceptable answers.
//!
//! Logistic loss with a quadratic pull to 0, by stochastic dual coordinate ascent: no step size, the same examples
//! give the same weights. A feature counts by its rarity and by how unevenly it is spread over the two kinds of
//! answers; that makes a few hundred examples enough for thousands of words.

use std::collections::HashMap;

use super::calibration::sigmoid;
use super::features::Features;
use super::table::{self, Table};

/// Strength of the pull to 0.
const PULL: f64 = 10.0;
/// Number of passes over the examples.
const EPOCHS: usize = 20;
/// Number of passes over many examples.
const EPOCHS_OF_MANY: usize = 6;
/// Number of examples above which they are many.
pub(super) const MANY: usize = 4_000;
/// Weight of a feature that is not a word.
const OTHER: f64 = 0.5;
/// Limit of features that are kept.
pub(super) const MAX_ROWS: usize = 1 << 18;

/// The examples as numbers.
pub(super) struct Matrix {
    /// The features, in order; each is one row of the weights.
    pub(super) keys: Vec<u64>,
    /// Value of one occurrence of each feature, before the length of its text is taken into account.
    pub(super) values: Vec<f64>,
    examples: Vec<Vec<(usize, f64)>>,
}

impl Matrix {
    /// Builds the matrix of all examples: every word, and other features that occur in two of them; of too many, the
    /// most frequent.
    pub(super) fn of(all: &[&Features], most: usize) -> Self {
        let counted: Vec<Vec<(u64, f64)>> = all.iter().map(|one| counted(one)).collect();
        let mut spread: HashMap<u64, u32> = HashMap::new();
        for (key, _) in counted.iter().flatten() {
            *spread.entry(*key).or_insert(0) += 1;
        }
        let mut kept: Vec<(u64, u32)> = spread
            .into_iter()
            .filter(|(key, texts)| table::is_word(*key) || *texts > 1)
            .collect();
        if kept.len() > most {
            kept.sort_by_key(|(key, texts)| (std::cmp::Reverse(*texts), *key));
            kept.truncate(most);
        }
        kept.sort_unstable();
        let (keys, texts): (Vec<u64>, Vec<u32>) = kept.into_iter().unzip();
        let n = number(all.len());
        let value = |(key, texts): (&u64, &u32)| {
            let rarity = 0.1 + ((n + 1.0) / f64::from(*texts)).ln();
            rarity * if table::is_word(*key) { 1.0 } else { OTHER }
        };
        let mut values: Vec<f64> = keys.iter().zip(&texts).map(value).collect();
        let table = Table::of(&keys);
        let row = |(key, times): &(u64, f64), length: f64| {
            let row = table.row(*key)?;
            Some((row, times * values.get(row)? / length))
        };
        let mut examples: Vec<Vec<(usize, f64)>> = counted
            .iter()
            .zip(all)
            .map(|(counted, one)| {
                let length = length(one);
                counted.iter().filter_map(|one| row(one, length)).collect()
            })
            .collect();
        let squares = examples.iter().flatten().map(|(_, x)| x * x);
        let scale = (n / squares.sum::<f64>().max(1e-12)).sqrt();
        values.iter_mut().for_each(|value| *value *= scale);
        examples.iter_mut().flatten().for_each(|(_, x)| *x *= scale);
        Self {
            keys,
            values,
            examples,
        }
    }

    /// Returns the weights for labels by example; an example without a label teaches nothing.
    pub(super) fn weights(&self, labels: &[Option<bool>]) -> Vec<f64> {
        let labelled = labels.iter().flatten();
        let right = number(labelled.clone().filter(|is| **is).count());
        let n = number(labelled.count());
        let (start, gains) = (((right + 1.0) / (n - right + 1.0)).ln(), self.gains(labels));
        let mut weights = vec![0.0; self.keys.len()];
        let mut duals = vec![0.0; labels.len()];
        let epochs = if labels.len() > MANY {
            EPOCHS_OF_MANY
        } else {
            EPOCHS
        };
        for _ in 0..epochs {
            for ((example, label), dual) in self.examples.iter().zip(labels).zip(&mut duals) {
                let Some(label) = label else { continue };
                let side = if *label { 1.0 } else { -1.0 };
                let (mut score, mut size) = (start, 0.0);
                for (row, x) in example {
                    if let (Some(weight), Some(gain)) = (weights.get(*row), gains.get(*row)) {
                        score += weight * x;
                        size += gain * x * x;
                    }
                }
                let step = (side * sigmoid(-side * score) - *dual) / (0.25 + size).max(1.0);
                *dual += step;
                for (row, x) in example {
                    if let (Some(weight), Some(gain)) = (weights.get_mut(*row), gains.get(*row)) {
                        *weight += step * gain * x;
                    }
                }
            }
        }
        weights
    }

    /// Returns how fast each feature's weight may grow: by the square of its log ratio between the two kinds of
    /// answers.
    fn gains(&self, labels: &[Option<bool>]) -> Vec<f64> {
        let mut counts = vec![(0.0_f64, 0.0_f64); self.keys.len()];
        let (mut right, mut all) = (1.0, 2.0);
        for (example, label) in self.examples.iter().zip(labels) {
            let Some(label) = label else { continue };
            let one = f64::from(u8::from(*label));
            right += one;
            all += 1.0;
            for (row, _) in example {
                if let Some(count) = counts.get_mut(*row) {
                    count.0 += one;
                    count.1 += 1.0 - one;
                }
            }
        }
        let base = right / all;
        let ratio = |(right, wrong): &(f64, f64)| {
            ((right + base) / (wrong + 1.0 - base)).ln() - (base / (1.0 - base)).ln()
        };
        let squares: Vec<f64> = counts.iter().map(|count| ratio(count).powi(2)).collect();
        let of = |(row, x): &(usize, f64)| squares.get(*row).map_or(0.0, |square| square * x * x);
        let total: f64 = self.examples.iter().flatten().map(of).sum();
        let scale = number(self.examples.len()) / total.max(1e-12) / PULL;
        squares.into_iter().map(|square| square * scale).collect()
    }

    /// Returns the raw score of an example.
    pub(super) fn raw(&self, weights: &[f64], example: usize) -> f64 {
        let terms = self.examples.get(example).into_iter().flatten();
        terms
            .map(|(row, x)| weights.get(*row).map_or(0.0, |weight| weight * x))
            .sum()
    }
}

/// Returns the length to divide by. Longer texts say more of a feature, and more by chance: the root of the number of
/// words keeps chance alike.
pub(super) fn length(features: &Features) -> f64 {
    number(features.words().len()).sqrt().max(1.0)
}

/// Returns the features of an input in order, with the count of each.
fn counted(features: &Features) -> Vec<(u64, f64)> {
    let mut keys: Vec<u64> = table::keys(features).collect();
    keys.sort_unstable();
    let runs = keys.chunk_by(|one, other| one == other);
    let run = |run: &[u64]| Some((*run.first()?, number(run.len())));
    runs.filter_map(run).collect()
}

#[expect(clippy::cast_precision_loss, reason = "counts of examples and words")]
pub(super) fn number(count: usize) -> f64 {
    count as f64
}
