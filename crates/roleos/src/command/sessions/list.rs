//! `roleos sessions list`: the sessions of this workspace, newest first.

use std::io::Write as _;

use base::clock;
use evidence::journal::SessionId;
use evidence::journal::read::{Session, journals};
use evidence::journal::record::{Line, Record};
use serde::Serialize;

use crate::render::clean;
use crate::ui::{BOLD, DIM, Ui, WARN};
use crate::{Context, Exit, Failure};

/// Words of `sessions list`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  roleos sessions list --limit 10")]
pub struct Args {
    /// Show no more than this.
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
}

/// Displayed data of a session.
#[derive(Serialize)]
struct Row {
    session: String,
    agent: String,
    started: Option<String>,
    last: Option<String>,
    calls: usize,
    asked: usize,
    refused: usize,
    state: &'static str,
    prompt: String,
    problems: Vec<String>,
}

pub fn run(ui: &Ui, context: &Context, args: &Args) -> Result<Exit, Failure> {
    let mut found = journals(&context.workspace.sessions_dir())?;
    found.reverse();
    found.truncate(args.limit.unwrap_or(usize::MAX));
    let mut rows = Vec::new();
    for (id, path) in &found {
        rows.push(row(id, &Session::read(path)?));
    }
    if ui.json {
        ui.json(&rows)?;
    } else {
        show(ui, &rows)?;
    }
    Ok(Exit::Done)
}

fn row(id: &SessionId, session: &Session) -> Row {
    let verdicts = |wanted: &str| {
        let calls = session
            .lines
            .iter()
            .filter(|line| matches!(&line.record, Record::Call(call) if call.verdict == wanted));
        calls.count()
    };
    let time = |line: &Line| clock::text(line.time_ns);
    let is_call = |record: &Record| matches!(record, Record::Call(_));
    let prompt = session.lines.iter().find_map(|line| match &line.record {
        Record::Prompt(prompt) => Some(prompt.kept.text.clone()),
        _ => None,
    });
    let sealed = matches!(
        session.lines.last().map(|line| &line.record),
        Some(Record::Sealed(_))
    );
    Row {
        session: id.to_string(),
        agent: session
            .lines
            .first()
            .map_or_else(String::new, |line| line.agent.clone()),
        started: session.lines.first().map(time),
        last: session.lines.last().map(time),
        calls: session
            .lines
            .iter()
            .filter(|line| is_call(&line.record))
            .count(),
        asked: verdicts("ask"),
        refused: verdicts("deny"),
        state: match (sealed, session.has_ended()) {
            (true, _) => "sealed",
            (false, true) => "ended",
            (false, false) => "open",
        },
        prompt: prompt.unwrap_or_default(),
        problems: session.problems.iter().map(ToString::to_string).collect(),
    }
}

fn show(ui: &Ui, rows: &[Row]) -> Result<(), Failure> {
    if rows.is_empty() {
        ui.note("no session was recorded here yet; `roleos init` installs the hook into an agent");
        return Ok(());
    }
    let mut out = ui.out();
    writeln!(
        out,
        "{BOLD}{:<36}  {:<8}  {:<19}  {:<6} {:>6} {:>5} {:>7}  prompt{BOLD:#}",
        "session", "agent", "started", "state", "calls", "asked", "refused"
    )?;
    for row in rows {
        let started = row.started.as_deref().unwrap_or_default();
        writeln!(
            out,
            "{:<36}  {:<8}  {DIM}{started:<19.19}{DIM:#}  {:<6} {:>6} {:>5} {:>7}  {}",
            clean::line(&row.session, 36),
            clean::line(&row.agent, 8),
            row.state,
            row.calls,
            row.asked,
            row.refused,
            clean::line(&row.prompt, 48),
        )?;
        for problem in &row.problems {
            writeln!(out, "  {WARN}{}{WARN:#}", clean::line(problem, 96))?;
        }
    }
    out.flush()?;
    Ok(())
}
