//! `roleos catalog installed`: the roles of this workspace.

use ::catalog::yaml::number_text;
use roles::installed_roles::{Roles, Stored};

use crate::render::clean;
use crate::ui::{BAD, DIM, GOOD, Ui, WARN};
use crate::{Context, Exit, Failure};

pub fn run(ui: &Ui, context: &Context) -> Result<Exit, Failure> {
    let roles = Roles::new(context.workspace.roles_dir()).list()?;
    if ui.json {
        ui.json(
            &roles
                .iter()
                .map(present::view::roles::installed)
                .collect::<Vec<_>>(),
        )?;
    } else {
        for stored in &roles {
            show(ui, stored)?;
        }
        if roles.is_empty() {
            ui.note("no role is installed; `roleos catalog import --help` shows how");
        }
    }
    Ok(Exit::of_check(
        roles.iter().all(|stored| stored.role.is_ok()),
    ))
}

fn show(ui: &Ui, stored: &Stored) -> Result<(), Failure> {
    let file = clean::line(stored.file.trim_end_matches(".yaml"), 80);
    let role = match &stored.role {
        Ok(role) => role,
        Err(what) => {
            let what = clean::line(what, 400);
            ui.line(format_args!(
                "{file:<28} {BAD}cannot be read{BAD:#}  {what}"
            ))?;
            return Ok(());
        }
    };
    let version = role
        .source
        .as_ref()
        .map(|source| number_text(source.version));
    let version = version.unwrap_or_else(|| "-".to_owned());
    let emoji = role.content.emoji.as_deref().unwrap_or_default();
    let name = format!("{emoji} {}", role.content.name);
    let name = clean::line(name.trim(), 60);
    let state = match (role.enabled, role.source.is_some() && role.is_edited()) {
        (false, _) => format!("{DIM}disabled{DIM:#}"),
        (true, true) => format!("{WARN}edited{WARN:#}"),
        (true, false) => format!("{GOOD}enabled{GOOD:#}"),
    };
    ui.line(format_args!("{file:<28} {version:>5}  {state}  {name}"))?;
    Ok(())
}
