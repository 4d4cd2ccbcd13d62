//! `roleos witness import`: imports bundles that were sealed elsewhere.

use std::path::PathBuf;

use evidence::store::Imported;
use serde_json::json;

use crate::command::trust::Trust;
use crate::render::clean;
use crate::ui::{GOOD, Ui, WARN};
use crate::{Context, Exit, Failure};

/// Words of `witness import`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  roleos witness import ci-artifacts/ --key-file ci.pub

Exit 1 when a bundle was refused; the others are stored.")]
pub struct Args {
    /// Bundle files, or directories with them.
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    trust: Trust,
    /// Take in unsigned and unchecked bundles as well.
    #[arg(long)]
    unverified: bool,
}

#[derive(Default)]
struct Tally {
    done: usize,
    stored: usize,
    known: usize,
    refused: Vec<(String, String)>,
}

pub fn run(ui: &Ui, context: &Context, args: &Args) -> Result<Exit, Failure> {
    let keyring = args.trust.keyring(context)?;
    let paths = context.bundles(&args.paths)?;
    let progress = ui.progress(paths.len(), "bundles");
    let mut tally = Tally::default();
    let repaired = context
        .store
        .import(&paths, &keyring, args.unverified, |path, imported| {
            tally.done += 1;
            progress.set(tally.done);
            match imported {
                Imported::Stored(_) => tally.stored += 1,
                Imported::Known => tally.known += 1,
                Imported::Refused(why) => {
                    let refused = (path.display().to_string(), why.clone());
                    tally.refused.push(refused);
                }
            }
        })?;
    drop(progress);
    super::note_repairs(ui, &repaired);
    if ui.json {
        let refused = tally.refused.iter();
        ui.json(&json!({
            "stored": tally.stored,
            "known": tally.known,
            "refused": refused.map(|(file, why)| json!({"file": file, "why": why})).collect::<Vec<_>>(),
            "repaired": repaired,
        }))?;
    } else {
        for (file, why) in &tally.refused {
            ui.line(format_args!(
                "{WARN}refused{WARN:#}  {}  {why}",
                clean::line(file, 200)
            ))?;
        }
        ui.line(format_args!(
            "{GOOD}stored{GOOD:#} {}, known already {}, refused {}",
            tally.stored,
            tally.known,
            tally.refused.len()
        ))?;
    }
    Ok(Exit::of_check(tally.refused.is_empty()))
}
