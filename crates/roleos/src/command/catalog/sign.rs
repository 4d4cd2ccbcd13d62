//! `roleos catalog sign`: writes the note beside the index by which users verify the files.

use std::path::PathBuf;

use ::catalog::source::NOTE;
use roles::signature;
use serde_json::json;

use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::person::not_below_an_agent;
use crate::ui::Ui;

/// Words of `catalog sign`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  roleos catalog sign

Signs the digests of the index and of every declared file with the workspace's Ed25519 key, into index.yaml.note.
Sign again after each change. Others put the printed key into `trusted_keys` of `[catalog]`.")]
pub struct Args {
    /// The catalog's directory [default: `catalog` in the workspace, else the current directory].
    #[arg(value_name = "DIR")]
    directory: Option<PathBuf>,
}

/// Runs the command.
///
/// # Errors
/// There is no key, or a declared file is missing.
pub fn run(ui: &Ui, context: &Context, args: &Args) -> Result<Exit, Failure> {
    not_below_an_agent("catalog sign")?;
    let directory = super::directory(context, args.directory.as_deref())?;
    let keys = context.store.keys()?;
    let key = keys.signing().ok_or_else(|| {
        Failure::input("no_key", "this workspace has no Ed25519 key to sign with")
            .hint("`roleos key new --algorithm ed25519` makes one")
    })?;
    signature::sign(&directory, key).map_err(|error| {
        Failure::input("not_signed", error.to_string())
            .hint("`roleos catalog check` says what is missing")
    })?;
    let (path, public) = (
        directory.root().join(NOTE),
        hex::encode(key.public().to_bytes()),
    );
    if ui.json {
        ui.json(&json!({ "file": path, "public_key": public }))?;
    } else {
        ui.line(path.display())?;
        ui.note(format_args!("signed by {public}"));
    }
    Ok(Exit::Done)
}
