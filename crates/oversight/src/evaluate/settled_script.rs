//! JavaScript whose starts are all written out.

use std::collections::BTreeSet;

use crate::value::HOLE;

use super::calls::Start;
use super::settled::{Walk, closes_texts};
use super::tokens::{Family, Token};

const PROCESSES: &[&str] = &["child_process", "node:child_process"];

/// Modules that start no program by any of the names below.
const MODULES: &[&str] = &[
    "assert",
    "crypto",
    "fs",
    "node:assert",
    "node:crypto",
    "node:fs",
    "node:os",
    "node:path",
    "node:url",
    "node:util",
    "os",
    "path",
    "url",
    "util",
];

/// Names that are there without being declared and reach what is not named, or run text.
const REACHING: &[&str] = &[
    "eval",
    "Function",
    "globalThis",
    "global",
    "self",
    "window",
    "this",
    "super",
    "Reflect",
    "Proxy",
    "module",
    "exports",
    "Deno",
    "Bun",
    "arguments",
    "with",
    "WebAssembly",
    "Worker",
    "vm",
    "worker_threads",
    "cluster",
    "repl",
    "inspector",
    "test",
    "v8",
    "class",
    "debugger",
    "child_process",
    "import",
    "export",
    "setTimeout",
    "setInterval",
    "AsyncFunction",
];

const STARTS: &[&str] = &[
    "exec",
    "execSync",
    "spawn",
    "spawnSync",
    "execFile",
    "execFileSync",
];

/// What may be asked of anything without a program being started.
const SAFE: &[&str] = &[
    "log",
    "error",
    "warn",
    "info",
    "table",
    "stdout",
    "stderr",
    "write",
    "exit",
    "exitCode",
    "cwd",
    "version",
    "versions",
    "node",
    "platform",
    "arch",
    "hrtime",
    "uptime",
    "parse",
    "stringify",
    "keys",
    "values",
    "entries",
    "fromEntries",
    "isArray",
    "from",
    "of",
    "length",
    "map",
    "filter",
    "forEach",
    "reduce",
    "find",
    "findIndex",
    "some",
    "every",
    "includes",
    "indexOf",
    "lastIndexOf",
    "slice",
    "splice",
    "concat",
    "join",
    "push",
    "pop",
    "shift",
    "unshift",
    "sort",
    "reverse",
    "flat",
    "flatMap",
    "fill",
    "split",
    "trim",
    "trimEnd",
    "trimStart",
    "toString",
    "toLowerCase",
    "toUpperCase",
    "startsWith",
    "endsWith",
    "replace",
    "replaceAll",
    "padStart",
    "padEnd",
    "repeat",
    "charAt",
    "charCodeAt",
    "substring",
    "at",
    "localeCompare",
    "toFixed",
    "has",
    "add",
    "size",
    "readFileSync",
    "existsSync",
    "readdirSync",
    "statSync",
    "mkdirSync",
    "isDirectory",
    "isFile",
    "name",
    "basename",
    "dirname",
    "resolve",
    "extname",
    "relative",
    "now",
    "getTime",
    "toISOString",
    "max",
    "min",
    "floor",
    "ceil",
    "round",
    "random",
    "abs",
    "inspect",
    "status",
    "message",
    "scripts",
    "dependencies",
    "devDependencies",
    "private",
];

/// Names that change files, or bring in words from outside; what is started may then be among them.
const OUTSIDE: &[&str] = &[
    "writeFileSync",
    "appendFileSync",
    "writeFile",
    "appendFile",
    "copyFileSync",
    "renameSync",
    "symlinkSync",
    "linkSync",
    "chmodSync",
    "cpSync",
    "createWriteStream",
    "argv",
    "env",
    "stdin",
    "chdir",
];

/// Settings of a start that do not change what is started.
const SETTINGS: &[&str] = &[
    "stdio",
    "encoding",
    "cwd",
    "timeout",
    "maxBuffer",
    "windowsHide",
];

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
    for filling in std::mem::take(&mut script.walk.fillings) {
        script.vet_filling(&filling)?;
    }
    if script.starts.is_empty() {
        return Some(Vec::new());
    }
    if script.outside {
        return None;
    }
    script.starts.iter().map(|at| script.started(*at)).collect()
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
        })
    }

    /// `const cp = require("child_process")`, `const { execSync } = require(…)`, `require(…).execSync(…)`.
    fn require(&mut self) -> Option<()> {
        for at in 0..self.walk.tokens.len() {
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
            if MODULES.contains(&module.as_str()) {
                continue;
            }
            if !PROCESSES.contains(&module.as_str()) {
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
            STARTS.contains(&name).then_some(())?;
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
                            .is_some_and(|text| PROCESSES.contains(&text.as_str()))
                });
            if named || required {
                self.starts.push(at);
                return (called && STARTS.contains(&word)).then_some(());
            }
            if OUTSIDE.contains(&word) {
                self.outside = true;
                return Some(());
            }
            return SAFE.contains(&word).then_some(());
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
            REACHING.contains(&word) || word.starts_with(['_', '$']) || word == "require";
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
        (inner.starts.is_empty() && inner.walk.fillings.is_empty()).then_some(())
    }

    fn started(&self, at: usize) -> Option<Start> {
        let verb = self.walk.word(at)?;
        let parts = self.walk.parts(at.saturating_add(1))?;
        let (first, rest) = parts.split_first()?;
        let program = self.walk.text(&self.walk.places(*first))?;
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
                .is_some_and(|name| SETTINGS.contains(&name));
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
