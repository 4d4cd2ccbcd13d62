//! Analysis of commands: do they run tests, how far do output and exit code reflect the test runner, and which tests do
//! they select?
//!
//! [`TestCommand::of`] reads the command as a shell would. [`programs`] knows the programs that run tests, [`credit`]
//! walks the command around them with [`beside`], [`selection`] parses the tests that they select, [`given`] the files
//! and modules that they name, [`project`] reads the project's own scripts behind a name such as `npm test`,
//! [`loaders`] knows the ways to make a run load other code, [`setup`] knows the files that select tests, and
//! [`changes`] decides if a command may change files, [`effects`] what else it may write. A test that is not recognised
//! counts as not run, so the user's own commands are accepted as well.

mod programs;

mod credit;

mod beside;

mod selection;

mod given;

pub mod loaders;

pub mod changes;

pub mod effects;

mod recipes;

pub mod project;

pub mod setup;

use std::path::Path;

use base::repository::Location;
use lookup::Disk;
use shell::ir::{Argument, Assigned, Operation, Parameter, Piece, Subject, Word};

pub use given::Given;
pub use project::ProjectScript;
pub use selection::{Filter, Selection};

/// Placeholder for a part of a word that is only known at run time.
const UNKNOWN: &str = "\u{1}";

/// Placeholder for such a part that is a number: `$?`.
const NUMBER: char = '\u{2}';

/// Degree to which output and exit code of a command reflect its test runner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Credit {
    /// The tests run on another tree: on another machine or in a container.
    Elsewhere,
    #[default]
    /// Something else may have written the output or decided the exit code: a shell function, another program that
    /// prints, `|| true`, `!`, `if`, `&`.
    Nothing,
    /// The output is a selection of the runner's lines (`| grep`, `| head`), and the exit code is hidden.
    SomeLines,
    /// The output is the runner's, up to its end (`| tail`, `; echo $?`), and the exit code is hidden.
    Output,
    /// Output and exit code are the runner's.
    All,
}

/// A command that runs tests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TestCommand {
    /// Degree to which its result can be trusted.
    pub credit: Credit,
    /// The folder that it changes to before the tests run, as written; empty if it stays.
    pub folder: String,
    /// The tests that it selects; if the command has several test programs, those of the last one.
    pub selection: Selection,
    /// The programs that run, as written: wrappers, the test program, and scripts that set up the environment. A name
    /// without a slash is looked up in `path`, then in the `PATH` of the shell.
    pub programs: Vec<String>,
    /// Directories that the command puts in front of `PATH`, as written.
    pub path: Vec<String>,
    /// Variables that it sets and that may name code to load.
    pub variables: Vec<(String, String)>,
    /// Modules that a Python interpreter is to run; one of that name in the directory comes first.
    pub modules: Vec<String>,
    /// Arguments of its programs.
    pub given: Vec<Given>,
    /// Programs in it that run scripts of the project, so that their names prove nothing.
    pub scripts: Vec<ProjectScript>,
}

impl TestCommand {
    /// Parses a command. `own` are the user's commands by their first words. Returns `None` if no test runs.
    #[must_use]
    pub fn of(command: &str, own: &[String]) -> Option<Self> {
        credit::read(command, &own_words(own))
    }

    /// Returns `true` if the tests run in a build folder.
    #[must_use]
    pub fn tests_builds(&self) -> bool {
        given::tests_builds(&self.selection.program)
    }
}

/// Returns the variables that a command leaves in the shell for the programs of later commands.
#[must_use]
pub fn exports(command: &str) -> Vec<(String, String)> {
    credit::exports(command)
}

/// Returns the first words of the user's own test commands.
fn own_words(own: &[String]) -> Vec<Vec<&str>> {
    let words = own.iter().map(|one| one.split_whitespace().collect());
    words
        .filter(|words: &Vec<&str>| !words.is_empty())
        .collect()
}

/// Returns `true` if `command`, as a shell would read it, runs tests.
#[must_use]
pub fn runs_tests(command: &str, own: &[String]) -> bool {
    TestCommand::of(command, own).is_some()
}

/// Returns the words of a simple command; parts that are only known at run time are [`UNKNOWN`].
fn plain_words(words: &[Argument]) -> Vec<String> {
    let plain = |argument: &Argument| match argument {
        Argument::Word(word) => plain_word(word),
        Argument::Assignment(assignment) => {
            format!("{}={}", assignment.name, assigned(&assignment.value))
        }
        Argument::Process { .. } => UNKNOWN.to_owned(),
    };
    words.iter().map(plain).collect()
}

fn assigned(value: &Assigned) -> String {
    match value {
        Assigned::Scalar(word) => plain_word(word),
        Assigned::Array(_) => UNKNOWN.to_owned(),
    }
}

fn plain_word(word: &Word) -> String {
    let mut text = String::new();
    let mut pieces: Vec<&Piece> = word.pieces.iter().rev().collect();
    while let Some(piece) = pieces.pop() {
        match piece {
            Piece::Text(part) | Piece::Quoted(part) => text.push_str(part),
            Piece::Double(inner) => pieces.extend(inner.iter().rev()),
            Piece::Parameter(parameter) if is_status(&parameter.subject) => text.push(NUMBER),
            // The directory in which the command runs at that point.
            Piece::Parameter(parameter) if is_here(parameter) && begins_path(&text) => {
                text.push('.');
            }
            Piece::Tilde(_)
            | Piece::Parameter(_)
            | Piece::Command(_)
            | Piece::Arithmetic(_)
            | Piece::Opaque => text.push_str(UNKNOWN),
        }
    }
    text
}

/// Returns `true` for `$PWD`.
fn is_here(parameter: &Parameter) -> bool {
    let is_plain = matches!(parameter.operation, Operation::Value) && !parameter.indirect;
    is_plain && matches!(&parameter.subject, Subject::Named(name) if name == "PWD")
}

/// Returns `true` if a path may begin after this text.
fn begins_path(text: &str) -> bool {
    text.is_empty() || text.ends_with(['=', ':'])
}

/// Returns a path relative to the directory above a folder that a command has changed to.
fn join_folder(folder: &str, path: &str) -> String {
    match (path.starts_with(['/', '\u{1}']), folder.is_empty()) {
        (false, false) => format!("{folder}/{path}"),
        _ => path.to_owned(),
    }
}

/// Returns `true` for `$?` and `${PIPESTATUS[0]}`.
fn is_status(subject: &Subject) -> bool {
    match subject {
        Subject::Number => true,
        Subject::Element(name, _) => name == "PIPESTATUS",
        _ => false,
    }
}

/// Returns `true` if a part of the word is only known at run time.
fn is_unknown(word: &str) -> bool {
    word.contains(UNKNOWN) || word.contains(NUMBER)
}

/// Returns the commands that the project's scripts behind a test command execute; it was started in `cwd`.
#[must_use]
pub fn scripts_behind(test: &TestCommand, cwd: &Path, own_tests: &[String]) -> project::Behind {
    let top = Location::around(cwd).map_or_else(|| cwd.to_owned(), |location| location.top);
    let (cwd, top) = (cwd.to_string_lossy(), top.to_string_lossy());
    project::behind(test, &cwd, &top, own_tests, &Disk)
}

#[cfg(test)]
mod tests;
