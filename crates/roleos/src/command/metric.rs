//! `roleos metric`: what a run is worth, as data.

use clap::Subcommand;
use host::runs;
use serde_json::json;

use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::ui::{BOLD, DIM, Ui};

/// Words of `metric`.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Show the metrics that are known here, with their weights and hashes.
    Show,
}

/// Does it.
///
/// # Errors
/// A metric of the workspace cannot be read.
pub fn run(ui: &Ui, context: &Context, command: &Command) -> Result<Exit, Failure> {
    let Command::Show = command;
    let metrics = runs::metrics(&context.workspace)?;
    if ui.json {
        let all = metrics
            .iter()
            .map(|metric| json!({ "metric": metric.to_value(), "hash": metric.hash() }));
        ui.json(&all.collect::<Vec<_>>())?;
        return Ok(Exit::Done);
    }
    for metric in &metrics {
        ui.line(format_args!(
            "{BOLD}{}{BOLD:#}  {DIM}{}{DIM:#}",
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
    }
    Ok(Exit::Done)
}
