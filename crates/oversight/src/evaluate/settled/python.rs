//! Python whose starts are all written out.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;

use super::names::{
    PYTHON_CONSTANTS, PYTHON_MODULES, PYTHON_OUTSIDE, PYTHON_REACHING, PYTHON_SAFE, PYTHON_STARTS,
    PYTHON_TRUSTED, PYTHON_WRITES, has,
};
use super::rounds::Round;
use super::{Walk, closes_texts};
use crate::evaluate::calls::Start;
use crate::evaluate::tokens::{Family, Token};

pub(super) struct Parameter {
    pub(super) name: String,
    pub(super) function: String,
    pub(super) place: usize,
    pub(super) stars: usize,
}

pub(super) struct Python {
    pub(super) walk: Walk,
    /// Places that belong to an import.
    imports: BTreeSet<usize>,
    /// Names of the module `subprocess`.
    processes: BTreeSet<String>,
    /// Starts that were imported by their own names.
    taken: BTreeSet<String>,
    pub(super) parameters: Vec<Parameter>,
    /// Where something is started.
    pub(super) starts: Vec<usize>,
    writes: bool,
    outside: bool,
    /// How many names have been looked up.
    pub(super) asked: Cell<usize>,
    /// What names hold in the round of a loop that is looked at.
    pub(super) round: RefCell<Round>,
}

/// More starts than this are not followed.
const MAX_STARTS: usize = 64;

/// Everything that the code starts; none when it is not all written out.
pub(super) fn starts(code: &str) -> Option<Vec<Start>> {
    let has = |signs: &[&str]| signs.iter().any(|sign| code.contains(sign));
    // An escaped quote ends neither a raw text nor one in three quotes, and its end is looked for too simply.
    let raw = has(&["r\"", "r'", "R\"", "R'", "\"\"\"", "'''"]);
    let mut lines = code.lines().take(2);
    if (raw && has(&["\\\"", "\\'"])) || lines.any(|line| line.contains("coding")) {
        return None;
    }
    let mut python = Python::new(code)?;
    python.import()?;
    python.vet()?;
    for filling in python.walk.fillings.clone() {
        python.vet_filling(&filling)?;
    }
    if python.starts.is_empty() {
        return Some(Vec::new());
    }
    if python.writes || python.outside || python.starts.len() > MAX_STARTS {
        return None;
    }
    python.define()?;
    let mut found = Vec::new();
    for at in &python.starts {
        python.started(*at, &mut found)?;
    }
    Some(found)
}

impl Python {
    fn new(code: &str) -> Option<Self> {
        Some(Self {
            walk: Walk::new(Family::Python, code)?,
            imports: BTreeSet::new(),
            processes: BTreeSet::new(),
            taken: BTreeSet::new(),
            parameters: Vec::new(),
            starts: Vec::new(),
            writes: false,
            outside: false,
            asked: Cell::new(0),
            round: RefCell::new(Vec::new()),
        })
    }

    /// Reads the imports: modules that are known, names that are known.
    fn import(&mut self) -> Option<()> {
        for at in 0..self.walk.tokens.len() {
            let word = self.walk.word(at);
            if word == Some("import") && !self.imports.contains(&at) {
                self.import_modules(at)?;
            } else if word == Some("from") && self.walk.begins(at) {
                self.import_names(at)?;
            }
        }
        Some(())
    }

    pub(super) fn end_of_statement(&self, at: usize) -> usize {
        let mut at = at;
        while let Some(token) = self.walk.token(at) {
            match token {
                Token::Sign('\n' | ';') => break,
                Token::Sign('(' | '[' | '{') => at = self.walk.closing(at).unwrap_or(at),
                _ => {}
            }
            at = at.saturating_add(1);
        }
        at
    }

    fn import_modules(&mut self, at: usize) -> Option<()> {
        if !self.walk.begins(at) {
            return None;
        }
        let end = self.end_of_statement(at);
        for part in self.walk.split(at.saturating_add(1), end, &[',']) {
            let places = self.walk.places(part);
            let words: Vec<&str> = places.iter().filter_map(|at| self.walk.word(*at)).collect();
            let name = match words.as_slice() {
                ["subprocess"] => Some("subprocess"),
                ["subprocess", "as", alias] => Some(*alias),
                [module] if has(PYTHON_MODULES, module) => None,
                // `import os.path`, `import urllib.request`.
                [module, rest @ ..] if has(PYTHON_MODULES, module) && !rest.contains(&"as") => None,
                [module, "as", _] if has(PYTHON_MODULES, module) && *module != "os" => None,
                _ => return None,
            };
            self.processes.extend(name.map(str::to_owned));
        }
        self.imports.extend(at..end);
        Some(())
    }

    fn import_names(&mut self, at: usize) -> Option<()> {
        let end = self.end_of_statement(at);
        let places = self.walk.places((at, end));
        let words: Vec<&str> = places.iter().filter_map(|at| self.walk.word(*at)).collect();
        let middle = words.iter().position(|word| *word == "import")?;
        let module = words.get(1).filter(|module| has(PYTHON_MODULES, module))?;
        let starred = places.iter().any(|at| self.walk.sign(*at, '*'));
        let relative = self.walk.sign(at.saturating_add(1), '.');
        let names = words.get(middle.saturating_add(1)..)?;
        if starred || relative || names.contains(&"as") {
            return None;
        }
        let mut taken = Vec::new();
        for name in names {
            if *module == "subprocess" && has(PYTHON_STARTS, name) {
                taken.push((*name).to_owned());
            } else if has(PYTHON_OUTSIDE, name) {
                self.outside = true;
            } else if has(PYTHON_WRITES, name) {
                self.writes = true;
            } else if (*module == "os" && *name == "system")
                || !(has(PYTHON_SAFE, name) || has(PYTHON_CONSTANTS, name))
            {
                return None;
            }
        }
        self.taken.extend(taken);
        self.imports.extend(at..end);
        Some(())
    }

    /// Looks at every name and sign; collects what is started.
    fn vet(&mut self) -> Option<()> {
        for at in 0..self.walk.tokens.len() {
            if self.imports.contains(&at) {
                continue;
            }
            match self.walk.token(at)?.clone() {
                Token::Word(word) => self.vet_word(at, &word)?,
                Token::Text(_) => {
                    let before = self.walk.word_before(at, 1);
                    if before.is_some_and(|word| !is_keyword(word)) {
                        return None;
                    }
                }
                Token::Words(_) | Token::Command(_) | Token::Pattern => return None,
                Token::Sign('#' | '`' | '$' | '?') => return None,
                Token::Sign('!') if !self.walk.sign(at.saturating_add(1), '=') => return None,
                // `(a, b) = …`, `[a, b] = …` bind names in a way that is not followed.
                Token::Sign(')' | ']')
                    if self.walk.outer(at).is_none()
                        && self.walk.sign(at.saturating_add(1), '=')
                        && !self.walk.sign(at.saturating_add(2), '=') =>
                {
                    return None;
                }
                Token::Sign(_) => {}
            }
        }
        Some(())
    }

    fn vet_word(&mut self, at: usize, word: &str) -> Option<()> {
        if !word.is_ascii() {
            return None;
        }
        if word.starts_with(|one: char| one.is_ascii_digit()) {
            return Some(());
        }
        if self.walk.dotted(at) {
            return self.vet_asked(at, word);
        }
        let next = at.saturating_add(1);
        let called = self.walk.sign(next, '(');
        if self.processes.contains(word) || word == "os" {
            return self.walk.sign(next, '.').then_some(());
        }
        if self.taken.contains(word) {
            self.starts.push(at);
            return called.then_some(());
        }
        if word.starts_with("__") {
            return matches!(word, "__name__" | "__file__").then_some(());
        }
        if has(PYTHON_REACHING, word) || (has(PYTHON_TRUSTED, word) && self.is_replaced(at)) {
            return None;
        }
        if word == "open" {
            self.writes |= !(called && self.opens_to_read(next));
        }
        self.outside |= word == "input";
        Some(())
    }

    fn vet_asked(&mut self, at: usize, word: &str) -> Option<()> {
        let next = at.saturating_add(1);
        let called = self.walk.sign(next, '(');
        let base = self.walk.word_before(at, 2).unwrap_or_default();
        let base = if self.walk.sign_before(at, 3, '.') {
            ""
        } else {
            base
        };
        if self.processes.contains(base) {
            if has(PYTHON_STARTS, word) && called {
                self.starts.push(at);
                return Some(());
            }
            return has(PYTHON_CONSTANTS, word).then_some(());
        }
        if base == "os" && matches!(word, "system" | "popen" | "execvp" | "execv") {
            self.starts.push(at);
            return called.then_some(());
        }
        if word == "system" {
            return (base == "platform").then_some(());
        }
        if word == "executable" {
            // It may be read, not changed.
            let read = [',', ')', ']']
                .iter()
                .any(|sign| self.walk.sign(next, *sign));
            return (base == "sys" && read && self.walk.outer(at).is_some()).then_some(());
        }
        if has(PYTHON_OUTSIDE, word) {
            self.outside = true;
            return Some(());
        }
        if has(PYTHON_WRITES, word) {
            self.writes = true;
            return Some(());
        }
        let given = if called {
            self.walk.parts(next)?.len()
        } else {
            usize::from(matches!(word, "copy" | "replace"))
        };
        // `shutil.copy(a, b)` and `Path.replace(b)`, unlike those of lists and texts.
        self.writes |= (word == "copy" && given > 0) || (word == "replace" && given < 2);
        let known = has(PYTHON_SAFE, word) || (word == "compile" && base == "re");
        known.then_some(())
    }

    /// `open(x)`, `open(x, "rb")`, `open(x, encoding="utf-8")`.
    fn opens_to_read(&self, open: usize) -> bool {
        let Some(parts) = self.walk.parts(open) else {
            return false;
        };
        parts.iter().enumerate().all(|(index, part)| {
            let places = self.walk.places(*part);
            let (name, value) = self.named(&places);
            if self.walk.sign(part.0, '*') {
                return false;
            }
            match (index, name) {
                (0, None) | (_, Some("encoding" | "errors" | "newline")) => true,
                (1, None) | (_, Some("mode")) => self
                    .walk
                    .text(value)
                    .is_some_and(|mode| mode.chars().all(|one| matches!(one, 'r' | 'b' | 't'))),
                _ => false,
            }
        })
    }

    /// The name of an argument, and its value.
    pub(super) fn named<'p>(&self, places: &'p [usize]) -> (Option<&str>, &'p [usize]) {
        match places {
            [name, equals, value @ ..]
                if self.walk.sign(*equals, '=')
                    && value.first().is_some_and(|at| !self.walk.sign(*at, '=')) =>
            {
                (self.walk.word(*name), value)
            }
            all => (None, all),
        }
    }

    /// `{name:40}`, `{x!r}`: an expression, which starts nothing, and how it is shown.
    fn vet_filling(&mut self, filling: &str) -> Option<()> {
        let mut depth = 0_usize;
        let end = filling.char_indices().find(|(_, one)| {
            match one {
                '(' | '[' => depth = depth.saturating_add(1),
                ')' | ']' => depth = depth.saturating_sub(1),
                _ => {}
            }
            depth == 0 && *one == ':'
        });
        let expression = end.map_or(filling, |(at, _)| filling.get(..at).unwrap_or_default());
        let shown = expression.len() != filling.len();
        let expression = ["!r", "!s", "!a"]
            .iter()
            .find_map(|mark| expression.strip_suffix(mark))
            .unwrap_or(expression);
        // A name that is bound in there would not be seen.
        if !closes_texts(filling)
            || filling.contains(":=")
            || (shown && expression.contains(['\'', '"']))
        {
            return None;
        }
        let mut inner = Self::new(expression)?;
        inner.processes.clone_from(&self.processes);
        inner.taken.clone_from(&self.taken);
        inner.vet()?;
        self.writes |= inner.writes;
        self.outside |= inner.outside;
        (inner.starts.is_empty() && inner.walk.fillings.is_empty()).then_some(())
    }

    /// Learns which functions have which parameters.
    fn define(&mut self) -> Option<()> {
        for at in 0..self.walk.tokens.len() {
            // What stands above a function may hand it on.
            if self.walk.sign(at, '@') && self.walk.begins(at) {
                return None;
            }
            if self.walk.word(at) != Some("def") || self.walk.dotted(at) {
                continue;
            }
            let function = self.walk.word(at.saturating_add(1))?.to_owned();
            for (place, part) in self.walk.parts(at.saturating_add(2))?.iter().enumerate() {
                let places = self.walk.places(*part);
                let stars = places.iter().take_while(|at| self.walk.sign(**at, '*'));
                let stars = stars.count();
                let Some(name) = places.get(stars).and_then(|at| self.walk.word(*at)) else {
                    continue;
                };
                if has(PYTHON_TRUSTED, name) {
                    return None;
                }
                self.parameters.push(Parameter {
                    name: name.to_owned(),
                    function: function.clone(),
                    place,
                    stars,
                });
            }
        }
        Some(())
    }

    /// Whether a well-known name gets another meaning here.
    fn is_replaced(&self, at: usize) -> bool {
        let argument = self.walk.outer(at).is_some_and(|open| {
            self.walk.sign(open, '(') && self.walk.word_before(open, 2) != Some("def")
        });
        let next = at.saturating_add(1);
        let equals = self.walk.sign(next, '=') && !self.walk.sign(at.saturating_add(2), '=');
        let walrus = self.walk.sign(next, ':') && self.walk.sign(at.saturating_add(2), '=');
        let listed = self.walk.outer(at).is_none() && self.walk.sign(next, ',');
        let before = self.walk.word_before(at, 1);
        (equals && !argument)
            || walrus
            || listed
            || self.walk.word(next) == Some("in") && self.walk.sign_before(at, 1, ',')
            || matches!(
                before,
                Some("for" | "as" | "def" | "import" | "global" | "nonlocal" | "del" | "lambda")
            )
    }
}

fn is_keyword(word: &str) -> bool {
    matches!(
        word,
        "in" | "not"
            | "and"
            | "or"
            | "return"
            | "if"
            | "else"
            | "elif"
            | "is"
            | "yield"
            | "assert"
            | "while"
            | "case"
            | "raise"
            | "del"
            | "lambda"
    )
}
