//! Colours for the lines of a diff: comments, strings, numbers and keywords of the language, found line by line.
//!
//! A diff shows fragments, so there is nothing to parse: a line is split into a few kinds of token, in one pass, by
//! the family of the file's language. A wrong guess only gives a wrong colour.

/// Kind of a piece of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Token {
    /// Anything else.
    Plain,
    /// A comment, up to the end of the line or of the comment.
    Comment,
    /// A string in quotes.
    Text,
    Number,
    /// A keyword of the language.
    Word,
}

impl Token {
    /// Returns the class on the page; empty without a colour.
    #[must_use]
    pub fn class(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Comment => "c",
            Self::Text => "s",
            Self::Number => "n",
            Self::Word => "k",
        }
    }
}

/// Lexical rules of a language.
#[derive(Clone, Copy, Debug)]
pub struct Language {
    comments: &'static [&'static str],
    quotes: &'static str,
    /// Set if a single quote begins a character or a lifetime, and not a string.
    characters: bool,
    words: &'static [&'static str],
}

const SLASHES: &[&str] = &["//", "/*"];
const HASH: &[&str] = &["#"];
const DASHES: &[&str] = &["--"];

const COMPILED: &[&str] = &[
    "abstract",
    "as",
    "async",
    "await",
    "break",
    "case",
    "catch",
    "class",
    "const",
    "continue",
    "crate",
    "data",
    "default",
    "defer",
    "do",
    "else",
    "enum",
    "export",
    "extends",
    "extern",
    "false",
    "final",
    "finally",
    "fn",
    "for",
    "func",
    "fun",
    "go",
    "if",
    "impl",
    "implements",
    "import",
    "in",
    "include",
    "interface",
    "internal",
    "is",
    "let",
    "loop",
    "match",
    "mod",
    "move",
    "mut",
    "namespace",
    "new",
    "nil",
    "null",
    "override",
    "package",
    "private",
    "protected",
    "pub",
    "public",
    "range",
    "ref",
    "return",
    "self",
    "Self",
    "sealed",
    "sizeof",
    "static",
    "struct",
    "super",
    "switch",
    "template",
    "this",
    "throw",
    "throws",
    "trait",
    "true",
    "try",
    "type",
    "typedef",
    "typeof",
    "union",
    "unsafe",
    "use",
    "using",
    "val",
    "var",
    "virtual",
    "void",
    "volatile",
    "when",
    "where",
    "while",
    "yield",
];
const SCRIPTED: &[&str] = &[
    "and", "as", "assert", "async", "await", "begin", "break", "case", "class", "continue", "def",
    "del", "do", "done", "elif", "else", "elsif", "end", "ensure", "esac", "except", "exec",
    "export", "false", "False", "fi", "finally", "for", "from", "function", "global", "if",
    "import", "in", "is", "lambda", "local", "module", "next", "nil", "None", "not", "null", "or",
    "pass", "raise", "readonly", "rescue", "return", "self", "set", "shift", "source", "then",
    "true", "True", "try", "unless", "until", "while", "with", "yield",
];
const ASKED: &[&str] = &[
    "and", "as", "begin", "by", "case", "create", "delete", "do", "drop", "else", "elseif", "end",
    "false", "for", "from", "function", "group", "having", "if", "in", "index", "insert", "into",
    "join", "left", "limit", "local", "nil", "not", "null", "on", "or", "order", "repeat",
    "return", "select", "set", "table", "then", "true", "union", "until", "update", "values",
    "where", "while",
];

const fn compiled(characters: bool) -> Language {
    Language {
        comments: SLASHES,
        quotes: "\"'`",
        characters,
        words: COMPILED,
    }
}

impl Language {
    /// Returns the language of a file by its name; `None` if it should stay plain.
    #[must_use]
    pub fn of_path(path: &str) -> Option<Self> {
        let name = path.rsplit('/').next().unwrap_or(path);
        let ending = name.rsplit_once('.').map_or(name, |(_, ending)| ending);
        Some(match ending {
            "rs" | "c" | "h" | "cc" | "cpp" | "hpp" | "go" | "java" | "kt" | "swift" | "cs"
            | "scala" => compiled(true),
            "js" | "mjs" | "cjs" | "ts" | "jsx" | "tsx" | "dart" | "php" | "json" | "jsonc"
            | "css" | "scss" | "proto" => compiled(false),
            "py" | "sh" | "bash" | "zsh" | "rb" | "pl" | "yaml" | "yml" | "toml" | "r" | "ex"
            | "exs" | "Makefile" | "Dockerfile" | "mk" | "cfg" | "ini" => Self {
                comments: HASH,
                quotes: "\"'",
                characters: false,
                words: SCRIPTED,
            },
            "sql" | "lua" | "hs" => Self {
                comments: DASHES,
                quotes: "\"'",
                characters: false,
                words: ASKED,
            },
            _ => return None,
        })
    }

    /// Splits a line into pieces, which together are the line.
    #[must_use]
    pub fn tokens<'a>(&self, line: &'a str) -> Vec<(Token, &'a str)> {
        let mut tokens: Vec<(Token, &'a str)> = Vec::new();
        let (mut plain, mut at) = (0, 0);
        while let Some(rest) = line.get(at..).filter(|rest| !rest.is_empty()) {
            let (token, length) = self.next(rest, line.get(..at).unwrap_or_default());
            if token != Token::Plain {
                tokens.extend(
                    line.get(plain..at)
                        .filter(|text| !text.is_empty())
                        .map(|text| (Token::Plain, text)),
                );
                tokens.extend(line.get(at..at + length).map(|text| (token, text)));
                plain = at + length;
            }
            at += length;
        }
        tokens.extend(
            line.get(plain..)
                .filter(|text| !text.is_empty())
                .map(|text| (Token::Plain, text)),
        );
        tokens
    }

    /// Returns the kind and length of the token that begins here; the length is never 0.
    fn next(&self, rest: &str, before: &str) -> (Token, usize) {
        let first = rest.chars().next().unwrap_or(' ');
        let starts_word =
            before.ends_with(|letter: char| letter.is_alphanumeric() || letter == '_');
        if let Some(mark) = self.comments.iter().find(|mark| rest.starts_with(**mark)) {
            // `#` in the middle of a word does not begin a comment, as in `a#b` and `$#`.
            if *mark != "#" || before.is_empty() || before.ends_with([' ', '\t', '+', '-', ';']) {
                let end = if *mark == "/*" {
                    rest.find("*/").map(|end| end + 2)
                } else {
                    None
                };
                return (Token::Comment, end.unwrap_or(rest.len()));
            }
        }
        if self.quotes.contains(first) && !starts_word {
            return match quoted(rest, first, self.characters) {
                Some(length) => (Token::Text, length),
                None => (Token::Plain, first.len_utf8()),
            };
        }
        let letters = |letter: char| letter.is_alphanumeric() || letter == '_';
        if first.is_ascii_digit() && !starts_word {
            let length = rest
                .find(|letter: char| !letters(letter) && letter != '.')
                .unwrap_or(rest.len());
            return (Token::Number, length);
        }
        if letters(first) {
            let length = rest
                .find(|letter: char| !letters(letter))
                .unwrap_or(rest.len());
            let word = rest.get(..length).unwrap_or_default();
            let token = if self.words.contains(&word) {
                Token::Word
            } else {
                Token::Plain
            };
            return (token, length);
        }
        (Token::Plain, first.len_utf8())
    }
}

/// Returns the length of a string with its quotes; `None` if it does not end here, or is not a string.
fn quoted(rest: &str, quote: char, characters: bool) -> Option<usize> {
    let mut is_escaped = false;
    for (count, (at, letter)) in rest.char_indices().enumerate().skip(1) {
        if is_escaped {
            is_escaped = false;
        } else if letter == '\\' {
            is_escaped = true;
        } else if letter == quote {
            return Some(at + letter.len_utf8());
        }
        if quote == '\'' && characters && count > 10 {
            return None;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shown(path: &str, line: &str) -> String {
        let language = Language::of_path(path).unwrap();
        let tokens = language.tokens(line).into_iter();
        tokens
            .map(|(token, text)| match token.class() {
                "" => text.to_owned(),
                class => format!("<{class} {text}>"),
            })
            .collect()
    }

    #[test]
    fn each_family_is_told_apart() {
        assert_eq!(
            shown("src/a.rs", "+    let x: &'a str = \"// no\"; // yes 1"),
            "+    <k let> x: &'a str = <s \"// no\">; <c // yes 1>"
        );
        assert_eq!(
            shown("a.py", "-def f(n): return 'it#s' + str(12.5) # why"),
            "-<k def> f(n): <k return> <s 'it#s'> + str(<n 12.5>) <c # why>"
        );
        assert_eq!(shown("a.sh", " echo $# a#b"), " echo $# a#b");
        assert_eq!(
            shown("q.sql", " select 1 -- one"),
            " <k select> <n 1> <c -- one>"
        );
        assert_eq!(shown("a.c", "+a /* b */ if"), "+a <c /* b */> <k if>");
        assert!(Language::of_path("LICENSE").is_none());
    }

    proptest! {
        #[test]
        fn the_pieces_are_the_line(line in "[-+ ]?[a-z0-9_'\"`#/*\\\\é …]{0,40}") {
            for path in ["a.rs", "a.js", "a.py", "a.sql"] {
                let tokens = Language::of_path(path).unwrap().tokens(&line);
                let text: String = tokens.iter().map(|(_, text)| *text).collect();
                prop_assert_eq!(&text, &line);
            }
        }
    }
}
