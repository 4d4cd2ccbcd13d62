//! `roleos explain-route`: the route of an input with reasons, version by version. `dispatch --dry-run` shows the same.

use std::io::Write as _;
use std::path::PathBuf;

use routing::selector::Judge;
use routing::specialists::{Asked, Candidate, Named, Route};

use super::dispatch::{bytes, refuse_blank, refuse_unknown, value};
use super::specialist::{now, open};
use crate::render::clean;
use crate::ui::{BOLD, DIM, GOOD, Ui, WARN};
use crate::{Context, Exit, Failure};

/// Words of `explain-route`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  roleos explain-route support --input ticket.txt
  echo 'my card was charged twice' | roleos explain-route support --json

Nothing is asked and nothing is counted.")]
pub struct Args {
    /// The role.
    #[arg(value_name = "ROLE")]
    role: String,
    /// The input's file; `-` is standard input.
    #[arg(long, value_name = "FILE", default_value = "-")]
    input: PathBuf,
    /// The task, where the input does not name one as its `task`.
    #[arg(long, value_name = "TASK")]
    task: Option<String>,
}

pub fn run(ui: &Ui, context: &Context, args: &Args) -> Result<Exit, Failure> {
    let input = value(&args.input, &bytes(&args.input)?)?;
    refuse_blank(&input)?;
    let specialists = open(context, &Named::default())?;
    refuse_unknown(context, &specialists, &args.role)?;
    let now = now();
    let asked = Asked {
        role: &args.role,
        input: &input,
        trace_id: "explain-route",
        now: &now,
    };
    let judge = Judge::of(&context.workspace);
    let route = specialists.route(asked, args.task.as_deref(), &judge);
    show(ui, &route)
}

pub(super) fn show(ui: &Ui, route: &Route) -> Result<Exit, Failure> {
    if ui.json {
        ui.json(&route.to_json())?;
        return Ok(Exit::Done);
    }
    let decision = &route.decision;
    ui.line(format_args!(
        "{}: {} — {}",
        decision.route,
        decision.reason.name(),
        clean::name(decision.detail.as_bytes())
    ))?;
    if let Some((view, most)) = route.quota {
        ui.line(format_args!(
            "{DIM}quota: {} of the last {} dispatches, at most {:.0} %{DIM:#}",
            view.used,
            view.window,
            100.0 * most
        ))?;
    }
    let mut out = ui.out();
    for version in &route.versions {
        let chosen = route.version.as_ref() == Some(&version.version);
        line(&mut out, version, chosen)?;
    }
    out.flush()?;
    Ok(Exit::Done)
}

fn line(out: &mut impl std::io::Write, one: &Candidate, chosen: bool) -> Result<(), Failure> {
    let or_dash = |number: Option<f64>| {
        number.map_or_else(|| "–".to_owned(), |number| format!("{number:.3}"))
    };
    let familiarity = one.familiarity();
    let (style, mark) = if chosen { (GOOD, '*') } else { (WARN, ' ') };
    let id: String = one.version.chars().take(16).collect();
    writeln!(
        out,
        "{style}{mark}{style:#} {BOLD}{}{BOLD:#} {} {}: score {} (threshold {:.3}), known words {} (needed {}) — {}",
        clean::name(id.as_bytes()),
        clean::name(one.model_id.as_bytes()),
        one.level,
        or_dash(one.score().map(|(score, _)| score)),
        one.threshold,
        or_dash(familiarity.map(|found| found.share)),
        or_dash(familiarity.map(|found| found.from)),
        clean::name(one.decision.detail.as_bytes()),
    )?;
    Ok(())
}
