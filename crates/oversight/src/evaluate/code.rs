//! Other languages: programs that a one-liner, a heredoc or a script file starts by a literal.
//!
//! The code is not understood, only its texts: where it can start programs at all, every literal that reads like a
//! command is followed, and a start whose words are computed is opaque. Code that starts nothing is left alone.

pub(super) mod changing;
mod given;
mod prose;

use crate::lookup::absolute;
use crate::value::{Value, has_hole, without_holes};

use super::files::File;
use super::language::{Language, cluster, in_place, is_ex, reads_file};
use super::literal::{bare_commands, computed, decode, literals, without_literals};
use super::startup::glued_file;
use super::tokens::{Family, without_texts};
use super::{Evaluator, Outcome};

/// More texts in one code than this are not followed.
const MAX_LITERALS: usize = 2000;

impl Evaluator<'_> {
    /// Follows the code that an interpreter is given.
    pub(crate) fn interpreted(&mut self, name: &str, arguments: &[String]) -> Option<Outcome> {
        self.shell_escape(name, arguments);
        if matches!(name, "sed" | "gsed") {
            return self.stream_editor(arguments);
        }
        let language = super::language::of(name)?;
        if super::language::checks_syntax(name, arguments) {
            return Some(Outcome::quiet(None));
        }
        if name == "node" && arguments.first().is_some_and(|word| word == "--run") {
            return None;
        }
        // Java runs what was compiled, unless it is given a source.
        let source = |word: &String| word.ends_with(".java") || word.starts_with("--source");
        if name == "java" && !arguments.iter().any(source) {
            return None;
        }
        let reads_code = arguments.get(1).is_some_and(|word| word == "-");
        if name == "bun"
            && !reads_code
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
        self.started_files(language, name, arguments);
        let arguments = match arguments.split_first() {
            Some((verb, rest)) if name == "bun" && verb == "run" => rest,
            Some((verb, rest)) if name == "deno" && (verb == "run" || verb == "x") => rest,
            _ => arguments,
        };
        if let Some(outcome) = self.package_of_deno(name, arguments) {
            return Some(outcome);
        }
        let words = std::mem::replace(&mut self.code_words, arguments.to_vec());
        let outcome = self.code_of(language, name, arguments);
        self.code_words = words;
        if in_place(name, arguments) {
            for path in arguments
                .iter()
                .filter(|word| !word.starts_with(['-', '+']))
            {
                let saves = arguments
                    .iter()
                    .any(|word| word.ends_with(['w', 'q', 'x', '!']));
                let fed = self.state.input.is_some();
                if saves || fed || self.exists(&absolute(&self.state.directory, path)) {
                    let guess = if matches!(name, "perl" | "ruby") {
                        self.replaced_in(path, arguments)
                    } else {
                        self.typed_into(path)
                    };
                    self.write_guess(path, guess);
                }
            }
        }
        Some(outcome)
    }

    fn code_of(&mut self, language: &Language, name: &str, arguments: &[String]) -> Outcome {
        let mut words = arguments.iter();
        let mut had_code = false;
        let is_awk = language.names.first() == Some(&"awk");
        let is_editor = language.names.first() == Some(&"vim");
        let mut operands = 0_usize;
        while let Some(word) = words.next() {
            let glued = language
                .code
                .iter()
                .find_map(|option| {
                    let rest = word.strip_prefix(option)?;
                    if option.starts_with("--") || option.len() > 2 {
                        rest.strip_prefix('=')
                    } else {
                        Some(rest)
                    }
                })
                .filter(|rest| !rest.is_empty())
                .or_else(|| super::language::glued_cluster(name, word));
            if language.code.contains(&word.as_str()) || cluster(language, word) {
                had_code = true;
                if let Some(code) = words.next() {
                    self.code(language, name, &code.clone());
                }
            } else if let Some(code) = glued.filter(|_| name != "node" || word.starts_with("--")) {
                had_code = true;
                self.code(language, name, code);
            } else if reads_file(name, word) && !(word == "-s" && is_ex(name, arguments)) {
                // `vim -e -s` reads its commands from the input.
                let file = words
                    .as_slice()
                    .first()
                    .filter(|next| !next.starts_with('-') || *next == "-")
                    .cloned();
                if let Some(path) = file {
                    words.next();
                    // `vim -u NONE` reads nothing.
                    had_code |= !(is_editor && word == "-u");
                    self.code_file(language, name, &path);
                }
            } else if let Some(path) = glued_file(name, word) {
                had_code = true;
                self.code_file(language, name, path);
            } else if language.is_of_many()
                && word.starts_with("--")
                && word.contains(char::is_whitespace)
            {
                // `--batch-string=code`.
                had_code = true;
                self.code(language, name, &word.clone());
            } else if word.starts_with('-') && word.len() > 1 {
                if word.len() == 2
                    && word != "-s"
                    && word
                        .chars()
                        .nth(1)
                        .is_some_and(|letter| language.valued.contains(letter))
                {
                    self.valued_code(language, name, words.next());
                }
            } else if is_editor || matches!(name, "gdb" | "lldb" | "sqlite3") {
                operands = operands.saturating_add(1);
                if let Some(code) = word.strip_prefix('+') {
                    had_code = true;
                    self.code(language, name, code);
                } else if name == "sqlite3" && operands > 1 {
                    had_code = true;
                    if let Some(path) = word.strip_prefix(".read ") {
                        self.code_file(language, name, path.trim());
                    }
                    self.code(language, name, &word.clone());
                }
            } else if !had_code {
                if is_awk {
                    self.code(language, name, &word.clone());
                } else if word == "-" {
                    break;
                } else if language.is_of_many() && word.contains(char::is_whitespace) {
                    self.code(language, name, &word.clone());
                } else {
                    self.script_operand(language, name, word, words.as_slice());
                }
                had_code = true;
                break;
            }
        }
        let reads = !had_code
            && (!is_editor
                || name == "ex"
                || arguments
                    .iter()
                    .any(|word| matches!(word.as_str(), "-es" | "-s" | "-e" | "-Es")));
        let reads = reads
            || super::language::is_interactive(name, arguments)
            || (name == "python" && self.state.get("PYTHONINSPECT").is_some());
        if reads && let Some(input) = self.state.input.clone() {
            for text in input.possibilities().to_vec() {
                self.code(language, name, &text);
            }
        }
        self.printed(name, arguments)
    }

    /// The file that an interpreter is given, with the words behind it.
    fn script_operand(&mut self, language: &Language, name: &str, word: &str, rest: &[String]) {
        let path = self.code_path(language, word);
        let program = super::run::program_name(&path);
        if !self.catalog.is_program(&program) || !matches!(self.file(&path), File::Missing) {
            self.code_file(language, name, &path);
            return;
        }
        // `node yarn-4.1.0.cjs install`: a program that is itself a script.
        let rest = rest.iter().skip_while(|word| *word == "--").cloned();
        let all: Vec<String> = std::iter::once(program).chain(rest).collect();
        self.linked(name, |this| this.run(&all));
    }

    /// `m4 -D 'x=syscmd(…)'`: the value of an option that may be code.
    fn valued_code(&mut self, language: &Language, name: &str, value: Option<&String>) {
        let value = value.filter(|value| language.is_of_many() && value.contains('('));
        if let Some(code) = value {
            self.code(language, name, code);
        }
    }

    /// `perl -ne … 'command|'`: what is named as a file may be a command.
    fn files_as_commands(&mut self, arguments: &[String]) {
        // The code itself is no file.
        let is_code = |at: usize| {
            let before = at.checked_sub(1).and_then(|at| arguments.get(at));
            before.is_some_and(|word| word.starts_with('-') && word.ends_with(['e', 'E']))
        };
        let plain = |(at, word): &(usize, &String)| !word.starts_with('-') && !is_code(*at);
        for (_, word) in arguments.iter().enumerate().filter(plain) {
            let command = word.trim();
            if let Some(command) = command
                .strip_suffix('|')
                .or_else(|| command.strip_prefix('|'))
            {
                self.in_shell("perl <>", command);
            }
        }
    }

    /// What a one-liner prints when all it does is print a literal.
    fn printed(&mut self, name: &str, arguments: &[String]) -> Outcome {
        if name.ends_with("awk") {
            return self.filter(name, arguments);
        }
        if name == "perl" {
            self.files_as_commands(arguments);
        }
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

    pub(crate) fn code_file(&mut self, language: &Language, name: &str, path: &str) {
        if self.is_of_package(path) {
            return self.perhaps(|this| this.code_file(language, name, path));
        }
        match self.file(path) {
            File::Text(value) => {
                let key = format!("{name} {path}");
                if !self.walking.insert(key.clone()) {
                    return;
                }
                let beside = absolute(&self.state.directory, path);
                let beside = crate::lookup::directory_of(&beside).to_owned();
                let own = self.wrote(path);
                let older = std::mem::replace(&mut self.older, !own);
                for text in value.possibilities().to_vec() {
                    self.linked(path, |this| {
                        if !this.code_in(language, name, &text, &beside) && own {
                            this.calls_in(language, name, &text);
                        }
                    });
                }
                self.older = older;
                self.walking.remove(&key);
            }
            File::Missing if path.contains("://") => {
                self.opaque("code from elsewhere is run", path);
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

    pub(crate) fn code(&mut self, language: &Language, name: &str, code: &str) {
        let beside = self.state.directory.clone();
        let older = std::mem::replace(&mut self.older, false);
        if !self.code_in(language, name, code, &beside) {
            self.calls_in(language, name, code);
        }
        self.older = older;
    }

    /// Follows code that stands in a directory; says whether all that it starts is known.
    pub(crate) fn code_in(
        &mut self,
        language: &Language,
        name: &str,
        code: &str,
        beside: &str,
    ) -> bool {
        if has_hole(code) && without_holes(code).trim().is_empty() {
            self.opaque("code that nobody can know is run", name);
            return false;
        }
        if !self.step() {
            return false;
        }
        let outermost = self.loaded.is_none();
        self.deeper(|| (), |this| this.imported(language, name, code, beside));
        self.helper_calls(language, name, code);
        if outermost {
            self.loaded = None;
        }
        self.guard_code(code);
        if changing::writes(code) {
            self.filled(beside);
            self.write_by_code(code);
            // Files that the command wrote and that the code names may be other ones now.
            let named = self.written.keys();
            let named = named.filter(|path| code.contains(crate::lookup::base_name(path)));
            for path in named.cloned().collect::<Vec<_>>() {
                self.unsurely(|this| this.write(&path, &Value::unknown(), false));
            }
        }
        if language.names.first() == Some(&"awk") && super::glance::prints_into_shell(code) {
            self.opaque("what the code prints is run by a shell", code);
        }
        let starts = || language.starts.iter().any(|word| code.contains(word));
        if language.is_of_many() && self.catalog.mentions_part(code) && starts() {
            self.perhaps(|this| this.shell_text(code));
        }
        let quoted = matches!(
            language.names.first(),
            Some(&("python" | "node" | "ruby" | "php" | "lua"))
        );
        // Patterns stand bare in these, like code.
        let patterned = language
            .names
            .first()
            .and_then(|first| Family::of(first))
            .filter(|family| matches!(family, Family::Perl | Family::Awk));
        let visible = if quoted {
            without_literals(code)
        } else {
            patterned
                .and_then(|family| without_texts(family, code))
                .unwrap_or_else(|| code.to_owned())
        };
        // What `breakpoint()` calls is in a variable.
        let stops = visible.contains("breakpoint(") && self.state.get("PYTHONBREAKPOINT").is_some();
        if !stops
            && !language
                .starts
                .iter()
                .any(|word| super::literal::names_start(&visible, word))
            && !super::literal::names_a_start(code)
        {
            return false;
        }
        if self.settled(language, name, code) {
            return true;
        }
        self.linked(format!("{name} code"), |this| {
            this.started(name, code, &visible);
        });
        false
    }

    pub(crate) fn started(&mut self, name: &str, code: &str, visible: &str) {
        let before = self.findings.actions.len();
        let known = self.findings.opaque.len();
        let mut found = literals(code);
        decode(&mut found);
        let mut understood = false;
        if found.len() > MAX_LITERALS && self.catalog.mentions_part(code) {
            self.opaque("code has more texts than are followed", code);
        }
        for (index, literal) in found.iter().enumerate().take(MAX_LITERALS) {
            // `"git", "push"`: a list of words.
            let mut words = vec![literal.text.clone()];
            for next in found.iter().skip(index.saturating_add(1)).take(12) {
                if !next.follows {
                    break;
                }
                words.push(next.text.clone());
            }
            let piped = literal.text.strip_prefix('|');
            let piped = piped.or_else(|| literal.text.trim_end().strip_suffix('|'));
            let piped = piped.filter(|_| matches!(name, "ruby" | "perl"));
            if let Some(command) = piped.map(str::to_owned) {
                self.in_shell(name, &command);
            }
            let first = super::run::program_name(literal.text.trim());
            let is_word = !literal.text.trim().contains(char::is_whitespace);
            let starts = self.catalog.is_program(&first)
                || super::shells::is_shell(&first)
                || matches!(
                    first.as_str(),
                    "make" | "just" | "sudo" | "env" | "npx" | "task"
                )
                || words
                    .iter()
                    .any(|word| crate::actions::mentions_guarded(word));
            if is_word && starts && words.len() > 1 {
                understood = true;
                self.run(&words);
            } else if is_word && literal.text.starts_with("./") {
                // A script of the project, by its path.
                understood = true;
                self.run(&words);
            } else if is_word && literal.text.starts_with('-') {
                // `[sys.executable, "-m", "twine", "upload"]`.
                if literal.text == "-m" {
                    let mut all = vec!["python".to_owned()];
                    all.extend(words);
                    self.run(&all);
                }
            } else if !is_word && self.may_start(&literal.text) {
                understood = true;
                self.text_in_code(name, literal.text.trim_end_matches('\r'));
            } else if !is_word {
                understood = true;
            }
        }
        for text in bare_commands(name, code) {
            understood = true;
            if self.may_start(&text) {
                self.text_in_code(name, &text);
            }
        }
        let reads = ["read", "open(", "require(", "import", "getline", "$1", "$0"];
        if reads.iter().any(|word| code.contains(word)) {
            self.texts_of_files(name, &found);
        }
        let changed = code.len() < 300 && super::literal::changes_text(code);
        let hidden = changed && visible.contains("getattr");
        if (computed(name, visible) || hidden)
            && (!understood || changed || self.catalog.mentions_part(code))
        {
            self.opaque("code starts a program whose words are computed", code);
        }
        self.settle_by_calls(name, code, known);
        self.arguments_of_code(name, visible);
        if self.findings.actions.len() == before {
            // Texts of several words have been walked as commands already.
            let texts = found
                .iter()
                .map(|literal| literal.text.trim())
                .filter(|text| !text.contains(char::is_whitespace));
            let given = self.given(visible);
            let words = super::glance::words_of(texts.chain(given.iter().map(String::as_str)));
            self.names_an_act(name, code, &words);
        }
    }
}
