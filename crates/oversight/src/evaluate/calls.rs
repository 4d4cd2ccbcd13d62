//! Calls in the code of other languages that start programs or run code: what are they given?
//!
//! Where a call is given texts, lists of texts or names that hold them, its command is known. Whatever else it is given
//! is a hole in the command, and the ordinary rules say what a hole in that place means.

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
struct Own {
    name: String,
    parameter: usize,
    takes: Takes,
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
        for (index, call) in calls.into_iter().enumerate() {
            if index >= MAX_CALLS {
                self.opaque("code starts more programs than are followed", code);
                return true;
            }
            if !self.step() {
                return true;
            }
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
        true
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
}

/// Everything that the code starts; none when it cannot be read.
pub(super) fn starts(language: &str, code: &str, given: &[(String, String)]) -> Option<Vec<Start>> {
    let family = Family::of(language)?;
    let mut reader = Calls {
        code: Code::new(family, pieces(family, code, 0)?, given),
        own: Vec::new(),
    };
    let mut found = reader.calls();
    let mut seen = 0;
    // A function around a function around the call is as deep as it goes.
    for _ in 0..3 {
        if reader.own.len() == seen {
            break;
        }
        let from = std::mem::replace(&mut seen, reader.own.len());
        found.extend(reader.own_calls(from));
    }
    if family == Family::Awk {
        found.extend(reader.pipes());
    }
    Some(found)
}

impl Calls {
    fn calls(&mut self) -> Vec<Start> {
        let mut found = Vec::new();
        for at in 0..self.code.tokens.len() {
            match self.code.token(at) {
                Some(Token::Command(text)) => found.push(Start::Shell(text.clone())),
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
            let (name, parameter, takes) = (own.name.clone(), own.parameter, own.takes);
            for at in 0..self.code.tokens.len() {
                let defined = at > 0
                    && matches!(
                        self.code.word(at.saturating_sub(1)),
                        Some("def" | "function" | "sub")
                    );
                if self.code.word(at) != Some(&name)
                    || defined
                    || !self.code.sign(at.saturating_add(1), '(')
                {
                    continue;
                }
                let begin = at.saturating_add(1);
                if parameter == 0 && self.is_own(begin, takes) {
                    continue;
                }
                let given = self.code.arguments(begin);
                let rest = given.get(parameter..).unwrap_or_default();
                found.extend(self.started(takes, rest));
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
        let Some((name, place)) = self
            .code
            .word(at)
            .and_then(|word| self.code.parameters.get(word))
        else {
            return false;
        };
        let known = self
            .own
            .iter()
            .any(|own| own.name == *name && own.takes == takes);
        let own = Own {
            name: name.clone(),
            parameter: *place,
            takes,
        };
        if ends && !known {
            self.own.push(own);
        }
        ends
    }

    /// How a call of this name takes what it starts, if it starts anything.
    fn takes(&self, word: &str, at: usize) -> Option<Takes> {
        let dotted = at > 0 && self.code.sign(at.saturating_sub(1), '.');
        let called = self.code.sign(at.saturating_add(1), '(');
        let of = dotted
            .then(|| self.code.word(at.saturating_sub(2)))
            .flatten();
        match self.code.family {
            Family::Python if called => self.python(word, of, dotted),
            Family::Script if called => self.script(word, of, dotted),
            Family::Perl => match word {
                "system" | "exec" => Some(Takes::Several),
                "open" => Some(Takes::Open),
                "eval" if !self.code.sign(at.saturating_add(1), '{') => Some(Takes::Code),
                _ => None,
            },
            Family::Ruby => match word {
                "system" | "exec" | "spawn" | "popen" | "capture2" | "capture2e" | "capture3"
                | "popen2" | "popen2e" | "popen3" => Some(Takes::Several),
                "eval" | "instance_eval" | "class_eval"
                    if !self.code.sign(at.saturating_add(1), '{') =>
                {
                    Some(Takes::Code)
                }
                "open" if !dotted => Some(Takes::Open),
                _ => None,
            },
            Family::Php if called => match word {
                "system" | "exec" | "passthru" | "shell_exec" | "popen" | "proc_open"
                | "pcntl_exec" => Some(Takes::Command),
                "eval" => Some(Takes::Code),
                _ => None,
            },
            Family::Lua => match word {
                "execute" | "popen" => Some(Takes::Command),
                "load" | "loadstring" => Some(Takes::Code),
                _ => None,
            },
            Family::Awk if called && word == "system" => Some(Takes::Command),
            _ => None,
        }
    }

    fn python(&self, word: &str, of: Option<&str>, dotted: bool) -> Option<Takes> {
        match word {
            "exec" | "eval" if !dotted || matches!(of, Some("builtins" | "__builtins__")) => {
                Some(Takes::Code)
            }
            "run" | "call" => {
                let processes =
                    |name: &str| name == "subprocess" || self.bound_to_import("subprocess", name);
                let counts = match of {
                    Some(of) => processes(of),
                    None => !dotted && self.imports_from("subprocess", word),
                };
                counts.then_some(Takes::Command)
            }
            "system"
            | "popen"
            | "Popen"
            | "check_call"
            | "check_output"
            | "getoutput"
            | "getstatusoutput"
            | "create_subprocess_shell" => Some(Takes::Command),
            "create_subprocess_exec" => Some(Takes::Several),
            "spawn" if of == Some("pty") => Some(Takes::Command),
            "posix_spawn" | "posix_spawnp" => Some(Takes::Replaced),
            _ if ["execv", "execl", "spawnv", "spawnl"]
                .iter()
                .any(|begin| word.starts_with(begin)) =>
            {
                Some(Takes::Replaced)
            }
            _ => None,
        }
    }

    fn script(&self, word: &str, of: Option<&str>, dotted: bool) -> Option<Takes> {
        match word {
            "exec" | "execSync" | "$" => {
                // `pattern.exec(text)` starts nothing.
                let pattern = word == "exec"
                    && dotted
                    && !matches!(of, None | Some("cp" | "child_process" | "childProcess"));
                let processes = self.names_processes();
                let held = of.is_some_and(|of| self.holds_processes(of));
                (processes && (held || !pattern)).then_some(Takes::Command)
            }
            "spawn" | "spawnSync" | "execFile" | "execFileSync" => Some(Takes::Several),
            "eval" if !dotted => Some(Takes::Code),
            "Function" | "runInThisContext" | "runInNewContext" | "runInContext" => {
                Some(Takes::Code)
            }
            _ => None,
        }
    }

    fn names_processes(&self) -> bool {
        self.code.tokens.iter().any(|token| match token {
            Token::Text(text) => text.ends_with("child_process"),
            Token::Word(word) => matches!(word.as_str(), "Bun" | "Deno"),
            _ => false,
        })
    }

    /// `const p = require("child_process")`.
    fn holds_processes(&self, name: &str) -> bool {
        (0..self.code.tokens.len()).any(|at| {
            self.code.word(at) == Some(name)
                && (at..at.saturating_add(8)).any(|at| {
                    matches!(self.code.token(at), Some(Token::Text(text)) if text.ends_with("child_process"))
                })
        })
    }

    /// `import subprocess as s`.
    fn bound_to_import(&self, module: &str, name: &str) -> bool {
        (0..self.code.tokens.len()).any(|at| {
            self.code.word(at) == Some(module)
                && self.code.word(at.saturating_add(1)) == Some("as")
                && self.code.word(at.saturating_add(2)) == Some(name)
        })
    }

    /// `from subprocess import run`.
    fn imports_from(&self, module: &str, name: &str) -> bool {
        (0..self.code.tokens.len()).any(|at| {
            self.code.word(at) == Some("from")
                && self.code.word(at.saturating_add(1)) == Some(module)
                && (at..at.saturating_add(24))
                    .take_while(|at| !self.code.sign(*at, '\n') && !self.code.sign(*at, ';'))
                    .any(|at| self.code.word(at) == Some(name) || self.code.sign(at, '*'))
        })
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
