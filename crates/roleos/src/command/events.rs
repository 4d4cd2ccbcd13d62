//! `roleos events`: the events for other programs, as written.

use std::collections::VecDeque;
use std::io::Write as _;
use std::thread;
use std::time::Duration;

use routing::events::{self, Follower};
use selection::event::Envelope;
use serde_json::{Value, json};

use crate::render::clean;
use crate::ui::{BOLD, DIM, Ui, WARN};
use crate::{Context, Exit, Failure};

/// Interval of checks of the file.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Words of `events`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  roleos events --limit 20
  roleos events --event SELECT_TRAIN_EXAMPLE --json
  roleos events --follow --json | your-program        (one envelope a line)")]
pub struct Args {
    /// Wait for what comes, until you stop it.
    #[arg(long, short)]
    follow: bool,
    /// Only the last so many.
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Only events of this name.
    #[arg(long, value_name = "NAME")]
    event: Option<String>,
}

pub fn run(ui: &Ui, context: &Context, args: &Args) -> Result<Exit, Failure> {
    let path = events::path(&context.workspace);
    let wanted = |envelope: &Envelope| {
        let name = args.event.as_ref();
        name.is_none_or(|name| envelope.event.eq_ignore_ascii_case(name))
    };
    if args.follow {
        let mut follower = Follower::new(path);
        let mut first = args.limit;
        loop {
            let mut news = follower.news()?;
            news.retain(wanted);
            let skip = first
                .take()
                .map_or(0, |most| news.len().saturating_sub(most));
            let mut out = ui.out();
            for envelope in news.iter().skip(skip) {
                if ui.json {
                    let line = serde_json::to_string(envelope).unwrap_or_default();
                    writeln!(out, "{line}")?;
                } else {
                    writeln!(out, "{}", text(envelope))?;
                }
            }
            out.flush()?;
            thread::sleep(LOOK_EVERY);
        }
    }
    let most = args.limit.unwrap_or(usize::MAX);
    let mut kept: VecDeque<Envelope> = VecDeque::new();
    let unreadable = events::read(&path, |envelope| {
        if wanted(&envelope) && most > 0 {
            if kept.len() == most {
                kept.pop_front();
            }
            kept.push_back(envelope);
        }
    })?;
    if ui.json {
        ui.json(&json!({ "events": kept, "unreadable": unreadable }))?;
        return Ok(Exit::Done);
    }
    let mut out = ui.out();
    for envelope in &kept {
        writeln!(out, "{}", text(envelope))?;
    }
    if kept.is_empty() {
        writeln!(out, "(no events in {})", path.display())?;
    }
    if unreadable > 0 {
        writeln!(out, "{WARN}{unreadable} lines are no events{WARN:#}")?;
    }
    out.flush()?;
    Ok(Exit::Done)
}

/// Formats time, name, and payload on one line.
fn text(envelope: &Envelope) -> String {
    let name = clean::name(envelope.event.as_bytes());
    let time = clean::name(envelope.ts.as_bytes());
    let mut payload = String::new();
    if let Value::Object(fields) = &envelope.payload {
        for (key, value) in fields {
            let value = match value {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            payload.push_str(&format!(" {key}={}", clean::line(&value, 60)));
        }
    }
    format!("{DIM}{time}{DIM:#} {BOLD}{name}{BOLD:#}{payload}")
}
