//! `roleos witness`: evidence of single tasks.

pub mod export;
pub mod import;
pub mod list;
pub mod replay;
pub mod rerun;
pub mod seal;
pub mod show;
pub mod verify;

use clap::Subcommand;

use crate::ui::{Ui, WARN};
use crate::{Context, Exit, Failure};

/// Words of `witness`.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// The bundles of this workspace, newest first.
    List(list::Args),
    /// Everything that a bundle says.
    Show(show::Args),
    /// Check form and signature.
    Verify(verify::Args),
    /// Walk through a task: signature, spec, plan, calls, diff, tests, and whether the outcome fits.
    Replay(replay::Args),
    /// Apply the diff to its base commit and run the tests again.
    Rerun(rerun::Args),
    /// Make a bundle from files.
    Seal(seal::Args),
    /// Write a bundle for other tools.
    Export(export::Args),
    /// Take in bundles from elsewhere.
    Import(import::Args),
}

pub fn run(ui: &Ui, context: &Context, command: &Command) -> Result<Exit, Failure> {
    match command {
        Command::List(args) => list::run(ui, context, args),
        Command::Show(args) => show::run(ui, context, args),
        Command::Verify(args) => verify::run(ui, context, args),
        Command::Replay(args) => replay::run(ui, context, args),
        Command::Rerun(args) => rerun::run(ui, context, args),
        Command::Seal(args) => seal::run(ui, context, args),
        Command::Export(args) => export::run(ui, context, args),
        Command::Import(args) => import::run(ui, context, args),
    }
}

/// Whether a bundle is read as strictly as ours are, or as forgivingly as the reference reads.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct Reading {
    /// Read as the reference does; what it forgives becomes a warning.
    #[arg(long)]
    lenient: bool,
}

impl Reading {
    fn strictness(self) -> ::witness::bundle::Strictness {
        if self.lenient {
            ::witness::bundle::Strictness::Lenient
        } else {
            ::witness::bundle::Strictness::Strict
        }
    }
}

/// Prints the effects of a crash that were repaired.
fn note_repairs(ui: &Ui, repaired: &[String]) {
    for repair in repaired {
        ui.note(format_args!("{WARN}repaired{WARN:#}: {repair}"));
    }
}
