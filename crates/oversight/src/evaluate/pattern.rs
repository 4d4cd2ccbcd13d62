//! Shell patterns: `*`, `?`, `[…]`, with backslashes for characters that mean themselves. Bounded work, no allocation.

/// More comparisons than this count as no match.
const MAX_STEPS: usize = 200_000;

/// Whether the whole text matches.
pub(crate) fn matches(pattern: &str, text: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let text: Vec<char> = text.chars().collect();
    full(&pattern, &text)
}

/// Whether an unquoted `*` or `?` is in it, or a `[` that is closed: the program `[` is no pattern.
pub(crate) fn is_active(pattern: &str) -> bool {
    let mut escaped = false;
    let mut open = false;
    pattern.bytes().any(|byte| {
        let active = match byte {
            b'*' | b'?' => !escaped,
            b']' => open,
            _ => false,
        };
        open |= byte == b'[' && !escaped;
        escaped = !escaped && byte == b'\\';
        active
    })
}

fn full(pattern: &[char], text: &[char]) -> bool {
    let (mut at, mut of) = (0_usize, 0_usize);
    let mut star: Option<(usize, usize)> = None;
    for _ in 0..MAX_STEPS {
        if pattern.get(at) == Some(&'*') {
            star = Some((at.saturating_add(1), of));
            at = at.saturating_add(1);
            continue;
        }
        if of >= text.len() {
            if at >= pattern.len() {
                return true;
            }
        } else if let Some(width) = one(pattern, at, text, of) {
            at = at.saturating_add(width);
            of = of.saturating_add(1);
            continue;
        }
        // The last star takes one character more, if there is one.
        match star {
            Some((after, taken)) if taken < text.len() => {
                star = Some((after, taken.saturating_add(1)));
                at = after;
                of = taken.saturating_add(1);
            }
            _ => return false,
        }
    }
    false
}

/// How many characters of the pattern match the character of the text.
fn one(pattern: &[char], at: usize, text: &[char], of: usize) -> Option<usize> {
    let character = *text.get(of)?;
    match *pattern.get(at)? {
        '?' => Some(1),
        '\\' => (pattern.get(at.saturating_add(1)) == Some(&character)).then_some(2),
        '[' => match bracket(pattern, at, character) {
            Some((true, width)) => Some(width),
            Some((false, _)) => None,
            None => (character == '[').then_some(1),
        },
        literal => (literal == character).then_some(1),
    }
}

/// Whether the character is in the set, and how long the set is written.
fn bracket(pattern: &[char], at: usize, character: char) -> Option<(bool, usize)> {
    let mut index = at.saturating_add(1);
    let negated = matches!(pattern.get(index), Some('!' | '^'));
    if negated {
        index = index.saturating_add(1);
    }
    let first = index;
    let mut found = false;
    loop {
        let mut low = *pattern.get(index)?;
        if low == ']' && index > first {
            let width = index.saturating_add(1).saturating_sub(at);
            return Some((found != negated, width));
        }
        if low == '\\' {
            index = index.saturating_add(1);
            low = *pattern.get(index)?;
        }
        let range = pattern.get(index.saturating_add(1)) == Some(&'-')
            && pattern
                .get(index.saturating_add(2))
                .is_some_and(|end| *end != ']');
        if range {
            let high = *pattern.get(index.saturating_add(2))?;
            found |= (low..=high).contains(&character);
            index = index.saturating_add(3);
        } else {
            found |= low == character;
            index = index.saturating_add(1);
        }
    }
}

/// The text without the shortest or longest beginning that matches.
pub(crate) fn remove_prefix(text: &str, pattern: &str, longest: bool) -> String {
    let chars: Vec<char> = text.chars().collect();
    let wanted: Vec<char> = pattern.chars().collect();
    let fits = |length: &usize| chars.get(..*length).is_some_and(|part| full(&wanted, part));
    let found = if longest {
        (0..=chars.len()).rev().find(fits)
    } else {
        (0..=chars.len()).find(fits)
    };
    chars.iter().skip(found.unwrap_or(0)).collect()
}

/// The text without the shortest or longest end that matches.
pub(crate) fn remove_suffix(text: &str, pattern: &str, longest: bool) -> String {
    let chars: Vec<char> = text.chars().collect();
    let wanted: Vec<char> = pattern.chars().collect();
    let fits = |start: &usize| chars.get(*start..).is_some_and(|part| full(&wanted, part));
    let found = if longest {
        (0..=chars.len()).find(fits)
    } else {
        (0..=chars.len()).rev().find(fits)
    };
    chars.iter().take(found.unwrap_or(chars.len())).collect()
}

/// The longest match that starts here.
fn match_length(pattern: &[char], text: &[char]) -> Option<usize> {
    (0..=text.len())
        .rev()
        .find(|length| text.get(..*length).is_some_and(|part| full(pattern, part)))
}

/// Replaces the first match, or all.
pub(crate) fn replace(text: &str, pattern: &str, with: &str, all: bool) -> String {
    let chars: Vec<char> = text.chars().collect();
    let wanted: Vec<char> = pattern.chars().collect();
    if wanted.is_empty() || chars.len() > 4096 {
        return text.to_owned();
    }
    let mut result = String::new();
    let mut index = 0;
    let mut done = false;
    while index < chars.len() {
        let rest = chars.get(index..).unwrap_or_default();
        let found = if done {
            None
        } else {
            match_length(&wanted, rest)
        };
        match found {
            Some(length) if length > 0 => {
                result.push_str(with);
                index = index.saturating_add(length);
                done = !all;
            }
            _ => {
                result.extend(rest.first());
                index = index.saturating_add(1);
            }
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_in_the_shell() {
        for (pattern, text, expected) in [
            ("g?t", "git", true),
            ("[g][i]t", "git", true),
            ("*sh", "push", true),
            ("p*s*h", "push", true),
            ("[!a]ush", "push", true),
            ("\\*", "*", true),
            ("\\*", "x", false),
            ("g*x", "git", false),
            ("[", "[", true),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} {text}");
        }
        assert_eq!(remove_suffix("push.sh", ".sh", false), "push");
        assert_eq!(remove_prefix("/a/b/push", "*/", true), "push");
        assert_eq!(replace("p-u-s-h", "-", "", true), "push");
    }
}
