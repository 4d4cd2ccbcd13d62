//! What `tr` makes of text.

use crate::shell::escape;

use super::words::Given;

/// Whether a character is one of a class.
type Holds = fn(&char) -> bool;

/// Classes of characters by their names.
const CLASSES: &[(&str, Holds)] = &[
    ("[:upper:]", char::is_ascii_uppercase),
    ("[:lower:]", char::is_ascii_lowercase),
    ("[:digit:]", char::is_ascii_digit),
    ("[:alpha:]", char::is_ascii_alphabetic),
    ("[:alnum:]", char::is_ascii_alphanumeric),
    ("[:punct:]", char::is_ascii_punctuation),
    ("[:xdigit:]", char::is_ascii_hexdigit),
    ("[:cntrl:]", char::is_ascii_control),
    ("[:graph:]", char::is_ascii_graphic),
    ("[:space:]", |one| " \t\n\r\u{b}\u{c}".contains(*one)),
    ("[:blank:]", |one| matches!(one, ' ' | '\t')),
    ("[:print:]", |one| *one == ' ' || one.is_ascii_graphic()),
];

/// The text after `tr`; None for what is seldom met.
pub(super) fn translate(arguments: &[String], text: &str) -> Option<String> {
    let long = [
        ("complement", 'c'),
        ("delete", 'd'),
        ("squeeze-repeats", 's'),
    ];
    let given = Given::read(arguments, "cCds", &long)?;
    let sets: Vec<Vec<char>> = given
        .operands
        .iter()
        .map(|set| characters(set))
        .collect::<Option<_>>()?;
    let complement = given.has('c') || given.has('C');
    let first = sets.first()?;
    let chosen = |character: char| first.contains(&character) != complement;
    let (deletes, squeezes) = (given.has('d'), given.has('s'));
    let changed: String = match (sets.get(1), deletes) {
        (None, true) => return Some(text.chars().filter(|one| !chosen(*one)).collect()),
        (None, false) if squeezes => return Some(squeezed(text, chosen)),
        (Some(second), true) if squeezes => {
            let kept: String = text.chars().filter(|one| !chosen(*one)).collect();
            return Some(squeezed(&kept, |one| second.contains(&one)));
        }
        (Some(second), false) => {
            let last = *second.last()?;
            let change = |character: char| {
                if complement {
                    return if chosen(character) { last } else { character };
                }
                match first.iter().rposition(|one| *one == character) {
                    Some(index) => second.get(index).copied().unwrap_or(last),
                    None => character,
                }
            };
            text.chars().map(change).collect()
        }
        _ => return None,
    };
    let second = sets.get(1)?;
    Some(if squeezes {
        squeezed(&changed, |one| second.contains(&one))
    } else {
        changed
    })
}

/// Runs of the same character as one.
fn squeezed(text: &str, chosen: impl Fn(char) -> bool) -> String {
    let mut before = None;
    let kept = text.chars().filter(|one| {
        let again = before == Some(*one) && chosen(*one);
        before = Some(*one);
        !again
    });
    kept.collect()
}

fn characters(set: &str) -> Option<Vec<char>> {
    let mut all = Vec::new();
    let mut rest = set;
    while !rest.is_empty() {
        if let Some((name, holds)) = CLASSES.iter().find(|(name, _)| rest.starts_with(name)) {
            all.extend((0..128_u8).map(char::from).filter(holds));
            rest = rest.get(name.len()..)?;
            continue;
        }
        // `[=a=]` and `[a*3]`.
        if rest.starts_with('[') && (rest.starts_with("[=") || rest.contains("*")) {
            return None;
        }
        let end = rest
            .char_indices()
            .skip(1)
            .find(|(_, one)| *one == '[')
            .map_or(rest.len(), |(at, _)| at);
        let (part, after) = rest.split_at_checked(end)?;
        ranges(part, &mut all);
        rest = after;
    }
    Some(all)
}

fn ranges(part: &str, all: &mut Vec<char>) {
    let part: Vec<char> = escape::backslashes(part).chars().collect();
    let mut index = 0;
    while let Some(first) = part.get(index) {
        let next = part.get(index.saturating_add(1));
        match (next, part.get(index.saturating_add(2))) {
            (Some('-'), Some(last)) => {
                all.extend((*first..=*last).take(512));
                index = index.saturating_add(3);
            }
            _ => {
                all.push(*first);
                index = index.saturating_add(1);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_changed_left_out_and_squeezed() {
        for (words, text, expected) in [
            (&["a-z", "n-za-m"][..], "chfu", "push"),
            (&["-d", "0-9"], "p1u2sh", "push"),
            (&["-cd", "a-z"], "p-u-s-h\n", "push"),
            (&["-s", "p"], "ppush", "push"),
            (&["-d", "[:punct:]"], "p.u,sh", "push"),
            (&["[:upper:]", "[:lower:]"], "PUSH", "push"),
        ] {
            let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
            assert_eq!(
                translate(&words, text).as_deref(),
                Some(expected),
                "{words:?}"
            );
        }
        assert!(translate(&["-t".to_owned(), "a".to_owned()], "x").is_none());
    }
}
