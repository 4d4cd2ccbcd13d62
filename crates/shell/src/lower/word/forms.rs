//! Forms of words that the parser does not support, or reads differently from the shell.

/// Returns `true` for `${x~~}`, which changes the case of letters.
pub(super) fn toggles(text: &str) -> bool {
    text.contains('~')
        && text.contains("${")
        && without_quoted(text).split("${").skip(1).any(|part| {
            let name = |one: char| one.is_alphanumeric() || one == '_';
            part.starts_with(name) && part.trim_start_matches(name).starts_with('~')
        })
}

/// Returns the commands of `${ command; }` and `${| command; }`, which newer and other shells run.
///
/// The parser drops the first blank, so that a name with a blank behind it is such a command as well.
pub(super) fn grouped(text: &str) -> Option<String> {
    let is_command = |inner: &str| {
        let name = |one: char| one.is_alphanumeric() || matches!(one, '_' | '-' | '/' | '.');
        let blank = [' ', '\t', '\n', ';'];
        inner.starts_with(['|', ' ', '\t', '\n'])
            || (inner.starts_with(char::is_alphabetic)
                && inner.trim_start_matches(name).starts_with(blank))
    };
    if !text.split("${").skip(1).any(is_command) {
        return None;
    }
    let text = without_quoted(text);
    let inner = text.split("${").skip(1).find(|inner| is_command(inner))?;
    let at = text.find(inner)?;
    let inner = text.get(at..)?;
    let inner = inner.strip_prefix('|').unwrap_or(inner);
    inner.rsplit_once('}').map(|(inner, _)| inner.to_owned())
}

/// Returns the text without parts in single quotes or behind a backslash.
fn without_quoted(text: &str) -> String {
    let mut whole = String::with_capacity(text.len());
    let (mut single, mut double) = (false, false);
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            '\'' if !double => single = !single,
            _ if single => {}
            '\\' => drop(characters.next()),
            '"' => {
                double = !double;
                whole.push(character);
            }
            _ => whole.push(character),
        }
    }
    whole
}

/// Escapes the single quotes of `"${x:-'a'}"`, which quote nothing.
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
