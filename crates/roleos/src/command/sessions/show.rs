//! `roleos sessions show`: shows a session, also while it is running.

use std::io::Write as _;
use std::path::Path;
use std::thread;
use std::time::Duration;

use evidence::journal::SessionId;
use evidence::journal::read::{Reader, Session};
use evidence::journal::record::{Line, Record};
use serde_json::{Value, json};

use crate::render::session_text;
use crate::ui::{Ui, WARN};
use crate::{Context, Exit, Failure};

/// Interval of checks of a growing journal.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Words of `sessions show`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  roleos sessions show
  roleos sessions show 0199c0de --json
  roleos sessions show --follow

Times are UTC.")]
pub struct Args {
    /// The session's id, or the beginning of it.
    #[arg(value_name = "SESSION", default_value = "latest")]
    session: String,
    /// Wait for what comes, until the session ends.
    #[arg(long, short)]
    follow: bool,
}

pub fn run(ui: &Ui, context: &Context, args: &Args) -> Result<Exit, Failure> {
    let (id, path) = super::find(context, &args.session)?;
    if args.follow {
        return follow(ui, &path);
    }
    let session = Session::read(&path)?;
    if ui.json {
        ui.json(&as_json(&id, &session))?;
    } else {
        let mut out = ui.out();
        for line in &session.lines {
            write_line(&mut out, line)?;
        }
        for problem in &session.problems {
            writeln!(out, "{WARN}{problem}{WARN:#}")?;
        }
        out.flush()?;
    }
    Ok(Exit::of_check(session.is_whole()))
}

fn follow(ui: &Ui, path: &Path) -> Result<Exit, Failure> {
    let mut reader = Reader::open(path)?;
    let mut broken = 0;
    loop {
        let mut out = ui.out();
        let mut ended = false;
        while let Some(read) = reader.next_line()? {
            match read {
                Ok(line) if ui.json => writeln!(out, "{}", line_json(&line))?,
                Ok(line) => {
                    write_line(&mut out, &line)?;
                    ended = matches!(line.record, Record::End(_) | Record::Sealed(_));
                }
                Err(problem) if ui.json => {
                    writeln!(out, "{}", json!({ "problem": problem.to_string() }))?;
                }
                Err(problem) => writeln!(out, "{WARN}{problem}{WARN:#}")?,
            }
            for problem in reader.broken().iter().skip(broken) {
                ui.note(problem);
            }
            broken = reader.broken().len();
        }
        out.flush()?;
        if ended {
            return Ok(Exit::of_check(broken == 0));
        }
        thread::sleep(LOOK_EVERY);
    }
}

fn write_line(out: &mut impl std::io::Write, line: &Line) -> Result<(), Failure> {
    if let Some(text) = session_text::line(line) {
        writeln!(out, "{text}")?;
    }
    Ok(())
}

fn line_json(line: &Line) -> Value {
    serde_json::to_value(line).unwrap_or_default()
}

fn as_json(id: &SessionId, session: &Session) -> Value {
    let lines: Vec<Value> = session.lines.iter().map(line_json).collect();
    let problems: Vec<String> = session.problems.iter().map(ToString::to_string).collect();
    json!({ "session": id.as_str(), "lines": lines, "problems": problems })
}
