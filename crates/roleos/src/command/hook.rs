//! `roleos hook`: the same as `roleos-hook hook`, for installations that name `roleos`.

use std::path::Path;

use clap::ValueEnum;
use guard::agents::Agent;
use roleos_hook::hook::{self, Asked};

use crate::cli::VERSION;
use crate::context::Place;
use crate::exit::Exit;

/// Options of `hook`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Agents call this; `roleos init` installs it. Exit codes: 0 proceed, or as the
answer on standard output says; 2 block.

Example:
  echo '{\"hook_event_name\":\"PreToolUse\",\"session_id\":\"s\",\"cwd\":\"/tmp\",
    \"tool_name\":\"Bash\",\"tool_input\":{\"command\":\"git push\"}}' |
    ROLEOS_CAPABILITY_GATE=1 roleos hook claude")]
pub struct Args {
    /// The agent that calls.
    #[arg(value_enum)]
    agent: AgentName,
    /// Name of the event, for agents that do not put it into the event.
    #[arg(long, value_name = "NAME")]
    event: Option<String>,
    /// Only report that the commands of a session are supervised.
    #[arg(long, value_name = "WHAT", hide = true)]
    proof: Option<String>,
    /// Answer within so many milliseconds; more than 4000 is 4000.
    #[arg(long, value_name = "MS", hide = true)]
    deadline_ms: Option<u64>,
}

/// The agents as words.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum AgentName {
    /// Claude Code.
    Claude,
    /// Codex CLI.
    Codex,
    /// Gemini CLI.
    Gemini,
    /// Cursor.
    Cursor,
    /// GitHub Copilot.
    Copilot,
}

impl From<AgentName> for Agent {
    fn from(name: AgentName) -> Self {
        match name {
            AgentName::Claude => Self::Claude,
            AgentName::Codex => Self::Codex,
            AgentName::Gemini => Self::Gemini,
            AgentName::Cursor => Self::Cursor,
            AgentName::Copilot => Self::Copilot,
        }
    }
}

/// Answers one event.
#[must_use]
pub fn run(args: &Args, place: Place<'_>) -> Exit {
    let mut asked = Asked::new(args.agent.into());
    asked.root = place.root.map(Path::to_owned);
    asked.state = place.state.map(Path::to_owned);
    asked.event.clone_from(&args.event);
    asked.proves = args.proof.as_deref() == Some("session");
    if let Some(ms) = args.deadline_ms {
        asked.within(ms);
    }
    hook::run(&asked, VERSION)
}
