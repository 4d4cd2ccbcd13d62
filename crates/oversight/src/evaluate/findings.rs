//! What an analysis found: actions, what stayed unknown, and protected things that are touched.

use crate::guard::Guarded;
use crate::shell::ir::Span;

/// How sure we are that an action happens when the command runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Certainty {
    /// The words stand where an unknown program may start them.
    Possible,
    /// The program is started with these words.
    Certain,
}

/// A gated action that the command performs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Its id.
    pub action: String,
    /// The part of the command that shows it.
    pub span: Option<Span>,
    /// From the outermost program to the act: `bash -c`, `env`, `git push`.
    pub chain: Vec<String>,
    /// How sure we are.
    pub certainty: Certainty,
    /// Program and arguments, for scopes.
    pub words: Vec<String>,
    /// Where it would run.
    pub directory: String,
    /// Variables that the command gives to the program and that change what it does, as `NAME=value`.
    pub environment: Vec<String>,
}

/// A part of the command that could not be followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opaque {
    /// Why.
    pub reason: String,
    /// What.
    pub text: String,
    /// Where.
    pub span: Option<Span>,
    /// It runs outside of the process tree of the command, where supervision does not see it.
    pub escapes: bool,
}

/// Everything that was seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// Actions, in the order in which they were met.
    pub actions: Vec<Finding>,
    /// What stayed unknown.
    pub opaque: Vec<Opaque>,
    /// Protected things that are touched.
    pub guarded: Vec<Guarded>,
}
