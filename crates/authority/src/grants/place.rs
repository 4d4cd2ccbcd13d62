//! Position of a number in the text of a manifest, so that only the number is replaced.

use std::ops::Range;

use serde_json::Value;

/// Returns the range of an action's number of uses: the last one if a name occurs twice, as JSON parsers read it.
pub(super) fn of_uses(text: &str, action: &str) -> Option<Range<usize>> {
    // Only valid JSON: the walk below relies on it.
    serde_json::from_str::<Value>(text).ok()?;
    let entry = member(text, 0..text.len(), action)?;
    let uses = member(text, entry, "uses")?;
    let number = text.get(uses.clone())?;
    number
        .starts_with(|first: char| first.is_ascii_digit())
        .then_some(uses)
}

/// Returns the range of the last value with this name in the object of a range.
fn member(text: &str, object: Range<usize>, name: &str) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let mut at = blanks(bytes, object.start);
    if bytes.get(at) != Some(&b'{') {
        return None;
    }
    let mut found = None;
    at = blanks(bytes, at + 1);
    while at < object.end && bytes.get(at) == Some(&b'"') {
        let end = value_end(bytes, at)?;
        let key: String = serde_json::from_str(text.get(at..end)?).ok()?;
        let colon = blanks(bytes, end);
        let start = blanks(bytes, colon + 1);
        let end = value_end(bytes, start)?;
        if key == name {
            found = Some(start..end);
        }
        at = blanks(bytes, end);
        if bytes.get(at) == Some(&b',') {
            at = blanks(bytes, at + 1);
        }
    }
    found
}

fn blanks(bytes: &[u8], mut at: usize) -> usize {
    while bytes.get(at).is_some_and(u8::is_ascii_whitespace) {
        at += 1;
    }
    at
}

/// Returns the end of the value that starts here.
fn value_end(bytes: &[u8], start: usize) -> Option<usize> {
    let mut depth = 0_usize;
    let mut at = start;
    loop {
        match bytes.get(at)? {
            b'"' => {
                at += 1;
                loop {
                    match bytes.get(at)? {
                        b'\\' => at += 2,
                        b'"' => break,
                        _ => at += 1,
                    }
                }
                at += 1;
            }
            b'{' | b'[' => {
                depth += 1;
                at += 1;
            }
            b'}' | b']' => {
                if depth == 0 {
                    return Some(at);
                }
                depth -= 1;
                at += 1;
            }
            b',' if depth == 0 => return Some(at),
            blank if depth == 0 && blank.is_ascii_whitespace() => return Some(at),
            _ => {
                at += 1;
                if depth == 0 {
                    // A number or a word extends to its end.
                    let ends = bytes.get(at).is_none_or(|next| {
                        matches!(next, b',' | b'}' | b']') || next.is_ascii_whitespace()
                    });
                    if ends {
                        return Some(at);
                    }
                }
                continue;
            }
        }
        if depth == 0 {
            return Some(at);
        }
    }
}
