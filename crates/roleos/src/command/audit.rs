//! `roleos audit`: a fixed exam through the real backend, and a comparison of two of them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, Subcommand};
use routing::audits::{self, SetError};
use routing::specialists::{Named, OperateError, Specialists};
use selection::audit::{Given, MIN_CASES};
use selection::manifest::Problem;
use serde_json::{Value, json};
use specialist::registry::{Entry, Registry, Version};
use upstream::audit::exam::{DEFAULT_JOBS, Exam, ExamError, Taken};

use super::specialist::{open, valid};
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::render::clean;
use crate::ui::{BAD, DIM, GOOD, Ui};

pub mod diff;
pub mod draft;

/// Most failed cases that are shown to a person. `--json` has them all.
const SHOWN: usize = 10;

/// Words of `audit`.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run an audit set through a version's backend; goes on where it was broken off.
    Run(RunArgs),
    /// Compare two exams of one kind, case by case.
    Diff(diff::Args),
    /// Write the skeleton of an audit set for a role.
    New(draft::New),
    /// Take the general model's answers as expected outputs, after a look.
    Draft(draft::Draft),
}

/// Words of `audit run`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  roleos audit run fact-checker/v2 --set audit.json
  roleos audit run fact-checker/v2 --set audit.json --baseline v1 --json

The record lies under `.role-os/audits/`; `roleos specialist certify` reads it.")]
pub struct RunArgs {
    /// Role and version; without a version the active one.
    #[arg(value_name = "ROLE[/VERSION]")]
    subject: String,
    /// The audit set.
    #[arg(long, value_name = "FILE")]
    set: PathBuf,
    /// Version to compare with; examined too when it has not taken this exam.
    #[arg(long, value_name = "VERSION")]
    baseline: Option<String>,
    /// Cases that are asked at the same time.
    #[arg(long, value_name = "N", default_value_t = DEFAULT_JOBS, value_parser = clap::value_parser!(u16).range(1..=256))]
    jobs: u16,
    /// Start over, also when a run was interrupted.
    #[arg(long)]
    fresh: bool,
}

/// Runs the command.
///
/// # Errors
/// The set, the role or the version is wrong, or the backend cannot be reached.
pub fn run(ui: &Ui, context: &Context, command: &Command) -> Result<Exit, Failure> {
    match command {
        Command::Run(args) => examine(ui, context, args),
        Command::Diff(args) => diff::run(ui, context, args),
        Command::New(args) => draft::new(ui, context, args),
        Command::Draft(args) => draft::draft(ui, context, args),
    }
}

fn examine(ui: &Ui, context: &Context, args: &RunArgs) -> Result<Exit, Failure> {
    let specialists = open(context, &Named::default())?;
    let registry = trusted(ui, &specialists)?;
    let (entry, version) = subject(&registry, &args.subject)?;
    let exam = open_exam(context, &specialists, &args.set)?;
    let progress = ui.progress(exam.set.cases.len(), "audit");
    let exam = Exam {
        jobs: args.jobs,
        fresh: args.fresh,
        goes_on: &|done| {
            progress.set(done);
            true
        },
        ..exam
    };
    let baseline = match args.baseline.as_deref() {
        None => None,
        Some(id) => {
            let before = resolve(entry, id)?;
            Some(exam.taken(entry, before)?)
        }
    };
    let taken = exam.take(entry, version, baseline.as_ref());
    let taken = taken.map_err(|error| at_backend(error, entry, version))?;
    show(ui, &taken)
}

/// Returns the registry, if its backends may receive the exam and the tokens that their `auth_env` names.
fn trusted(ui: &Ui, specialists: &Specialists) -> Result<Arc<Registry>, Failure> {
    let seen = valid(ui, specialists)?;
    if seen.is_trusted {
        return Ok(seen.registry);
    }
    let path = specialists.paths().registry.clone();
    Err(OperateError::Untrusted(path).into())
}

/// Examines a newly registered version, against the active one if that has taken the same exam.
pub(crate) fn newcomer(
    ui: &Ui,
    context: &Context,
    specialists: &Specialists,
    (role, version): (&str, &str),
    set: &Path,
) -> Result<Taken, Failure> {
    let registry = trusted(ui, specialists)?;
    let entry = registry.entry(role);
    let found = entry.and_then(|entry| Some((entry, entry.version(version)?)));
    let (entry, version) = found.ok_or_else(|| unknown(role, version))?;
    let exam = open_exam(context, specialists, set)?;
    let progress = ui.progress(exam.set.cases.len(), "audit");
    let exam = Exam {
        goes_on: &|done| {
            progress.set(done);
            true
        },
        ..exam
    };
    let active = entry.active().ok().flatten();
    let before = active.map(|active| exam.path(entry, active));
    let baseline = match before.filter(|path| path.exists()) {
        Some(path) => Some(audits::read(&path)?),
        None => None,
    };
    let taken = exam.take(entry, version, baseline.as_ref());
    taken.map_err(|error| at_backend(error, entry, version))
}

/// Adds the backend to the error of an interrupted exam.
fn at_backend(error: ExamError, entry: &Entry, version: &Version) -> Failure {
    let is_incomplete = matches!(error, ExamError::Incomplete { .. });
    let mut failure = Failure::from(error);
    if is_incomplete {
        let addresses = entry.addresses(version).join(", ");
        failure.message = format!("{} (backend {addresses})", failure.message);
    }
    failure
}

/// Opens an audit set, to check that it can be used.
///
/// # Errors
/// It cannot be read or is not an audit set.
pub(crate) fn open_exam<'a>(
    context: &'a Context,
    specialists: &'a Specialists,
    set: &Path,
) -> Result<Exam<'a>, Failure> {
    let Context {
        workspace, config, ..
    } = context;
    Ok(Exam::open(workspace, config, specialists, set)?)
}

fn unknown(role: &str, version: &str) -> Failure {
    Failure::input(
        "unknown_version",
        format!("role `{role}` has no version `{version}`"),
    )
    .hint("`roleos specialist list` shows the versions")
}

/// Returns the version with an id, a prefix of it, or its model's id.
fn resolve<'a>(entry: &'a Entry, named: &str) -> Result<&'a Version, Failure> {
    let found = entry.resolve(named).map_err(OperateError::from);
    Ok(found?)
}

/// Parses role and version; a role's name may contain a slash.
fn subject<'a>(registry: &'a Registry, named: &str) -> Result<(&'a Entry, &'a Version), Failure> {
    if let Some(entry) = registry.entry(named) {
        let active = entry.active().ok().flatten();
        return active.map(|version| (entry, version)).ok_or_else(|| {
            Failure::input(
                "no_active_version",
                format!("role `{named}` has no active version"),
            )
            .hint("name one: `ROLE/VERSION`")
        });
    }
    let split = |at: usize| Some((named.get(..at)?, named.get(at + 1..)?));
    let slashes = named.match_indices('/').map(|(at, _)| at);
    for (role, version) in slashes.rev().filter_map(split) {
        if let Some(entry) = registry.entry(role) {
            return Ok((entry, resolve(entry, version)?));
        }
    }
    Err(Failure::input(
        "unknown_role",
        format!("there is no role `{named}` in the registry"),
    )
    .hint("name it as `ROLE/VERSION`; `roleos specialist list` shows both"))
}

/// Shows the result of an exam.
pub(super) fn show(ui: &Ui, taken: &Taken) -> Result<Exit, Failure> {
    let Taken {
        record,
        resumed,
        path,
    } = taken;
    if ui.json {
        ui.json(&as_json(taken))?;
        return Ok(Exit::of_check(record.ok));
    }
    let failed: Vec<&Given> = record
        .answers
        .iter()
        .filter(|given| !given.passed())
        .collect();
    for given in failed.iter().take(SHOWN) {
        let why = given.reason.as_deref().unwrap_or_default();
        ui.line(format_args!(
            "{BAD}case {}{BAD:#}: {}",
            given.index,
            clean::name(why.as_bytes())
        ))?;
    }
    if failed.len() > SHOWN {
        ui.line(format_args!(
            "… and {} more; the record has them all",
            failed.len() - SHOWN
        ))?;
    }
    let (style, verdict) = if record.ok {
        (GOOD, "passed")
    } else {
        (BAD, "not passed")
    };
    if record.wrong_answers > 0 {
        ui.line(format_args!(
            "{} of {} answers differ from the expected output",
            record.wrong_answers, record.cases
        ))?;
    }
    if record.verifier_failures > 0 {
        ui.line(format_args!(
            "{} of {} answers failed their verifier",
            record.verifier_failures, record.cases
        ))?;
    }
    if record.graded < MIN_CASES {
        let said = record.proof_said();
        ui.note(format_args!(
            "warning: this exam certifies nothing: {}",
            clean::name(said.as_bytes())
        ));
    }
    if record.attempts.len() > 1 {
        ui.note(format_args!(
            "this exam was taken before: {}",
            record.attempts_said()
        ));
    }
    ui.line(format_args!(
        "{style}{verdict}{style:#}: {}/{} {} of {} cases, {:.1} % ({:.1}–{:.1}), mean reward {:.4}",
        clean::name(record.role.as_bytes()),
        clean::name(record.version.as_bytes()),
        record.passed,
        record.cases,
        100.0 * record.pass_rate,
        100.0 * record.pass_low,
        100.0 * record.pass_high,
        record.mean_reward
    ))?;
    if let Some(baseline) = &record.baseline {
        ui.line(format_args!(
            "{}; mean reward {:+.4}",
            clean::name(baseline.said().as_bytes()),
            -baseline.lost_reward
        ))?;
    }
    if *resumed > 0 {
        ui.note(format_args!("{resumed} cases were answered before"));
    }
    ui.line(format_args!(
        "{DIM}exam {}  {}{DIM:#}",
        record.exam_hash,
        path.display()
    ))?;
    Ok(Exit::of_check(record.ok))
}

/// Returns the result of an exam for programs.
pub(super) fn as_json(taken: &Taken) -> Value {
    let Taken {
        record,
        resumed,
        path,
    } = taken;
    let failed = record.answers.iter().filter(|given| !given.passed());
    let failed = failed.map(|given| json!({ "case": given.index, "reason": given.reason }));
    json!({
        "role": record.role, "version": record.version, "model_id": record.model_id,
        "exam_hash": record.exam_hash, "audit_id": record.audit_id, "audit_version": record.audit_version,
        "metric_version": record.metric_version, "metric_hash": record.metric_hash,
        "cases": record.cases, "passed": record.passed, "pass_rate": record.pass_rate,
        "graded": record.graded, "certifies": record.certifies(), "wrong_answers": record.wrong_answers, "verifier_failures": record.verifier_failures,
        "pass_low": record.pass_low, "pass_high": record.pass_high, "mean_reward": record.mean_reward,
        "baseline": record.baseline, "ok": record.ok, "attempts": record.pooled().attempts, "attempts_said": record.attempts_said(), "resumed": resumed, "failed": failed.collect::<Vec<_>>(),
        "record": path,
    })
}

impl From<ExamError> for Failure {
    fn from(error: ExamError) -> Self {
        let message = error.to_string();
        match error {
            ExamError::File(error) => error.into(),
            ExamError::Set(error) => error.into(),
            ExamError::Metric(error) => error.into(),
            ExamError::Incomplete { subject, .. } => {
                let mut failure = Self::refused("audit_incomplete", message).hint(format!(
                    "what was answered is kept; `roleos audit run {subject:?} --set SET` goes on from there"
                ));
                failure.retryable = true;
                failure
            }
            _ => Self::refused("runtime", message),
        }
    }
}

/// Returns one line for each kind of problem: the first place, and the number of further ones.
fn grouped(problems: &[Problem]) -> Vec<String> {
    let mut groups: Vec<(String, &Problem, usize)> = Vec::new();
    for problem in problems {
        let key = problem
            .path
            .rsplit_once(']')
            .map_or(problem.path.as_str(), |(_, key)| key);
        let kind = format!("{key}: {}", problem.message);
        match groups.iter_mut().find(|(known, ..)| *known == kind) {
            Some((.., more)) => *more += 1,
            None => groups.push((kind, problem, 0)),
        }
    }
    let line = |(_, first, more): &(String, &Problem, usize)| match more {
        0 => format!("{}: {}", first.path, first.message),
        more => format!("{}: {} (and {more} more cases)", first.path, first.message),
    };
    groups.iter().map(line).collect()
}

impl From<SetError> for Failure {
    fn from(error: SetError) -> Self {
        let message = error.to_string();
        match error {
            SetError::File(error) => error.into(),
            SetError::NotJson { .. } => Self::input("bad_json", message),
            SetError::Invalid { problems, .. } => Self::input("bad_audit_set", message)
                .details(grouped(&problems))
                .hint("`roleos help selection` shows a set"),
            _ => Self::refused("audit", message),
        }
    }
}
