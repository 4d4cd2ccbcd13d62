//! The code of other languages cut into words, texts and signs: just enough to see what a call is given.

use crate::value::{HOLE, LISTED};

pub(super) use super::unescape::unescape;
use super::unescape::{fillings_of, pattern_length};

/// More code than this is not cut.
const MAX_TOKENS: usize = 8_000;

/// One piece of code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// A name, with the sign that some languages put before it: `os`, `$x`, `@ARGV`.
    Word(String),
    /// A text in quotes; places that are filled in are holes.
    Text(String),
    /// A list of words in quotes: `qw(git push)`.
    Words(Vec<String>),
    /// A text that is run where it stands: backquotes, `qx(…)`.
    Command(String),
    /// A pattern that can be nothing else where it stands.
    Pattern,
    Sign(char),
}

/// What sets the languages apart when their code is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    Python,
    Script,
    Perl,
    Ruby,
    Php,
    Lua,
    Awk,
}

impl Family {
    /// The family of an interpreter, by the first name of its language.
    pub(super) fn of(language: &str) -> Option<Self> {
        Some(match language {
            "python" => Self::Python,
            "node" => Self::Script,
            "perl" => Self::Perl,
            "ruby" => Self::Ruby,
            "php" => Self::Php,
            "lua" => Self::Lua,
            "awk" => Self::Awk,
            _ => return None,
        })
    }

    /// Whether a comment begins here; a sign before it belongs to a word.
    fn comment(self, rest: &str, before: Option<char>) -> bool {
        let apart = before.is_none_or(|one| one.is_whitespace() || matches!(one, ';' | '{' | '}'));
        match self {
            Self::Python => rest.starts_with('#'),
            Self::Perl | Self::Ruby | Self::Awk => apart && rest.starts_with('#'),
            Self::Script => rest.starts_with("//") && before != Some(':'),
            Self::Php => rest.starts_with("//") || (apart && rest.starts_with('#')),
            Self::Lua => rest.starts_with("--"),
        }
    }

    /// Whether a text in these quotes is filled in, and by which sign.
    fn fills(self, quote: char, prefix: &str, one: char, next: Option<char>) -> bool {
        let named = next.is_some_and(|next| next.is_alphabetic() || "_{(".contains(next));
        match self {
            Self::Python => prefix.contains(['f', 'F']) && one == '{',
            Self::Script => quote == '`' && one == '$' && next == Some('{'),
            Self::Perl => {
                quote != '\'' && matches!(one, '$' | '@') && (named || next == Some('$'))
                    || quote != '\'' && one == '$' && next.is_some_and(|next| next.is_ascii_digit())
            }
            Self::Php => quote != '\'' && (one == '$' && named || one == '{' && next == Some('$')),
            Self::Ruby => quote != '\'' && one == '#' && next == Some('{'),
            Self::Lua | Self::Awk => false,
        }
    }
}

/// The code without its texts and patterns; a dollar stands for a text that is filled in.
pub(super) fn without_texts(family: Family, code: &str) -> Option<String> {
    let mut visible = String::with_capacity(code.len());
    for token in cut(family, code)? {
        match token {
            Token::Word(word) => {
                if visible.ends_with(|one: char| one.is_alphanumeric() || one == '_') {
                    visible.push(' ');
                }
                visible.push_str(&word);
            }
            Token::Text(text) => {
                visible.push_str(if text.contains([HOLE, LISTED]) {
                    "\"$\""
                } else {
                    "\"\""
                });
            }
            Token::Words(_) => visible.push_str("\"\""),
            Token::Command(text) => {
                visible.push_str(if text.contains([HOLE, LISTED]) {
                    "`$`"
                } else {
                    "``"
                });
            }
            Token::Pattern => visible.push('/'),
            Token::Sign(sign) => visible.push(sign),
        }
    }
    Some(visible)
}

struct Cutter<'c> {
    family: Family,
    /// Code in the new text of a substitution; one in there is not looked into.
    nested: bool,
    code: &'c str,
    at: usize,
    tokens: Vec<Token>,
    /// The code that texts are filled with.
    fillings: Vec<String>,
}

/// Cuts code; none when it is too long to be looked at closely.
pub(super) fn cut(family: Family, code: &str) -> Option<Vec<Token>> {
    cut_in(family, code, false).map(|(tokens, _)| tokens)
}

/// Cuts code and keeps the code that its texts are filled with.
pub(super) fn cut_filled(family: Family, code: &str) -> Option<(Vec<Token>, Vec<String>)> {
    cut_in(family, code, false)
}

fn cut_in(family: Family, code: &str, nested: bool) -> Option<(Vec<Token>, Vec<String>)> {
    let mut cutter = Cutter {
        family,
        nested,
        code,
        at: 0,
        tokens: Vec::new(),
        fillings: Vec::new(),
    };
    while cutter.at < code.len() {
        cutter.one();
        if cutter.tokens.len() > MAX_TOKENS {
            return None;
        }
    }
    Some((cutter.tokens, cutter.fillings))
}

impl Cutter<'_> {
    fn rest(&self) -> &str {
        self.code.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn take(&mut self) -> Option<char> {
        let one = self.peek()?;
        self.at = self.at.saturating_add(one.len_utf8());
        Some(one)
    }

    fn one(&mut self) {
        let before = self
            .code
            .get(..self.at)
            .and_then(|text| text.chars().last());
        if self.family.comment(self.rest(), before) {
            while self.peek().is_some_and(|one| one != '\n') {
                self.take();
            }
            return;
        }
        let Some(one) = self.peek() else { return };
        if matches!(one, '\'' | '"') || (one == '`' && self.family != Family::Python) {
            return self.quoted("");
        }
        if self.family == Family::Lua && self.rest().starts_with("[[") {
            self.at = self.at.saturating_add(2);
            let text = self.until("]]");
            return self.tokens.push(Token::Text(text));
        }
        if self.family == Family::Ruby && one == '%' && self.literal() {
            return;
        }
        if one == '/' && self.is_pattern() {
            if self.family == Family::Script
                && let Some(length) = self.script_pattern()
            {
                self.at = self.at.saturating_add(length);
                return self.tokens.push(Token::Pattern);
            }
            self.take();
            while let Some(one) = self.take().filter(|one| *one != '/') {
                if one == '\\' {
                    self.take();
                }
            }
            return self.tokens.push(Token::Sign('/'));
        }
        if one.is_alphanumeric() || one == '_' || (self.takes_sign() && matches!(one, '$' | '@')) {
            return self.word();
        }
        self.take();
        if one == '\n' || !one.is_whitespace() {
            self.tokens.push(Token::Sign(one));
        }
    }

    /// The length of a pattern of JavaScript, where a value has to follow what stands before it.
    fn script_pattern(&self) -> Option<usize> {
        let before = match self.tokens.last()? {
            Token::Sign(sign) => "(,=:[!&|?;>".contains(*sign),
            Token::Word(word) => word == "return",
            _ => false,
        };
        before.then(|| pattern_length(self.rest())).flatten()
    }

    /// Whether a slash begins a pattern here, and does not divide.
    fn is_pattern(&self) -> bool {
        if matches!(self.family, Family::Python | Family::Lua | Family::Php) {
            return false;
        }
        match self.tokens.last() {
            None => true,
            Some(Token::Sign(one)) => !matches!(one, ')' | ']' | '}' | '/'),
            Some(Token::Word(word)) => matches!(
                word.as_str(),
                "if" | "unless"
                    | "and"
                    | "or"
                    | "not"
                    | "split"
                    | "return"
                    | "grep"
                    | "when"
                    | "while"
            ),
            Some(_) => false,
        }
    }

    /// `s/a/b/`, `m/a/`, `tr/a/b/`: text, but for what `s` with the letter `e` runs.
    fn substitution(&mut self, operator: &str) -> bool {
        let Some(mark) = self.peek() else {
            return false;
        };
        if mark.is_alphanumeric()
            || mark.is_whitespace()
            || matches!(mark, ',' | ';' | ')' | '=' | '_' | '.' | '(')
        {
            return false;
        }
        self.take();
        let close = match mark {
            '{' => '}',
            '[' => ']',
            '<' => '>',
            other => other,
        };
        self.filled('\'', "r", mark, close);
        let mut new = String::new();
        if operator != "m" && operator != "qr" {
            if close != mark {
                while self.peek().is_some_and(|one| one != mark) {
                    self.take();
                }
                self.take();
            }
            new = self.filled('\'', "r", mark, close);
        }
        let mut runs = false;
        while let Some(flag) = self.peek().filter(char::is_ascii_alphabetic) {
            runs |= flag == 'e';
            self.take();
        }
        if runs && operator == "s" {
            let inside = (!self.nested).then(|| cut_in(self.family, &new, true));
            let inside = inside.flatten().map(|(tokens, _)| tokens);
            let unread = || vec![Token::Command(HOLE.to_string())];
            self.tokens.extend(inside.unwrap_or_else(unread));
        }
        self.tokens.push(Token::Sign('/'));
        true
    }

    fn takes_sign(&self) -> bool {
        matches!(
            self.family,
            Family::Perl | Family::Php | Family::Awk | Family::Ruby
        )
    }

    fn word(&mut self) {
        let mut word = String::new();
        while let Some(one) = self.peek() {
            let inside = one.is_alphanumeric() || one == '_';
            let sign = word.is_empty() && matches!(one, '$' | '@');
            if !(inside || sign) {
                break;
            }
            word.push(one);
            self.take();
        }
        let quote = matches!(self.peek(), Some('\'' | '"'));
        if self.family == Family::Python
            && quote
            && word.len() <= 2
            && word.chars().all(|one| "fFrRbBuU".contains(one))
        {
            return self.quoted(&word);
        }
        if self.family == Family::Perl
            && matches!(word.as_str(), "q" | "qq" | "qw" | "qx")
            && self.operator(&word)
        {
            return;
        }
        if self.family == Family::Perl
            && matches!(word.as_str(), "s" | "m" | "tr" | "y" | "qr")
            && self.substitution(&word)
        {
            return;
        }
        if self.family == Family::Perl && word == "$" {
            // `$_`, `$0`, `$$` are words already; what is left is a sign such as `$!`.
            word.extend(self.take());
        }
        self.tokens.push(Token::Word(word));
    }

    /// `%w[git push]`, `%x(git push)`, `%q(git push)`.
    fn literal(&mut self) -> bool {
        let mut ahead = self.rest().chars().skip(1);
        let kind = ahead.next();
        let open = ahead.next();
        let (Some(kind @ ('w' | 'W' | 'x' | 'q' | 'Q')), Some(open)) = (kind, open) else {
            return false;
        };
        if open.is_alphanumeric() || open.is_whitespace() {
            return false;
        }
        self.at = self.at.saturating_add(2);
        let operator = match kind {
            'w' | 'W' => "qw",
            'x' => "qx",
            'Q' => "qq",
            _ => "q",
        };
        self.operator(operator)
    }

    /// A text between signs of its own, after `q`, `qq`, `qw` or `qx`.
    fn operator(&mut self, operator: &str) -> bool {
        let blanks: usize = self.rest().chars().take_while(|one| *one == ' ').count();
        let Some(open) = self.rest().chars().nth(blanks) else {
            return false;
        };
        if open.is_alphanumeric() || matches!(open, ',' | ';' | ')' | '=' | '_' | '\n') {
            return false;
        }
        self.at = self
            .at
            .saturating_add(blanks)
            .saturating_add(open.len_utf8());
        let close = match open {
            '(' => ')',
            '{' => '}',
            '[' => ']',
            '<' => '>',
            other => other,
        };
        let quote = if matches!(operator, "q" | "qw") {
            '\''
        } else {
            '"'
        };
        let text = self.filled(quote, "", open, close);
        self.tokens.push(match operator {
            "qw" => Token::Words(text.split_whitespace().map(str::to_owned).collect()),
            "qx" => Token::Command(text),
            _ => Token::Text(text),
        });
        true
    }

    fn until(&mut self, end: &str) -> String {
        let rest = self.rest();
        let (text, length) = match rest.split_once(end) {
            Some((text, _)) => (text.to_owned(), text.len().saturating_add(end.len())),
            None => (rest.to_owned(), rest.len()),
        };
        self.at = self.at.saturating_add(length);
        text
    }

    fn quoted(&mut self, prefix: &str) {
        let Some(quote) = self.take() else { return };
        let triple: String = std::iter::repeat_n(quote, 2).collect();
        if self.family == Family::Python && self.rest().starts_with(&triple) {
            self.at = self.at.saturating_add(2);
            let text = self.until(&format!("{quote}{triple}"));
            let filled = prefix.contains(['f', 'F']) && text.contains('{');
            if filled {
                self.fillings.extend(fillings_of(&text));
            }
            return self
                .tokens
                .push(Token::Text(if filled { HOLE.to_string() } else { text }));
        }
        let text = self.filled(quote, prefix, quote, quote);
        let runs = quote == '`' && self.family != Family::Script;
        self.tokens.push(if runs {
            Token::Command(text)
        } else {
            Token::Text(text)
        });
    }

    /// The text up to its end, with a hole for each place that is filled in.
    fn filled(&mut self, quote: char, prefix: &str, open: char, close: char) -> String {
        let mut text = String::new();
        let mut depth = 0_usize;
        let mut open_text = None;
        while let Some(one) = self.take() {
            if one == '\\' && !prefix.contains(['r', 'R']) {
                self.escaped(&mut text);
            } else if one == close && depth == 0 {
                break;
            } else if self.family.fills(quote, prefix, one, self.peek()) {
                text.push(HOLE);
                let begin = self.at;
                self.skip_filling(one);
                let filling = self.code.get(begin..self.at).unwrap_or_default();
                let filling = filling.strip_suffix('}').unwrap_or(filling);
                let filling = filling.strip_prefix('{').unwrap_or(filling);
                if filling.matches(['\'', '"']).count() % 2 == 1 {
                    open_text.get_or_insert(begin);
                }
                self.fillings.push(filling.to_owned());
            } else {
                if open != close && one == open {
                    depth = depth.saturating_add(1);
                } else if one == close {
                    depth = depth.saturating_sub(1);
                }
                text.push(one);
            }
        }
        // A brace in quotes does not end what the text is filled with.
        let rest = open_text.and_then(|begin| self.code.get(begin..self.at));
        self.fillings.extend(rest.map(str::to_owned));
        text
    }

    /// Passes `{…}` or the name that a text is filled with.
    fn skip_filling(&mut self, sign: char) {
        if sign != '{' {
            while self
                .peek()
                .is_some_and(|one| one.is_alphanumeric() || matches!(one, '_' | '$'))
            {
                self.take();
            }
            if self.peek() != Some('{') {
                return;
            }
            self.take();
        }
        let mut depth = 1_usize;
        while depth > 0 {
            match self.take() {
                Some('{') => depth = depth.saturating_add(1),
                Some('}') => depth = depth.saturating_sub(1),
                Some(_) => {}
                None => return,
            }
        }
    }

    fn escaped(&mut self, text: &mut String) {
        let rest = self.rest();
        let (one, length) = unescape(rest);
        text.extend(one);
        self.at = self.at.saturating_add(length);
    }
}
