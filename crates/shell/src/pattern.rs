//! Shell patterns: `*`, `?`, `[…]`, `@(a|b)` and similar ones, with backslashes for literal characters. Bounded work.

/// Limit of comparisons, beyond which there is no match.
const MAX_STEPS: usize = 200_000;

/// Returns `true` if the whole text matches.
pub fn matches(pattern: &str, text: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let text: Vec<char> = text.chars().collect();
    full(&pattern, &text)
}

/// Returns `true` if the pattern has an unquoted `*` or `?`, or a closed `[`: the program `[` is not a pattern.
pub fn is_active(pattern: &str) -> bool {
    let mut escaped = false;
    let mut open = false;
    let mut before = b' ';
    pattern.bytes().any(|byte| {
        let active = match byte {
            b'*' | b'?' => !escaped,
            b']' => open,
            b'(' => !escaped && matches!(before, b'@' | b'+' | b'!'),
            _ => false,
        };
        before = byte;
        open |= byte == b'[' && !escaped;
        escaped = !escaped && byte == b'\\';
        active
    })
}

fn full(pattern: &[char], text: &[char]) -> bool {
    if (0..pattern.len()).any(|at| group(pattern, at).is_some()) {
        return text.len() <= MAX_GROUPED && grouped(pattern, text, &mut 0);
    }
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
        // The last star takes one more character, if there is one.
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

/// Limit of the length of a text for a pattern with alternatives.
const MAX_GROUPED: usize = 1000;

/// Parses `@(a|b)` at this position: its operator, its alternatives and its length in the pattern.
fn group(pattern: &[char], at: usize) -> Option<(char, Vec<&[char]>, usize)> {
    let sign = *pattern.get(at)?;
    let escaped = at.checked_sub(1).and_then(|at| pattern.get(at)) == Some(&'\\');
    let opens = pattern.get(at.checked_add(1)?) == Some(&'(');
    if escaped || !opens || !matches!(sign, '?' | '*' | '+' | '@' | '!') {
        return None;
    }
    let inner = pattern.get(at.checked_add(2)?..)?;
    let (mut depth, mut start, mut skips) = (0_usize, 0_usize, false);
    let mut alternatives = Vec::new();
    for (index, character) in inner.iter().enumerate() {
        if std::mem::take(&mut skips) {
            continue;
        }
        match character {
            '\\' => skips = true,
            '(' => depth = depth.checked_add(1)?,
            '|' if depth == 0 => {
                alternatives.push(inner.get(start..index)?);
                start = index.checked_add(1)?;
            }
            ')' if depth == 0 => {
                alternatives.push(inner.get(start..index)?);
                return Some((sign, alternatives, index.checked_add(3)?));
            }
            ')' => depth = depth.checked_sub(1)?,
            _ => {}
        }
    }
    None
}

/// Does the same as [`full`], with alternatives.
fn grouped(pattern: &[char], text: &[char], steps: &mut usize) -> bool {
    *steps = steps.saturating_add(1);
    let Some(first) = pattern.first() else {
        return text.is_empty();
    };
    if *steps > MAX_STEPS {
        return false;
    }
    let parts = |from: usize| {
        (from..=text.len()).filter_map(|length| Some((text.get(..length)?, text.get(length..)?)))
    };
    if let Some((sign, alternatives, width)) = group(pattern, 0) {
        let rest = pattern.get(width..).unwrap_or_default();
        if matches!(sign, '?' | '*') && grouped(rest, text, steps) {
            return true;
        }
        let repeats = matches!(sign, '*' | '+');
        return parts(usize::from(repeats)).any(|(head, tail)| {
            let fits = alternatives.iter().any(|one| grouped(one, head, steps));
            fits != (sign == '!')
                && (grouped(rest, tail, steps) || (repeats && grouped(pattern, tail, steps)))
        });
    }
    if *first == '*' {
        let rest = pattern.get(1..).unwrap_or_default();
        return parts(0).any(|(_, tail)| grouped(rest, tail, steps));
    }
    one(pattern, 0, text, 0).is_some_and(|width| {
        let rest = pattern.get(width..).unwrap_or_default();
        grouped(rest, text.get(1..).unwrap_or_default(), steps)
    })
}

/// Returns how many characters of the pattern match the character of the text.
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

/// Returns `true` if the character is in the set, and the length of the set in the pattern.
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
        if low == '['
            && let Some((held, width)) = class(pattern, index, character)
        {
            found |= held;
            index = index.saturating_add(width);
            continue;
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

/// Evaluates `[:lower:]` in a set: returns `true` if it contains the character, and its length in the pattern.
fn class(pattern: &[char], at: usize, character: char) -> Option<(bool, usize)> {
    let rest = pattern.get(at.saturating_add(1)..)?;
    if rest.first() != Some(&':') {
        return None;
    }
    let length = rest
        .windows(2)
        .skip(1)
        .position(|pair| pair == [':', ']'])?;
    let name: String = rest.iter().skip(1).take(length).collect();
    let held = match name.as_str() {
        "alpha" => character.is_alphabetic(),
        "digit" => character.is_ascii_digit(),
        "alnum" => character.is_alphanumeric(),
        "lower" => character.is_lowercase(),
        "upper" => character.is_uppercase(),
        "space" => character.is_whitespace(),
        "blank" => matches!(character, ' ' | '\t'),
        "punct" => character.is_ascii_punctuation(),
        "xdigit" => character.is_ascii_hexdigit(),
        "word" => character.is_alphanumeric() || character == '_',
        "cntrl" => character.is_control(),
        "print" => !character.is_control(),
        "graph" => !character.is_control() && !character.is_whitespace(),
        _ => return None,
    };
    Some((held, length.saturating_add(4)))
}

/// Returns the text without the shortest or longest prefix that matches.
pub fn remove_prefix(text: &str, pattern: &str, longest: bool) -> String {
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

/// Returns the text without the shortest or longest suffix that matches.
pub fn remove_suffix(text: &str, pattern: &str, longest: bool) -> String {
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

/// Returns the length of the longest match that starts here.
fn match_length(pattern: &[char], text: &[char]) -> Option<usize> {
    (0..=text.len())
        .rev()
        .find(|length| text.get(..*length).is_some_and(|part| full(pattern, part)))
}

/// Replaces the first match, or all.
pub fn replace(text: &str, pattern: &str, with: &str, all: bool) -> String {
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
            ("+(u|s)", "usu", true),
            ("p@(u|x)sh", "push", true),
            ("!(push)", "push", false),
            ("?(x)push", "push", true),
            ("*(x)y", "xxy", true),
            ("\\+(u)", "+(u)", true),
            ("[[:lower:]]*", "push", true),
            ("[^[:digit:]]", "7", false),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} {text}");
        }
        assert_eq!(remove_suffix("push.sh", ".sh", false), "push");
        assert_eq!(remove_prefix("/a/b/push", "*/", true), "push");
        assert_eq!(replace("p-u-s-h", "-", "", true), "push");
    }
}
