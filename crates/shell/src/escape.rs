//! Backslash sequences of `$'…'`, `echo -e` and `printf`. Total: any other text stays as it is.

use std::iter::Peekable;
use std::str::Chars;

/// Decodes the text of `$'…'`.
pub fn ansi_c(text: &str) -> String {
    decode(text, true)
}

/// Decodes the text of `printf '%b'`, `echo -e` and of a format of `printf`.
pub fn backslashes(text: &str) -> String {
    decode(text, false)
}

fn decode(text: &str, quotes: bool) -> String {
    if !text.contains('\\') {
        return text.to_owned();
    }
    let mut bytes: Vec<u8> = Vec::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(character) = rest.next() {
        if character != '\\' {
            push(&mut bytes, character);
            continue;
        }
        let Some(kind) = rest.next() else {
            bytes.push(b'\\');
            break;
        };
        match kind {
            'n' => bytes.push(b'\n'),
            't' => bytes.push(b'\t'),
            'r' => bytes.push(b'\r'),
            'a' => bytes.push(7),
            'b' => bytes.push(8),
            'f' => bytes.push(12),
            'v' => bytes.push(11),
            'e' | 'E' => bytes.push(27),
            '\\' => bytes.push(b'\\'),
            '\'' | '"' | '?' if quotes => push(&mut bytes, kind),
            'x' => number(&mut bytes, &mut rest, 16, 2, "\\x"),
            'u' => unicode(&mut bytes, &mut rest, 4),
            'U' => unicode(&mut bytes, &mut rest, 8),
            'c' if quotes => {
                let control = rest.next().map_or(0, |next| u32::from(next) & 0x1F);
                push(&mut bytes, char::from_u32(control).unwrap_or('\0'));
            }
            'c' => break,
            '0'..='7' => octal(&mut bytes, &mut rest, kind, quotes),
            other => {
                bytes.push(b'\\');
                push(&mut bytes, other);
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn push(bytes: &mut Vec<u8>, character: char) {
    let mut buffer = [0; 4];
    bytes.extend_from_slice(character.encode_utf8(&mut buffer).as_bytes());
}

fn digits(rest: &mut Peekable<Chars<'_>>, radix: u32, most: usize) -> Option<u32> {
    let mut value = None;
    for _ in 0..most {
        let Some(digit) = rest.peek().and_then(|next| next.to_digit(radix)) else {
            break;
        };
        rest.next();
        value = Some(
            value
                .unwrap_or(0_u32)
                .saturating_mul(radix)
                .saturating_add(digit),
        );
    }
    value
}

fn number(
    bytes: &mut Vec<u8>,
    rest: &mut Peekable<Chars<'_>>,
    radix: u32,
    most: usize,
    as_is: &str,
) {
    match digits(rest, radix, most) {
        Some(value) => bytes.push(u8::try_from(value & 0xFF).unwrap_or(0)),
        None => bytes.extend_from_slice(as_is.as_bytes()),
    }
}

fn unicode(bytes: &mut Vec<u8>, rest: &mut Peekable<Chars<'_>>, most: usize) {
    if let Some(character) = digits(rest, 16, most).and_then(char::from_u32) {
        push(bytes, character);
    }
}

/// Decodes an octal sequence: `$'\147'` has up to three digits, `echo -e '\0147'` up to three after the zero.
fn octal(bytes: &mut Vec<u8>, rest: &mut Peekable<Chars<'_>>, first: char, quotes: bool) {
    let most = if first == '0' && !quotes { 3 } else { 2 };
    let head = first.to_digit(8).unwrap_or(0);
    let mut value = head;
    for _ in 0..most {
        let Some(digit) = rest.peek().and_then(|next| next.to_digit(8)) else {
            break;
        };
        rest.next();
        value = value.saturating_mul(8).saturating_add(digit);
    }
    bytes.push(u8::try_from(value & 0xFF).unwrap_or(0));
}

/// Returns one word as shell text.
#[must_use]
pub fn quote(text: &str) -> String {
    let is_plain = |one: char| one.is_alphanumeric() || "-_./=:@%+,\u{FFFF}\u{FFFE}".contains(one);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// Returns a command as shell text, with arguments behind it.
#[must_use]
pub fn with_words(command: &str, words: &[String]) -> String {
    let mut whole = command.to_owned();
    for word in words {
        whole.push(' ');
        whole.push_str(&quote(word));
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequences_become_characters() {
        assert_eq!(ansi_c(r"\x67\151\u0074 \'"), "git '");
        assert_eq!(backslashes(r"\147\0151t\n"), "git\n");
        assert_eq!(backslashes(r"\q"), r"\q");
        assert_eq!(with_words("git", &["a b".to_owned()]), "git 'a b'");
    }
}
