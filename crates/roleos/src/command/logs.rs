//! `roleos logs`: the logs of the workspace as one stream, by time.

use std::io::Write as _;
use std::thread;
use std::time::Duration;

use base::clock;
use base::logs::{Entry, Logs};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::command::grant::parse_duration;
use crate::render::clean;
use crate::ui::{BOLD, DIM, Ui};
use crate::{Context, Exit, Failure};

/// Interval of checks of the files.
const LOOK_EVERY: Duration = Duration::from_millis(300);
/// Keys without meaning for people.
const DULL: [&str; 12] = [
    "time_ns",
    "at",
    "ts",
    "time",
    "timestamp",
    "created_at",
    "seq",
    "prev",
    "signature",
    "v",
    "schema",
    "place",
];

/// Words of `logs`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  roleos logs --since 2h
  roleos logs --log gateway --log decision
  roleos logs --follow --json | your-program      (one object a line)")]
pub struct Args {
    /// Wait for what comes, until you stop it.
    #[arg(long, short)]
    follow: bool,
    /// Only lines of this time or later, as 2026-02-15, 2026-02-15T12:00:00Z, or so long ago: 30m, 2h, 3d.
    #[arg(long, value_name = "TIME", value_parser = parse_since)]
    since: Option<Since>,
    /// Only this log: session, gateway, adapter, probe, field, event, run, feedback, decision; may be repeated.
    #[arg(long = "log", value_name = "LOG", value_parser = ["session", "gateway", "adapter", "probe", "field", "event", "run", "feedback", "decision"])]
    logs: Vec<String>,
    /// Only the last so many.
    #[arg(long, value_name = "N", default_value_t = 200)]
    limit: usize,
}

#[derive(Clone, Copy, Debug)]
enum Since {
    Ago(SignedDuration),
    At(Timestamp),
}

fn parse_since(text: &str) -> Result<Since, String> {
    if let Ok(ago) = parse_duration(text) {
        return Ok(Since::Ago(ago));
    }
    let at = clock::parse_day_or_moment(text).map(i128::from);
    at.and_then(|at| Timestamp::from_nanosecond(at).ok())
        .map(Since::At)
        .ok_or_else(|| {
            "expected a time such as 2h, 3d, 2026-02-15 or 2026-02-15T12:00:00Z".to_owned()
        })
}

pub fn run(ui: &Ui, context: &Context, args: &Args) -> Result<Exit, Failure> {
    let mut logs = Logs::of(&context.workspace, &context.environment);
    let now = Timestamp::from_nanosecond(i128::from(clock::now_ns())).unwrap_or(Timestamp::MAX);
    let since = match args.since {
        None => Timestamp::MIN,
        Some(Since::At(at)) => at,
        Some(Since::Ago(ago)) => now.checked_sub(ago).unwrap_or(Timestamp::MIN),
    };
    let wanted = |entry: &Entry| {
        entry.time >= since
            && (args.logs.is_empty() || args.logs.iter().any(|log| log == entry.log))
    };
    let mut limit = args.limit;
    loop {
        let mut news = logs.news();
        news.retain(wanted);
        let skip = news.len().saturating_sub(limit);
        let mut out = ui.out();
        for entry in news.iter().skip(skip) {
            match ui.json {
                true => writeln!(out, "{}", as_json(entry))?,
                false => writeln!(out, "{}", text(entry))?,
            }
        }
        out.flush()?;
        if !args.follow {
            if news.is_empty() {
                ui.note("nothing is logged here for that time");
            }
            return Ok(Exit::Done);
        }
        limit = usize::MAX;
        thread::sleep(LOOK_EVERY);
    }
}

fn as_json(entry: &Entry) -> Value {
    json!({ "time": entry.time.to_string(), "log": entry.log, "record": entry.record })
}

/// Formats time, log, and the relevant parts of the record on one line.
fn text(entry: &Entry) -> String {
    let mut parts = String::new();
    // Of a signed change people read what was done; `--json` has the rest.
    let change = entry
        .record
        .pointer("/receipt/what")
        .map(|what| json!({ "changed": what }));
    let record = change.as_ref().unwrap_or(&entry.record);
    for (key, value) in record.as_object().into_iter().flatten() {
        if DULL.contains(&key.as_str()) || value.is_null() {
            continue;
        }
        let value = match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        parts.push_str(&format!(
            " {}={}",
            clean::line(key, 40),
            clean::line(&value, 80)
        ));
    }
    let time = super::approve::short(&entry.time.to_string());
    format!("{DIM}{time}{DIM:#} {BOLD}{:<8}{BOLD:#}{parts}", entry.log)
}
