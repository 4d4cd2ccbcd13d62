//! `roleos catalog`: roles people write.

pub mod check;
pub mod remote;

use std::path::{Path, PathBuf};

use clap::Subcommand;
use host::catalog::Directory;

use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::ui::Ui;

/// Words of `catalog`.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Is every declared role there, in every language, and as the lock has it?
    Check(check::Args),
}

/// Does it.
///
/// # Errors
/// As the command says.
pub fn run(ui: &Ui, context: &Context, command: &Command) -> Result<Exit, Failure> {
    match command {
        Command::Check(args) => check::run(ui, context, args),
    }
}

/// The catalog that a command is about: the one that was named, else `catalog/` of the workspace, else the one we are in.
fn directory(context: &Context, named: Option<&Path>) -> Result<Directory, Failure> {
    if let Some(path) = named {
        return Ok(Directory::open(path)?);
    }
    let own = context.workspace.root().join("catalog");
    let here = PathBuf::from(".");
    let mut found = [&own, &here]
        .into_iter()
        .find(|path| path.join("index.yaml").exists());
    if own.is_dir() {
        // It may have lost its index, which the check then says.
        found = found.or(Some(&own));
    }
    let Some(path) = found else {
        return Err(Failure::input("no_catalog", "there is no catalog here")
            .hint("name the directory that has index.yaml"));
    };
    Ok(Directory::open(path)?)
}
