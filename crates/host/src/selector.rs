//! The trained selector on disk, the features that it is trained from, and its judgement for the gate.
//!
//! `.role-os/selector.json` is replaced in one step; a running process sees the new one before its next decision. Where
//! there is none, or none for the role, nothing is known about an input and the gate fails open.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use ::specialist::classifier::{Classifier, Embedding};
use ::specialist::registry::Version;
use selection::run_log::Record;
use selection::selector::book::Worse;
use selection::selector::examples::{Examples, Split};
use selection::selector::features::Line;
use selection::selector::{BadSelector, Book, Features, Selector};
use serde_json::Value;

use crate::files::{self, FileError, Lock, Privacy};
use crate::runs;
use crate::specialists::Stamp;
use crate::workspace::Workspace;

/// Largest selector that is read.
const MAX_SELECTOR: u64 = 1024 * 1024 * 1024;

/// Where the selector is.
#[must_use]
pub fn path(workspace: &Workspace) -> PathBuf {
    workspace.role_os_dir().join("selector.json")
}

/// Where the features are.
#[must_use]
pub fn features_path(workspace: &Workspace) -> PathBuf {
    workspace.role_os_dir().join("features.jsonl")
}

/// A selector that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SelectorError {
    /// The file.
    #[error(transparent)]
    File(#[from] FileError),
    /// Its content.
    #[error("cannot use `{}`", path.display())]
    Content {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: BadSelector,
    },
    /// It would be worse than the present one.
    #[error("the new selector is worse than the present one: {}", joined(.0))]
    Worse(Vec<Worse>),
}

fn joined(worse: &[Worse]) -> String {
    let all: Vec<String> = worse.iter().map(ToString::to_string).collect();
    all.join("; ")
}

/// Adds the features of one contest.
///
/// # Errors
/// The file cannot be locked or written.
pub fn append_features(path: &Path, line: &Line) -> Result<(), FileError> {
    let _alone = Lock::take(path)?;
    let text = format!("{}\n", line.to_line());
    files::append_line(path, &text, false).map(drop)
}

/// Reads a selector; nothing when there is none.
///
/// # Errors
/// It is there and cannot be used.
pub fn read(path: &Path) -> Result<Option<Book>, SelectorError> {
    let bytes = match files::read(path, MAX_SELECTOR) {
        Ok(bytes) => bytes,
        Err(error) if error.source.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let book = Book::parse(&bytes).map_err(|source| SelectorError::Content {
        path: path.to_owned(),
        source,
    })?;
    Ok(Some(book))
}

/// What there is to learn from.
#[derive(Debug)]
pub struct Lessons {
    /// Contests by role.
    pub roles: BTreeMap<String, Split>,
    /// Lines of the run log that belong to a contest.
    pub lines: u64,
    /// Contests that were found with their features.
    pub contests: u64,
    /// Lines of either file that could not be read.
    pub unreadable: u64,
}

/// Joins the run log with the features.
///
/// # Errors
/// One of the two files cannot be read.
pub fn lessons(log: &Path, features: &Path) -> Result<Lessons, FileError> {
    let mut examples = Examples::default();
    let mut unreadable = 0;
    runs::lines(log, |line| match Record::parse(line) {
        Ok(record) => examples.record(&record),
        Err(_) => unreadable += 1,
    })?;
    let most = selection::selector::features::MAX_LINE;
    runs::lines_up_to(features, most, |line| match Line::parse(line) {
        Ok(line) => examples.features(line),
        Err(_) => unreadable += 1,
    })?;
    let (lines, contests) = (examples.lines, examples.joined);
    Ok(Lessons {
        roles: examples.finish(),
        lines,
        contests,
        unreadable,
    })
}

/// What there is to learn from in a workspace.
///
/// # Errors
/// One of the files cannot be read.
pub fn lessons_of(workspace: &Workspace) -> Result<Lessons, FileError> {
    lessons(&runs::path(workspace), &features_path(workspace))
}

/// Puts a selector in its place, unless the present one is better and nobody insists. Says how many bytes it has.
///
/// # Errors
/// It would be worse, or the file cannot be read or written. The present one stays then. A present one that cannot be
/// used is replaced only when somebody insists.
pub fn replace(
    path: &Path,
    book: &Book,
    lessons: &Lessons,
    insist: bool,
) -> Result<usize, SelectorError> {
    let _alone = Lock::take(&path.with_added_extension("lock"))?;
    if !insist && let Some(present) = read(path)? {
        let worse = book.worse_than(&present, &lessons.roles);
        if !worse.is_empty() {
            return Err(SelectorError::Worse(worse));
        }
    }
    let text = book.to_json();
    files::write(path, text.as_bytes(), Privacy::Shared)?;
    Ok(text.len())
}

/// Judges inputs for the gate: by the caller's embedding where there is one, else by the trained selector.
#[derive(Debug)]
pub struct Judge {
    path: PathBuf,
    book: Mutex<Option<(Stamp, Arc<Book>)>>,
}

impl Judge {
    /// By the selector at this place; it need not be there yet.
    #[must_use]
    pub fn new(path: PathBuf) -> Self {
        Self {
            path,
            book: Mutex::default(),
        }
    }

    /// By the selector of a workspace.
    #[must_use]
    pub fn of(workspace: &Workspace) -> Self {
        Self::new(path(workspace))
    }

    /// The selectors as they are now; nothing when there are none.
    ///
    /// # Errors
    /// The file is there and cannot be used.
    pub fn book(&self) -> Result<Option<Arc<Book>>, SelectorError> {
        let stamp = Stamp::of(&self.path);
        let mut cache = self.book.lock().unwrap_or_else(PoisonError::into_inner);
        if let (Some(stamp), Some((known, book))) = (stamp, cache.as_ref())
            && stamp == *known
        {
            return Ok(Some(Arc::clone(book)));
        }
        let book = read(&self.path)?.map(Arc::new);
        *cache = stamp.zip(book.clone());
        Ok(book)
    }

    /// What the selector says of a version, when it was trained on the version's model in this role.
    fn ask<T>(
        &self,
        role: &str,
        version: &Version,
        ask: impl FnOnce(&Selector) -> T,
    ) -> Result<Option<T>, String> {
        let book = self.book().map_err(|error| said(&error))?;
        let selector = book.as_ref().and_then(|book| book.of(role));
        let knows = |selector: &&Selector| selector.models().contains(&version.model_id);
        Ok(selector.filter(knows).map(ask))
    }
}

/// An error with its cause.
fn said(error: &SelectorError) -> String {
    match error {
        SelectorError::File(error) => format!("{error}: {}", error.source),
        SelectorError::Content { source, .. } => format!("{error}: {source}"),
        SelectorError::Worse(_) => error.to_string(),
    }
}

impl Classifier for Judge {
    fn is_ood(&self, role: &str, input: &Value, version: &Version) -> Result<bool, String> {
        if Embedding::compares(input, version) {
            return Embedding.is_ood(role, input, version);
        }
        let features = Features::of_input(input, &[]);
        let familiar = self.ask(role, version, |selector| selector.familiar(&features))?;
        Ok(!familiar.unwrap_or(false))
    }

    fn score(&self, role: &str, input: &Value, version: &Version) -> Result<f64, String> {
        if Embedding::compares(input, version) {
            return Embedding.score(role, input, version);
        }
        let features = Features::of_input(input, &[]);
        let score = self.ask(role, version, |selector| {
            selector.score(&features, &version.model_id)
        })?;
        Ok(score.flatten().map_or(0.0, f64::from))
    }

    fn judge(
        &self,
        role: &str,
        input: &Value,
        version: &Version,
    ) -> Result<Option<Result<f64, String>>, String> {
        if Embedding::compares(input, version) {
            return Embedding.judge(role, input, version);
        }
        let features = Features::of_input(input, &[]);
        let found = self.ask(role, version, |selector| {
            let familiar = selector.familiar(&features);
            familiar.then(|| selector.score(&features, &version.model_id))
        })?;
        Ok(found
            .flatten()
            .map(|score| Ok(score.map_or(0.0, f64::from))))
    }
}

#[cfg(test)]
mod tests;
