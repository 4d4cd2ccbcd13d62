//! Partly known text: the text, with markers for its unknown parts.
//!
//! An unknown part is a single character in the text, a hole, so that `$(npm root)/.bin/gh-pages` still ends in a
//! known name.

/// Marker for text from a program, a file or the network.
pub const HOLE: char = '\u{FFFF}';

/// Marker for text of a variable that the command does not assign: the value in the environment, usually empty.
pub const ENVIRONMENT: char = '\u{FFFE}';

/// All markers of unknown text.
const HOLES: [char; 2] = [HOLE, ENVIRONMENT];

/// Limit of the length of a text that is followed.
pub const MAX_TEXT: usize = 256 * 1024;

/// Returns a completely unknown text.
#[must_use]
pub fn unknown() -> String {
    HOLE.to_string()
}

/// Returns an unknown part of a text. A command in it stays visible, because it may be expanded again.
#[must_use]
pub fn part_of(text: &str) -> String {
    match text.contains("$(") || text.contains('`') {
        true => format!("{HOLE}{text}{HOLE}"),
        false => unknown(),
    }
}

/// Concatenates texts. Two adjacent holes become one, and a text that grows too long becomes a hole.
#[must_use]
pub fn joined(mut left: String, right: &str) -> String {
    let both = left.ends_with(HOLE) && right.starts_with(HOLE);
    left.push_str(if both {
        right.trim_start_matches(HOLE)
    } else {
        right
    });
    if left.len() > MAX_TEXT {
        return unknown();
    }
    left
}

/// Returns the text if both are equal, and a hole otherwise; two numbers give an unknown number.
#[must_use]
pub fn either(left: &str, right: &str) -> String {
    let is_number = |text: &str| {
        let digits = text.strip_prefix('-').unwrap_or(text);
        digits.bytes().all(|one| one.is_ascii_digit()) || text.chars().eq([ENVIRONMENT])
    };
    match left == right {
        true => left.to_owned(),
        false if is_number(left) && is_number(right) => ENVIRONMENT.to_string(),
        false => unknown(),
    }
}

/// Returns `true` if a part of the text is unknown.
#[must_use]
pub fn has_hole(text: &str) -> bool {
    // All holes begin with this byte, which ordinary commands do not contain.
    text.as_bytes().contains(&0xEF) && text.contains(HOLES)
}

/// Returns the text without its holes.
#[must_use]
pub fn without_holes(text: &str) -> String {
    text.replace(HOLES, "")
}

/// Returns the text for people, with holes shown as an ellipsis.
#[must_use]
pub fn for_people(text: &str) -> String {
    text.replace(HOLES, "…")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holes_side_by_side_are_one() {
        assert_eq!(joined(unknown(), &unknown()), unknown());
        assert_eq!(joined("a".to_owned(), "b"), "ab");
        assert_eq!(joined("a".repeat(MAX_TEXT), "b"), unknown());
        assert_eq!(either("a", "b"), unknown());
        assert_eq!(either("1", "22"), ENVIRONMENT.to_string());
        assert_eq!(either("1", "b"), unknown());
        assert_eq!(part_of("b"), unknown());
        assert!(part_of("a[$(b)]").contains("$(b)"));
    }
}
