//! Code of other languages that starts only what is written out: its other texts are then nothing but texts.
//!
//! The search for gated words in code is generous, since code can put a command together in many ways. This is the
//! other side: code is settled when every name that it uses is known to start nothing, and every call that starts a
//! program is given words that stand there. Then these words alone decide. Whatever is not known to be harmless leaves
//! the code unsettled, and the generous search goes on as ever.

mod constants;
mod given;
mod names;
mod python;
mod rounds;
mod script;

use crate::value::{HOLE, has_hole};

use super::Evaluator;
use super::calls::Start;
use super::expression::closed;
use super::language::Language;
use super::tokens::{Family, Token, cut_filled};

/// Longer code is not settled: what an agent writes for the moment is shorter.
const MAX_CODE: usize = 32 * 1024;

impl Evaluator<'_> {
    /// Follows code whose starts are all written out; false when that cannot be told.
    pub(super) fn settled(&mut self, language: &Language, name: &str, code: &str) -> bool {
        let first = language.names.first().copied().unwrap_or_default();
        let followed = matches!(name, "python" | "node" | "nodejs" | "perl" | "ruby");
        if !(followed || first == "awk") || has_hole(code) {
            return false;
        }
        let Some(starts) = starts(first, code) else {
            return false;
        };
        self.linked(format!("{name} code"), |this| {
            for start in starts {
                if !this.step() {
                    return;
                }
                match start {
                    Start::Words(words) => {
                        this.run(&words);
                    }
                    Start::Shell(text) | Start::Fed(text) | Start::Code(text) => {
                        this.text_of_code(&text, None);
                    }
                }
            }
        });
        true
    }
}

fn starts(language: &str, code: &str) -> Option<Vec<Start>> {
    // Signs that end a line or stand for others in one language and not in another.
    let odd = |one: char| {
        matches!(
            one,
            '\r' | '\u{c}' | '\0' | '\u{2028}' | '\u{2029}' | '\u{85}'
        )
    };
    if code.len() > MAX_CODE || code.contains(odd) || code.contains("\\N") {
        return None;
    }
    let found = match language {
        "python" => python::starts(code),
        "node" => script::starts(code),
        "perl" | "ruby" => plain_starts(Family::of(language)?, code),
        "awk" => awk_starts(code),
        _ => None,
    }?;
    // What is not known may be any word, and the generous search knows more of where it comes from.
    let unknown = |start: &Start| match start {
        Start::Shell(text) => has_hole(text),
        Start::Words(words) => words.is_empty() || words.iter().any(|word| has_hole(word)),
        Start::Fed(_) | Start::Code(_) => true,
    };
    (!found.iter().any(unknown)).then_some(found)
}

/// `system("date")`: a text that stands there alone, and nothing that reads or writes a command.
fn awk_starts(code: &str) -> Option<Vec<Start>> {
    let walk = Walk::new(Family::Awk, code)?;
    let mut found = Vec::new();
    for at in 0..walk.tokens.len() {
        let pipe = walk.sign(at, '|') && !walk.sign(at.saturating_add(1), '|');
        if walk.sign(at, '@') || (pipe && !walk.sign_before(at, 1, '|')) {
            return None;
        }
        if walk.word(at) == Some("system") {
            let open = at.saturating_add(1);
            let parts = walk.parts(open).filter(|_| walk.sign(open, '('))?;
            let [only] = parts.as_slice() else {
                return None;
            };
            found.push(Start::Shell(walk.text(&walk.places(*only))?));
        }
    }
    Some(found)
}

/// `system("echo", "git", "push")`, `exec "ls"`, `print "text"`: statements of texts and nothing else.
fn plain_starts(family: Family, code: &str) -> Option<Vec<Start>> {
    let code = without_comments(code)?;
    let walk = Walk::new(family, &code)?;
    if code.contains(['#', '\\', '%', '<', '$', '@', '=']) || !walk.fillings.is_empty() {
        return None;
    }
    let mut found = Vec::new();
    for (begin, end) in walk.split(0, walk.tokens.len(), &[';', '\n']) {
        let Some(verb) = walk.word(begin) else {
            return (begin >= end && walk.token(begin).is_none()).then_some(found);
        };
        if !matches!(verb, "system" | "exec" | "print" | "puts" | "say") {
            return None;
        }
        let mut from = begin.saturating_add(1);
        let mut to = end;
        if walk.sign(from, '(') {
            to = walk.closing(from)?;
            if to.saturating_add(1) != end {
                return None;
            }
            from = from.saturating_add(1);
        }
        let mut words = Vec::new();
        for (at, next) in walk.split(from, to, &[',']) {
            match walk.token(at) {
                Some(Token::Text(text)) if next == at.saturating_add(1) && !has_hole(text) => {
                    words.push(text.clone());
                }
                _ => return None,
            }
        }
        match (verb, words.as_slice()) {
            ("system" | "exec", [only]) => found.push(Start::Shell(only.clone())),
            ("system" | "exec", [_, ..]) => found.push(Start::Words(words)),
            ("system" | "exec", []) => return None,
            _ => {}
        }
    }
    Some(found)
}

/// The code without lines that are comments; none when a text may reach over the end of a line.
fn without_comments(code: &str) -> Option<String> {
    let mut kept = String::with_capacity(code.len());
    for line in code.lines() {
        if line.trim_start().starts_with('#') {
            continue;
        }
        if !closes_texts(line) || !is_plain_line(line) {
            return None;
        }
        kept.push_str(line);
        kept.push('\n');
    }
    Some(kept)
}

/// Whether a line holds but words, texts and brackets that it closes: no quote of another kind is open at its end.
fn is_plain_line(line: &str) -> bool {
    let mut quote = None;
    let mut depth = 0_usize;
    for one in line.chars() {
        match (quote, one) {
            (Some(open), _) if open == one => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(one),
            (None, '(') => depth = depth.saturating_add(1),
            (None, ')') if depth > 0 => depth = depth.saturating_sub(1),
            (None, ' ' | '\t' | ',' | ';') => {}
            (None, other) if other.is_ascii_alphanumeric() || other == '_' => {}
            _ => return false,
        }
    }
    depth == 0
}

/// Code cut into pieces, with its brackets and the expressions that fill its texts.
pub(super) struct Walk {
    pub(super) tokens: Vec<Token>,
    closed: Vec<usize>,
    /// The bracket that each piece stands in.
    outer: Vec<Option<usize>>,
    pub(super) fillings: Vec<String>,
}

impl Walk {
    pub(super) fn new(family: Family, code: &str) -> Option<Self> {
        let (tokens, fillings) = cut_filled(family, code)?;
        let mut outer = Vec::with_capacity(tokens.len());
        let mut open: Vec<usize> = Vec::new();
        for (at, token) in tokens.iter().enumerate() {
            if matches!(token, Token::Sign(')' | ']' | '}')) {
                open.pop()?;
            }
            outer.push(open.last().copied());
            if matches!(token, Token::Sign('(' | '[' | '{')) {
                open.push(at);
            }
        }
        let walk = Self {
            closed: closed(&tokens),
            tokens,
            outer,
            fillings,
        };
        open.is_empty().then_some(walk)
    }

    pub(super) fn token(&self, at: usize) -> Option<&Token> {
        self.tokens.get(at)
    }

    pub(super) fn word(&self, at: usize) -> Option<&str> {
        match self.token(at)? {
            Token::Word(word) => Some(word),
            _ => None,
        }
    }

    pub(super) fn sign(&self, at: usize, sign: char) -> bool {
        self.token(at) == Some(&Token::Sign(sign))
    }

    /// The piece so many places before this one.
    pub(super) fn back(&self, at: usize, by: usize) -> Option<usize> {
        at.checked_sub(by)
    }

    pub(super) fn sign_before(&self, at: usize, by: usize, sign: char) -> bool {
        self.back(at, by).is_some_and(|at| self.sign(at, sign))
    }

    pub(super) fn word_before(&self, at: usize, by: usize) -> Option<&str> {
        self.word(self.back(at, by)?)
    }

    /// Whether a name is asked of something: `x.name`.
    pub(super) fn dotted(&self, at: usize) -> bool {
        self.sign_before(at, 1, '.')
    }

    /// The bracket around a piece.
    pub(super) fn outer(&self, at: usize) -> Option<usize> {
        self.outer.get(at).copied().flatten()
    }

    /// The place of the bracket that closes this one.
    pub(super) fn closing(&self, open: usize) -> Option<usize> {
        self.closed.get(open).copied().filter(|at| *at > open)
    }

    /// Whether a statement may begin here.
    pub(super) fn begins(&self, at: usize) -> bool {
        self.outer(at).is_none()
            && self.back(at, 1).is_none_or(|before| {
                matches!(self.token(before), Some(Token::Sign('\n' | ';' | ':')))
            })
    }

    /// A range cut at these signs, as far as they stand in no bracket of it; empty parts fall away.
    pub(super) fn split(&self, from: usize, to: usize, signs: &[char]) -> Vec<(usize, usize)> {
        let mut all = Vec::new();
        let mut begin = from;
        let mut at = from;
        while at < to {
            match self.token(at) {
                Some(Token::Sign('(' | '[' | '{')) => {
                    at = self.closing(at).unwrap_or(to);
                }
                Some(Token::Sign(sign)) if signs.contains(sign) => {
                    all.push((begin, at));
                    begin = at.saturating_add(1);
                }
                _ => {}
            }
            at = at.saturating_add(1);
        }
        all.push((begin, to));
        all.retain(|(begin, end)| {
            (*begin..*end).any(|at| !self.sign(at, '\n') && !self.sign(at, '\\'))
        });
        all
    }

    /// What stands between a bracket and its end, cut at commas.
    pub(super) fn parts(&self, open: usize) -> Option<Vec<(usize, usize)>> {
        let end = self.closing(open)?;
        Some(self.split(open.saturating_add(1), end, &[',']))
    }

    /// The places of a range that are no line ends.
    pub(super) fn places(&self, (from, to): (usize, usize)) -> Vec<usize> {
        (from..to)
            .filter(|at| !self.sign(*at, '\n') && !self.sign(*at, '\\'))
            .collect()
    }

    /// What fills the places of a text, as far as it can be told apart from what fills other texts.
    pub(super) fn fillings_at(&self, at: usize) -> Option<&[String]> {
        let holes = |token: &Token| match token {
            Token::Text(text) | Token::Command(text) => text.matches(HOLE).count(),
            _ => 0,
        };
        let own = self.token(at).map(holes).filter(|own| *own > 0)?;
        let all: usize = self.tokens.iter().map(holes).sum();
        let before: usize = self.tokens.iter().take(at).map(holes).sum();
        let fillings = self.fillings.get(before..before.saturating_add(own));
        fillings.filter(|_| all == self.fillings.len())
    }

    /// One text, or texts side by side.
    pub(super) fn text(&self, places: &[usize]) -> Option<String> {
        let texts = places.iter().map(|at| match self.token(*at) {
            Some(Token::Text(text)) => Some(text.as_str()),
            _ => None,
        });
        let whole: Option<String> = texts.collect();
        whole.filter(|_| !places.is_empty())
    }
}

/// Whether every text in an expression ends in it; what stands in quotes is otherwise not where it seems to be.
pub(super) fn closes_texts(code: &str) -> bool {
    let mut open: Option<char> = None;
    for one in code.chars() {
        match open {
            Some(quote) if quote == one => open = None,
            None if matches!(one, '\'' | '"') => open = Some(one),
            _ => {}
        }
    }
    let odd = ["\\", "`", "'''", "\"\"\"", "{", "}", "#", "//", "\n"];
    open.is_none() && !odd.iter().any(|sign| code.contains(sign))
}
