//! The real coding agents, run offline against a scripted model, with the installed hook in between.
//!
//! Only the model is simulated: the agents come from npm at pinned versions, the hook is installed by `roleos init`,
//! a person approves at a terminal, the push goes to a real repository, and the session ends as a bundle.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "it talks to the person who runs it"
)]

mod between;
mod claude;
mod codex;
mod evidence;
#[path = "../../xtask/src/failure.rs"]
mod failure;
mod load;
mod model;
mod person;
mod place;
mod planted;
mod proved;
mod serving;
mod story;
mod watched;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;

use crate::failure::{Failure, Result};
use crate::place::Place;

/// What to run.
#[derive(Debug, Parser)]
struct Arguments {
    /// The `roleos` to install.
    #[arg(long, value_name = "FILE", default_value = "roleos")]
    roleos: PathBuf,
    /// Folder of programs that npm installed.
    #[arg(long, value_name = "DIR", default_value = ".")]
    programs: PathBuf,
    /// The program of mini-swe-agent.
    #[arg(long, value_name = "FILE", default_value = "mini")]
    mini: PathBuf,
    /// Only the part in the box of `roleos prove`.
    #[arg(long)]
    prove: bool,
    /// Suite of which each agent solves one task in that box, in place of a made one.
    #[arg(long, value_name = "DIR")]
    suite: Option<PathBuf>,
    /// Only these agents; `load` is a minute of load on the gateway instead.
    #[arg(value_name = "AGENT", value_parser = ["claude", "codex", MINI, LOAD])]
    only: Vec<String>,
    /// How long the load lasts.
    #[arg(long, value_name = "N", default_value_t = 60, value_parser = clap::value_parser!(u64).range(3..=3600))]
    seconds: u64,
    /// Be the upstream of the load. Used by the load itself.
    #[arg(long, hide = true, value_name = "ADDR")]
    upstream: Option<SocketAddr>,
}

const LOAD: &str = "load";
const MINI: &str = "mini";

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    if let Some(address) = arguments.upstream {
        return told(LOAD, load::be_upstream(address).map(|()| String::new()));
    }
    let mut code = ExitCode::SUCCESS;
    if arguments.only.iter().any(|only| only == LOAD) {
        code = told(LOAD, load::run(&arguments.roleos, arguments.seconds));
    }
    for agent in ["claude", "codex", MINI] {
        if !arguments.only.is_empty() && !arguments.only.iter().any(|only| only == agent) {
            continue;
        }
        if told(agent, play(&arguments, agent)) == ExitCode::FAILURE {
            code = ExitCode::FAILURE;
        }
    }
    code
}

/// Reports the end of a part.
fn told(part: &str, ended: Result<String>) -> ExitCode {
    match ended {
        Ok(shown) => {
            println!("{shown}\n{part}: ok");
            ExitCode::SUCCESS
        }
        Err(failure) => {
            eprintln!("{part}: {failure}");
            ExitCode::FAILURE
        }
    }
}

/// Runs one agent's story, from the installation to the evidence; returns the replay.
fn play(arguments: &Arguments, agent: &str) -> Result<String> {
    if arguments.prove {
        return proved(arguments, agent).map(|()| String::new());
    }
    let place = Arc::new(Place::new(&arguments.roleos)?);
    if agent == MINI {
        let played = watched::with_mini(&place, &arguments.mini);
        let shown = played.map_err(|failure| with_journal(&place, &failure))?;
        proved(arguments, agent)?;
        return Ok(shown);
    }
    let before = place.arrived()?;
    place.roleos(&["init", "--agent", agent])?;
    let program = arguments.programs.join(agent);
    let played = match agent {
        "claude" => claude::run(&place, &program).map(drop),
        _ => codex::run(&place, &program).map(drop),
    };
    played.map_err(|failure| with_journal(&place, &failure))?;
    let arrived = place.arrived()? - before;
    if arrived != 1 {
        return Err(Failure::new(format!(
            "one commit should have been pushed, {arrived} were"
        )));
    }
    let shown = evidence::check(&place, agent)?;
    let place = Arc::new(Place::new(&arguments.roleos)?);
    let watched = match agent {
        "claude" => watched::with_claude(&place, &program),
        _ => watched::with_codex(&place, &program),
    };
    watched.map_err(|failure| with_journal(&place, &failure))?;
    if agent == "claude" {
        let place = Arc::new(Place::new(&arguments.roleos)?);
        planted::check(&place, &program).map_err(|failure| with_journal(&place, &failure))?;
    }
    proved(arguments, agent)?;
    Ok(shown)
}

/// Runs an agent in the sandbox of `roleos prove`.
fn proved(arguments: &Arguments, agent: &str) -> Result<()> {
    // Programs are in `bin` or `node_modules/.bin` of the directory that the sandbox needs.
    let folder = match agent {
        MINI => arguments.mini.ancestors().nth(2),
        _ => arguments.programs.ancestors().nth(2),
    };
    let place = Arc::new(Place::new(&arguments.roleos)?);
    let folder = folder.unwrap_or(Path::new("."));
    proved::check(&place, agent, folder, arguments.suite.as_deref())
}

/// Adds the hook's journal to a failure.
fn with_journal(place: &Place, failure: &Failure) -> Failure {
    let mut text = failure.to_string();
    for entry in std::fs::read_dir(place.repository().join(".role-os/sessions"))
        .into_iter()
        .flatten()
        .flatten()
    {
        let path = entry.path();
        if let Some(id) = path.file_stem().and_then(|stem| stem.to_str()) {
            let shown = place.roleos(&["sessions", "show", id]);
            text.push_str(&shown.unwrap_or_default());
        }
    }
    Failure::new(text)
}
