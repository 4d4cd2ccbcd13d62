//! `roleos selector calibrate`: share, quality and cost by threshold, and the proposed one.

use std::io::Write as _;

use routing::selector;
use routing::specialists::{Named, Operator};
use selection::selector::Example;
use selection::selector::curve::{Point, Wanted, curve, propose};
use serde_json::{Value, json};

use crate::command::specialist::{Who, now, open};
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::person::not_below_an_agent;
use crate::render::clean;
use crate::ui::{BOLD, DIM, GOOD, Ui};

/// Words of `selector calibrate`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  roleos selector calibrate support
  roleos selector calibrate support --min-quality 0.95
  roleos selector calibrate support --max-cost 0.4 --write

Quality is the share of acceptable answers, the general model's among them. Cost is relative to the
general model alone, which is 1. Every contest is scored by what the others teach. Without a wish the
lowest threshold is proposed at which the role is not worse than the general model alone. Of thresholds
that bring the same, the one nearest to the present one is proposed.")]
pub struct Args {
    /// The role.
    #[arg(value_name = "ROLE")]
    role: String,
    /// Least share of acceptable answers, from 0 to 1.
    #[arg(long, value_name = "Q", value_parser = share, conflicts_with = "max_cost")]
    min_quality: Option<f64>,
    /// Most that the role may cost, where the general model alone is 1.
    #[arg(long, value_name = "C", value_parser = share)]
    max_cost: Option<f64>,
    /// Set the threshold of the versions that serve the role.
    #[arg(long)]
    write: bool,
    #[command(flatten)]
    who: Who,
}

fn share(text: &str) -> Result<f64, String> {
    let number: f64 = text
        .parse()
        .map_err(|_| "give a number from 0 to 1".to_owned())?;
    if (0.0..=1.0).contains(&number) {
        return Ok(number);
    }
    Err("give a number from 0 to 1".to_owned())
}

/// Runs the command.
///
/// # Errors
/// The role does not serve, there is no training data for it, no threshold meets the requirements, or an agent tries to
/// write.
pub(super) fn run(ui: &Ui, context: &Context, args: &Args) -> Result<Exit, Failure> {
    if args.write {
        not_below_an_agent("selector calibrate --write")?;
    }
    let specialists = open(context, &Named::default())?;
    let registry = specialists.registry()?;
    let unknown = || {
        Failure::input(
            "unknown_role",
            format!("no role `{}` is registered", args.role),
        )
        .hint("`roleos specialist list` shows those that are")
    };
    let entry = registry.entry(&args.role).ok_or_else(unknown)?;
    let serving: Vec<&str> = entry.serving().map(|version| version.id.as_str()).collect();
    if serving.is_empty() {
        let message = format!("no version serves `{}`", args.role);
        return Err(Failure::input("nothing_serves", message).hint(format!(
            "`roleos specialist promote {} VERSION` makes one active",
            args.role
        )));
    }
    let curve = curve(&examples(context, &args.role)?, &serving);
    let wanted = match (args.min_quality, args.max_cost) {
        (Some(quality), _) => Wanted::Quality(quality),
        (_, Some(cost)) => Wanted::Cost(cost),
        _ => Wanted::AsGeneral,
    };
    if curve.is_empty() {
        let version = serving.first().copied().unwrap_or_default();
        let message = selector::next_step(&args.role, version);
        return Err(Failure::input("not_trained", message));
    }
    let Some(point) = propose(&curve, wanted) else {
        return Err(out_of_reach(wanted, &curve));
    };
    let present = entry.serving().map(|version| version.gate_threshold);
    let point = unchanged(&curve, point, present.fold(0.0, f64::max));
    if args.write {
        for version in &serving {
            let keys = vec![("gate_threshold", json!(point.threshold))];
            let (name, now) = (args.who.name(context), now());
            let operator = Operator {
                name: &name,
                reason: "selector calibrate",
                now: &now,
            };
            let not_in_step = specialists.set(&args.role, Some(version), &[], &keys, operator)?;
            if let Some(why) = not_in_step {
                ui.note(format_args!("warning: {}", clean::name(why.as_bytes())));
            }
        }
    }
    show(ui, args, &serving, &curve, point)
}

/// Note if no ratio of costs can be shown.
const NO_PRICES: &str = "no contest tells both prices, so no cost is shown";

/// Remedy for missing prices.
const PRICES_HINT: &str = "set the general model's price under `[fallback.claude]` and the adapter's under `[oversight.prices]`, then learn again";

/// Avoids a change without a benefit: of the points equivalent to the proposed one, returns the nearest to the present
/// threshold.
fn unchanged(curve: &[Point], proposed: Point, present: f64) -> Point {
    let brings = |point: &Point| (point.share, point.quality) == (proposed.share, proposed.quality);
    let far = |point: &Point| (point.threshold - present).abs();
    let same = curve.iter().copied().filter(brings);
    let nearest = |one: Point, other: Point| if far(&other) < far(&one) { other } else { one };
    same.reduce(nearest).unwrap_or(proposed)
}

/// Returns all contests of the role: each is scored by a selector trained on the others, so none has to be held out.
fn examples(context: &Context, role: &str) -> Result<Vec<Example>, Failure> {
    let workspace = &context.workspace;
    let mut lessons = selector::lessons_of(workspace)?;
    let split = lessons.roles.remove(role).unwrap_or_default();
    Ok(split.training.into_iter().chain(split.held_out).collect())
}

fn out_of_reach(wanted: Wanted, curve: &[Point]) -> Failure {
    let best = curve.iter().map(|point| point.quality).fold(0.0, f64::max);
    let least = curve
        .iter()
        .filter_map(|point| point.cost)
        .fold(None, |least, cost| {
            Some(least.map_or(cost, |least: f64| least.min(cost)))
        });
    let (message, hint) = match (wanted, least) {
        (Wanted::Cost(_), None) => (NO_PRICES.to_owned(), PRICES_HINT),
        (Wanted::Cost(cost), Some(least)) => (
            format!("no threshold brings the cost to {cost:.3}: the least is {least:.3}"),
            "more inputs need a version that answers them well",
        ),
        (_, _) => (
            format!("no threshold brings that quality: the best is {best:.3}"),
            "the general model alone is not better than that",
        ),
    };
    Failure::input("out_of_reach", message).hint(hint)
}

fn as_json(point: &Point) -> Value {
    json!({
        "threshold": point.threshold, "share": point.share,
        "quality": point.quality, "cost": point.cost,
    })
}

fn show(
    ui: &Ui,
    args: &Args,
    serving: &[&str],
    curve: &[Point],
    point: Point,
) -> Result<Exit, Failure> {
    if ui.json {
        let mut object = as_json(&point);
        if let Some(object) = object.as_object_mut() {
            object.insert("role".to_owned(), json!(args.role));
            object.insert("versions".to_owned(), json!(serving));
            object.insert("written".to_owned(), json!(args.write));
            object.insert("curve".to_owned(), curve.iter().map(as_json).collect());
        }
        ui.json(&object)?;
        return Ok(Exit::Done);
    }
    let cost = |point: &Point| {
        point
            .cost
            .map_or_else(|| "–".to_owned(), |cost| format!("{cost:.3}"))
    };
    let mut out = ui.out();
    writeln!(out, "{BOLD}threshold   share  quality    cost{BOLD:#}")?;
    for one in curve {
        let mark = if one == &point { "◀" } else { "" };
        writeln!(
            out,
            "{:>9.2}{:>8.3}{:>9.3}{:>8}  {mark}",
            one.threshold,
            one.share,
            one.quality,
            cost(one)
        )?;
    }
    writeln!(
        out,
        "{GOOD}threshold {:.2}{GOOD:#}: {:.1} % by specialists, quality {:.3}, cost {}",
        point.threshold,
        100.0 * point.share,
        point.quality,
        cost(&point)
    )?;
    if point.cost.is_none() {
        writeln!(out, "{DIM}{NO_PRICES}: {PRICES_HINT}{DIM:#}")?;
    }
    let role = clean::name(args.role.as_bytes());
    if args.write {
        writeln!(out, "set for {} versions of {role}", serving.len())?;
    } else {
        writeln!(
            out,
            "{DIM}`roleos selector calibrate {role} … --write` sets it{DIM:#}"
        )?;
    }
    out.flush()?;
    Ok(Exit::Done)
}
