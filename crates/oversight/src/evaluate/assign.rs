//! Assignments, `declare` and similar builtins, and variables whose value a program executes.

use shell::ir::{Argument, Assigned, Assignment, Piece, Word};
use shell::value::{HOLE, has_hole, joined, unknown};
use shell::words::names;

use protection::Touch;

use super::state::{Elements, Reads, Stored};
use super::{Evaluator, Outcome};

/// Suffixes of the names of variables whose value a program executes.
const ENDINGS: &[&str] = names!(
    "EDITOR PAGER COMMAND LESSOPEN LESSCLOSE ASKPASS EXTERNAL_DIFF GIT_SSH BROWSER VISUAL RSH CONNECT_PROG WRAPPER \
    LINKER RUNNER FCEDIT PRELOAD LD_AUDIT INSERT_LIBRARIES"
);

/// Variables whose value is code, or options by which a program executes code.
const OPTIONS: &[&str] = names!(
    "GOFLAGS MAKEFLAGS TAR_OPTIONS PERL5OPT RUBYOPT NODE_OPTIONS PERL5DB LESS PS0 PS1 PS4 PYTHONBREAKPOINT \
    GIT_PROXY_COMMAND CC CXX RUSTC RUSTDOC SHELL"
);

/// Variables that name a file or a directory from which a program loads code.
const SOURCES: &[&str] = names!(
    "BASH_ENV ENV PYTHONSTARTUP MAKEFILES GIT_EXEC_PATH GIT_TEMPLATE_DIR ZDOTDIR PYTHONHOME"
);

/// Programs that users name in such variables, and that only show, edit, compile or connect.
const ORDINARY: &[&str] = names!(
    "true false cat : less more most delta bat batcat vim vi nvim nano emacs emacsclient code subl micro hx firefox \
    chrome chromium open xdg-open ccache sccache gcc g++ cc c++ clang clang++ mold lld rustc ssh bash sh zsh fish \
    lesspipe lesspipe.sh cursor zed kak helix sed never always"
);

impl Evaluator<'_> {
    pub(crate) fn assign(&mut self, assignment: &Assignment, exported: bool) {
        let name = assignment.name.as_str();
        match &assignment.value {
            Assigned::Scalar(word) => {
                let mut text = self.value(word);
                if let Some(index) = &assignment.index {
                    let key = self.value(index);
                    self.subscripted(&key);
                    self.assign_element(name, &key, text);
                    return;
                }
                if assignment.append {
                    text = joined(self.state.get(name).unwrap_or_default(), &text);
                }
                self.given(name, &text);
                self.state.set(name, text, exported);
            }
            Assigned::Array(parts) => {
                let elements = self.array(name, parts, assignment.append);
                for (_, text) in &elements {
                    self.given(name, text);
                }
                self.state.store(name, Stored::Array(elements), exported);
            }
        }
        self.assigned(name);
    }

    /// Handles the value of a variable whose attributes change its meaning: a number is computed, and a reference is
    /// written through.
    pub(crate) fn given(&mut self, name: &str, text: &str) {
        let reads = self.state.variables.get(name).map(|old| old.reads);
        match reads {
            None | Some(Reads::Plain) => {}
            Some(Reads::Number | Reads::Changed) => self.subscripted(text),
            Some(Reads::Through) => {
                self.named(text);
                self.state.all_odd |= has_hole(text);
                for target in super::parameter::names_in(text) {
                    if !self.state.variables.contains_key(target) {
                        self.state.set(target, String::new(), false);
                    }
                    self.state.mark(target, |variable| {
                        variable.reads = variable.reads.max(Reads::Changed);
                    });
                }
            }
        }
    }

    fn assign_element(&mut self, name: &str, key: &str, text: String) {
        self.given(name, &text);
        if matches!(
            name,
            "BASH_ALIASES" | "BASH_CMDS" | "aliases" | "galiases" | "functions"
        ) {
            let text = format!("{name}[{key}]={text}");
            self.opaque("a command gets another meaning", &text);
        }
        let mut elements = self.state.elements(name).unwrap_or_default();
        let number = self.number(key).filter(|_| !has_hole(key));
        let key = match number {
            Some(number) if number >= 0 => number.to_string(),
            Some(_) => unknown(),
            None => key.trim_matches(['"', '\'']).to_owned(),
        };
        elements.retain(|(old, _)| *old != key);
        elements.push((key, text));
        elements.sort_by_key(|(key, _)| key.parse::<i64>().unwrap_or(i64::MAX));
        self.state.store(name, Stored::Array(elements), false);
    }

    fn array(&mut self, name: &str, parts: &[(Option<Word>, Vec<Word>)], append: bool) -> Elements {
        let mut elements = if append {
            self.state.elements(name).unwrap_or_default()
        } else {
            Elements::new()
        };
        for (key, words) in parts {
            if let Some(key) = key {
                let key = self.value(key);
                self.subscripted(&key);
                let text = words
                    .first()
                    .map_or_else(String::new, |word| self.value(word));
                elements.push((key.trim_matches(['"', '\'']).to_owned(), text));
                continue;
            }
            for word in words {
                for text in self.fields(word) {
                    let key = match has_hole(&text) {
                        // It may be several elements, or none.
                        true => HOLE.to_string(),
                        false => elements.len().to_string(),
                    };
                    elements.push((key, text));
                }
            }
        }
        if elements.iter().all(|(key, _)| key.parse::<i64>().is_ok()) {
            elements.sort_by_key(|(key, _)| key.parse::<i64>().unwrap_or_default());
        }
        elements
    }

    /// Returns the text of `X=1` as an argument of a program.
    pub(crate) fn assignment_text(&mut self, assignment: &Assignment) -> String {
        let text = match &assignment.value {
            Assigned::Scalar(word) => self.value(word),
            Assigned::Array(_) => unknown(),
        };
        let plus = if assignment.append { "+" } else { "" };
        format!("{}{plus}={text}", assignment.name)
    }

    /// Handles variables whose value is executed by the shell or by programs that it starts.
    pub(crate) fn assigned(&mut self, name: &str) {
        if name == "PATH" {
            self.world.note_path(
                &self.state.get(name).unwrap_or_default(),
                &self.start,
                &self.home,
            );
        }
        let text = self.state.get(name).unwrap_or_default();
        let is_source = SOURCES.contains(&name) && !text.is_empty();
        let is_option = OPTIONS.contains(&name);
        let is_program = ENDINGS.iter().any(|ending| name.ends_with(ending));
        if is_source || (is_option || is_program) && self.runs_value(name, &text) {
            self.opaque(
                "a program runs what this variable holds",
                &format!("{name}={text}"),
            );
        }
        let is_read = matches!(name, "HISTFILE" | "INPUTRC");
        if is_source || is_option || is_program || is_read {
            self.touch(Touch::Read, &text);
            self.muted(|this| this.shell_text(text.trim_start_matches('|')));
        }
    }

    /// Returns `true` if a value is more than a program that only shows, edits, compiles or connects.
    fn runs_value(&mut self, name: &str, text: &str) -> bool {
        let mut words = text.split_whitespace();
        let first = words.next().unwrap_or_default();
        let starts = names!(
            "--require -r --import --loader -e -M -m -toolexec -exec --eval -I -F --to-command"
        );
        let by_option = |word: &str| starts.iter().any(|start| word.starts_with(start));
        if self.acts_in(text) || text.contains(['`', ';', '!']) || text.contains("$(") {
            return true;
        }
        match name {
            "PS0" | "PS1" | "PS4" | "PERL5DB" => false,
            "LESS" => text.contains('+'),
            "PYTHONBREAKPOINT" => text.contains('.'),
            "GOFLAGS" | "MAKEFLAGS" | "TAR_OPTIONS" | "PERL5OPT" | "RUBYOPT" | "NODE_OPTIONS" => {
                text.contains(HOLE) || std::iter::once(first).chain(words).any(by_option)
            }
            name if name.ends_with("PRELOAD")
                || name.ends_with("AUDIT")
                || name.ends_with("LIBRARIES") =>
            {
                !has_hole(text) && self.world.is_own(text, &self.start, &self.home)
            }
            _ => {
                let program = super::run::program_name(first.trim_start_matches('|'));
                let is_ordinary = ORDINARY.contains(&program.as_str()) || text.is_empty();
                let is_path =
                    first.contains('/') && !self.world.is_system(first.trim_start_matches('|'));
                let hides = text.contains(HOLE) && name.starts_with("GIT_");
                hides || is_path || !is_ordinary && text.contains(' ')
            }
        }
    }

    /// Evaluates `declare`, `export`, `local`, `readonly`: assignments as arguments.
    pub(crate) fn declare(&mut self, name: &str, words: &[Argument]) -> Outcome {
        let mut flags = String::from(if name == "readonly" { "r" } else { "" });
        let mut shows = words.is_empty();
        let is_local = matches!(name, "local" | "declare" | "typeset");
        for argument in words {
            match argument {
                Argument::Assignment(assignment) => {
                    if is_local {
                        self.state.make_local(&assignment.name);
                    }
                    if flags.contains(['n', 'i', 'l', 'u']) {
                        self.declared(&assignment.name, &flags);
                    }
                    self.assign(assignment, name == "export" || flags.contains('x'));
                    self.declared(&assignment.name, &flags);
                }
                argument => {
                    for text in self.arguments(std::slice::from_ref(argument)) {
                        shows |= self.declare_text(&text, &mut flags, name);
                    }
                }
            }
        }
        if shows {
            return Outcome::unknown();
        }
        Outcome::quiet(Some(true))
    }

    /// Evaluates one argument of `declare` that the parser does not take for an assignment. Returns `true` if
    /// something is shown.
    fn declare_text(&mut self, text: &str, flags: &mut String, name: &str) -> bool {
        if let Some(more) = text.strip_prefix('-') {
            flags.push_str(more);
            return more.contains(['p', 'f', 'F']);
        }
        if text.starts_with('+') {
            return false;
        }
        self.named(text.split('=').next().unwrap_or_default());
        let (variable, value) = match text.split_once('=') {
            Some((variable, value)) => (variable, Some(value)),
            None => (text, None),
        };
        if has_hole(variable) {
            self.opaque("the name of a variable is not known", text);
            return false;
        }
        if matches!(name, "local" | "declare" | "typeset") {
            self.state.make_local(variable);
        }
        let exports = name == "export" || flags.contains('x');
        match value {
            Some(value) => {
                if value.starts_with('(') {
                    self.hidden_command(value);
                }
                self.declared(variable, flags);
                self.state.set(variable, value.to_owned(), exports);
            }
            None if name == "local" => self.state.set(variable, String::new(), false),
            None => self
                .state
                .mark(variable, |variable| variable.exported |= exports),
        }
        self.declared(variable, flags);
        self.assigned(variable);
        false
    }

    fn declared(&mut self, name: &str, flags: &str) {
        let reads = match flags {
            flags if flags.contains('n') => Reads::Through,
            flags if flags.contains(['l', 'u', 'c']) => Reads::Changed,
            flags if flags.contains('i') => Reads::Number,
            _ => Reads::Plain,
        };
        let is_odd = reads != Reads::Plain;
        let is_fixed = flags.contains('r');
        if is_odd && !self.state.variables.contains_key(name) {
            self.state.set(name, String::new(), false);
        }
        if !is_odd && !is_fixed {
            return;
        }
        let stored = self.state.variables.get(name).map(|old| old.stored.clone());
        self.state.mark(name, |variable| {
            variable.reads = variable.reads.max(reads);
            variable.is_fixed |= is_fixed;
        });
        match stored {
            Some(Stored::Text(text)) => self.given(name, &text),
            Some(Stored::Array(elements)) => {
                for (_, text) in elements {
                    self.given(name, &text);
                }
            }
            None => {}
        }
    }
}

/// Returns `true` if a command declares variables.
pub(crate) fn declares(name: &str) -> bool {
    matches!(
        name,
        "export" | "declare" | "typeset" | "local" | "readonly"
    )
}

/// Returns the name and the arguments of a command that declares variables as written.
pub(crate) fn declaration(words: &[Argument]) -> Option<(&str, &[Argument])> {
    let (Argument::Word(word), rest) = words.split_first()? else {
        return None;
    };
    let [Piece::Text(name)] = word.pieces.as_slice() else {
        return None;
    };
    declares(name).then_some((name.as_str(), rest))
}
