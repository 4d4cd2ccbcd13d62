//! The words of the command line: global options and the list of commands. Each command's own words are in its file.

use std::path::PathBuf;

use anstream::ColorChoice;
use clap::{Parser, Subcommand, ValueEnum};

use crate::command;

/// Version and the commit it was built from.
pub const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " (", env!("ROLEOS_COMMIT"), ")");

/// Keeps what works with every command apart from a command's own options.
const EVERYWHERE: &str = "Options of every command";

const EXAMPLES: &str = "\
Examples:
  roleos status
  roleos up
  roleos config list --changed
  roleos catalog check --strict
  roleos explain 'env GIT_TRACE=1 git push'
  roleos approve 3f9c2a1b7d04
  roleos grant git:push --for 2h
  roleos specialist promote <role> <version>       (undone by `specialist rollback`)
  roleos dispatch <role> --input claim.json
  roleos witness seal --spec issue.md --diff change.patch --test-log test.txt --outcome solved
  roleos witness verify .role-os/witness/2026/02/*.rvww
  roleos witness replay <task id>
  roleos scorecard --by model --accept
  roleos curve --svg curve.svg
  roleos ledger verify

`roleos help topics` lists the pages of the documentation.
Exit codes: 0 done; 1 wrong input or a failed check; 2 refused or could not run.";

/// Who may play a role, what its tools may do, and signed proof of what happened.
#[derive(Debug, Parser)]
#[command(name = "roleos", version = VERSION, after_help = EXAMPLES, max_term_width = 100, disable_help_subcommand = true)]
pub struct Cli {
    /// Answer with JSON, errors too (one line on standard error).
    #[arg(long, global = true, help_heading = EVERYWHERE)]
    pub json: bool,
    /// Workspace root [default: nearest folder with `.role-os/`, else the git root, else here].
    #[arg(long, global = true, value_name = "DIR", help_heading = EVERYWHERE)]
    pub root: Option<PathBuf>,
    /// Your trust store [default: `$XDG_STATE_HOME/roleos`, else `~/.local/state/roleos`].
    #[arg(
        long = "trust-store",
        global = true,
        value_name = "DIR",
        help_heading = EVERYWHERE,
        hide_short_help = true
    )]
    pub trust_store: Option<PathBuf>,
    /// Database that a team shares, `postgres://…` [default: `store.url` of the settings, else the files here].
    #[arg(
        long,
        global = true,
        value_name = "URL",
        help_heading = EVERYWHERE,
        hide_short_help = true
    )]
    pub store: Option<String>,
    /// Print results only.
    #[arg(long, short, global = true, help_heading = EVERYWHERE)]
    pub quiet: bool,
    /// When to use colours.
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", help_heading = EVERYWHERE)]
    pub color: Color,
    /// What to do [default: status].
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// When to use colours.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Color {
    /// On a terminal, unless NO_COLOR is set.
    Auto,
    /// Also into pipes and files.
    Always,
    /// Not at all.
    Never,
}

impl From<Color> for ColorChoice {
    fn from(color: Color) -> Self {
        match color {
            Color::Auto => Self::Auto,
            Color::Always => Self::AlwaysAnsi,
            Color::Never => Self::Never,
        }
    }
}

/// Every command, in the order of the help.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run the gateway: models and roles for your agents, on this machine.
    Up(command::up::Args),
    /// Print the login code of the `roleos up` that runs here
    #[command(after_help = "\
For a service, which has no terminal to show the code on. It is told to the user who runs `roleos up`,
and to no program that a coding agent has started.

Examples:
  roleos login-code
  sudo -u roleos roleos login-code --root /srv/workspace
  docker exec roleos roleos login-code --json")]
    LoginCode,
    /// Set this repository up for coding agents: hooks, settings, keys.
    Init(command::init::Args),
    /// Take Role OS out of this repository again.
    Uninstall(command::uninstall::Args),
    /// Show how this workspace stands, and what to do next.
    #[command(after_help = "Examples:\n  roleos status\n  roleos status --json")]
    Status,
    /// Is everything installed, reachable and current?
    #[command(
        after_help = "Examples:\n  roleos doctor\n  roleos doctor --json\n\nExit code 1 when something is wrong."
    )]
    Doctor,
    /// Judge a push; git's hook calls this.
    #[command(hide = true)]
    PrePush(command::pre_push::Args),
    /// Ask the conformance specialist about a call; the hook starts this.
    #[command(hide = true)]
    Consult(command::consult::Args),
    /// Hold a call against the JSON Schema of its tool; the hook starts this.
    #[command(hide = true)]
    Fits,
    /// Roles people write: a catalog of versioned, translated prompts.
    #[command(subcommand)]
    Catalog(command::catalog::Command),
    /// What would the gate say to this command, and why?
    Explain(command::explain::Args),
    /// Run any program under supervision: what it starts is judged when it begins.
    Run(command::run::Args),
    /// Answer one event of a coding agent; agents call this.
    Hook(command::hook::Args),
    /// What agents did here: every call and its verdict.
    #[command(subcommand)]
    Sessions(command::sessions::Command),
    /// Decide again over recorded sessions: what would a changed policy change?
    Rehearse(command::rehearse::Args),
    /// What calls of tools must look like: is the file sound, does it flag good calls?
    #[command(subcommand)]
    Contracts(command::contracts::Command),
    /// Allow one refused act, exactly as it was, once.
    Approve(command::approve::Args),
    /// Deny one refused act, and the same again for a day.
    Deny(command::approve::Deny),
    /// Take one refused act off the list.
    Dismiss(command::approve::Dismiss),
    /// Let agents do a gated action: until when, how often, for what.
    Grant(command::grant::Grant),
    /// Take a grant back.
    Revoke(command::grant::Revoke),
    /// Show what is granted.
    #[command(after_help = "Examples:\n  roleos grants\n  roleos grants --json")]
    Grants,
    /// Show or set how much freedom agents have.
    Mode(command::mode::Args),
    /// Show and change settings.
    #[command(subcommand)]
    Config(command::config::Command),
    /// Show and update what models cost.
    #[command(subcommand)]
    Prices(command::prices::Command),
    /// Confirm settings, grants, registry and keys that you did not make through `roleos`.
    #[command(after_help = "\
In an initialised workspace, a file that weakens the gate, runs a program or redirects traffic counts
only when `roleos` wrote it for you, or after you confirmed exactly this content here. The command
shows what changed since the last confirmation and asks about each file.

Example:
  roleos trust")]
    Trust,
    /// Trained adapters that may play a role: who serves, who is halted, who is next.
    Specialist(command::specialist::Words),
    /// One dispatch through the gate: the specialist where it may, the general model otherwise.
    Dispatch(command::dispatch::Args),
    /// Where would this input go, and why? Version by version.
    ExplainRoute(command::explain_route::Args),
    /// What models declare of themselves.
    #[command(subcommand)]
    Manifest(command::manifest::Command),
    /// Fixed exams through the real backend, and what changed between two.
    #[command(subcommand)]
    Audit(command::audit::Command),
    /// What became of every candidate: statistics, proof, export.
    #[command(subcommand)]
    Runs(command::runs::Command),
    /// Say what an answer was worth; the selector learns from it.
    Feedback(command::feedback::Args),
    /// What other programs are told: requests, results, winners, new models, metric changes.
    Events(command::events::Args),
    /// What a run is worth.
    #[command(subcommand)]
    Metric(command::metric::Command),
    /// How likely a version's answer is acceptable: learned from the log.
    #[command(subcommand)]
    Selector(command::selector::Command),
    /// Evidence of single tasks: seal, check, look at, run again.
    #[command(subcommand)]
    Witness(command::witness::Command),
    /// What all the evidence adds up to: sixteen figures and four acceptance criteria.
    Scorecard(command::scorecard::Args),
    /// What a solved task costs over time.
    Curve(command::curve::Args),
    /// Run an agent over a suite and judge the result.
    Prove(command::prove::Args),
    /// Make, check and show suites of tasks.
    #[command(subcommand)]
    Suite(command::suite::Command),
    /// The Merkle log over all bundles: is anything missing or changed?
    #[command(subcommand)]
    Ledger(command::ledger::Command),
    /// Move evidence and routing between files and a team's database.
    Migrate(command::migrate::Args),
    /// Send evidence to the archive of a team.
    Ship(command::ship::Args),
    /// Make, list and revoke API tokens; show who did what.
    #[command(subcommand)]
    Token(command::token::Command),
    /// Show the logs of the workspace as one stream, by time.
    Logs(command::logs::Args),
    /// Remove what was kept long enough, or one task.
    Prune(command::prune::Args),
    /// Build the view of logs and bundles anew; nothing is lost by that.
    Reindex,
    /// Keys that sign bundles and checkpoints.
    #[command(subcommand)]
    Key(command::key::Command),
    /// Print a completion script for a shell.
    Completions(command::completions::Args),
    /// Show a page of the documentation, or the help of a command.
    Help(command::help::Args),
}

impl Command {
    /// Returns `true` if the command changes something that stays, so that a missing answer does not mean a missing act.
    pub(crate) fn changes(&self) -> bool {
        use command::{catalog, key, sessions, witness};
        match self {
            Self::Init(_) | Self::Uninstall(_) | Self::Prune(_) | Self::Trust => true,
            Self::Approve(_) | Self::Deny(_) | Self::Dismiss(_) | Self::Mode(_) => true,
            Self::Grant(_) | Self::Revoke(_) | Self::Dispatch(_) | Self::Feedback(_) => true,
            Self::Specialist(words) => words.changes(),
            Self::Sessions(command) => matches!(command, sessions::Command::Seal(_)),
            Self::Key(command) => matches!(command, key::Command::New(_) | key::Command::Rotate(_)),
            Self::Witness(command) => matches!(
                command,
                witness::Command::Seal(_) | witness::Command::Import(_)
            ),
            Self::Catalog(command) => !matches!(
                command,
                catalog::Command::Check(_)
                    | catalog::Command::List(_)
                    | catalog::Command::Show(_)
                    | catalog::Command::Diff(_)
                    | catalog::Command::Installed
            ),
            _ => false,
        }
    }
}
