//! The answer of `contracts check`.

use std::path::PathBuf;

use ::contracts::{Note, Problem, Weight};
use serde::Serialize;

use guard::contracts::{self, Source, Trial};

/// One JSON value a check.
#[derive(Debug, Serialize)]
pub struct Check {
    /// Whether nothing is wrong; warnings do not count.
    pub ok: bool,
    /// The file; none for the shipped contracts.
    pub file: Option<PathBuf>,
    /// How many tools have a contract.
    pub tools: usize,
    /// What is wrong with it.
    pub problems: Vec<Fault>,
    /// What it says to calls that are known to be right, if there were any.
    pub corpus: Option<Corpus>,
}

/// One thing that is wrong.
#[derive(Debug, Serialize)]
pub struct Fault {
    /// Where, as `Bash.constraints[0].op`.
    pub path: String,
    pub what: String,
    /// `error` or `warning`.
    pub weight: &'static str,
}

/// Calls that are known to be right.
#[derive(Debug, Serialize)]
pub struct Corpus {
    /// How many.
    pub calls: usize,
    /// How many of them have a tool without a contract.
    pub unchecked: usize,
    /// Those that would be flagged.
    pub flagged: Vec<Flagged>,
}

#[derive(Debug, Serialize)]
pub struct Flagged {
    pub line: usize,
    pub tool: String,
    pub notes: Vec<Remark>,
}

/// One note.
#[derive(Debug, Serialize)]
pub struct Remark {
    /// `L1` to `L4`, or `schema`.
    pub level: &'static str,
    /// What the agent would be told.
    pub text: String,
}

impl Check {
    /// Of a catalogue and a corpus.
    #[must_use]
    pub fn of(source: &Source, tools: usize, problems: Vec<Problem>, trial: Option<Trial>) -> Self {
        let wrong = problems.iter().any(|fault| fault.weight == Weight::Error);
        let flagged = trial
            .as_ref()
            .is_some_and(|trial| !trial.flagged.is_empty());
        Self {
            ok: !wrong && !flagged,
            file: source.path.clone(),
            tools,
            problems: problems.into_iter().map(Fault::of).collect(),
            corpus: trial.map(Corpus::of),
        }
    }
}

impl Fault {
    fn of(problem: Problem) -> Self {
        Self {
            path: problem.path,
            what: problem.what,
            weight: problem.weight.as_str(),
        }
    }
}

impl Corpus {
    fn of(trial: Trial) -> Self {
        Self {
            calls: trial.calls,
            unchecked: trial.unchecked,
            flagged: trial.flagged.into_iter().map(Flagged::of).collect(),
        }
    }
}

impl Flagged {
    fn of(flagged: contracts::Flagged) -> Self {
        Self {
            line: flagged.line,
            tool: flagged.tool,
            notes: flagged.notes.into_iter().map(Remark::of).collect(),
        }
    }
}

impl Remark {
    fn of(note: Note) -> Self {
        Self {
            level: note.level.as_str(),
            text: note.text,
        }
    }
}
