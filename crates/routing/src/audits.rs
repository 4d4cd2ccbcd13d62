//! Records of exams on disk, `.role-os/audits/`: one file per version and exam, and the answers of an interrupted run,
//! so that it can be resumed.

use std::io;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use selection::audit::record::Measured;
use selection::audit::{AuditRecord, AuditSet, Case, Given};
use selection::manifest::Problem;
use selection::metric::Metric;
use selection::verifier::{Declared, Outcome};
use selection::{canonical, output, refusal};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use specialist::contract::read_text;

use crate::verifiers::{Subject, Verifiers};
use base::clock;
use base::files::{self, Action, FileError, Lock, Privacy};
use base::seals::Seals;
use base::trust::Doubt;

pub mod attempts;
pub mod kept;

/// Largest set and record that are read.
const MAX_FILE: u64 = 256 * 1024 * 1024;

/// Most records that are read.
const MAX_RECORDS: usize = 10_000;

/// Error of reading an audit set.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SetError {
    /// The file cannot be read.
    #[error(transparent)]
    File(#[from] FileError),
    #[error("cannot read `{}`: it is no JSON: {source}", path.display())]
    NotJson {
        path: PathBuf,
        /// Position and error.
        source: serde_json::Error,
    },
    /// It is not a valid set.
    #[error("the audit set `{}` is not valid", path.display())]
    Invalid {
        path: PathBuf,
        /// All problems.
        problems: Vec<Problem>,
    },
}

/// Reads an audit set.
///
/// # Errors
/// It cannot be read or is not valid.
pub fn read_set(path: &Path) -> Result<AuditSet, SetError> {
    read_set_as_written(path).map(|(set, _)| set)
}

/// Reads an audit set, and returns it as written as well.
///
/// # Errors
/// It cannot be read or is not valid.
pub fn read_set_as_written(path: &Path) -> Result<(AuditSet, Value), SetError> {
    let bytes = files::read(path, MAX_FILE)?;
    let value: Value = serde_json::from_slice(&bytes).map_err(|source| SetError::NotJson {
        path: path.to_owned(),
        source,
    })?;
    let set = AuditSet::parse(&value).map_err(|problems| SetError::Invalid {
        path: path.to_owned(),
        problems,
    })?;
    Ok((set, value))
}

/// Rules for scoring an exam.
#[derive(Clone, Copy, Debug)]
pub struct Examiner<'a> {
    pub verifiers: &'a Verifiers,
    /// The metric of an answer's value.
    pub metric: &'a Metric,
    /// Folder with the set's files.
    pub package: &'a Path,
    /// All cases of the set.
    pub cases: &'a [Case],
}

impl Examiner<'_> {
    /// Scores an answer; an error in place of an answer fails the case.
    #[must_use]
    pub fn judge(
        &self,
        index: usize,
        case: &Case,
        answer: Result<Value, String>,
        time_ms: u64,
    ) -> Given {
        let declared = Declared {
            kind: case.kind,
            config: case.config.clone(),
            format: None,
            package: Some(self.package.display().to_string()),
        };
        let mut grades_nothing = false;
        let (output, outcome, required) = match (answer, self.verifiers.ready(&declared)) {
            (Err(why), _) => (Value::Null, Outcome::Fail(why), Vec::new()),
            (Ok(output), Err(why)) => {
                let why = format!("the verifier cannot run: {why}");
                (output, Outcome::Fail(why), Vec::new())
            }
            (Ok(output), Ok(ready)) => {
                let subject = Subject {
                    output: &output,
                    input: &Value::String(case.input.clone()),
                };
                let outcome = self.verifiers.verify_ready(&ready, subject);
                let passes = |output: &Value| {
                    let other = Subject { output, ..subject };
                    self.verifiers.verify_ready(&ready, other).passed()
                };
                grades_nothing = outcome.passed()
                    && case.is_left_to_verifier()
                    && !self.knows_right_from_wrong(case, passes);
                (output, outcome, ready.required().to_vec())
            }
        };
        let text = match &output {
            Value::Null => String::new(),
            other => output::text(other).into_owned(),
        };
        let measured = Measured {
            outcome,
            refusal_penalty: refusal::penalty(&text, &required),
            time_ms,
            output_tokens: output::tokens(&text),
            output,
        };
        let mut given = Given::of(index, case, measured, self.metric);
        given.ungraded |= grades_nothing;
        given
    }

    /// Returns `true` if a verifier really checks the answer: one that passes anything does not. If the right answer is
    /// known, it must pass, and those of other cases must fail.
    fn knows_right_from_wrong(&self, case: &Case, passes: impl Fn(&Value) -> bool) -> bool {
        let fails_wrong = || !wrong_answers().iter().all(&passes);
        let fails_others = || {
            let others = case.others(self.cases);
            !others.iter().any(|other| passes(&read_text(other)))
        };
        let expected = case.expected_output.as_deref();
        fails_wrong() && expected.is_none_or(|own| passes(&read_text(own)) && fails_others())
    }
}

/// Returns answers that are wrong for every case.
fn wrong_answers() -> [Value; 2] {
    [json!({}), json!("no answer")]
}

/// Returns the path of a record: readable names, and a hash so that no two records share a file.
#[must_use]
pub fn record_path(folder: &Path, role: &str, version: &str, exam_hash: &str) -> PathBuf {
    let safe = |text: &str| -> String {
        let letters = text.chars().take(40);
        letters
            .map(|letter| {
                if letter.is_ascii_alphanumeric() {
                    letter
                } else {
                    '-'
                }
            })
            .collect()
    };
    let hash = canonical::hash(&json!([role, version, exam_hash]));
    let name = format!(
        "{}-{}.json",
        safe(version),
        hash.get(..12).unwrap_or_default()
    );
    folder.join(safe(role)).join(name)
}

/// Answers of an unfinished run, one per line, after a line that identifies the run.
#[derive(Debug)]
pub struct Unfinished {
    path: PathBuf,
    seals: Seals,
    head: String,
}

/// An answer of such a run, with its seal.
#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    #[serde(flatten)]
    given: Given,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    seal: Option<String>,
}

impl Kept {
    /// Returns the sealed text. It includes the exam, so that an answer to one does not count for another.
    fn covered(&self, head: &str) -> String {
        let given = serde_json::to_value(&self.given).unwrap_or_default();
        format!("{head}\n{}", canonical::text(&given))
    }
}

/// Kind of seal for answers of an unfinished run.
const UNFINISHED: &str = "audit answer";

/// Kind of seal for records.
const RECORD: &str = "audit record";

impl Unfinished {
    /// Opens the unfinished run of this exam under this metric, or begins a new one. Returns the answers so far, which
    /// do not count for a new run.
    ///
    /// # Errors
    /// The file cannot be read or written.
    pub fn open(
        seals: &Seals,
        record: &Path,
        set: &AuditSet,
        metric: &Metric,
        anew: bool,
    ) -> Result<(Self, Vec<Given>), FileError> {
        let path = record.with_extension("partial.jsonl");
        files::make_directory(files::parent(&path), Privacy::Shared)?;
        let head = json!({ "exam": set.exam_hash, "metric": metric.hash() }).to_string();
        let text = match files::read(&path, MAX_FILE) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(error) if error.source.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(error),
        };
        let mut lines = text.lines();
        if lines.next() == Some(head.as_str()) {
            let counts = |kept: &Kept| {
                let covered = kept.covered(&head);
                let found = seals.check(UNFINISHED, covered.as_bytes(), kept.seal.as_deref());
                found.is_ok()
            };
            let mut done: Vec<Given> = lines
                .filter_map(|line| serde_json::from_str(line).ok())
                .filter(counts)
                .map(|kept| kept.given)
                .collect();
            done.retain(|given| given.index < set.cases.len());
            done.sort_by_key(|given| given.index);
            done.dedup_by_key(|given| given.index);
            let seals = seals.clone();
            if anew {
                files::write(&path, format!("{head}\n").as_bytes(), Privacy::Shared)?;
            }
            return Ok((Self { path, seals, head }, done));
        }
        files::write(&path, format!("{head}\n").as_bytes(), Privacy::Shared)?;
        let seals = seals.clone();
        Ok((Self { path, seals, head }, Vec::new()))
    }

    /// Returns the time of the last stored answer, in nanoseconds since 1970; `None` if unknown.
    #[must_use]
    pub fn last_ns(record: &Path) -> Option<u64> {
        let facts = files::metadata(&record.with_extension("partial.jsonl")).ok()?;
        let since = facts.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
        u64::try_from(since.as_nanos()).ok()
    }

    /// Stores one more answer.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn add(&self, given: &Given) -> Result<(), FileError> {
        let mut kept = Kept {
            given: given.clone(),
            seal: None,
        };
        kept.seal = self
            .seals
            .seal(UNFINISHED, kept.covered(&self.head).as_bytes());
        let line = serde_json::to_string(&kept).unwrap_or_default();
        let _alone = Lock::take(&self.path)?;
        files::append_line(&self.path, &format!("{line}\n"), false).map(drop)
    }

    /// Removes the answers, which are in the record now.
    pub fn finish(self) {
        // A file left behind is used by another run of the same exam only if it is unfinished.
        files::remove_file(&self.path).ok();
    }
}

/// Checks that `roleos` wrote a record, if only such records count.
///
/// # Errors
/// The record does not count; the error is the reason.
pub fn check(seals: &Seals, record: &AuditRecord) -> Result<(), Doubt> {
    let text = record.sealed_text();
    seals.check(RECORD, text.as_bytes(), record.seal.as_deref())?;
    let mark = canonical::hash_bytes(text.as_bytes());
    seals.check_newest(&head_name(record), &[&mark])
}

/// Returns the name under which the newest record of a version's exam is stored.
fn head_name(record: &AuditRecord) -> String {
    let AuditRecord {
        role,
        version,
        exam_hash,
        ..
    } = record;
    json!([RECORD, role, version, exam_hash]).to_string()
}

/// Seals a record and writes it.
///
/// # Errors
/// It cannot be written.
pub fn save(seals: &Seals, path: &Path, record: &AuditRecord) -> Result<(), FileError> {
    let sealed = record.sealed_text();
    let record = AuditRecord {
        seal: seals.seal(RECORD, sealed.as_bytes()),
        ..record.clone()
    };
    files::make_directory(files::parent(path), Privacy::Shared)?;
    let mut text = serde_json::to_string_pretty(&record).unwrap_or_default();
    text.push('\n');
    let mark = canonical::hash_bytes(sealed.as_bytes());
    seals.replace(&head_name(&record), &mark, || {
        files::write(path, text.as_bytes(), Privacy::Shared)
    })
}

/// Reads one record.
///
/// # Errors
/// It cannot be read or is not a record.
pub fn read(path: &Path) -> Result<AuditRecord, FileError> {
    let bytes = files::read(path, MAX_FILE)?;
    serde_json::from_slice(&bytes).map_err(|error| {
        let source = io::Error::new(
            io::ErrorKind::InvalidData,
            format!("it is no audit record: {error}"),
        );
        FileError::new(Action::Read, path, source)
    })
}

/// Lists all records, oldest first. Other files are skipped.
#[must_use]
pub fn all(folder: &Path) -> Vec<(PathBuf, AuditRecord)> {
    let found = walkdir::WalkDir::new(folder)
        .max_depth(3)
        .follow_links(false);
    let is_record = |path: &Path| path.extension().is_some_and(|ending| ending == "json");
    let mut records: Vec<(PathBuf, AuditRecord)> = found
        .sort_by_file_name()
        .into_iter()
        .filter_entry(|entry| entry.file_name() != kept::FOLDER)
        .flatten()
        .filter(|entry| entry.file_type().is_file() && is_record(entry.path()))
        .take(MAX_RECORDS)
        .filter_map(|entry| Some((entry.path().to_owned(), read(entry.path()).ok()?)))
        .collect();
    // Not as text: a time with fewer digits would sort after one with more.
    records.sort_by_cached_key(|(_, record)| clock::parse(&record.finished_at));
    records
}

/// A record that was scored again.
#[derive(Clone, Debug, PartialEq)]
pub struct Rescored {
    pub role: String,
    pub version: String,
    pub exam_hash: String,
    /// The mean value under the metric of its time.
    pub before: f64,
    /// The mean value under the new metric.
    pub after: f64,
}

/// Scores every record again under a metric and stores both scores.
///
/// # Errors
/// A record cannot be written.
pub fn rescore(seals: &Seals, folder: &Path, metric: &Metric) -> Result<Vec<Rescored>, FileError> {
    let mut rescored = Vec::new();
    for (path, mut record) in all(folder) {
        // A record that does not count stays as it is, so that it does not count afterwards either.
        if check(seals, &record).is_err() {
            continue;
        }
        let (before, after) = record.rescore(metric);
        save(seals, &path, &record)?;
        rescored.push(Rescored {
            role: record.role,
            version: record.version,
            exam_hash: record.exam_hash,
            before,
            after,
        });
    }
    Ok(rescored)
}

/// Returns pairs of versions of one role and exam whose order the new metric reverses.
#[must_use]
pub fn turned(rescored: &[Rescored]) -> Vec<(&Rescored, &Rescored)> {
    let mut turned = Vec::new();
    for (at, one) in rescored.iter().enumerate() {
        for other in rescored.iter().skip(at + 1) {
            let comparable = one.role == other.role && one.exam_hash == other.exam_hash;
            if comparable && (one.before - other.before) * (one.after - other.after) < 0.0 {
                turned.push((one, other));
            }
        }
    }
    turned
}

#[cfg(test)]
mod tests;
