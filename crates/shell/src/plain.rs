//! Unambiguous texts that need no parser: plain words, words in quotes, `;`, `&&`, `||`, `|` and redirections to
//! files. Most commands have this form. Everything else is left to [`lower`](super::lower), which reads these texts
//! with the same result.

use super::ir::{
    Argument, Command, Connector, Item, Kind, Piece, Pipeline, Redirect, Script, Span, Target, Word,
};
use super::second::is_grammar;

/// Operator between two commands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sign {
    /// `;` or the end.
    End,
    And,
    Or,
    Pipe,
}

/// Parses a text; `None` if it may be ambiguous.
pub(super) fn read(text: &str) -> Option<Script> {
    let mut reader = Reader { text, at: 0 };
    let mut script = Script::default();
    while !reader.is_done() {
        script.items.push(reader.item()?);
    }
    (!script.items.is_empty()).then_some(script)
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Reader<'t> {
    fn next(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn takes(&mut self, sign: &str) -> bool {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let found = rest.starts_with(sign);
        if found {
            self.at = self.at.saturating_add(sign.len());
        }
        found
    }

    /// Skips blanks; returns `true` at the end.
    fn is_done(&mut self) -> bool {
        self.run(|byte| byte == b' ');
        self.at >= self.text.len()
    }

    /// Skips bytes of a kind and returns them.
    fn run(&mut self, is_wanted: impl Fn(u8) -> bool) -> &'t str {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let end = rest.bytes().position(|byte| !is_wanted(byte));
        let run = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
        self.at = self.at.saturating_add(run.len());
        run
    }

    fn item(&mut self) -> Option<Item> {
        let mut item = Item {
            pipelines: Vec::with_capacity(1),
            beside: false,
        };
        let mut connector = Connector::First;
        loop {
            let (pipeline, sign) = self.pipeline()?;
            item.pipelines.push((connector, pipeline));
            connector = match sign {
                Sign::And => Connector::And,
                Sign::Or => Connector::Or,
                Sign::End | Sign::Pipe => return Some(item),
            };
        }
    }

    fn pipeline(&mut self) -> Option<(Pipeline, Sign)> {
        let mut commands = Vec::with_capacity(2);
        loop {
            let (command, sign) = self.command()?;
            commands.push(command);
            if sign != Sign::Pipe {
                let negated = false;
                return Some((Pipeline { negated, commands }, sign));
            }
        }
    }

    /// Reads a command with the operator behind it.
    fn command(&mut self) -> Option<(Command, Sign)> {
        let mut words = Vec::with_capacity(4);
        let mut redirects = Vec::new();
        let mut span: Option<Span> = None;
        let sign = loop {
            if self.is_done() || self.takes(";") {
                break Sign::End;
            }
            if self.takes("&&") {
                break Sign::And;
            }
            if self.takes("||") {
                break Sign::Or;
            }
            if self.takes("|") {
                break Sign::Pipe;
            }
            if let Some(redirect) = self.redirect()? {
                redirects.push(redirect);
                continue;
            }
            let word = self.word()?;
            let from = span.or(word.span).map(|(from, _)| from);
            span = from.zip(word.span.map(|(_, to)| to));
            words.push(Argument::Word(word));
        };
        if words.is_empty() || (sign != Sign::End && self.is_done()) {
            return None;
        }
        let command = Command {
            kind: Kind::Simple {
                assignments: Vec::new(),
                words,
            },
            redirects,
            span,
        };
        Some((command, sign))
    }

    /// Reads `>file`, `2>file`, `>>file` or `2>&1`, if one begins here.
    fn redirect(&mut self) -> Option<Option<Redirect>> {
        let begin = self.at;
        let descriptor = match self.run(|byte| byte.is_ascii_digit()) {
            "" | "1" => 1,
            "2" => 2,
            _ => 0,
        };
        if descriptor == 0 || self.next() != Some(b'>') {
            self.at = begin;
            return Some(None);
        }
        let target = if self.takes(">&") {
            Target::Duplicate(self.word().filter(is_descriptor)?)
        } else if self.takes(">>") {
            Target::Append(self.file()?)
        } else {
            self.takes(">");
            Target::Write(self.file()?)
        };
        Some(Some(Redirect { descriptor, target }))
    }

    fn file(&mut self) -> Option<Word> {
        let ends = self.is_done();
        (!ends).then(|| self.word()).flatten()
    }

    /// Reads a word that is plain, or in quotes as a whole.
    fn word(&mut self) -> Option<Word> {
        let begin = self.at;
        let piece = match self.next()? {
            quote @ (b'\'' | b'"') => {
                self.at = begin.saturating_add(1);
                let inside =
                    self.run(|byte| byte == b' ' || is_plain(byte) || b";&|>".contains(&byte));
                if inside.is_empty() || self.next() != Some(quote) {
                    return None;
                }
                self.at = self.at.saturating_add(1);
                let inside = Piece::Quoted(inside.to_owned());
                match quote {
                    b'"' => Piece::Double(vec![inside]),
                    _ => inside,
                }
            }
            _ => {
                let word = self.run(is_plain);
                if word.is_empty() || is_grammar(word) || is_assignment(word) {
                    return None;
                }
                Piece::Text(word.to_owned())
            }
        };
        matches!(self.next(), None | Some(b' ' | b';' | b'&' | b'|')).then(|| Word {
            pieces: vec![piece],
            span: Some((begin, self.at)),
        })
    }
}

/// Returns `true` if a word is a plain `1`.
fn is_descriptor(word: &Word) -> bool {
    matches!(word.pieces.as_slice(), [Piece::Text(text)] if text == "1")
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_-./+=:,@%*".contains(&byte)
}

/// Returns `true` for `name=…` and `name+=…`.
fn is_assignment(word: &str) -> bool {
    let name = word.split_once('=').map(|(name, _)| name);
    let name = name.map(|name| name.strip_suffix('+').unwrap_or(name));
    let is_sign = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    name.is_some_and(|name| name.bytes().all(is_sign))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{lower, second};
    use super::*;

    const WORDS: &[&str] = &[
        "git", "push", "a=1", "-x=1", "time", "in", "x.sh", "./y", "12", " ", " ", " ", "&&", "||",
        ";", "|", "&", "\n", "@", "=", "+", "*", "alias", "'a b'", "\"c; d\"", "'", "\"",
        "'e | f'", ">", ">>", "2>&1", "1>", "2>", "3>", "&>", ">|", "$x", "!", "{", "#", "~", "\\",
        "%",
    ];

    /// Compares with the result of the parser, which may refuse a text for its size.
    fn compare(text: &str) -> Result<(), TestCaseError> {
        let Some(plain) = read(text) else {
            return Ok(());
        };
        let parsed = lower::parsed(text);
        if matches!(parsed, Err(lower::Refused::Limit(_))) {
            return Ok(());
        }
        let parsed = parsed.map(|(script, _)| format!("{script:?}"));
        prop_assert_eq!(Ok(format!("{plain:?}")), parsed, "{}", text);
        prop_assert_eq!(second::program_names(text), None, "{}", text);
        Ok(())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn a_plain_text_is_read_as_the_parser_reads_it(words in prop::collection::vec(prop::sample::select(WORDS), 0..16)) {
            compare(&words.concat())?;
        }
    }

    #[test]
    fn everyday_commands_are_plain_and_others_are_not() {
        for text in [
            "git status --short && git diff --stat",
            "cd crates/host && cargo test --locked 2>&1 | tail -20",
            "grep -rn \"TODO\" src/ | head -50;",
            "bash -lc 'npm run build && git push origin HEAD' >out.log 2>> err.log || true",
        ] {
            assert!(read(text).is_some(), "{text}");
            compare(text).unwrap();
        }
        for text in [
            "",
            ";",
            "a &&",
            "a | | b",
            "a & b",
            "a\nb",
            "X=1 a",
            "make CC=cc",
            "a $b",
            "a 'b'c",
            "a >",
            "a 2>&12",
            "a <b",
            "if a",
            "time a",
            "a ''",
            "é",
            "a 'é'",
            "a 3>b",
            "echo done",
            "a 2>&-",
        ] {
            assert!(read(text).is_none(), "{text}");
        }
    }
}
