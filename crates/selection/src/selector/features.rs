//! What the selector sees of a text: its words and pairs of words, hashed into buckets, of unit length. The text cannot be
//! read back from it.

use serde::{Deserialize, Serialize};

/// Buckets that words (the lower half) and pairs and tags (the upper half) are hashed into.
pub const BUCKETS: usize = 1 << 13;

const HALF: usize = BUCKETS / 2;

/// Only this much of a text is looked at.
const MAX_TEXT: usize = 64 * 1024;

/// Bucket and weight, by bucket. The sum of the squares is 1, or nothing is there.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Features(Vec<(u16, f32)>);

impl Features {
    /// Of a text and the tags that came with it.
    #[must_use]
    pub fn of(text: &str, tags: &[String]) -> Self {
        let mut counts = vec![0_u16; BUCKETS];
        let mut touched = Vec::new();
        let mut add = |hash: u64, first: usize| {
            let bucket = first + usize::try_from(hash).unwrap_or(usize::MAX) % HALF;
            if let Some(count) = counts.get_mut(bucket) {
                if *count == 0 {
                    touched.push(bucket);
                }
                *count = count.saturating_add(1);
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
        touched.sort_unstable();
        let weight = |bucket: &usize| f32::from(counts.get(*bucket).copied().unwrap_or(0)).sqrt();
        let length = touched
            .iter()
            .map(|bucket| weight(bucket).powi(2))
            .sum::<f32>()
            .sqrt();
        let scaled = touched
            .iter()
            .filter_map(|bucket| Some((u16::try_from(*bucket).ok()?, weight(bucket) / length)));
        Self(scaled.collect())
    }

    /// Bucket and weight.
    pub fn iter(&self) -> impl Iterator<Item = (usize, f32)> + '_ {
        self.0
            .iter()
            .map(|(bucket, weight)| (usize::from(*bucket), *weight))
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

    /// Whether a stored one is sound: buckets in order and in range, weights that are numbers.
    #[must_use]
    pub fn sound(&self) -> bool {
        self.0.is_sorted_by(|one, other| one.0 < other.0)
            && self
                .0
                .iter()
                .all(|(bucket, weight)| usize::from(*bucket) < BUCKETS && weight.is_finite())
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
        assert!(one.sound());
    }

    #[test]
    fn nothing_has_no_features_and_tags_count() {
        assert_eq!(Features::of(" \n", &[]), Features::default());
        assert_ne!(
            Features::of("x", &["format:json".to_owned()]),
            Features::of("x", &[])
        );
        assert!(Features::of(&"word ".repeat(100_000), &[]).sound());
    }
}
