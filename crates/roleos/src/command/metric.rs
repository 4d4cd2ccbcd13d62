//! `roleos metric`: the metric of a run's value, as data, and the change from one metric to the next.

use std::path::PathBuf;

use base::files;
use clap::{Args, Subcommand};
use routing::audits::{self, Rescored};
use routing::events;
use routing::metrics::{self, Current, DEFAULT_WINDOW, MetricError};
use routing::runs;
use selection::metric::Metric;
use serde_json::{Value, json};

use crate::failure::{Failure, chain};
use crate::person::not_below_an_agent;
use crate::render::clean;
use crate::ui::{BOLD, DIM, GOOD, Ui, WARN};
use crate::{Context, Exit};

/// Longest metric file.
const MAX_FILE: u64 = 1 << 20;

/// Words of `metric`.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Show the metric that holds, with its weights and hash, and how far a change has come.
    Show,
    /// Change the metric: both count for a while, and the exams on record are scored again.
    Change(ChangeArgs),
    /// End a change that is under way; the metric before it holds again.
    Abort,
}

/// Words of `metric change`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  roleos metric change metric_v2.json
  roleos metric change metric_v2.json --window 500 --json

The file is a metric as `roleos metric show --json` prints one, with the next number in `metric_version`.")]
pub struct ChangeArgs {
    /// The new metric.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Contests over which the old metric's share goes from 1 to 0.
    #[arg(long, value_name = "N", default_value_t = DEFAULT_WINDOW, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    window: u64,
}

pub fn run(ui: &Ui, context: &Context, command: &Command) -> Result<Exit, Failure> {
    match command {
        Command::Show => show(ui, context),
        Command::Change(args) => {
            not_below_an_agent("metric change")?;
            change(ui, context, args)
        }
        Command::Abort => {
            not_below_an_agent("metric abort")?;
            abort(ui, context)
        }
    }
}

fn abort(ui: &Ui, context: &Context) -> Result<Exit, Failure> {
    let (current, event) = metrics::abort(&context.workspace)?;
    events::emit(&events::path(&context.workspace), &[event])?;
    if ui.json {
        ui.json(&json!({
            "metric": current.metric.to_value(), "hash": current.metric.hash(), "epoch": current.epoch,
            "migration": Value::Null,
        }))?;
    } else {
        ui.line(format_args!(
            "{GOOD}aborted{GOOD:#}: {} holds (epoch {})",
            current.metric.metric_version, current.epoch
        ))?;
    }
    Ok(Exit::Done)
}

fn show(ui: &Ui, context: &Context) -> Result<Exit, Failure> {
    let current = metrics::current(&context.workspace)?;
    let known = runs::metrics(&context.workspace)?;
    if ui.json {
        let one = |metric: &Metric| json!({ "metric": metric.to_value(), "hash": metric.hash() });
        ui.json(&json!({
            "metric": current.metric.to_value(), "hash": current.metric.hash(), "epoch": current.epoch,
            "migration": migration(&current), "known": known.iter().map(one).collect::<Vec<_>>(),
        }))?;
        return Ok(Exit::Done);
    }
    for metric in &known {
        let holds = metric.metric_version == current.metric.metric_version;
        describe(ui, metric, if holds { "holds" } else { "" })?;
    }
    if let Some(mixing) = &current.mixing {
        ui.line(format_args!(
            "{WARN}changing{WARN:#} from {} to {}: the old one's share is {:.2} after {} of {} contests (epoch {})",
            mixing.migration.old.metric_version,
            current.metric.metric_version,
            mixing.alpha(),
            mixing.contests,
            mixing.migration.window,
            current.epoch
        ))?;
    }
    Ok(Exit::Done)
}

fn migration(current: &Current) -> Value {
    current.mixing.as_ref().map_or(Value::Null, |mixing| {
        json!({
            "old_metric": mixing.migration.old.metric_version, "new_metric": current.metric.metric_version,
            "alpha": mixing.alpha(), "contests": mixing.contests, "window": mixing.migration.window,
        })
    })
}

fn describe(ui: &Ui, metric: &Metric, note: &str) -> Result<(), Failure> {
    ui.line(format_args!(
        "{BOLD}{}{BOLD:#}  {DIM}{}{DIM:#}  {GOOD}{note}{GOOD:#}",
        metric.metric_version,
        metric.hash()
    ))?;
    ui.line(format_args!(
        "  reward = q0 + {}·q1 − {}·cost − {}·refusal",
        metric.beta, metric.lambda, metric.pi
    ))?;
    ui.line(format_args!(
        "  cost = {}·(time / {} ms) + {}·(tokens out / {}), each at most 1",
        metric.w_t, metric.t_ref_ms, metric.w_o, metric.tokens_ref
    ))?;
    ui.line(format_args!(
        "  q1 of JSON = {}·keys + {}·mean(strings by {}, lists)",
        metric.alpha_q1,
        1.0 - metric.alpha_q1,
        metric.similarity
    ))?;
    Ok(())
}

fn change(ui: &Ui, context: &Context, args: &ChangeArgs) -> Result<Exit, Failure> {
    let file = args.file.display();
    let bytes = files::read(&args.file, MAX_FILE)?;
    let value: Value = serde_json::from_slice(&bytes).map_err(|error| {
        Failure::input(
            "bad_json",
            format!("cannot read `{file}`: it is no JSON: {error}"),
        )
    })?;
    let new = Metric::parse(&value).map_err(|error| {
        Failure::input("bad_metric", format!("`{file}` is no metric: {error}"))
            .hint("`roleos metric show --json` prints one that is")
    })?;
    let (current, event) = metrics::change(&context.workspace, &new, args.window)?;
    events::emit(&events::path(&context.workspace), &[event])?;
    let rescored = audits::rescore(
        &base::seals::Seals::of(&context.workspace),
        &context.workspace.role_os_dir().join("audits"),
        &new,
    )?;
    let turned = audits::turned(&rescored);
    if ui.json {
        let one = |one: &Rescored| {
            json!({
                "role": one.role, "version": one.version, "exam_hash": one.exam_hash,
                "before": one.before, "after": one.after,
            })
        };
        let pair = |(a, b): &(&Rescored, &Rescored)| json!({ "role": a.role, "versions": [a.version, b.version] });
        ui.json(&json!({
            "metric": new.to_value(), "hash": new.hash(), "epoch": current.epoch, "migration": migration(&current),
            "audits": rescored.iter().map(one).collect::<Vec<_>>(),
            "turned": turned.iter().map(pair).collect::<Vec<_>>(),
        }))?;
        return Ok(Exit::Done);
    }
    ui.line(format_args!(
        "{GOOD}changing{GOOD:#} to {} over {} contests (epoch {})",
        new.metric_version, args.window, current.epoch
    ))?;
    for one in &rescored {
        ui.line(format_args!(
            "  {}/{}: mean reward {:.4} → {:.4} on its exam",
            clean::name(one.role.as_bytes()),
            clean::name(one.version.as_bytes()),
            one.before,
            one.after
        ))?;
    }
    for (one, other) in turned {
        ui.line(format_args!(
            "  {WARN}the order of {} and {} turns around{WARN:#}",
            clean::name(one.version.as_bytes()),
            clean::name(other.version.as_bytes())
        ))?;
    }
    Ok(Exit::Done)
}

impl From<MetricError> for Failure {
    fn from(error: MetricError) -> Self {
        match error {
            MetricError::File(error) => error.into(),
            MetricError::UnderWay { .. } => Self::refused("change_under_way", chain(&error))
                .hint("nothing was changed; `roleos metric abort` ends it, `roleos metric show` says how far it is"),
            MetricError::Settled(_) => Self::input("no_change", chain(&error))
                .hint("`roleos metric show` prints the metric that holds"),
            MetricError::Bad(_) => Self::input("bad_change", chain(&error))
                .hint("nothing was changed; `roleos metric show` prints the metric that holds"),
            _ => Self::input("metric_missing", chain(&error))
                .hint("restore the metric's file under `.role-os/metrics/`"),
        }
    }
}
