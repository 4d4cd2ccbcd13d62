//! JSON of `contracts check`.

use std::path::PathBuf;

use ::contracts::{Note, Problem, Weight};
use serde::Serialize;

use guard::contracts::{self, Source, Trial};

/// JSON value of one check.
#[derive(Debug, Serialize)]
pub struct Check {
    /// Set if there is no error; warnings do not count.
    pub ok: bool,
    /// Path of the file; `None` for the shipped contracts.
    pub file: Option<PathBuf>,
    /// Number of tools with a contract.
    pub tools: usize,
    /// Problems of the catalogue.
    pub problems: Vec<Fault>,
    /// Results for calls that are known to be right, if there were any.
    pub corpus: Option<Corpus>,
}

/// Problem of the catalogue.
#[derive(Debug, Serialize)]
pub struct Fault {
    /// Path, such as `Bash.constraints[0].op`.
    pub path: String,
    pub what: String,
    /// `error` or `warning`.
    pub weight: &'static str,
}

/// Results for calls that are known to be right.
#[derive(Debug, Serialize)]
pub struct Corpus {
    /// Number of calls.
    pub calls: usize,
    /// Number of calls of a tool without a contract.
    pub unchecked: usize,
    /// Calls that would be flagged.
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
    /// Text for the agent.
    pub text: String,
}

impl Check {
    /// Converts the check of a catalogue and a corpus.
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
