//! Suggestions for mistyped commands. Prefers none to a far-fetched one.

/// Words that people type, with the corresponding command.
const OTHER_WORDS: &[(&str, &str)] = &[
    ("allow", "approve"),
    ("check", "doctor"),
    ("clean", "prune"),
    ("cost", "prices"),
    ("docs", "help"),
    ("gc", "prune"),
    ("health", "doctor"),
    ("install", "init"),
    ("log", "logs"),
    ("permissions", "grants"),
    ("delete", "retire"),
    ("delete", "uninstall"),
    ("refuse", "deny"),
    ("reject", "deny"),
    ("remove", "retire"),
    ("remove", "uninstall"),
    ("unregister", "retire"),
    ("serve", "up"),
    ("server", "up"),
    ("settings", "config"),
    ("setup", "init"),
    ("start", "up"),
    ("verify", "witness"),
    ("why", "explain"),
];

/// Shortest prefix of a name that is completed.
const SHORTEST: usize = 2;

/// Returns the names of the subcommands for people.
#[must_use]
pub(crate) fn names(command: &clap::Command) -> Vec<String> {
    let shown = command.get_subcommands().filter(|one| !one.is_hide_set());
    shown.map(|one| one.get_name().to_owned()).collect()
}

/// Returns the intended name: the only one with this prefix, one with a synonym, or one with a typing error.
pub(crate) fn of<'a>(word: &str, names: impl Iterator<Item = &'a str> + Clone) -> Option<&'a str> {
    let word = word.to_lowercase();
    let mut begun = names.clone().filter(|name| name.starts_with(&word));
    if word.len() >= SHORTEST
        && let (Some(only), None) = (begun.next(), begun.next())
    {
        return Some(only);
    }
    let mut others = OTHER_WORDS.iter().filter(|(typed, _)| *typed == word);
    if let Some(name) = others.find_map(|(_, meant)| names.clone().find(|name| name == meant)) {
        return Some(name);
    }
    let slips = |name: &str| match word.chars().count().max(name.chars().count()) {
        0..=2 => 0,
        3..=5 => 1,
        _ => 2,
    };
    let near = names.map(|name| (distance(&word, name), name));
    let near = near.filter(|(distance, name)| *distance <= slips(name));
    near.min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// Returns the number of letters that were omitted, added, replaced or swapped with their neighbour.
fn distance(left: &str, right: &str) -> usize {
    let (left, right): (Vec<char>, Vec<char>) = (left.chars().collect(), right.chars().collect());
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=right.len()).collect();
    for (row, a) in left.iter().enumerate() {
        let mut line = vec![row + 1];
        for (column, b) in right.iter().enumerate() {
            let at =
                |line: &[usize], index: usize| line.get(index).copied().unwrap_or(usize::MAX / 2);
            let exchanged = at(&last, column) + usize::from(a != b);
            let mut best = exchanged
                .min(at(&last, column + 1) + 1)
                .min(at(&line, column) + 1);
            let swaps = row > 0
                && column > 0
                && left.get(row - 1) == Some(b)
                && right.get(column - 1) == Some(a);
            if swaps {
                best = best.min(at(&before_last, column - 1) + 1);
            }
            line.push(best);
        }
        before_last = std::mem::replace(&mut last, line);
    }
    last.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_understood_and_nonsense_is_not() {
        let names = [
            "up",
            "init",
            "uninstall",
            "status",
            "doctor",
            "catalog",
            "config",
            "explain",
            "run",
            "hook",
            "sessions",
            "approve",
            "deny",
            "dismiss",
            "grant",
            "grants",
            "revoke",
            "trust",
            "prune",
            "prices",
            "logs",
            "prove",
            "suite",
            "runs",
            "metric",
            "selector",
            "witness",
            "help",
        ];
        for (word, expected) in [
            ("stat", Some("status")),
            ("statsu", Some("status")),
            ("Status", Some("status")),
            ("aprove", Some("approve")),
            ("approev", Some("approve")),
            ("doctr", Some("doctor")),
            ("cofnig", Some("config")),
            ("settings", Some("config")),
            ("log", Some("logs")),
            ("start", Some("up")),
            ("gran", Some("grant")),
            ("push", None),
            ("pull", None),
            ("commit", None),
            ("x", None),
            ("", None),
            ("remove", Some("uninstall")),
            ("dashboard", None),
        ] {
            assert_eq!(of(word, names.into_iter()), expected, "{word}");
        }
    }
}
