//! A selector learns which version is acceptable for which input, is kept in a file, and recognises unseen inputs.

use super::*;

mod familiarity;
mod simulation;

const TOPICS: [(&str, &[&str]); 3] = [
    (
        "numbers",
        &["sum", "count", "average", "total", "percent", "ratio"],
    ),
    (
        "rivers",
        &["river", "bank", "flood", "stream", "water", "bridge"],
    ),
    (
        "music",
        &["chord", "tempo", "melody", "drum", "scale", "rhythm"],
    ),
];

pub(super) fn outcome(acceptable: bool, price: f64) -> Outcome {
    Outcome {
        acceptable: Some(acceptable),
        reward: if acceptable { 1.8 } else { 1.1 } - price,
        cost: price,
        price_usd: Some(price),
    }
}

/// Returns a text about a topic; the version of that name is good at it.
pub(super) fn example(index: usize) -> Example {
    let (topic, words) = TOPICS[index % TOPICS.len()];
    let text: Vec<&str> = (0..8)
        .map(|at| words[(index * 7 + at * (1 + index % 4)) % words.len()])
        .collect();
    let outcomes = TOPICS
        .iter()
        .map(|(version, _)| ((*version).to_owned(), outcome(*version == topic, 0.001)));
    Example {
        features: Features::of(&text.join(" "), &[]),
        outcomes: outcomes.collect(),
        general: Some(outcome(true, 0.01)),
    }
}

fn trained() -> Selector {
    Selector::train(&(0..300).map(example).collect::<Vec<_>>())
}

fn of(text: &str) -> Features {
    Features::of(text, &[])
}

#[test]
fn it_learns_what_is_acceptable_from_whom() {
    let held_out: Vec<Example> = (300..600).map(example).collect();
    let found = evaluation::evaluate(&trained(), &held_out);
    assert!(
        found.share().value > 0.98 && found.quality().value > 0.98,
        "{found:?}"
    );
    assert!(
        found.calibration_error < 0.1 && found.brier < 0.02,
        "{found:?}"
    );
}

#[test]
fn an_untrained_one_is_familiar_with_nothing() {
    let selector = Selector::train(&[]);
    let features = of("anything");
    let judged = selector.judge(&features);
    assert!(!judged.is_familiar() && judged.score("music").is_none());
    let few = Selector::train(&(0..9).map(example).collect::<Vec<_>>());
    assert!(few.versions().is_empty(), "nine answers teach nothing");
}

#[test]
fn it_knows_what_it_has_not_seen() {
    let selector = trained();
    for (text, familiar) in [
        ("river bank flood water stream bridge", true),
        ("quantum chromodynamics lattice gauge hadron meson", false),
        ("", false),
    ] {
        assert_eq!(selector.judge(&of(text)).is_familiar(), familiar, "{text}");
    }
}

#[test]
fn scores_do_not_depend_on_rivals() {
    let twins = |index: usize| {
        let mut example = example(index);
        for version in ["one", "two", "always wrong"] {
            let by_chance = (index.wrapping_mul(2_654_435_761) / 128).is_multiple_of(20);
            let acceptable = version != "always wrong" && !by_chance;
            example
                .outcomes
                .insert(version.to_owned(), outcome(acceptable, 0.001));
        }
        example
    };
    let selector = Selector::train(&(0..300).map(twins).collect::<Vec<_>>());
    for (_, words) in TOPICS {
        let features = of(&words.join(" "));
        let judged = selector.judge(&features);
        let score = |version| judged.score(version).unwrap();
        assert!(score("one").probability > 0.85 && score("one") == score("two"));
        assert!(score("always wrong").probability < 0.05);
        assert!(score("always wrong").reward < score("one").reward);
    }
}

#[test]
fn an_answer_of_which_nothing_is_known_teaches_nothing() {
    let unknown = |index: usize| {
        let mut example = example(index);
        for outcome in example.outcomes.values_mut() {
            outcome.acceptable = None;
        }
        example
    };
    let selector = Selector::train(&(0..300).map(unknown).collect::<Vec<_>>());
    assert!(selector.versions().is_empty());
}
