//! Fit of an input for an adapter in a role: one independent score per specialist, and a test for inputs out of
//! distribution.

use serde_json::Value;

use crate::registry::Version;

/// Cosine below which an input is out of distribution, if the version declares none.
pub const DEFAULT_OOD_FLOOR: f64 = 0.4;

/// Judge of an input for a version. On an error the gate fails open.
pub trait Classifier {
    /// Returns `true` if the input is unlike the inputs of the version's exam.
    ///
    /// # Errors
    /// Fails with the reason if that is unknown.
    fn is_ood(&self, role: &str, input: &Value, version: &Version) -> Result<bool, String>;

    /// Returns how well the version suits the input, from 0 to 1.
    ///
    /// # Errors
    /// Fails with the reason if that is unknown.
    fn score(&self, role: &str, input: &Value, version: &Version) -> Result<f64, String>;

    /// Judges the input for several versions, in their order, and reads it once. An input that is out of distribution
    /// needs no score.
    fn judge(&self, role: &str, input: &Value, versions: &[&Version]) -> Vec<Verdict> {
        let one = |version: &&Version| match self.is_ood(role, input, version) {
            Err(why) => Verdict::OodUnknown(why),
            Ok(true) => Verdict::Unfamiliar(None),
            Ok(false) => match self.score(role, input, version) {
                Err(why) => Verdict::ScoreUnknown(why),
                Ok(score) => Verdict::Scored(Fit::plain(score)),
            },
        };
        versions.iter().map(one).collect()
    }
}

/// Verdict on a version and an input.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// The input has a score.
    Scored(Fit),
    /// The input is out of distribution.
    Unfamiliar(Option<Familiarity>),
    /// The selector exists but cannot be used, with the reason.
    Damaged(String),
    /// Nothing was learned about the version yet; with the next step.
    NotTrained(String),
    /// The test for out of distribution failed, with the reason.
    OodUnknown(String),
    /// The score failed, with the reason.
    ScoreUnknown(String),
}

/// Fit of a version for an input.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fit {
    /// Probability that its answer is acceptable.
    pub score: f64,
    /// Expected reward of its answer; among the versions that may answer, the one with the highest reward does.
    pub reward: f64,
    /// Familiarity of the input, if it is measured.
    pub familiarity: Option<Familiarity>,
}

impl Fit {
    /// Returns a fit whose reward is its score.
    #[must_use]
    pub fn plain(score: f64) -> Self {
        Self {
            score,
            reward: score,
            familiarity: None,
        }
    }
}

/// Familiarity of an input.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Familiarity {
    /// Share of its words that were seen before.
    pub share: f64,
    /// Share from which it is familiar.
    pub from: f64,
}

/// Classifier that compares the caller's `input.embedding` with the version's `exam_centroid`. Without both,
/// everything is out of distribution.
#[derive(Clone, Copy, Debug, Default)]
pub struct Embedding;

impl Classifier for Embedding {
    fn is_ood(&self, _: &str, input: &Value, version: &Version) -> Result<bool, String> {
        let floor = version.ood_floor.unwrap_or(DEFAULT_OOD_FLOOR);
        Ok(similarity(input, version).is_none_or(|cosine| cosine < floor))
    }

    fn score(&self, _: &str, input: &Value, version: &Version) -> Result<f64, String> {
        Ok(similarity(input, version).map_or(0.0, |cosine| f64::midpoint(cosine, 1.0)))
    }
}

impl Embedding {
    /// Returns `true` if the vectors of the caller and of the version exist and have the same length.
    #[must_use]
    pub fn compares(input: &Value, version: &Version) -> bool {
        similarity(input, version).is_some()
    }
}

/// Returns the cosine, if both vectors exist and have the same length.
fn similarity(input: &Value, version: &Version) -> Option<f64> {
    let centroid = version.exam_centroid.as_deref()?;
    let list = input.get("embedding")?.as_array()?;
    if list.is_empty() || list.len() != centroid.len() {
        return None;
    }
    let embedding: Option<Vec<f64>> = list.iter().map(Value::as_f64).collect();
    Some(cosine(&embedding?, centroid))
}

/// Returns the cosine of the angle between two vectors; 0 if one has no direction.
#[must_use]
pub fn cosine(a: &[f64], b: &[f64]) -> f64 {
    let (mut dot, mut aa, mut bb) = (0.0, 0.0, 0.0);
    for (x, y) in a.iter().zip(b) {
        dot += x * y;
        aa += x * x;
        bb += y * y;
    }
    let norm = (aa * bb).sqrt();
    let cosine = dot / norm;
    // Numbers out of range have no direction either.
    if norm == 0.0 || !cosine.is_finite() {
        0.0
    } else {
        cosine.clamp(-1.0, 1.0)
    }
}
