//! `roleos catalog bump`: raises one version by one and changes nothing else.

use std::path::PathBuf;

use ::catalog::edit;
use ::catalog::source::INDEX;
use roles::authoring;
use serde_json::json;

use crate::ui::Ui;
use crate::{Context, Exit, Failure};

/// Words of `catalog bump`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  roleos catalog bump proofreader")]
pub struct Args {
    /// The role.
    slug: String,
    /// The catalog's directory [default: `catalog` in the workspace, else the current directory].
    #[arg(long, value_name = "DIR")]
    from: Option<PathBuf>,
}

pub fn run(ui: &Ui, context: &Context, args: &Args) -> Result<Exit, Failure> {
    let directory = super::directory(context, args.from.as_deref())?;
    let draft = super::readable(directory.draft())?;
    let bumped = edit::bump(draft.claims(), &args.slug).map_err(super::refused)?;
    authoring::write(&directory, INDEX, &bumped.text)?;
    let (from, to) = (bumped.from, bumped.to);
    if ui.json {
        ui.json(&json!({ "slug": args.slug, "from": from, "to": to }))?;
        return Ok(Exit::Done);
    }
    ui.line(format_args!("{} {from} → {to}", args.slug))?;
    ui.note("now `roleos catalog check --update-hashes` records it");
    Ok(Exit::Done)
}
