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

/// Help and version are answers; everything else is wrong input, said in one line like every other error.
fn usage(error: &clap::Error, arguments: &[OsString]) -> Exit {
    let is_help = matches!(
        error.kind(),
        ErrorKind::DisplayHelp
            | ErrorKind::DisplayVersion
            | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    );
    if is_help {
        // Where help goes is clap's business; when nobody reads it there is nothing to do.
        error.print().ok();
        return Exit::of_check(!error.use_stderr());
    }
    let json = arguments.iter().any(|argument| argument == "--json");
    let text = error.render().to_string();
    let paragraph = |text: &str| {
        let lines: Vec<_> = text.lines().map(str::trim).collect();
        lines.join(" ")
    };
    let mut paragraphs = text.split("\n\n");
    let message = paragraph(paragraphs.next().unwrap_or_default());
    let tip = paragraphs
        .map(paragraph)
        .find(|text| text.starts_with("tip: "));
    let hint = tip.unwrap_or_else(|| {
        "`roleos --help` and `roleos <command> --help` show what is possible".to_owned()
    });
    let failure = Failure::input("usage", message.trim_start_matches("error: "))
        .hint(hint.trim_start_matches("tip: "));
    Ui::new(json, false, anstream::ColorChoice::Auto).fail(&failure);
    Exit::Failed
}
