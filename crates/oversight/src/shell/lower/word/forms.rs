//! Forms of words that the parser does not know, or reads otherwise than the shell.

/// `${x~~}`, which changes the case of letters.
pub(super) fn toggles(text: &str) -> bool {
    text.contains('~')
        && text.split("${").skip(1).any(|part| {
            let name = |one: char| one.is_alphanumeric() || one == '_';
            part.starts_with(name) && part.trim_start_matches(name).starts_with('~')
        })
}

/// What stands in `${ command; }` and `${| command; }`, which newer shells and other ones run.
pub(super) fn grouped(text: &str) -> Option<&str> {
    let (_, inner) = text.split_once("${")?;
    let inner = inner
        .strip_prefix('|')
        .or_else(|| inner.starts_with([' ', '\t', '\n']).then_some(inner))?;
    inner.rsplit_once('}').map(|(inner, _)| inner)
}

/// In `"${x:-'a'}"` single quotes quote nothing.
pub(super) fn single_quotes_as_text(text: &str) -> String {
    let mut whole = String::with_capacity(text.len().saturating_add(2));
    let (mut depth, mut double) = (0_usize, false);
    for character in text.chars() {
        match character {
            '(' => depth = depth.saturating_add(1),
            ')' => depth = depth.saturating_sub(1),
            '"' if depth == 0 => double = !double,
            '\'' if depth == 0 && !double => whole.push('\\'),
            _ => {}
        }
        whole.push(character);
    }
    whole
}
