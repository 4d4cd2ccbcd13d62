//! `roleos audit diff`: two exams of one kind, case by case.

use std::path::Path;

use routing::audits;
use routing::specialists::Named;
use selection::audit::{AuditRecord, Report};
use serde_json::json;

use super::super::specialist::{open, valid};
use super::subject;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::render::clean;
use crate::ui::{BAD, GOOD, Ui};

/// Words of `audit diff`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  roleos audit diff fact-checker/v1 fact-checker/v2")]
pub struct Args {
    /// A record's file, or role and version, whose newest record is taken.
    #[arg(value_name = "BEFORE")]
    before: String,
    /// The same for the other side.
    #[arg(value_name = "AFTER")]
    after: String,
}

/// Runs the command.
///
/// # Errors
/// There is no such record, or the two are records of different exams.
pub fn run(ui: &Ui, context: &Context, args: &Args) -> Result<Exit, Failure> {
    let (before, after) = records(ui, context, args)?;
    if before.exam_hash != after.exam_hash {
        let message = format!(
            "`{}` and `{}` took different exams and cannot be compared",
            args.before, args.after
        );
        return Err(
            Failure::refused("exam_differs", message).hint("run one audit set on both versions")
        );
    }
    let metric = routing::metrics::current(&context.workspace)?.metric;
    let (old, new) = (before.under(&metric), after.under(&metric));
    let report = Report::of(&new, Some(&old));
    let gained: Vec<usize> = old
        .iter()
        .zip(&new)
        .enumerate()
        .filter(|(_, (old, new))| !old.passed() && new.passed())
        .map(|(index, _)| index)
        .collect();
    let margin = context.config.selection.exam_margin.get();
    let holds = report.holds(margin);
    let quality = report.comparison.map_or(0.0, |found| found.mean);
    let change = -report.lost_reward.unwrap_or(0.0);
    if ui.json {
        ui.json(&json!({
            "exam_hash": after.exam_hash, "metric_version": metric.metric_version,
            "before": { "role": before.role, "version": before.version, "passed": before.passed },
            "after": { "role": after.role, "version": after.version, "passed": after.passed },
            "cases": after.cases, "regressions": report.regressions, "gained": gained,
            "quality_change": quality, "margin": margin, "reward_change": change, "ok": holds,
        }))?;
        return Ok(Exit::of_check(holds));
    }
    let reason = |index: usize| {
        let given = after.answers.get(index);
        let reason = given
            .and_then(|given| given.reason.clone())
            .unwrap_or_default();
        clean::name(reason.as_bytes()).into_owned()
    };
    for index in &report.regressions {
        ui.line(format_args!(
            "{BAD}case {index}{BAD:#} passed and fails now: {}",
            reason(*index)
        ))?;
    }
    for index in &gained {
        ui.line(format_args!(
            "{GOOD}case {index}{GOOD:#} failed and passes now"
        ))?;
    }
    ui.line(format_args!(
        "{} → {} of {} cases, quality {quality:+.3}, mean reward {change:+.4}: {}",
        before.passed,
        after.passed,
        after.cases,
        if holds { "holds" } else { "a step back" }
    ))?;
    Ok(Exit::of_check(holds))
}

/// Reads both records; of several exams of a version, the newest that the other one took as well.
fn records(ui: &Ui, context: &Context, args: &Args) -> Result<(AuditRecord, AuditRecord), Failure> {
    let (befores, afters) = (
        candidates(ui, context, &args.before)?,
        candidates(ui, context, &args.after)?,
    );
    for after in afters.iter().rev() {
        let same = |before: &&AuditRecord| before.exam_hash == after.exam_hash;
        if let Some(before) = befores.iter().rfind(same) {
            return Ok((before.clone(), after.clone()));
        }
    }
    match (
        befores.into_iter().next_back(),
        afters.into_iter().next_back(),
    ) {
        (Some(before), Some(after)) => Ok((before, after)),
        _ => Err(no_record(&args.before)),
    }
}

fn candidates(ui: &Ui, context: &Context, named: &str) -> Result<Vec<AuditRecord>, Failure> {
    if Path::new(named).is_file() {
        return Ok(vec![audits::read(Path::new(named))?]);
    }
    let specialists = open(context, &Named::default())?;
    let registry = valid(ui, &specialists)?.registry;
    let (entry, version) = subject(&registry, named)?;
    let records = audits::all(&specialists.paths().audits).into_iter();
    let own = |record: &AuditRecord| record.role == entry.role && record.version == version.id;
    let found: Vec<AuditRecord> = records.map(|(_, record)| record).filter(own).collect();
    if found.is_empty() {
        return Err(no_record(named));
    }
    Ok(found)
}

fn no_record(named: &str) -> Failure {
    Failure::input("no_audit", format!("`{named}` was not audited"))
        .hint("`roleos audit run ROLE/VERSION --set FILE` does that")
}
