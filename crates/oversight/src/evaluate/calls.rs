//! Calls in the code of other languages that start programs or run code: what are they given?
//!
//! Where a call is given texts, lists of texts or names that hold them, its command is known. Whatever else it is given
//! is a hole in the command, and the ordinary rules say what a hole in that place means.

mod functions;
mod helpers;
mod renamed;

use std::collections::{BTreeMap, BTreeSet};

use crate::value::{HOLE, Value, has_hole};

use super::Evaluator;
use super::expression::{Code, Given, pieces, spread};
use super::language::Language;
use super::tokens::{Family, Token};

/// What a call starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Start {
    /// A text for a shell.
    Shell(String),
    /// A text for a shell that reads what the code prints.
    Fed(String),
    /// A program and its words.
    Words(Vec<String>),
    /// Code of the same language.
    Code(String),
}

/// How a call takes what it starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Takes {
    /// A text for a shell, or a list of words.
    Command,
    /// One text for a shell, or a program and its words, as a list or one by one.
    Several,
    /// A program, its name once more, then its words; a mode may stand first.
    Replaced,
    /// Code.
    Code,
    /// A file handle, a mode, a command.
    Open,
}

/// A function whose parameter is started: its calls are looked at like the call inside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Own {
    name: String,
    parameter: usize,
    takes: Takes,
    /// It stands in a module that the code loads.
    elsewhere: bool,
}

/// More calls than this are not followed.
const MAX_CALLS: usize = 200;

impl Evaluator<'_> {
    /// Follows the calls of code that this command brings along. A script of the project is older than the command and
    /// may compute what it starts; code that is written for the moment has to show it.
    /// False when it cannot be read.
    pub(super) fn calls_in(&mut self, language: &Language, name: &str, code: &str) -> bool {
        let first = language.names.first().copied().unwrap_or_default();
        self.libraries(first, name, code);
        self.hands_on(code);
        let mut named = language.starts.iter();
        if !named.any(|word| code.contains(word.trim_end_matches('('))) {
            return true;
        }
        let Some(calls) = starts(first, code, &self.handed(name)) else {
            return false;
        };
        self.follow_starts(language, name, code, calls);
        true
    }

    fn follow_starts(&mut self, language: &Language, name: &str, code: &str, calls: Vec<Start>) {
        for (index, call) in calls.into_iter().enumerate() {
            if index >= MAX_CALLS {
                self.opaque("code starts more programs than are followed", code);
                return;
            }
            if !self.step() {
                return;
            }
            let call = match fed_shell(&call, code) {
                Some(shell) => Start::Fed(shell.to_owned()),
                None => call,
            };
            self.linked(format!("{name} code"), |this| match call {
                Start::Code(text) if has_hole(&text) => {
                    this.opaque("code is run that the code itself computes", code);
                }
                Start::Code(text) => {
                    this.deeper(|| (), |this| this.code(language, name, &text));
                }
                Start::Words(words) => {
                    this.run(&words);
                }
                Start::Shell(text) => this.text_of_code(&text, None),
                Start::Fed(text) => this.text_of_code(&text, Some(Value::unknown())),
            });
        }
    }

    /// Code may use a gated program as a library: `from twine.__main__ import main`, `require("gh-pages").publish`.
    fn libraries(&mut self, language: &str, name: &str, code: &str) {
        match language {
            "python" => {
                let after = self.code_words.iter().position(|word| word == code);
                let after = after.map_or(0, |at| at.saturating_add(1));
                let given: Vec<String> = self.code_words.iter().skip(after).cloned().collect();
                for program in super::imports::python_packages(code) {
                    if self.catalog.is_program(&program) {
                        let mut words = vec![program];
                        words.extend(given.iter().cloned());
                        self.perhaps(|this| this.linked(name, |this| this.run(&words)));
                    }
                }
            }
            "node" if code.contains(".publish") => {
                let loaded = super::literal::literals(code);
                if let Some(library) = loaded.iter().find(|one| self.catalog.is_program(&one.text))
                {
                    self.opaque(
                        "code publishes through the library of a program",
                        &library.text,
                    );
                }
            }
            _ => {}
        }
    }

    pub(super) fn text_of_code(&mut self, text: &str, input: Option<Value>) {
        let mut state = self.state.child();
        if input.is_some() {
            state.input = input;
        }
        self.apart(state, |this| this.shell_text(text));
    }

    /// `awk -v c='git push'`: names that code gets from its command line.
    fn handed(&self, name: &str) -> Vec<(String, String)> {
        if !name.ends_with("awk") {
            return Vec::new();
        }
        let pairs = self
            .code_words
            .iter()
            .filter_map(|word| word.split_once('='));
        pairs
            .map(|(name, value)| (name.trim_start_matches("-v").to_owned(), value.to_owned()))
            .filter(|(name, _)| name.chars().all(|one| one.is_alphanumeric() || one == '_'))
            .collect()
    }
}

struct Calls {
    code: Code,
    own: Vec<Own>,
    /// Other names of functions that start something.
    renamed: BTreeMap<String, Takes>,
    /// JavaScript: whether the module of processes is named, and the words that may hold it.
    names_processes: bool,
    processes: BTreeSet<String>,
}

/// Everything that the code starts; none when it cannot be read.
pub(super) fn starts(language: &str, code: &str, given: &[(String, String)]) -> Option<Vec<Start>> {
    let mut reader = Calls::new(language, code, given)?;
    let mut found = reader.renamings();
    found.extend(reader.calls());
    found.extend(reader.calls_around());
    if reader.code.family == Family::Awk {
        found.extend(reader.pipes());
    }
    Some(found)
}

impl Calls {
    fn new(language: &str, code: &str, given: &[(String, String)]) -> Option<Self> {
        let family = Family::of(language)?;
        let tokens = pieces(family, code, 0)?;
        let (names_processes, processes) = functions::processes(&tokens);
        Some(Self {
            code: Code::new(family, tokens, given),
            own: Vec::new(),
            renamed: BTreeMap::new(),
            names_processes,
            processes,
        })
    }

    /// Calls of functions that start what they are given. A function around a function around the call is as deep as it
    /// goes.
    fn calls_around(&mut self) -> Vec<Start> {
        let mut found = Vec::new();
        let mut seen = 0;
        for _ in 0..3 {
            if self.own.len() == seen {
                break;
            }
            let from = std::mem::replace(&mut seen, self.own.len());
            found.extend(self.own_calls(from));
        }
        found
    }

    fn calls(&mut self) -> Vec<Start> {
        let mut found = Vec::new();
        for at in 0..self.code.tokens.len() {
            match self.code.token(at) {
                Some(Token::Command(text)) => found.push(Start::Shell(text.clone())),
                Some(Token::Sign('[')) => found.extend(self.member(at)),
                Some(Token::Sign('$')) => found.extend(self.tagged(at)),
                Some(Token::Word(word)) => {
                    let Some(takes) = self.takes(word, at) else {
                        continue;
                    };
                    let begin = at.saturating_add(1);
                    if !self.is_own(begin, takes) {
                        found.extend(self.started(takes, &self.code.arguments(begin)));
                    }
                }
                _ => {}
            }
        }
        found
    }

    fn own_calls(&mut self, from: usize) -> Vec<Start> {
        let mut found = Vec::new();
        for index in from..self.own.len() {
            let Some(own) = self.own.get(index) else {
                break;
            };
            let own = own.clone();
            let imported = self.imported_words(&own);
            for at in 0..self.code.tokens.len() {
                let begin = at.saturating_add(1);
                if self.is_handed_on(&own, at) {
                    found.push(Start::Shell(HOLE.to_string()));
                    continue;
                }
                if !self.calls_own(&own, &imported, at)
                    || own.parameter == 0 && self.is_own(begin, own.takes)
                {
                    continue;
                }
                let given = self.code.arguments(begin);
                let rest = given.get(own.parameter..).unwrap_or_default();
                found.extend(self.started(own.takes, rest));
            }
        }
        found
    }

    /// A call that is given a parameter of the function around it: that function's calls matter then.
    fn is_own(&mut self, begin: usize, takes: Takes) -> bool {
        let at = begin.saturating_add(usize::from(self.code.sign(begin, '(')));
        let ends = matches!(
            self.code.token(at.saturating_add(1)),
            Some(Token::Sign(',' | ')'))
        );
        let Some(name) = self.code.word(at) else {
            return false;
        };
        let Some(parameter) = self.code.parameter(name, at) else {
            return false;
        };
        // The same name may stand for something else here.
        let only = !self.code.is_bound(name);
        let own = Own {
            name: parameter.function.clone(),
            parameter: parameter.place,
            takes,
            elsewhere: false,
        };
        if ends && !self.own.contains(&own) {
            self.own.push(own);
        }
        ends && only
    }

    /// What comes of a call with these arguments.
    fn started(&self, takes: Takes, given: &[Given]) -> Vec<Start> {
        let Some(first) = given.first() else {
            return Vec::new();
        };
        let lists = match takes {
            Takes::Several if given.len() > 1 => spread(given),
            _ => Some(first.clone()),
        };
        if let Some(Given::Lists(lists)) = lists {
            return lists.into_iter().map(Start::Words).collect();
        }
        if let Given::Each(texts) = first {
            let texts = texts.iter();
            return texts
                .map(|text| command(&Given::Text(text.clone())))
                .collect();
        }
        let all = |from: usize| -> Vec<String> {
            given.iter().skip(from).flat_map(Given::words).collect()
        };
        vec![match takes {
            Takes::Command => command(first),
            Takes::Several if given.len() > 1 => Start::Words(all(0)),
            Takes::Several => command(first),
            Takes::Replaced => {
                // A mode stands before the program in `spawnlp`.
                let mode = usize::from(first.text() == HOLE.to_string() && given.len() > 2);
                let mut words = all(mode);
                if words.len() > 1 {
                    words.remove(1);
                }
                Start::Words(words)
            }
            Takes::Code => Start::Code(given.last().unwrap_or(first).text()),
            Takes::Open => return opened(given),
        }]
    }

    /// `"cmd" | getline` and `print | "cmd"`.
    fn pipes(&self) -> Vec<Start> {
        let mut found = Vec::new();
        for at in 1..self.code.tokens.len() {
            let alone = self.code.sign(at, '|')
                && !self.code.sign(at.saturating_sub(1), '|')
                && !self.code.sign(at.saturating_add(1), '|');
            if !alone {
                continue;
            }
            let after = at
                .saturating_add(1)
                .saturating_add(usize::from(self.code.sign(at.saturating_add(1), '&')));
            if self.code.word(after) == Some("getline") {
                let begin = (0..at)
                    .rev()
                    .find(|at| {
                        matches!(
                            self.code.token(*at),
                            Some(Token::Sign('{' | '}' | ';' | '(' | '\n' | '&'))
                        )
                    })
                    .map_or(0, |at| at.saturating_add(1));
                found.push(Start::Shell(self.code.value(begin).0.text()));
            } else {
                found.push(Start::Fed(self.code.value(after).0.text()));
            }
        }
        found
    }
}

/// A shell alone that the code writes to.
fn fed_shell<'s>(start: &'s Start, code: &str) -> Option<&'s str> {
    let shell = match start {
        Start::Shell(text) => text.trim(),
        Start::Words(words) if words.len() == 1 => words.first()?,
        _ => return None,
    };
    let feeds = ["stdin", "communicate", "input="];
    let is_shell = super::shells::is_shell(&super::run::program_name(shell));
    (is_shell && feeds.iter().any(|word| code.contains(word))).then_some(shell)
}

fn command(given: &Given) -> Start {
    match given {
        Given::Text(text) => Start::Shell(text.clone()),
        Given::Words(words) => Start::Words(words.clone()),
        Given::Each(_) | Given::Lists(_) => Start::Shell(HOLE.to_string()),
    }
}

/// `open(F, "-|", "git", "push")`, `open F, "|git push"`: other opens start nothing.
fn opened(given: &[Given]) -> Vec<Start> {
    let piped = given
        .iter()
        .position(|one| matches!(one, Given::Text(text) if matches!(text.as_str(), "-|" | "|-")));
    if let Some(mode) = piped {
        let rest = given.get(mode.saturating_add(1)..).unwrap_or_default();
        return match rest {
            [] => Vec::new(),
            [only] => vec![command(only)],
            several => vec![Start::Words(
                several.iter().flat_map(Given::words).collect(),
            )],
        };
    }
    let texts = given.iter().filter_map(|one| match one {
        Given::Text(text) => Some(text.trim()),
        _ => None,
    });
    texts
        .filter_map(|text| text.strip_prefix('|').or_else(|| text.strip_suffix('|')))
        .map(|text| Start::Shell(text.to_owned()))
        .collect()
}
