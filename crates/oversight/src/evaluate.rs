//! One abstract evaluation of a command: every program that could run is seen, with its words as far as they are known.
//!
//! Reading order: [`state`] (what a shell knows), [`command`] (compound commands and pipelines), then words: [`expand`],
//! [`field`], [`parameter`], [`pattern`], [`arithmetic`], [`assign`], [`redirect`]. Then what a started program does, each
//! in its file, [`run`] first (who is asked, in order):
//! - the shell's own: [`builtin`] with [`mapfile`] and [`declare`];
//! - those that start others: [`wrapper`], [`launch`], [`parallel`], [`runner`], [`shells`], [`remote`], [`options`],
//!   [`starter`], [`escape`], [`sed`], [`scripts`], [`make`], [`just`], [`project`] with [`tools`], [`node`], [`gh`],
//!   [`git`] with [`settings`] and [`hooks`];
//! - code of other languages: [`code`] with [`language`], [`literal`], [`calls`], [`expression`], [`tokens`],
//!   [`modules`] with [`imports`], [`startup`] and [`glance`]; [`settled`] (code that leaves no doubt), [`compiled`];
//! - outputs: [`text`] and [`filter`] (those that can be computed), [`outputs`] (those of a known kind);
//! - files: [`files`] with [`written`] (what the command itself wrote or brought), [`touch`] (protected things).
//!
//! Danger is looked for permissively: both branches are walked, whatever a condition says. Safety is never concluded
//! from what was not understood: that is kept as [`Opaque`]. Nothing runs, nothing is read but through [`Lookup`].

pub(crate) mod arithmetic;
mod assign;
mod brought;
pub(crate) mod builtin;
mod calls;
mod chosen;
pub(crate) mod code;
pub(crate) mod command;
pub(crate) mod compiled;
pub(crate) mod condition;
pub(crate) mod declare;
mod env;
pub(crate) mod escape;
pub(crate) mod expand;
mod expression;
pub(crate) mod field;
pub(crate) mod files;
pub(crate) mod filter;
mod findings;
pub(crate) mod gh;
pub(crate) mod git;
pub(crate) mod glance;
mod hooks;
mod imports;
mod installed;
mod items;
pub(crate) mod just;
pub(crate) mod language;
pub(crate) mod launch;
pub(crate) mod literal;
mod make;
mod mapfile;
pub(crate) mod modules;
pub(crate) mod named;
pub(crate) mod names;
mod node;
pub(crate) mod options;
pub(crate) mod outputs;
mod package_scripts;
pub(crate) mod parallel;
pub(crate) mod parameter;
pub(crate) mod pattern;
pub(crate) mod printed;
mod project;
pub(crate) mod redirect;
pub(crate) mod remote;
pub(crate) mod run;
pub(crate) mod runner;
pub(crate) mod scripts;
pub(crate) mod sed;
pub(crate) mod settings;
mod settled;
pub(crate) mod shells;
mod started;
pub(crate) mod starter;
mod startup;
pub(crate) mod state;
mod stored;
pub(crate) mod subscript;
mod task_part;
mod taskfile;
pub(crate) mod text;
mod tokens;
pub(crate) mod tools;
pub(crate) mod touch;
mod typed;
mod unescape;
pub(crate) mod wrapper;
mod written;
mod yaml;

use std::collections::{BTreeMap, BTreeSet};

use crate::actions::Catalog;
use crate::guard::Guard;
use crate::lookup::Lookup;
use crate::shell::ir::{Script, Span};
use crate::shell::{lower, second};
use crate::value::{Value, for_people};

pub use findings::{Certainty, Finding, Findings, Opaque};
use state::State;

/// More simple commands than this are not followed.
const MAX_STEPS: usize = 20_000;

/// Deeper chains of launchers, functions and scripts are not followed.
const MAX_DEPTH: usize = 40;

/// More parsed text than this is not followed.
const MAX_PARSED: usize = 2 * 1024 * 1024;

/// Whether a launcher, as a chain of reasoning names it, starts programs outside of the process tree of the command.
fn leaves_the_tree(link: &str) -> bool {
    const OUTSIDE: &[&str] = crate::words::names!(
        "ssh mosh autossh docker podman nerdctl kubectl systemd-run at batch crontab tmux screen zellij \
         flatpak-spawn machinectl incus lxc"
    );
    OUTSIDE.contains(&link.split(' ').next().unwrap_or(link))
}

/// What a command leaves behind.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    /// Success, failure, or nobody knows.
    pub(crate) status: Option<bool>,
    /// What it prints.
    pub(crate) output: Value,
}

impl Outcome {
    pub(crate) fn quiet(status: Option<bool>) -> Self {
        Self {
            status,
            output: Value::empty(),
        }
    }

    pub(crate) fn unknown() -> Self {
        Self {
            status: None,
            output: Value::unknown(),
        }
    }

    pub(crate) fn prints(output: Value) -> Self {
        Self {
            status: Some(true),
            output,
        }
    }
}

/// What the answer to "where is the repository" depends on: the directory, and how much was written and linked.
type RepositoryKey = (std::rc::Rc<str>, usize, usize);

/// One analysis.
pub(crate) struct Evaluator<'a> {
    pub(crate) lookup: &'a dyn Lookup,
    pub(crate) catalog: &'a Catalog,
    /// What is protected; without it nothing is.
    pub(crate) guard: Option<&'a Guard>,
    /// The code that is walked was there before the command.
    pub(crate) older: bool,
    /// Files that were looked at for the guard.
    pub(crate) files: usize,
    pub(crate) home: String,
    pub(crate) state: State,
    pub(crate) findings: Findings,
    /// Files that the command itself writes.
    pub(crate) written: BTreeMap<String, Value>,
    /// Programs under another name.
    pub(crate) links: BTreeMap<String, String>,
    /// Git settings that the command itself makes.
    pub(crate) git_settings: BTreeMap<String, String>,
    /// Links to files that are written later.
    pub(crate) same_as: BTreeMap<String, String>,
    /// Directories with files that nobody can know.
    pub(crate) filled: BTreeSet<String>,
    /// So far nothing can have changed which files the system starts.
    pub(crate) modes_kept: bool,
    /// Where the command begins.
    pub(crate) start: std::rc::Rc<str>,
    /// Git has put other files into the working tree.
    pub(crate) switched: bool,
    /// Other working trees of a repository, and the one that they were made from.
    pub(crate) trees: BTreeMap<String, String>,
    /// A patch that nobody can know has changed files.
    pub(crate) patched_unknown: bool,
    /// How many temporary files were made.
    pub(crate) temporary: usize,
    /// The words of the interpreter whose code is looked through.
    pub(crate) code_words: Vec<String>,
    /// Modules of the interpreter, while one loads the other.
    pub(crate) loaded: Option<modules::Loaded>,
    /// What runs beside us and reads what is written to it.
    pub(crate) coprocess: Option<std::rc::Rc<crate::shell::ir::Command>>,
    /// Paths of the processes among the words of the command that read what is written to them.
    pub(crate) readers: Vec<String>,
    /// What files held before the command wrote them again.
    pub(crate) earlier: BTreeMap<String, Vec<Value>>,
    /// Programs that the command builds, with their code.
    pub(crate) compiled: BTreeMap<String, String>,
    /// Texts of `trap`, which run again at the end.
    pub(crate) traps: Vec<String>,
    /// What the lookup answered.
    pub(crate) read_before: BTreeMap<String, crate::lookup::Content>,
    /// Where the repository of a directory was found.
    pub(crate) repository_before: Option<(RepositoryKey, String)>,
    /// Functions that `env` passes to a shell.
    pub(crate) passed_functions: Vec<String>,
    /// Hooks of the template of a repository that the command makes.
    pub(crate) template: Option<String>,
    pub(crate) chain: Vec<String>,
    pub(crate) span: Option<Span>,
    /// Texts inside texts; only the outermost has positions that mean something.
    pub(crate) texts: usize,
    pub(crate) certainty: Certainty,
    /// Scripts and recipes that are being walked, to see a circle.
    pub(crate) walking: BTreeSet<String>,
    /// Ways that may not be taken, one in the other: what they write may as well not be there.
    pub(crate) unsure: usize,
    /// Chains that may end early, one in the other, and what files held before they wrote them.
    pub(crate) chains: usize,
    pub(crate) held: Vec<(String, Option<Value>)>,
    /// What was sent to where errors go.
    pub(crate) errors: Value,
    /// How often `break`, `continue` or `return` was met.
    pub(crate) jumps: usize,
    steps: usize,
    depth: usize,
    parsed: usize,
    exhausted: bool,
    descriptors: usize,
}

impl std::fmt::Debug for Evaluator<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Evaluator")
            .field("findings", &self.findings)
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
            lookup,
            catalog,
            guard: None,
            older: false,
            files: 0,
            home: home.to_owned(),
            state: State::new(directory, home),
            findings: Findings::default(),
            written: BTreeMap::new(),
            links: BTreeMap::new(),
            git_settings: BTreeMap::new(),
            same_as: BTreeMap::new(),
            filled: BTreeSet::new(),
            modes_kept: false,
            start: directory.into(),
            switched: false,
            trees: BTreeMap::new(),
            patched_unknown: false,
            temporary: 0,
            code_words: Vec::new(),
            loaded: None,
            coprocess: None,
            readers: Vec::new(),
            earlier: BTreeMap::new(),
            compiled: BTreeMap::new(),
            traps: Vec::new(),
            read_before: BTreeMap::new(),
            repository_before: None,
            passed_functions: Vec::new(),
            template: None,
            chain: Vec::new(),
            span: None,
            texts: 0,
            certainty: Certainty::Certain,
            walking: BTreeSet::new(),
            unsure: 0,
            chains: 0,
            held: Vec::new(),
            errors: Value::empty(),
            jumps: 0,
            steps: 0,
            depth: 0,
            parsed: 0,
            exhausted: false,
            descriptors: 62,
        }
    }

    /// Walks the command that a person or an agent gave.
    pub(crate) fn whole(&mut self, text: &str) {
        self.parsed = text.len();
        self.modes_kept = started::runs_in_order(text);
        match self.walk(text) {
            Ok(_) => self.at_exit(),
            Err(refused) => {
                self.opaque(refused.to_string(), text);
                self.glance(text);
            }
        }
    }

    /// Walks a text; one that has no second opinion is walked line by line, so that it is never held as a whole.
    fn walk(&mut self, text: &str) -> Result<Outcome, lower::Refused> {
        if text.len() <= second::MAX_BYTES {
            let script = lower::program(text)?;
            self.compare(text, &script);
            return Ok(self.script(&script));
        }
        let mut all = Outcome::quiet(Some(true));
        for line in lower::lines(text)? {
            let outcome = self.script(&line?);
            all.status = outcome.status;
            all.output = all.output.followed(outcome.output);
        }
        Ok(all)
    }

    /// Walks text that a launcher hands to a shell.
    pub(crate) fn shell_text(&mut self, text: &str) -> Outcome {
        self.parsed = self.parsed.saturating_add(text.len());
        if self.parsed > MAX_PARSED {
            self.exhaust("more text than can be analysed", text);
            return Outcome::unknown();
        }
        self.texts = self.texts.saturating_add(1);
        let walked = self.walk(text);
        self.texts = self.texts.saturating_sub(1);
        match walked {
            Ok(outcome) => outcome,
            Err(refused) => {
                self.opaque(refused.to_string(), text);
                self.glance(text);
                Outcome::unknown()
            }
        }
    }

    /// A text that the first parser refuses may still show a gated command on a line of its own.
    fn glance(&mut self, text: &str) {
        if text.len() > crate::shell::limit::MAX_BYTES {
            return;
        }
        self.texts = self.texts.saturating_add(1);
        for line in text
            .split(['\n', ';', '&', '|', '(', ')', '{', '}'])
            .take(400)
        {
            let line = line
                .trim()
                .trim_start_matches("then ")
                .trim_start_matches("do ");
            if self.catalog.mentions(line)
                && let Ok(script) = lower::program(line)
            {
                self.script(&script);
            }
        }
        self.texts = self.texts.saturating_sub(1);
    }

    /// A program that only the second parser sees makes the command opaque.
    fn compare(&mut self, text: &str, script: &Script) {
        let Some(names) = second::program_names(text) else {
            return;
        };
        if names.is_empty() {
            return;
        }
        let seen = crate::shell::names::program_words(script);
        for name in names {
            // Words of the grammar that the second parser takes for programs.
            if !second::is_grammar(&name) && !seen.contains(name.as_str()) {
                self.opaque("two parsers disagree about a program", &name);
            }
        }
    }

    /// Notes that something could not be followed.
    pub(crate) fn opaque(&mut self, reason: impl Into<String>, text: &str) {
        if self.certainty == Certainty::Possible {
            return;
        }
        let short: String = for_people(text).chars().take(120).collect();
        let note = Opaque {
            reason: reason.into(),
            text: short,
            span: self.span,
            escapes: self.chain.iter().any(|link| leaves_the_tree(link)),
        };
        if self.findings.opaque.len() < 64 && !self.findings.opaque.contains(&note) {
            self.findings.opaque.push(note);
        }
    }

    /// Counts one step; false when the budget is used up.
    pub(crate) fn step(&mut self) -> bool {
        self.steps = self.steps.saturating_add(1);
        if self.steps > MAX_STEPS {
            self.exhaust("more commands than can be analysed", "");
        }
        !self.exhausted
    }

    fn exhaust(&mut self, reason: &str, text: &str) {
        if !self.exhausted {
            self.exhausted = true;
            self.certainty = Certainty::Certain;
            self.opaque(reason, text);
        }
    }

    /// Runs something one level deeper, unless it is too deep.
    pub(crate) fn deeper<T>(
        &mut self,
        or: impl FnOnce() -> T,
        what: impl FnOnce(&mut Self) -> T,
    ) -> T {
        if self.depth >= MAX_DEPTH {
            self.opaque("launchers, functions or scripts are nested too deeply", "");
            return or();
        }
        self.depth = self.depth.saturating_add(1);
        let result = what(self);
        self.depth = self.depth.saturating_sub(1);
        result
    }

    /// Names a link of the chain of reasoning while something runs below it.
    pub(crate) fn linked<T>(
        &mut self,
        link: impl Into<String>,
        what: impl FnOnce(&mut Self) -> T,
    ) -> T {
        self.chain.push(link.into());
        let result = what(self);
        self.chain.pop();
        result
    }

    /// Runs something in a shell of its own; what it changes is forgotten.
    pub(crate) fn apart<T>(&mut self, state: State, what: impl FnOnce(&mut Self) -> T) -> T {
        let before = std::mem::replace(&mut self.state, state);
        let result = what(self);
        self.state = before;
        result
    }

    /// Walks a way that may not be taken.
    pub(crate) fn unsurely<T>(&mut self, what: impl FnOnce(&mut Self) -> T) -> T {
        self.unsure = self.unsure.saturating_add(1);
        let result = what(self);
        self.unsure = self.unsure.saturating_sub(1);
        result
    }

    /// Walks something that is only perhaps started.
    pub(crate) fn perhaps<T>(&mut self, what: impl FnOnce(&mut Self) -> T) -> T {
        let before = std::mem::replace(&mut self.certainty, Certainty::Possible);
        let state = self.state.clone();
        let result = self.apart(state, what);
        self.certainty = before;
        result
    }

    /// A path for the output of a process substitution.
    pub(crate) fn virtual_file(&mut self, content: Value) -> String {
        self.descriptors = self.descriptors.saturating_add(1);
        let path = format!("/dev/fd/{}", self.descriptors);
        self.written.insert(path.clone(), content);
        path
    }
}
