//! `roleos scorecard`: fifteen metrics and four acceptance criteria over many bundles.

use std::io::Write;
use std::path::PathBuf;

use host::score::{self, Source};
use host::view::score::{Counts, report as as_json};
use witness::scorecard::{GroupBy, Report, Scorecard};

use crate::command::trust::Trust;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::render::units::{dollars, grouped, percent};
use crate::ui::{BAD, BOLD, DIM, GOOD, Ui, WARN};

/// Words of `scorecard`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  roleos scorecard                       all verified bundles of this workspace
  roleos scorecard --by model            one column of figures a model
  roleos scorecard runs/ --key-file k    bundles from elsewhere, with their key
  roleos scorecard --accept              exit 1 unless all four criteria hold")]
pub struct Args {
    /// Bundle files or directories [default: all of the workspace].
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    trust: Trust,
    /// Count unsigned and unchecked bundles as well; their number is shown apart.
    #[arg(long)]
    unverified: bool,
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
    let keyring = args.trust.keyring(context)?;
    let paths = context.bundles(&args.paths)?;
    let progress = ui.progress(paths.len(), "bundles");
    let source = Source {
        paths: &paths,
        keyring: &keyring,
        unverified: args.unverified,
        options: context.scan_options(),
    };
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
    let mut columns = vec![("all", &report.all)];
    columns.extend(
        report
            .groups
            .iter()
            .map(|(name, card)| (name.as_str(), card)),
    );
    show_table(&mut out, &columns)?;
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
        "{} bundles: {} verified",
        grouped(counts.files),
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

/// A row a metric, a column a group.
fn show_table(out: &mut impl Write, columns: &[(&str, &Scorecard)]) -> Result<(), Failure> {
    type Cell = fn(&Scorecard) -> String;
    let rows: [(&str, Cell); 16] = [
        ("total_tasks", |card| grouped(card.total_tasks)),
        ("solved", |card| grouped(card.solved)),
        ("failed", |card| grouped(card.failed)),
        ("skipped", |card| grouped(card.skipped)),
        ("errors", |card| grouped(card.errors)),
        ("solve_rate", |card| percent(card.solve_rate)),
        ("evidence_coverage", |card| percent(card.evidence_coverage)),
        ("policy_violations", |card| grouped(card.policy_violations)),
        ("rollback_count", |card| grouped(card.rollback_count)),
        ("rollback_correctness", |card| {
            percent(card.rollback_correctness)
        }),
        ("total_cost", |card| dollars(card.total_cost_microdollars)),
        ("cost_per_solve", |card| dollars(card.cost_per_solve)),
        ("total_tokens", |card| grouped(card.total_tokens)),
        ("total_retries", |card| grouped(card.total_retries)),
        ("median_latency_ms", |card| grouped(card.median_latency_ms)),
        ("p95_latency_ms", |card| grouped(card.p95_latency_ms)),
    ];
    let names: Vec<String> = columns
        .iter()
        .map(|(name, _)| crate::render::clean::line(name, 24))
        .collect();
    let widths: Vec<usize> = names
        .iter()
        .map(|name| name.chars().count().max(14))
        .collect();
    if columns.len() > 1 {
        write!(out, "{:<22}", "")?;
        for (name, width) in names.iter().zip(&widths) {
            write!(out, "{BOLD}{name:>width$}{BOLD:#}  ")?;
        }
        writeln!(out)?;
    }
    for (label, cell) in rows {
        write!(out, "{DIM}{label:<22}{DIM:#}")?;
        for ((_, card), width) in columns.iter().zip(&widths) {
            write!(out, "{:>width$}  ", cell(card))?;
        }
        writeln!(out)?;
    }
    Ok(())
}
