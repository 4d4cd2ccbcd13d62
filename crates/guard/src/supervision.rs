//! Runs a command under supervision: each program that it or its descendants start is decided when it is about to
//! begin.
//!
//! [`rule`] decides, [`cover`] knows the executions that belong to an allowed act, [`let_through`] the acts that the
//! hook has allowed, [`copies`] the files that are [`known`] programs under another name, by the contents that [`elf`]
//! reads, [`ruled_out`] those that are not. [`probe`] checks that this machine allows supervision, [`proof`] that a
//! session's commands really are supervised, [`withheld`] removes variables with secrets. The mechanism is the crate
//! `supervise`; gate, grants and approvals are in [`crate::hook::Bench`].

pub(crate) mod copies;
mod cover;
mod elf;
mod known;
pub(crate) mod let_through;
pub mod probe;
pub mod proof;
mod rule;
mod ruled_out;
mod withheld;

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use supervise::{Answer, Command, Connect, End, Exec, Judge, Seal, Summary};

use crate::agents::Agent;
use crate::hook::Bench;
use crate::install::registration;
use base::environment;
use base::programs;
use base::sealed_files::SealedFiles;
use evidence::ledger;
use rule::Rule;
use shell::escape::quote;

pub use supervise::{Error, end_by_signal, exit_now, set_alarm};

/// The shell that executes command strings.
const SHELL: &str = "bash";

/// A refused act.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// Id for a person's approval.
    pub id: Option<String>,
    /// The gated actions.
    pub actions: Vec<String>,
    /// Its words.
    pub argv: Vec<String>,
    /// Message about it, in one line.
    #[serde(skip_serializing)]
    pub told: String,
}

/// Observations of a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Number of programs that were about to begin.
    pub execs: u64,
    /// Acts that were refused until the command ended.
    pub refused: Vec<Refusal>,
    /// Method of comparing the started program with the decided one: `ptrace` or `cmdline`.
    pub verification: &'static str,
    /// The command's exit code, as a shell would report it.
    pub exit: i32,
    /// Set if a run above this one supervises and reports; nothing was observed here.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub nested: bool,
    /// The signal that ended it.
    #[serde(skip)]
    pub signal: Option<i32>,
    /// System error, if it could not be started.
    #[serde(skip)]
    pub not_started: Option<String>,
}

/// The command to run.
#[derive(Clone, Debug)]
pub enum Program {
    /// A command string for the shell.
    Shell(OsString),
    /// A program with its arguments.
    Words(Vec<OsString>),
}

impl Program {
    /// Returns the command as a person would type it.
    #[must_use]
    pub fn text(&self) -> String {
        match self {
            Self::Shell(text) => text.to_string_lossy().into_owned(),
            Self::Words(words) => {
                let words = words.iter().map(|word| quote(&word.to_string_lossy()));
                words.collect::<Vec<String>>().join(" ")
            }
        }
    }
}

/// Runs a command and returns when it has ended; descendants may keep running, and stay supervised. `told` is called
/// for each refusal as it happens.
///
/// # Errors
/// The command cannot be supervised, and was not started.
pub fn run(
    bench: &Bench,
    program: &Program,
    told: &mut dyn FnMut(&Refusal),
) -> Result<Report, Error> {
    let mut command = command(program, withheld::without(bench, environment::all()));
    if bench.config.oversight.read_only_files {
        command.read_only = protected(bench);
        command.seal = Seal::UserNamespace;
    }
    // A command can remove the trust store and its copy, but not the memory of this process.
    let ledger = ledger::record::path_of(&bench.workspace.ledger_dir());
    let held = SealedFiles::hold(&bench.workspace, ledger);
    let mut refused = Vec::new();
    let mut rule = Begun {
        bench,
        environment: &command.environment,
        rule: None,
    };
    let outcome = supervise::run(&command, &mut rule, &mut |bytes| {
        // A shell that may not start a program in one folder of `PATH` tries the next.
        if let Some(refusal) = heard(bytes).filter(|refusal| refused.last() != Some(refusal)) {
            told(&refusal);
            refused.push(refusal);
        }
    });
    if let Some(held) = held {
        held.put_back();
    }
    let outcome = outcome?;
    let error = match outcome.end {
        End::NotStarted(errno) => Some(std::io::Error::from_raw_os_error(errno).to_string()),
        _ => None,
    };
    Ok(Report {
        execs: outcome.summary.execs,
        refused,
        verification: outcome.summary.verification().as_str(),
        exit: outcome.end.code(),
        nested: outcome.summary.nested,
        signal: match outcome.end {
            End::Signalled(signal) => Some(signal),
            _ => None,
        },
        not_started: error,
    })
}

/// The rule, made in the supervisor's process while that of the command is set up.
struct Begun<'a> {
    bench: &'a Bench,
    environment: &'a [(OsString, OsString)],
    rule: Option<Rule<'a>>,
}

impl<'a> Begun<'a> {
    fn rule(&mut self) -> &mut Rule<'a> {
        self.rule
            .get_or_insert_with(|| Rule::new(self.bench, self.environment))
    }
}

impl Judge for Begun<'_> {
    fn begin(&mut self, program: &OsStr) {
        self.rule().begin(program);
    }

    fn exec(&mut self, exec: &Exec<'_>) -> Answer {
        self.rule().exec(exec)
    }

    fn connect(&mut self, connect: &Connect<'_>) -> Answer {
        self.rule().connect(connect)
    }

    fn unreadable(&mut self, process: u32) -> Vec<u8> {
        self.rule().unreadable(process)
    }

    fn ended(&mut self, summary: &Summary) {
        self.rule().ended(summary);
    }
}

/// The files that a supervised command should not change.
fn protected(bench: &Bench) -> Vec<PathBuf> {
    let root = bench.workspace.root();
    let settings = Agent::ALL.map(|agent| root.join(registration::file(agent)));
    let own = programs::running().map_or_else(|_| Vec::new(), |path| programs::all(&path));
    let own = own
        .into_iter()
        .filter(|path| path.is_file() && !path.is_symlink());
    let kept = [bench.workspace.role_os_dir(), root.join(".claude/role-os")];
    kept.into_iter().chain(settings).chain(own).collect()
}

/// Replaces this process by a command, without supervision. Returns only on failure.
pub fn run_unsupervised(program: &Program) -> std::io::Error {
    supervise::start_unsupervised(&command(program, environment::all()))
}

fn command(program: &Program, environment: Vec<(OsString, OsString)>) -> Command {
    let (program, arguments) = match program {
        Program::Shell(text) => (SHELL.into(), vec!["-c".into(), text.clone()]),
        Program::Words(words) => {
            let mut words = words.iter().cloned();
            (words.next().unwrap_or_default(), words.collect())
        }
    };
    Command {
        program,
        arguments,
        environment,
        ..Command::default()
    }
}

/// Returns the session of the coding agent that started this process, if the agent sets it.
#[must_use]
pub fn session() -> Option<String> {
    let named = ["CLAUDE_CODE_SESSION_ID", "CODEX_THREAD_ID"].map(environment::agent_mark);
    let mut named = named
        .into_iter()
        .flatten()
        .filter_map(|value| value.into_string().ok());
    named.find(|value| !value.is_empty())
}

/// Returns the command that an agent has wrapped into its shell string, as the hook received it.
#[must_use]
pub fn command_of(program: &Program) -> Option<String> {
    let Program::Shell(text) = program else {
        return None;
    };
    shell::evaluated(text.to_str()?)
}

/// Returns `true` if our supervisor is above this process.
#[must_use]
pub fn is_supervised() -> bool {
    supervise::is_supervised(&environment::all())
}

/// Parses the rule's message from the supervisor to the waiting process.
fn heard(bytes: &[u8]) -> Option<Refusal> {
    serde_json::from_slice(bytes).ok()
}
