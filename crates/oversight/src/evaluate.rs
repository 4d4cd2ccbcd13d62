//! One abstract evaluation of a command: every program that is written in it is seen, with its words as far as they are
//! known.
//!
//! Reading order: [`state`] (what a shell knows), [`world`] (files and what the command wrote), [`budget`], then
//! [`command`] (compound commands and pipelines), words ([`expand`], [`parameter`], [`assign`],
//! [`redirect`]) and what a started program does, [`run`] first: the shell's own ([`builtin`], [`text`]), those that
//! start others ([`wrapper`], [`launch`], [`shells`], [`remote`], [`git`] with [`settings`] and [`mistyped`], [`gh`]), those that run code which
//! is not read ([`programs`] with [`scripts`]) and protected things ([`touch`], [`trees`]).
//!
//! Danger is looked for permissively: both branches are walked, whatever a condition says. Safety is never concluded
//! from what was not understood: that is kept as [`Opaque`]. Nothing runs, nothing is read but through [`Lookup`], and
//! nothing is predicted: code that another program would run is opaque.

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

/// What a command leaves behind.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    /// Success, failure, or not known.
    pub(crate) status: Option<bool>,
    /// What it prints.
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

/// What was found so far, and where the analysis stands.
#[derive(Debug, Default)]
struct Notes {
    findings: Findings,
    /// From the outermost program to here.
    chain: Vec<String>,
    span: Option<Span>,
    /// Texts inside texts; only the outermost has positions that mean something.
    texts: usize,
    /// Walks of something that may not be started.
    possible: usize,
    /// Walks in which only what is found counts, and not what stays unknown.
    muted: usize,
    /// Launchers around us whose programs leave the process tree.
    outside: usize,
    /// Files around us that were there before the command.
    files: usize,
}

/// One analysis.
pub(crate) struct Evaluator<'a> {
    pub(crate) catalog: &'a Catalog,
    /// What is protected; without it nothing is.
    pub(crate) guard: Option<&'a Guard>,
    home: String,
    /// Where the command begins.
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

    /// Returns what was found.
    pub(crate) fn into_findings(self) -> Findings {
        self.notes.findings
    }

    /// Gives a variable to every program that is started.
    pub(crate) fn export(&mut self, name: &str, value: &str) {
        self.state.set(name, value.to_owned(), true);
    }

    /// Returns how many acts were found so far.
    pub(crate) fn acts(&self) -> usize {
        self.notes.findings.actions.len()
    }

    /// Returns how many doubts there are, to forget those that follow.
    pub(crate) fn doubts(&self) -> usize {
        self.notes.findings.opaque.len()
    }

    /// Forgets the doubts beyond so many.
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

    /// Walks a text; one that has no second opinion is walked line by line, so that it is never held as a whole.
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

    /// Walks text that a launcher hands to a shell.
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

    /// Walks a text that is not read as a whole: a command that stands on a line of its own still counts. It may touch
    /// protected things, which supervision does not judge; only a file that was there is the project's.
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
        // Whether a shell reads them is not known.
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

    /// A program that only the second parser sees makes the command opaque.
    fn compare(&mut self, text: &str, script: &Script) {
        let names = second::program_names(text).filter(|names| !names.is_empty());
        let Some(names) = names else {
            return;
        };
        let seen = shell::names::program_words(script);
        for name in names {
            // Words of the grammar that the second parser takes for programs.
            if !second::is_grammar(&name) && !seen.contains(name.as_str()) {
                self.opaque("two parsers disagree about a program", &name);
            }
        }
    }

    /// Notes that something could not be followed.
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

    /// Counts one step; false when the budget is used up.
    fn step(&mut self) -> bool {
        let granted = self.budget.step();
        self.afford(granted, "")
    }

    /// Notes the first bound that is reached, however little what follows would count.
    fn afford(&mut self, granted: Result<(), Exhausted>, text: &str) -> bool {
        if let Err(Exhausted(reason)) = granted
            && self.budget.spend()
        {
            self.doubt(reason.to_owned(), text);
        }
        granted.is_ok()
    }

    /// Runs something one level deeper, unless it is too deep.
    fn deeper<T>(&mut self, or: impl FnOnce() -> T, what: impl FnOnce(&mut Self) -> T) -> T {
        let granted = self.budget.enter();
        if !self.afford(granted, "") {
            return or();
        }
        let result = what(self);
        self.budget.leave();
        result
    }

    /// Names a link of the chain of reasoning while something runs below it.
    fn linked<T>(&mut self, link: impl Into<String>, what: impl FnOnce(&mut Self) -> T) -> T {
        self.notes.chain.push(link.into());
        let result = what(self);
        self.notes.chain.pop();
        result
    }

    /// Runs something in a shell of its own; what it changes is forgotten.
    fn apart<T>(&mut self, state: Shell, what: impl FnOnce(&mut Self) -> T) -> T {
        let before = std::mem::replace(&mut self.state, state);
        let result = what(self);
        self.state = before;
        result
    }

    /// Walks something that is only perhaps started.
    pub(crate) fn perhaps<T>(&mut self, what: impl FnOnce(&mut Self) -> T) -> T {
        self.notes.possible = self.notes.possible.saturating_add(1);
        let state = self.state.clone();
        let result = self.apart(state, what);
        self.notes.possible = self.notes.possible.saturating_sub(1);
        result
    }

    /// Walks something whose acts count and whose doubts do not.
    pub(crate) fn muted<T>(&mut self, what: impl FnOnce(&mut Self) -> T) -> T {
        self.notes.muted = self.notes.muted.saturating_add(1);
        let state = self.state.clone();
        let result = self.apart(state, what);
        self.notes.muted = self.notes.muted.saturating_sub(1);
        result
    }

    /// Walks the text of a file, which is the command's own if the command wrote it.
    fn in_file<T>(&mut self, path: &str, what: impl FnOnce(&mut Self) -> T) -> T {
        let path = actions::lookup::absolute(&self.state.directory, path);
        let is_older = usize::from(!self.world.written.contains_key(&path));
        self.notes.files = self.notes.files.saturating_add(is_older);
        let result = what(self);
        self.notes.files = self.notes.files.saturating_sub(is_older);
        result
    }

    /// Walks something that runs outside of the process tree.
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
