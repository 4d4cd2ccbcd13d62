//! Short pieces of text for people: cut by characters, never inside one.

/// At most so many characters.
pub(crate) fn head(text: &str, characters: usize) -> &str {
    match text.char_indices().nth(characters) {
        Some((at, _)) => text.get(..at).unwrap_or(text),
        None => text,
    }
}
