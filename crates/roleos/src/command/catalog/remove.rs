//! `roleos catalog uninstall`, `enable` and `disable`: removes, enables and disables installed roles.

use ::catalog::installed::Installed;
use roles::installed_roles::Roles;
use serde_json::{Value, json};

use crate::render::clean;
use crate::ui::{DIM, GOOD, Ui, WARN};
use crate::{Context, Exit, Failure};

/// Which installed roles are meant.
#[derive(Debug, clap::Args)]
pub struct Which {
    /// The role: its slug, or its name as `catalog installed` shows it.
    #[arg(value_name = "ROLE")]
    role: String,
    /// One language only.
    #[arg(long, value_name = "LANGUAGE")]
    lang: Option<String>,
}

/// Words of `catalog uninstall`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  roleos catalog uninstall proofreader\n  roleos catalog uninstall proofreader --lang en --edited-too"
)]
pub struct Uninstall {
    #[command(flatten)]
    which: Which,
    /// Also remove a role that was edited by hand.
    #[arg(long)]
    edited_too: bool,
}

impl Which {
    fn wants(&self, role: &Installed) -> bool {
        let source = role.source.as_ref();
        let is_named =
            source.is_some_and(|source| source.slug == self.role) || role.content.name == self.role;
        let speaks = |lang: &String| source.is_some_and(|source| source.language == *lang);
        is_named && self.lang.as_ref().is_none_or(speaks)
    }

    fn missing(&self) -> Failure {
        let what = format!("role `{}` is not installed", clean::line(&self.role, 80));
        Failure::input("not_installed", what).hint("`roleos catalog installed` shows what is")
    }
}

/// Runs `catalog uninstall`.
pub fn uninstall(ui: &Ui, context: &Context, args: &Uninstall) -> Result<Exit, Failure> {
    let roles = Roles::new(context.workspace.roles_dir());
    let done = roles.remove(|role| args.which.wants(role), args.edited_too)?;
    if done.is_empty() {
        return Err(args.which.missing());
    }
    let kept = done.iter().any(|one| one.kept);
    if ui.json {
        let list: Vec<Value> = done
            .iter()
            .map(|one| json!({ "file": one.file, "removed": !one.kept }))
            .collect();
        ui.json(&list)?;
        return Ok(Exit::of_check(!kept));
    }
    for one in &done {
        let file = clean::line(one.file.trim_end_matches(".yaml"), 80);
        match one.kept {
            true => ui.line(format_args!(
                "{WARN}kept{WARN:#}     {file}  edited by hand"
            ))?,
            false => ui.line(format_args!("{GOOD}removed{GOOD:#}  {file}"))?,
        }
    }
    if kept {
        ui.note("`--edited-too` removes a role that was edited by hand");
    }
    Ok(Exit::of_check(!kept))
}

/// Runs `catalog enable` and `catalog disable`.
pub fn enable(ui: &Ui, context: &Context, which: &Which, enabled: bool) -> Result<Exit, Failure> {
    let roles = Roles::new(context.workspace.roles_dir());
    let done = roles.enable(|role| which.wants(role), enabled)?;
    if done.is_empty() {
        return Err(which.missing());
    }
    if ui.json {
        let list: Vec<Value> = done
            .iter()
            .map(|(file, changed)| json!({ "file": file, "enabled": enabled, "changed": changed }))
            .collect();
        ui.json(&list)?;
        return Ok(Exit::Done);
    }
    let word = if enabled { "enabled" } else { "disabled" };
    for (file, changed) in &done {
        let file = clean::line(file.trim_end_matches(".yaml"), 80);
        let already = if *changed { "" } else { ", as it was" };
        ui.line(format_args!(
            "{GOOD}{word}{GOOD:#}  {file}{DIM}{already}{DIM:#}"
        ))?;
    }
    Ok(Exit::Done)
}
