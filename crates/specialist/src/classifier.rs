//! How well an input suits an adapter in a role: one independent score a specialist, and whether the input is out of
//! distribution.

use serde_json::Value;

use crate::registry::Version;

/// Cosine below which an input is out of distribution, when a version names none.
pub const DEFAULT_OOD_FLOOR: f64 = 0.4;

/// Judges an input for a version. An error means that it could not tell; the gate then fails open.
pub trait Classifier {
    /// Whether the input is unlike what the version was examined on.
    ///
    /// # Errors
    /// It cannot be told, and why.
    fn is_ood(&self, role: &str, input: &Value, version: &Version) -> Result<bool, String>;

    /// How well the version suits the input, from 0 to 1.
    ///
    /// # Errors
    /// It cannot be told, and why.
    fn score(&self, role: &str, input: &Value, version: &Version) -> Result<f64, String>;

    /// Both for several versions, in their order, with one look at the input. An input that is out of distribution needs
    /// no score.
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

/// What is found out about a version and an input.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// There is a score.
    Scored(Fit),
    /// The input is out of distribution.
    Unfamiliar(Option<Familiarity>),
    /// The selector is there and cannot be used, and why.
    Damaged(String),
    /// Nothing was learned about the version yet; what to do next.
    NotTrained(String),
    /// Whether the input is out of distribution cannot be told, and why.
    OodUnknown(String),
    /// There is no score, and why.
    ScoreUnknown(String),
}

/// How well a version suits an input.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fit {
    /// The probability that its answer is acceptable.
    pub score: f64,
    /// What its answer is worth on average; among versions that may answer, the one that is worth most does.
    pub reward: f64,
    /// How familiar the input is, where that is measured.
    pub familiarity: Option<Familiarity>,
}

impl Fit {
    /// A score that is its own worth.
    #[must_use]
    pub fn plain(score: f64) -> Self {
        Self {
            score,
            reward: score,
            familiarity: None,
        }
    }
}

/// How familiar an input is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Familiarity {
    /// The share of its words that were met before.
    pub share: f64,
    /// The share from which on it is familiar.
    pub from: f64,
}

/// Compares the caller's `input.embedding` with the version's `exam_centroid`. Without both, everything is out of distribution.
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
    /// Whether it can compare at all: the caller's vector and the version's are there and have one length.
    #[must_use]
    pub fn compares(input: &Value, version: &Version) -> bool {
        similarity(input, version).is_some()
    }
}

/// The cosine, when both vectors are there and have one length.
fn similarity(input: &Value, version: &Version) -> Option<f64> {
    let centroid = version.exam_centroid.as_deref()?;
    let list = input.get("embedding")?.as_array()?;
    if list.is_empty() || list.len() != centroid.len() {
        return None;
    }
    let embedding: Option<Vec<f64>> = list.iter().map(Value::as_f64).collect();
    Some(cosine(&embedding?, centroid))
}

/// The cosine of the angle between two vectors; 0 when one has no direction.
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
    // Numbers beyond all measure have no direction either.
    if norm == 0.0 || !cosine.is_finite() {
        0.0
    } else {
        cosine.clamp(-1.0, 1.0)
    }
}
