//! What is known of a piece of text: the text, and in it the places that stay unknown.
//!
//! A place that cannot be known is a single character in the text, a hole, so that `$(npm root)/.bin/gh-pages` still
//! ends in a name that is known.

/// Stands for text that a program, a file or the network would deliver.
pub const HOLE: char = '\u{FFFF}';

/// Stands for text of a variable that the command does not assign: whatever the environment holds, usually nothing.
pub const ENVIRONMENT: char = '\u{FFFE}';

/// All that is not known.
const HOLES: [char; 2] = [HOLE, ENVIRONMENT];

/// Longer texts are not followed.
pub const MAX_TEXT: usize = 256 * 1024;

/// Returns a text of which nothing is known.
#[must_use]
pub fn unknown() -> String {
    HOLE.to_string()
}

/// Returns one text after the other. Two holes side by side are one, and a text that grows too long is a hole.
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

/// Returns the text if both are the same, and a hole otherwise.
#[must_use]
pub fn either(left: &str, right: &str) -> String {
    if left == right {
        left.to_owned()
    } else {
        unknown()
    }
}

/// Returns `true` if a part of the text is not known.
#[must_use]
pub fn has_hole(text: &str) -> bool {
    // All holes begin with this byte, which ordinary commands do not contain.
    text.as_bytes().contains(&0xEF) && text.contains(HOLES)
}

/// Returns the text with its holes taken as empty.
#[must_use]
pub fn without_holes(text: &str) -> String {
    text.replace(HOLES, "")
}

/// Returns the text for people: holes shown as an ellipsis.
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
    }
}
