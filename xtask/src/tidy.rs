//! `cargo xtask tidy`: checks beyond the compiler. Reports every problem with its position and a remedy; repairs
//! none.

use std::fmt;

use crate::codegen;
use crate::project::Project;
use crate::shell::{Failure, Result};

mod edges;
mod links;
mod promises;
mod sources;

/// One reported problem.
#[derive(Debug, PartialEq, Eq)]
struct Problem {
    /// Path from the root.
    file: String,
    /// Line number, counted from 1.
    line: usize,
    /// Description with the remedy.
    what: String,
}

impl Problem {
    fn new(file: &str, line: usize, what: impl Into<String>) -> Self {
        Self {
            file: file.to_owned(),
            line,
            what: what.into(),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, what } = self;
        write!(f, "{file}:{line}: {what}")
    }
}

/// Runs all checks, so that one run shows all problems.
pub(crate) fn run(project: &Project) -> Result<()> {
    let mut problems = edges::check(project)?;
    let files = project.tracked()?;
    problems.extend(sources::check(project, &files)?);
    problems.extend(links::check(project, &files)?);
    problems.extend(promises::check(project, &files)?);
    problems.extend(codegen::stale(project).map(|generated| {
        let what = "not what the code says; run `cargo xtask codegen` and commit what it writes";
        Problem::new(generated.file, 1, what)
    }));
    for problem in &problems {
        eprintln!("{problem}");
    }
    match problems.len() {
        0 => Ok(()),
        1 => Err(Failure::new("tidy found 1 problem")),
        many => Err(Failure::new(format!("tidy found {many} problems"))),
    }
}
