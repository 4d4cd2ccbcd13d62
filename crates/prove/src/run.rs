//! A run of an agent over a suite: trials by several threads, a journal of their progress, and sealing as they end. A
//! killed run resumes.

mod folder;
mod history;

use std::fs;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use base::files::{self, FileError, Lock, Privacy};
use evidence::store::{Store, StoreError};
use serde::{Deserialize, Serialize};
use witness::wire::Mode;

use crate::grade::Cause;
use crate::lab::Lab;
use crate::pool;
use crate::seal::{self, SealedTrial};
use crate::suite::{Member, Suite};
use crate::trial::{self, Rules, TrialRecord};

pub use folder::RunFolder;
use folder::{Line, name};
pub use history::{comparable, counts, list, load};

/// Consecutive trials with the same fault after which no more are started.
const BREAKER: u64 = 3;
/// Largest journal that is read.
const MAX_JOURNAL: u64 = 256 << 20;

/// Identity of a run: written once, compared when it is resumed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunFacts {
    /// Its name.
    pub run: String,
    /// Folder of the suite.
    pub suite: String,
    pub suite_name: String,
    pub suite_digest: String,
    /// Ids of the tasks.
    pub tasks: Vec<String>,
    /// The agent, as named by the user.
    pub agent: String,
    /// Name of the agent for people.
    pub agent_name: String,
    /// Set if the run is only about the harness.
    pub harness_check: bool,
    /// Mode by name.
    pub mode: String,
    /// Hash of its policy.
    pub policy: String,
    /// Confirmation of calls in approved mode; empty in other modes.
    #[serde(default)]
    pub confirm: String,
    /// Name of the model, as given.
    #[serde(default)]
    pub model: String,
    /// Date up to which the model may know fixes, as given.
    #[serde(default)]
    pub cutoff: String,
    /// Attempts per task.
    pub attempts: u32,
    /// Version of this program.
    pub tool: String,
    /// Implementation of the boxes.
    pub sandbox: String,
    /// Decision about programs that an agent starts.
    pub governance: String,
    /// Start time.
    pub created: String,
}

/// Reason why a run cannot continue.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// A file operation failed.
    #[error(transparent)]
    File(#[from] FileError),
    /// A file operation of a trial failed.
    #[error("a file of the run cannot be written: {0}")]
    Io(#[from] io::Error),
    /// A bundle could not be stored.
    #[error("a trial cannot be sealed: {0}")]
    Store(#[from] StoreError),
    /// The run is another one.
    #[error("the run `{0}` is of another suite, agent, mode or version")]
    Other(String),
    /// There is no such run.
    #[error("there is no run `{0}`")]
    Missing(String),
}

/// Options and resources of a run.
#[derive(Debug)]
pub struct Runner<'a> {
    pub suite: &'a Suite,
    /// The selected tasks.
    pub members: Vec<&'a Member>,
    /// Repositories and environments.
    pub lab: &'a Lab,
    /// The agent and its rules.
    pub rules: Rules,
    /// Identity of the run.
    pub facts: RunFacts,
    /// Its files.
    pub folder: RunFolder,
    /// Store for the bundles.
    pub store: &'a Store,
    /// Concurrent trials.
    pub jobs: usize,
    /// Cost limit, in millionths of a dollar.
    pub max_cost: Option<u64>,
}

/// Result of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Trials that were not started.
    pub not_started: usize,
    /// Reason.
    pub stopped: Option<String>,
}

/// State shared by threads.
struct Shared {
    journal: Mutex<()>,
    done: AtomicUsize,
    running: AtomicU64,
    spent: AtomicU64,
    faults: AtomicU64,
    is_stopped: AtomicBool,
}

impl Runner<'_> {
    /// Runs all trials that are not done. `told` is called with the number of done ones, and the last one.
    ///
    /// # Errors
    /// The run is another one, or its files or bundles cannot be written.
    pub fn run(&self, told: &(dyn Fn(usize, &TrialRecord) + Sync)) -> Result<Progress, RunError> {
        let attempts = 1..=self.facts.attempts;
        let trials =
            attempts.flat_map(|attempt| self.members.iter().map(move |member| (*member, attempt)));
        self.run_trials(&trials.collect::<Vec<_>>(), told)
    }

    /// Makes fresh attempts at tasks, beyond those of the run. They are sealed, and do not count in its report.
    ///
    /// # Errors
    /// Files or bundles of the run cannot be written.
    pub fn recheck(
        &self,
        tasks: &[String],
        times: u32,
        told: &(dyn Fn(usize, &TrialRecord) + Sync),
    ) -> Result<Progress, RunError> {
        let attempts = self.facts.attempts + 1..=self.facts.attempts + times;
        let members = self
            .members
            .iter()
            .filter(|member| tasks.contains(&member.task.id));
        let trials =
            members.flat_map(|member| attempts.clone().map(move |attempt| (*member, attempt)));
        self.run_trials(&trials.collect::<Vec<_>>(), told)
    }

    fn run_trials(
        &self,
        trials: &[(&Member, u32)],
        told: &(dyn Fn(usize, &TrialRecord) + Sync),
    ) -> Result<Progress, RunError> {
        files::make_directory(&self.folder.0, Privacy::Secret)?;
        let _lock = Lock::take(&self.folder.0.join("lock"))?;
        self.folder.begin(&self.facts)?;
        let work = self.folder.0.join("slots");
        fs::remove_dir_all(&work).ok();
        fs::create_dir_all(&work)?;
        let sealed = self.folder.sealed();
        let shared = Shared {
            journal: Mutex::default(),
            done: AtomicUsize::new(0),
            running: AtomicU64::new(0),
            spent: AtomicU64::new(0),
            faults: AtomicU64::new(0),
            is_stopped: AtomicBool::new(false),
        };
        let stopped: Mutex<Option<String>> = Mutex::default();
        let results = pool::each(
            trials,
            self.jobs,
            |job, (member, attempt)| -> Result<bool, RunError> {
                let known = sealed.contains_key(&name(&member.task.id, *attempt));
                let done = |record: &TrialRecord| {
                    shared
                        .spent
                        .fetch_add(u64::from(record.agent.cost.unwrap_or(0)), Ordering::Relaxed);
                    told(shared.done.fetch_add(1, Ordering::Relaxed) + 1, record);
                };
                let folder = self.folder.trial(&member.task.id, *attempt);
                if let Some(record) = folder
                    .result()
                    .filter(|record| known && !record.is_retried())
                {
                    done(&record);
                    return Ok(true);
                }
                if let Some(why) = self.may_not_start(&shared, member) {
                    *stopped.lock().unwrap_or_else(PoisonError::into_inner) = Some(why);
                    return Ok(false);
                }
                shared
                    .running
                    .fetch_add(member.task.limits.cost_microdollars, Ordering::Relaxed);
                let record = self.one(
                    &shared,
                    member,
                    *attempt,
                    &work.join(job.to_string()),
                    known,
                );
                shared
                    .running
                    .fetch_sub(member.task.limits.cost_microdollars, Ordering::Relaxed);
                let record =
                    record.inspect_err(|_| shared.is_stopped.store(true, Ordering::Relaxed))?;
                self.count_faults(&shared, &record);
                done(&record);
                Ok(true)
            },
        );
        fs::remove_dir_all(&work).ok();
        let started = results
            .into_iter()
            .collect::<Result<Vec<bool>, RunError>>()?;
        Ok(Progress {
            not_started: started.iter().filter(|started| !**started).count(),
            stopped: stopped.into_inner().unwrap_or_else(PoisonError::into_inner),
        })
    }

    fn may_not_start(&self, shared: &Shared, member: &Member) -> Option<String> {
        if shared.is_stopped.load(Ordering::Relaxed) {
            return Some("several trials in a row broke in the same way".to_owned());
        }
        let most = self.max_cost?;
        let spent = shared.spent.load(Ordering::Relaxed) + shared.running.load(Ordering::Relaxed);
        let cap = member.task.limits.cost_microdollars;
        let is_free = self.facts.harness_check;
        (!is_free && spent + cap > most).then(|| "the money of the run could be used up".to_owned())
    }

    fn count_faults(&self, shared: &Shared, record: &TrialRecord) {
        let is_fault = matches!(
            record.cause,
            Some(Cause::SandboxFailed | Cause::ModelProviderFailed | Cause::Harness)
        );
        if !is_fault {
            shared.faults.store(0, Ordering::Relaxed);
        } else if shared.faults.fetch_add(1, Ordering::Relaxed) + 1 >= BREAKER {
            shared.is_stopped.store(true, Ordering::Relaxed);
        }
    }

    /// Runs, grades and seals one trial; resumes a killed one.
    fn one(
        &self,
        shared: &Shared,
        member: &Member,
        attempt: u32,
        work: &Path,
        was_sealed: bool,
    ) -> Result<TrialRecord, RunError> {
        let folder = self.folder.trial(&member.task.id, attempt);
        let mut retry: u32 = folder
            .read("retries")
            .and_then(|text| String::from_utf8(text).ok()?.parse().ok())
            .unwrap_or(0);
        if was_sealed {
            // Sealed with an error or skipped: this is another attempt, with a separate bundle.
            retry += 1;
            for file in ["result.json", "agent.json", "diff", "test.log"] {
                fs::remove_file(folder.0.join(file)).ok();
            }
            folder.write("retries", retry.to_string().as_bytes())?;
        }
        let trial = name(&member.task.id, attempt);
        let step = |state: &str| self.note(shared, &trial, state, None);
        let record = match folder.result() {
            Some(record) => record,
            None => {
                step("planned")?;
                fs::create_dir_all(work)?;
                let run = self.lab.with(self.suite, member, work, |bench| {
                    trial::run(bench, &self.rules, member, attempt, &folder, &step)
                });
                match run {
                    Ok(record) => record?,
                    Err((cause, why)) => {
                        let record = TrialRecord::not_run(member, attempt, cause, why);
                        folder.write("diff", b"")?;
                        folder.keep_result(&record)?;
                        record
                    }
                }
            }
        };
        let mode = Mode::ALL
            .into_iter()
            .find(|mode| mode.name() == self.facts.mode)
            .unwrap_or(self.rules.mode);
        let sealed = seal::seal(
            self.store,
            &self.facts,
            mode,
            member,
            &record,
            &folder,
            retry,
        )?;
        self.note(shared, &trial, "sealed", Some(&sealed))?;
        Ok(record)
    }

    fn note(
        &self,
        shared: &Shared,
        trial: &str,
        state: &str,
        sealed: Option<&SealedTrial>,
    ) -> io::Result<()> {
        let _lock = shared
            .journal
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let line = Line {
            at: base::clock::text(base::clock::now_ns()),
            trial: trial.to_owned(),
            state: state.to_owned(),
            task_id: sealed
                .map(|sealed| sealed.task_id.to_string())
                .unwrap_or_default(),
            sha256: sealed
                .map(|sealed| sealed.sha256.clone())
                .unwrap_or_default(),
            file: sealed
                .map(|sealed| sealed.path.to_string_lossy().into_owned())
                .unwrap_or_default(),
        };
        let text = serde_json::to_string(&line)? + "\n";
        let durable = matches!(state, "agent_started" | "sealed");
        files::append_line(&self.folder.journal(), &text, durable)
            .map(drop)
            .map_err(|error| error.source)
    }
}
