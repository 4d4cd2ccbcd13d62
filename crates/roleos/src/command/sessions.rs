//! `roleos sessions`: actions of agents in this workspace, from the hook's journals.

pub mod list;
pub mod seal;
pub mod show;

use std::path::PathBuf;

use evidence::journal::SessionId;
use evidence::journal::read::journals;

use crate::ui::Ui;
use crate::{Context, Exit, Failure};

/// Words of `sessions`.
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// The sessions of this workspace, newest first.
    List(list::Args),
    /// Show a session: one line per call, with its verdict.
    Show(show::Args),
    /// Make signed bundles of sessions that are over.
    Seal(seal::Args),
}

pub fn run(ui: &Ui, context: &Context, command: &Command) -> Result<Exit, Failure> {
    match command {
        Command::List(args) => list::run(ui, context, args),
        Command::Show(args) => show::run(ui, context, args),
        Command::Seal(args) => seal::run(ui, context, args),
    }
}

/// Finds a journal by its session id, a prefix of one, or `latest`.
pub fn find(context: &Context, name: &str) -> Result<(SessionId, PathBuf), Failure> {
    let mut found = journals(&context.workspace.sessions_dir())?;
    if found.is_empty() {
        return Err(
            Failure::input("session_not_found", "no session was recorded here yet").hint(
                "`roleos init` installs the hook into an agent; its next session is recorded",
            ),
        );
    }
    let missing = || {
        Failure::input("session_not_found", format!("there is no session `{name}`"))
            .hint("name a session from `roleos sessions list`, or `latest`")
    };
    if name == "latest" {
        return found.pop().ok_or_else(missing);
    }
    let exact = SessionId::new(name);
    if let Some(one) = found.iter().find(|(session, _)| *session == exact) {
        return Ok(one.clone());
    }
    found.retain(|(session, _)| !name.is_empty() && session.as_str().starts_with(name));
    match (found.pop(), found.is_empty()) {
        (Some(one), true) => Ok(one),
        (Some(_), false) => Err(Failure::input(
            "session_ambiguous",
            format!("`{name}` is the beginning of several session ids"),
        )
        .hint("give more of the id")),
        (None, _) => Err(missing()),
    }
}
