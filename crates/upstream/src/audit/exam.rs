//! One exam of one version through its real backend: sent, verified and recorded. Resumes an interrupted exam.
//!
//! The command line and the process of `up` both take exams here, so that they are equivalent.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;

use base::clock;
use base::config::Config;
use base::files::FileError;
use base::workspace::Workspace;
use routing::audits::attempts::Attempts;
use routing::audits::{self, Examiner, SetError, Unfinished, kept};
use routing::events;
use routing::metrics::{self, MetricError};
use routing::specialists::Specialists;
use routing::verifiers::Verifiers;
use selection::audit::record::{Attempt, Whose};
use selection::audit::{AuditRecord, AuditSet, Given};
use selection::canonical;
use selection::event::Event;
use selection::metric::Metric;
use serde_json::Value;
use specialist::contract::Call;
use specialist::registry::{Entry, Version};

use super::{Reply, ask_all, is_unreached};
use crate::backend::{Backends, Limits};
use crate::blocking;

/// Default number of cases that are sent at the same time.
pub const DEFAULT_JOBS: u16 = 4;

/// Most threads that verify.
const MAX_VERIFYING: usize = 8;

/// Input of one exam.
pub struct Exam<'a> {
    pub workspace: &'a Workspace,
    /// Settings.
    pub config: &'a Config,
    /// The specialists, with the records.
    pub specialists: &'a Specialists,
    /// The set of cases.
    pub set: AuditSet,
    /// The set as written, if it is to be stored.
    pub written: Option<Value>,
    /// Folder with its files.
    pub package: PathBuf,
    /// Metric of an answer's value.
    pub metric: Metric,
    /// Cases that are sent at the same time.
    pub jobs: u16,
    /// Set to start over, also after an interrupted run.
    pub fresh: bool,
    /// Called after every case with the number done; returns `false` to abort the exam.
    pub goes_on: &'a (dyn Fn(usize) -> bool + Sync),
}

impl std::fmt::Debug for Exam<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Exam").finish_non_exhaustive()
    }
}

#[derive(Debug)]
pub struct Taken {
    /// The result.
    pub record: AuditRecord,
    /// Cases that were answered before.
    pub resumed: usize,
    /// Path of the record.
    pub path: PathBuf,
}

/// Reason why there is no record.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExamError {
    #[error(transparent)]
    File(#[from] FileError),
    #[error(transparent)]
    Set(#[from] SetError),
    #[error(transparent)]
    Metric(#[from] MetricError),
    /// The backend was not reached, or the exam was interrupted.
    #[error("the audit of `{subject}` was broken off after {done} of {cases} cases: {why}")]
    Incomplete {
        /// Role and version.
        subject: String,
        /// Number of answered and stored cases.
        done: usize,
        cases: usize,
        why: String,
    },
    #[error("cannot ask: {0}")]
    Machine(#[from] io::Error),
}

impl<'a> Exam<'a> {
    /// Opens an exam with a set from a file.
    pub fn open(
        workspace: &'a Workspace,
        config: &'a Config,
        specialists: &'a Specialists,
        set: &Path,
    ) -> Result<Self, ExamError> {
        let package = set.parent().filter(|folder| !folder.as_os_str().is_empty());
        let package = package.unwrap_or(Path::new(".")).to_owned();
        let (set, written) = audits::read_set_as_written(set)?;
        Ok(Self {
            workspace,
            config,
            specialists,
            set,
            written: Some(written),
            package,
            metric: metrics::current(workspace)?.metric,
            jobs: DEFAULT_JOBS,
            fresh: false,
            goes_on: &|_| true,
        })
    }

    /// Returns the path of a version's record.
    #[must_use]
    pub fn path(&self, entry: &Entry, version: &Version) -> PathBuf {
        let folder = &self.specialists.paths().audits;
        audits::record_path(folder, &entry.role, &version.id, &self.set.exam_hash)
    }

    /// Returns a version's existing record of this exam, or takes the exam.
    pub fn taken(&self, entry: &Entry, version: &Version) -> Result<AuditRecord, ExamError> {
        let path = self.path(entry, version);
        if path.exists() {
            let record = audits::read(&path)?;
            let is_of_it = record
                .subject
                .as_ref()
                .is_none_or(|one| *one == entry.subject(version));
            if is_of_it && audits::check(self.specialists.seals(), &record).is_ok() {
                return Ok(record);
            }
        }
        Ok(self.take(entry, version, None)?.record)
    }

    /// Sends the unanswered cases, and writes the record when all are answered. Must not be called from async code.
    ///
    /// # Errors
    /// The backend cannot be reached, or a file cannot be written; answers are kept.
    pub fn take(
        &self,
        entry: &Entry,
        version: &Version,
        baseline: Option<&AuditRecord>,
    ) -> Result<Taken, ExamError> {
        let path = self.path(entry, version);
        if let Some(written) = &self.written {
            let paths = self.specialists.paths();
            kept::keep(paths, &self.set.exam_hash, written, &self.package)?;
        }
        let seals = self.specialists.seals();
        let subject = entry.subject(version);
        let now = || clock::text(clock::now_ns() / 1_000_000 * 1_000_000);
        let identity = entry.identity(version);
        let records = &self.specialists.paths().audits;
        let mut attempts = Attempts::of(seals, records, (&entry.role, &version.id, &identity));
        let (unfinished, mut answers) =
            Unfinished::open(seals, &path, &self.set, &self.metric, self.fresh)?;
        if self.fresh {
            let dropped = std::mem::take(&mut answers);
            let subject = (identity.as_str(), version.id.as_str());
            attempts.add(Attempt::of(&self.set, &dropped, subject, &now()))?;
        }
        let resumed = answers.len();
        let answered = self.ask(entry, version, &unfinished, &answers)?;
        answers.extend(answered);
        answers.sort_by_key(|given| given.index);
        let whose = Whose {
            role: &entry.role,
            version: &version.id,
            model_id: &version.model_id,
            subject: &subject,
            identity: &identity,
            finished_at: &now(),
        };
        let record = {
            let margin = self.config.selection.exam_margin.get();
            let baseline = baseline.map(|before| (before, margin));
            AuditRecord::of(whose, &self.set, &self.metric, answers, baseline)
        };
        let record = record.after(attempts.so_far().to_vec());
        if let Some(own) = record.attempts.last() {
            attempts.add(own.clone())?;
        }
        audits::save(seals, &path, &record)?;
        unfinished.finish();
        Ok(Taken {
            record,
            resumed,
            path,
        })
    }

    /// Returns the remaining cases; `done` is in the order of the cases.
    fn calls(&self, entry: &Entry, version: &Version, done: &[Given]) -> Vec<(usize, Call)> {
        let exam = self.set.exam_hash.get(..12).unwrap_or_default();
        let cases = self.set.cases.iter().enumerate();
        cases
            .filter(|(index, _)| {
                done.binary_search_by_key(index, |given| given.index)
                    .is_err()
            })
            .map(|(index, case)| {
                let input = specialist::contract::read_text(&case.input);
                let trace = format!("audit-{exam}-{index}");
                (index, Call::new(entry, version, &input, &trace))
            })
            .collect()
    }

    /// Sends the cases. Replies arrive on this thread and are verified on others, so that a slow verifier does not
    /// affect measured times.
    fn ask(
        &self,
        entry: &Entry,
        version: &Version,
        unfinished: &Unfinished,
        done: &[Given],
    ) -> Result<Vec<Given>, ExamError> {
        let calls = self.calls(entry, version, done);
        let verifiers = Verifiers::new(&self.config.selection);
        let examiner = Examiner {
            verifiers: &verifiers,
            metric: &self.metric,
            package: &self.package,
            cases: &self.set.cases,
        };
        let finished = AtomicUsize::new(done.len());
        let (sender, receiver) = mpsc::channel::<Reply>();
        let receiver = Mutex::new(receiver);
        let judged: Mutex<Result<Vec<Given>, ExamError>> = Mutex::new(Ok(Vec::new()));
        let next = || {
            let receiver = receiver.lock().unwrap_or_else(PoisonError::into_inner);
            receiver.recv().ok()
        };
        let work = || {
            while let Some(reply) = next() {
                let outcome = self.judge(&examiner, entry, version, unfinished, reply);
                let mut judged = judged.lock().unwrap_or_else(PoisonError::into_inner);
                match (outcome, &mut *judged) {
                    (Ok(Some(given)), Ok(all)) => all.push(given),
                    (Err(failure), all @ Ok(_)) => *all = Err(failure),
                    _ => {}
                }
                (self.goes_on)(finished.fetch_add(1, Ordering::Relaxed) + 1);
            }
        };
        let backends = Backends::new(Limits::from(&self.config.specialist));
        let verifying = self.config.witness.thread_count().get().min(MAX_VERIFYING);
        let asked = thread::scope(|scope| {
            for _ in 0..verifying.min(usize::from(self.jobs).max(1)) {
                scope.spawn(work);
            }
            let mut broken_off = None;
            let jobs = usize::from(self.jobs);
            let asking = ask_all(&backends, calls, jobs, |reply| match &reply.answer {
                Err(error) if is_unreached(error) => {
                    // If no server answered, both are equal.
                    broken_off = Some(match error.detail == error.error {
                        true => error.detail.clone(),
                        false => format!("{}: {}", error.error, error.detail),
                    });
                    false
                }
                _ if !(self.goes_on)(finished.load(Ordering::Relaxed)) => {
                    broken_off = Some("it was stopped".to_owned());
                    false
                }
                _ => sender.send(reply).is_ok(),
            });
            let ran = blocking::run(asking);
            drop(sender);
            ran.map(|()| broken_off)
        });
        let judged = judged
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)?;
        match asked? {
            None => Ok(judged),
            Some(why) => Err(ExamError::Incomplete {
                subject: format!("{}/{}", entry.role, version.id),
                done: done.len() + judged.len(),
                cases: self.set.cases.len(),
                why,
            }),
        }
    }

    fn judge(
        &self,
        examiner: &Examiner<'_>,
        entry: &Entry,
        version: &Version,
        unfinished: &Unfinished,
        reply: Reply,
    ) -> Result<Option<Given>, ExamError> {
        let Some(case) = self.set.cases.get(reply.index) else {
            return Ok(None);
        };
        let answer = reply
            .answer
            .map_err(|error| format!("{}: {}", error.error, error.detail));
        let given = examiner.judge(reply.index, case, answer, reply.time_ms);
        unfinished.add(&given)?;
        let told = [
            Event::InferRequest {
                role: entry.role.clone(),
                prompt_hash: canonical::hash_bytes(case.input.as_bytes()),
            },
            Event::InferResult {
                model_id: version.model_id.clone(),
                time_ms: given.time_ms,
                tokens: given.output_tokens,
                output_hash: given.output_hash.clone(),
                verifier_score: u8::from(given.passed()),
            },
        ];
        events::emit(&events::path(self.workspace), &told)?;
        Ok(Some(given))
    }
}
