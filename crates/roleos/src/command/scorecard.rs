//! `roleos scorecard`: fifteen metrics and four acceptance criteria over many bundles.

use std::io::Write;

use host::score;
use host::view::score::{Counts, report as as_json};
use witness::scorecard::{GroupBy, Report, Scorecard};

use crate::command::many_bundles::ManyBundles;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::render::clean;
use crate::render::units::{cost, cost_per_solve, counted, grouped, percent, without_cost};
use crate::ui::{BAD, BOLD, DIM, GOOD, Ui, WARN};

/// Words of `scorecard`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  roleos scorecard                       all verified bundles of this workspace
  roleos scorecard --by model            one line of figures a model
  roleos scorecard runs/ --key-file k    bundles from elsewhere, with their key
  roleos scorecard --accept              exit 1 unless all four criteria hold")]
pub struct Args {
    #[command(flatten)]
    bundles: ManyBundles,
    /// Divide by `week`, `day`, `mode`, or a provenance fact such as `role`, `model`, `agent`.
    #[arg(long, value_name = "WHAT")]
    by: Option<String>,
    /// Turn the acceptance criteria into the exit code.
    #[arg(long)]
    accept: bool,
}

/// Does it.
///
/// # Errors
/// A path or key cannot be read.
pub fn run(ui: &Ui, context: &Context, args: &Args) -> Result<Exit, Failure> {
    let bundles = args.bundles.find(context)?;
    let progress = ui.progress(bundles.count(), "bundles");
    let source = bundles.source(context);
    let by = args.by.as_deref().map(GroupBy::parse);
    let (report, counts) = score::scorecard(source, by.as_ref(), |done| progress.set(done));
    drop(progress);
    if ui.json {
        ui.json(&as_json(&report, &counts, args.by.as_deref()))?;
    } else {
        show(ui, &report, &counts)?;
    }
    let holds = !args.accept || report.all.is_accepted();
    Ok(Exit::of_check(holds))
}

fn show(ui: &Ui, report: &Report, counts: &Counts) -> Result<(), Failure> {
    let mut out = ui.out();
    show_counts(&mut out, counts)?;
    for (name, value) in metrics(&report.all) {
        writeln!(out, "{DIM}{name:<24}{DIM:#}{value:>16}")?;
    }
    show_without_cost(
        &mut out,
        report.all.tasks_without_cost,
        report.all.total_tasks,
    )?;
    show_groups(&mut out, report)?;
    writeln!(out, "\n{BOLD}acceptance{BOLD:#}")?;
    for criterion in report.all.acceptance() {
        let (style, word) = if criterion.holds {
            (GOOD, "pass")
        } else {
            (BAD, "fail")
        };
        writeln!(
            out,
            "  {style}{word}{style:#}  {:<21} {:>8.2}  {} {:.2}",
            criterion.metric, criterion.value, criterion.relation, criterion.threshold
        )?;
    }
    out.flush()?;
    Ok(())
}

/// How many files were looked at, and what became of those that do not count.
pub(super) fn show_counts(out: &mut impl Write, counts: &Counts) -> Result<(), Failure> {
    write!(
        out,
        "{}: {} verified",
        counted(counts.files, "bundle"),
        grouped(counts.verified)
    )?;
    if counts.unverified > 0 {
        write!(
            out,
            ", {WARN}{} unverified{WARN:#}",
            grouped(counts.unverified)
        )?;
    }
    if counts.duplicates > 0 {
        write!(
            out,
            ", {} older ones of the same task",
            grouped(counts.duplicates)
        )?;
    }
    for (why, number) in &counts.left_out {
        write!(out, ", {WARN}{} {why}{WARN:#} left out", grouped(*number))?;
    }
    writeln!(out, "\n")?;
    Ok(())
}

/// One line where costs are missing, and how they come in.
pub(super) fn show_without_cost(
    out: &mut impl Write,
    unknown: impl Into<u64>,
    tasks: impl Into<u64>,
) -> Result<(), Failure> {
    if let Some(told) = without_cost(unknown.into(), tasks.into()) {
        writeln!(out, "\n{WARN}{told}{WARN:#}")?;
    }
    Ok(())
}

fn metrics(card: &Scorecard) -> [(&'static str, String); 16] {
    [
        ("total_tasks", grouped(card.total_tasks)),
        ("solved", grouped(card.solved)),
        ("failed", grouped(card.failed)),
        ("skipped", grouped(card.skipped)),
        ("errors", grouped(card.errors)),
        ("solve_rate", percent(card.solve_rate)),
        ("evidence_coverage", percent(card.evidence_coverage)),
        ("policy_violations", grouped(card.policy_violations)),
        ("rollback_count", grouped(card.rollback_count)),
        ("rollback_correctness", percent(card.rollback_correctness)),
        (
            "total_cost",
            cost(card.total_cost_microdollars, card.tasks_without_cost == 0),
        ),
        ("cost_per_solve", cost_per_solve(card.cost_per_solve)),
        ("total_tokens", grouped(card.total_tokens)),
        ("total_retries", grouped(card.total_retries)),
        ("median_latency_ms", grouped(card.median_latency_ms)),
        ("p95_latency_ms", grouped(card.p95_latency_ms)),
    ]
}

/// A line a group with the figures that are compared most; `--json` has all of them.
fn show_groups(out: &mut impl Write, report: &Report) -> Result<(), Failure> {
    if report.groups.is_empty() {
        return Ok(());
    }
    writeln!(
        out,
        "\n{BOLD}{:<28}{:>8}{:>8}{:>12}{:>10}{:>12}{:>12}{:>10}{BOLD:#}",
        "group", "tasks", "solved", "solve rate", "coverage", "violations", "cost/solve", "p95 ms"
    )?;
    for (name, card) in &report.groups {
        writeln!(
            out,
            "{:<28}{:>8}{:>8}{:>12}{:>10}{:>12}{:>12}{:>10}",
            clean::line(name, 27),
            grouped(card.total_tasks),
            grouped(card.solved),
            percent(card.solve_rate),
            percent(card.evidence_coverage),
            grouped(card.policy_violations),
            cost_per_solve(card.cost_per_solve),
            grouped(card.p95_latency_ms),
        )?;
    }
    Ok(())
}
