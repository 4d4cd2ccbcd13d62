//! Lines of a makefile as text: where references end, comments begin and signs of assignment stand.

/// Where the reference ends that was opened before.
pub(super) fn closing(text: &str, open: char, close: char) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, character) in text.char_indices() {
        if character == open {
            depth = depth.saturating_add(1);
        } else if character == close {
            match depth.checked_sub(1) {
                Some(less) => depth = less,
                None => return Some(at),
            }
        }
    }
    None
}

/// The line with what is inside references blotted out, of the same length.
pub(super) fn outside_references(line: &str) -> String {
    let mut depth = 0_usize;
    let mut before = ' ';
    let blotted = line.chars().flat_map(|character| {
        match character {
            '(' | '{' if depth > 0 || before == '$' => depth = depth.saturating_add(1),
            ')' | '}' if depth > 0 => depth = depth.saturating_sub(1),
            _ => {}
        }
        let hidden = depth > 0 || (before == '\\' && character == '#');
        before = character;
        let shown = if hidden { '.' } else { character };
        let width = if hidden { character.len_utf8() } else { 1 };
        std::iter::repeat_n(shown, width)
    });
    blotted.collect()
}

pub(super) fn without_comment(line: &str) -> &str {
    let end = outside_references(line).find('#').unwrap_or(line.len());
    line.get(..end).unwrap_or(line)
}

/// `name = value`, with its sign.
pub(super) fn assignment(line: &str) -> Option<(&str, &str, &str)> {
    let at = line.find('=')?;
    let (before, value) = (line.get(..at)?, line.get(at.saturating_add(1)..)?);
    let (name, sign) = [":::", "::", ":", "?", "+", "!"]
        .iter()
        .find_map(|mark| Some((before.strip_suffix(mark)?, *mark)))
        .unwrap_or((before, ""));
    let sign = match sign {
        "?" => "?=",
        "+" => "+=",
        "!" => "!=",
        _ => "=",
    };
    let name = name.trim();
    let plain = !name.is_empty()
        && name
            .chars()
            .all(|character| character.is_alphanumeric() || matches!(character, '_' | '-' | '.'));
    plain.then(|| (name, sign, value.trim_start()))
}
