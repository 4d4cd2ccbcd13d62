//! A selector learns who is good at what, keeps it in a file, and knows what it has not seen.

use super::*;

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

/// A text about a topic; the model of that name is good at it.
pub(super) fn example(index: usize) -> Example {
    let (topic, words) = TOPICS[index % TOPICS.len()];
    let text: Vec<&str> = (0..8)
        .map(|at| words[(index * 7 + at * (1 + index % 4)) % words.len()])
        .collect();
    let rewards = TOPICS.iter().map(|(model, _)| {
        (
            (*model).to_owned(),
            Some(if *model == topic { 1.8 } else { 1.1 }),
        )
    });
    Example {
        features: Features::of(&text.join(" "), &[]),
        rewards: rewards.collect(),
    }
}

fn trained() -> Selector {
    Selector::train(&(0..300).map(example).collect::<Vec<_>>())
}

#[test]
fn it_learns_who_is_good_at_what() {
    let held_out: Vec<Example> = (300..600).map(example).collect();
    let found = evaluation::evaluate(Some(&trained()), &held_out);
    assert!(found.accuracy().value > 0.98, "{found:?}");
    assert!(found.chosen_reward > 0.95 * found.best_reward);
    assert!(found.calibration_error < 0.2, "{}", found.calibration_error);
}

#[test]
fn an_untrained_one_is_familiar_with_nothing() {
    let selector = Selector::train(&[]);
    assert_eq!(
        selector.choose(&Features::of("anything", &[]), ["music"]),
        None
    );
    assert!(!selector.familiar(&Features::of("anything", &[])));
}

#[test]
fn it_knows_what_it_has_not_seen() {
    let selector = trained();
    assert!(selector.familiar(&Features::of("river bank flood water stream bridge", &[])));
    assert!(!selector.familiar(&Features::of(
        "quantum chromodynamics lattice gauge hadron meson",
        &[]
    )));
    assert!(!selector.familiar(&Features::default()));
}

#[test]
fn what_always_fails_scores_low_and_is_not_chosen() {
    let failing = |index| {
        let mut example = example(index);
        example.rewards.insert("broken".to_owned(), None);
        example
    };
    let selector = Selector::train(&(0..300).map(failing).collect::<Vec<_>>());
    let text = Features::of("river bank flood water stream bridge", &[]);
    assert!(selector.score(&text, "broken").unwrap() < 0.1);
    assert_eq!(
        selector.choose(&text, ["broken", "rivers", "music"]),
        Some("rivers")
    );
    assert_eq!(selector.choose(&text, ["unknown"]), None);
    let all = selector.scores(&text);
    let one = selector.score(&text, "rivers").unwrap();
    assert!((all[3] - one).abs() < 1e-5, "one pass and one model agree");
}

#[test]
fn soft_labels_follow_the_rewards() {
    let rewards = BTreeMap::from([
        ("a".to_owned(), Some(1.5)),
        ("b".to_owned(), Some(1.25)),
        ("c".to_owned(), None),
    ]);
    let labels = soft_labels(&rewards);
    assert!((labels["a"] - 1.0 / (1.0 + (-1.0f64).exp())).abs() < 1e-12);
    assert!((labels.values().sum::<f64>() - 1.0).abs() < 1e-12);
    assert!(labels["c"].abs() < 1e-12);
    let failed = BTreeMap::from([("a".to_owned(), None)]);
    assert!(soft_labels(&failed)["a"].abs() < 1e-12, "nobody was right");
    let huge = BTreeMap::from([("a".to_owned(), Some(1e9)), ("b".to_owned(), Some(0.0))]);
    assert!((soft_labels(&huge)["a"] - 1.0).abs() < 1e-12);
}
