//! The command line: the only crate that prints or exits. A command is arguments, library calls, one rendering.

pub mod cli;

pub mod exit;

pub mod failure;

pub mod ui;

pub mod context;

pub mod command;

pub mod render;

use std::ffi::OsString;

use clap::Parser as _;
use clap::error::ErrorKind;

use cli::{Cli, Command};
use context::Context;
use exit::Exit;
use failure::Failure;
use ui::Ui;

/// Runs one command line, the program's name first, and says how it ended.
pub fn run(arguments: &[OsString]) -> Exit {
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) => return usage(&error, arguments),
    };
    let ui = Ui::new(cli.json, cli.quiet, cli.color.into());
    match dispatch(&ui, &cli) {
        Ok(exit) => exit,
        Err(failure) => {
            ui.fail(&failure);
            failure.exit
        }
    }
}

fn dispatch(ui: &Ui, cli: &Cli) -> Result<Exit, Failure> {
    if let Command::Completions(args) = &cli.command {
        return command::completions::run(ui, args);
    }
    let context = Context::load(cli.root.as_deref())?;
    match &cli.command {
        Command::Witness(command) => command::witness::run(ui, &context, command),
        Command::Scorecard(args) => command::scorecard::run(ui, &context, args),
        Command::Curve(args) => command::curve::run(ui, &context, args),
        Command::Ledger(command) => command::ledger::run(ui, &context, command),
        Command::Key(command) => command::key::run(ui, &context, command),
        Command::Completions(args) => command::completions::run(ui, args),
    }
}

/// Help and version are answers; everything else is wrong input.
fn usage(error: &clap::Error, arguments: &[OsString]) -> Exit {
    let is_answer = matches!(
        error.kind(),
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion
    );
    let json = arguments.iter().any(|argument| argument == "--json");
    if json && !is_answer {
        let text = error.render().to_string();
        let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let message = lines
            .next()
            .unwrap_or_default()
            .trim_start_matches("error: ");
        let failure = Failure::input("usage", message).hint("see `roleos --help`");
        Ui::new(true, false, anstream::ColorChoice::Never).fail(&failure);
        return Exit::Failed;
    }
    // Where help goes is clap's business; when nobody reads it there is nothing to do.
    error.print().ok();
    Exit::of_check(is_answer)
}
