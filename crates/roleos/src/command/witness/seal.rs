//! `roleos witness seal`: creates a bundle from files, for agents and CI systems without a hook.

use std::path::{Path, PathBuf};

use base::agents_above;
use base::clock;
use base::files;
use clap::ValueEnum;
use evidence::trace_input;
use serde_json::json;
use witness::builder::Builder;
use witness::extension::{Rollback, field};
use witness::policy::Policy;
use witness::wire::{Mode, Outcome, TaskId};

use crate::context::{Context, parse_task_id};
use crate::person::not_below_an_agent;
use crate::ui::{DIM, GOOD, Ui, WARN};
use crate::{Exit, Failure};

/// Words of `witness seal`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  git diff main > change.patch; cargo test > test.txt 2>&1
  roleos witness seal --spec issue.md --diff change.patch --test-log test.txt --trace calls.jsonl \\
      --outcome solved --mode autonomous --base-commit $(git rev-parse main) \\
      --test-command 'cargo test' --fact model=claude-opus --fact role=line-editor

A FILE may be a pipe, as in `--diff <(git diff main)`. A line of the trace:
  {\"action\":\"Bash\",\"args\":\"cargo test\",\"result\":\"ok\",\"latency_ms\":1200,\"tokens\":120}")]
pub struct Args {
    /// Task id [default: a fresh one].
    #[arg(long, value_name = "ID", value_parser = parse_task_id)]
    task_id: Option<TaskId>,
    /// The task as it was asked.
    #[arg(long, value_name = "FILE")]
    spec: Option<PathBuf>,
    /// What was decided before acting.
    #[arg(long, value_name = "FILE")]
    plan: Option<PathBuf>,
    /// What changed, as a unified diff.
    #[arg(long, value_name = "FILE")]
    diff: Option<PathBuf>,
    /// What the test runner printed.
    #[arg(long, value_name = "FILE")]
    test_log: Option<PathBuf>,
    /// Why the task was not solved.
    #[arg(long, value_name = "FILE")]
    postmortem: Option<PathBuf>,
    /// The tool calls, one JSON object a line.
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// How the task ended.
    #[arg(long, value_name = "OUTCOME")]
    outcome: OutcomeWord,
    /// Governance mode whose published policy was in force.
    #[arg(long, value_name = "MODE", default_value = "autonomous")]
    mode: ModeWord,
    /// Commit on which the diff applies; `witness rerun` needs it.
    #[arg(long, value_name = "COMMIT")]
    base_commit: Option<String>,
    /// Command that produced the test log; `witness rerun` needs it.
    #[arg(long, value_name = "COMMAND")]
    test_command: Option<String>,
    /// A fact about where this comes from, such as model=…, role=…, agent=…, suite_task=….
    #[arg(long = "fact", value_name = "NAME=VALUE", value_parser = parse_fact)]
    facts: Vec<(String, String)>,
    /// A rollback that was done, as WANTED_TREE:FOUND_TREE; it counts as correct when both are the same.
    #[arg(long = "rollback", value_name = "WANTED:FOUND", value_parser = parse_rollback)]
    rollbacks: Vec<Rollback>,
    /// Seal below an agent too; the bundle says so, and does not count for acceptance.
    #[arg(long)]
    by_agent: bool,
}

/// Fact with the agent below which a bundle was sealed by hand.
const BELOW_AGENT: &str = "sealed_below_agent";

const BY_AGENT: &str = "seal it in a terminal of your own, or with `--by-agent`: the bundle then says so, and does not \
    count for acceptance";

#[derive(Clone, Copy, Debug, ValueEnum)]
enum OutcomeWord {
    /// Tests pass, the change can be merged.
    Solved,
    /// Tests fail or the change was rejected.
    Failed,
    /// A precondition was not met.
    Skipped,
    /// Infrastructure or a tool broke.
    Error,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ModeWord {
    /// Read-only.
    Restricted,
    /// Every call confirmed.
    Approved,
    /// Bounded authority.
    Autonomous,
}

impl From<OutcomeWord> for Outcome {
    fn from(word: OutcomeWord) -> Self {
        match word {
            OutcomeWord::Solved => Self::Solved,
            OutcomeWord::Failed => Self::Failed,
            OutcomeWord::Skipped => Self::Skipped,
            OutcomeWord::Error => Self::Error,
        }
    }
}

impl From<ModeWord> for Mode {
    fn from(word: ModeWord) -> Self {
        match word {
            ModeWord::Restricted => Self::Restricted,
            ModeWord::Approved => Self::Approved,
            ModeWord::Autonomous => Self::Autonomous,
        }
    }
}

fn parse_fact(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((BELOW_AGENT, _)) => Err(format!("`{BELOW_AGENT}` is set by `roleos` itself")),
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("expected NAME=VALUE".to_owned()),
    }
}

fn parse_rollback(text: &str) -> Result<Rollback, String> {
    match text.split_once(':') {
        Some((wanted, found)) if !wanted.is_empty() && !found.is_empty() => Ok(Rollback {
            restored: wanted == found,
            wanted: wanted.to_owned(),
            found: found.to_owned(),
            kept: String::new(),
        }),
        _ => Err("expected WANTED_TREE:FOUND_TREE".to_owned()),
    }
}

pub fn run(ui: &Ui, context: &Context, args: &Args) -> Result<Exit, Failure> {
    let mut builder = draft(context, args)?;
    if !args.by_agent {
        not_below_an_agent("witness seal").map_err(|refused| refused.hint(BY_AGENT))?;
    } else if let Some(above) = agents_above::find() {
        builder.provenance(BELOW_AGENT, &above.agent);
    }
    let violations = builder.violations().len();
    let (keys, made) = context.store.keys_for_writing()?;
    for algorithm in made {
        ui.note(format_args!("{DIM}made a new {algorithm} key{DIM:#}"));
    }
    let sealed = context.store.seal(builder, &keys)?;
    crate::command::ship::start(context);
    super::note_repairs(ui, &sealed.repaired);
    if ui.json {
        ui.json(&json!({
            "task_id": sealed.task_id.to_string(),
            "file": sealed.path,
            "sha256": hex::encode(sealed.sha256),
            "index": sealed.index,
            "repaired": sealed.repaired,
        }))?;
        return Ok(Exit::Done);
    }
    ui.line(format_args!(
        "{GOOD}sealed{GOOD:#}  {}",
        sealed.path.display()
    ))?;
    if violations > 0 {
        ui.note(format_args!(
            "{WARN}warning{WARN:#}: the calls breach the {} policy; `roleos witness replay {}` shows how",
            Mode::from(args.mode).name(),
            sealed.task_id
        ));
    }
    Ok(Exit::Done)
}

fn draft(context: &Context, args: &Args) -> Result<Builder, Failure> {
    let task_id = args.task_id.unwrap_or_else(base::fresh_task_id);
    let policy = Policy::of_mode(args.mode.into());
    let mut builder = Builder::new(task_id, policy, clock::now_ns());
    let limit = context.config.witness.max_bundle_bytes();
    let read = |path: &Option<PathBuf>| -> Result<Option<Vec<u8>>, Failure> {
        let read = |path: &Path| files::read(path, limit);
        Ok(path.as_deref().map(read).transpose()?)
    };
    if let Some(spec) = read(&args.spec)? {
        builder.spec(spec);
    }
    if let Some(plan) = read(&args.plan)? {
        builder.plan(plan);
    }
    if let Some(diff) = read(&args.diff)? {
        builder.diff(diff);
    }
    if let Some(log) = read(&args.test_log)? {
        builder.test_log(log);
    }
    if let Some(postmortem) = read(&args.postmortem)? {
        builder.postmortem(postmortem);
    }
    if let Some(path) = &args.trace {
        let trace = files::read(path, limit)?;
        trace_input::record(&trace, &mut builder).map_err(|error| bad_trace(path, &error))?;
    }
    builder.outcome(args.outcome.into());
    let known = [
        (field::BASE_COMMIT, &args.base_commit),
        (field::TEST_COMMAND, &args.test_command),
    ];
    for (name, value) in known {
        if let Some(value) = value {
            builder.provenance(name, value);
        }
    }
    for (name, value) in &args.facts {
        builder.provenance(name, value);
    }
    // Stated last, so that `--fact` cannot override it.
    if let Some(above) = agents_above::find() {
        builder.provenance(field::SEALED_BELOW_AGENT, &above.agent);
    }
    args.rollbacks
        .iter()
        .cloned()
        .for_each(|rollback| builder.rollback(rollback));
    Ok(builder)
}

fn bad_trace(path: &Path, error: &trace_input::BadLine) -> Failure {
    Failure::input(
        "bad_trace",
        format!("cannot use trace `{}` {error}", path.display()),
    )
    .hint(r#"each line is an object like {"action":"Bash","args":"cargo test","latency_ms":1200}"#)
}
