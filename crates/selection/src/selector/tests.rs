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
fn example(index: usize) -> Example {
    let (topic, words) = TOPICS[index % TOPICS.len()];
    let text: Vec<&str> = (0..8)
        .map(|at| words[(index * 7 + at * (1 + index % 4)) % words.len()])
        .collect();
    let rewards = TOPICS
        .iter()
        .map(|(model, _)| ((*model).to_owned(), if *model == topic { 1.8 } else { 1.1 }));
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
    let found = evaluation::evaluate(&trained(), &held_out);
    assert!(found.accuracy.value > 0.98, "{found:?}");
    assert!(found.chosen_reward > 0.95 * found.best_reward);
    assert!(found.calibration_error < 0.2, "{}", found.calibration_error);
}

#[test]
fn an_untrained_one_is_familiar_with_nothing() {
    let selector = Selector::train(&[]);
    assert_eq!(selector.choose(&Features::of("anything", &[])), None);
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
fn the_same_log_gives_the_same_file_and_it_reads_back() {
    let text = trained().to_json();
    assert_eq!(text, trained().to_json());
    assert_eq!(Selector::parse(&text).unwrap(), trained());
}

#[test]
fn a_damaged_file_is_refused() {
    let text = trained().to_json();
    for bad in [
        text.replace("selector/v1", "selector/v9"),
        text.replacen("\"models\":[\"music\",", "\"models\":[", 1),
        "{}".to_owned(),
        String::new(),
        text.replacen(":\"", ":\"zz", 4),
    ] {
        assert!(Selector::parse(&bad).is_err());
    }
}

#[test]
fn soft_labels_follow_the_rewards() {
    let rewards = BTreeMap::from([("a".to_owned(), 1.5), ("b".to_owned(), 1.25)]);
    let labels = soft_labels(&rewards);
    assert!((labels["a"] - 1.0 / (1.0 + (-1.0f64).exp())).abs() < 1e-12);
    assert!((labels.values().sum::<f64>() - 1.0).abs() < 1e-12);
    let huge = BTreeMap::from([("a".to_owned(), 1e9), ("b".to_owned(), 0.0)]);
    assert!((soft_labels(&huge)["a"] - 1.0).abs() < 1e-12);
}
