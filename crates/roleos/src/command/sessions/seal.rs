//! `roleos sessions seal`: seals sessions that were not sealed at their end.

use base::process;
use evidence::journal::SessionId;
use evidence::sealing::{Done, SealError, Sealer};
use serde_json::{Value, json};

use crate::ui::{DIM, GOOD, Ui, WARN};
use crate::{Context, Exit, Failure};

/// Words of `sessions seal`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Without words, every session that is over is sealed; one that goes on is left alone.
A session that is named is sealed up to now; what follows goes into another bundle.

Examples:
  roleos sessions seal
  roleos sessions seal latest && roleos witness replay latest")]
pub struct Args {
    /// The session: its id, the beginning of one, or `latest`.
    #[arg(value_name = "ID", conflicts_with = "all")]
    id: Option<String>,
    /// Every session that is over, which is also what happens without an id.
    #[arg(long)]
    all: bool,
}

pub fn run(ui: &Ui, context: &Context, args: &Args) -> Result<Exit, Failure> {
    let sealer = Sealer {
        workspace: &context.workspace,
        config: &context.config,
        store: &context.store,
    };
    if args.all {
        // The hook starts this in the background.
        process::stand_back();
    }
    let mut seen = Vec::new();
    if let Some(name) = &args.id {
        let (session, _) = super::find(context, name)?;
        let done = sealer.seal(&session)?;
        seen.push((session, done));
    } else {
        let mut failed = None;
        sealer.seal_all(|session, done| match done {
            Ok(done) => seen.push((session.clone(), done)),
            Err(error) => {
                let failure = Failure::from(error);
                ui.note(format_args!(
                    "{WARN}warning{WARN:#}: session {session} was not sealed"
                ));
                failed = Some(failure);
            }
        })?;
        if let Some(failure) = failed {
            show(ui, &seen)?;
            return Err(failure);
        }
    }
    crate::command::ship::start(context);
    show(ui, &seen)?;
    Ok(Exit::Done)
}

fn show(ui: &Ui, seen: &[(SessionId, Done)]) -> Result<(), Failure> {
    if ui.json {
        let list: Vec<Value> = seen.iter().map(as_json).collect();
        ui.json(&list)?;
        return Ok(());
    }
    for (session, done) in seen {
        match done {
            Done::Sealed {
                path,
                outcome,
                repaired,
                ..
            } => {
                for repair in repaired {
                    ui.note(format_args!("{WARN}repaired{WARN:#}: {repair}"));
                }
                let (outcome, path) = (outcome.name(), path.display());
                ui.line(format_args!(
                    "{GOOD}sealed{GOOD:#}  {session}  {outcome}  {path}"
                ))?;
            }
            Done::Already => ui.line(format_args!("{DIM}sealed before{DIM:#}  {session}"))?,
            Done::Nothing => ui.line(format_args!("{DIM}nothing in it{DIM:#}  {session}"))?,
            Done::GoesOn => ui.line(format_args!("{DIM}goes on{DIM:#}  {session}"))?,
        }
    }
    if seen.is_empty() {
        ui.note(format_args!("{DIM}nothing to seal{DIM:#}"));
    }
    Ok(())
}

fn as_json((session, done): &(SessionId, Done)) -> Value {
    let session = session.as_str();
    match done {
        Done::Sealed {
            task_id,
            path,
            outcome,
            repaired,
        } => json!({
            "session": session,
            "state": "sealed",
            "task_id": task_id.to_string(),
            "file": path,
            "outcome": outcome.name(),
            "repaired": repaired,
        }),
        Done::Already => json!({ "session": session, "state": "sealed_before" }),
        Done::Nothing => json!({ "session": session, "state": "empty" }),
        Done::GoesOn => json!({ "session": session, "state": "goes_on" }),
    }
}

impl From<SealError> for Failure {
    fn from(error: SealError) -> Self {
        match error {
            SealError::File(error) => error.into(),
            SealError::Store(error) => error.into(),
            error => Self::input("session_not_found", error.to_string())
                .hint("name a session from `roleos sessions list`, or `latest`"),
        }
    }
}
