//! The score on realistic texts: 20,000 words with Zipf's frequencies, topics that share most of them, noisy labels.
//! The tests check the needs of a role at the default threshold, for every seed.

use super::*;
use crate::selector::evaluation::THRESHOLD;

const VOCABULARY: usize = 20_000;
const TOPICS: usize = 5;
const SEEDS: [u64; 4] = [1, 20, 300, 4000];

/// Generator of the same numbers for the same seed.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, most: usize) -> usize {
        usize::try_from(self.next() % (most as u64)).unwrap()
    }

    fn share(&mut self) -> f64 {
        number(self.below(1 << 30)) / f64::from(1 << 30)
    }
}

/// Ranks with Zipf's frequencies.
struct Zipf(Vec<f64>);

impl Zipf {
    fn of(ranks: usize) -> Self {
        let mut sum = 0.0;
        let sums = (0..ranks).map(|rank| {
            sum += 1.0 / (number(rank) + 2.7);
            sum
        });
        Self(sums.collect())
    }

    fn rank(&self, chance: &mut Chance) -> usize {
        let at = chance.share() * self.0.last().unwrap();
        self.0.partition_point(|sum| *sum < at)
    }
}

/// Returns a word of two to five syllables; words of another language are all different.
fn word(rank: usize, language: &str) -> String {
    let mut rank = rank + 20;
    let mut word = String::from(language);
    while rank > 0 {
        word.push(char::from(b"bdfghklmnprstvz"[rank % 15]));
        word.push(char::from(b"aeiou"[rank % 5]));
        rank /= 15;
    }
    word
}

struct World {
    all: Zipf,
    own: Zipf,
    topics: Vec<Vec<usize>>,
    words: usize,
}

impl World {
    fn new(words: usize, chance: &mut Chance) -> Self {
        let mut topic = || (0..2_000).map(|_| chance.below(VOCABULARY)).collect();
        Self {
            all: Zipf::of(VOCABULARY),
            own: Zipf::of(2_000),
            topics: (0..TOPICS).map(|_| topic()).collect(),
            words,
        }
    }

    /// Returns a text of which three words in ten are the topic's own.
    fn text(&self, topic: usize, chance: &mut Chance) -> Features {
        let length = self.words / 2 + chance.below(self.words);
        let words = (0..length).map(|_| {
            let own = chance.share() < 0.3;
            let rank = if own {
                self.own.rank(chance)
            } else {
                self.all.rank(chance)
            };
            word(if own { self.topics[topic][rank] } else { rank }, "")
        });
        of(&words.collect::<Vec<_>>().join(" "))
    }

    /// Returns a text that shares no word with any other language.
    fn foreign(&self, chance: &mut Chance) -> Features {
        let words = (0..150).map(|_| word(self.all.rank(chance), "qu"));
        of(&words.collect::<Vec<_>>().join(" "))
    }

    /// Returns an input with the outcomes of each version's answer and of the general model's.
    fn example(&self, number: usize, rights: &[(&str, Right)], chance: &mut Chance) -> Example {
        let topic = number % TOPICS;
        let features = self.text(topic, chance);
        let outcomes = rights.iter().map(|(version, right)| {
            let right = right(topic);
            (
                (*version).to_owned(),
                outcome(chance.share() < right, 0.000_225),
            )
        });
        let outcomes = outcomes.collect();
        Example {
            features,
            outcomes,
            general: Some(outcome(chance.share() < GENERAL, 0.002_25)),
        }
    }
}

/// Probability that a version is right about a topic.
type Right = fn(usize) -> f64;

/// Probability that the general model is right.
const GENERAL: f64 = 0.95;

/// Behaviour of the gate on fresh inputs; quality is the expected one, so that chance is left out.
#[derive(Debug, Default)]
struct Served {
    share: f64,
    quality: f64,
    cost: f64,
}

fn served(rights: &[(&str, Right)], contests: usize, words: usize, seed: u64) -> Served {
    let mut chance = Chance(seed);
    let world = World::new(words, &mut chance);
    let mut draw = |number| world.example(number, rights, &mut chance);
    let learned: Vec<Example> = (0..contests).map(&mut draw).collect();
    let selector = Selector::train(&learned);
    let mut found = Served::default();
    for number in 0..1_000 {
        let features = draw(number).features;
        let judged = selector.judge(&features);
        let over = rights.iter().filter_map(|(version, right)| {
            let score = judged.score(version).filter(|_| judged.is_familiar())?;
            (score.probability >= THRESHOLD).then_some((score.reward, right(number % TOPICS)))
        });
        let best = over.reduce(|best, next| if next.0 > best.0 { next } else { best });
        found.quality += best.map_or(GENERAL, |(_, right)| right) / 1_000.0;
        // One answer in twenty is compared with the general model's, which is paid for.
        found.cost += best.map_or(1.0, |_| 0.1 + 0.05) / 1_000.0;
        found.share += best.map_or(0.0, |_| 1.0) / 1_000.0;
    }
    found
}

fn at_home(topic: usize, home: usize) -> f64 {
    if topic == home { 0.97 } else { 0.3 }
}

#[test]
fn topic_specialists_answer_at_home_and_nowhere_else() {
    let rights: [(&str, Right); 3] = [
        ("one", |topic| at_home(topic, 0)),
        ("three", |topic| at_home(topic, 2)),
        ("two", |topic| at_home(topic, 1)),
    ];
    for seed in SEEDS {
        for (contests, words, least) in [(400, 60, 0.56), (400, 150, 0.588), (160, 150, 0.56)] {
            let found = served(&rights, contests, words, seed);
            let case = format!("seed {seed}, {contests} contests, {words} words: {found:?}");
            assert!(found.share >= least && found.share < 0.63, "{case}");
            assert!(found.quality >= GENERAL, "{case}");
            assert!(found.cost <= 1.0 - 0.85 * least + 1e-9, "{case}");
        }
    }
}

#[test]
fn good_versions_answer_nearly_always_however_many_there_are() {
    let one: [(&str, Right); 1] = [("one", |_| 0.95)];
    let twins: [(&str, Right); 2] = [("one", |_| 0.95), ("two", |_| 0.95)];
    let mixed: [(&str, Right); 3] = [("bad", |_| 0.0), ("one", |_| 0.97), ("poor", |_| 0.3)];
    for seed in SEEDS {
        for contests in [30, 150, 400] {
            for rights in [&one[..], &twins, &mixed] {
                let found = served(rights, contests, 60, seed);
                assert!(
                    found.share > 0.95,
                    "{} of {contests}: {found:?}",
                    rights.len()
                );
                assert!(
                    found.quality > 0.92,
                    "{} of {contests}: {found:?}",
                    rights.len()
                );
            }
        }
    }
}

#[test]
fn what_is_always_or_half_wrong_is_not_asked() {
    let wrong: [(&str, Right); 1] = [("wrong", |_| 0.0)];
    let both: [(&str, Right); 2] = [("half", |_| 0.5), ("wrong", |_| 0.0)];
    for seed in SEEDS {
        for (rights, contests) in [(&wrong[..], 15), (&both, 150), (&both, 400)] {
            let found = served(rights, contests, 60, seed);
            assert!(found.share < 0.01, "{contests}: {found:?}");
        }
    }
}

#[test]
fn text_without_a_known_word_is_never_familiar_and_the_usual_text_nearly_always() {
    for seed in SEEDS {
        for contests in [50, 150, 300, 600] {
            let mut chance = Chance(seed);
            let world = World::new(150, &mut chance);
            let rights: [(&str, Right); 1] = [("one", |_| 0.97)];
            let mut draw = |number| world.example(number, &rights, &mut chance);
            let learned: Vec<Example> = (0..contests).map(&mut draw).collect();
            let selector = Selector::train(&learned);
            let own = (0..100).filter(|number| {
                let features = draw(*number).features;
                selector.judge(&features).is_familiar()
            });
            assert!(own.count() >= 93, "{contests}");
            for _ in 0..50 {
                let foreign = world.foreign(&mut chance);
                let judged = selector.judge(&foreign);
                assert!(
                    !judged.is_familiar(),
                    "{contests}: {}",
                    judged.familiarity()
                );
            }
        }
    }
}

#[test]
fn natural_texts_are_told_apart_after_a_few() {
    const COOKING: [&str; 6] = [
        "Chop the onions finely and fry them in butter until they are soft and golden.",
        "Let the dough rise for an hour, then knead it again and bake the bread in a hot oven.",
        "The sauce needs salt, pepper and a little lemon; simmer it slowly with the tomatoes.",
        "Whisk the eggs with sugar until pale, fold in the flour and bake for forty minutes.",
        "Roast the vegetables with olive oil and garlic, and serve them with fresh bread.",
        "Season the soup at the end; salt draws water out of the vegetables while they fry.",
    ];
    const MONEY: [&str; 6] = [
        "My card was charged twice for the same invoice; please refund the second payment.",
        "The invoice of last month shows a fee that was never agreed upon in the contract.",
        "Please send the refund to the bank account that we used for the first payment.",
        "Why was my subscription renewed when the payment by card failed twice last month?",
        "We need a corrected invoice with our new address before the end of the month.",
        "The bank says the transfer was sent, but the account still shows an open invoice.",
    ];
    let example = |at: usize| {
        let money = at.is_multiple_of(2);
        let texts = if money { &MONEY } else { &COOKING };
        let text = format!(
            "{} {}",
            texts[at / 2 % 6],
            texts[(at / 2 * 5 + 1 + at / 12) % 6]
        );
        Example {
            features: of(&text),
            outcomes: BTreeMap::from([("billing".to_owned(), outcome(money, 0.001))]),
            general: None,
        }
    };
    let selector = Selector::train(&(0..60).map(example).collect::<Vec<_>>());
    let score = |text: &str| {
        let features = of(text);
        let judged = selector.judge(&features);
        judged
            .is_familiar()
            .then(|| judged.score("billing").unwrap().probability)
    };
    assert!(
        score("Please refund the payment that was charged to my card last month.") > Some(0.75)
    );
    assert!(
        score("Fry the onions in butter and season the sauce with salt and pepper.") < Some(0.5)
    );
    assert_eq!(
        score("Synchrotron beamlines accelerate hadrons near relativistic velocities."),
        None
    );
}
