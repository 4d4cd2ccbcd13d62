//! The arguments of the command line: global options and the list of commands. Each command's own arguments are in its
//! file.

use std::path::PathBuf;

use anstream::ColorChoice;
use clap::{Parser, Subcommand, ValueEnum};

use crate::command;

/// Version and the commit it was built from.
pub const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " (", env!("ROLEOS_COMMIT"), ")");

/// Heading that separates global options from a command's own.
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
    /// Check the installation and suggest fixes.
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
    /// Check a call against its tool's JSON Schema (hook only).
    #[command(hide = true)]
    Fits,
    /// Check, write, import and export versioned, translated roles.
    #[command(subcommand)]
    Catalog(command::catalog::Command),
    /// Explain what the gate answers to a command, and why.
    Explain(command::explain::Args),
    /// Run a program and judge every program that it starts.
    Run(command::run::Args),
    /// Answer one event of a coding agent; agents call this.
    Hook(command::hook::Args),
    /// List, show and seal the recorded sessions of agents.
    #[command(subcommand)]
    Sessions(command::sessions::Command),
    /// Replay recorded sessions against a changed policy.
    Rehearse(command::rehearse::Args),
    /// Check the tool contracts, and try them on recorded calls.
    #[command(subcommand)]
    Contracts(command::contracts::Command),
    /// Allow one refused act, exactly as it was, once.
    Approve(command::approve::Args),
    /// Deny one refused act, and the same again for a day.
    Deny(command::approve::Deny),
    /// Take one refused act off the list.
    Dismiss(command::approve::Dismiss),
    /// Allow agents a gated action, with limits.
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
    /// Confirm files that you changed without `roleos`.
    #[command(after_help = "\
In an initialised workspace, a file that weakens the gate, runs a program or redirects traffic counts
only when `roleos` wrote it for you, or after you confirmed exactly this content here. The command
shows what changed since the last confirmation and asks about each file.

Example:
  roleos trust")]
    Trust,
    /// Register, certify, promote and halt adapters.
    Specialist(command::specialist::Words),
    /// Send one input to the specialist or the general model.
    Dispatch(command::dispatch::Args),
    /// Explain where an input would go, version by version.
    ExplainRoute(command::explain_route::Args),
    /// Check and sign model manifests.
    #[command(subcommand)]
    Manifest(command::manifest::Command),
    /// Run audit sets against a backend and compare results.
    #[command(subcommand)]
    Audit(command::audit::Command),
    /// Inspect, verify and export the run log.
    #[command(subcommand)]
    Runs(command::runs::Command),
    /// Rate an answer; the selector learns from it.
    Feedback(command::feedback::Args),
    /// Show the events of the selection protocol.
    Events(command::events::Args),
    /// Show or change the scoring metric.
    #[command(subcommand)]
    Metric(command::metric::Command),
    /// Train, show and calibrate the candidate selector.
    #[command(subcommand)]
    Selector(command::selector::Command),
    /// Seal, verify, replay and export evidence bundles.
    #[command(subcommand)]
    Witness(command::witness::Command),
    /// Sum up the evidence: sixteen figures, four criteria.
    Scorecard(command::scorecard::Args),
    /// Show what a solved task costs over time.
    Curve(command::curve::Args),
    /// Run an agent over a suite and judge the result.
    Prove(command::prove::Args),
    /// Make, check and show suites of tasks.
    #[command(subcommand)]
    Suite(command::suite::Command),
    /// Verify the Merkle log over all bundles; prove inclusion.
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
    /// Remove expired logs, or one task.
    Prune(command::prune::Args),
    /// Rebuild the search index (derived data; safe to run).
    Reindex,
    /// Make, list, rotate and export signing keys.
    #[command(subcommand)]
    Key(command::key::Command),
    /// Print a completion script for a shell.
    Completions(command::completions::Args),
    /// Show a page of the documentation, or the help of a command.
    Help(command::help::Args),
}

impl Command {
    /// Returns `true` if the command makes lasting changes, so that a failed output does not mean that nothing was
    /// done.
    pub(crate) fn changes(&self) -> bool {
        use command::{catalog, key, sessions, token, witness};
        match self {
            Self::Init(_) | Self::Uninstall(_) | Self::Prune(_) | Self::Trust => true,
            Self::Approve(_) | Self::Deny(_) | Self::Dismiss(_) | Self::Mode(_) => true,
            Self::Grant(_) | Self::Revoke(_) | Self::Dispatch(_) | Self::Feedback(_) => true,
            Self::Specialist(words) => words.changes(),
            Self::Sessions(command) => matches!(command, sessions::Command::Seal(_)),
            Self::Migrate(_) | Self::Ship(_) => true,
            Self::Token(command) => matches!(
                command,
                token::Command::Create { .. } | token::Command::Revoke { .. }
            ),
            Self::Key(command) => matches!(
                command,
                key::Command::New(_) | key::Command::Rotate(_) | key::Command::Enroll(_)
            ),
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
