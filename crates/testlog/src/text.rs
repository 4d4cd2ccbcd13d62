//! Lines of a log as a terminal would show them, and the elements of summaries.
//!
//! Contains the text handling of all formats: line ends, colours, numbers, lists. Independent of runners.

use std::borrow::Cow;

use memchr::{memchr, memchr_iter, memchr2, memmem};

/// Limit of the bytes of a line that are read. Runners' own lines are much shorter; the output of a test may be
/// longer.
const MAX_LINE: usize = 64 * 1024;
const ESCAPE: u8 = 0x1b;
const BELL: u8 = 0x07;

/// A cleaned line, or a part of one between carriage returns.
#[derive(Debug)]
pub(super) struct Line<'a> {
    /// Line number, counted from 1.
    pub(super) number: usize,
    /// Text without colours, NULs and trailing spaces.
    pub(super) text: &'a [u8],
}

/// A raw line of the log.
#[derive(Clone, Copy, Debug)]
pub(super) struct RawLine<'a> {
    /// Line number, counted from 1.
    pub(super) number: usize,
    /// Bytes without the line feed.
    pub(super) bytes: &'a [u8],
    offset: usize,
}

impl<'a> RawLine<'a> {
    /// Returns the visible parts of the line. A carriage return starts over without erasing, so that nothing can hide
    /// behind one.
    pub(super) fn pieces(self) -> impl Iterator<Item = Cow<'a, [u8]>> {
        let bytes = self.bytes.strip_suffix(b"\r").unwrap_or(self.bytes);
        bytes.split(|byte| *byte == b'\r').map(clean)
    }
}

/// Iterator over the lines of a log.
#[derive(Debug)]
pub(super) struct Lines<'a> {
    log: &'a [u8],
    position: usize,
    number: usize,
}

impl<'a> Lines<'a> {
    /// Creates an iterator at the first line.
    pub(super) fn new(log: &'a [u8]) -> Self {
        Self {
            log,
            position: 0,
            number: 1,
        }
    }

    /// Takes the next line.
    pub(super) fn next(&mut self) -> Option<RawLine<'a>> {
        let rest = self
            .log
            .get(self.position..)
            .filter(|rest| !rest.is_empty())?;
        let length = memchr(b'\n', rest).unwrap_or(rest.len());
        let line = RawLine {
            number: self.number,
            bytes: rest.get(..length)?,
            offset: self.position,
        };
        self.position += length + 1;
        self.number += 1;
        Some(line)
    }

    /// Returns everything from `skip` bytes into `line` to the end of the log.
    pub(super) fn from(&self, line: &RawLine<'a>, skip: usize) -> &'a [u8] {
        self.log.get(line.offset + skip..).unwrap_or_default()
    }

    /// Continues `used` bytes after the start of `line`, which may be several lines further.
    pub(super) fn resume(&mut self, line: &RawLine<'a>, used: usize) {
        let passed = self.from(line, 0);
        let passed = passed.get(..used).unwrap_or(passed);
        self.position = line.offset + passed.len();
        self.number = line.number + memchr_iter(b'\n', passed).count();
    }
}

/// Removes colours, other terminal commands, NULs and trailing spaces.
fn clean(bytes: &[u8]) -> Cow<'_, [u8]> {
    let bytes = bytes.get(..MAX_LINE).unwrap_or(bytes);
    let mut rest = bytes;
    let mut shown = Vec::new();
    while let Some(at) = memchr2(ESCAPE, 0, rest) {
        let (before, command) = rest.split_at_checked(at).unwrap_or((rest, &[]));
        shown.extend_from_slice(before);
        rest = after_command(command);
    }
    if rest.len() == bytes.len() {
        return Cow::Borrowed(bytes.trim_ascii_end());
    }
    shown.extend_from_slice(rest);
    shown.truncate(shown.trim_ascii_end().len());
    Cow::Owned(shown)
}

/// Returns the text after the NUL or terminal command at the start of `bytes`; at least one byte shorter.
fn after_command(bytes: &[u8]) -> &[u8] {
    match bytes {
        // A control sequence, such as a colour, ends with the first byte of this range.
        [ESCAPE, b'[', rest @ ..] => after(rest, |byte| matches!(byte, 0x40..=0x7e)),
        // An operating system command, such as a link, ends with a bell or with `ESC \`, whose `\` is removed here.
        [ESCAPE, b']', rest @ ..] => match after(rest, |byte| byte == BELL || byte == ESCAPE) {
            [b'\\', rest @ ..] | rest => rest,
        },
        [ESCAPE, b'(' | b')', _, rest @ ..] | [ESCAPE, _, rest @ ..] | [_, rest @ ..] => rest,
        [] => bytes,
    }
}

fn after(bytes: &[u8], is_end: impl Fn(u8) -> bool) -> &[u8] {
    let end = bytes.iter().position(|byte| is_end(*byte));
    end.and_then(|end| bytes.get(end + 1..)).unwrap_or_default()
}

/// Parses a number of digits only. More than 15 of them are not a count of tests.
pub(super) fn number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || digits.len() > 15 {
        return None;
    }
    digits.iter().try_fold(0_u64, |sum, digit| {
        digit
            .is_ascii_digit()
            .then(|| sum * 10 + u64::from(digit - b'0'))
    })
}

/// Parses `3 failed` as (3, `failed`).
pub(super) fn counted(item: &[u8]) -> Option<(u64, &[u8])> {
    let (digits, word) = cut(item, b" ")?;
    Some((number(digits)?, word))
}

/// Returns `true` for a duration such as `0.05s` or `12s`.
pub(super) fn is_seconds(text: &[u8]) -> bool {
    text.strip_suffix(b"s").is_some_and(is_decimal)
}

/// Returns `true` for a number such as `0.05` or `12`.
pub(super) fn is_decimal(digits: &[u8]) -> bool {
    let (whole, part) = cut(digits, b".").unwrap_or((digits, b"0"));
    [whole, part]
        .iter()
        .all(|digits| !digits.is_empty() && digits.iter().all(u8::is_ascii_digit))
}

/// Returns the text before and after the first `separator`.
pub(super) fn cut<'a>(text: &'a [u8], separator: &[u8]) -> Option<(&'a [u8], &'a [u8])> {
    let at = memmem::find(text, separator)?;
    Some((text.get(..at)?, text.get(at + separator.len()..)?))
}

/// Returns the text before and after the last `separator`.
pub(super) fn cut_last<'a>(text: &'a [u8], separator: &[u8]) -> Option<(&'a [u8], &'a [u8])> {
    let at = memmem::rfind(text, separator)?;
    Some((text.get(..at)?, text.get(at + separator.len()..)?))
}

/// Returns `true` if `part` occurs in `text`.
pub(super) fn contains(text: &[u8], part: &[u8]) -> bool {
    memmem::find(text, part).is_some()
}

/// Returns the items of a list.
pub(super) fn split<'a>(
    text: &'a [u8],
    separator: &'static [u8],
) -> impl Iterator<Item = &'a [u8]> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest?;
        let (item, tail) = match cut(text, separator) {
            Some((item, tail)) => (item, Some(tail)),
            None => (text, None),
        };
        rest = tail;
        Some(item)
    })
}

/// Returns the first word, without the spaces or tabs before it, and the rest.
pub(super) fn word(text: &[u8]) -> (&[u8], &[u8]) {
    let text = text.trim_ascii_start();
    let end = memchr2(b' ', b'\t', text).unwrap_or(text.len());
    text.split_at_checked(end).unwrap_or((text, &[]))
}
