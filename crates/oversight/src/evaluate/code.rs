//! Other languages: programs that a one-liner, a heredoc or a script file starts by a literal.
//!
//! The code is not understood, only its texts: where it can start programs at all, every literal that reads like a
//! command is followed, and a start whose words are computed is opaque. Code that starts nothing is left alone.

use crate::lookup::absolute;
use crate::value::{HOLE, Value};

use super::files::File;
use super::language::{LANGUAGES, Language};
use super::literal::{bare_commands, computed, literals};
use super::run::is_system;
use super::wrapper::skip_options;
use super::{Evaluator, Outcome};

impl Evaluator<'_> {
    /// Follows the code that an interpreter is given.
    pub(crate) fn interpreted(&mut self, name: &str, arguments: &[String]) -> Option<Outcome> {
        self.shell_escape(name, arguments);
        if name == "sed" {
            return self.stream_editor(arguments);
        }
        if name == "tar" || name == "rsync" || name == "zip" {
            self.command_escape(name, arguments);
            return None;
        }
        let language = super::language::of(name)?;
        if name == "bun"
            && !arguments.first().is_some_and(|word| {
                word.starts_with('-') || word.ends_with(".ts") || word.ends_with(".js")
            })
        {
            return None;
        }
        if name == "python"
            && let Some(outcome) = self.python_module(arguments)
        {
            return Some(outcome);
        }
        self.preloaded(name, arguments);
        Some(self.code_of(language, name, arguments))
    }

    fn code_of(&mut self, language: &Language, name: &str, arguments: &[String]) -> Outcome {
        let mut words = arguments.iter();
        let mut had_code = false;
        let is_awk = language.code.is_empty();
        while let Some(word) = words.next() {
            let glued = language
                .code
                .iter()
                .find_map(|option| word.strip_prefix(option))
                .filter(|rest| !rest.is_empty());
            if language.code.contains(&word.as_str()) || cluster(language, word) {
                had_code = true;
                if let Some(code) = words.next() {
                    self.code(language, name, &code.clone());
                }
            } else if let Some(code) = glued.filter(|_| !word.starts_with("--") && name != "node") {
                had_code = true;
                self.code(language, name, code);
            } else if matches!(word.as_str(), "-f" | "--file" | "-S" | "-s")
                && matches!(name, "awk" | "gawk" | "mawk" | "vim" | "nvim" | "vi" | "ex")
            {
                had_code = true;
                if let Some(path) = words.next() {
                    self.code_file(language, name, &path.clone());
                }
            } else if word.starts_with('-') && word.len() > 1 {
                if word.len() == 2
                    && word
                        .chars()
                        .nth(1)
                        .is_some_and(|letter| language.valued.contains(letter))
                {
                    words.next();
                }
            } else if !had_code {
                if is_awk {
                    self.code(language, name, &word.clone());
                } else if word == "-" {
                    break;
                } else if matches!(
                    name,
                    "vim" | "vi" | "nvim" | "emacs" | "gdb" | "lldb" | "sqlite3"
                ) {
                    if let Some(code) = word.strip_prefix('+') {
                        self.code(language, name, code);
                    }
                    continue;
                } else {
                    self.code_file(language, name, &word.clone());
                }
                had_code = true;
                break;
            }
        }
        if !had_code && let Some(input) = self.state.input.clone() {
            for text in input.possibilities().to_vec() {
                self.code(language, name, &text);
            }
        }
        self.printed(name, arguments)
    }

    /// What a one-liner prints when all it does is print a literal.
    fn printed(&mut self, name: &str, arguments: &[String]) -> Outcome {
        let code = arguments.windows(2).find_map(|pair| match pair {
            [flag, code] if matches!(flag.as_str(), "-c" | "-e" | "-p") => Some(code.trim()),
            _ => None,
        });
        let literal = code.and_then(|code| {
            let inner = match name {
                "python" | "lua" => code.strip_prefix("print(")?.strip_suffix(')')?,
                "node" if arguments.iter().any(|word| word == "-p") => code,
                "perl" | "ruby" | "php" => code
                    .strip_prefix("print")
                    .or_else(|| code.strip_prefix("puts"))
                    .or_else(|| code.strip_prefix("echo"))?,
                _ => return None,
            };
            let found = literals(inner);
            match found.as_slice() {
                [only]
                    if inner.trim().trim_end_matches(';').len()
                        == only.text.len().saturating_add(2) =>
                {
                    Some(only.text.clone())
                }
                _ => None,
            }
        });
        match literal {
            Some(text) => Outcome::prints(Value::text(text + "\n")),
            None => Outcome::unknown(),
        }
    }

    fn code_file(&mut self, language: &Language, name: &str, path: &str) {
        match self.file(path) {
            File::Text(value) => {
                let key = format!("{name} {path}");
                if !self.walking.insert(key.clone()) {
                    return;
                }
                for text in value.possibilities().to_vec() {
                    self.linked(path, |this| this.code(language, name, &text));
                }
                self.walking.remove(&key);
            }
            File::Missing => {
                // `python3 /usr/bin/twine upload`: a program that is itself a script.
                let program = super::run::program_name(path);
                if self.catalog.is_program(&program) {
                    self.opaque("a program is started through its interpreter", path);
                }
            }
            File::Binary => {}
            File::Unreadable(why) => self.opaque(format!("the script cannot be read: {why}"), path),
        }
    }

    /// `python -m x`: a program by the name of its module, or a package in the directory.
    fn python_module(&mut self, arguments: &[String]) -> Option<Outcome> {
        let rest = skip_options(arguments, "WXQ", &[]);
        let module = arguments.iter().position(|word| word == "-m");
        if let Some(at) = module {
            let words: Vec<String> = arguments
                .iter()
                .skip(at.saturating_add(1))
                .cloned()
                .collect();
            let name = words.first()?.clone();
            let path = name.replace('.', "/");
            for file in [format!("{path}.py"), format!("{path}/__main__.py")] {
                if let Some(text) = self.known_file(&file) {
                    let language = LANGUAGES.first()?;
                    self.linked(format!("python -m {name}"), |this| {
                        this.code(language, "python", &text);
                    });
                    return Some(Outcome::unknown());
                }
            }
            return Some(self.linked("python -m", |this| this.run(&words)));
        }
        let script = rest.first()?;
        let program = super::run::program_name(script);
        if script.contains('/')
            && self.catalog.is_program(&program)
            && (is_system(&absolute(&self.state.directory, script))
                || matches!(self.file(script), File::Missing))
        {
            let words = rest.to_vec();
            return Some(self.linked("python", |this| this.run(&words)));
        }
        None
    }

    /// Files that an interpreter reads before the code.
    fn preloaded(&mut self, name: &str, arguments: &[String]) {
        if name == "node" {
            for pair in arguments.windows(2) {
                if let [flag, path] = pair
                    && matches!(flag.as_str(), "-r" | "--require" | "--import" | "--loader")
                    && let Some(text) = self.known_file(path)
                    && let Some(language) = LANGUAGES.get(1)
                {
                    self.code(language, name, &text);
                }
            }
            if let Some(script) = arguments.first().filter(|word| word.contains('/')) {
                let program = super::run::program_name(script);
                if self.catalog.is_program(&program) {
                    let words = arguments.to_vec();
                    self.linked("node", |this| this.run(&words));
                }
            }
        }
        if name == "python" && self.state.get("PYTHONPATH").is_some() {
            for file in ["sitecustomize.py", "usercustomize.py"] {
                if let (Some(text), Some(language)) = (self.known_file(file), LANGUAGES.first()) {
                    self.code(language, name, &text);
                }
            }
        }
    }

    fn code(&mut self, language: &Language, name: &str, code: &str) {
        if code.trim_matches([HOLE, ' ', '\n']).is_empty() && code.contains(HOLE) {
            self.opaque("code that nobody can know is run", name);
            return;
        }
        self.imported(name, code);
        self.guard_code(code);
        if !language.starts.iter().any(|word| code.contains(word)) {
            return;
        }
        self.linked(format!("{name} code"), |this| this.started(name, code));
    }

    fn started(&mut self, name: &str, code: &str) {
        let found = literals(code);
        let mut understood = false;
        for (index, literal) in found.iter().enumerate().take(400) {
            // `"git", "push"`: a list of words.
            let mut words = vec![literal.text.clone()];
            for next in found.iter().skip(index.saturating_add(1)).take(12) {
                if !next.follows {
                    break;
                }
                words.push(next.text.clone());
            }
            let first = super::run::program_name(literal.text.trim());
            let is_word = !literal.text.trim().contains(char::is_whitespace);
            if is_word
                && (self.catalog.is_program(&first)
                    || super::shells::is_shell(&first)
                    || words
                        .iter()
                        .any(|word| crate::actions::mentions_guarded(word)))
                && words.len() > 1
            {
                understood = true;
                self.run(&words);
            } else if is_word && literal.text.starts_with('-') {
                // `[sys.executable, "-m", "twine", "upload"]`.
                if literal.text == "-m" {
                    let mut all = vec!["python".to_owned()];
                    all.extend(words);
                    self.run(&all);
                }
            } else if !is_word && self.catalog.mentions(&literal.text) {
                understood = true;
                self.in_shell(name, &literal.text);
            } else if !is_word {
                understood = true;
            }
        }
        for text in bare_commands(name, code) {
            understood = true;
            if self.catalog.mentions(&text) {
                self.in_shell(name, &text);
            }
        }
        if computed(code) && (!understood || self.catalog.mentions_part(code)) {
            self.opaque("code starts a program whose words are computed", code);
        }
    }

    /// A module beside the code runs when it is imported.
    fn imported(&mut self, name: &str, code: &str) {
        if name != "python" {
            return;
        }
        for line in code.split(['\n', ';']) {
            let module = line
                .trim()
                .strip_prefix("import ")
                .or_else(|| line.trim().strip_prefix("from "));
            let Some(module) = module.and_then(|rest| rest.split([' ', ',', '.']).next()) else {
                continue;
            };
            let path = format!("{module}.py");
            let key = format!("import {path}");
            if !module.is_empty() && self.walking.insert(key.clone()) {
                if let (Some(text), Some(language)) = (self.known_file(&path), LANGUAGES.first()) {
                    self.linked(path, |this| this.code(language, "python", &text));
                }
                self.walking.remove(&key);
            }
        }
    }
}

/// `-ne`, `-lane`: a cluster of letters that ends with the one that carries code.
fn cluster(language: &Language, word: &str) -> bool {
    let Some(flags) = word
        .strip_prefix('-')
        .filter(|flags| !flags.starts_with('-'))
    else {
        return false;
    };
    flags.len() > 1
        && flags.chars().all(|flag| flag.is_ascii_alphabetic())
        && language.code.iter().any(|option| {
            option.len() == 2
                && option
                    .chars()
                    .nth(1)
                    .is_some_and(|letter| flags.ends_with(letter))
        })
        && matches!(
            language.names.first(),
            Some(&("perl" | "ruby" | "node" | "python"))
        )
        && !flags.starts_with(|first: char| language.valued.contains(first))
}
