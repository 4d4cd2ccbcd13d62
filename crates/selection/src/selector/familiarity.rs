//! Threshold of familiarity: the share of known words from which an input is like the training inputs.

use std::collections::{BTreeSet, HashMap};

use super::features::Features;
use super::linear::number;

/// Threshold while next to no words are known.
const MOSTLY: f64 = 0.5;
/// Least number of inputs for a quantile.
const LEAST_INPUTS: usize = 10;
/// Number of recurring words at which the training inputs count as much as [`MOSTLY`].
const VOCABULARY: f64 = 1000.0;
/// Share of the training inputs that would have been unfamiliar.
const UNFAMILIAR_SHARE: f64 = 0.005;
/// Deviations below the mean of a normal distribution at which the same share lies.
const UNFAMILIAR_DEVIATIONS: f64 = 2.576;

/// Returns how familiar each input is by the others, and the threshold of familiarity.
pub(super) fn of(all: &[&Features]) -> (Vec<f64>, f64) {
    let words = |one: &&Features| one.words().iter().copied().collect();
    let inputs: Vec<BTreeSet<u64>> = all.iter().map(words).collect();
    // An input that occurs twice is one input: it must not vouch for its own words.
    let distinct: BTreeSet<&BTreeSet<u64>> = inputs.iter().collect();
    let once = spread(distinct.iter().copied());
    let recurring = once.values().filter(|inputs| **inputs > 1).count();
    let familiar_from = familiar_from(&elsewhere(all, &once), recurring, distinct.len());
    (elsewhere(all, &spread(&inputs)), familiar_from)
}

/// Counts the inputs in which each word occurs.
fn spread<'a>(inputs: impl IntoIterator<Item = &'a BTreeSet<u64>>) -> HashMap<u64, u32> {
    let mut spread = HashMap::new();
    for word in inputs.into_iter().flatten() {
        *spread.entry(*word).or_insert(0) += 1;
    }
    spread
}

/// Returns how familiar each input would be had it not been learned from: the share of its words that others have
/// too.
fn elsewhere(all: &[&Features], spread: &HashMap<u64, u32>) -> Vec<f64> {
    let share = |features: &&Features| {
        let common = |word: &&u64| spread.get(word).is_some_and(|inputs| *inputs > 1);
        let found = features.words().iter().filter(common).count();
        number(found) / number(features.words().len()).max(1.0)
    };
    all.iter().map(share).collect()
}

/// Returns the threshold of familiarity: the quantile of the list, drawn towards [`MOSTLY`] if few words recur.
/// Inputs of one template have no unknown words, however many they are, and so say nothing about how many an ordinary
/// request has.
pub(super) fn familiar_from(shares: &[f64], recurring: usize, inputs: usize) -> f64 {
    if inputs < LEAST_INPUTS {
        return MOSTLY;
    }
    let weight = number(recurring) / (number(recurring) + VOCABULARY);
    let quantile = quantile(shares);
    quantile.min(MOSTLY + (quantile - MOSTLY) * weight)
}

/// Returns the familiarity that [`UNFAMILIAR_SHARE`] of the list lies below: as counted, or by a normal distribution
/// if that is less, because the lowest of a few says little.
fn quantile(shares: &[f64]) -> f64 {
    let mut sorted = shares.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = number(sorted.len()).max(1.0);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "an index into the list"
    )]
    let at = (n * UNFAMILIAR_SHARE) as usize;
    let mean = sorted.iter().sum::<f64>() / n;
    let square = sorted
        .iter()
        .map(|share| (share - mean).powi(2))
        .sum::<f64>()
        / n;
    let curve = mean - UNFAMILIAR_DEVIATIONS * square.sqrt();
    sorted.get(at).copied().unwrap_or(0.0).min(curve).max(0.0)
}
