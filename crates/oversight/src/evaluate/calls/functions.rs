//! Functions that start programs or run code, by the names that their languages give them.

use std::collections::BTreeSet;

use crate::evaluate::tokens::{Family, Token};

use super::{Calls, Takes};

impl Calls {
    /// How a call of this name takes what it starts, if it starts anything.
    pub(super) fn takes(&self, word: &str, at: usize) -> Option<Takes> {
        let dotted = at > 0 && self.code.sign(at.saturating_sub(1), '.');
        let called = self.code.sign(at.saturating_add(1), '(');
        let of = dotted
            .then(|| self.code.word(at.saturating_sub(2)))
            .flatten();
        let renamed = || self.renamed.get(word).copied();
        match self.code.family {
            Family::Python if called => self.python(word, of, dotted).or_else(renamed),
            Family::Script if called => self.script(word, of, dotted).or_else(renamed),
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

    pub(super) fn python(&self, word: &str, of: Option<&str>, dotted: bool) -> Option<Takes> {
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

    pub(super) fn script(&self, word: &str, of: Option<&str>, dotted: bool) -> Option<Takes> {
        match word {
            "exec" | "execSync" | "$" => {
                // `pattern.exec(text)` starts nothing.
                let pattern = word == "exec"
                    && dotted
                    && !matches!(of, None | Some("cp" | "child_process" | "childProcess"));
                let held = of.is_some_and(|of| self.processes.contains(of));
                (self.names_processes && (held || !pattern)).then_some(Takes::Command)
            }
            "spawn" | "spawnSync" | "execFile" | "execFileSync" => Some(Takes::Several),
            "eval" if !dotted => Some(Takes::Code),
            "Function" | "runInThisContext" | "runInNewContext" | "runInContext" => {
                Some(Takes::Code)
            }
            _ => None,
        }
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
}

/// Whether code names the module of processes, and the words that may hold it: `const p = require("child_process")`.
pub(super) fn processes(tokens: &[Token]) -> (bool, BTreeSet<String>) {
    let mut named = false;
    let mut holders = BTreeSet::new();
    for (at, token) in tokens.iter().enumerate() {
        match token {
            Token::Text(text) if text.ends_with("child_process") => {
                named = true;
                let before = tokens.get(at.saturating_sub(7)..at).unwrap_or_default();
                holders.extend(before.iter().filter_map(|token| match token {
                    Token::Word(word) => Some(word.clone()),
                    _ => None,
                }));
            }
            Token::Word(word) => named |= matches!(word.as_str(), "Bun" | "Deno"),
            _ => {}
        }
    }
    (named, holders)
}
