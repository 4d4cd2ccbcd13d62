//! From the arguments of the process to its exit code: parsing, the choice of the command, and wrong usage.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory as _, Parser as _};

use base::recorded;

use crate::cli::{Cli, Command, VERSION};
use crate::command;
use crate::context::Place;
use crate::suggestion;
use crate::ui::Ui;
use crate::{Context, Exit, Failure};

/// Runs one command line, given its arguments with the program's name first, and returns the exit code.
pub fn run(arguments: &[OsString]) -> Exit {
    roleos_hook::watch::direct(arguments, VERSION);
    // An agent waits for each answer, so the arguments of an installed hook are not parsed by clap.
    if let Some(exit) = roleos_hook::hook::direct(arguments, VERSION) {
        return exit;
    }
    if let Some(exit) = command::run::direct(arguments) {
        return exit;
    }
    let in_box = command::box_init::direct(arguments);
    if let Some(exit) = in_box.or_else(|| roleos_hook::forward::direct(arguments)) {
        return exit;
    }
    roleos_hook::silence_parser_panics();
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) => return usage(&error, arguments),
    };
    let ui = Ui::new(cli.json, cli.quiet, cli.color.into());
    match dispatch(&ui, &cli) {
        Ok(exit) => exit,
        Err(failure) => {
            let is_change = cli.command.as_ref().is_some_and(Command::changes);
            // A command of many steps, such as `prove` or `up --demo`, is not done when one of them is recorded.
            let failure = match (is_change, recorded::is_marked()) {
                (true, true) => failure.of_record(),
                (true, false) => failure.of_change(),
                (false, _) => failure,
            };
            ui.fail(&failure);
            failure.exit
        }
    }
}

fn dispatch(ui: &Ui, cli: &Cli) -> Result<Exit, Failure> {
    let place = Place {
        root: cli.root.as_deref(),
        state: cli.trust_store.as_deref(),
        store: cli.store.as_deref(),
    };
    match &cli.command {
        Some(Command::Completions(args)) => return command::completions::run(ui, args),
        Some(Command::Help(args)) => return command::help::run(ui, args),
        Some(Command::Hook(args)) => return Ok(command::hook::run(args, place)),
        Some(Command::Run(args)) => return command::run::run(args, place),
        Some(Command::Up(args)) => return command::up::run(ui, place, args),
        Some(Command::PrePush(args)) => return command::pre_push::run(place, args),
        _ => {}
    }
    let context = Context::load(place)?;
    if !matches!(cli.command, Some(Command::Trust)) {
        ui.warn_of_ignored(&context.config.ignored);
    }
    let command = cli.command.as_ref().unwrap_or(&Command::Status);
    match command {
        Command::Status => command::overview::run(ui, &context),
        Command::Uninstall(args) => command::uninstall::run(ui, &context, args),
        Command::Migrate(args) => command::migrate::run(ui, &context, args),
        Command::Logs(args) => command::logs::run(ui, &context, args),
        Command::Prune(args) => command::prune::run(ui, &context, args),
        Command::Deny(args) => command::approve::deny(ui, &context, args),
        Command::Dismiss(args) => command::approve::dismiss(ui, &context, args),
        Command::Prices(command) => command::prices::run(ui, &context, command),
        Command::Config(command) => command::config::run(ui, &context, command),
        Command::Up(args) => command::up::run(ui, place, args),
        Command::LoginCode => command::login_code::run(ui, &context),
        Command::Init(args) => command::init::run(ui, &context, args),
        Command::Doctor => command::doctor::run(ui, &context),
        Command::PrePush(args) => command::pre_push::run(place, args),
        Command::Consult(args) => command::consult::run(&context, args),
        Command::Fits => command::fits::run(),
        Command::Catalog(command) => command::catalog::run(ui, &context, command),
        Command::Explain(args) => command::explain::run(ui, &context, args),
        Command::Run(args) => command::run::run(args, place),
        Command::Hook(args) => Ok(command::hook::run(args, place)),
        Command::Sessions(command) => command::sessions::run(ui, &context, command),
        Command::Rehearse(args) => command::rehearse::run(ui, &context, args),
        Command::Contracts(command) => command::contracts::run(ui, &context, command),
        Command::Approve(args) => command::approve::run(ui, &context, args),
        Command::Grant(args) => command::grant::grant(ui, &context, args),
        Command::Revoke(args) => command::grant::revoke(ui, &context, args),
        Command::Grants => command::grant::list(ui, &context),
        Command::Mode(args) => command::mode::run(ui, &context, args),
        Command::Trust => command::trust_settings::run(ui, &context),
        Command::Specialist(words) => command::specialist::run(ui, &context, words),
        Command::Dispatch(args) => command::dispatch::run(ui, &context, args),
        Command::ExplainRoute(args) => command::explain_route::run(ui, &context, args),
        Command::Manifest(command) => command::manifest::run(ui, &context, command),
        Command::Audit(command) => command::audit::run(ui, &context, command),
        Command::Runs(command) => command::runs::run(ui, &context, command),
        Command::Feedback(args) => command::feedback::run(ui, &context, args),
        Command::Events(args) => command::events::run(ui, &context, args),
        Command::Metric(command) => command::metric::run(ui, &context, command),
        Command::Selector(command) => command::selector::run(ui, &context, command),
        Command::Witness(command) => command::witness::run(ui, &context, command),
        Command::Scorecard(args) => command::scorecard::run(ui, &context, args),
        Command::Curve(args) => command::curve::run(ui, &context, args),
        Command::Prove(args) => command::prove::run(ui, &context, args),
        Command::Suite(command) => command::suite::run(ui, &context, command),
        Command::Ledger(command) => command::ledger::run(ui, &context, command),
        Command::Reindex => command::reindex::run(ui, &context),
        Command::Ship(args) => command::ship::run(ui, &context, args),
        Command::Token(command) => command::token::run(ui, &context, command),
        Command::Key(command) => command::key::run(ui, &context, command),
        Command::Completions(args) => command::completions::run(ui, args),
        Command::Help(args) => command::help::run(ui, args),
    }
}

/// Handles clap's output: help and version are results; everything else is invalid input, reported in one line like
/// every other error.
fn usage(error: &clap::Error, arguments: &[OsString]) -> Exit {
    let is_help = matches!(
        error.kind(),
        ErrorKind::DisplayHelp
            | ErrorKind::DisplayVersion
            | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    );
    if is_help {
        // clap selects the output of help; a failed write is ignored.
        error.print().ok();
        return Exit::of_check(!error.use_stderr());
    }
    let json = arguments.iter().any(|argument| argument == "--json");
    let text = error.render().to_string();
    let mut paragraphs = text.split("\n\n").map(|paragraph| {
        let lines: Vec<_> = paragraph.lines().map(str::trim).collect();
        // Our own errors quote the user's input with backticks.
        lines.join(" ").replace('\'', "`")
    });
    let message = paragraphs.next().unwrap_or_default();
    let mut failure = Failure::input("usage", message.trim_start_matches("error: "));
    failure.hint = match error.kind() {
        ErrorKind::InvalidSubcommand => Some(command_advice(error, arguments)),
        kind => advice(kind, &paragraphs.collect::<Vec<_>>()),
    };
    Ui::new(json, false, anstream::ColorChoice::Auto).fail(&failure);
    // An agent treats every other code as a hook without an answer.
    let of_hook = arguments.get(1).is_some_and(|word| word == "hook");
    if of_hook { Exit::Refused } else { Exit::Failed }
}

/// Suggests the most similar command, else the list of commands.
fn command_advice(error: &clap::Error, arguments: &[OsString]) -> String {
    let typed = match error.get(ContextKind::InvalidSubcommand) {
        Some(ContextValue::String(word)) => word.as_str(),
        _ => "",
    };
    let root = Cli::command();
    let mut path = vec!["roleos"];
    let mut meant = &root;
    for word in arguments.iter().skip(1).filter_map(|word| word.to_str()) {
        if word == typed {
            break;
        }
        if let Some(below) = meant.find_subcommand(word) {
            path.push(below.get_name());
            meant = below;
        }
    }
    let path = path.join(" ");
    let below = commands_below(meant, &path, typed);
    if !below.is_empty() {
        return format!("did you mean {}?", below.join(" or "));
    }
    let names = suggestion::names(meant);
    match suggestion::of(typed, names.iter().map(String::as_str)) {
        Some(name) => format!("did you mean `{path} {name}`?"),
        None => format!("`{path} --help` lists the commands"),
    }
}

/// Lists the subcommands one level further down with exactly this name, in backticks.
fn commands_below(command: &clap::Command, path: &str, typed: &str) -> Vec<String> {
    let groups = command.get_subcommands().filter(|one| !one.is_hide_set());
    groups
        .filter(|group| group.find_subcommand(typed).is_some())
        .map(|group| format!("`{path} {} {typed}`", group.get_name()))
        .collect()
}

/// Returns the useful part of clap's text beside its error.
fn advice(kind: ErrorKind, paragraphs: &[String]) -> Option<String> {
    let after = |label| paragraphs.iter().find_map(|text| text.strip_prefix(label));
    if let Some(tip) = after("tip: ") {
        return Some(tip.to_owned());
    }
    let usage = after("Usage: ")?;
    if kind == ErrorKind::MissingSubcommand {
        let command = usage.split(" [").next().unwrap_or_default();
        return Some(format!("`{command} --help` lists the commands"));
    }
    if kind == ErrorKind::UnknownArgument {
        let words = usage.split(' ');
        let command: Vec<_> = words.take_while(|word| is_command_name(word)).collect();
        return Some(format!("`{} --help` lists the options", command.join(" ")));
    }
    Some(format!("usage: {usage}"))
}

fn is_command_name(word: &str) -> bool {
    word.starts_with(|first: char| first.is_ascii_lowercase())
}
