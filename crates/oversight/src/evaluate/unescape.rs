//! What a text in the code of other languages says: escaped signs, and places that are filled in.

use crate::value::HOLE;

/// What stands in braces in a text of several lines.
pub(super) fn fillings_of(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut depth = 0_usize;
    for one in text.chars() {
        if one == '{' {
            if depth == 0 {
                found.push(String::new());
            }
            depth = depth.saturating_add(1);
        } else if one == '}' {
            depth = depth.saturating_sub(1);
        }
        if depth > 0
            && let Some(last) = found.last_mut()
        {
            last.push(one);
        }
    }
    let inside = |filling: &String| filling.get(1..).unwrap_or_default().to_owned();
    found.iter().map(inside).collect()
}

/// What stands after a backslash, and how many bytes of it: `x67`, `147`, `u0067`, `u{67}`, `n`.
pub(super) fn unescape(rest: &str) -> (Option<char>, usize) {
    let Some(first) = rest.chars().next() else {
        return (None, 0);
    };
    let after = rest.get(first.len_utf8()..).unwrap_or_default();
    let digits = |most: usize, radix: u32, text: &str| {
        let digits: String = text
            .chars()
            .take(most)
            .take_while(|one| one.is_digit(radix))
            .collect();
        let value = u32::from_str_radix(&digits, radix)
            .ok()
            .and_then(char::from_u32);
        value.map(|value| (value, digits.len()))
    };
    let braced = after.strip_prefix('{').and_then(|inside| {
        let (value, length) = digits(6, 16, inside)?;
        inside
            .get(length..)?
            .starts_with('}')
            .then_some((value, length.saturating_add(2)))
    });
    let numbered = match first {
        'x' => braced.or_else(|| digits(2, 16, after)),
        'u' => braced.or_else(|| digits(4, 16, after)),
        'U' => digits(8, 16, after),
        '0'..='7' => digits(3, 8, rest).map(|(value, length)| (value, length.saturating_sub(1))),
        _ => None,
    };
    if let Some((value, length)) = numbered {
        return (Some(value), length.saturating_add(1));
    }
    if first == 'N' && after.starts_with('{') {
        // A sign by its name, which is not looked up.
        let length = after.find('}').unwrap_or_default().saturating_add(2);
        return (Some(HOLE), length);
    }
    let value = match first {
        'n' => '\n',
        't' => '\t',
        'r' => '\r',
        '\n' => return (None, 1),
        other => other,
    };
    (Some(value), first.len_utf8())
}

/// How long the pattern is that begins here, with both of its slashes.
pub(super) fn pattern_length(text: &str) -> Option<usize> {
    let mut class = false;
    let mut escaped = false;
    for (at, one) in text.char_indices().skip(1) {
        match one {
            '\n' => return None,
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '[' => class = true,
            ']' => class = false,
            // `/*` and `//` are comments.
            '*' if at == 1 => return None,
            '/' if !class => return (at > 1).then(|| at.saturating_add(1)),
            _ => {}
        }
    }
    None
}
