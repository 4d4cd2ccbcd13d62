//! Words that are split by quotes or backslashes, as in `'AKIA''…'`: the shell joins them, so they are joined here.

use super::{Found, Scan};

/// Returns the findings in a text, and in the text without the quotes inside of words.
pub(super) fn find(whole: &str) -> Vec<Found> {
    let mut found = Scan::new(whole).run();
    let Some((joined, places)) = joined(whole) else {
        return found;
    };
    for one in Scan::new(&joined).run() {
        let place = |at: usize| places.get(at).copied();
        let ends = (place(one.from), one.to.checked_sub(1).and_then(place));
        if let (Some(from), Some(last)) = ends {
            found.push(Found {
                from,
                to: last + 1,
                what: one.what,
            });
        }
    }
    found.sort_by_key(|one| (one.from, std::cmp::Reverse(one.to)));
    let mut merged: Vec<Found> = Vec::with_capacity(found.len());
    for one in found {
        match merged.last_mut() {
            Some(last) if one.from < last.to => last.to = last.to.max(one.to),
            _ => merged.push(one),
        }
    }
    merged
}

/// Returns the secrets of a text as a shell would pass them on.
pub(super) fn as_words(whole: &str) -> Vec<String> {
    let Some((joined, _)) = joined(whole) else {
        return Vec::new();
    };
    let found = Scan::new(&joined).run().into_iter();
    found
        .filter_map(|one| joined.get(one.from..one.to).map(str::to_owned))
        .collect()
}

/// Returns the text without quotes and backslashes inside of words, and the position of each byte; `None` if there
/// are none.
fn joined(whole: &str) -> Option<(String, Vec<usize>)> {
    let bytes = whole.as_bytes();
    let mut kept: Vec<u8> = Vec::with_capacity(bytes.len());
    let mut places = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let glue = glue(bytes.get(at..).unwrap_or_default());
        let is_behind = kept.last().is_some_and(is_part);
        let is_before = bytes.get(at + glue).is_some_and(is_part);
        if glue > 0 && is_behind && is_before {
            at += glue;
            continue;
        }
        kept.push(*byte);
        places.push(at);
        at += 1;
    }
    if kept.len() == bytes.len() {
        return None;
    }
    // Only ASCII was removed, so this is valid UTF-8.
    String::from_utf8(kept).ok().map(|kept| (kept, places))
}

/// Returns the length of quotes and backslashes at the start of a text.
fn glue(rest: &[u8]) -> usize {
    let mut length = 0;
    loop {
        length += match rest.get(length..) {
            Some([b'\\', b'\n', ..] | [b'$', b'\'' | b'"', ..]) => 2,
            Some([b'\'' | b'"' | b'\\', ..]) => 1,
            _ => return length,
        };
    }
}

/// Returns `true` for the characters of words.
fn is_part(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || *byte == b'_'
}
