//! The second parser: program names that tree-sitter-bash finds.
//!
//! It never finds danger and never removes a doubt. It only detects that the first parser may have missed a command.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::BTreeSet;

use tree_sitter::{Parser, TreeCursor};

use super::bodies::MARK;

thread_local! {
    /// Building a parser costs more than a typical command.
    static PARSER: RefCell<Option<Parser>> = RefCell::new(bash());
}

fn bash() -> Option<Parser> {
    let mut parser = Parser::new();
    parser
        .set_language(&tree_sitter_bash::LANGUAGE.into())
        .ok()?;
    Some(parser)
}

/// Limit of the length of a text; for a longer one, the first parser decides alone.
pub const MAX_BYTES: usize = 64 * 1024;

/// Returns the names of programs in command position, written as plain words. The mark of a removed text is not one,
/// but counts as one in that position.
///
/// Returns `None` if the second parser does not accept the text, or was not needed.
pub fn program_names(text: &str) -> Option<BTreeSet<String>> {
    if text.len() > MAX_BYTES || leaves_no_doubt(&without_messages(text)) {
        return None;
    }
    names_of(text)
}

/// Returns the text with `"$(cat <<'E'…)"` replaced by one plain word, if the text of the here-document is known to
/// be one: agents pass messages to programs in this form.
fn without_messages(text: &str) -> Cow<'_, str> {
    const FRONT: &str = "\"$(cat <<'";
    let mut rest = text;
    let mut without = String::new();
    while let Some((before, behind)) = rest.split_once(FRONT) {
        let Some(after) = after_message(behind) else {
            break;
        };
        without.push_str(before);
        without.push_str("\"\"");
        rest = after;
    }
    if without.is_empty() {
        return Cow::Borrowed(text);
    }
    without.push_str(rest);
    Cow::Owned(without)
}

/// Returns the text behind `E'`, the line of a mark, `E` and `)"`.
fn after_message(text: &str) -> Option<&str> {
    let (name, rest) = text.split_once('\'')?;
    let (mark, rest) = rest.strip_prefix('\n')?.split_once('\n')?;
    let number = mark.strip_prefix(MARK)?;
    let is_mark = number.bytes().all(|byte| byte.is_ascii_digit());
    let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let rest = rest.strip_prefix(name)?.strip_prefix("\n)\"")?;
    (is_mark && is_name).then_some(rest)
}

fn names_of(text: &str) -> Option<BTreeSet<String>> {
    let tree = PARSER.with_borrow_mut(|parser| parser.as_mut()?.parse(text, None))?;
    let root = tree.root_node();
    if root.has_error() {
        return None;
    }
    let mut names = BTreeSet::new();
    let mut cursor = root.walk();
    loop {
        let node = cursor.node();
        if node.kind() == "command_name"
            && let Some(name) = text.get(node.byte_range())
            && (is_plain(name) || name.contains(MARK))
        {
            names.insert(name.to_owned());
        }
        if !cursor.goto_first_child() && !advance(&mut cursor) {
            return Some(names);
        }
    }
}

/// Returns `true` for texts with plain words between `;`, `&`, `|`, `>` and line ends, words of plain text in quotes,
/// variables by their bare names at the beginning of a word or in quotes, and loops over words: these are
/// unambiguous, and most commands have this form.
fn leaves_no_doubt(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b" \n;&|>_-./+=:,@%*".contains(&byte);
    let doubtful = |word: &str| GRAMMAR.contains(&word) && !LOOP.contains(&word);
    let mut quote = None;
    let mut before = b' ';
    let mut bytes = text.bytes().peekable();
    while let Some(byte) = bytes.next() {
        let begins = std::mem::replace(&mut before, byte) == b' ';
        match (quote, byte) {
            (Some(open), _) if byte == open => quote = None,
            // A line end would be plain as well, but the tokenizers count lines in quotes differently.
            (Some(_), b'\n') => return false,
            (None, b'\'' | b'"') => quote = Some(byte),
            (None | Some(b'"'), b'$')
                if (begins || quote.is_some())
                    && bytes
                        .peek()
                        .is_some_and(|next| next.is_ascii_alphabetic() || *next == b'_') => {}
            _ if plain(byte) => {}
            _ => return false,
        }
    }
    quote.is_none()
        && !text
            .split([' ', '\n', ';', '&', '|', '>', '\'', '"'])
            .any(doubtful)
}

/// Words of a loop over words, with which nothing else begins or ends.
const LOOP: [&str; 4] = ["for", "in", "do", "done"];

/// Words that begin or divide a compound command.
const GRAMMAR: [&str; 16] = [
    "if", "then", "elif", "else", "fi", "for", "while", "until", "do", "done", "case", "esac",
    "in", "select", "function", "coproc",
];

/// Returns `true` if a name is a grammar word, which the second parser takes for a program after an error: no program
/// of such a name is started without quotes, and none of them acts.
pub fn is_grammar(name: &str) -> bool {
    name == "time" || GRAMMAR.contains(&name)
}

fn advance(cursor: &mut TreeCursor<'_>) -> bool {
    loop {
        if cursor.goto_next_sibling() {
            return true;
        }
        if !cursor.goto_parent() {
            return false;
        }
    }
}

fn is_plain(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./+".contains(&byte);
    !name.is_empty() && name.bytes().all(plain)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{lower, names};

    const WORDS: &[&str] = &[
        "git",
        "push",
        "a=1",
        "time",
        "-m",
        "x.sh",
        "./y",
        "if",
        "done",
        " ",
        " ",
        " ",
        "&&",
        "||",
        ";",
        "|",
        "&",
        "|&",
        "\n",
        "@",
        "%",
        "=",
        "alias",
        "'a b'",
        "\"c; d\"",
        "'",
        "\"",
        "'e | f'",
        ">",
        ">>",
        "2>&1",
        "&>",
        ">|",
        "$x",
        "\"$y z\"",
        "*.rs",
        "for f in a *; do ",
        "; done",
        "for",
        " in ",
        "do ",
    ];

    proptest! {
        #[test]
        fn what_leaves_no_doubt_is_read_alike(words in prop::collection::vec(prop::sample::select(WORDS), 0..20)) {
            let text = words.concat();
            prop_assume!(leaves_no_doubt(&text));
            // The second parser takes `@a=1` and `-a=1` for assignments; bash and the first do not.
            let marked = |word: &str| word.starts_with(['@', '%', '-']) && word.contains('=');
            prop_assume!(!text.split([' ', ';', '&', '|', '\n']).any(marked));
            // It ends a descriptor in the name of a file where the others read on, and begins one inside a word.
            let in_word = |one: char| !" \n;&|>".contains(one);
            let mut numbers = text.match_indices("2>&1");
            let glued = numbers.any(|(at, _)| {
                let (left, right) = (text.get(..at), text.get(at + 4..));
                left.is_some_and(|left| left.ends_with(in_word))
                    || right.is_some_and(|right| right.starts_with(in_word))
            });
            if glued {
                return Ok(());
            }
            let (Ok(first), Some(second)) = (lower::program(&text), names_of(&text)) else {
                return Ok(());
            };
            let first = names::program_words(&first);
            for name in second {
                prop_assert!(name == "time" || first.contains(name.as_str()), "{text:?}: {name}");
            }
        }
    }

    #[test]
    fn a_message_is_a_plain_word_and_nothing_else_is() {
        let message = format!("a -m \"$(cat <<'E'\n{MARK}0\nE\n)\" b");
        assert_eq!(without_messages(&message), "a -m \"\" b");
        assert!(leaves_no_doubt(&without_messages(&format!(
            "{message}; {message}"
        ))));
        for text in [
            message.replace("cat", "sh"),
            message.replace("<<'E'", "<<'E' | sh"),
            message.replace("<<'E'", "<<E"),
            message.replace(MARK, "x"),
            message.replace("\nE\n)", "\nE\nc)"),
            message.replace(" b", " $(b)"),
        ] {
            assert!(!leaves_no_doubt(&without_messages(&text)), "{text}");
        }
    }

    #[test]
    fn grammar_and_quotes_leave_doubt() {
        assert!(leaves_no_doubt(
            "git status --short && git diff --stat | cat"
        ));
        assert!(leaves_no_doubt("for f in src/*.rs; do wc -l \"$f\"; done"));
        for text in [
            "if a; then b; fi",
            "a 'b' 'c",
            "a \"${b}\"",
            "a $(b)",
            "while a; do b; done",
            "a < b",
            "(a)",
            "a\\b",
            "a?",
            "a\tb",
        ] {
            assert!(!leaves_no_doubt(text), "{text}");
        }
    }
}
