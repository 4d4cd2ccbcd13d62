//! Abstract evaluation of a command: it finds every program that is written in it, with its known arguments.
//!
//! Reading order: [`state`] (the state of a shell), [`world`] (files, including those that the command wrote),
//! [`budget`], then [`command`] (compound commands and pipelines), words ([`expand`], [`parameter`], [`assign`],
//! [`redirect`]) and the behaviour of a started program, [`run`] first: the shell's own ([`builtin`], [`text`]),
//! those that start others ([`wrapper`], [`launch`], [`shells`], [`remote`], [`git`] with [`settings`] and
//! [`mistyped`], [`gh`]), those that run code that is not analysed ([`programs`] with [`scripts`]) and protected
//! things ([`touch`], [`trees`]).
//!
//! The search for danger is permissive: both branches are walked, whatever a condition says. Safety is never
//! concluded from a part that was not understood: that is kept as [`Opaque`]. Nothing runs, files are read only
//! through [`Lookup`], and nothing is predicted: code that another program would run is opaque.

mod assign;
mod budget;
mod builtin;
mod command;
mod expand;
mod findings;
pub(crate) mod gh;
mod git;
mod launch;
pub(crate) mod mistyped;
mod parameter;
mod programs;
mod redirect;
pub(crate) mod remote;
pub(crate) mod run;
mod scripts;
pub(crate) mod settings;
pub(crate) mod shells;
mod state;
mod text;
mod touch;
mod trees;
mod world;
pub(crate) mod wrapper;

use std::rc::Rc;

use actions::Catalog;
use actions::lookup::Lookup;
use protection::Guard;
use shell::ir::{Script, Span};
use shell::value::{joined, unknown};
use shell::{lower, second};

use budget::{Budget, Exhausted};
pub use findings::{Certainty, Finding, Findings, Opaque};
pub(crate) use programs::is_interpreter;
pub(crate) use state::Shell;
use world::World;

/// Result of a command.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    /// Success, failure, or unknown.
    pub(crate) status: Option<bool>,
    /// Output of the command.
    pub(crate) output: String,
}

impl Outcome {
    pub(crate) fn quiet(status: Option<bool>) -> Self {
        Self {
            status,
            output: String::new(),
        }
    }

    pub(crate) fn unknown() -> Self {
        Self::prints(unknown())
    }

    pub(crate) fn prints(output: String) -> Self {
        Self {
            status: None,
            output,
        }
    }
}

/// Findings so far, and the position of the analysis.
#[derive(Debug, Default)]
struct Notes {
    findings: Findings,
    /// Chain from the outermost program to the current one.
    chain: Vec<String>,
    span: Option<Span>,
    /// Depth of texts inside texts; only the outermost has meaningful positions.
    texts: usize,
    /// Depth of walks over programs that are possibly not started.
    possible: usize,
    /// Depth of walks in which only findings count, not doubts.
    muted: usize,
    /// Depth of launchers whose programs leave the process tree.
    outside: usize,
    /// Depth of files that existed before the command.
    files: usize,
}

/// State of one analysis.
pub(crate) struct Evaluator<'a> {
    pub(crate) catalog: &'a Catalog,
    /// Protected things, if any.
    pub(crate) guard: Option<&'a Guard>,
    home: String,
    /// Directory in which the command begins.
    start: Rc<str>,
    world: World<'a>,
    state: Shell,
    notes: Notes,
    budget: Budget,
}

impl std::fmt::Debug for Evaluator<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Evaluator")
            .field("notes", &self.notes)
            .finish_non_exhaustive()
    }
}

impl<'a> Evaluator<'a> {
    pub(crate) fn new(
        lookup: &'a dyn Lookup,
        catalog: &'a Catalog,
        directory: &str,
        home: &str,
    ) -> Self {
        Self {
            catalog,
            guard: None,
            home: home.to_owned(),
            start: directory.into(),
            world: World::new(lookup),
            state: Shell::new(directory, home),
            notes: Notes::default(),
            budget: Budget::default(),
        }
    }

    /// Returns the findings.
    pub(crate) fn into_findings(self) -> Findings {
        self.notes.findings
    }

    /// Sets a variable for every program that is started.
    pub(crate) fn export(&mut self, name: &str, value: &str) {
        self.state.set(name, value.to_owned(), true);
    }

    /// Returns the number of acts so far.
    pub(crate) fn acts(&self) -> usize {
        self.notes.findings.actions.len()
    }

    /// Returns the number of doubts, for [`Self::forget_doubts`].
    pub(crate) fn doubts(&self) -> usize {
        self.notes.findings.opaque.len()
    }

    /// Drops the doubts after the first `known` ones.
    pub(crate) fn forget_doubts(&mut self, known: usize) {
        self.notes.findings.opaque.truncate(known);
    }

    /// Walks the command that a person or an agent gave.
    pub(crate) fn whole(&mut self, text: &str) {
        if let Err(refused) = self.walk(text) {
            self.unread(refused.to_string(), text);
        }
        self.run_traps(0);
    }

    /// Walks a text; one that is too long for the second parser is walked line by line, so that it is never held as a
    /// whole.
    fn walk(&mut self, text: &str) -> Result<Outcome, lower::Refused> {
        if text.len() <= second::MAX_BYTES {
            let (script, parsed) = lower::read(text)?;
            if let Some(parsed) = parsed {
                self.compare(&parsed, &script);
            }
            return Ok(self.script(&script));
        }
        let mut all = Outcome::quiet(Some(true));
        for line in lower::lines(text)? {
            let outcome = self.script(&line?);
            all.status = outcome.status;
            all.output = joined(all.output, &outcome.output);
        }
        Ok(all)
    }

    /// Walks text that a launcher passes to a shell.
    pub(crate) fn shell_text(&mut self, text: &str) -> Outcome {
        let granted = self.budget.parse(text.len());
        if !self.afford(granted, text) {
            return Outcome::unknown();
        }
        self.notes.texts = self.notes.texts.saturating_add(1);
        let walked = self.walk(text);
        self.notes.texts = self.notes.texts.saturating_sub(1);
        walked.unwrap_or_else(|refused| {
            self.unread(refused.to_string(), text);
            Outcome::unknown()
        })
    }

    /// Handles a text that is not parsed as a whole: a command on a line of its own still counts. It may touch
    /// protected things, which supervision does not judge; only a file that existed before is part of the project.
    pub(crate) fn unread(&mut self, reason: impl Into<String>, text: &str) {
        let before = self.notes.outside;
        self.notes.outside = before.saturating_add(usize::from(self.notes.files == 0));
        self.opaque(reason, text);
        self.notes.outside = before;
        if text.len() > shell::limit::MAX_BYTES {
            return;
        }
        self.notes.texts = self.notes.texts.saturating_add(1);
        let (commands, inside) = shell::bodies::divided(text);
        self.lines_of(&commands);
        // It is unknown if a shell reads them.
        for body in inside {
            self.perhaps(|this| this.lines_of(body));
        }
        self.notes.texts = self.notes.texts.saturating_sub(1);
    }

    fn lines_of(&mut self, text: &str) {
        for line in text.split(['\n', ';', '&', '|', '(', ')', '{', '}']) {
            let line = line.trim();
            let line = line.strip_prefix("then ").unwrap_or(line);
            let line = line.strip_prefix("do ").unwrap_or(line);
            if self.catalog.mentions(line)
                && self.step()
                && let Ok(script) = lower::program(line)
            {
                self.script(&script);
            }
        }
    }

    /// Compares both parsers: a program that only the second one finds makes the command opaque.
    fn compare(&mut self, text: &str, script: &Script) {
        let names = second::program_names(text).filter(|names| !names.is_empty());
        let Some(names) = names else {
            return;
        };
        let seen = shell::names::program_words(script);
        for name in names {
            // Grammar words that the second parser takes for programs.
            if !second::is_grammar(&name) && !seen.contains(name.as_str()) {
                self.opaque("two parsers disagree about a program", &name);
            }
        }
    }

    /// Records a part that could not be followed.
    pub(crate) fn opaque(&mut self, reason: impl Into<String>, text: &str) {
        if self.notes.muted > 0 || self.notes.possible > 0 {
            return;
        }
        self.doubt(reason.into(), text);
    }

    fn doubt(&mut self, reason: String, text: &str) {
        self.notes.findings.doubt(Opaque {
            reason,
            text: findings::shown(text),
            span: self.notes.span,
            escapes: self.notes.outside > 0,
        });
    }

    /// Counts one step; `false` if the budget is used up.
    fn step(&mut self) -> bool {
        let granted = self.budget.step();
        self.afford(granted, "")
    }

    /// Records the first exceeded limit, even in a walk whose doubts do not count.
    fn afford(&mut self, granted: Result<(), Exhausted>, text: &str) -> bool {
        if let Err(Exhausted(reason)) = granted
            && self.budget.spend()
        {
            self.doubt(reason.to_owned(), text);
        }
        granted.is_ok()
    }

    /// Runs a closure one level deeper, unless it is too deep.
    fn deeper<T>(&mut self, or: impl FnOnce() -> T, what: impl FnOnce(&mut Self) -> T) -> T {
        let granted = self.budget.enter();
        if !self.afford(granted, "") {
            return or();
        }
        let result = what(self);
        self.budget.leave();
        result
    }

    /// Runs a closure with a further link of the chain.
    fn linked<T>(&mut self, link: impl Into<String>, what: impl FnOnce(&mut Self) -> T) -> T {
        self.notes.chain.push(link.into());
        let result = what(self);
        self.notes.chain.pop();
        result
    }

    /// Runs a closure in a separate shell, whose changes are dropped.
    fn apart<T>(&mut self, state: Shell, what: impl FnOnce(&mut Self) -> T) -> T {
        let before = std::mem::replace(&mut self.state, state);
        let result = what(self);
        self.state = before;
        result
    }

    /// Walks a part that is possibly not started.
    pub(crate) fn perhaps<T>(&mut self, what: impl FnOnce(&mut Self) -> T) -> T {
        self.notes.possible = self.notes.possible.saturating_add(1);
        let state = self.state.clone();
        let result = self.apart(state, what);
        self.notes.possible = self.notes.possible.saturating_sub(1);
        result
    }

    /// Walks a part whose acts count and whose doubts do not.
    pub(crate) fn muted<T>(&mut self, what: impl FnOnce(&mut Self) -> T) -> T {
        self.notes.muted = self.notes.muted.saturating_add(1);
        let state = self.state.clone();
        let result = self.apart(state, what);
        self.notes.muted = self.notes.muted.saturating_sub(1);
        result
    }

    /// Walks the text of a file, which belongs to the command if the command wrote it.
    fn in_file<T>(&mut self, path: &str, what: impl FnOnce(&mut Self) -> T) -> T {
        let path = actions::lookup::absolute(&self.state.directory, path);
        let is_older = usize::from(!self.world.written.contains_key(&path));
        self.notes.files = self.notes.files.saturating_add(is_older);
        let result = what(self);
        self.notes.files = self.notes.files.saturating_sub(is_older);
        result
    }

    /// Walks a part that runs outside of the process tree.
    fn outside<T>(&mut self, what: impl FnOnce(&mut Self) -> T) -> T {
        self.notes.outside = self.notes.outside.saturating_add(1);
        let state = self.state.child();
        let result = self.apart(state, what);
        self.notes.outside = self.notes.outside.saturating_sub(1);
        result
    }

    fn certainty(&self) -> Certainty {
        if self.notes.possible > 0 {
            Certainty::Possible
        } else {
            Certainty::Certain
        }
    }
}
