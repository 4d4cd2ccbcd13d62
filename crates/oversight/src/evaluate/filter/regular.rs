//! Regular expressions of POSIX programs, turned into ours where both mean the same.

use regex::{Regex, RegexBuilder};

/// How large an expression may become.
const MAX_SIZE: usize = 64 * 1024;

/// The expression of `grep`, `sed` and `[[ =~ ]]`; None where the two kinds may differ.
pub(super) fn compile(text: &str, extended: bool, any_case: bool) -> Option<Regex> {
    if text.len() > 400 {
        return None;
    }
    let source = if extended {
        classes(text)?
    } else {
        basic(text)?
    };
    RegexBuilder::new(&source)
        .case_insensitive(any_case)
        .multi_line(false)
        .size_limit(MAX_SIZE)
        .dfa_size_limit(MAX_SIZE)
        .build()
        .ok()
}

/// Whether the first way that fits may not be the longest, which POSIX takes.
pub(super) fn has_ways(text: &str) -> bool {
    text.contains('|')
}

/// Basic expressions: groups, counts and ways need a backslash, and bare ones are themselves.
fn basic(text: &str) -> Option<String> {
    let mut whole = String::new();
    let mut characters = text.chars().peekable();
    let mut start = true;
    while let Some(character) = characters.next() {
        let at_start = std::mem::take(&mut start);
        match character {
            '\\' => match characters.next()? {
                '(' => {
                    whole.push('(');
                    start = true;
                }
                mark @ (')' | '{' | '}' | '|' | '+' | '?') => whole.push(mark),
                other => whole.push_str(&escaped(other)?),
            },
            '(' | ')' | '{' | '}' | '|' | '+' | '?' => whole.extend(['\\', character]),
            '*' if at_start => whole.push_str("\\*"),
            '^' if !at_start => return None,
            '^' => {
                whole.push('^');
                start = true;
            }
            '$' if characters.peek().is_some_and(|next| *next != '\\') => return None,
            '[' => whole.push_str(&bracket(&mut characters)?),
            other => whole.push(other),
        }
    }
    Some(whole)
}

/// Extended expressions are nearly ours.
fn classes(text: &str) -> Option<String> {
    let mut whole = String::new();
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\\' => whole.push_str(&escaped(characters.next()?)?),
            '[' => whole.push_str(&bracket(&mut characters)?),
            // `(?` and `*?` mean something else here.
            '(' | '*' | '+' | '?' | '}' if characters.peek() == Some(&'?') => return None,
            other => whole.push(other),
        }
    }
    Some(whole)
}

fn escaped(character: char) -> Option<String> {
    Some(match character {
        'n' => "\n".to_owned(),
        't' => "\t".to_owned(),
        'w' | 'W' | 's' | 'S' | 'b' => format!("\\{character}"),
        '<' | '>' => "\\b".to_owned(),
        other if other.is_alphanumeric() => return None,
        other => regex::escape(&other.to_string()),
    })
}

/// `[…]`, in which a backslash is itself.
fn bracket(characters: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Option<String> {
    let mut whole = String::from('[');
    if characters.next_if_eq(&'^').is_some() {
        whole.push('^');
    }
    if characters.next_if_eq(&']').is_some() {
        whole.push_str("\\]");
    }
    while let Some(character) = characters.next() {
        match character {
            ']' => {
                whole.push(']');
                return Some(whole);
            }
            '[' if characters.peek() == Some(&':') => {
                whole.push('[');
                for inner in characters.by_ref() {
                    whole.push(inner);
                    if inner == ']' {
                        break;
                    }
                }
            }
            '[' if matches!(characters.peek(), Some('.' | '=')) => return None,
            '[' | '\\' | '&' | '~' => whole.extend(['\\', character]),
            other => whole.push(other),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_mean_what_they_mean_to_posix() {
        for (text, extended, sample, found) in [
            ("pu..", false, "xpushx", Some("push")),
            ("a+", false, "aa+", Some("a+")),
            ("a\\+", false, "baa", Some("aa")),
            ("[^\\]*", false, "ab\\c", Some("ab")),
            ("p(u|x)sh", true, "apxsh", Some("pxsh")),
            ("[[:upper:]]+", true, "abCD", Some("CD")),
            ("^#", false, "a#", None),
            ("*x", false, "a*x", Some("*x")),
        ] {
            let regex = compile(text, extended, false).expect(text);
            let match_ = regex.find(sample).map(|one| one.as_str());
            assert_eq!(match_, found, "{text}");
        }
        assert!(compile("\\(a\\)\\1", false, false).is_none());
    }
}
