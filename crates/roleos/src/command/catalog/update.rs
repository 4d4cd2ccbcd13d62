//! `roleos catalog update`: updates installed roles to the catalog's version.

use ::catalog::install::{Policy, Update};
use ::catalog::installed::Installed;
use ::catalog::yaml::number_text;
use roles::installed_roles::{Roles, Updated};

use super::origin::From;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::render::clean;
use crate::ui::{BAD, DIM, GOOD, Ui};

/// Words of `catalog update`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  roleos catalog update proofreader
  roleos catalog update --all

Whether a role is enabled, and blocks that are not the catalog's, stay as they are. A role that you edited is left
alone (local-edits) unless --overwrite says otherwise.")]
pub struct Args {
    /// The role, in every language in which it is installed.
    #[arg(required_unless_present = "all", conflicts_with = "all")]
    slug: Option<String>,
    /// Every installed role.
    #[arg(long)]
    all: bool,
    /// One language only.
    #[arg(long, value_name = "LANGUAGE")]
    lang: Option<String>,
    /// Overwrite what was edited by hand.
    #[arg(long)]
    overwrite: bool,
    /// Also take the model that a role asks for.
    #[arg(long)]
    with_model_config: bool,
    #[command(flatten)]
    from: From,
}

impl Args {
    fn wants(&self, role: &Installed) -> bool {
        role.source.as_ref().is_some_and(|source| {
            self.slug.as_ref().is_none_or(|slug| *slug == source.slug)
                && self
                    .lang
                    .as_ref()
                    .is_none_or(|lang| *lang == source.language)
        })
    }
}

/// Runs the command.
///
/// # Errors
/// The role is not installed, or the catalog cannot be read.
pub fn run(ui: &Ui, context: &Context, args: &Args) -> Result<Exit, Failure> {
    let origin = args.from.find(context)?;
    let draft = super::readable(origin.draft(ui, context)?)?;
    let roles = Roles::new(context.workspace.roles_dir());
    let policy = Policy {
        overwrite: args.overwrite,
        models: super::import::models(args.with_model_config),
    };
    let done = roles.update(draft.claims(), policy, |role| args.wants(role))?;
    if let Some(slug) = args.slug.as_ref().filter(|_| done.is_empty()) {
        let what = format!("no catalog role `{slug}` is installed");
        return Err(
            Failure::input("not_installed", what).hint("`roleos catalog installed` shows what is")
        );
    }
    if ui.json {
        ui.json(
            &done
                .iter()
                .map(present::view::roles::updated)
                .collect::<Vec<_>>(),
        )?;
    } else {
        for one in &done {
            show(ui, one)?;
        }
        if done.is_empty() {
            ui.note("no role was installed from a catalog");
        }
    }
    Ok(Exit::of_check(done.iter().all(|one| one.outcome.is_ok())))
}

fn show(ui: &Ui, one: &Updated) -> Result<(), Failure> {
    let file = clean::line(one.file.trim_end_matches(".yaml"), 80);
    match &one.outcome {
        Ok(Update::Updated { from, to, .. }) => {
            let (from, to) = (number_text(*from), number_text(*to));
            ui.line(format_args!(
                "{GOOD}updated{GOOD:#}    {file}  {from} → {to}"
            ))?;
        }
        Ok(Update::Unchanged(reason)) => {
            ui.line(format_args!(
                "{DIM}unchanged{DIM:#}  {file}  {}",
                reason.name()
            ))?;
        }
        Err(what) => {
            let what = clean::line(what, 400);
            ui.line(format_args!("{BAD}error{BAD:#}      {file}  {what}"))?;
        }
    }
    Ok(())
}
