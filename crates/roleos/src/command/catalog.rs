//! `roleos catalog`: roles that people write.

pub mod bump;
pub mod check;
pub mod diff;
pub mod export;
pub mod import;
pub mod installed;
pub mod list;
pub mod new;
mod origin;
pub mod remove;
pub mod show;
pub mod sign;
pub mod update;

use std::path::{Path, PathBuf};

use ::catalog::catalog::Draft;
use ::catalog::edit::Refused;
use ::catalog::served::Refusal;
use ::catalog::source::INDEX;
use clap::Subcommand;
use roles::catalog::Directory;

use crate::ui::Ui;
use crate::{Context, Exit, Failure};

/// Words of `catalog`.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Check that every role is there, in every language, as locked.
    Check(check::Args),
    /// Bundles, languages and roles, and how each role stands to the lock.
    List(list::Args),
    /// One role as its user will read it.
    Show(show::Args),
    /// Print or write the skeleton of a bundle, a role or a language.
    New(new::Args),
    /// Raise the version of a role by one.
    Bump(bump::Args),
    /// Show changes of a role since it was locked or installed.
    Diff(diff::Args),
    /// Install roles of a bundle into this workspace.
    Import(import::Args),
    /// Bring installed roles to the catalog's version.
    Update(update::Args),
    /// The roles of this workspace.
    Installed,
    /// Remove an installed role from this workspace.
    Uninstall(remove::Uninstall),
    /// Enable an installed role.
    #[command(after_help = "Example:\n  roleos catalog enable proofreader --lang en")]
    Enable(remove::Which),
    /// Disable an installed role; it stays installed.
    #[command(after_help = "Example:\n  roleos catalog disable proofreader")]
    Disable(remove::Which),
    /// Write roles as the files that coding agents read.
    Export(export::Args),
    /// Sign the files of a catalog for those who install from it.
    Sign(sign::Args),
}

pub fn run(ui: &Ui, context: &Context, command: &Command) -> Result<Exit, Failure> {
    match command {
        Command::Check(args) => check::run(ui, context, args),
        Command::List(args) => list::run(ui, context, args),
        Command::Show(args) => show::run(ui, context, args),
        Command::New(args) => new::run(ui, context, args),
        Command::Bump(args) => bump::run(ui, context, args),
        Command::Diff(args) => diff::run(ui, context, args),
        Command::Import(args) => import::run(ui, context, args),
        Command::Update(args) => update::run(ui, context, args),
        Command::Installed => installed::run(ui, context),
        Command::Uninstall(args) => remove::uninstall(ui, context, args),
        Command::Enable(which) => remove::enable(ui, context, which, true),
        Command::Disable(which) => remove::enable(ui, context, which, false),
        Command::Export(args) => export::run(ui, context, args),
        Command::Sign(args) => sign::run(ui, context, args),
    }
}

/// Finds the catalog for a command: the named one, else `catalog/` of the workspace, else the current directory.
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
        // It may have lost its index, which the check then reports.
        found = found.or(Some(&own));
    }
    let Some(path) = found else {
        return Err(Failure::input("no_catalog", "there is no catalog here")
            .hint("name one with `--from DIR`, or take the shipped one with `--from builtin`"));
    };
    Ok(Directory::open(path)?)
}

/// Returns a catalog with a readable index. Its other problems are for `catalog check`.
fn readable(draft: Draft) -> Result<Draft, Failure> {
    let refusal = draft.served().remove(INDEX);
    match refusal {
        None => Ok(draft),
        Some(refusal) => Err(Failure::input(
            "bad_catalog",
            format!("the index of the catalog is {}", said(refusal)),
        )
        .hint("`roleos catalog check --strict CATALOG` says where")),
    }
}

/// Describes a refusal.
fn said(refusal: Refusal) -> &'static str {
    match refusal {
        Refusal::Missing => "missing",
        Refusal::InvalidYaml => "not valid YAML",
        Refusal::Malformed => "malformed",
    }
}

/// Returns the failure for a refused edit, with the remedy.
fn refused(refused: Refused) -> Failure {
    Failure::input("not_edited", refused.what).hint(refused.hint)
}
