//! `roleos prune`: removes files past their retention, or one task at a person's request. Shows them first, removes
//! them with `--yes`.

use std::path::PathBuf;
use std::time::Duration;

use evidence::retention::{self, Ages, Expired, archive};
use jiff::SignedDuration;
use serde_json::{Value, json};
use witness::ledger::checkpoint::Origin;

use crate::command::grant::parse_duration;
use crate::context::begins_task_id;
use crate::person::not_below_an_agent;
use crate::render::clean;
use crate::render::units::counted;
use crate::ui::{DIM, GOOD, Ui, WARN};
use crate::{Context, Exit, Failure};

/// Words of `prune`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Without `--yes` it only shows what would go. Bundles, the ledger, the run log and receipts are never
pruned by age: they are chained. An archive holds copies and `SHA256SUMS.note`, a C2SP signed note;
its verifier key is `roleos key export --vkey --name roleos-archive`. `--task` deletes one bundle and
the journal of its session, and leaves a signed tombstone in the ledger, so that `roleos ledger verify`
says when and by whom.

Examples:
  roleos prune
  roleos prune --older-than 7d --yes --archive ../archive-2026
  roleos prune --task 0193a7c2 --reason 'privacy request' --yes")]
pub struct Args {
    /// Remove what is older [default: `[retention]`, else `oversight.keep_days`].
    #[arg(long, value_name = "TIME", value_parser = parse_duration, conflicts_with = "task")]
    older_than: Option<SignedDuration>,
    /// Delete the evidence of one task: its id, or the beginning of one.
    #[arg(long, value_name = "ID")]
    task: Option<String>,
    /// Who deletes it, for the tombstone [default: the id of the signing key].
    #[arg(long, value_name = "NAME", requires = "task")]
    by: Option<String>,
    /// Why, for the tombstone.
    #[arg(
        long,
        value_name = "TEXT",
        requires = "task",
        default_value = "",
        hide_default_value = true
    )]
    reason: String,
    /// Copy the files to this new folder first, with checksums that the workspace's key signs.
    #[arg(long, value_name = "DIR", requires = "yes")]
    archive: Option<PathBuf>,
    /// Remove it.
    #[arg(long)]
    yes: bool,
}

pub fn run(ui: &Ui, context: &Context, args: &Args) -> Result<Exit, Failure> {
    if args.yes {
        not_below_an_agent("prune --yes")?;
    }
    match &args.task {
        Some(task) => delete_task(ui, context, args, task)?,
        None => prune(ui, context, args)?,
    }
    Ok(Exit::Done)
}

fn prune(ui: &Ui, context: &Context, args: &Args) -> Result<(), Failure> {
    let ages = match args.older_than {
        Some(age) => Ages::all(Duration::try_from(age).unwrap_or_default()),
        None => Ages::of(&context.config),
    };
    let expired = retention::expired(&context.workspace, ages)?;
    if args.yes {
        seal_archive(context, args, &expired)?;
        expired.iter().try_for_each(retention::remove)?;
    }
    show(ui, context, args, &expired, None)
}

/// Stores copies if the user requested them.
fn seal_archive(context: &Context, args: &Args, going: &[Expired]) -> Result<(), Failure> {
    let Some(folder) = args.archive.as_deref().filter(|_| !going.is_empty()) else {
        return Ok(());
    };
    if folder.exists() {
        let message = format!("name a new folder: `{}` is there already", folder.display());
        return Err(Failure::input("archive_exists", message));
    }
    let keys = context.store.keys()?;
    let key = keys.signing().ok_or_else(|| {
        Failure::input("no_key", "make a key first: no Ed25519 key signs here")
            .hint("`roleos key new --algorithm ed25519` makes one")
    })?;
    let name = Origin::parse("roleos-archive")
        .map_err(|error| Failure::refused("archive", error.to_string()))?;
    archive::seal(context.workspace.root(), going, folder, &name, key)?;
    Ok(())
}

fn delete_task(ui: &Ui, context: &Context, args: &Args, task: &str) -> Result<(), Failure> {
    let (index, file, id) = leaf_of(context, task)?;
    let size = base::files::metadata(&context.store.witness_dir().join(&file))
        .map_err(|_| {
            Failure::input(
                "bundle_not_found",
                format!("the bundle of task `{id}` is not here"),
            )
            .hint("`roleos ledger verify` says what became of it")
        })?
        .len();
    let mut going = retention::journals_of(&context.workspace, &id.replace('-', ""));
    going.push(Expired {
        path: context.store.witness_dir().join(&file),
        what: "bundle of the task",
        bytes: size,
    });
    let mut tombstone = None;
    if args.yes {
        let keys = context.store.keys()?;
        let by = args.by.clone().or_else(|| {
            let key = keys.signing()?.public().id();
            Some(format!("key {key}"))
        });
        let by = clean::line(&by.unwrap_or_default(), 80);
        let reason = clean::line(&args.reason, 200);
        tombstone = Some(context.store.delete(index, &by, &reason, &keys)?);
        let journals = going.iter().filter(|one| one.what != "bundle of the task");
        journals.into_iter().try_for_each(retention::remove)?;
    }
    let told = tombstone.map(|one| one.problem().detail);
    show(ui, context, args, &going, told.as_deref())
}

/// Finds the leaf of a task by a prefix of its id.
fn leaf_of(context: &Context, task: &str) -> Result<(usize, String, String), Failure> {
    let wanted = task.replace('-', "").to_lowercase();
    let ledger = context.store.ledger()?;
    let entries = ledger
        .iter()
        .flat_map(|ledger| ledger.entries())
        .enumerate();
    let found: Vec<_> = entries
        .filter(|(_, entry)| {
            let id = entry.leaf.task_id.to_string().replace('-', "");
            begins_task_id(task) && id.starts_with(&wanted)
        })
        .map(|(index, entry)| (index, entry.file.clone(), entry.leaf.task_id.to_string()))
        .collect();
    match found.as_slice() {
        [one] => Ok(one.clone()),
        [] => Err(Failure::input(
            "bundle_not_found",
            format!("no task `{task}` is in the ledger"),
        )
        .hint("`roleos witness list` shows the task ids")),
        many => {
            let ids: Vec<&str> = many.iter().map(|(_, _, id)| id.as_str()).collect();
            let message = format!("give more of the id: {} begin so", ids.join(", "));
            Err(Failure::input("bundle_ambiguous", message))
        }
    }
}

fn show(
    ui: &Ui,
    context: &Context,
    args: &Args,
    going: &[Expired],
    tombstone: Option<&str>,
) -> Result<(), Failure> {
    let root = context.workspace.root();
    let shown = |one: &Expired| {
        let path = one.path.strip_prefix(root).unwrap_or(&one.path);
        clean::line(&path.display().to_string(), 120)
    };
    if ui.json {
        let files: Vec<Value> = going
            .iter()
            .map(|one| json!({ "file": shown(one), "what": one.what, "bytes": one.bytes }))
            .collect();
        ui.json(&json!({ "removed": args.yes, "files": files, "tombstone": tombstone }))?;
        return Ok(());
    }
    for one in going {
        let (style, verb) = match args.yes {
            true => (GOOD, "removed"),
            false => (WARN, "would remove"),
        };
        ui.line(format_args!(
            "{style}{verb}{style:#} {}  {DIM}{}, {} bytes{DIM:#}",
            shown(one),
            one.what,
            one.bytes
        ))?;
    }
    if let Some(told) = tombstone {
        ui.line(told)?;
    }
    if going.is_empty() {
        ui.note("nothing to remove: no log, journal or refused act is old enough");
    } else if !args.yes {
        let files = counted(going.len() as u64, "file");
        ui.note(format_args!(
            "add `--yes` to remove {files}; nothing was changed"
        ));
    }
    Ok(())
}
