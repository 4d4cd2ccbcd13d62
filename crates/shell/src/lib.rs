//! Reads the text of a shell command into a picture of it, with a second parser as a check: no file, no clock.
//!
//! Reading order: [`value`] (what is known of a text), [`words`] (lists of names), [`ir`] (the picture), [`lower`] (the first parser, and the only place that knows it), [`second`]
//! (the second opinion, compared with [`names`]), [`bodies`] (texts of here-documents, which are taken out first), [`limit`] (what is too deep or too long to be parsed at all),
//! `plain` (what needs no parser), `retry` (what the first parser is told otherwise), [`escape`] (backslashes), [`pattern`] (`*`, `?` and their kin).
//! Nothing here evaluates.

pub mod bodies;

pub mod value;

pub mod words;

pub mod ir;

pub mod escape;

pub mod limit;

pub mod lower;

pub mod names;

pub mod pattern;

mod plain;

mod retry;

pub mod second;

use ir::{Argument, Kind, Piece, Word};

/// Returns the command that a text hands to `eval` word for word: so coding agents wrap what they run.
#[must_use]
pub fn evaluated(text: &str) -> Option<String> {
    let script = lower::program(text).ok()?;
    let pipelines = script.items.iter().flat_map(|item| &item.pipelines);
    let mut commands = pipelines.flat_map(|(_, pipeline)| &pipeline.commands);
    commands.find_map(|command| {
        let Kind::Simple { words, .. } = &command.kind else {
            return None;
        };
        match words.as_slice() {
            [Argument::Word(eval), Argument::Word(text), ..] if said(eval)? == "eval" => said(text),
            _ => None,
        }
    })
}

/// The text of a word in which nothing is expanded.
fn said(word: &Word) -> Option<String> {
    fn add(pieces: &[Piece], text: &mut String) -> Option<()> {
        for piece in pieces {
            match piece {
                Piece::Text(part) | Piece::Quoted(part) => text.push_str(part),
                Piece::Double(inner) => add(inner, text)?,
                _ => return None,
            }
        }
        Some(())
    }
    let mut text = String::new();
    add(&word.pieces, &mut text)?;
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::evaluated;

    #[test]
    fn the_command_behind_eval_is_read_word_for_word() {
        let wrapped = "source /tmp/s.sh 2>/dev/null || true && eval 'git log '\\''a b'\\'' && make' < /dev/null && pwd -P >| /tmp/cwd";
        assert_eq!(evaluated(wrapped).as_deref(), Some("git log 'a b' && make"));
        assert_eq!(
            evaluated("x && eval \"ls -l\" \\< /dev/null").as_deref(),
            Some("ls -l")
        );
        assert_eq!(evaluated("eval \"$X\""), None);
        assert_eq!(evaluated("make"), None);
    }
}
