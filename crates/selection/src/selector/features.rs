//! What the selector sees of a text: its words and pairs of words, hashed into buckets, of unit length. The text cannot be
//! read back from it.
//!
//! `.role-os/features.jsonl` keeps one [`Line`] per contest beside the run log, so that no prompt has to be kept.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Buckets that words (the lower half) and pairs and tags (the upper half) are hashed into.
pub const BUCKETS: usize = 1 << 13;

const HALF: usize = BUCKETS / 2;

/// Only this much of a text is looked at.
const MAX_TEXT: usize = 64 * 1024;

/// Longest line of features that is read.
pub const MAX_LINE: usize = 256 * 1024;

/// The features of one contest's input, as a line of `features.jsonl`:
/// `{"run_id":"…","role":"…","prompt_hash":"…","features":[bucket,count,bucket,count,…]}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// The contest, as the run log names it.
    pub run_id: String,
    /// The role that was played.
    pub role: String,
    /// The input's hash, as the run log has it.
    pub prompt_hash: String,
    /// What is kept of the input.
    pub features: Features,
}

impl Line {
    /// Reads a line.
    ///
    /// # Errors
    /// It is too long, no JSON, lacks a field, or its features are unsound.
    pub fn parse(line: &[u8]) -> Result<Self, String> {
        if line.len() > MAX_LINE {
            return Err(format!("is longer than {MAX_LINE} bytes"));
        }
        serde_json::from_slice(line).map_err(|error| error.to_string())
    }

    /// The line, without its end.
    #[must_use]
    pub fn to_line(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// How often each bucket was met, by bucket. Weights are roots of the counts, scaled so that the sum of their squares is 1.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Vec<u16>", into = "Vec<u16>")]
pub struct Features {
    counts: Vec<(u16, u16)>,
    scale: f32,
}

impl From<Features> for Vec<u16> {
    fn from(features: Features) -> Self {
        let flat = features.counts.into_iter();
        flat.flat_map(|(bucket, count)| [bucket, count]).collect()
    }
}

impl TryFrom<Vec<u16>> for Features {
    type Error = &'static str;

    fn try_from(flat: Vec<u16>) -> Result<Self, Self::Error> {
        let (pairs, rest) = flat.as_chunks::<2>();
        let counts: Vec<(u16, u16)> = pairs
            .iter()
            .map(|[bucket, count]| (*bucket, *count))
            .collect();
        let sound = |(bucket, count): &(u16, u16)| usize::from(*bucket) < BUCKETS && *count > 0;
        if !rest.is_empty() || !counts.iter().all(sound) {
            return Err("features are no pairs of a bucket and a count");
        }
        if !counts.is_sorted_by(|one, other| one.0 < other.0) {
            return Err("features are not in the order of their buckets");
        }
        Ok(Self::scaled(counts))
    }
}

impl Features {
    /// Of an input: text as it is, the `text` of an object that has one, anything else as its JSON.
    #[must_use]
    pub fn of_input(input: &Value, tags: &[String]) -> Self {
        match input.get("text").unwrap_or(input) {
            Value::String(text) => Self::of(text, tags),
            _ => Self::of(&input.to_string(), tags),
        }
    }

    /// Of a text and the tags that came with it.
    #[must_use]
    pub fn of(text: &str, tags: &[String]) -> Self {
        let mut counts = vec![0_u16; BUCKETS];
        let mut touched = [0_u64; BUCKETS / 64];
        let mut add = |hash: u64, first: usize| {
            let bucket = first + usize::try_from(hash).unwrap_or(usize::MAX) % HALF;
            if let (Some(count), Some(word)) =
                (counts.get_mut(bucket), touched.get_mut(bucket / 64))
            {
                *count = count.saturating_add(1);
                *word |= 1 << (bucket % 64);
            }
        };
        let mut last = OFFSET;
        let mut word = OFFSET;
        for byte in text.bytes().take(MAX_TEXT).chain([b' ']) {
            // Letters and digits of any script make words; ASCII is compared without case.
            if byte.is_ascii_alphanumeric() || byte >= 0x80 || byte == b'_' {
                word = mix(word, byte.to_ascii_lowercase());
            } else if word != OFFSET {
                add(finish(word), 0);
                add(finish(last.rotate_left(17) ^ word), HALF);
                last = word;
                word = OFFSET;
            }
        }
        for tag in tags {
            add(finish(tag.bytes().fold(TAG, mix)), HALF);
        }
        let mut met = Vec::new();
        for (at, word) in touched.into_iter().enumerate() {
            let mut word = word;
            while word != 0 {
                let bucket = at * 64 + word.trailing_zeros() as usize;
                word &= word - 1;
                if let (Some(count), Ok(bucket)) = (counts.get(bucket), u16::try_from(bucket)) {
                    met.push((bucket, *count));
                }
            }
        }
        Self::scaled(met)
    }

    fn scaled(counts: Vec<(u16, u16)>) -> Self {
        let total: f32 = counts.iter().map(|(_, count)| f32::from(*count)).sum();
        let scale = if total > 0.0 { 1.0 / total.sqrt() } else { 0.0 };
        Self { counts, scale }
    }

    /// Bucket and weight.
    pub fn iter(&self) -> impl Iterator<Item = (usize, f32)> + '_ {
        let weighed = |(bucket, count): &(u16, u16)| {
            (usize::from(*bucket), f32::from(*count).sqrt() * self.scale)
        };
        self.counts.iter().map(weighed)
    }

    /// The share of the text's words that lie in some buckets, from 0 to 1; 0 when there are none.
    #[must_use]
    pub fn word_share(&self, inside: impl Fn(usize) -> bool) -> f32 {
        let (mut all, mut found) = (0.0, 0.0);
        for (bucket, weight) in self.iter().filter(|(bucket, _)| *bucket < HALF) {
            all += weight * weight;
            if inside(bucket) {
                found += weight * weight;
            }
        }
        if all > 0.0 { found / all } else { 0.0 }
    }
}

const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const TAG: u64 = 0x9e37_79b9_7f4a_7c15;

/// FNV-1a: short words, no state, the same on every machine.
fn mix(hash: u64, byte: u8) -> u64 {
    (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
}

/// Spreads the high bits, which FNV leaves uneven, over the low ones that pick the bucket.
fn finish(hash: u64) -> u64 {
    let hash = (hash ^ (hash >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    hash ^ (hash >> 32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_have_unit_length_and_ignore_case_and_punctuation() {
        let one = Features::of("Sum up, the Report!", &[]);
        assert_eq!(one, Features::of("sum up the report", &[]));
        assert_ne!(one, Features::of("report the sum up", &[]));
        let length: f32 = one.iter().map(|(_, weight)| weight * weight).sum();
        assert!((length - 1.0).abs() < 1e-5);
    }

    #[test]
    fn nothing_has_no_features_and_tags_count() {
        assert_eq!(Features::of(" \n", &[]), Features::default());
        assert_ne!(
            Features::of("x", &["format:json".to_owned()]),
            Features::of("x", &[])
        );
        let cut = Features::of(&"word ".repeat(100_000), &[]);
        assert_eq!(
            cut.iter().count(),
            5,
            "one word, its pairs, and what the cut leaves of one"
        );
    }

    #[test]
    fn a_line_reads_back_and_a_bad_one_is_refused() {
        let line = Line {
            run_id: "r1".to_owned(),
            role: "editor".to_owned(),
            prompt_hash: "ab".repeat(32),
            features: Features::of("a b a b a", &[]),
        };
        let text = line.to_line();
        assert_eq!(Line::parse(text.as_bytes()), Ok(line));
        for bad in [
            "[1]",
            "[9000,1]",
            "[1,0]",
            "[2,1,1,1]",
            "[1,1,1,1]",
            "[-1,1]",
            "[1,70000]",
        ] {
            let line = format!(r#"{{"run_id":"r","role":"x","prompt_hash":"","features":{bad}}}"#);
            assert!(Line::parse(line.as_bytes()).is_err(), "{bad}");
        }
    }

    #[test]
    fn an_input_is_its_text() {
        let text = Features::of("sum up", &[]);
        assert_eq!(Features::of_input(&"sum up".into(), &[]), text);
        let beside = serde_json::json!({ "text": "sum up", "embedding": [1.0] });
        assert_eq!(Features::of_input(&beside, &[]), text);
        let other = serde_json::json!({ "sum": "up" });
        assert_eq!(Features::of_input(&other, &[]), Features::of("sum up", &[]));
    }
}
