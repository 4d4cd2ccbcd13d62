//! `roleos specialist list`: lists every role with its versions.

use std::io::Write as _;

use present::view::specialists as view;
use routing::specialists::Specialists;
use serde_json::{Value, json};
use specialist::registry::Entry;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::render::clean;
use crate::ui::Ui;

/// Runs the command.
///
/// # Errors
/// The registry is not valid.
pub fn run(ui: &Ui, specialists: &Specialists) -> Result<Exit, Failure> {
    let seen = super::valid(ui, specialists)?;
    let registry = &seen.registry;
    let path = specialists.paths().registry.display();
    if ui.json {
        let roles: Vec<Value> = registry.entries().iter().map(view::entry).collect();
        ui.json(
            &json!({ "registry": path.to_string(), "trusted": seen.is_trusted, "roles": roles }),
        )?;
        return Ok(Exit::Done);
    }
    let mut out = ui.out();
    if registry.entries().is_empty() {
        writeln!(out, "(no specialists registered at {path})")?;
    } else {
        writeln!(out, "Registry: {path}\n")?;
    }
    for entry in registry.entries() {
        write!(out, "{}", text(entry))?;
    }
    out.flush()?;
    Ok(Exit::Done)
}

fn text(entry: &Entry) -> String {
    let name = |text: &str| clean::name(text.as_bytes()).into_owned();
    let active = match entry.active() {
        Ok(Some(version)) => format!("{} ({})", name(&version.id), version.shown_level()),
        _ => "null (no certified specialist routed for this role)".to_owned(),
    };
    let mut text = format!(
        "  {}  —  active={active}, quota={}, versions={}\n",
        name(&entry.role),
        entry.workload_quota,
        entry.versions.len()
    );
    for version in &entry.versions {
        let is_active = entry.active_version.as_deref() == Some(&version.id);
        let mark = if is_active { '*' } else { ' ' };
        let mut more = String::new();
        if entry.beside.contains(&version.id) {
            more.push_str("  beside");
        }
        if let Some(canary) = entry
            .canary
            .as_ref()
            .filter(|one| one.version == version.id)
        {
            more.push_str(&format!("  canary {:.1}%", canary.share * 100.0));
        }
        if let Some(status) = version.withdrawn {
            more.push_str(&format!("  {}", status.name()));
        }
        text.push_str(&format!(
            "    {mark} {}  {}{more}  base={}  adapter={}\n",
            name(&version.id),
            version.shown_level(),
            name(&version.base_model),
            name(&version.adapter_id)
        ));
    }
    text
}
