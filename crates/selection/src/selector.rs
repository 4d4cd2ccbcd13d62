//! Who is likely to win: a linear one-vs-all model on hashed words, trained from the rewards of past contests.
//!
//! Small and deterministic: the same log gives the same bytes, a text is scored against all models in one pass, and no
//! prompt has to be kept, only its hashed features. A text unlike everything it was trained on is said to be unfamiliar,
//! and then nobody's score counts.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub mod book;
pub mod evaluation;
pub mod examples;
pub mod features;

pub use book::Book;
pub use features::Features;

use features::BUCKETS;

/// Temperature of the soft labels.
pub const TEMPERATURE: f64 = 0.25;
/// How often the examples are gone through.
const EPOCHS: usize = 8;
/// Step of the descent at the start.
const RATE: f32 = 0.5;
/// Pull of the weights towards 0.
const DECAY: f32 = 1e-6;
/// This share of the trained texts is less familiar than the threshold.
const UNFAMILIAR_SHARE: f64 = 0.01;
/// A text with this share of known words is familiar, however narrow the trained ones were.
const FAMILIAR_ENOUGH: f32 = 0.8;
/// More models than this are no role's candidates.
const MAX_MODELS: usize = 1024;

/// What is learned from one contest.
#[derive(Clone, Debug, PartialEq)]
pub struct Example {
    /// The input.
    pub features: Features,
    /// Rewards by model; a candidate that failed has none.
    pub rewards: BTreeMap<String, Option<f64>>,
}

impl Example {
    /// The best model and its reward; nobody when all failed.
    #[must_use]
    pub fn best(&self) -> Option<(&str, f64)> {
        let passed = self
            .rewards
            .iter()
            .filter_map(|(model, reward)| Some((model.as_str(), (*reward)?)));
        passed.reduce(|best, next| if next.1 > best.1 { next } else { best })
    }
}

/// A trained selector of one role.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "File", into = "File")]
pub struct Selector {
    models: Vec<String>,
    /// By bucket, then by model: one bucket's weights lie together.
    weights: Vec<f32>,
    bias: Vec<f32>,
    /// Which buckets training saw.
    seen: Vec<bool>,
    familiar_from: f32,
    examples: u64,
}

/// A selector file that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the selector cannot be used: {0}")]
pub struct BadSelector(String);

/// As it lies in the file.
#[derive(Serialize, Deserialize)]
struct File {
    models: Vec<String>,
    bias: Vec<f32>,
    familiar_from: f32,
    examples: u64,
    /// Hex of the weights of each bucket that training saw.
    buckets: BTreeMap<u32, String>,
}

/// What each candidate should have scored: 1 for a clear winner, less where rewards are close, 0 for one that failed.
#[must_use]
pub fn soft_labels(rewards: &BTreeMap<String, Option<f64>>) -> BTreeMap<&str, f64> {
    let passed = rewards.values().flatten().copied();
    let best = passed.fold(f64::NEG_INFINITY, f64::max);
    let weight = |reward: Option<f64>| match reward {
        Some(reward) => ((reward - best) / TEMPERATURE).exp(),
        None => 0.0,
    };
    let sum: f64 = rewards.values().map(|reward| weight(*reward)).sum();
    rewards
        .iter()
        .map(|(model, reward)| {
            let share = if sum > 0.0 {
                weight(*reward) / sum
            } else {
                0.0
            };
            (model.as_str(), share)
        })
        .collect()
}

impl Selector {
    /// Learns from examples, in their order.
    #[must_use]
    pub fn train(examples: &[Example]) -> Self {
        let mut models: Vec<String> = examples
            .iter()
            .flat_map(|example| example.rewards.keys().cloned())
            .collect();
        models.sort();
        models.dedup();
        models.truncate(MAX_MODELS);
        let width = models.len();
        let mut selector = Self {
            models,
            weights: vec![0.0; BUCKETS * width],
            bias: vec![0.0; width],
            seen: vec![false; BUCKETS],
            familiar_from: 0.0,
            examples: examples.len() as u64,
        };
        for example in examples {
            for (bucket, _) in example.features.iter() {
                if let Some(seen) = selector.seen.get_mut(bucket) {
                    *seen = true;
                }
            }
        }
        let targets: Vec<Vec<Option<f32>>> = examples
            .iter()
            .map(|example| selector.targets(example))
            .collect();
        let (mut scores, mut errors) = (Vec::new(), vec![0.0; width]);
        for epoch in 0..EPOCHS {
            #[expect(clippy::cast_precision_loss, reason = "eight epochs")]
            let rate = RATE / (1.0 + epoch as f32);
            for (example, targets) in examples.iter().zip(&targets) {
                selector.raw(&example.features, &mut scores);
                for ((error, score), target) in errors.iter_mut().zip(&scores).zip(targets) {
                    *error = target.map_or(0.0, |target| rate * (target - sigmoid(*score)));
                }
                selector.step(&example.features, &errors);
            }
        }
        selector.familiar_from = selector.threshold(examples);
        selector
    }

    /// The label of each model for an example; none for a model that was no candidate.
    fn targets(&self, example: &Example) -> Vec<Option<f32>> {
        let labels = soft_labels(&example.rewards);
        #[expect(clippy::cast_possible_truncation, reason = "a probability")]
        let of = |model: &String| labels.get(model.as_str()).map(|label| *label as f32);
        self.models.iter().map(of).collect()
    }

    fn step(&mut self, features: &Features, errors: &[f32]) {
        for (bias, error) in self.bias.iter_mut().zip(errors) {
            *bias += 0.1 * error;
        }
        let width = self.models.len();
        for (bucket, value) in features.iter() {
            let Some(weights) = self.weights.get_mut(bucket * width..(bucket + 1) * width) else {
                continue;
            };
            for (weight, error) in weights.iter_mut().zip(errors) {
                *weight += error * value - DECAY * *weight;
            }
        }
    }

    /// Fills in the score of each model, before it is bent to lie between 0 and 1.
    fn raw(&self, features: &Features, scores: &mut Vec<f32>) {
        let width = self.models.len();
        scores.clear();
        scores.extend_from_slice(&self.bias);
        for (bucket, value) in features.iter() {
            let Some(weights) = self.weights.get(bucket * width..(bucket + 1) * width) else {
                continue;
            };
            for (score, weight) in scores.iter_mut().zip(weights) {
                *score += weight * value;
            }
        }
    }

    fn threshold(&self, examples: &[Example]) -> f32 {
        // How familiar would a trained text be had it not been trained on? Its own rare words would be unseen.
        let mut count = vec![0_u32; BUCKETS];
        for example in examples {
            for (bucket, _) in example.features.iter() {
                if let Some(count) = count.get_mut(bucket) {
                    *count = count.saturating_add(1);
                }
            }
        }
        let elsewhere = |bucket: usize| count.get(bucket).is_some_and(|count| *count > 1);
        let mut all: Vec<f32> = examples
            .iter()
            .map(|example| example.features.word_share(elsewhere))
            .collect();
        all.sort_by(f32::total_cmp);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "an index into the list"
        )]
        let at = (all.len() as f64 * UNFAMILIAR_SHARE) as usize;
        all.get(at).copied().unwrap_or(0.0).min(FAMILIAR_ENOUGH)
    }

    /// The models that it knows.
    #[must_use]
    pub fn models(&self) -> &[String] {
        &self.models
    }

    /// How many contests it was trained on.
    #[must_use]
    pub fn examples(&self) -> u64 {
        self.examples
    }

    /// The score of each model from 0 to 1, in the order of [`Selector::models`].
    #[must_use]
    pub fn scores(&self, features: &Features) -> Vec<f32> {
        let mut scores = Vec::new();
        self.raw(features, &mut scores);
        scores.iter_mut().for_each(|score| *score = sigmoid(*score));
        scores
    }

    /// One model's score; none when it was never trained on it.
    #[must_use]
    pub fn score(&self, features: &Features, model: &str) -> Option<f32> {
        let at = self
            .models
            .binary_search_by(|known| known.as_str().cmp(model));
        let (at, width) = (at.ok()?, self.models.len());
        let weight = |bucket: usize| self.weights.get(bucket * width + at).copied();
        let terms = features
            .iter()
            .map(|(bucket, value)| value * weight(bucket).unwrap_or(0.0));
        let bias = self.bias.get(at).copied().unwrap_or(0.0);
        Some(sigmoid(terms.fold(bias, |sum, term| sum + term)))
    }

    /// Whether a text is like what it was trained on; an unfamiliar one is out of distribution for everybody.
    #[must_use]
    pub fn familiar(&self, features: &Features) -> bool {
        let seen = |bucket: usize| self.seen.get(bucket).copied().unwrap_or(false);
        self.examples > 0 && features.word_share(seen) >= self.familiar_from
    }

    /// The best of some models for a text; nobody when it knows none of them. Ties go to the first name.
    #[must_use]
    pub fn choose<'a>(
        &self,
        features: &Features,
        among: impl IntoIterator<Item = &'a str>,
    ) -> Option<&'a str> {
        let scored = among
            .into_iter()
            .filter_map(|model| Some((model, self.score(features, model)?)));
        scored
            .reduce(|best, next| match next.1.total_cmp(&best.1) {
                Ordering::Greater => next,
                Ordering::Equal if next.0 < best.0 => next,
                _ => best,
            })
            .map(|(model, _)| model)
    }
}

impl From<Selector> for File {
    fn from(selector: Selector) -> Self {
        let width = selector.models.len();
        let row = |bucket: usize| {
            let weights = selector
                .weights
                .get(bucket * width..(bucket + 1) * width)
                .unwrap_or_default();
            let bytes: Vec<u8> = weights
                .iter()
                .flat_map(|weight| weight.to_le_bytes())
                .collect();
            Some((u32::try_from(bucket).ok()?, hex::encode(bytes)))
        };
        let seen = selector.seen.iter().enumerate().filter(|(_, seen)| **seen);
        let buckets = seen.filter_map(|(bucket, _)| row(bucket)).collect();
        Self {
            buckets,
            models: selector.models,
            bias: selector.bias,
            familiar_from: selector.familiar_from,
            examples: selector.examples,
        }
    }
}

impl TryFrom<File> for Selector {
    type Error = BadSelector;

    fn try_from(file: File) -> Result<Self, BadSelector> {
        let bad = |problem: &str| BadSelector(problem.to_owned());
        let width = file.models.len();
        if width > MAX_MODELS || file.bias.len() != width {
            return Err(bad("its models and its biases do not fit"));
        }
        if !file.models.is_sorted_by(|one, other| one < other) {
            return Err(bad("its models are not in order"));
        }
        let mut weights = vec![0.0; BUCKETS * width];
        let mut seen = vec![false; BUCKETS];
        for (bucket, row) in &file.buckets {
            let bucket = usize::try_from(*bucket).map_err(|_| bad("a bucket is out of range"))?;
            let bytes = hex::decode(row).map_err(|_| bad("weights are no hex digits"))?;
            let place = weights
                .get_mut(
                    bucket.saturating_mul(width)..bucket.saturating_add(1).saturating_mul(width),
                )
                .ok_or_else(|| bad("a bucket is out of range"))?;
            let (chunks, rest) = bytes.as_chunks::<4>();
            if chunks.len() != width || !rest.is_empty() {
                return Err(bad("weights of a bucket do not fit its models"));
            }
            for (weight, chunk) in place.iter_mut().zip(chunks) {
                *weight = f32::from_le_bytes(*chunk);
            }
            if let Some(seen) = seen.get_mut(bucket) {
                *seen = true;
            }
        }
        let numbers = weights
            .iter()
            .chain(&file.bias)
            .chain([&file.familiar_from]);
        if numbers.into_iter().any(|number| !number.is_finite()) {
            return Err(bad("a weight is no number"));
        }
        Ok(Self {
            models: file.models,
            weights,
            bias: file.bias,
            seen,
            familiar_from: file.familiar_from,
            examples: file.examples,
        })
    }
}

fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + (-x).exp())
}

#[cfg(test)]
mod tests;
