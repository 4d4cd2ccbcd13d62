//! What the operations of `${…}` make of texts.

use crate::shell::ir::Place;
use crate::value::{HOLE, Value, has_hole};

use super::super::pattern;

/// Bash slices: a negative offset counts from the end, and so does a negative length.
pub(super) fn slice<T: Clone>(all: &[T], offset: i64, length: Option<i64>) -> Vec<T> {
    let size = i64::try_from(all.len()).unwrap_or(i64::MAX);
    let start = if offset < 0 {
        size.saturating_add(offset)
    } else {
        offset
    };
    let end = match length {
        None => size,
        Some(length) if length < 0 => size.saturating_add(length),
        Some(length) => start.saturating_add(length),
    };
    let (Ok(start), Ok(end)) = (usize::try_from(start), usize::try_from(end)) else {
        return Vec::new();
    };
    let count = end.saturating_sub(start);
    all.iter().skip(start).take(count).cloned().collect()
}

pub(super) fn edit(value: &Value, wanted: &Value, change: impl Fn(&str, &str) -> String) -> Value {
    let all = value.possibilities().iter().flat_map(|text| {
        let change = &change;
        wanted.possibilities().iter().map(move |wanted| {
            if has_hole(text) || has_hole(wanted) {
                HOLE.to_string()
            } else {
                change(text, wanted)
            }
        })
    });
    Value::one_of(all)
}

pub(super) fn replaced(
    text: &str,
    wanted: &str,
    place: Place,
    with: impl Fn(&str) -> String,
) -> String {
    match place {
        Place::Start => {
            let rest = pattern::remove_prefix(text, wanted, true);
            if rest.len() == text.len() {
                rest
            } else {
                let part = text.strip_suffix(rest.as_str()).unwrap_or_default();
                with(part) + &rest
            }
        }
        Place::End => {
            let rest = pattern::remove_suffix(text, wanted, true);
            if rest.len() == text.len() {
                rest
            } else {
                let part = text.strip_prefix(rest.as_str()).unwrap_or_default();
                format!("{rest}{}", with(part))
            }
        }
        Place::First => pattern::replace(text, wanted, with, false),
        Place::All => pattern::replace(text, wanted, with, true),
    }
}

/// `${x^^[ps]}`: only the characters that match.
pub(super) fn changed_where(text: &str, wanted: &str, upper: bool, all: bool) -> String {
    let characters = text.chars().enumerate();
    let changed = characters.map(|(index, character)| {
        let one = character.to_string();
        if (all || index == 0) && pattern::matches(wanted, &one) {
            changed_case(&one, upper, true)
        } else {
            one
        }
    });
    changed.collect()
}

pub(super) fn changed_case(text: &str, upper: bool, all: bool) -> String {
    let change = |character: char| -> String {
        if upper {
            character.to_uppercase().collect()
        } else {
            character.to_lowercase().collect()
        }
    };
    if all {
        return text.chars().map(change).collect();
    }
    let mut characters = text.chars();
    let first = characters.next().map(change).unwrap_or_default();
    first + characters.as_str()
}
