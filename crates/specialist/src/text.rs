//! Short pieces of text for people: cut between characters.

/// Returns at most the first `characters` characters.
pub(crate) fn head(text: &str, characters: usize) -> &str {
    match text.char_indices().nth(characters) {
        Some((at, _)) => text.get(..at).unwrap_or(text),
        None => text,
    }
}
