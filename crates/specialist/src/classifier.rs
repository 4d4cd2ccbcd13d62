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

    /// Both at once, for those who look at the input only once. An input that is out of distribution needs no score.
    ///
    /// # Errors
    /// It cannot be told whether the input is out of distribution, and why.
    fn judge(
        &self,
        role: &str,
        input: &Value,
        version: &Version,
    ) -> Result<Option<Result<f64, String>>, String> {
        if self.is_ood(role, input, version)? {
            return Ok(None);
        }
        Ok(Some(self.score(role, input, version)))
    }
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
