//! Walks a JSON document in a log and reports its plain values, each with the keys that lead to it.
//!
//! No tree is built: memory is bounded by the depth, and the work is linear in the document. Independent of runners.

use std::borrow::Cow;

use memchr::memchr2;

/// Limit of the depth of values.
const MAX_DEPTH: usize = 64;
/// Limit of the bytes of a key or a string that are read.
const MAX_TEXT: usize = 4096;

/// A plain value.
#[derive(Debug)]
pub(super) enum Value<'a> {
    /// A string, as written between its quotes.
    Text(&'a [u8]),
    /// A number, `true`, `false` or `null`, as written.
    Word(&'a [u8]),
    /// The end of an object or an array.
    End,
}

/// One level: the key of the value, empty in an array.
#[derive(Clone, Copy, Debug)]
pub(super) struct Level<'a> {
    /// The key that is being read.
    pub(super) key: &'a [u8],
    is_object: bool,
}

/// Walks the document at the start of `bytes` and returns its length.
pub(super) fn walk<'a>(
    bytes: &'a [u8],
    tell: impl FnMut(&[Level<'a>], &Value<'a>, usize),
) -> Result<usize, usize> {
    let mut reached = 0;
    walk_to(bytes, tell, &mut reached).ok_or(reached)
}

fn walk_to<'a>(
    bytes: &'a [u8],
    mut tell: impl FnMut(&[Level<'a>], &Value<'a>, usize),
    reached: &mut usize,
) -> Option<usize> {
    let mut levels: Vec<Level<'a>> = Vec::new();
    let mut rest = bytes;
    // The next token must be a value, or a comma or an end.
    let mut value_is_due = true;
    loop {
        rest = rest.trim_ascii_start();
        let at = bytes.len() - rest.len();
        *reached = at;
        let (first, after) = rest.split_first()?;
        match first {
            b'}' | b']' => {
                let level = levels.pop()?;
                if level.is_object != (*first == b'}') {
                    return None;
                }
                tell(&levels, &Value::End, at);
                rest = after;
                value_is_due = false;
            }
            b',' if !value_is_due => {
                rest = after;
                value_is_due = true;
                continue;
            }
            _ if !value_is_due => return None,
            _ => {
                if let Some(level) = levels.last_mut().filter(|level| level.is_object) {
                    level.key = take_string(&mut rest, bytes.len(), reached)?;
                    rest = rest
                        .trim_ascii_start()
                        .strip_prefix(b":")?
                        .trim_ascii_start();
                }
                let (first, after) = rest.split_first()?;
                match first {
                    b'{' | b'[' => {
                        if levels.len() >= MAX_DEPTH {
                            return None;
                        }
                        levels.push(Level {
                            key: b"",
                            is_object: *first == b'{',
                        });
                        rest = after;
                        continue;
                    }
                    b'"' => {
                        let text = take_string(&mut rest, bytes.len(), reached)?;
                        tell(&levels, &Value::Text(text), at);
                    }
                    _ => {
                        let end = rest.iter().position(|byte| {
                            !(byte.is_ascii_alphanumeric() || b"+-.".contains(byte))
                        });
                        let (word, after) = rest.split_at_checked(end?)?;
                        if word.is_empty() {
                            return None;
                        }
                        tell(&levels, &Value::Word(word), at);
                        rest = after;
                    }
                }
                value_is_due = false;
            }
        }
        if levels.is_empty() {
            return Some(bytes.len() - rest.len());
        }
    }
}

/// Returns the characters between quotes, as written. Until the end is found, the whole document counts as reached.
fn take_string<'a>(rest: &mut &'a [u8], whole: usize, reached: &mut usize) -> Option<&'a [u8]> {
    let text = rest.strip_prefix(b"\"")?;
    *reached = whole;
    let mut end = 0;
    loop {
        end += memchr2(b'"', b'\\', text.get(end..)?)?;
        match text.get(end)? {
            b'"' => break,
            _ => end += 2,
        }
    }
    *rest = text.get(end + 1..)?;
    text.get(..end)
}

/// Returns a string with the escapes that names use decoded.
pub(super) fn plain(text: &[u8]) -> Cow<'_, [u8]> {
    let text = text.get(..MAX_TEXT).unwrap_or(text);
    if !text.contains(&b'\\') {
        return Cow::Borrowed(text);
    }
    let mut plain = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        if *first != b'\\' {
            plain.push(*first);
            continue;
        }
        let Some((kind, after)) = rest.split_first() else {
            break;
        };
        rest = after;
        match kind {
            b'u' => {
                let (digits, after) = rest.split_at_checked(4).unwrap_or((rest, b""));
                let code = std::str::from_utf8(digits)
                    .ok()
                    .and_then(|digits| u32::from_str_radix(digits, 16).ok());
                let shown = code.and_then(char::from_u32).unwrap_or('\u{fffd}');
                plain.extend_from_slice(shown.encode_utf8(&mut [0; 4]).as_bytes());
                rest = after;
            }
            b'n' | b'r' | b't' | b'b' | b'f' => plain.push(b' '),
            other => plain.push(*other),
        }
    }
    Cow::Owned(plain)
}
