//! Parses a shell command into an intermediate representation, with a second parser as a check: no file, no clock.
//!
//! Reading order: [`value`] (partly known text), [`words`] (lists of names), [`ir`] (the intermediate
//! representation), [`lower`] (the first parser, and the only module that uses it), [`second`] (the second opinion,
//! compared with [`names`]), [`bodies`] (texts of here-documents, which are removed first), [`limit`] (limits of the
//! parsers), `plain` (texts that need no parser), `retry` (texts rewritten for the first parser), [`escape`]
//! (backslashes), [`pattern`] (`*`, `?` and others). Nothing here evaluates.

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

/// Returns the literal command that a text passes to `eval`, which is how coding agents wrap their commands.
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

/// Returns the text of a word without expansions.
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
