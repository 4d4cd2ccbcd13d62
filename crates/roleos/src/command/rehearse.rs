//! `roleos rehearse`: decides recorded sessions again, so that a policy is tested like code. Changes nothing.

use std::io::Write as _;
use std::path::PathBuf;

use base::clock;
use base::config::{Config, ConfigError};
use base::grants;
use guard::rehearsal::{self, Changed, Rehearsal};
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Span, SpanRelativeTo, Timestamp};
use serde_json::{Value, json};

use crate::render::clean;
use crate::ui::{BOLD, DIM, Ui};
use crate::{Context, Exit, Failure};

/// Words of `rehearse`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  roleos rehearse --policy stricter.toml
  roleos rehearse --policy stricter.toml --since 7d --json

A policy is a settings file; its `[oversight]` section counts. Grants and files are taken as they are now.
Approvals that were given count again. Exit code 0 whatever the difference.")]
pub struct Args {
    /// The settings to try [default: those of the workspace].
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// Only calls since then: a moment, a day, or an age such as `2h` or `7d`.
    #[arg(long, value_name = "TIME", value_parser = parse_since)]
    since: Option<Since>,
}

/// A moment, or an age.
#[derive(Clone, Copy, Debug)]
enum Since {
    Moment(Timestamp),
    Age(Span),
}

fn parse_since(text: &str) -> Result<Since, String> {
    if let Ok(moment) = text.parse::<Timestamp>() {
        return Ok(Since::Moment(moment));
    }
    if let Ok(day) = text.parse::<Date>()
        && let Ok(start) = day.to_zoned(TimeZone::UTC)
    {
        return Ok(Since::Moment(start.timestamp()));
    }
    let span = text.parse::<Span>().map(Since::Age);
    span.map_err(|_| {
        "expected a moment (2026-02-15T09:30:00Z), a day or an age (2h, 7d)".to_owned()
    })
}

impl Since {
    fn nanoseconds(self) -> u64 {
        let now = i128::from(clock::now_ns());
        let moment = match self {
            Self::Moment(moment) => moment.as_nanosecond(),
            Self::Age(span) => {
                let relative = SpanRelativeTo::days_are_24_hours();
                let age = span.to_duration(relative).unwrap_or_default();
                now - age.as_nanos()
            }
        };
        u64::try_from(moment).unwrap_or(0)
    }
}

/// Converts an error: unlike in other commands, a missing settings file was not named by a variable.
fn unread(error: ConfigError) -> Failure {
    let is_missing = matches!(error, ConfigError::Read { .. });
    let failure = Failure::from(error);
    if is_missing {
        return failure.hint("`--policy` names a settings file; its `[oversight]` section counts");
    }
    failure
}

pub fn run(ui: &Ui, context: &Context, args: &Args) -> Result<Exit, Failure> {
    let config = match &args.policy {
        Some(path) => Config::read(path).map_err(unread)?,
        None => context.config.clone(),
    };
    let rehearsal = Rehearsal {
        workspace: &context.workspace,
        environment: &context.environment,
        oversight: &config.oversight,
        gate: context.environment.capability_gate || config.oversight.capability_gate,
        grants: grants::load(&context.workspace),
        since_ns: args.since.map_or(0, Since::nanoseconds),
    };
    let result = rehearsal::run(&rehearsal)?;
    if ui.json {
        let changed: Vec<Value> = result.changed.iter().map(as_json).collect();
        ui.json(&json!({
            "calls": result.calls,
            "skipped": result.skipped,
            "changed": changed,
        }))?;
        return Ok(Exit::Done);
    }
    let mut out = ui.out();
    for changed in &result.changed {
        let time: String = clock::text(changed.time_ns).chars().take(19).collect();
        writeln!(
            out,
            "{DIM}{time}{DIM:#}  {BOLD}{} → {}{BOLD:#}  {}  {}",
            changed.before,
            changed.after,
            clean::line(&changed.tool, 24),
            clean::line(&changed.text, 70),
        )?;
        for reason in &changed.reasons {
            writeln!(out, "  {}", clean::line(reason, 110))?;
        }
    }
    let skipped = match result.skipped {
        0 => String::new(),
        many => format!(
            "; {many} could not be decided again, because their arguments were not kept whole"
        ),
    };
    writeln!(
        out,
        "{} of {} calls would be answered differently{skipped}",
        result.changed.len(),
        result.calls
    )?;
    out.flush()?;
    Ok(Exit::Done)
}

fn as_json(changed: &Changed) -> Value {
    json!({
        "session": changed.session,
        "seq": changed.seq,
        "time": clock::text(changed.time_ns),
        "tool": changed.tool,
        "text": changed.text,
        "before": changed.before,
        "after": changed.after,
        "reasons": changed.reasons,
    })
}
