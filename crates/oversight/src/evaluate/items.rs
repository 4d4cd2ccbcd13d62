//! The words that `xargs` makes of its input.

use super::launch::letter_value;
use super::wrapper::option_value;

/// What `xargs` makes of its input, line by line. A line that ends in a blank goes on in the next one.
pub(super) fn items(arguments: &[String], text: &str) -> Vec<Vec<String>> {
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
            .map(|item| vec![item.to_owned()])
            .collect();
    }
    let mut all = vec![Vec::new()];
    let mut before = ' ';
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
            (None, blank) if blank.is_whitespace() => {
                if let Some(line) = all.last_mut() {
                    line.extend(word.take());
                }
                if blank == '\n' && !before.is_whitespace() {
                    all.push(Vec::new());
                }
            }
            (None, other) => word.get_or_insert_default().push(other),
        }
        before = character;
    }
    if let Some(line) = all.last_mut() {
        line.extend(word);
    }
    all.retain(|line| !line.is_empty());
    all
}

/// How many lines are handed on at once: `-L 2`, `-l`, `--max-lines`.
pub(super) fn lines_at_once(arguments: &[String]) -> Option<usize> {
    let joined = |word: &String| {
        let rest = match word.strip_prefix("--max-lines") {
            Some(rest) => rest.strip_prefix('=').unwrap_or(rest),
            None if word.starts_with("--") => return None,
            None => {
                let (before, rest) = word.strip_prefix('-')?.split_once('l')?;
                // Behind a letter with a value it is a part of that.
                let switches = before.chars().all(|one| "0oprtx".contains(one));
                switches.then_some(rest)?
            }
        };
        let digits = rest.trim_end_matches(|one: char| !one.is_ascii_digit());
        Some(digits.parse::<usize>().unwrap_or(1))
    };
    let apart = letter_value(arguments, 'L').and_then(|lines| lines.parse::<usize>().ok());
    let lines = apart.or_else(|| arguments.iter().find_map(joined));
    lines.filter(|lines| *lines > 0)
}

/// `-d,` and `--delimiter=,`.
fn delimiter(arguments: &[String]) -> Option<char> {
    let text =
        letter_value(arguments, 'd').or_else(|| option_value(arguments, &["--delimiter"]))?;
    crate::shell::escape::backslashes(&text).chars().next()
}

/// `-i`, `-iX` and `--replace`, `--replace=X`: what stands for the item.
pub(super) fn place(arguments: &[String]) -> Option<String> {
    let rest = arguments.iter().find_map(|word| {
        let long = word.strip_prefix("--replace");
        let long = long.map(|rest| rest.strip_prefix('=').unwrap_or(rest));
        long.or_else(|| word.strip_prefix("-i"))
    })?;
    Some(if rest.is_empty() { "{}" } else { rest }.to_owned())
}
