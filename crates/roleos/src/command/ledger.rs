//! `roleos ledger`: checks that every bundle is still there, unchanged and in its place.

use std::path::PathBuf;

use base::files::{self, Privacy};
use clap::{Args, Subcommand};
use evidence::ledger::read_checkpoint;
use evidence::ledger::record::ROLLED_BACK;
use evidence::store::audit::Audit;
use serde_json::json;

use crate::person::Person;
use crate::render::clean;
use crate::render::units::counted;
use crate::ui::{BAD, DIM, GOOD, Ui};
use crate::{Context, Exit, Failure};

/// Words of `ledger`.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Compare bundles, ledger and checkpoint.
    Verify(VerifyArgs),
    /// Write a proof that a bundle is in the ledger, for `witness verify --proof`.
    Prove(ProveArgs),
    /// Print the newest signed checkpoint, to be kept out of the writer's reach.
    Checkpoint,
    /// Take the ledger as it is for the known one, after a backup or a fresh start.
    Adopt,
}

/// Words of `ledger verify`.
#[derive(Debug, Args)]
#[command(after_help = "\
A hash chain alone does not show that its end was cut off. Keep checkpoints elsewhere and compare:
  roleos ledger checkpoint > /mnt/elsewhere/checkpoint
  roleos ledger verify --against /mnt/elsewhere/checkpoint")]
pub struct VerifyArgs {
    /// A checkpoint that was kept elsewhere.
    #[arg(long, value_name = "CHECKPOINT")]
    against: Option<PathBuf>,
}

/// Words of `ledger prove`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  roleos ledger prove 0193a7 --out task.tlog-proof")]
pub struct ProveArgs {
    /// Task id, or the beginning of one.
    task: String,
    /// Where to write the proof [default: standard output].
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub fn run(ui: &Ui, context: &Context, command: &Command) -> Result<Exit, Failure> {
    match command {
        Command::Verify(args) => verify(ui, context, args),
        Command::Prove(args) => prove(ui, context, args),
        Command::Checkpoint => checkpoint(ui, context),
        Command::Adopt => adopt(ui, context),
    }
}

fn verify(ui: &Ui, context: &Context, args: &VerifyArgs) -> Result<Exit, Failure> {
    let against = args.against.as_deref().map(read_checkpoint).transpose()?;
    let keys = context.store.keys()?;
    let audit = context.store.audit(&keys, against.as_ref())?;
    let ok = audit.holds();
    if ui.json {
        let problems = audit.problems.iter();
        ui.json(&json!({
            "ok": ok,
            "origin": audit.origin,
            "size": audit.size,
            "root": hex::encode(audit.root),
            "recorded": audit.is_recorded,
            "problems": problems.map(|one| json!({"kind": one.kind, "detail": one.detail})).collect::<Vec<_>>(),
        }))?;
    } else {
        show(ui, &audit)?;
    }
    Ok(Exit::of_check(ok))
}

fn show(ui: &Ui, audit: &Audit) -> Result<(), Failure> {
    for problem in &audit.problems {
        let detail = clean::line(&problem.detail, 400);
        let style = if audit.holds() { DIM } else { BAD };
        ui.line(format_args!("{style}{}{style:#}  {detail}", problem.kind))?;
    }
    let Some(origin) = &audit.origin else {
        if audit.problems.is_empty() {
            let why = match audit.is_unsealed {
                true => "nothing was sealed since `roleos init`, so there is no ledger yet",
                false => "no ledger yet; the first `roleos witness seal` makes one",
            };
            ui.line(why)?;
        } else {
            ui.note("hint: restore the ledger and the bundles from a backup");
        }
        return Ok(());
    };
    if audit.holds() {
        let bundles = counted(audit.size, "bundle");
        let place = match audit.problems.len() {
            0 => "all in place".to_owned(),
            deleted => format!("{deleted} deleted, all others in place"),
        };
        ui.line(format_args!("{GOOD}OK{GOOD:#}  {bundles}, {place}"))?;
    }
    if !audit.is_recorded {
        ui.note(
            "no trust store keeps a record, so a rollback of the whole ledger would not be noticed",
        );
    }
    if audit.problems.iter().any(|one| one.kind == ROLLED_BACK) {
        ui.note("hint: restore the ledger from a backup; if you replaced it yourself, `roleos ledger adopt`");
    }
    ui.note(format_args!(
        "{DIM}ledger {origin}, root {}{DIM:#}",
        hex::encode(audit.root)
    ));
    Ok(())
}

fn prove(ui: &Ui, context: &Context, args: &ProveArgs) -> Result<Exit, Failure> {
    let ledger = context.store.ledger()?.ok_or_else(no_ledger)?;
    let wanted = args.task.replace('-', "").to_lowercase();
    let mut found = ledger
        .entries()
        .iter()
        .enumerate()
        .filter(|(_, entry)| entry.leaf.task_id.to_string().starts_with(&wanted));
    let (Some((index, entry)), None) = (found.next(), found.next()) else {
        return Err(Failure::input(
            "bundle_not_found",
            format!(
                "`{}` does not name exactly one bundle of the ledger",
                args.task
            ),
        )
        .hint("take a task id from `roleos witness list`"));
    };
    let signed = ledger.checkpoint()?.ok_or_else(no_ledger)?;
    let proof = ledger.tree().prove(index as u64, signed).map_err(|error| {
        Failure::refused("cannot_prove", error.to_string()).hint("run `roleos ledger verify`")
    })?;
    let text = proof.to_text();
    if let Some(path) = &args.out {
        files::write(path, text.as_bytes(), Privacy::Shared)?;
        ui.note(format_args!("wrote {}", path.display()));
    } else if ui.json {
        let task = entry.leaf.task_id.to_string();
        ui.json(&json!({"task_id": task, "index": index, "proof": text}))?;
    } else {
        ui.line(text.trim_end())?;
    }
    Ok(Exit::Done)
}

fn checkpoint(ui: &Ui, context: &Context) -> Result<Exit, Failure> {
    let ledger = context.store.ledger()?.ok_or_else(no_ledger)?;
    let signed = ledger.checkpoint()?.ok_or_else(no_ledger)?;
    let text = signed.to_text();
    if ui.json {
        ui.json(&json!({ "checkpoint": text }))?;
    } else {
        ui.line(text.trim_end_matches('\n'))?;
    }
    Ok(Exit::Done)
}

/// Adopts a ledger. Only a person may confirm that a smaller or another ledger is the right one.
fn adopt(ui: &Ui, context: &Context) -> Result<Exit, Failure> {
    let mut person = Person::at_terminal(ui, "ledger adopt")?;
    let ledger = context.store.ledger()?.ok_or_else(no_ledger)?;
    let question = format!(
        "Take the ledger {} with {} for the known one?",
        ledger.tree().origin().as_str(),
        counted(ledger.tree().len(), "bundle"),
    );
    person.confirms(&question)?;
    let size = context.store.adopt_ledger()?.ok_or_else(no_ledger)?;
    ui.line(format_args!(
        "{GOOD}adopted{GOOD:#}  {}",
        counted(size, "bundle")
    ))?;
    Ok(Exit::Done)
}

fn no_ledger() -> Failure {
    Failure::input(
        "no_ledger",
        "there is no ledger with a checkpoint in this workspace",
    )
    .hint("the first `roleos witness seal` makes one")
}
