//! One event of `go test -json`: a flat JSON object on one line.
//!
//! Accepts only strings, numbers and other plain values under known and unknown keys. A line with a nested value, a
//! second value or anything else is not an event. Decides nothing about results.

use std::borrow::Cow;

use memchr::memchr2;

/// Event of a package or of one of its tests.
#[derive(Debug)]
pub(super) struct Event<'a> {
    pub(super) action: &'a [u8],
    pub(super) package: Cow<'a, [u8]>,
    pub(super) test: Option<Cow<'a, [u8]>>,
}

/// Parses an event; `None` if the line is not one, or is one without a package.
pub(super) fn event(line: &[u8]) -> Option<Event<'_>> {
    let mut input = line.strip_prefix(b"{")?;
    let (mut action, mut package, mut test) = (None, None, None);
    loop {
        let key = string(&mut input)?;
        take(&mut input, b':')?;
        match key {
            b"Action" => action = Some(string(&mut input)?),
            b"Package" => package = Some(string(&mut input)?),
            b"Test" => test = Some(string(&mut input)?),
            _ => skip_value(&mut input)?,
        }
        if take(&mut input, b',').is_none() {
            take(&mut input, b'}')?;
            break;
        }
    }
    if !input.is_empty() {
        return None;
    }
    Some(Event {
        action: action?,
        package: plain(package?),
        test: test.map(plain),
    })
}

fn take(input: &mut &[u8], byte: u8) -> Option<()> {
    let (first, rest) = input.trim_ascii_start().split_first()?;
    if *first != byte {
        return None;
    }
    *input = rest.trim_ascii_start();
    Some(())
}

/// Returns the characters between quotes, as written.
fn string<'a>(input: &mut &'a [u8]) -> Option<&'a [u8]> {
    let text = input.strip_prefix(b"\"")?;
    let mut end = 0;
    loop {
        end += memchr2(b'"', b'\\', text.get(end..)?)?;
        if text.get(end) == Some(&b'"') {
            break;
        }
        end += 2;
    }
    *input = text.get(end + 1..)?;
    text.get(..end)
}

fn skip_value(input: &mut &[u8]) -> Option<()> {
    if input.starts_with(b"\"") {
        return string(input).map(drop);
    }
    let length = input
        .iter()
        .position(|byte| !(byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'+')))?;
    let (value, rest) = input.split_at_checked(length)?;
    *input = rest;
    (!value.is_empty()).then_some(())
}

/// Decodes the escapes. Half of a surrogate pair becomes the replacement character.
fn plain(written: &[u8]) -> Cow<'_, [u8]> {
    let mut parts = written.split(|byte| *byte == b'\\');
    let first = parts.next().unwrap_or_default();
    if first.len() == written.len() {
        return Cow::Borrowed(written);
    }
    let mut shown = first.to_vec();
    let mut is_literal = false;
    for part in parts {
        match part {
            // Two backslashes leave an empty part between them; the second one is literal.
            [] if !is_literal => {
                shown.push(b'\\');
                is_literal = true;
                continue;
            }
            part if is_literal => shown.extend_from_slice(part),
            [b'n' | b't' | b'r' | b'b' | b'f', rest @ ..] => {
                shown.push(b' ');
                shown.extend_from_slice(rest);
            }
            [b'u', a, b, c, d, rest @ ..] => {
                let digits = [*a, *b, *c, *d];
                let mut buffer = [0; 4];
                let shown_char = unicode(digits).encode_utf8(&mut buffer);
                shown.extend_from_slice(shown_char.as_bytes());
                shown.extend_from_slice(rest);
            }
            part => shown.extend_from_slice(part),
        }
        is_literal = false;
    }
    Cow::Owned(shown)
}

fn unicode(digits: [u8; 4]) -> char {
    let code = digits.iter().try_fold(0_u32, |sum, digit| {
        Some(sum * 16 + char::from(*digit).to_digit(16)?)
    });
    code.and_then(char::from_u32)
        .unwrap_or(char::REPLACEMENT_CHARACTER)
}
