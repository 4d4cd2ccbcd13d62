//! `roleos dispatch`: one dispatch through the gate, with its receipt.

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::files;
use roles::installed_roles::Roles;
use routing::selector::Judge;
use routing::specialists::{Asked, Named, Specialists};
use routing::verifiers::Verifiers;
use serde_json::{Value, json};
use specialist::contract::read_text;
use specialist::gate::Decision;
use upstream::agreement::Judging;
use upstream::backend::{self, Backends, Limits};
use upstream::blocking;
use upstream::dispatch::{Answer, Dispatcher};
use upstream::fallback::{Fallback, FallbackError};

use super::specialist::{now, open};
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::render::clean;
use crate::ui::{DIM, Ui};

mod cases;
mod contest;

/// Longest input.
const MAX_INPUT: u64 = 16 * 1024 * 1024;

/// Words of `dispatch`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  roleos dispatch \"Release Note Checker\" --input claim.json
  echo 'is this true?' | roleos dispatch fact-checker --json
  roleos dispatch ticket-router --text 'My card was charged twice'
  roleos dispatch fact-checker --input claim.json --dry-run
  roleos dispatch summariser --input text.txt --k 2
  roleos dispatch summariser --input text.txt --learn --target summary.json --json
  roleos dispatch summariser --learn --cases exam.json

The input is JSON if it parses as JSON, text otherwise.")]
pub struct Args {
    /// The role.
    #[arg(value_name = "ROLE")]
    role: String,
    /// The input itself.
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["input", "cases"])]
    text: Option<String>,
    /// The input's file; `-` is standard input.
    #[arg(long, value_name = "FILE", default_value = "-")]
    input: PathBuf,
    /// Your name for this dispatch [default: a fresh one].
    #[arg(long, value_name = "ID")]
    trace_id: Option<String>,
    /// How many versions are asked at once [default: `k_infer`, or `k_train` with `--learn`, of the settings].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64))]
    k: Option<u16>,
    /// A learning run: uncertified versions take part, each is measured several times, and what wins is written down.
    #[arg(long)]
    learn: bool,
    /// The known right output, to score the candidates against.
    #[arg(long, value_name = "FILE")]
    target: Option<PathBuf>,
    /// Hold a learning run for every case of an audit set; expected outputs are the targets.
    #[arg(long, value_name = "SET", requires = "learn", conflicts_with_all = ["input", "target", "dry_run", "trace_id"])]
    cases: Option<PathBuf>,
    /// The task, where the input does not name one as its `task`; versions that are not for it are left out.
    #[arg(long, value_name = "TASK")]
    task: Option<String>,
    /// Only where it would go and why, version by version; nothing is asked and nothing is counted.
    #[arg(long)]
    dry_run: bool,
}

/// Runs the command.
///
/// # Errors
/// The input cannot be read, or nothing could answer.
pub fn run(ui: &Ui, context: &Context, args: &Args) -> Result<Exit, Failure> {
    if args.role.is_empty() {
        return Err(Failure::input("bad_role", "the role's name is empty"));
    }
    if let Some(set) = &args.cases {
        return cases::run(ui, context, args, set);
    }
    let bytes = match &args.text {
        Some(text) => text.clone().into_bytes(),
        None => bytes(&args.input)?,
    };
    let input = value(&args.input, &bytes)?;
    refuse_blank(&input)?;
    let specialists = open(context, &Named::default())?;
    refuse_unknown(context, &specialists, &args.role)?;
    let installed = Roles::new(context.workspace.roles_dir()).find(&args.role);
    let fresh = || format!("dispatch-{}", base::fresh_task_id());
    let trace_id = args
        .trace_id
        .clone()
        .filter(|id| !id.is_empty())
        .unwrap_or_else(fresh);
    let now = now();
    let asked = Asked {
        role: &args.role,
        input: &input,
        trace_id: &trace_id,
        now: &now,
    };
    let judge = Judge::of(&context.workspace);
    if args.dry_run {
        let route = specialists.route(asked, args.task.as_deref(), &judge);
        return super::explain_route::show(ui, &route);
    }
    let backends = Backends::new(Limits::from(&context.config.specialist));
    let fallback = Fallback::new(
        &context.config.fallback.claude,
        &context.workspace.role_os_dir(),
    );
    let dispatcher = Dispatcher {
        judging: Judging {
            set: context.config.specialist.agreement.clone(),
            verifiers: Some(Arc::new(Verifiers::new(&context.config.selection))),
        },
        ..Dispatcher::new(&specialists, &backends, fallback.as_ref(), &judge)
    };
    let instructions = installed.map(|role| role.content.instructions);
    let (prompt_hash, further) = contest::prompt_hash(context, &bytes)?;
    if contest::is_wanted(context, &specialists, args) {
        let question = contest::Question {
            asked,
            instructions: instructions.as_deref(),
            prompt_hash: &prompt_hash,
            further,
            target: match &args.target {
                Some(path) => Some(value(path, &self::bytes(path)?)?),
                None => None,
            },
        };
        let held = contest::hold(ui, context, &dispatcher, args, question)?;
        warn(ui, &specialists, &args.role);
        return contest::show(ui, &held, args.learn);
    }
    let answer = blocking::run(dispatcher.dispatch(asked, instructions.as_deref()))
        .map_err(|error| Failure::refused("runtime", error.to_string()))?;
    contest::tell(ui, context, &specialists, asked, &prompt_hash, &answer);
    warn(ui, &specialists, &args.role);
    show(ui, answer)
}

/// Refuses a role that is not named anywhere here.
pub(super) fn refuse_unknown(
    context: &Context,
    specialists: &Specialists,
    role: &str,
) -> Result<(), Failure> {
    let is_installed = || {
        Roles::new(context.workspace.roles_dir())
            .find(role)
            .is_some()
    };
    if specialists.was_named(role) || is_installed() || is_file(context, role) {
        return Ok(());
    }
    let message = format!("there is no role `{role}`");
    Err(Failure::input("unknown_role", message).hint(
        "`roleos specialist list` shows those there are; `roleos specialist register` or `roleos catalog import` adds one",
    ))
}

/// Returns `true` if a role's own file exists, readable or not: it was named, so it is answered.
fn is_file(context: &Context, role: &str) -> bool {
    let stored = Roles::new(context.workspace.roles_dir()).list();
    let is_of_role = |file: &str| file.split('.').next() == Some(role);
    stored.is_ok_and(|all| all.iter().any(|one| is_of_role(&one.file)))
}

/// Refuses an empty input, which no model answers, and which costs money.
pub(super) fn refuse_blank(input: &Value) -> Result<(), Failure> {
    if !selection::output::text(input).trim().is_empty() {
        return Ok(());
    }
    let failure = Failure::input("empty_input", "give an input: it is empty or only blanks");
    Err(failure.hint("`--input FILE` names it; without it, it is read from standard input"))
}

fn show(ui: &Ui, answer: Answer) -> Result<Exit, Failure> {
    let receipt = answer.receipt.to_json();
    if let Some(why) = &answer.not_logged {
        ui.note(format_args!(
            "warning: the field log was not written: {}",
            clean::name(why.as_bytes())
        ));
    }
    if ui.json {
        let result = answer.result.as_ref().ok();
        let mut object = json!({ "result": result, "receipt": receipt });
        if let (Some(why), Some(object)) = (&answer.not_logged, object.as_object_mut()) {
            object.insert("not_logged".to_owned(), json!(why));
        }
        ui.json(&object)?;
    }
    let decision = &answer.receipt.decision;
    match answer.result {
        Err(error) => Err(no_answer(&error, decision, answer.receipt.call.as_ref())),
        Ok(_) if ui.json => Ok(Exit::Done),
        Ok(result) => {
            let text = match &result {
                Value::String(text) => text.clone(),
                other => serde_json::to_string_pretty(other).unwrap_or_default(),
            };
            ui.line(clean::text(text.as_bytes()))?;
            ui.note(format_args!(
                "{DIM}receipt: {}{DIM:#}",
                clean::name(receipt.to_string().as_bytes())
            ));
            Ok(Exit::Done)
        }
    }
}

fn no_answer(
    error: &FallbackError,
    decision: &Decision,
    call: Option<&Result<specialist::contract::Answered, specialist::contract::CallError>>,
) -> Failure {
    let specialist = match call {
        Some(Err(error)) => format!("the specialist failed ({})", error.error),
        _ => format!(
            "the gate sent this to the general model ({}: {})",
            decision.reason.name(),
            clean::name(decision.detail.as_bytes())
        ),
    };
    let mut failure = Failure::refused(
        "no_answer",
        format!("nobody could answer: {specialist}, and {error}"),
    )
    .hint(format!(
        "{}; `roleos explain-route` shows for each version why it does not answer",
        error.hint()
    ));
    failure.retryable = error.is_retryable();
    failure
}

fn warn(ui: &Ui, specialists: &Specialists, role: &str) {
    let Ok(seen) = specialists.see() else {
        return;
    };
    let Some(entry) = seen.registry.entry(role) else {
        return;
    };
    let warning = if seen.is_trusted {
        backend::warning(&entry.backend_url)
    } else {
        Some(specialists.distrust())
    };
    if let Some(warning) = warning {
        ui.note(format_args!("warning: {}", clean::name(warning.as_bytes())));
    }
}

pub(super) fn bytes(path: &Path) -> Result<Vec<u8>, Failure> {
    Ok(if path == Path::new("-") {
        let mut bytes = Vec::new();
        let read = io::stdin()
            .lock()
            .take(MAX_INPUT + 1)
            .read_to_end(&mut bytes);
        read.map_err(|error| {
            Failure::input("bad_input", format!("cannot read standard input: {error}"))
        })?;
        if bytes.len() as u64 > MAX_INPUT {
            return Err(Failure::input(
                "file_too_large",
                format!("the input has more than {MAX_INPUT} bytes"),
            ));
        }
        bytes
    } else {
        files::read(path, MAX_INPUT)?
    })
}

pub(super) fn value(path: &Path, bytes: &[u8]) -> Result<Value, Failure> {
    let text = std::str::from_utf8(bytes).map_err(|_| {
        Failure::input(
            "bad_input",
            format!("the input `{}` is no UTF-8 text", path.display()),
        )
        .hint("give JSON or text")
    })?;
    Ok(read_text(text))
}
