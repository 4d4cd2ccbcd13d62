//! An artificial language: words of syllables by Zipf's law, five topics with their own words, and a second language
//! that shares no word with the first.

use std::collections::HashSet;

use crate::chance::Chance;

/// Number of words of the language.
pub(crate) const VOCABULARY: usize = 24_000;
/// Number of words of the other language.
const FOREIGN: usize = 6_000;
/// Number of topics; inputs take turns among them.
pub(crate) const TOPICS: usize = 5;
/// Number of words that a topic favours.
const OWN: usize = 2_000;
/// Share of a text that comes from its topic's words.
const OWN_SHARE: f64 = 0.3;
/// Least and largest length of a text, in words.
const LENGTH: (usize, usize) = (75, 225);

const ONSETS: [&str; 20] = [
    "b", "br", "ch", "d", "f", "g", "gr", "h", "k", "l", "m", "n", "p", "pl", "r", "s", "st", "t",
    "tr", "v",
];
const VOWELS: [&str; 8] = ["a", "e", "i", "o", "u", "ai", "ea", "ou"];
const CODAS: [&str; 8] = ["", "", "", "n", "r", "s", "l", "t"];

/// Words and their frequencies.
pub(crate) struct World {
    words: Vec<String>,
    foreign: Vec<String>,
    all: Zipf,
    own: Zipf,
    topics: Vec<Vec<usize>>,
}

impl World {
    /// Creates the language of a seed.
    pub(crate) fn new(seed: u64) -> Self {
        let mut chance = Chance::new(seed, "words");
        let mut known = HashSet::new();
        let mut list = |count: usize| -> Vec<String> {
            let mut words = Vec::with_capacity(count);
            while words.len() < count {
                let word = word(&mut chance);
                if known.insert(word.clone()) {
                    words.push(word);
                }
            }
            words
        };
        let (words, foreign) = (list(VOCABULARY), list(FOREIGN));
        let mut chance = Chance::new(seed, "topics");
        let mut topic = || (0..OWN).map(|_| chance.below(VOCABULARY)).collect();
        Self {
            words,
            foreign,
            all: Zipf::of(VOCABULARY),
            own: Zipf::of(OWN),
            topics: (0..TOPICS).map(|_| topic()).collect(),
        }
    }

    /// Writes a text about a topic.
    pub(crate) fn text(&self, topic: usize, chance: &mut Chance) -> String {
        let favoured = self.topics.get(topic).map_or(&[][..], Vec::as_slice);
        text(chance, |chance| {
            let rank = match chance.share() < OWN_SHARE {
                true => favoured.get(self.own.rank(chance)).copied(),
                false => Some(self.all.rank(chance)),
            };
            rank.and_then(|rank| self.words.get(rank))
        })
    }

    /// Writes a text of the other language.
    pub(crate) fn foreign(&self, chance: &mut Chance) -> String {
        text(chance, |chance| {
            self.foreign.get(self.own.rank(chance) % FOREIGN)
        })
    }
}

/// Ranks by Zipf's law, with Mandelbrot's correction for the most frequent words.
struct Zipf(Vec<f64>);

impl Zipf {
    #[expect(clippy::cast_precision_loss, reason = "ranks of words")]
    fn of(ranks: usize) -> Self {
        let mut sum = 0.0;
        let sums = (0..ranks).map(|rank| {
            sum += 1.0 / (rank as f64 + 2.7);
            sum
        });
        Self(sums.collect())
    }

    fn rank(&self, chance: &mut Chance) -> usize {
        let at = chance.share() * self.0.last().copied().unwrap_or(0.0);
        self.0.partition_point(|sum| *sum < at)
    }
}

/// Returns a word of two to four syllables.
fn word(chance: &mut Chance) -> String {
    let mut word = String::new();
    for _ in 0..2 + chance.below(3) {
        for part in [&ONSETS[..], &VOWELS, &CODAS] {
            word.push_str(part.get(chance.below(part.len())).copied().unwrap_or(""));
        }
    }
    word
}

/// Returns a text of sentences, with words chosen one by one.
fn text<'a>(chance: &mut Chance, pick: impl Fn(&mut Chance) -> Option<&'a String>) -> String {
    let (least, most) = LENGTH;
    let length = least + chance.below(most - least);
    let mut text = String::new();
    for at in 1..=length {
        text.push_str(pick(chance).map_or("", String::as_str));
        text.push_str(if at % 12 == 0 { ". " } else { " " });
    }
    text.trim_end().to_owned()
}
