//! `roleos run`: runs any program under supervision. The gate decides about every program in its tree when that begins.
//!
//! Arguments are parsed by hand first, for a fast start; clap only gets wrong ones. Streams, terminal, signals and exit
//! code are the command's own.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

use base::config::Config;
use base::environment::Environment;
use base::files;
use base::pins;
use base::workspace::Workspace;
use clap::ValueEnum;
use evidence::sealing::background;
use guard::hook::Bench;
use guard::supervision::{self, Program, Refusal, Report};
use oversight::governance::Mode;
use roleos_hook::end;
use roleos_hook::watch::say;

use crate::cli::VERSION;
use crate::context::Place;
use crate::{Exit, Failure};

/// Words of `run`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Every program that the command starts, and all that those start, is judged when
it begins: gated actions need a grant or an approval, here as in a tool call.
What a tool call would only be asked about (destructive, secrets) runs.
Exit code: the command's own; 125 when it cannot be supervised.

Examples:
  roleos run -- aider --yes
  roleos run --report report.json -- make release
  roleos run --shell 'make test && ./deploy.sh'")]
pub struct Args {
    /// Write what was seen into this file, as JSON.
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Name of the session; one is made up otherwise.
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// How much freedom the command has [default: as set].
    #[arg(long, value_name = "MODE")]
    mode: Option<ModeName>,
    /// A text for `bash -c` in place of a program.
    #[arg(long, value_name = "TEXT", conflicts_with = "command")]
    shell: Option<OsString>,
    /// The program and its arguments.
    #[arg(last = true, value_name = "PROGRAM", required_unless_present = "shell")]
    command: Vec<OsString>,
}

/// The modes as words.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum ModeName {
    /// Grants count.
    Off,
    /// No act is let through, granted or not, without an approval.
    Restricted,
    /// The same.
    Approved,
    /// Grants count.
    Autonomous,
}

impl From<ModeName> for Mode {
    fn from(name: ModeName) -> Self {
        match name {
            ModeName::Off => Self::Off,
            ModeName::Restricted => Self::Restricted,
            ModeName::Approved => Self::Approved,
            ModeName::Autonomous => Self::Autonomous,
        }
    }
}

/// Runs at once if the arguments are the usual ones.
pub fn direct(arguments: &[OsString]) -> Option<Exit> {
    let mut words = arguments.iter().skip(1);
    if words.next()? != "run" {
        return None;
    }
    let mut args = Args {
        report: None,
        session: None,
        mode: None,
        shell: None,
        command: Vec::new(),
    };
    while let Some(word) = words.next() {
        match word.to_str()? {
            "--report" => args.report = Some(PathBuf::from(words.next()?)),
            "--mode" => args.mode = Some(ModeName::from_str(words.next()?.to_str()?, false).ok()?),
            "--session" => args.session = Some(words.next()?.to_str()?.to_owned()),
            "--shell" => args.shell = Some(words.next()?.clone()),
            "--" => args.command.extend(words.by_ref().cloned()),
            _ => return None,
        }
    }
    if args.command.is_empty() == args.shell.is_none() {
        return None;
    }
    Some(run(&args, Place::default()).unwrap_or_else(|failure| {
        say(&format!("roleos: {}", failure.message));
        failure.exit
    }))
}

pub fn run(args: &Args, place: Place<'_>) -> Result<Exit, Failure> {
    supervised(args, place).map_err(|failure| Failure {
        exit: Exit::Unsupervised,
        ..failure
    })
}

fn supervised(args: &Args, place: Place<'_>) -> Result<Exit, Failure> {
    let bench = bench(args, place)?;
    if let Some(path) = &args.report {
        check(path)?;
    }
    let program = match &args.shell {
        Some(text) => Program::Shell(text.clone()),
        None => Program::Words(args.command.clone()),
    };
    let here = std::env::current_dir().unwrap_or_else(|_| bench.workspace.root().to_owned());
    let here = here.to_string_lossy();
    // In an initialised workspace, every program that runs as an agent gets a journal.
    let is_session = args.session.is_some() || (bench.pin.is_some() && args.shell.is_none());
    if is_session {
        bench.begin(&here, &program.text())?;
    }
    let report = supervision::run(&bench, &program, &mut tell)
        .map_err(|error| Failure::refused("unsupervised", error.to_string()))?;
    // The command has run: regardless of later failures, the exit code is the command's.
    if is_session {
        complain(bench.end(&here, report.exit).map_err(Failure::from));
        if let Ok(own) = std::env::current_exe() {
            // The next hook that can start a seal does so.
            background::start(&own, &bench.workspace).ok();
        }
    }
    if let Some(path) = &args.report {
        complain(write(path, &report));
    }
    if let Some(why) = &report.not_started {
        let name = args
            .command
            .first()
            .map_or(OsStr::new("bash"), OsString::as_os_str);
        say(&format!("roleos: {}: {why}", name.to_string_lossy()));
    }
    match report.signal {
        Some(signal) => supervision::end_by_signal(signal),
        None => end(report.exit),
    }
}

fn bench(args: &Args, place: Place<'_>) -> Result<Bench, Failure> {
    let environment = Environment::read().with_state(place.state);
    let workspace = Workspace::find(place.root, &environment)?;
    let config = Config::load(&workspace, &environment)?;
    let called = args.command.first().map(PathBuf::from);
    let called = called.as_deref().and_then(Path::file_name);
    let called = called.unwrap_or(OsStr::new("run")).to_string_lossy();
    let is_set_up = workspace.role_os_dir().is_dir();
    let session = args.session.clone();
    Ok(Bench {
        pin: is_set_up.then(|| pins::pin(&workspace, &environment)),
        session: session.unwrap_or_else(|| format!("run-{}", base::fresh_task_id())),
        workspace,
        config,
        environment,
        version: VERSION.to_owned(),
        agent: None,
        called: called.into_owned(),
        mode: args.mode.map(Mode::from),
        reports: None,
    })
}

/// Prints a refusal immediately, on a separate line.
fn tell(refusal: &Refusal) {
    say(&refusal.told);
}

fn complain(done: Result<(), Failure>) {
    if let Err(failure) = done {
        say(&format!("roleos: {}", failure.message));
    }
}

/// Checks before the command runs that its report can be written.
fn check(path: &Path) -> Result<(), Failure> {
    let folder = path.parent().filter(|folder| *folder != Path::new(""));
    let why = match folder.unwrap_or(Path::new(".")) {
        _ if path.is_dir() => "it is a folder",
        folder if !folder.is_dir() => "its folder does not exist",
        _ => return Ok(()),
    };
    let shown = path.display();
    let message = format!("cannot write the report `{shown}`: {why}");
    Err(Failure::input("report", message).hint("nothing was run; name another file"))
}

fn write(path: &Path, report: &Report) -> Result<(), Failure> {
    let mut text = serde_json::to_string(report).map_err(io::Error::from)?;
    text.push('\n');
    Ok(files::write(path, text.as_bytes(), files::Privacy::Shared)?)
}
