//! Prediction of acceptable answers: one independent, calibrated probability per version, learned from past contests,
//! and a check that the input is like those at all.
//!
//! Small and deterministic: the same log gives the same bytes, an input is read once for all versions, and prompts
//! are not kept, only their hashed features. Reading order: [`features`] (features of an input), `linear` and
//! [`calibration`] (learning and meaning of a score), [`examples`] (training data), [`evaluation`] and [`curve`]
//! (quality of the result), [`book`] (the file).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub mod book;
pub mod calibration;
pub mod curve;
pub mod evaluation;
pub mod examples;
mod familiarity;
pub mod features;
mod linear;
mod table;

pub use book::Book;
pub use features::Features;

use calibration::Calibration;
use linear::{MANY, MAX_ROWS, Matrix, length, number};
use table::Table;

/// Number of parts of the examples; each part is scored by weights learned from the others.
const PARTS: u64 = 5;
/// Least number of labelled answers of a version to learn from.
pub const LEAST_LABELS: u64 = 10;
/// Limit of versions of one role.
const MAX_VERSIONS: usize = 1024;
/// Limit of weights that are kept.
const MAX_WEIGHTS: usize = 1 << 24;

/// Training example from one contest.
#[derive(Clone, Debug, PartialEq)]
pub struct Example {
    /// Features of the input.
    pub features: Features,
    /// Outcome of each version's answer, by the version's id.
    pub outcomes: BTreeMap<String, Outcome>,
    /// Outcome of the general model's answer, if it took part.
    pub general: Option<Outcome>,
}

/// Outcome of an answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// Set if the answer was acceptable; `None` if that is unknown.
    pub acceptable: Option<bool>,
    /// Reward under the metric.
    pub reward: f64,
    /// Its cost under the metric.
    pub cost: f64,
    /// Price in US dollars, if it is known.
    pub price_usd: Option<f64>,
}

/// Trained selector of one role.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "File", into = "File")]
pub struct Selector {
    versions: Vec<Known>,
    keys: Vec<u64>,
    /// Weights by feature, then by version: the weights of one feature lie together.
    weights: Vec<f32>,
    table: Table,
    familiar_from: f64,
    examples: u64,
}

/// Knowledge about one version.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Known {
    /// Id of the version.
    pub version: String,
    /// Number of answers that are labelled as acceptable or not.
    pub labels: u64,
    /// Number of those that were acceptable.
    pub acceptable: u64,
    calibration: Calibration,
    /// Mean reward of an answer that is not acceptable, and of one that is.
    rewards: [f64; 2],
}

impl Known {
    /// Returns the highest score that any input can have.
    #[must_use]
    pub fn highest(&self) -> f64 {
        self.calibration.highest()
    }
}

/// Score of one version for an input.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Score {
    /// Probability that its answer is acceptable.
    pub probability: f64,
    /// Expected reward of its answer.
    pub reward: f64,
}

/// Reason that a selector file cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadSelector {
    /// An earlier release wrote it.
    #[error("its format is `{0}`, which scores in another way; run `roleos selector train`")]
    Old(String),
    /// It is damaged, or not a selector file.
    #[error("the selector cannot be used: {0}")]
    Damaged(String),
}

/// Content of the file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    versions: Vec<Known>,
    familiar_from: f64,
    examples: u64,
    /// Hex: of each feature its key, then its weight for each version.
    rows: String,
}

/// Examples with scores that were not learned from them.
pub(crate) struct Tried {
    pub(crate) selector: Selector,
    /// Raw scores by version in the order of the selector, then by example.
    raw: Vec<Vec<Option<f64>>>,
    familiar: Vec<bool>,
}

impl Tried {
    /// Returns the score of a version for an example, or `None` if that was not tried or the input was unfamiliar.
    pub(crate) fn score(&self, version: &str, example: usize) -> Option<Score> {
        let at = self.selector.place(version)?;
        let known = self.familiar.get(example).copied().unwrap_or(false);
        let raw = self.raw.get(at)?.get(example).copied().flatten();
        Some(
            self.selector
                .versions
                .get(at)?
                .score(raw.filter(|_| known)?),
        )
    }

    /// Returns `true` if an example was tried at all.
    pub(crate) fn is_tried(&self, example: usize) -> bool {
        let tried = |raw: &Vec<Option<f64>>| raw.get(example).is_some_and(Option::is_some);
        self.raw.iter().any(tried)
    }
}

impl Known {
    fn score(&self, raw: f64) -> Score {
        let probability = self.calibration.at(raw);
        let [wrong, right] = self.rewards;
        Score {
            probability,
            reward: wrong + probability * (right - wrong),
        }
    }
}

impl Selector {
    /// Learns from examples, in their order.
    #[must_use]
    pub fn train(examples: &[Example]) -> Self {
        Self::try_out(examples).selector
    }

    /// Learns from examples and scores each by weights learned from the others; of many examples, only one part is
    /// scored.
    pub(crate) fn try_out(examples: &[Example]) -> Tried {
        let names = teachable(examples);
        let most = MAX_ROWS.min(MAX_WEIGHTS / names.len().max(1));
        let all: Vec<&Features> = examples.iter().map(|example| &example.features).collect();
        let matrix = Matrix::of(&all, most);
        let parts = if examples.len() > MANY { 1 } else { PARTS };
        let width = names.len();
        let mut weights = vec![0.0_f32; matrix.keys.len() * width];
        let (mut versions, mut raw) = (Vec::new(), Vec::new());
        for (at, name) in names.into_iter().enumerate() {
            let labels = labels(examples, &name);
            let tried = tried(&matrix, &labels, parts);
            for (row, weight) in matrix.weights(&labels).into_iter().enumerate() {
                let value = matrix.values.get(row).copied().unwrap_or(0.0);
                if let Some(place) = weights.get_mut(row * width + at) {
                    #[expect(clippy::cast_possible_truncation, reason = "a weight")]
                    let weight = (weight * value) as f32;
                    *place = weight;
                }
            }
            versions.push(known(examples, name, &labels, &tried));
            raw.push(tried);
        }
        let (shares, familiar_from) = familiarity::of(&all);
        let is_familiar = |share: &f64| *share > 0.0 && *share >= familiar_from;
        let selector = Self {
            versions,
            table: Table::of(&matrix.keys),
            keys: matrix.keys,
            weights,
            familiar_from,
            examples: examples.len() as u64,
        };
        Tried {
            selector,
            raw,
            familiar: shares.iter().map(is_familiar).collect(),
        }
    }

    /// Returns the known versions, in order.
    #[must_use]
    pub fn versions(&self) -> &[Known] {
        &self.versions
    }

    /// Returns the number of contests that it was trained on.
    #[must_use]
    pub fn examples(&self) -> u64 {
        self.examples
    }

    /// Returns the share of known words from which an input is familiar.
    #[must_use]
    pub fn familiar_from(&self) -> f64 {
        self.familiar_from
    }

    /// Reads an input, once for all versions.
    #[must_use]
    pub fn judge(&self, features: &Features) -> Judged<'_> {
        let mut raw = vec![0.0_f32; self.versions.len()];
        let (width, mut known) = (raw.len(), 0);
        for key in table::keys(features) {
            let Some(row) = self.table.row(key) else {
                continue;
            };
            known += usize::from(table::is_word(key));
            let weights = self.weights.get(row * width..(row + 1) * width);
            match (raw.as_mut_slice(), weights.unwrap_or_default()) {
                // Most roles have one version, for which a loop takes longer than the sum.
                ([sum], [weight]) => *sum += weight,
                (sums, weights) => {
                    let pairs = sums.iter_mut().zip(weights);
                    pairs.for_each(|(sum, weight)| *sum += weight);
                }
            }
        }
        Judged {
            selector: self,
            length: length(features),
            raw,
            familiarity: number(known) / number(features.words().len()).max(1.0),
        }
    }

    fn place(&self, version: &str) -> Option<usize> {
        let by_name = |known: &Known| known.version.as_str().cmp(version);
        self.versions.binary_search_by(by_name).ok()
    }
}

/// An input as read by a selector.
#[derive(Debug)]
pub struct Judged<'a> {
    selector: &'a Selector,
    length: f64,
    raw: Vec<f32>,
    familiarity: f64,
}

impl Judged<'_> {
    /// Returns the share of its words that were seen before.
    #[must_use]
    pub fn familiarity(&self) -> f64 {
        self.familiarity
    }

    /// Returns `true` if the input is like the training inputs. A text without a known word never is.
    #[must_use]
    pub fn is_familiar(&self) -> bool {
        self.familiarity > 0.0 && self.familiarity >= self.selector.familiar_from
    }

    /// Returns the score of a version for the input, or `None` if the version is unknown.
    #[must_use]
    pub fn score(&self, version: &str) -> Option<Score> {
        let at = self.selector.place(version)?;
        let raw = f64::from(*self.raw.get(at)?) / self.length;
        Some(self.selector.versions.get(at)?.score(raw))
    }
}

/// Returns the versions with enough labels, in order.
fn teachable(examples: &[Example]) -> Vec<String> {
    let mut labels: BTreeMap<&String, u64> = BTreeMap::new();
    for (version, outcome) in examples.iter().flat_map(|example| &example.outcomes) {
        *labels.entry(version).or_insert(0) += u64::from(outcome.acceptable.is_some());
    }
    let enough = labels.into_iter().filter(|(_, n)| *n >= LEAST_LABELS);
    enough
        .take(MAX_VERSIONS)
        .map(|(name, _)| name.clone())
        .collect()
}

fn labels(examples: &[Example], version: &str) -> Vec<Option<bool>> {
    let label = |example: &Example| example.outcomes.get(version)?.acceptable;
    examples.iter().map(label).collect()
}

/// Returns the raw score of each labelled example by weights that were not learned from it.
fn tried(matrix: &Matrix, labels: &[Option<bool>], parts: u64) -> Vec<Option<f64>> {
    let mut raw = vec![None; labels.len()];
    for wanted in 0..parts {
        let all = labels.iter().zip(0..);
        let others: Vec<Option<bool>> = all
            .map(|(label, at)| label.filter(|_| part(at) != wanted))
            .collect();
        let weights = matrix.weights(&others);
        for (at, (raw, label)) in raw.iter_mut().zip(labels).enumerate() {
            if label.is_some() && part(at as u64) == wanted {
                *raw = Some(matrix.raw(&weights, at));
            }
        }
    }
    raw
}

/// Returns the part that an example belongs to; inputs that come in turns are spread over all parts.
fn part(at: u64) -> u64 {
    (at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) % PARTS
}

fn known(
    examples: &[Example],
    version: String,
    labels: &[Option<bool>],
    tried: &[Option<f64>],
) -> Known {
    let scored = tried.iter().zip(labels);
    let scored: Vec<(f64, bool)> = scored
        .filter_map(|(raw, is)| Some(((*raw)?, (*is)?)))
        .collect();
    let mean = |wanted: bool| {
        let outcomes = examples
            .iter()
            .filter_map(|example| example.outcomes.get(&version));
        let rewards = outcomes
            .filter(|one| one.acceptable == Some(wanted))
            .map(|one| one.reward);
        let (sum, n) = rewards.fold((0.0, 0.0), |(sum, n), reward| (sum + reward, n + 1.0));
        (n > 0.0).then(|| sum / n)
    };
    let right = mean(true);
    let known = labels.iter().flatten();
    Known {
        labels: known.clone().count() as u64,
        acceptable: known.filter(|is| **is).count() as u64,
        calibration: Calibration::fit(&scored),
        rewards: [mean(false).unwrap_or(0.0), right.unwrap_or(0.0)],
        version,
    }
}

impl From<Selector> for File {
    fn from(selector: Selector) -> Self {
        let width = selector.versions.len();
        let mut rows = Vec::with_capacity(selector.keys.len() * (8 + 4 * width));
        for (row, key) in selector.keys.iter().enumerate() {
            rows.extend(key.to_be_bytes());
            let weights = selector.weights.get(row * width..(row + 1) * width);
            let bytes = weights.unwrap_or_default().iter();
            rows.extend(bytes.flat_map(|weight| weight.to_be_bytes()));
        }
        Self {
            versions: selector.versions,
            familiar_from: selector.familiar_from,
            examples: selector.examples,
            rows: hex::encode(rows),
        }
    }
}

impl TryFrom<File> for Selector {
    type Error = BadSelector;

    fn try_from(file: File) -> Result<Self, BadSelector> {
        let bad = |problem: &str| BadSelector::Damaged(problem.to_owned());
        let width = file.versions.len();
        if width > MAX_VERSIONS || !file.versions.is_sorted_by(|a, b| a.version < b.version) {
            return Err(bad("its versions are too many or not in order"));
        }
        let sound = |known: &Known| {
            known.calibration.is_sound() && known.rewards.iter().all(|reward| reward.is_finite())
        };
        if !file.versions.iter().all(sound) || !(0.0..=1.0).contains(&file.familiar_from) {
            return Err(bad("a level is no number from 0 to 1"));
        }
        let bytes = hex::decode(&file.rows).map_err(|_| bad("its weights are no hex digits"))?;
        let rows = bytes.chunks_exact(8 + 4 * width);
        if !rows.remainder().is_empty() || rows.len() > MAX_ROWS {
            return Err(bad("its weights do not fit its versions"));
        }
        let (mut keys, mut weights) = (Vec::new(), Vec::new());
        for row in rows {
            let (key, rest) = row
                .split_first_chunk::<8>()
                .ok_or_else(|| bad("a row is short"))?;
            keys.push(u64::from_be_bytes(*key));
            weights.extend(
                rest.as_chunks::<4>()
                    .0
                    .iter()
                    .copied()
                    .map(f32::from_be_bytes),
            );
        }
        if !keys.is_sorted_by(|one, other| one < other) {
            return Err(bad("its features are not in order"));
        }
        if weights.iter().any(|weight| !weight.is_finite()) {
            return Err(bad("a weight is no number"));
        }
        Ok(Self {
            versions: file.versions,
            table: Table::of(&keys),
            keys,
            weights,
            familiar_from: file.familiar_from,
            examples: file.examples,
        })
    }
}

#[cfg(test)]
mod tests;
