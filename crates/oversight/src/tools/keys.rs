//! Text typed into a terminal, as the lines that its program receives: control characters and names of keys.

/// Names of keys that end a line, in lower case.
const ENDS: &[&str] = &[
    "enter", "return", "cr", "lf", "nl", "kpenter", "c-m", "c-j", "ctrl-m", "ctrl+m", "ctrl-j",
    "ctrl+j",
];

/// Names of other keys: text before them may not be on the same line.
const OTHERS: &[&str] = &[
    "esc", "escape", "c-c", "ctrl-c", "ctrl+c", "c-u", "ctrl-u", "ctrl+u", "c-a", "c-e", "c-k",
    "c-d", "up", "down", "home", "end",
];

/// Longest name of a key.
const MAX_NAME: usize = 8;

/// Returns the text of a key.
fn key(name: &str) -> Option<&'static str> {
    let name = name.to_ascii_lowercase();
    match name.as_str() {
        "space" | "spc" => Some(" "),
        "tab" => Some("\t"),
        name if ENDS.contains(&name) || OTHERS.contains(&name) => Some("\n"),
        _ => None,
    }
}

/// Returns the text of the key whose name ends at `close`, and the text behind it.
fn named_key(text: &str, close: char) -> Option<(&'static str, &str)> {
    let (end, _) = text
        .char_indices()
        .take(MAX_NAME.saturating_add(2))
        .find(|(_, letter)| *letter == close)?;
    let meaning = key(text.get(1..end)?)?;
    Some((meaning, text.get(end.saturating_add(1)..)?))
}

/// Returns a text with control characters and keys in `<…>` or `{…}` replaced by line ends.
pub(super) fn lines(text: &str) -> String {
    let mut read = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let named = match first {
            '<' => named_key(rest, '>'),
            '{' => named_key(rest, '}'),
            _ => None,
        };
        if let Some((meaning, after)) = named {
            read.push_str(meaning);
            rest = after;
            continue;
        }
        let is_control = first.is_control() && !matches!(first, '\t' | '\n');
        read.push(if is_control { '\n' } else { first });
        rest = rest.get(first.len_utf8()..).unwrap_or_default();
    }
    read
}

/// Returns the text that a list of keys and texts types.
pub(super) fn joined(words: &[String]) -> String {
    let typed = |word: &String| key(word).map_or_else(|| word.clone(), str::to_owned);
    words.iter().map(typed).collect()
}

/// Returns a text in which the names of keys between its words are replaced by their text: `git Space push Enter`.
pub(super) fn spelled(text: &str) -> String {
    let words: Vec<String> = text.split(' ').map(str::to_owned).collect();
    match words.iter().any(|word| key(word).is_some()) {
        true => joined(&words),
        false => text.to_owned(),
    }
}
