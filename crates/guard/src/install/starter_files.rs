//! Plans the starter files of `roleos init`: settings with the gate on, contracts, and lists for git.

use std::path::PathBuf;

use toml_edit::{DocumentMut, Item, Table, value};

use crate::contracts;
use base::config::listing::SCHEMA;
use base::files::{self, FileError};
use base::installed::read_text;
use base::starter::{CONFIG, IGNORED, IGNORED_BESIDE_GRANTS};
use base::workspace::Workspace;

use super::{Change, InstallError, Mode};

/// Note about the files to share.
pub(super) const TO_COMMIT: &str = "commit `.role-os/config.toml`, `.role-os/.gitignore`, `.claude/role-os/tool-contracts.json` and \
     `.claude/role-os/.gitignore`; git ignores grants, journals, approvals, state and keys";

/// Plans the starter files that are missing or do not switch the gate on yet.
///
/// # Errors
/// A file cannot be read, or the settings are not TOML.
pub fn files(workspace: &Workspace) -> Result<Vec<Change>, InstallError> {
    let mut changes: Vec<Change> = config(workspace)?.into_iter().collect();
    let contracts = workspace.contracts_path();
    if contracts.symlink_metadata().is_err() {
        changes.push(new(
            contracts,
            contracts::SHIPPED,
            "contracts of the usual tools",
        ));
    }
    changes.extend(schema(workspace)?);
    let beside_grants = files::parent(&workspace.grants_path()).join(".gitignore");
    let role_os = workspace.role_os_dir().join(".gitignore");
    changes.extend(ignore_list(role_os, IGNORED)?);
    changes.extend(ignore_list(beside_grants, IGNORED_BESIDE_GRANTS)?);
    Ok(changes)
}

/// Plans the schema beside the settings, whose first line names it for editors; `None` if it is up to date.
fn schema(workspace: &Workspace) -> Result<Option<Change>, FileError> {
    let path = workspace.role_os_dir().join("config.schema.json");
    let old = read_text(&path)?;
    if old.as_deref() == Some(SCHEMA) {
        return Ok(None);
    }
    Ok(Some(Change {
        before: old.map(String::into_bytes),
        ..new(path, SCHEMA, "schema of the settings, for editors")
    }))
}

/// Plans the list of ignored files with all of `wanted`; `None` if it has them.
fn ignore_list(path: PathBuf, wanted: &str) -> Result<Option<Change>, FileError> {
    let what = "what git passes over";
    let Some(old) = read_text(&path)? else {
        return Ok(Some(new(path, wanted, what)));
    };
    let is_missing = |line: &&str| !old.lines().any(|known| known.trim_end() == *line);
    let lines: Vec<&str> = wanted.lines().filter(is_missing).collect();
    if lines.iter().all(|line| line.starts_with('#')) {
        return Ok(None);
    }
    let joint = if old.is_empty() || old.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    let after = format!("{old}{joint}{}\n", lines.join("\n"));
    Ok(Some(Change {
        before: Some(old.into_bytes()),
        ..new(path, &after, what)
    }))
}

fn new(path: PathBuf, text: &str, what: &str) -> Change {
    Change {
        path,
        before: None,
        after: Some(text.as_bytes().to_vec()),
        mode: Mode::Plain,
        what: what.to_owned(),
    }
}

/// Plans the settings. An existing file keeps everything but the one key.
fn config(workspace: &Workspace) -> Result<Option<Change>, InstallError> {
    let path = workspace.config_path();
    let what = "settings; they switch the capability gate on";
    let Some(before) = read_text(&path)? else {
        return Ok(Some(new(path, CONFIG, what)));
    };
    let Some(after) = with_gate_on(&before).map_err(|why| InstallError::Settings {
        path: path.clone(),
        why,
    })?
    else {
        return Ok(None);
    };
    Ok(Some(Change {
        before: Some(before.into_bytes()),
        ..new(path, &after, what)
    }))
}

/// Returns the text with `capability_gate = true`; `None` if it is set already.
fn with_gate_on(text: &str) -> Result<Option<String>, String> {
    let mut document: DocumentMut = text
        .parse()
        .map_err(|error: toml_edit::TomlError| error.to_string().trim_end().replace('\n', " "))?;
    let crlf = text.contains("\r\n");
    let section = document
        .entry("oversight")
        .or_insert_with(|| Item::Table(Table::new()));
    let Some(section) = section.as_table_like_mut() else {
        return Err("`oversight` is no section".to_owned());
    };
    match section.get_mut("capability_gate") {
        Some(item) if item.as_bool() == Some(true) => return Ok(None),
        Some(Item::Value(old)) => {
            // The comment beside the value stays.
            let decor = old.decor().clone();
            *old = true.into();
            *old.decor_mut() = decor;
        }
        _ => {
            section.insert("capability_gate", value(true));
        }
    }
    let after = document.to_string();
    // The writer ends the lines that it adds with a line feed.
    let after = if crlf {
        after.replace("\r\n", "\n").replace('\n', "\r\n")
    } else {
        after
    };
    Ok(Some(after))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(before: &str, after: Option<&str>) {
        assert_eq!(
            with_gate_on(before).unwrap().as_deref(),
            after,
            "{before:?}"
        );
    }

    #[test]
    fn the_gate_is_switched_on_and_nothing_else_changes() {
        check("[oversight]\ncapability_gate = true # yes\n", None);
        check("oversight.capability_gate = true\n", None);
        check(
            "# mine\n[oversight]\ncapability_gate  =  false   # why\nopaque = 'deny'\n[rerun]\n",
            Some(
                "# mine\n[oversight]\ncapability_gate  =  true   # why\nopaque = 'deny'\n[rerun]\n",
            ),
        );
        check(
            "# mine\n[witness]\nthreads=1 # one\n",
            Some("# mine\n[witness]\nthreads=1 # one\n\n[oversight]\ncapability_gate = true\n"),
        );
        check(
            "[oversight]\r\nopaque = \"ask\"\r\n",
            Some("[oversight]\r\nopaque = \"ask\"\r\ncapability_gate = true\r\n"),
        );
        check("", Some("[oversight]\ncapability_gate = true\n"));
        assert!(with_gate_on("oversight = 3\n").is_err());
        assert!(with_gate_on("[oversight\n").unwrap_err().contains("line 1"));
    }
}
