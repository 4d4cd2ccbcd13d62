//! `roleos manifest check`: checks that a model's declaration is complete, and that its weights match it.

use std::path::{Path, PathBuf};

use base::keys::KeyStore;
use clap::{Args, Subcommand};
use routing::manifests::{self, signature};
use selection::manifest::Mode;
use serde_json::json;

use crate::render::clean;
use crate::ui::{BAD, GOOD, Ui};
use crate::{Context, Exit, Failure};

/// Words of `manifest`.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Check a `model.yaml`; every problem with its path.
    Check(CheckArgs),
    /// Sign a `model.yaml` with this workspace's key; the signature goes beside it.
    #[command(after_help = "Example:\n  roleos manifest sign model.yaml")]
    Sign {
        /// The manifest.
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
}

/// Words of `manifest check`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  roleos manifest check model.yaml
  roleos manifest check model.yaml --artifacts . --json")]
pub struct CheckArgs {
    /// The manifest.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Folder with the weights; their hash is compared.
    #[arg(long, value_name = "DIR")]
    artifacts: Option<PathBuf>,
    /// Also take dots in `model_id`.
    #[arg(long)]
    lenient: bool,
}

pub fn run(ui: &Ui, context: &Context, command: &Command) -> Result<Exit, Failure> {
    match command {
        Command::Check(args) => check(ui, context, args),
        Command::Sign { file } => sign(ui, context, file),
    }
}

fn sign(ui: &Ui, context: &Context, file: &Path) -> Result<Exit, Failure> {
    let keys = KeyStore::open(&context.workspace)?;
    let key = keys.signing().ok_or_else(|| {
        Failure::refused("no_key", "this workspace has no key to sign with")
            .hint("`roleos key new --algorithm ed25519` makes one")
    })?;
    let path = signature::sign(file, key)?;
    let id = key.public().id().to_string();
    if ui.json {
        ui.json(&json!({ "signature": path.display().to_string(), "key_id": id }))?;
    } else {
        ui.line(format_args!(
            "{GOOD}signed{GOOD:#} by {id}: {}",
            path.display()
        ))?;
    }
    Ok(Exit::Done)
}

fn check(ui: &Ui, context: &Context, args: &CheckArgs) -> Result<Exit, Failure> {
    let mode = if args.lenient {
        Mode::Lenient
    } else {
        Mode::Strict
    };
    let licenses = &context.config.selection.licenses;
    let mut checked = manifests::check(&args.file, args.artifacts.as_deref(), mode, licenses)?;
    let found = checked
        .manifest
        .as_ref()
        .filter(|_| args.artifacts.is_some());
    let missing = found.and_then(|manifest| manifests::missing_schema(&args.file, manifest));
    checked.problems.extend(missing);
    let ok = checked.problems.is_empty();
    if ui.json {
        let problems = checked
            .problems
            .iter()
            .map(|problem| json!({ "path": problem.path, "message": problem.message }));
        ui.json(&json!({
            "ok": ok,
            "problems": problems.collect::<Vec<_>>(),
            "manifest_hash": checked.hash,
        }))?;
        return Ok(Exit::of_check(ok));
    }
    let file = args.file.display();
    for problem in &checked.problems {
        let message = clean::name(problem.message.as_bytes());
        let path = if problem.path.is_empty() {
            String::new()
        } else {
            format!(" {}:", problem.path)
        };
        ui.line(format_args!("{BAD}{file}{BAD:#}:{path} {message}"))?;
    }
    if let (true, Some(hash)) = (ok, &checked.hash) {
        ui.line(format_args!("{GOOD}OK{GOOD:#} manifest hash {hash}"))?;
    }
    Ok(Exit::of_check(ok))
}
