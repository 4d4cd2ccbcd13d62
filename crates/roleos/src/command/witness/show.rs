//! `roleos witness show`: shows the whole content of a bundle.

use std::io::Write as _;

use evidence::judged::Judged;
use present::view::bundle::show as as_json;
use witness::bundle::{Contents, section_name};

use super::Reading;
use crate::command::one_bundle::OneBundle;
use crate::render::clean;
use crate::render::units::{bytes, cost, dollars, grouped};
use crate::ui::{BOLD, DIM, Ui, WARN};
use crate::{Context, Exit, Failure};

/// Words of `witness show`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    bundle: OneBundle,
    #[command(flatten)]
    reading: Reading,
}

pub fn run(ui: &Ui, context: &Context, args: &Args) -> Result<Exit, Failure> {
    let loaded = args.bundle.load(context)?;
    let judged = loaded.judge(args.reading.strictness());
    let contents = loaded.contents(&judged)?;
    if ui.json {
        ui.json(&as_json(&loaded.file(), &judged, contents))?;
    } else {
        show(ui, &judged, contents)?;
    }
    Ok(Exit::Done)
}

fn show(ui: &Ui, judged: &Judged<'_>, contents: &Contents<'_>) -> Result<(), Failure> {
    let header = contents.header();
    let mut out = ui.out();
    let mut row = |name: &str, value: &str| writeln!(out, "{DIM}{name:<16}{DIM:#}{value}");
    row("verdict", judged.verdict().name())?;
    row("task", &header.task_id.to_string())?;
    row("created", &base::clock::text(header.created_ns))?;
    row("outcome", contents.outcome().name())?;
    row(
        "mode",
        contents.mode().map_or("unknown", witness::wire::Mode::name),
    )?;
    row("policy hash", &hex::encode(header.policy_hash))?;
    row("tool calls", &grouped(header.tool_call_count))?;
    let known = witness::cost::is_known(&contents.extensions().provenance);
    row("cost", &cost(header.total_cost_microdollars, known))?;
    row(
        "latency",
        &format!("{} ms", grouped(header.total_latency_ms)),
    )?;
    row("tokens", &grouped(header.total_tokens))?;
    row("retries", &grouped(header.retry_count))?;
    row("size", &bytes(u64::from(header.total_bundle_size)))?;
    row(
        "evidence",
        if contents.evidence_complete() {
            "complete"
        } else {
            "incomplete"
        },
    )?;
    for (name, value) in &contents.extensions().provenance {
        row(&clean::line(name, 15), &clean::line(value, 200))?;
    }
    for warning in judged.warnings() {
        writeln!(out, "{WARN}warning{WARN:#}         {}", warning.name())?;
    }
    writeln!(out, "\n{BOLD}sections{BOLD:#}")?;
    for section in contents.sections() {
        writeln!(
            out,
            "  {:<12} {:>12}  at byte {}",
            section_name(section.tag),
            bytes(section.value.len() as u64),
            section.offset
        )?;
    }
    writeln!(out, "\n{BOLD}calls{BOLD:#}")?;
    for (index, call) in contents.calls().enumerate() {
        let action = clean::line(&String::from_utf8_lossy(call.action), 24);
        writeln!(
            out,
            "  {index:>5}  {action:<24}  {:<9}  {:>8} ms  {:>10}",
            call.check.name(),
            grouped(call.latency_ms),
            match (known, call.cost_microdollars) {
                (false, 0) => "–".to_owned(),
                (_, cost) => dollars(cost),
            }
        )?;
    }
    out.flush()?;
    Ok(())
}
