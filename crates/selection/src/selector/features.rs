//! Features of an input: hashes of its words, of neighbouring words, of the first letters of long words, and of its
//! tags. Neither order nor text is kept; a dictionary can still tell which words are likely in it.
//!
//! `.role-os/features.jsonl` keeps one [`Line`] per contest beside the run log, so that prompts need not be kept.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::candidates;

/// Limit of bytes of an input that are read.
const MAX_TEXT: usize = 16 * 1024;

/// Longest accepted line of features, in bytes.
pub const MAX_LINE: usize = 256 * 1024;

/// The features of one contest's input, as a line of `features.jsonl`:
/// `{"run_id":"…","role":"…","prompt_hash":"…","features":{"words":"…","others":"…"}}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// Id of the contest in the run log.
    pub run_id: String,
    /// Role of the contest.
    pub role: String,
    /// Hash of the input in the run log.
    pub prompt_hash: String,
    /// Features of the input.
    pub features: Features,
}

impl Line {
    /// Parses a line.
    ///
    /// # Errors
    /// Fails if the line is too long, is not JSON, lacks a field, or has unsound features.
    pub fn parse(line: &[u8]) -> Result<Self, String> {
        if line.len() > MAX_LINE {
            return Err(format!("is longer than {MAX_LINE} bytes"));
        }
        serde_json::from_slice(line).map_err(|error| error.to_string())
    }

    /// Returns the line without its end.
    #[must_use]
    pub fn to_line(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// Hashes, each as often as it occurs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct Features {
    words: Vec<u64>,
    others: Vec<u32>,
}

/// Form in the file: sorted, 16 and 8 hex digits each.
#[derive(Serialize, Deserialize)]
struct Written {
    words: String,
    others: String,
}

impl From<Features> for Written {
    fn from(mut features: Features) -> Self {
        features.words.sort_unstable();
        features.others.sort_unstable();
        let words = features.words.iter().flat_map(|word| word.to_be_bytes());
        let others = features.others.iter().flat_map(|other| other.to_be_bytes());
        Self {
            words: hex::encode(words.collect::<Vec<u8>>()),
            others: hex::encode(others.collect::<Vec<u8>>()),
        }
    }
}

impl TryFrom<Written> for Features {
    type Error = &'static str;

    fn try_from(written: Written) -> Result<Self, Self::Error> {
        let bad = "features are no list of hashes";
        let words = hex::decode(written.words).map_err(|_| bad)?;
        let others = hex::decode(written.others).map_err(|_| bad)?;
        let (words, words_rest) = words.as_chunks::<8>();
        let (others, others_rest) = others.as_chunks::<4>();
        if !words_rest.is_empty() || !others_rest.is_empty() {
            return Err(bad);
        }
        Ok(Self {
            words: words.iter().copied().map(u64::from_be_bytes).collect(),
            others: others.iter().copied().map(u32::from_be_bytes).collect(),
        })
    }
}

impl Features {
    /// Returns the features of an input with its tags: text as it is, the `text` of an object that has one, anything
    /// else by its keys and values.
    #[must_use]
    pub fn of_input(input: &Value) -> Self {
        let mut reader = Reader::default();
        reader.value(input.get("text").unwrap_or(input));
        candidates::tags(input).for_each(|tag| reader.tag(&tag));
        reader.features
    }

    /// Returns the features of a text and its tags.
    #[must_use]
    pub fn of(text: &str, tags: &[String]) -> Self {
        let mut reader = Reader::default();
        reader.text(text);
        tags.iter().for_each(|tag| reader.tag(tag));
        reader.features
    }

    /// Returns the hashes of the words.
    #[must_use]
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// Returns the hashes of all other features.
    #[must_use]
    pub fn others(&self) -> &[u32] {
        &self.others
    }
}

const WORD: u64 = 0x9e37_79b9_7f4a_7c15;
const PAIR: u64 = 0xbf58_476d_1ce4_e5b9;
const HEAD: u64 = 0x94d0_49bb_1331_11eb;
const TAG: u64 = 0xa076_1d64_78bd_642f;

#[derive(Default)]
struct Reader {
    features: Features,
    last: u64,
    seen: usize,
}

impl Reader {
    fn value(&mut self, value: &Value) {
        match value {
            Value::String(text) => self.text(text),
            Value::Array(items) => items.iter().for_each(|item| self.value(item)),
            Value::Object(fields) => {
                for (key, value) in fields {
                    self.text(key);
                    self.value(value);
                }
            }
            Value::Bool(_) | Value::Number(_) | Value::Null => self.text(&value.to_string()),
        }
    }

    /// Reads a text. Letters and digits of any script make words; ASCII is compared without case.
    fn text(&mut self, text: &str) {
        let text = text.as_bytes();
        let text = text.get(..MAX_TEXT - self.seen).unwrap_or(text);
        self.seen += text.len();
        self.features.words.reserve(text.len() / 6);
        self.features.others.reserve(text.len() / 4);
        let mut start = None;
        for (block, at) in text.chunks(64).zip((0..).step_by(64)) {
            // A bit for each letter; words begin and end at the changes between letters and others.
            let letters = letters(block);
            let mut changes = letters ^ (letters << 1 | u64::from(start.is_some()));
            while changes != 0 {
                let here = at + changes.trailing_zeros() as usize;
                changes &= changes - 1;
                start = match start {
                    None => Some(here),
                    Some(first) => {
                        self.word(text.get(first..).unwrap_or_default(), here - first);
                        None
                    }
                };
            }
        }
        if let Some(first) = start {
            let rest = text.get(first..).unwrap_or_default();
            self.word(rest, rest.len());
        }
    }

    /// Adds the word at the start of these bytes.
    fn word(&mut self, bytes: &[u8], length: usize) {
        let word = hash(bytes, length, WORD);
        self.features.words.push(word);
        self.other(fold(self.last.rotate_left(17) ^ word, PAIR));
        self.last = word;
        // Most letters beyond ASCII have two bytes.
        let wide = bytes.first().is_some_and(|byte| *byte >= 0x80);
        let head = if wide { 8 } else { 4 };
        if length > head {
            self.other(hash(bytes, head, HEAD));
        }
    }

    fn tag(&mut self, tag: &str) {
        self.other(hash(tag.as_bytes(), tag.len(), TAG));
    }

    fn other(&mut self, hash: u64) {
        #[expect(clippy::cast_possible_truncation, reason = "the lower half is kept")]
        self.features.others.push(hash as u32);
    }
}

/// Returns a bit for each of at most 64 bytes, the first in the lowest: set for letters, digits, `_` and parts of
/// characters beyond ASCII.
fn letters(block: &[u8]) -> u64 {
    let (whole, rest) = block.as_chunks::<8>();
    let mut last = [0; 8];
    last.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
    let all = whole.iter().chain((!rest.is_empty()).then_some(&last));
    let bits = all.map(|eight| letters_of_eight(u64::from_le_bytes(*eight)));
    bits.zip((0..).step_by(8))
        .fold(0, |sum, (bits, at)| sum | bits << at)
}

/// Does the same for eight bytes at once: each comparison leaves its answer in a byte's highest bit.
fn letters_of_eight(bytes: u64) -> u64 {
    const EACH: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x80 * EACH;
    let low = bytes & !HIGH;
    let small = low | (0x20 * EACH);
    let from = |least: u64, bytes: u64| bytes + (0x80 - least) * EACH;
    let alphabetic = from(0x61, small) & !from(0x7b, small);
    let digit = from(0x30, low) & !from(0x3a, low);
    let underscore = !from(0x01, low ^ (0x5f * EACH));
    let found = (alphabetic | digit | underscore | bytes) & HIGH;
    // Gathers the highest bits of all bytes in one.
    (found >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56
}

/// Hashes the first `length` bytes, eight at a time, the same on every machine.
fn hash(bytes: &[u8], length: usize, seed: u64) -> u64 {
    let mut hash = seed ^ (length as u64);
    let mut at = 0;
    while at < length {
        hash = fold(hash ^ eight(bytes, at, length), seed);
        at += 8;
    }
    hash
}

/// Returns up to eight bytes from `at` on, in lower case, padded with blanks.
fn eight(bytes: &[u8], at: usize, length: usize) -> u64 {
    let rest = bytes.get(at..).unwrap_or_default();
    let whole = rest.first_chunk::<8>().copied().unwrap_or_else(|| {
        let mut short = [0; 8];
        short
            .iter_mut()
            .zip(rest)
            .for_each(|(to, from)| *to = *from);
        short
    });
    let used = (length - at).min(8);
    let bits = u64::from_le_bytes(whole) & (u64::MAX >> (64 - 8 * used));
    bits | ((!bits & 0x8080_8080_8080_8080) >> 2)
}

fn fold(one: u64, other: u64) -> u64 {
    let product = u128::from(one) * u128::from(other);
    #[expect(clippy::cast_possible_truncation, reason = "both halves are used")]
    let (low, high) = (product as u64, (product >> 64) as u64);
    low ^ high
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> String {
        let line = Line {
            run_id: "r1".to_owned(),
            role: "editor".to_owned(),
            prompt_hash: "ab".repeat(32),
            features: Features::of(text, &[]),
        };
        line.to_line()
    }

    #[test]
    fn case_and_punctuation_do_not_count_and_the_order_does() {
        let one = Features::of("Sum up, the Report!", &[]);
        assert_eq!(one, Features::of("sum up the report", &[]));
        assert_ne!(
            one.others(),
            Features::of("report the sum up", &[]).others()
        );
        assert_eq!(one.words().len(), 4);
        assert_eq!(Features::of(" \n", &[]), Features::default());
    }

    #[test]
    fn every_byte_is_told_apart() {
        for byte in 0..=255_u8 {
            let letter = byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80;
            for length in [1, 7, 8, 9, 64] {
                let expected = if letter { u64::MAX >> (64 - length) } else { 0 };
                assert_eq!(letters(&vec![byte; length]), expected, "{byte} × {length}");
            }
        }
        let long = "x".repeat(200);
        for text in [
            format!("{long} y"),
            format!("y {long}"),
            format!("{} y", "x".repeat(64)),
        ] {
            assert_eq!(Features::of(&text, &[]).words().len(), 2, "{}", text.len());
        }
        assert_eq!(
            Features::of(&format!("{}yz", " ".repeat(63)), &[])
                .words()
                .len(),
            1
        );
    }

    #[test]
    fn forms_of_a_word_share_their_beginning() {
        let share = |one: &str, other: &str| {
            let (one, other) = (Features::of(one, &[]), Features::of(other, &[]));
            let found = one
                .others()
                .iter()
                .filter(|hash| other.others().contains(hash));
            found.count()
        };
        assert_eq!(share("routing", "routed"), 1);
        assert_eq!(share("ROUTING", "router"), 1);
        assert_eq!(share("маршрутам", "маршрутов"), 1);
        assert_eq!(share("cat", "cats"), 0);
    }

    #[test]
    fn tags_count_and_long_texts_are_cut() {
        let tagged = Features::of("x", &["format:json".to_owned()]);
        assert_ne!(tagged, Features::of("x", &[]));
        let input = serde_json::json!({ "text": "x", "tags": ["format:json"] });
        assert_eq!(Features::of_input(&input), tagged);
        let cut = Features::of(&"word ".repeat(100_000), &[]);
        assert_eq!(cut.words().len(), MAX_TEXT.div_ceil(5));
        let list = serde_json::json!(vec!["word "; 100_000]);
        assert_eq!(
            Features::of_input(&list).words().len(),
            MAX_TEXT.div_ceil(5)
        );
    }

    #[test]
    fn a_line_reads_back_without_its_order_and_a_bad_one_is_refused() {
        let text = line("a b a b a");
        let read = Line::parse(text.as_bytes()).unwrap();
        assert_eq!(read.to_line(), text);
        assert_eq!(read.features.words().len(), 5);
        assert!(line(&"a ".repeat(MAX_TEXT)).len() < MAX_LINE);
        for bad in [
            "[1,2]",
            r#"{"words":"ab","others":""}"#,
            r#"{"words":"","others":"zz"}"#,
        ] {
            let line = format!(r#"{{"run_id":"r","role":"x","prompt_hash":"","features":{bad}}}"#);
            assert!(Line::parse(line.as_bytes()).is_err(), "{bad}");
        }
    }

    #[test]
    fn an_input_is_its_text() {
        let text = Features::of("sum up", &[]);
        assert_eq!(Features::of_input(&"sum up".into()), text);
        let beside = serde_json::json!({ "text": "sum up", "embedding": [1.0] });
        assert_eq!(Features::of_input(&beside), text);
        assert_eq!(
            Features::of_input(&serde_json::json!({ "sum": "up" })),
            text
        );
        let rest = serde_json::json!({ "sum": [1, null] });
        assert_eq!(Features::of_input(&rest), Features::of("sum 1 null", &[]));
    }
}
