//! `roleos scorecard`: sixteen figures and the acceptance criteria over many bundles.

use std::io::Write;

use evidence::score::Counts;
use evidence::score::{self, Scored};
use present::view::score::report as as_json;
use witness::scorecard::{Acceptance, GroupBy, Report, Scorecard, Standing, Thresholds, Wanted};

use crate::command::many_bundles::{FoundBundles, ManyBundles};
use crate::render::clean;
use crate::render::units::{cost, cost_per_solve, counted, grouped, percent, without_cost};
use crate::ui::{BAD, BOLD, DIM, GOOD, Ui, WARN};
use crate::{Context, Exit, Failure};

/// Words of `scorecard`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  roleos scorecard                       all verified bundles of this workspace
  roleos scorecard --by model            one line of figures a model
  roleos scorecard runs/ --key-file k    bundles from elsewhere, with their key
  roleos scorecard --since 2026-02-01    only newer bundles
  roleos scorecard --accept              exit 1 unless everything holds
  roleos scorecard --team                all bundles in the team's store

The bundles of the workspace are compared with its ledger. Acceptance needs the ledger to hold, one policy over all
tasks, and the thresholds of `[acceptance]` in `.role-os/config.toml`.")]
pub struct Args {
    #[command(flatten)]
    bundles: ManyBundles,
    /// Divide by week, day, mode, role, model, agent, specialist, suite, or fact:NAME.
    #[arg(long, value_name = "WHAT", value_parser = parse_by)]
    by: Option<By>,
    /// Add up the team's archive, from figures that were computed when its bundles came.
    #[arg(long, conflicts_with_all = ["paths", "unverified"])]
    team: bool,
    /// Turn the acceptance criteria into the exit code.
    #[arg(long)]
    accept: bool,
    #[command(flatten)]
    limits: Limits,
}

/// Thresholds instead of those of the settings.
#[derive(Debug, clap::Args)]
struct Limits {
    /// Fewest tasks [default: 100].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    min_tasks: Option<u32>,
    /// Least share of solved tasks [default: 0.6].
    #[arg(long, value_name = "SHARE", value_parser = parse_share)]
    min_solve_rate: Option<f64>,
    /// Most breaches of policy [default: 0].
    #[arg(long, value_name = "N")]
    max_policy_violations: Option<u32>,
    /// Least share of solved tasks with complete evidence [default: 1].
    #[arg(long, value_name = "SHARE", value_parser = parse_share)]
    min_evidence_coverage: Option<f64>,
    /// Least share of correct rollbacks [default: 1].
    #[arg(long, value_name = "SHARE", value_parser = parse_share)]
    min_rollback_correctness: Option<f64>,
}

impl Limits {
    fn over(&self, set: Thresholds) -> Thresholds {
        Thresholds {
            min_tasks: self.min_tasks.unwrap_or(set.min_tasks),
            min_solve_rate: self.min_solve_rate.unwrap_or(set.min_solve_rate),
            max_policy_violations: self
                .max_policy_violations
                .unwrap_or(set.max_policy_violations),
            min_evidence_coverage: self
                .min_evidence_coverage
                .unwrap_or(set.min_evidence_coverage),
            min_rollback_correctness: self
                .min_rollback_correctness
                .unwrap_or(set.min_rollback_correctness),
        }
    }
}

fn parse_share(text: &str) -> Result<f64, String> {
    let share = text
        .parse()
        .ok()
        .filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| "expected a number from 0 to 1".to_owned())
}

/// A division, and its name on the command line.
#[derive(Clone, Debug)]
struct By {
    name: String,
    group: GroupBy,
}

fn parse_by(text: &str) -> Result<By, String> {
    let group = GroupBy::parse(text).ok_or_else(|| format!("expected {}", GroupBy::WORDS))?;
    Ok(By {
        name: text.to_owned(),
        group,
    })
}

pub fn run(ui: &Ui, context: &Context, args: &Args) -> Result<Exit, Failure> {
    let wanted = Wanted {
        by: args.by.as_ref().map(|by| by.group.clone()),
        filter: args.bundles.filter()?,
        all: args.bundles.all,
    };
    let of_workspace = |bundles: &FoundBundles| {
        let progress = ui.progress(bundles.count(), "bundles");
        let source = bundles.source(context);
        Ok(score::scorecard(source, &wanted, |done| {
            progress.set(done);
        })?)
    };
    let scored = match args.team {
        true => of_team(context, &wanted)?,
        false => args.bundles.read(context, of_workspace)?,
    };
    let thresholds = args.limits.over(context.config.acceptance.thresholds());
    let acceptance = scored.result.acceptance(&thresholds, scored.reasons());
    if ui.json {
        let by = args.by.as_ref().map(|by| by.name.as_str());
        let (report, audit) = (&scored.result, scored.audit.as_ref());
        ui.json(&as_json(report, &scored.counts, &acceptance, audit, by))?;
    } else {
        show(ui, &scored, &acceptance)?;
    }
    let holds = !args.accept || acceptance.is_accepted();
    Ok(Exit::of_check(holds))
}

/// Adds the archive up. Its ledger is compared by `roleos ship` and `roleos migrate`, not here.
fn of_team(context: &Context, wanted: &Wanted) -> Result<Scored<Report>, Failure> {
    let result = context.archive()?.scorecard(wanted)?;
    let mut counts = Counts {
        files: result.verified
            + result.duplicates
            + result.filtered
            + result.not_tasks
            + result.by_agent,
        ..Counts::default()
    };
    counts.take_from(&result);
    Ok(Scored {
        result,
        counts,
        audit: None,
    })
}

fn show(ui: &Ui, scored: &Scored<Report>, acceptance: &Acceptance) -> Result<(), Failure> {
    let (report, counts) = (&scored.result, &scored.counts);
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
    show_acceptance(&mut out, acceptance)?;
    out.flush()?;
    Ok(())
}

fn show_acceptance(out: &mut impl Write, acceptance: &Acceptance) -> Result<(), Failure> {
    let (style, word) = match acceptance.standing() {
        Standing::Accepted => (GOOD, "accepted"),
        Standing::NotYet => (WARN, "not yet"),
        Standing::NotAccepted => (BAD, "not accepted"),
    };
    writeln!(out, "\n{BOLD}acceptance{BOLD:#}  {style}{word}{style:#}")?;
    for criterion in &acceptance.criteria {
        let (style, word) = match criterion.verdict() {
            "pass" => (GOOD, "pass"),
            "fail" => (BAD, "fail"),
            _ => (DIM, "-   "),
        };
        writeln!(
            out,
            "  {style}{word}{style:#}  {:<21} {:>8.2}  {} {:.2}",
            criterion.metric, criterion.value, criterion.relation, criterion.threshold
        )?;
    }
    for reason in &acceptance.reasons {
        writeln!(out, "  {style}{}{style:#}", clean::line(&reason.text, 300))?;
    }
    Ok(())
}

/// Shows the number of files, and the reasons of those that do not count.
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
    let apart = [
        (counts.not_tasks, "sessions without a task"),
        (counts.sealed_below_agent, "sealed by hand below an agent"),
        (counts.filtered, "filtered out"),
    ];
    for (number, what) in apart.into_iter().filter(|(number, _)| *number > 0) {
        write!(out, ", {} {what}", grouped(number))?;
    }
    for (why, number) in &counts.left_out {
        write!(out, ", {WARN}{} {why}{WARN:#} left out", grouped(*number))?;
    }
    if counts.corrected > 0 {
        let number = grouped(counts.corrected);
        write!(
            out,
            "\n{WARN}{number} claim to be solved and their test log shows otherwise; they count as failed{WARN:#}"
        )?;
    }
    writeln!(out, "\n")?;
    Ok(())
}

/// Shows one line if costs are missing, with the way to add them.
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

/// Shows one line per group with the most important figures; `--json` has all of them.
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
