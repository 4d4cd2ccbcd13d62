//! `roleos specialist`: trained adapters that may play a role: list, show, register, promote, roll back, halt, clear.

use std::path::PathBuf;

use base::clock;
use base::environment;
use base::git;
use clap::{Args, Subcommand};
use routing::manifests::registering::RegisterError;
use routing::specialists::{Named, OperateError, Operator, Paths, Seen, Settings, Specialists};
use specialist::pointer::Refusal;
use specialist::registry::Problem;

use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::person::not_below_an_agent;
use crate::render::clean;
use crate::ui::{Ui, WARN};

pub mod certify;
pub mod change;
pub mod example;
pub mod list;
mod next;
pub mod point;
pub mod register;
pub mod status;

/// Words of `specialist`.
#[derive(Debug, Args)]
pub struct Words {
    /// The registry [default: ROLEOS_SPECIALISTS_PATH, else `.role-os/specialists.json`].
    #[arg(long, global = true, value_name = "FILE")]
    registry: Option<PathBuf>,
    /// The state [default: ROLEOS_SPECIALIST_STATE_PATH, else `.role-os/specialist-state.json`].
    #[arg(long, global = true, value_name = "FILE")]
    state: Option<PathBuf>,
    /// The events log [default: ROLEOS_SPECIALIST_EVENTS_PATH, else `.role-os/specialist-events.jsonl`].
    #[arg(long, global = true, value_name = "FILE")]
    events: Option<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

impl Words {
    /// Returns `true` unless the command is read-only.
    pub(crate) fn changes(&self) -> bool {
        !matches!(self.command, Command::List | Command::Status(_))
    }
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Every role with its versions; `*` marks the active one.
    List,
    /// Quota, probes, halt and field audit of every role.
    Status(status::Args),
    /// Enter a version; the active one stays.
    Register(register::Args),
    /// Raise a version's level as far as the evidence carries it; every condition with its numbers.
    Certify(certify::Certify),
    /// Show what the log proposes: demotions, prunes, new specialists.
    Review(certify::Review),
    /// Make a certified version active, or try it on a share. Undone by `rollback`.
    Promote(point::Promote),
    /// Make a version active again that was; the one that is left serves nowhere.
    Rollback(point::Rollback),
    /// Let certified versions serve beside the active one.
    Beside(point::Beside),
    /// Take a version, or all of a role, out for good.
    Retire(point::Retire),
    /// Take the active version back to none; the general model answers.
    Deactivate(point::Deactivate),
    /// Change a role's threshold, quota, contract, token, time limit or address.
    Set(point::Set),
    /// Send a role's dispatches to the general model until a person clears the halt.
    Halt(change::Halt),
    /// Lift a halt; probes are counted from zero again.
    ClearHalt(change::Clear),
    /// Write an example: a small adapter server, its manifest and its exam.
    Example(example::Args),
    /// Set a damaged state aside, rebuild it from the logs, and settle what a crash left.
    Repair,
}

impl Command {
    /// Returns the name of a command that gives or restores authority. Halting removes it, and is always allowed.
    fn of_a_person(&self) -> Option<&'static str> {
        match self {
            Self::Register(_) => Some("specialist register"),
            Self::Certify(_) => Some("specialist certify"),
            Self::Promote(_) => Some("specialist promote"),
            Self::Rollback(_) => Some("specialist rollback"),
            Self::Beside(_) => Some("specialist beside"),
            Self::Set(_) => Some("specialist set"),
            Self::ClearHalt(_) => Some("specialist clear-halt"),
            Self::Repair => Some("specialist repair"),
            Self::List
            | Self::Status(_)
            | Self::Review(_)
            | Self::Halt(_)
            | Self::Example(_)
            | Self::Retire(_)
            | Self::Deactivate(_) => None,
        }
    }
}

/// Runs the command.
///
/// # Errors
/// The registry, the state or the input is wrong, or a file cannot be written.
pub fn run(ui: &Ui, context: &Context, words: &Words) -> Result<Exit, Failure> {
    let named = Named {
        registry: words.registry.clone(),
        state: words.state.clone(),
        events: words.events.clone(),
    };
    if let Some(command) = words.command.of_a_person() {
        not_below_an_agent(command)?;
    }
    let specialists = open(context, &named)?;
    match &words.command {
        Command::List => list::run(ui, &specialists),
        Command::Status(args) => status::run(ui, &context.config, &specialists, args),
        Command::Register(args) => register::run(ui, context, &specialists, args),
        Command::Certify(args) => certify::certify(ui, context, &specialists, args),
        Command::Review(args) => certify::review(ui, context, &specialists, args),
        Command::Promote(args) => point::promote(ui, context, &specialists, args),
        Command::Rollback(args) => point::rollback(ui, context, &specialists, args),
        Command::Beside(args) => point::beside(ui, context, &specialists, args),
        Command::Retire(args) => point::retire(ui, context, &specialists, args),
        Command::Deactivate(args) => point::deactivate(ui, context, &specialists, args),
        Command::Set(args) => point::set(ui, context, &specialists, args),
        Command::Halt(args) => change::halt(ui, context, &specialists, args),
        Command::ClearHalt(args) => change::clear(ui, context, &specialists, args),
        Command::Repair => change::repair(ui, &specialists),
        Command::Example(args) => example::run(ui, args),
    }
}

/// Opens the specialists of the workspace, by settings and variables.
///
/// # Errors
/// A variable has an invalid value.
pub fn open(context: &Context, named: &Named) -> Result<Specialists, Failure> {
    let settings = Settings::load(&context.config, &context.environment).map_err(|error| {
        Failure::input("bad_variable", error.to_string()).hint("correct the variable, or unset it")
    })?;
    let paths = Paths::find(&context.workspace, &context.environment, named);
    let specialists = Specialists::new(paths, settings);
    let attached = team::attach(specialists, &context.workspace, &context.config.store);
    attached.map_err(|error| {
        Failure::refused("bad_store", error.to_string())
            .hint("`roleos config list` shows `store.url` and `store.password_env`")
    })
}

/// Who acts: what the person says, else git's user, else the system's.
#[derive(Debug, Args)]
pub struct Who {
    /// Who does this [default: git's user, else the system's].
    #[arg(long, value_name = "NAME")]
    operator: Option<String>,
    /// Why, for the log.
    #[arg(long, value_name = "TEXT", default_value = "")]
    reason: String,
}

impl Who {
    pub(crate) fn name(&self, context: &Context) -> String {
        let given = self.operator.clone().filter(|name| !name.is_empty());
        given
            .or_else(|| git::user(context.workspace.root()))
            .or_else(environment::user)
            .unwrap_or_else(|| "(unknown)".to_owned())
    }

    /// Passes the operator to `act`.
    fn act<T>(&self, context: &Context, act: impl FnOnce(Operator<'_>) -> T) -> T {
        let (name, now) = (self.name(context), now());
        act(Operator {
            name: &name,
            reason: &self.reason,
            now: &now,
        })
    }
}

/// Returns the current time in the format of logs, to the millisecond.
#[must_use]
pub fn now() -> String {
    clock::text(clock::now_ns() / 1_000_000 * 1_000_000)
}

/// Returns a valid registry, or all its problems as one failure. Prints a note if it is not used.
pub(super) fn valid(ui: &Ui, specialists: &Specialists) -> Result<Seen, Failure> {
    let seen = specialists.see()?;
    if !seen.registry.is_valid() {
        let problems = seen.registry.problems();
        return Err(invalid(&specialists.paths().registry, problems));
    }
    if !seen.is_trusted && !ui.json {
        let why = specialists.distrust();
        ui.note(format_args!(
            "{WARN}warning{WARN:#}: {}",
            clean::name(why.as_bytes())
        ));
    }
    Ok(seen)
}

fn invalid(path: &std::path::Path, problems: &[Problem]) -> Failure {
    let message = format!("the registry `{}` is not valid", path.display());
    let details = problems.iter().map(ToString::to_string).collect();
    Failure::refused("registry_invalid", message)
        .details(details)
        .hint("correct the file; nothing was changed")
}

impl From<OperateError> for Failure {
    fn from(error: OperateError) -> Self {
        let message = error.to_string();
        match error {
            OperateError::File(error) => error.into(),
            OperateError::Invalid { path, problems } => invalid(&path, &problems),
            OperateError::Untrusted(_) => Self::refused("registry_untrusted", message)
                .hint("`roleos trust` shows it and asks; nothing was changed"),
            OperateError::WouldBeInvalid(_) => Self::refused("registry_invalid", message)
                .hint("correct the value that is named; the registry is unchanged"),
            OperateError::UnknownRole(_) => Self::input("unknown_role", message)
                .hint("`roleos specialist list` shows the roles"),
            OperateError::DuplicateVersion {
                withdrawn: Some(_), ..
            } => Self::input("duplicate_version", message)
                .hint("it stays out; register what is to serve under an id of its own (of a manifest: raise `version`)"),
            OperateError::DuplicateVersion { .. } => Self::input("duplicate_version", message)
                .hint("a version never changes; `roleos audit run ROLE/VERSION --set SET` examines this one, a new one needs an id of its own"),
            OperateError::OtherManifest { .. } => Self::refused("other_manifest", message)
                .hint("a version number means one manifest; raise `version` in the new one"),
            OperateError::NoBackend(_) => {
                Self::input("no_backend", message).hint("name it with `--backend-url URL`")
            }
            OperateError::NotAVersion => Self::input("bad_version", message)
                .hint("`roleos help specialist` shows a version's file"),
            OperateError::Refused(refusal) => refused(&refusal, message),
            OperateError::NoSuchLevel(_) => Self::input("bad_level", message)
                .hint("a registered version begins at L0; `roleos specialist certify` raises it by evidence"),
            OperateError::NoReason => Self::input("no_reason", message)
                .hint("say why with `--reason TEXT`; it stays in the events log"),
            OperateError::Unreadable { source, .. } => {
                Self::input("state_unreadable", format!("{message}: {source}"))
                    .hint("nothing was changed; `roleos specialist repair` sets it aside and rebuilds it from the logs")
            }
            _ => Self::refused("specialist", message),
        }
    }
}

impl From<RegisterError> for Failure {
    fn from(error: RegisterError) -> Self {
        let message = error.to_string();
        match error {
            RegisterError::File(error) => error.into(),
            RegisterError::Unreadable { .. } => Self::input("bad_json", message)
                .hint("give a manifest (`model.yaml`) or a version (`version.json`)"),
            RegisterError::Manifest { problems, .. } => {
                let said = |problem: &::selection::manifest::Problem| {
                    format!("{}: {}", problem.path, problem.message)
                };
                Self::input("bad_manifest", message)
                    .details(problems.iter().map(said).collect())
                    .hint("`roleos manifest check` shows the same; nothing was changed")
            }
            RegisterError::Verifier { .. } => Self::input("bad_verifier", message)
                .hint("`roleos help selection` shows what each kind of verifier needs"),
            RegisterError::Signature { .. } => Self::refused("bad_signature", message).hint(
                "`roleos manifest sign` signs with this workspace's key; the signer's `.pub` file goes into `.role-os/keys/`",
            ),
            _ => Self::refused("register", message),
        }
    }
}

fn refused(refusal: &Refusal, message: String) -> Failure {
    let again = match refusal.can_be_forced() {
        true => {
            "`roleos audit run` takes the exam again; `--force --reason TEXT` overrides it, which the receipt tells"
        }
        false => {
            "`roleos audit run ROLE/VERSION --set SET` takes the exam again; what it then says decides"
        }
    };
    match refusal {
        Refusal::UnknownVersion { .. } => Failure::input("unknown_version", message)
            .hint("`roleos specialist list` shows the versions"),
        Refusal::Uncertified { .. } => Failure::refused("uncertified", message)
            .hint("`roleos audit run`, then `roleos specialist certify`; a version serves from L1 on"),
        Refusal::Withdrawn { .. } => Failure::refused("withdrawn", message)
            .hint("register a new version; a version that was taken out stays out"),
        Refusal::AmbiguousVersion { .. } => {
            Failure::input("ambiguous_version", message).hint("name more of the id")
        }
        Refusal::NotCompared { .. } => Failure::refused("not_compared", message).hint(
            "run one audit on both (`roleos audit run ROLE/VERSION --set SET --baseline ACTIVE`), or `--force --reason TEXT`",
        ),
        Refusal::Worse { .. } => Failure::refused("worse", message)
            .hint("keep the active version, or `--force --reason TEXT`, which the receipt tells"),
        Refusal::FailedExam { .. } => Failure::refused("exam_failed", message)
            .hint(again),
        Refusal::Barred { bar, .. } if bar.is_of_exams() => Failure::refused("halted_since_exam", message)
            .hint(again),
        Refusal::Barred { .. } => Failure::refused("may_not_serve", message)
            .hint("`roleos specialist status` shows halts; `roleos audit run`, then `roleos specialist certify`, certifies it with its present backend"),
        Refusal::OwnCanary { .. } => Failure::input("own_canary", message)
            .hint("name a version that is not active"),
        Refusal::NeverActive { .. } => {
            Failure::refused("never_active", message).hint("`roleos specialist promote` compares it and makes it active")
        }
        Refusal::NothingActive(_) | Refusal::NothingBeside(_) => {
            Failure::refused("nothing_active", message).hint("`roleos specialist promote ROLE VERSION` makes one active")
        }
        Refusal::NothingBefore(_) => Failure::refused("nothing_before", message)
            .hint("`roleos specialist deactivate ROLE` leaves the role to the general model"),
    }
}
