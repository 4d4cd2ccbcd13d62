//! JavaScript whose starts are all written out.

use std::collections::BTreeSet;

use crate::value::HOLE;

use super::names::{
    SCRIPT_ASKED, SCRIPT_MODULES, SCRIPT_OUTSIDE, SCRIPT_PROCESSES, SCRIPT_REACHING, SCRIPT_SAFE,
    SCRIPT_SETTINGS, SCRIPT_STARTS, has,
};
use super::{Walk, closes_texts, constants};
use crate::evaluate::calls::Start;
use crate::evaluate::tokens::{Family, Token};

/// More starts than this are not followed.
const MAX_STARTS: usize = 64;

struct Script {
    walk: Walk,
    /// Places that belong to a `require` that is understood.
    read: BTreeSet<usize>,
    /// Names of the module of processes.
    processes: BTreeSet<String>,
    /// Starts that are known by their own names.
    taken: BTreeSet<String>,
    starts: Vec<usize>,
    outside: bool,
    /// Something is asked for by a name that is not known to start nothing whatever it is asked of.
    asks: bool,
}

/// Everything that the code starts; none when it is not all written out.
pub(super) fn starts(code: &str) -> Option<Vec<Start>> {
    let mut script = Script::new(code)?;
    if ["<!--", "-->", "/*", "*/"]
        .iter()
        .any(|sign| code.contains(sign))
    {
        return None;
    }
    script.require()?;
    script.vet()?;
    for filling in script.walk.fillings.clone() {
        script.vet_filling(&filling)?;
    }
    if script.starts.is_empty() && !script.reaches_processes() {
        return Some(Vec::new());
    }
    if script.outside || script.asks || script.starts.len() > MAX_STARTS {
        return None;
    }
    let mut found = Vec::new();
    for at in &script.starts {
        found.extend(script.started(*at)?);
    }
    Some(found)
}

impl Script {
    fn new(code: &str) -> Option<Self> {
        Some(Self {
            walk: Walk::new(Family::Script, code)?,
            read: BTreeSet::new(),
            processes: BTreeSet::new(),
            taken: BTreeSet::new(),
            starts: Vec::new(),
            outside: false,
            asks: false,
        })
    }

    /// `const cp = require("child_process")`, `const { execSync } = require(…)`, `require(…).execSync(…)`.
    fn require(&mut self) -> Option<()> {
        for at in 0..self.walk.tokens.len() {
            if self.walk.word(at) == Some("import") {
                self.import(at)?;
                continue;
            }
            if self.walk.word(at) != Some("require") {
                continue;
            }
            let open = at.saturating_add(1);
            let end = self.walk.closing(open)?;
            let parts = self.walk.parts(open)?;
            let [only] = parts.as_slice() else {
                return None;
            };
            let module = self.walk.text(&self.walk.places(*only))?;
            if self.walk.dotted(at) || !self.walk.sign(open, '(') {
                return None;
            }
            self.read.extend(at..end);
            if has(SCRIPT_MODULES, &module) {
                continue;
            }
            if !has(SCRIPT_PROCESSES, &module) {
                return None;
            }
            if self.walk.sign(end.saturating_add(1), '.') {
                // The start that is asked of it is looked at where it stands.
                continue;
            }
            self.named_processes(at)?;
        }
        Some(())
    }

    /// `import fs from "node:fs"`, `import { execSync } from "node:child_process"`.
    fn import(&mut self, at: usize) -> Option<()> {
        let mut end = at.saturating_add(1);
        while matches!(
            self.walk.token(end)?,
            Token::Word(_) | Token::Sign('{' | '}' | ',' | '*' | '\n')
        ) {
            end = end.saturating_add(1);
        }
        let module = self.walk.text(&[end])?;
        if !self.walk.begins(at) || self.walk.word_before(end, 1) != Some("from") {
            return None;
        }
        let names: Vec<String> = (at.saturating_add(1)..end.saturating_sub(1))
            .filter_map(|at| self.walk.word(at).map(str::to_owned))
            .collect();
        if has(SCRIPT_PROCESSES, &module) {
            for name in names {
                has(SCRIPT_STARTS, &name).then_some(())?;
                self.taken.insert(name);
            }
        } else if !has(SCRIPT_MODULES, &module) {
            return None;
        }
        self.read.extend(at..=end);
        Some(())
    }

    /// Whether the module of processes is in reach.
    fn reaches_processes(&self) -> bool {
        !self.processes.is_empty() || !self.taken.is_empty()
    }

    fn named_processes(&mut self, at: usize) -> Option<()> {
        let equals = at.checked_sub(1).filter(|at| self.walk.sign(*at, '='))?;
        let before = equals.checked_sub(1)?;
        if let Some(name) = self.walk.word(before) {
            let declared = self.walk.word_before(before, 1);
            declared.filter(|word| matches!(*word, "const" | "let" | "var"))?;
            self.processes.insert(name.to_owned());
            self.read.insert(before);
            return Some(());
        }
        let open = self.walk.outer(before.checked_sub(1)?)?;
        if !self.walk.sign(open, '{') || self.walk.closing(open) != Some(before) {
            return None;
        }
        for part in self.walk.parts(open)? {
            let places = self.walk.places(part);
            let [place] = places.as_slice() else {
                return None;
            };
            let name = self.walk.word(*place)?;
            has(SCRIPT_STARTS, name).then_some(())?;
            self.taken.insert(name.to_owned());
            self.read.insert(*place);
        }
        Some(())
    }

    fn vet(&mut self) -> Option<()> {
        for at in 0..self.walk.tokens.len() {
            if self.read.contains(&at) {
                continue;
            }
            match self.walk.token(at)?.clone() {
                Token::Word(word) => self.vet_word(at, &word)?,
                Token::Text(_) => {}
                Token::Words(_) | Token::Command(_) => return None,
                Token::Pattern => {}
                Token::Sign('/' | '#' | '\\' | '@') => return None,
                Token::Sign('[') => self.vet_bracket(at)?,
                // A text after a value is a call by a template.
                Token::Sign(_) => {}
            }
            let value = match self.walk.token(at) {
                Some(Token::Sign(')' | ']')) => true,
                Some(Token::Word(word)) => !is_keyword(word),
                _ => false,
            };
            if value && matches!(self.walk.token(at.saturating_add(1)), Some(Token::Text(_))) {
                return None;
            }
        }
        Some(())
    }

    /// `list[0]` is known; a name that is computed is not.
    fn vet_bracket(&self, at: usize) -> Option<()> {
        // `const { ["name"]: x } = …`.
        let end = self.walk.closing(at)?;
        if self.walk.sign(end.saturating_add(1), ':') {
            return None;
        }
        let value = match self.walk.token(at.checked_sub(1)?) {
            Some(Token::Sign(')' | ']')) | Some(Token::Text(_)) => true,
            Some(Token::Sign('.')) => true,
            Some(Token::Word(word)) => !is_keyword(word),
            _ => false,
        };
        let inside = self.walk.word(at.saturating_add(1));
        let number = inside.is_some_and(|word| word.chars().all(|one| one.is_ascii_digit()));
        (!value || (number && self.walk.sign(at.saturating_add(2), ']'))).then_some(())
    }

    fn vet_word(&mut self, at: usize, word: &str) -> Option<()> {
        if !word.is_ascii() {
            return None;
        }
        if word.starts_with(|one: char| one.is_ascii_digit()) {
            return Some(());
        }
        let next = at.saturating_add(1);
        let called = self.walk.sign(next, '(');
        if self.walk.dotted(at) {
            let of_name = self
                .walk
                .word_before(at, 2)
                .filter(|_| !self.walk.sign_before(at, 3, '.'));
            let named = of_name.is_some_and(|name| self.processes.contains(name));
            let required = self.walk.sign_before(at, 2, ')')
                && at.checked_sub(3).is_some_and(|text| {
                    self.read.contains(&text)
                        && self
                            .walk
                            .text(&[text])
                            .is_some_and(|text| has(SCRIPT_PROCESSES, &text))
                });
            if named || required {
                self.starts.push(at);
                return (called && has(SCRIPT_STARTS, word)).then_some(());
            }
            if has(SCRIPT_OUTSIDE, word) {
                self.outside = true;
                return Some(());
            }
            if has(SCRIPT_SAFE, word) {
                return Some(());
            }
            self.asks = true;
            let odd = has(SCRIPT_ASKED, word) || word.starts_with(['_', '$']);
            return (!odd && of_name != Some("process")).then_some(());
        }
        if self.processes.contains(word) {
            return self.walk.sign(next, '.').then_some(());
        }
        if self.taken.contains(word) {
            self.starts.push(at);
            return called.then_some(());
        }
        let process = word == "process" && !self.walk.sign(next, '.');
        let reaching =
            has(SCRIPT_REACHING, word) || word.starts_with(['_', '$']) || word == "require";
        let reaching = reaching || has(SCRIPT_ASKED, word);
        (!process && !reaching).then_some(())
    }

    fn vet_filling(&mut self, filling: &str) -> Option<()> {
        if !closes_texts(filling) {
            return None;
        }
        let mut inner = Self::new(filling)?;
        inner.processes.clone_from(&self.processes);
        inner.taken.clone_from(&self.taken);
        inner.vet()?;
        self.outside |= inner.outside;
        self.asks |= inner.asks;
        (inner.starts.is_empty() && inner.walk.fillings.is_empty()).then_some(())
    }

    fn started(&self, at: usize) -> Option<Vec<Start>> {
        let parts = self.walk.parts(at.saturating_add(1))?;
        let programs = constants::values(&self.walk, *parts.first()?)?;
        let each = programs
            .into_iter()
            .map(|program| self.started_once(at, program));
        each.collect()
    }

    fn started_once(&self, at: usize, program: String) -> Option<Start> {
        let verb = self.walk.word(at)?;
        let parts = self.walk.parts(at.saturating_add(1))?;
        let (_, rest) = parts.split_first()?;
        let mut words = vec![program.clone()];
        let mut rest = rest.iter().peekable();
        let list = rest.peek().filter(|part| self.walk.sign(part.0, '['));
        let several = !verb.starts_with("exec") || verb.starts_with("execFile");
        if let Some(part) = list.copied().copied() {
            rest.next();
            if !several || self.walk.closing(part.0)?.saturating_add(1) != part.1 {
                return None;
            }
            for element in self.walk.parts(part.0)? {
                let places = self.walk.places(element);
                if self.walk.sign(*places.first()?, '.') {
                    return None;
                }
                words.push(self.walk.text(&places).unwrap_or_else(|| HOLE.to_string()));
            }
        }
        for part in rest {
            self.settings(*part)?;
        }
        Some(if several {
            Start::Words(words)
        } else {
            Start::Shell(program)
        })
    }

    /// `{ stdio: "inherit" }`: settings that change nothing.
    fn settings(&self, part: (usize, usize)) -> Option<()> {
        let open = *self.walk.places(part).first()?;
        if !self.walk.sign(open, '{') || self.walk.closing(open)?.saturating_add(1) != part.1 {
            return None;
        }
        for setting in self.walk.parts(open)? {
            let places = self.walk.places(setting);
            let known = self
                .walk
                .word(*places.first()?)
                .is_some_and(|name| has(SCRIPT_SETTINGS, name));
            (known && self.walk.sign(*places.get(1)?, ':')).then_some(())?;
        }
        Some(())
    }
}

fn is_keyword(word: &str) -> bool {
    matches!(
        word,
        "return"
            | "in"
            | "of"
            | "const"
            | "let"
            | "var"
            | "typeof"
            | "case"
            | "else"
            | "await"
            | "throw"
            | "new"
            | "delete"
            | "void"
            | "yield"
            | "instanceof"
            | "do"
    )
}
