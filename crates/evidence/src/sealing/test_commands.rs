//! Whether a command runs tests, how far its output and exit code speak for the test runner, and which tests it selects.
//!
//! [`TestCommand::of`] reads the command as a shell would. [`programs`] knows which programs run tests, [`credit`] walks
//! the command around them with [`beside`], [`selection`] reads which tests they choose, [`given`] what they name, [`project`] reads the project's own scripts
//! behind a name such as `npm test`, [`loaders`] knows how a run is made to load other code, [`setup`] knows the files that choose tests, and
//! [`changes`] says whether a command may change files, [`effects`] what else it may write.
//! A test that is not recognised counts as not run, so the user's own commands are taken as well.

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

/// Stands for a part of a word that only a run would know.
const UNKNOWN: &str = "\u{1}";

/// Stands for such a part that is a number: `$?`.
const NUMBER: char = '\u{2}';

/// How far a command lets its test runner speak.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Credit {
    /// The tests run on another tree: on another machine or in a container.
    Elsewhere,
    #[default]
    /// Something else may have written the output or decided the exit code: a shell function, another program that
    /// prints, `|| true`, `!`, `if`, `&`.
    Nothing,
    /// The output is a choice of the runner's lines (`| grep`, `| head`), and the exit code is hidden.
    SomeLines,
    /// The output is the runner's, up to its end (`| tail`, `; echo $?`), and the exit code is hidden.
    Output,
    /// Output and exit code are the runner's.
    All,
}

/// A command that runs tests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TestCommand {
    /// How far it can be believed.
    pub credit: Credit,
    /// The folder that it changes to before the tests run, as it is written; empty when it stays.
    pub folder: String,
    /// Which tests it selects. Of several test programs in one command, the last one's.
    pub selection: Selection,
    /// The programs that run, as they are written: wrappers, the test program, and scripts that set the environment up.
    /// A name without a slash is looked up in `path`, then in the `PATH` of the shell.
    pub programs: Vec<String>,
    /// Directories that the command puts in front of `PATH`, as they are written.
    pub path: Vec<String>,
    /// Variables that it sets and that may name code which is loaded.
    pub variables: Vec<(String, String)>,
    /// Modules that an interpreter of Python is asked to run; one of that name in the directory comes first.
    pub modules: Vec<String>,
    /// What its programs are given.
    pub given: Vec<Given>,
    /// Programs in it that run what the project says, so that they prove nothing by their names.
    pub scripts: Vec<ProjectScript>,
}

impl TestCommand {
    /// Reads a command. `own` are commands of the user by their first words. Returns `None` when no test runs.
    #[must_use]
    pub fn of(command: &str, own: &[String]) -> Option<Self> {
        credit::read(command, &own_words(own))
    }

    /// Returns `true` if the tests are run in the folder of a build.
    #[must_use]
    pub fn tests_builds(&self) -> bool {
        given::tests_builds(&self.selection.program)
    }
}

/// Returns the variables that a command leaves behind in the shell for the programs of later ones.
#[must_use]
pub fn exports(command: &str) -> Vec<(String, String)> {
    credit::exports(command)
}

/// The first words of the user's own test commands.
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

/// The words of a simple command; what only a run would know is [`UNKNOWN`].
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
            // The directory in which the command runs by then.
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

/// `$PWD`.
fn is_here(parameter: &Parameter) -> bool {
    let is_plain = matches!(parameter.operation, Operation::Value) && !parameter.indirect;
    is_plain && matches!(&parameter.subject, Subject::Named(name) if name == "PWD")
}

/// Returns `true` if a path may begin behind this text.
fn begins_path(text: &str) -> bool {
    text.is_empty() || text.ends_with(['=', ':'])
}

/// Returns a path as seen from the directory above a folder that a command has changed to.
fn join_folder(folder: &str, path: &str) -> String {
    match (path.starts_with(['/', '\u{1}']), folder.is_empty()) {
        (false, false) => format!("{folder}/{path}"),
        _ => path.to_owned(),
    }
}

/// `$?` and `${PIPESTATUS[0]}`.
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

/// Returns what the project's scripts behind a test command run; it was started in `cwd`.
#[must_use]
pub fn scripts_behind(test: &TestCommand, cwd: &Path, own_tests: &[String]) -> project::Behind {
    let top = Location::around(cwd).map_or_else(|| cwd.to_owned(), |location| location.top);
    let (cwd, top) = (cwd.to_string_lossy(), top.to_string_lossy());
    project::behind(test, &cwd, &top, own_tests, &Disk)
}

#[cfg(test)]
mod tests;
