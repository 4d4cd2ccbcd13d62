//! `roleos audit new` and `audit draft`: a set for a role, and the general model's answers as expected outputs once a
//! person has looked at them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use base::files::{self, Privacy};
use roles::installed_roles::Roles;
use routing::specialists::{Named, Specialists};
use selection::audit::{AuditSet, MIN_CASES, draft};
use selection::output;
use serde_json::{Value, json};
use specialist::contract::read_text;
use upstream::blocking;
use upstream::fallback::{Fallback, Prompt};

use super::super::specialist::{Who, open, valid};
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::person::not_below_an_agent;
use crate::render::clean;
use crate::ui::{BOLD, DIM, Ui};

/// Words of `audit new`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  roleos audit new fact-checker
  roleos audit new fact-checker --out exams/facts.json

Takes the inputs of recent dispatches where `[privacy] keep_inputs` kept them, and the verifier of the newest version.
Then: `roleos audit draft fact-checker --set FILE`, or write the expected outputs by hand.")]
pub struct New {
    /// The role.
    #[arg(value_name = "ROLE")]
    role: String,
    /// Where the set is written [default: `audit-ROLE.json`].
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Words of `audit draft`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  roleos audit draft fact-checker --set exams/facts.json
  roleos audit draft fact-checker --set exams/facts.json --accept
  roleos audit draft fact-checker --set exams/facts.json --accept --case 0 --case 4")]
pub struct Draft {
    /// The role.
    #[arg(value_name = "ROLE")]
    role: String,
    /// The audit set.
    #[arg(long, value_name = "FILE")]
    set: PathBuf,
    /// Make the drafts the expected outputs; a person has looked at them.
    #[arg(long)]
    accept: bool,
    /// Accept only this case; may stand several times.
    #[arg(long, value_name = "INDEX", requires = "accept")]
    case: Vec<usize>,
    #[command(flatten)]
    who: Who,
}

/// Writes a skeleton.
///
/// # Errors
/// The role is unknown, or the file is there already or cannot be written.
pub fn new(ui: &Ui, context: &Context, args: &New) -> Result<Exit, Failure> {
    let specialists = open(context, &Named::default())?;
    let registry = valid(ui, &specialists)?.registry;
    let entry = registry
        .entry(&args.role)
        .ok_or_else(|| routing::specialists::OperateError::UnknownRole(args.role.clone()))?;
    let newest = entry.versions.last();
    let written = newest.and_then(|version| registry.written(&args.role, &version.id));
    let verifier = written.and_then(|written| written.get("verifier"));
    let verifier = verifier.filter(|declared| declared.is_object());
    let inputs = inputs(&specialists, &args.role)?;
    let path = args.out.clone().unwrap_or_else(|| {
        let safe = |letter: char| {
            if letter.is_ascii_alphanumeric() {
                letter
            } else {
                '-'
            }
        };
        let name: String = args.role.chars().map(safe).collect();
        PathBuf::from(format!("audit-{name}.json"))
    });
    if path.symlink_metadata().is_ok() {
        let message = format!("`{}` is there already", path.display());
        return Err(Failure::input("file_exists", message).hint("name another with `--out FILE`"));
    }
    let set = draft::skeleton(&args.role, &inputs, verifier);
    write(&path, &set)?;
    let cases = set.get("test_cases").and_then(Value::as_array);
    let cases = cases.map_or(0, Vec::len);
    if ui.json {
        ui.json(
            &json!({ "role": args.role, "set": path, "cases": cases, "inputs": inputs.len() }),
        )?;
        return Ok(Exit::Done);
    }
    ui.line(format_args!(
        "wrote {} with {cases} cases, {} of them with an input from the field log",
        path.display(),
        inputs.len()
    ))?;
    ui.line(format_args!(
        "{DIM}next: fill in `input`, then `roleos audit draft {:?} --set {}`{DIM:#}",
        args.role,
        path.display()
    ))?;
    Ok(Exit::Done)
}

/// Returns the newest different inputs of a role, as many as a set needs.
fn inputs(specialists: &Specialists, role: &str) -> Result<Vec<String>, Failure> {
    let log = specialists.field_log()?;
    let lines = log.rsplit(|byte| *byte == b'\n');
    let mut seen = BTreeSet::new();
    let rows = lines.filter_map(|line| {
        let row: Value = serde_json::from_slice(line).ok()?;
        let text = |key: &str| row.get(key)?.as_str().map(str::to_owned);
        (text("role")? == role).then_some(())?;
        text("input")
    });
    let fresh = rows.filter(|input| !input.is_empty() && seen.insert(input.clone()));
    let most = usize::try_from(MIN_CASES).unwrap_or(usize::MAX);
    Ok(fresh.take(most).collect())
}

/// Drafts expected outputs with the general model, or accepts them.
///
/// # Errors
/// The set is wrong, the general model does not answer, or the file cannot be written.
pub fn draft(ui: &Ui, context: &Context, args: &Draft) -> Result<Exit, Failure> {
    let (_, mut set) = routing::audits::read_set_as_written(&args.set)?;
    if args.accept {
        return accept(ui, context, args, set);
    }
    let open = draft::open_cases(&set);
    let role_os = context.workspace.role_os_dir();
    let fallback = Fallback::new(&context.config.fallback.claude, &role_os).ok_or_else(|| {
        Failure::refused("no_fallback", "no general model is configured")
            .hint("set `kind` under `[fallback.claude]` in `.role-os/config.toml`")
    })?;
    let role = Roles::new(context.workspace.roles_dir()).find(&args.role);
    let progress = ui.progress(open.len(), "draft");
    for (number, (index, input)) in open.iter().enumerate() {
        let input = read_text(input);
        let prompt = Prompt {
            role: &args.role,
            instructions: role.as_ref().map(|role| role.content.instructions.as_str()),
            input: &input,
            trace_id: "audit-draft",
            beside: None,
        };
        let answer = blocking::run(fallback.ask(prompt))
            .map_err(|error| Failure::refused("runtime", error.to_string()))?
            .map_err(|error| {
                Failure::refused("no_answer", format!("case {index}: {error}"))
                    .hint("what was answered is kept; the same command goes on from there")
            })?;
        draft::put(&mut set, *index, &output::text(&answer.verdict));
        write(&args.set, &set)?;
        progress.set(number + 1);
    }
    let drafts = draft::drafts(&set);
    if ui.json {
        let listed = drafts.iter().map(|(index, input, answer)| {
            json!({ "case": index, "input": input, "draft_output": answer })
        });
        ui.json(
            &json!({ "set": args.set, "asked": open.len(), "drafts": listed.collect::<Vec<_>>() }),
        )?;
        return Ok(Exit::Done);
    }
    for (index, input, answer) in &drafts {
        ui.line(format_args!(
            "{BOLD}case {index}{BOLD:#}: {}\n  {}",
            clean::line(input, 200),
            clean::line(answer, 400)
        ))?;
    }
    ui.line(format_args!(
        "{} drafts; look at them, then `--accept` makes them the expected outputs",
        drafts.len()
    ))?;
    Ok(Exit::Done)
}

fn accept(ui: &Ui, context: &Context, args: &Draft, mut set: Value) -> Result<Exit, Failure> {
    not_below_an_agent("audit draft --accept")?;
    let wanted = |index: usize| args.case.is_empty() || args.case.contains(&index);
    let count = draft::accept(&mut set, wanted, &args.who.name(context));
    if AuditSet::parse(&set).is_ok() && count > 0 {
        write(&args.set, &set)?;
    }
    if ui.json {
        ui.json(&json!({ "set": args.set, "accepted": count }))?;
    } else {
        ui.line(format_args!(
            "{count} drafts are expected outputs now; {} are left",
            draft::drafts(&set).len()
        ))?;
    }
    Ok(Exit::Done)
}

fn write(path: &Path, set: &Value) -> Result<(), Failure> {
    let mut text = serde_json::to_string_pretty(set).unwrap_or_default();
    text.push('\n');
    files::write(path, text.as_bytes(), Privacy::Shared)?;
    Ok(())
}
