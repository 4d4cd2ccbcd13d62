//! `roleos curve`: the cost of a solved task over time, as a table, JSON, or a picture.

use std::io::Write as _;
use std::path::PathBuf;

use base::files::{self, Privacy};
use clap::ValueEnum;
use evidence::score;
use evidence::score::Counts;
use evidence::store::audit::Audit;
use present::view::score::curve as as_json;
use witness::curve::{Period, Point};
use witness::scorecard::Wanted;

use crate::command::many_bundles::ManyBundles;
use crate::command::scorecard::{show_counts, show_without_cost};
use crate::render::curve_svg;
use crate::render::units::{dollars, grouped};
use crate::ui::{BAD, BOLD, Ui, WARN};
use crate::{Context, Exit, Failure};

/// Words of `curve`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  roleos curve                      a line a week
  roleos curve --by day --json
  roleos curve --svg curve.svg      a picture")]
pub struct Args {
    #[command(flatten)]
    bundles: ManyBundles,
    /// Length of a step, in UTC.
    #[arg(long, value_name = "PERIOD", default_value = "week")]
    by: Step,
    /// Write a picture.
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Step {
    /// ISO week, Monday to Sunday.
    Week,
    /// Calendar day.
    Day,
}

impl Step {
    fn period(self) -> (Period, &'static str) {
        match self {
            Self::Week => (Period::Week, "week"),
            Self::Day => (Period::Day, "day"),
        }
    }
}

pub fn run(ui: &Ui, context: &Context, args: &Args) -> Result<Exit, Failure> {
    let (period, name) = args.by.period();
    let wanted = Wanted {
        by: None,
        filter: args.bundles.filter()?,
        all: args.bundles.all,
    };
    let scored = args.bundles.read(context, |bundles| {
        let progress = ui.progress(bundles.count(), "bundles");
        let source = bundles.source(context);
        Ok(score::curve(source, period, &wanted, |done| {
            progress.set(done);
        })?)
    })?;
    let (points, counts) = (&scored.result, &scored.counts);
    if let Some(path) = &args.svg {
        files::write(path, curve_svg::svg(points).as_bytes(), Privacy::Shared)?;
        ui.note(format_args!("wrote {}", path.display()));
    }
    if ui.json {
        ui.json(&as_json(points, counts, scored.audit.as_ref(), name))?;
    } else if args.svg.is_none() {
        show(ui, points, counts)?;
    }
    if let Some(found) = scored.audit.as_ref().and_then(Audit::summary) {
        ui.note(format_args!(
            "{WARN}warning{WARN:#}: the ledger does not hold: {found}; see `roleos ledger verify`"
        ));
    }
    Ok(Exit::Done)
}

fn show(ui: &Ui, points: &[Point], counts: &Counts) -> Result<(), Failure> {
    let mut out = ui.out();
    show_counts(&mut out, counts)?;
    writeln!(
        out,
        "{BOLD}{:<12}{:>8}{:>8}{:>14}{:>14}{:>9}{:>13}{BOLD:#}",
        "period", "tasks", "solved", "cost/solve", "tokens/solve", "retries", "regressions"
    )?;
    for point in points {
        let cost = point
            .cost_per_solve()
            .map_or_else(|| "-".to_owned(), dollars);
        let tokens = point
            .tokens_per_solve()
            .map_or_else(|| "-".to_owned(), grouped);
        write!(
            out,
            "{:<12}{:>8}{:>8}{cost:>14}{tokens:>14}{:>9}",
            point.period,
            grouped(point.tasks),
            grouped(point.solved),
            grouped(point.retries)
        )?;
        if point.regressions > 0 {
            writeln!(out, "{BAD}{:>13}{BAD:#}", grouped(point.regressions))?;
        } else {
            writeln!(out, "{:>13}", 0)?;
        }
    }
    let sum = |of: fn(&Point) -> u64| points.iter().map(of).sum::<u64>();
    let unknown = sum(|point| point.cost.unknown_tasks);
    show_without_cost(&mut out, unknown, sum(|point| point.tasks))?;
    out.flush()?;
    Ok(())
}
