//! The trained selector on disk, the features that it is trained from, and its verdict for the gate.
//!
//! `.role-os/selector.json` is replaced atomically; a running process sees the new one before its next decision. If
//! there is none, or it does not know the role or the version, the gate fails open and reports the remedy.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use ::specialist::classifier::{Classifier, Embedding, Familiarity, Fit, Verdict};
use ::specialist::registry::Version;
use selection::canonical;
use selection::run_log::Record;
use selection::selector::book::Worse;
use selection::selector::evaluation::{Evaluation, THRESHOLD};
use selection::selector::examples::{Examples, Split};
use selection::selector::features::Line;
use selection::selector::{BadSelector, Book, Features, Known, LEAST_LABELS};
use serde_json::Value;

use crate::feedback;
use crate::runs;
use crate::specialists::Stamp;
use base::files::{self, FileError, Lock, Privacy};
use base::seals::Seals;
use base::trust::Doubt;
use base::workspace::Workspace;

/// Largest selector that is read.
const MAX_SELECTOR: u64 = 1024 * 1024 * 1024;

/// Returns the path of the selector.
#[must_use]
pub fn path(workspace: &Workspace) -> PathBuf {
    workspace.role_os_dir().join("selector.json")
}

#[must_use]
pub fn features_path(workspace: &Workspace) -> PathBuf {
    workspace.role_os_dir().join("features.jsonl")
}

/// Error of using a selector.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SelectorError {
    /// A file operation failed.
    #[error(transparent)]
    File(#[from] FileError),
    /// Another program than `roleos` wrote it.
    #[error("the selector `{}` is not used: {doubt}", path.display())]
    Doubted {
        path: PathBuf,
        /// Reason.
        doubt: Doubt,
    },
    /// Its content is invalid.
    #[error("cannot use `{}`", path.display())]
    Content {
        path: PathBuf,
        /// Reason.
        source: BadSelector,
    },
    /// The log with the training data was changed.
    #[error("cannot learn from the run log: {0}")]
    BrokenLog(String),
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

/// Name under which the newest selector is recorded.
const NAME: &str = "selector";

/// Reads a selector; `None` if there is none.
///
/// # Errors
/// It exists and cannot be used, or another program than `roleos` wrote it, if only sealed ones count.
pub fn read(workspace: &Workspace) -> Result<Option<Book>, SelectorError> {
    load(&Seals::of(workspace), &path(workspace))
}

fn load(seals: &Seals, path: &Path) -> Result<Option<Book>, SelectorError> {
    let bytes = match files::read(path, MAX_SELECTOR) {
        Ok(bytes) => bytes,
        Err(error) if error.source.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    check(seals, &bytes).map_err(|doubt| SelectorError::Doubted {
        path: path.to_owned(),
        doubt,
    })?;
    let book = Book::parse(&bytes).map_err(|source| SelectorError::Content {
        path: path.to_owned(),
        source,
    })?;
    Ok(Some(book))
}

/// Checks that `roleos` wrote this selector last, if only sealed ones count.
fn check(seals: &Seals, bytes: &[u8]) -> Result<(), Doubt> {
    if !seals.is_enforced() {
        return Ok(());
    }
    let known = seals.marks(NAME)?;
    match known.contains(&canonical::hash_bytes(bytes)) {
        true => Ok(()),
        false if known.is_empty() => Err(Doubt::NotConfirmed),
        false => Err(Doubt::Changed),
    }
}

/// Training data.
#[derive(Debug)]
pub struct Lessons {
    /// Contests by role.
    pub roles: BTreeMap<String, Split>,
    /// Lines of the run log that belong to a contest.
    pub lines: u64,
    /// Contests with features that are useful for training.
    pub contests: u64,
    /// Contests without a label for any answer.
    pub without_reference: u64,
    /// Answers with feedback of a user that counts.
    pub feedback: u64,
    /// Unreadable lines of a file, and feedback lines with broken links.
    pub unreadable: u64,
}

/// Joins the run log with the features.
///
/// # Errors
/// One of the two files cannot be read.
pub fn lessons(log: &Path, features: &Path) -> Result<Lessons, FileError> {
    gather(log, features, None)
}

fn gather(log: &Path, features: &Path, said: Option<&Path>) -> Result<Lessons, FileError> {
    let mut examples = Examples::default();
    let mut unreadable = 0;
    runs::lines(log, |line| match Record::parse(line) {
        Ok(record) => examples.record(&record),
        Err(_) => unreadable += 1,
    })?;
    let mut counted = 0;
    if let Some(path) = said {
        let (opinions, passed_over) = feedback::opinions(path)?;
        unreadable += passed_over;
        counted = examples
            .bounded(opinions)
            .into_iter()
            .map(|opinion| u64::from(examples.feedback(opinion)))
            .sum();
    }
    let most = selection::selector::features::MAX_LINE;
    runs::lines_up_to(features, most, |line| match Line::parse(line) {
        Ok(line) => examples.features(line),
        Err(_) => unreadable += 1,
    })?;
    let (lines, contests) = (examples.lines, examples.joined);
    let without_reference = examples.without_reference;
    Ok(Lessons {
        roles: examples.finish(),
        lines,
        contests,
        without_reference,
        feedback: counted,
        unreadable,
    })
}

/// Reads the training data of a workspace: the run log, feedback of users, and the features.
///
/// # Errors
/// One of the files cannot be read, or the run log has a broken chain or a wrong reward.
pub fn lessons_of(workspace: &Workspace) -> Result<Lessons, SelectorError> {
    let log = runs::path(workspace);
    let (_, bad) = runs::verify(&Seals::of(workspace), &log, runs::metrics(workspace)?)?;
    if let Some(first) = bad.first() {
        let why = format!("line {}: {}", first.line, first.reason);
        return Err(SelectorError::BrokenLog(why));
    }
    let said = feedback::path(workspace);
    Ok(gather(&log, &features_path(workspace), Some(&said))?)
}

/// Replaces the selector, unless the present one is better and `insist` is not set. Returns the size in bytes.
///
/// # Errors
/// It would be worse, or the file cannot be read or written. The present one stays then. A damaged one is replaced only
/// if `insist` is set; one in an older format or of another program than `roleos` always.
pub fn replace(
    workspace: &Workspace,
    book: &Book,
    lessons: &Lessons,
    insist: bool,
) -> Result<usize, SelectorError> {
    let (seals, path) = (Seals::of(workspace), path(workspace));
    let _alone = Lock::take(&path.with_added_extension("lock"))?;
    let present = match load(&seals, &path) {
        Ok(present) => present,
        Err(SelectorError::Content {
            source: BadSelector::Old(_),
            ..
        })
        | Err(SelectorError::Doubted { .. }) => None,
        Err(_) if insist => None,
        Err(error) => return Err(error),
    };
    if let Some(present) = present.filter(|_| !insist) {
        let worse = book.worse_than(&present, &lessons.roles);
        if !worse.is_empty() {
            return Err(SelectorError::Worse(worse));
        }
    }
    let text = book.to_json();
    let mark = canonical::hash_bytes(text.as_bytes());
    seals.replace(NAME, &mark, || {
        files::write(&path, text.as_bytes(), Privacy::Shared)
    })?;
    Ok(text.len())
}

/// Classifier of inputs for the gate: by the caller's embedding if there is one, else by the trained selector.
#[derive(Debug)]
pub struct Judge {
    path: PathBuf,
    log: PathBuf,
    seals: Seals,
    book: Mutex<Option<(Stamp, Arc<Book>)>>,
}

impl Judge {
    /// Uses the selector of a workspace, which need not exist yet.
    #[must_use]
    pub fn of(workspace: &Workspace) -> Self {
        Self {
            path: path(workspace),
            log: runs::path(workspace),
            seals: Seals::of(workspace),
            book: Mutex::default(),
        }
    }

    /// Returns the current selectors; `None` if there are none.
    ///
    /// # Errors
    /// The file exists and cannot be used.
    pub fn book(&self) -> Result<Option<Arc<Book>>, SelectorError> {
        let stamp = Stamp::of(&self.path);
        let mut cache = self.book.lock().unwrap_or_else(PoisonError::into_inner);
        if let (Some(stamp), Some((known, book))) = (stamp, cache.as_ref())
            && stamp == *known
        {
            return Ok(Some(Arc::clone(book)));
        }
        let book = load(&self.seals, &self.path)?.map(Arc::new);
        *cache = stamp.zip(book.clone());
        Ok(book)
    }

    /// Returns the verdict of the trained selector on each version.
    fn trained(&self, role: &str, input: &Value, versions: &[&Version]) -> Vec<Verdict> {
        let book = match self.book() {
            Ok(book) => book,
            Err(error) => {
                let unknown = |_: &&Version| Verdict::Damaged(said(&error));
                return versions.iter().map(unknown).collect();
            }
        };
        let not_trained = |version: &Version| Verdict::NotTrained(next_step(role, &version.id));
        let Some(selector) = book.as_ref().and_then(|book| book.of(role)) else {
            return versions.iter().map(|one| not_trained(one)).collect();
        };
        let features = Features::of_input(input);
        let judged = selector.judge(&features);
        let familiarity = Familiarity {
            share: judged.familiarity(),
            from: selector.familiar_from(),
        };
        let one = |version: &&Version| match judged.score(&version.id) {
            None => not_trained(version),
            Some(_) if !judged.is_familiar() => Verdict::Unfamiliar(Some(familiarity)),
            Some(score) => Verdict::Scored(Fit {
                score: score.probability,
                reward: score.reward,
                familiarity: Some(familiarity),
            }),
        };
        versions.iter().map(one).collect()
    }

    /// Returns the missing condition under which the gate can send inputs to a version; `None` if all are met.
    #[must_use]
    pub fn missing(&self, role: &str, version: &Version) -> Option<String> {
        if version.exam_centroid.is_some() {
            return None;
        }
        let book = match self.book() {
            Ok(book) => book,
            Err(error) => return Some(said(&error)),
        };
        let trained = book.as_ref().and_then(|book| book.roles().get(role));
        let known = trained.and_then(|trained| {
            let mut versions = trained.selector.versions().iter();
            Some((versions.find(|known| known.version == version.id)?, trained))
        });
        let Some((known, trained)) = known else {
            let labelled = runs::labelled(&self.log, role, &version.id).unwrap_or(0);
            if labelled >= LEAST_LABELS {
                let id = &version.id;
                return Some(format!(
                    "`{id}` was in {labelled} contests of which the selector knows nothing yet: run `roleos selector train`"
                ));
            }
            return Some(next_step(role, &version.id));
        };
        low(known, &trained.evaluation, version).map(|why| {
            format!(
                "{why}: `roleos selector calibrate {role:?}` shows what each threshold brings, and `roleos dispatch {role:?} --learn --cases SET` teaches it more"
            )
        })
    }
}

/// Returns the reason if no input is expected to reach the threshold of a version.
fn low(known: &Known, evaluation: &Evaluation, version: &Version) -> Option<String> {
    let (id, threshold) = (&version.id, version.gate_threshold);
    if known.highest() < threshold {
        return Some(format!(
            "`{id}` scores {:.2} at most, and its threshold is {threshold:.2}",
            known.highest()
        ));
    }
    let nothing = evaluation.contests > 0 && evaluation.routed == 0;
    (nothing && threshold >= THRESHOLD).then(|| {
        format!(
            "none of {} held-out inputs reached a score of {THRESHOLD:.2}, and the threshold of `{id}` is {threshold:.2}",
            evaluation.contests
        )
    })
}

/// Returns a sentence with the remedy for a version without training data.
#[must_use]
pub fn next_step(role: &str, version: &str) -> String {
    format!(
        "`{version}` has no training data: run `roleos dispatch {role:?} --learn --cases SET` with {LEAST_LABELS} known right answers or more, then `roleos selector train`"
    )
}

/// Formats an error with its cause.
fn said(error: &SelectorError) -> String {
    match error {
        SelectorError::File(error) => format!("{error}: {}", error.source),
        SelectorError::Content {
            source: source @ BadSelector::Old(_),
            ..
        } => format!("{error}: {source}"),
        SelectorError::Content { source, .. } => format!(
            "{error}: {source}; `roleos selector train --force` makes a new one from the log"
        ),
        SelectorError::Doubted { .. } => {
            format!("{error}; `roleos selector train` makes a new one")
        }
        SelectorError::BrokenLog(_) | SelectorError::Worse(_) => error.to_string(),
    }
}

impl Classifier for Judge {
    fn is_ood(&self, role: &str, input: &Value, version: &Version) -> Result<bool, String> {
        match self.judge(role, input, &[version]).pop() {
            Some(Verdict::OodUnknown(why) | Verdict::Damaged(why)) => Err(why),
            Some(Verdict::Scored(_) | Verdict::ScoreUnknown(_)) => Ok(false),
            _ => Ok(true),
        }
    }

    fn score(&self, role: &str, input: &Value, version: &Version) -> Result<f64, String> {
        match self.judge(role, input, &[version]).pop() {
            Some(Verdict::OodUnknown(why) | Verdict::ScoreUnknown(why) | Verdict::Damaged(why)) => {
                Err(why)
            }
            Some(Verdict::Scored(fit)) => Ok(fit.score),
            _ => Ok(0.0),
        }
    }

    fn judge(&self, role: &str, input: &Value, versions: &[&Version]) -> Vec<Verdict> {
        let compares = |version: &Version| Embedding::compares(input, version);
        if !versions.iter().any(|version| compares(version)) {
            return self.trained(role, input, versions);
        }
        let own = Embedding.judge(role, input, versions);
        let both = own.into_iter().zip(self.trained(role, input, versions));
        let choose = |(version, (own, trained)): (&&Version, (Verdict, Verdict))| {
            if compares(version) { own } else { trained }
        };
        versions.iter().zip(both).map(choose).collect()
    }
}

#[cfg(test)]
mod tests;
