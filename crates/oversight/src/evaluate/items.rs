//! The words that `xargs` makes of its input.

use super::launch::letter_value;
use super::wrapper::option_value;

/// What `xargs` makes of its input.
pub(super) fn items(arguments: &[String], text: &str) -> Vec<String> {
    let own = arguments;
    let nul = own.iter().any(|word| {
        word == "--null" || (word.starts_with('-') && !word.starts_with("--") && word.contains('0'))
    });
    let mark = if nul { Some('\0') } else { delimiter(own) };
    if let Some(mark) = mark {
        return text
            .trim_end_matches('\n')
            .split(mark)
            .filter(|item| !item.is_empty())
            .map(str::to_owned)
            .collect();
    }
    let mut all = Vec::new();
    let mut word: Option<String> = None;
    let mut quote: Option<char> = None;
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match (quote, character) {
            (Some(open), close) if open == close => quote = None,
            (Some(_), inside) => word.get_or_insert_default().push(inside),
            (None, '\'' | '"') => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (None, '\\') => word.get_or_insert_default().extend(characters.next()),
            (None, blank) if blank.is_whitespace() => all.extend(word.take()),
            (None, other) => word.get_or_insert_default().push(other),
        }
    }
    all.extend(word);
    all
}

/// `-d,` and `--delimiter=,`.
fn delimiter(arguments: &[String]) -> Option<char> {
    let text =
        letter_value(arguments, 'd').or_else(|| option_value(arguments, &["--delimiter"]))?;
    crate::shell::escape::backslashes(&text).chars().next()
}
