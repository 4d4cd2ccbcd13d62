//! What an expression in the code of another language stands for, as far as it is made of texts.

mod loops;

use std::cell::Cell;
use std::collections::BTreeMap;

use crate::value::HOLE;

pub(super) use loops::spread;

use super::tokens::{Family, Token, cut_filled};

/// Expressions deeper than this are not read.
const MAX_DEPTH: usize = 16;

/// What an expression stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Given {
    Text(String),
    Words(Vec<String>),
    /// One text after the other, by a loop.
    Each(Vec<String>),
    /// One list of words after the other.
    Lists(Vec<Vec<String>>),
}

impl Given {
    fn hole() -> Self {
        Self::Text(HOLE.to_string())
    }

    pub(super) fn text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Words(words) => words.join(" "),
            Self::Each(_) | Self::Lists(_) => HOLE.to_string(),
        }
    }

    pub(super) fn words(&self) -> Vec<String> {
        match self {
            Self::Text(text) => vec![text.clone()],
            Self::Words(words) => words.clone(),
            Self::Each(_) | Self::Lists(_) => vec![HOLE.to_string()],
        }
    }
}

/// A parameter of a function.
pub(super) struct Parameter {
    /// Where the parameters of the function begin.
    begin: usize,
    pub(super) function: String,
    pub(super) place: usize,
}

/// Code cut into pieces, with what its names hold.
pub(super) struct Code {
    pub(super) family: Family,
    pub(super) tokens: Vec<Token>,
    /// For each bracket the place of the one that closes it.
    closed: Vec<usize>,
    /// How many expressions the one that is read stands in.
    depth: Cell<usize>,
    bound: BTreeMap<String, Given>,
    /// Where the values of names are written that are bound once.
    places: BTreeMap<String, Option<usize>>,
    /// How many loops there were.
    loops: usize,
    /// The functions that a name is a parameter of, in their order.
    parameters: BTreeMap<String, Vec<Parameter>>,
}

impl Code {
    pub(super) fn new(family: Family, tokens: Vec<Token>, given: &[(String, String)]) -> Self {
        let bound = given
            .iter()
            .map(|(name, value)| (name.clone(), Given::Text(value.clone())));
        let mut code = Self {
            family,
            closed: closed(&tokens),
            depth: Cell::new(0),
            tokens,
            bound: bound.collect(),
            places: BTreeMap::new(),
            loops: 0,
            parameters: BTreeMap::new(),
        };
        code.find_places();
        code.bind();
        code
    }

    pub(super) fn token(&self, at: usize) -> Option<&Token> {
        self.tokens.get(at)
    }

    pub(super) fn sign(&self, at: usize, sign: char) -> bool {
        self.token(at) == Some(&Token::Sign(sign))
    }

    pub(super) fn word(&self, at: usize) -> Option<&str> {
        match self.token(at)? {
            Token::Word(word) => Some(word),
            _ => None,
        }
    }

    /// The parameter that a name stands for here: of the function that began last.
    pub(super) fn parameter(&self, name: &str, at: usize) -> Option<&Parameter> {
        let all = self.parameters.get(name)?;
        all.iter()
            .filter(|one| one.begin <= at)
            .max_by_key(|one| one.begin)
    }

    /// Whether a name is given a value anywhere.
    pub(super) fn is_bound(&self, name: &str) -> bool {
        self.bound.contains_key(name)
    }

    /// Learns what names hold, and which functions have which parameters.
    fn bind(&mut self) {
        for at in 0..self.tokens.len() {
            let Some(name) = self.word(at).map(str::to_owned) else {
                continue;
            };
            let after = at.saturating_add(1);
            if matches!(name.as_str(), "def" | "function" | "sub") {
                if let Some(function) = self.word(after).map(str::to_owned) {
                    self.parameters_of(&function, at.saturating_add(2));
                }
            } else if matches!(name.as_str(), "for" | "foreach") {
                self.bind_loop(after);
            } else if let Some(begin) = self.function_of(&name, at) {
                self.parameters_of(&name, begin);
            } else if self.sign(after, '=')
                && !['=', '~', '>']
                    .iter()
                    .any(|sign| self.sign(at.saturating_add(2), *sign))
                && (at == 0 || !self.sign(at.saturating_sub(1), '.'))
            {
                let (value, _) = self.value(at.saturating_add(2));
                self.bind_name(name, value);
            }
        }
    }

    fn bind_name(&mut self, name: String, value: Given) {
        let value = match self.bound.get(&name) {
            Some(before) if *before != value => loops::joined(before, &value),
            _ => value,
        };
        self.bound.insert(name, value);
    }

    /// Where the parameters begin when this word names a function: `run = (c) =>`, `exports.run = c =>`, `run: (c) =>`,
    /// `export default (c) =>`, `run(c) {`.
    fn function_of(&self, name: &str, at: usize) -> Option<usize> {
        let after = at.saturating_add(1);
        let value = at.saturating_add(2);
        let script = self.family == Family::Script;
        let assigned = self.sign(after, '=') || (script && self.sign(after, ':'));
        if assigned && self.is_function(value) {
            return Some(value);
        }
        if script && name == "default" && self.is_function(after) {
            return Some(after);
        }
        let control = matches!(name, "if" | "while" | "switch" | "catch" | "with");
        let method =
            script && !control && self.sign(after, '(') && self.sign(self.closing(after), '{');
        method.then_some(after)
    }

    /// `lambda c:`, `c =>`, `(c) =>`, `async (c) =>`, `function (c)`.
    fn is_function(&self, at: usize) -> bool {
        if matches!(self.word(at), Some("lambda" | "function" | "async")) {
            return true;
        }
        let arrow = |at: usize| self.sign(at, '=') && self.sign(at.saturating_add(1), '>');
        if self.word(at).is_some() && arrow(at.saturating_add(1)) {
            return true;
        }
        self.sign(at, '(') && arrow(self.closing(at))
    }

    fn parameters_of(&mut self, function: &str, begin: usize) {
        let mut place = 0_usize;
        let mut of_object = false;
        for at in begin..begin.saturating_add(40) {
            match self.token(at) {
                Some(Token::Word(word))
                    if matches!(word.as_str(), "lambda" | "async" | "function") => {}
                Some(Token::Word(word)) if matches!(word.as_str(), "self" | "cls") => {
                    // Nobody hands over the object itself.
                    of_object = true;
                }
                Some(Token::Word(word)) => {
                    let parameter = Parameter {
                        begin,
                        function: function.to_owned(),
                        place: place.saturating_sub(usize::from(of_object)),
                    };
                    let all = self.parameters.entry(word.clone()).or_default();
                    all.push(parameter);
                }
                Some(Token::Sign(',')) => place = place.saturating_add(1),
                Some(Token::Sign('(' | '*')) => {}
                _ => return,
            }
        }
    }

    /// The place behind the bracket that closes this one.
    pub(super) fn closing(&self, open: usize) -> usize {
        let closed = self.closed.get(open).copied().unwrap_or(open);
        closed.saturating_add(1)
    }

    /// What an expression stands for, and where it ends.
    pub(super) fn value(&self, begin: usize) -> (Given, usize) {
        let depth = self.depth.get();
        if depth >= MAX_DEPTH {
            return (Given::hole(), self.closing(begin));
        }
        self.depth.set(depth.saturating_add(1));
        let value = self.read(begin);
        self.depth.set(depth);
        value
    }

    fn read(&self, begin: usize) -> (Given, usize) {
        let mut value: Option<Given> = None;
        let mut at = begin;
        while let Some(token) = self.token(at) {
            let (part, next) = match token {
                Token::Text(text) => (Given::Text(text.clone()), at.saturating_add(1)),
                Token::Words(words) => (Given::Words(words.clone()), at.saturating_add(1)),
                Token::Command(_) | Token::Pattern => (Given::hole(), at.saturating_add(1)),
                Token::Word(word) if ends(word) => break,
                Token::Word(word) if prefix(word) => {
                    at = at.saturating_add(1);
                    continue;
                }
                Token::Word(word) => self.name(word, at),
                Token::Sign('[' | '(') if value.is_none() => self.list(at),
                Token::Sign('[' | '(') => {
                    value = Some(Given::hole());
                    at = self.closing(at);
                    continue;
                }
                Token::Sign('\n') if value.is_none() => {
                    at = at.saturating_add(1);
                    continue;
                }
                Token::Sign('.') if self.has_methods() && value.is_some() => {
                    let (changed, next) = self.method(value.unwrap_or_else(Given::hole), at);
                    value = Some(changed);
                    at = next;
                    continue;
                }
                Token::Sign('+' | '.' | '*' | '\\') => {
                    at = at.saturating_add(1);
                    continue;
                }
                Token::Sign('{') if value.is_none() => (Given::hole(), self.closing(at)),
                Token::Sign(
                    ',' | ')' | ';' | '}' | ']' | '\n' | '|' | '&' | '{' | '<' | '>' | '=' | ':'
                    | '?',
                ) => break,
                Token::Sign(_) => (Given::hole(), at.saturating_add(1)),
            };
            value = Some(match value {
                None => part,
                Some(before) => Given::Text(before.text() + &part.text()),
            });
            at = next;
        }
        (value.unwrap_or_else(Given::hole), at)
    }

    fn has_methods(&self) -> bool {
        matches!(self.family, Family::Python | Family::Script | Family::Ruby)
    }

    /// What a name holds, with whatever is called or asked of it.
    fn name(&self, word: &str, at: usize) -> (Given, usize) {
        let next = at.saturating_add(1);
        if word == "shlex" && self.word(at.saturating_add(2)) == Some("split") {
            let (value, _) = self.value(at.saturating_add(4));
            return (split(&value), self.closing(at.saturating_add(3)));
        }
        if let Some(program) = self.interpreter(word, at) {
            return (Given::Text(program.to_owned()), at.saturating_add(3));
        }
        if word == "shutil" && self.word(at.saturating_add(2)) == Some("which") {
            let (value, _) = self.value(at.saturating_add(4));
            return (value, self.closing(at.saturating_add(3)));
        }
        if word == "compile" && self.sign(next, '(') {
            return (self.value(at.saturating_add(2)).0, self.closing(next));
        }
        if let Some(entry) = self.entry(at) {
            return entry;
        }
        if let Some(value) = self.bound.get(word) {
            return (value.clone(), next);
        }
        let mut end = next;
        loop {
            if self.sign(end, '(') || self.sign(end, '[') {
                end = self.closing(end);
            } else if self.sign(end, '.')
                && self.has_methods()
                && self.word(end.saturating_add(1)).is_some()
            {
                end = end.saturating_add(2);
            } else {
                return (Given::hole(), end);
            }
        }
    }

    /// The program that reads the code: `sys.executable`, `process.execPath`.
    fn interpreter(&self, word: &str, at: usize) -> Option<&'static str> {
        match (word, self.word(at.saturating_add(2))) {
            ("sys", Some("executable")) => Some("python3"),
            ("process", Some("execPath")) => Some("node"),
            _ => None,
        }
    }

    /// `.split()` and `.join(" ")` are followed, what only tidies up is passed over.
    fn method(&self, value: Given, at: usize) -> (Given, usize) {
        let name = self.word(at.saturating_add(1)).unwrap_or_default();
        let open = at.saturating_add(2);
        let called = self.sign(open, '(');
        let end = if called { self.closing(open) } else { open };
        let argument = called.then(|| self.value(open.saturating_add(1)).0);
        let changed = match name {
            "split" | "shellsplit" => split(&value),
            "join" => match (&value, &argument) {
                (Given::Words(words), Some(Given::Text(by))) => Given::Text(words.join(by)),
                (Given::Text(by), Some(Given::Words(words))) => Given::Text(words.join(by)),
                _ => Given::hole(),
            },
            "strip" | "trim" | "rstrip" | "lstrip" | "encode" | "decode" | "toString" | "chomp"
            | "freeze" | "to_s" => value,
            _ => Given::hole(),
        };
        (changed, end)
    }

    /// A list or something in brackets.
    fn list(&self, open: usize) -> (Given, usize) {
        let end = self.closing(open);
        let mut all = Vec::new();
        let mut at = open.saturating_add(1);
        while at < end.saturating_sub(1) {
            let (value, next) = self.value(at);
            all.push(value);
            // A sign that no value takes is passed, so that the list ends.
            at = next.max(at).saturating_add(1);
        }
        let square = self.sign(open, '[');
        match all.as_slice() {
            [only] if !square => (only.clone(), end),
            all => {
                let words = || Given::Words(all.iter().flat_map(Given::words).collect());
                (spread(all).unwrap_or_else(words), end)
            }
        }
    }

    /// What a call is given, and whether it is called at all.
    pub(super) fn arguments(&self, at: usize) -> Vec<Given> {
        let bracketed = self.sign(at, '(');
        let last = if bracketed {
            self.closing(at).saturating_sub(1)
        } else {
            self.tokens.len()
        };
        let mut all: Vec<Given> = Vec::new();
        let mut at = if bracketed { at.saturating_add(1) } else { at };
        while at < last {
            // `args=[…]` is what it is by name; other names are settings.
            let named = self.word(at).filter(|_| {
                self.sign(at.saturating_add(1), '=') && !self.sign(at.saturating_add(2), '=')
            });
            let setting = named.is_some_and(|name| !matches!(name, "args" | "cmd" | "command"));
            let begin = if named.is_some() {
                at.saturating_add(2)
            } else {
                at
            };
            let (value, end) = self.value(begin);
            if end == begin {
                break;
            }
            if !setting {
                all.push(value);
            }
            at = end;
            if !self.sign(at, ',') {
                break;
            }
            at = at.saturating_add(1);
            while self.sign(at, '\n') {
                at = at.saturating_add(1);
            }
        }
        all
    }
}
/// Words of the language that end an expression.
fn ends(word: &str) -> bool {
    matches!(
        word,
        "if" | "unless"
            | "or"
            | "and"
            | "do"
            | "for"
            | "foreach"
            | "while"
            | "then"
            | "else"
            | "end"
            | "getline"
    )
}

/// Words of the language that stand before an expression.
fn prefix(word: &str) -> bool {
    matches!(
        word,
        "new" | "await" | "yield" | "my" | "local" | "return" | "const" | "let" | "var"
    )
}

fn split(value: &Given) -> Given {
    match value {
        Given::Text(text) => Given::Words(text.split_whitespace().map(str::to_owned).collect()),
        other => other.clone(),
    }
}

/// For each bracket the place of the one that closes it; the end for one that nothing closes.
pub(super) fn closed(tokens: &[Token]) -> Vec<usize> {
    let mut places: Vec<usize> = (0..tokens.len()).collect();
    let mut open: Vec<usize> = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        match token {
            Token::Sign('(' | '[' | '{') => open.push(at),
            Token::Sign(')' | ']' | '}') => {
                if let Some(place) = open.pop().and_then(|begin| places.get_mut(begin)) {
                    *place = at;
                }
            }
            _ => {}
        }
    }
    for begin in open {
        if let Some(place) = places.get_mut(begin) {
            *place = tokens.len();
        }
    }
    places
}

/// More filled places than this are not looked into.
const MAX_FILLINGS: usize = 200;

/// The code in pieces, and after it what its texts are filled with: `f"{os.system('ls')}"`.
pub(super) fn pieces(family: Family, code: &str, depth: usize) -> Option<Vec<Token>> {
    let (mut tokens, fillings) = cut_filled(family, code)?;
    let calls = fillings.iter().filter(|filling| filling.contains('('));
    for filling in calls.take(MAX_FILLINGS).filter(|_| depth < 2) {
        tokens.push(Token::Sign('\n'));
        tokens.extend(pieces(family, filling, depth.saturating_add(1))?);
    }
    Some(tokens)
}
