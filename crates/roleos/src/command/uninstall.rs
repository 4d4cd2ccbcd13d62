//! `roleos uninstall`: removes the hooks from every agent's settings, and with `--purge` all files of Role OS from the
//! workspace.

use std::path::PathBuf;

use base::files::{self, Action, FileError};
use base::seals::Seals;
use base::trust_store::TrustStore;
use evidence::ledger::record;
use serde_json::json;

use super::init;
use crate::person::Person;
use crate::ui::{BOLD, GOOD, Ui};
use crate::{Context, Exit, Failure};

/// Words of `uninstall`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Without `--purge` it is `roleos init --uninstall`: settings, keys, journals and evidence stay.
With it `.role-os/` and `.claude/role-os/` go as well, with the keys: bundles elsewhere that these keys
signed can then only be checked with a public key that you kept (`roleos key export`).

Examples:
  roleos uninstall
  roleos uninstall --purge")]
pub struct Args {
    /// Also remove settings, keys, grants, journals and evidence of this workspace; asks at the terminal.
    #[arg(long)]
    purge: bool,
}

pub fn run(ui: &Ui, context: &Context, args: &Args) -> Result<Exit, Failure> {
    if !args.purge {
        if init::uninstall(ui, context)? {
            init::say_what_stays(ui);
        }
        return Ok(Exit::Done);
    }
    let workspace = &context.workspace;
    let grants = workspace.grants_path();
    let folders = [workspace.role_os_dir(), files::parent(&grants).to_owned()];
    let folders: Vec<PathBuf> = folders
        .into_iter()
        .filter(|folder| folder.is_dir())
        .collect();
    let mut person = Person::at_terminal(ui, "uninstall --purge")?;
    for folder in &folders {
        person.tell(format_args!("  {BOLD}{}{BOLD:#}", folder.display()))?;
    }
    person.tell("  with settings, keys, grants, journals and evidence; there is no way back")?;
    person.confirms("Take the hooks out and delete these folders?")?;
    init::uninstall(ui, context)?;
    if let Some(state) = workspace.state() {
        record::forget(&TrustStore::at(state), &workspace.ledger_dir());
        Seals::of(workspace).forget_heads();
    }
    for folder in &folders {
        let fail = |source| FileError::new(Action::Write, folder, source);
        std::fs::remove_dir_all(folder).map_err(fail)?;
        // `.claude` is removed as well if it is empty otherwise.
        if files::parent(folder) != workspace.root() {
            std::fs::remove_dir(files::parent(folder)).ok();
        }
    }
    if ui.json {
        ui.json(&json!({ "purged": folders }))?;
    } else {
        for folder in &folders {
            ui.line(format_args!("{GOOD}deleted{GOOD:#} {}", folder.display()))?;
        }
    }
    Ok(Exit::Done)
}
