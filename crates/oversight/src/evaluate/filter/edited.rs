//! What `sed` prints of text that is known, for scripts of lines that are chosen and of plain substitutions.

use regex::Regex;

use super::regular::{compile, has_ways};
use super::words::Given;
use crate::evaluate::sed::until;

/// Which lines a command is for.
#[derive(Clone)]
enum Address {
    All,
    Number(usize),
    Last,
    Matching(Regex),
    Numbers(usize, usize),
    /// From a line that matches to the next one that does.
    Between(Regex, Regex),
}

enum Deed {
    Print,
    Delete,
    Quit,
    /// `a text`, `i text`, `c text`.
    Line(char, String),
    /// `y/abc/xyz/`.
    Letters(Vec<char>, Vec<char>),
    Replace {
        wanted: Regex,
        with: String,
        all: bool,
        prints: bool,
    },
}

struct Step {
    address: Address,
    deed: Deed,
}

/// The text after `sed`; None where the script does more.
pub(super) fn edited(arguments: &[String], text: &str) -> Option<String> {
    let long = [
        ("quiet", 'n'),
        ("silent", 'n'),
        ("regexp-extended", 'E'),
        ("expression", 'e'),
        ("in-place", 'i'),
    ];
    let given = Given::read(arguments, "nErsuie:", &long)?;
    let extended = given.has('E') || given.has('r');
    let mut script: Vec<&str> = given.all('e').collect();
    if script.is_empty() {
        script.push(given.operands.first()?);
    }
    let steps = parse(&script.join("\n"), extended)?;
    let mut inside = vec![false; steps.len()];
    let mut output = String::new();
    let lines: Vec<&str> = text.lines().collect();
    for (index, line) in lines.iter().enumerate() {
        let mut line = (*line).to_owned();
        let (mut deleted, mut ends) = (false, false);
        let mut after = String::new();
        for (step, inside) in steps.iter().zip(&mut inside) {
            let number = index.saturating_add(1);
            if !step
                .address
                .holds(&line, number, number == lines.len(), inside)
            {
                continue;
            }
            match &step.deed {
                Deed::Print => output.push_str(&format!("{line}\n")),
                Deed::Delete => deleted = true,
                Deed::Quit => ends = true,
                Deed::Line('i', text) => output.push_str(&format!("{text}\n")),
                Deed::Line('c', text) => line.clone_from(text),
                Deed::Line(_, text) => after.push_str(&format!("{text}\n")),
                Deed::Letters(from, to) => {
                    let changed = line.chars().map(|one| {
                        let at = from.iter().position(|other| *other == one);
                        at.and_then(|at| to.get(at)).copied().unwrap_or(one)
                    });
                    line = changed.collect();
                }
                Deed::Replace {
                    wanted,
                    with,
                    all,
                    prints,
                } => {
                    let changed = if *all {
                        wanted.replace_all(&line, with.as_str())
                    } else {
                        wanted.replace(&line, with.as_str())
                    };
                    let differs = wanted.is_match(&line);
                    line = changed.into_owned();
                    if *prints && differs {
                        output.push_str(&format!("{line}\n"));
                    }
                }
            }
            if deleted || ends {
                break;
            }
        }
        if !deleted && !given.has('n') {
            output.push_str(&line);
            output.push('\n');
        }
        output.push_str(&after);
        if ends {
            break;
        }
    }
    Some(output)
}

impl Address {
    fn holds(&self, line: &str, number: usize, last: bool, inside: &mut bool) -> bool {
        match self {
            Self::All => true,
            Self::Number(one) => *one == number,
            Self::Last => last,
            Self::Matching(regex) => regex.is_match(line),
            Self::Numbers(from, to) => (*from..=*to).contains(&number),
            Self::Between(from, to) => {
                if *inside {
                    *inside = !to.is_match(line);
                    return true;
                }
                *inside = from.is_match(line);
                *inside
            }
        }
    }
}

fn parse(script: &str, extended: bool) -> Option<Vec<Step>> {
    let mut steps = Vec::new();
    let mut rest = script.trim_start_matches([';', '\n', ' ', '\t']);
    while !rest.is_empty() {
        if steps.len() > 16 {
            return None;
        }
        let (address, after) = address(rest, extended)?;
        let mut characters = after.trim_start().chars();
        let letter = characters.next()?;
        rest = characters.as_str();
        let deed = match letter {
            '{' => {
                // What stands in the braces is for the same lines.
                let (inner, after) = rest.split_once('}')?;
                for step in parse(inner, extended)? {
                    if !matches!(step.address, Address::All) || inner.contains('{') {
                        return None;
                    }
                    steps.push(Step {
                        address: address.clone(),
                        deed: step.deed,
                    });
                }
                rest = after.trim_start_matches([';', '\n', ' ', '\t']);
                continue;
            }
            'p' => Deed::Print,
            'd' => Deed::Delete,
            'q' => Deed::Quit,
            's' => {
                let (deed, after) = substitution(rest, extended)?;
                rest = after;
                deed
            }
            'a' | 'i' | 'c' => {
                let (text, after) = rest.split_once('\n').unwrap_or((rest, ""));
                rest = after;
                let text = text.trim_start().trim_start_matches('\\');
                if text.is_empty() || text.contains('\\') || text.ends_with('}') {
                    return None;
                }
                steps.push(Step {
                    address,
                    deed: Deed::Line(letter, text.trim_start().to_owned()),
                });
                continue;
            }
            'y' => {
                let mut characters = rest.chars();
                let mark = characters.next()?;
                let (from, after) = until(characters.as_str(), mark)?;
                let (to, after) = until(after, mark)?;
                rest = after;
                if from.contains('\\') || to.contains('\\') {
                    return None;
                }
                Deed::Letters(from.chars().collect(), to.chars().collect())
            }
            _ => return None,
        };
        steps.push(Step { address, deed });
        rest = rest.trim_start_matches([' ', '\t']);
        if !rest.is_empty() && !rest.starts_with([';', '\n']) {
            return None;
        }
        rest = rest.trim_start_matches([';', '\n', ' ', '\t']);
    }
    Some(steps)
}

fn address(text: &str, extended: bool) -> Option<(Address, &str)> {
    if let Some(after) = text.strip_prefix('$') {
        return Some((Address::Last, after));
    }
    if let Some(after) = text.strip_prefix('/') {
        let (wanted, after) = until(after, '/')?;
        let from = compile(&wanted, extended, false)?;
        if let Some(after) = after.strip_prefix(",$") {
            return Some((Address::Between(from, Regex::new("[^\\s\\S]").ok()?), after));
        }
        if let Some(after) = after.strip_prefix(",/") {
            let (wanted, after) = until(after, '/')?;
            let to = compile(&wanted, extended, false)?;
            return Some((Address::Between(from, to), after));
        }
        return Some((Address::Matching(from), after));
    }
    let (number, after) = number(text);
    let Some(from) = number else {
        return Some((Address::All, text));
    };
    let Some(after) = after.strip_prefix(',') else {
        return Some((Address::Number(from), after));
    };
    if let Some(after) = after.strip_prefix('$') {
        return Some((Address::Numbers(from, usize::MAX), after));
    }
    let (to, after) = self::number(after);
    Some((Address::Numbers(from, to?), after))
}

fn number(text: &str) -> (Option<usize>, &str) {
    let rest = text.trim_start_matches(|one: char| one.is_ascii_digit());
    let digits = text.get(..text.len().saturating_sub(rest.len()));
    (digits.and_then(|digits| digits.parse().ok()), rest)
}

fn substitution(text: &str, extended: bool) -> Option<(Deed, &str)> {
    let mut characters = text.chars();
    let mark = characters.next()?;
    let (wanted, after) = until(characters.as_str(), mark)?;
    let (with, after) = until(after, mark)?;
    let end = after.find([';', '\n', ' ', '}']).unwrap_or(after.len());
    let (flags, rest) = after.split_at_checked(end)?;
    if !flags.chars().all(|flag| "gpIi".contains(flag)) || has_ways(&wanted) || wanted.is_empty() {
        return None;
    }
    let deed = Deed::Replace {
        wanted: compile(&wanted, extended, flags.contains(['I', 'i']))?,
        with: replacement(&with)?,
        all: flags.contains('g'),
        prints: flags.contains('p'),
    };
    Some((deed, rest))
}

/// `&` and `\1` in the way of our expressions.
fn replacement(text: &str) -> Option<String> {
    let mut whole = String::new();
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            '&' => whole.push_str("${0}"),
            '$' => whole.push_str("$$"),
            '\\' => match characters.next()? {
                digit if digit.is_ascii_digit() => whole.push_str(&format!("${{{digit}}}")),
                'n' => whole.push('\n'),
                't' => whole.push('\t'),
                other if other.is_alphabetic() => return None,
                '$' => whole.push_str("$$"),
                other => whole.push(other),
            },
            other => whole.push(other),
        }
    }
    Some(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_chosen_and_changed() {
        for (words, text, expected) in [
            (&["s/x/s/"][..], "puxh\n", "push\n"),
            (&["-n", "2p"], "a\npush\n", "push\n"),
            (&["1d"], "a\npush\n", "push\n"),
            (&["s/^run: //;/^#/d"], "#a\nrun: git push\n", "git push\n"),
            (&["-E", "s/(pu)x(sh)/\\1\\2/"], "puxsh\n", "push\n"),
            (
                &["-n", "/```/,/```/p"],
                "a\n```\nx\n```\nb\n",
                "```\nx\n```\n",
            ),
            (&["-e", "s/a/p/", "-e", "s/b/u/"], "absh\n", "push\n"),
            (&["s/.*/<&>/"], "x$1\n", "<x$1>\n"),
        ] {
            let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
            assert_eq!(edited(&words, text).as_deref(), Some(expected), "{words:?}");
        }
        assert!(edited(&["s/a/b/2".to_owned()], "x").is_none());
    }
}
