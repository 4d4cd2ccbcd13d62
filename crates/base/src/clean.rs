//! Makes untrusted text safe to show: characters that could move a cursor, change colours, reorder or hide text become
//! visible.
//!
//! Control characters turn into their pictures (`␛`), other invisible ones into their numbers (`\u{202e}`), invalid
//! bytes into `�`. The result has no effect on a terminal or a page except to be read.

use std::borrow::Cow;
use std::fmt::Write as _;

use unicode_width::UnicodeWidthChar as _;

/// Most accents on one letter. No language needs more; a pile of them covers the lines above.
const MAX_MARKS: usize = 4;
/// Selects the colourful form of a character.
const EMOJI_FORM: char = '\u{fe0f}';

/// Characters that stay besides visible ones.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Keep {
    /// None: for text within a line.
    Nothing,
    /// Newline and tab.
    Layout,
}

/// Cleans a text of any number of lines. Newlines and tabs stay, and lines may end with CR LF.
#[must_use]
pub fn text(bytes: &[u8]) -> Cow<'_, str> {
    clean(bytes, Keep::Layout)
}

/// Cleans a name or value that is shown within a line, so that newlines and tabs become visible as well.
#[must_use]
pub fn name(bytes: &[u8]) -> Cow<'_, str> {
    clean(bytes, Keep::Nothing)
}

/// Returns the lines of a text without their ends, each cleaned like by [`text`]. A newline at the very end starts no
/// further line.
pub fn lines(bytes: &[u8]) -> impl Iterator<Item = Cow<'_, str>> {
    raw_lines(bytes).map(|line| text(line.strip_suffix(b"\r").unwrap_or(line)))
}

/// Returns the number of [`lines`].
#[must_use]
pub fn line_count(bytes: &[u8]) -> u64 {
    raw_lines(bytes).count() as u64
}

fn raw_lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    let lines = (!bytes.is_empty()).then(|| bytes.split(|byte| *byte == b'\n'));
    lines.into_iter().flatten()
}

fn clean(bytes: &[u8], keep: Keep) -> Cow<'_, str> {
    let lossy = String::from_utf8_lossy(bytes);
    if lossy.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return lossy;
    }
    let mut shown = String::with_capacity(lossy.len());
    let mut before = Before::default();
    let mut chars = lossy.chars().peekable();
    while let Some(char) = chars.next() {
        match char {
            '\n' | '\t' if keep == Keep::Layout => shown.push(char),
            '\r' if keep == Keep::Layout && chars.peek() == Some(&'\n') => {}
            _ if before.admits(char) => shown.push(char),
            _ => show(char, &mut shown),
        }
        before.note(char);
    }
    Cow::Owned(shown)
}

/// The text before a character, as far as it determines the character's visibility.
#[derive(Default)]
struct Before {
    last: Option<char>,
    marks: usize,
}

impl Before {
    fn admits(&self, char: char) -> bool {
        if char == EMOJI_FORM {
            // After a symbol it selects the symbol's form; elsewhere it is invisible.
            return self
                .last
                .is_some_and(|last| !last.is_ascii() && last != EMOJI_FORM);
        }
        let piles_up = is_mark(char) && self.marks >= MAX_MARKS;
        !char.is_control() && !is_invisible(char) && !piles_up
    }

    fn note(&mut self, char: char) {
        self.last = Some(char);
        self.marks = if is_mark(char) { self.marks + 1 } else { 0 };
    }
}

/// Writes a readable form of a character that must not have its effect.
fn show(char: char, out: &mut String) {
    let picture = match char {
        '\0'..='\u{1f}' => char::from_u32(0x2400 + u32::from(char)),
        '\u{7f}' => Some('␡'),
        _ => None,
    };
    match picture {
        Some(picture) => out.push(picture),
        // Writing to a string does not fail.
        None => _ = write!(out, "{}", char.escape_unicode()),
    }
}

/// Returns `true` for characters without a width: accents, and vowels of scripts that stack them.
fn is_mark(char: char) -> bool {
    char.width() == Some(0)
}

/// Returns `true` for characters that are invisible, or that change the order in which others are read.
fn is_invisible(char: char) -> bool {
    matches!(char,
        // soft hyphen, joiners and fillers
        '\u{ad}' | '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{3164}' | '\u{ffa0}' | '\u{feff}'
        // marks of direction, zero-width spaces, line and paragraph ends, overrides, isolates
        | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        // variation selectors, annotations, layout of notes and shorthand, tags
        | '\u{fe00}'..='\u{fe0f}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
        || u32::from(char) & 0xfffe == 0xfffe
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bytes: &[u8], expected: &str) {
        assert_eq!(text(bytes), expected);
    }

    #[test]
    fn plain_text_is_borrowed() {
        assert!(matches!(text(b"plain ~ text"), Cow::Borrowed(_)));
    }

    #[test]
    fn words_of_the_world_stay() {
        for words in [
            "Grüße, 世界 – שלום 👍",
            "ñ n\u{303} กำ्",
            "a\tb\nc",
            "⚠\u{fe0f} ok",
        ] {
            check(words.as_bytes(), words);
        }
    }

    #[test]
    fn control_characters_turn_into_pictures() {
        check(b"\x1b[2J\x07\x08\0\x7f\x0b", "␛[2J␇␈␀␡␋");
    }

    #[test]
    fn one_byte_and_two_byte_forms_of_c1_are_both_harmless() {
        check(b"\x9b31m", "\u{fffd}31m");
        check("\u{9b}31m\u{85}".as_bytes(), r"\u{9b}31m\u{85}");
    }

    #[test]
    fn direction_and_zero_width_are_shown_by_number() {
        check(
            "a\u{202e}b\u{2066}c\u{2069}d".as_bytes(),
            r"a\u{202e}b\u{2066}c\u{2069}d",
        );
        check(
            "a\u{200b}\u{200d}\u{feff}\u{ad}".as_bytes(),
            r"a\u{200b}\u{200d}\u{feff}\u{ad}",
        );
        check(
            "\u{e0041}\u{2028}\u{fffe}\u{10ffff}".as_bytes(),
            r"\u{e0041}\u{2028}\u{fffe}\u{10ffff}",
        );
    }

    #[test]
    fn the_form_of_a_symbol_is_no_hiding_place() {
        check(
            "a\u{fe0f}⚠\u{fe0f}\u{fe0f}".as_bytes(),
            "a\\u{fe0f}⚠\u{fe0f}\\u{fe0f}",
        );
    }

    #[test]
    fn accents_do_not_pile_up() {
        let pile = format!("o{}x", "\u{301}".repeat(6));
        let expected = format!("o{}{}x", "\u{301}".repeat(4), r"\u{301}".repeat(2));
        check(pile.as_bytes(), &expected);
    }

    #[test]
    fn windows_line_ends_are_calm_and_a_lone_return_is_not() {
        check(b"a\r\nb\rc\r", "a\nb␍c␍");
        let found: Vec<_> = lines(b"a\r\n\nb\rc\n").collect();
        assert_eq!(found, ["a", "", "b␍c"]);
        assert_eq!(lines(b"").count(), 0);
        assert_eq!(lines(b"\n\n").count(), 2);
    }

    #[test]
    fn a_name_stays_in_its_line() {
        assert_eq!(name(b"a\nb\tc\r\n"), "a␊b␉c␍␊");
    }

    #[test]
    fn no_byte_alone_and_no_character_acts() {
        let bytes: Vec<u8> = (0..=255).collect();
        let all: String = (0..=0x10_ffff).filter_map(char::from_u32).collect();
        for shown in [name(&bytes), name(all.as_bytes())] {
            assert!(
                !shown
                    .chars()
                    .any(|char| char.is_control() || ('\u{202a}'..='\u{202e}').contains(&char))
            );
        }
    }
}
