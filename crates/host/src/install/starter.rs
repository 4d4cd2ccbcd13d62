//! The files that a workspace starts with: settings with the gate on, contracts, and what git passes over.

use std::path::PathBuf;

use toml_edit::{DocumentMut, Item, Table, value};

use crate::contracts;
use crate::files::{self, FileError, Privacy};
use crate::workspace::Workspace;

use super::record::read_text;
use super::{Change, InstallError, Mode};

/// The settings of a new workspace.
pub(crate) const CONFIG: &str = "\
# Settings of Role OS for this workspace; `docs/config.md` lists all of them.
# A line that is removed means the default.

[oversight]
# Irreversible actions (push, publish, release, deploy …) need a grant or an approval.
capability_gate = true
# What to answer when a part of a command could not be followed: \"watch\" (it runs under supervision; asked about where
# that is not to be had), \"ask\", \"deny\" or \"allow\".
opaque = \"watch\"
# What a question becomes when the agent runs without a person: \"deny\" or \"ask\".
unattended = \"deny\"

# What models cost, in US dollars per million tokens, by the beginning of their names.
# List prices as published in 2025: check them against your provider's list, and add the models that you use.
[oversight.prices]
\"claude-opus-4\" = { input = 15, output = 75, cache_read = 1.5, cache_write = 18.75 }
\"claude-opus-4-5\" = { input = 5, output = 25, cache_read = 0.5, cache_write = 6.25 }
\"claude-sonnet-4\" = { input = 3, output = 15, cache_read = 0.3, cache_write = 3.75 }
\"claude-haiku-4\" = { input = 1, output = 5, cache_read = 0.1, cache_write = 1.25 }
\"gpt-5\" = { input = 1.25, output = 10, cache_read = 0.125 }
\"gpt-5-mini\" = { input = 0.25, output = 2, cache_read = 0.025 }
\"gpt-5-nano\" = { input = 0.05, output = 0.4, cache_read = 0.005 }
";

/// The settings that `roleos up` begins with where there are none: everybody's own models, with the clients' own keys.
const CONFIG_OF_UP: &str = "\
# Settings of Role OS for this workspace; `docs/config.md` lists all of them.
# A line that is removed means the default.

# Where models lie; the first that fits answers. Without `api_key_env` the client's own key is passed on.
[[gateway.upstream]]
name = \"anthropic\"
kind = \"anthropic\"
base_url = \"https://api.anthropic.com\"
models = [\"claude-*\"]

[[gateway.upstream]]
name = \"openai\"
kind = \"openai\"
base_url = \"https://api.openai.com\"
models = [\"*\"]
";

/// Secrets, journals and what can be made again belong in no repository.
const IGNORED: &str = "\
# Written by `roleos init`.
/keys/
/witness/
/ledger/
/approvals/
/sessions/
/receipts.jsonl
/installed.json
/up.json
/gateway.jsonl*
/view.db*
/specialist-state.json*
/specialist-events.jsonl*
/specialist-field-log.jsonl*
/specialist-shadow-probes.jsonl*
/run_log.jsonl*
/features.jsonl*
/events.jsonl*
*.pending
*.lock
.lock
.roleos-*
";

/// Grants are one person's yes, for one clone.
const IGNORED_BESIDE_GRANTS: &str = "\
# Written by `roleos init`.
/capabilities.json
*.lock
.roleos-*
";

/// What is meant for others.
pub(super) const TO_COMMIT: &str = "commit `.role-os/config.toml`, `.role-os/.gitignore`, `.claude/role-os/tool-contracts.json` and \
     `.claude/role-os/.gitignore`; git ignores grants, journals, approvals, state and keys";

/// The starter files that are missing or do not switch the gate on yet.
///
/// # Errors
/// A file cannot be read, or the settings are no TOML.
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
    let beside_grants = files::parent(&workspace.grants_path()).join(".gitignore");
    let role_os = workspace.role_os_dir().join(".gitignore");
    changes.extend(ignore_list(role_os, IGNORED)?);
    changes.extend(ignore_list(beside_grants, IGNORED_BESIDE_GRANTS)?);
    Ok(changes)
}

/// The list of ignored files with all of `wanted`; `None` when it has them.
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

/// Makes `.role-os/` with its list of ignored files, where there is none yet.
///
/// # Errors
/// It cannot be made.
pub fn ensure_home(workspace: &Workspace) -> Result<(), FileError> {
    let folder = workspace.role_os_dir();
    if folder.is_dir() {
        return Ok(());
    }
    files::make_directory(&folder, Privacy::Shared)?;
    let ignore = folder.join(".gitignore");
    files::write(&ignore, IGNORED.as_bytes(), Privacy::Shared)
}

/// Makes `.role-os/` for `roleos up` where there is none, with settings that work. One that is there is left alone.
///
/// # Errors
/// A file cannot be written.
pub fn for_up(workspace: &Workspace) -> Result<bool, FileError> {
    let folder = workspace.role_os_dir();
    if folder.is_dir() {
        return Ok(false);
    }
    ensure_home(workspace)?;
    files::write(
        &workspace.config_path(),
        CONFIG_OF_UP.as_bytes(),
        Privacy::Shared,
    )?;
    Ok(true)
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

/// Everything in an existing file stays as it is, but for the one key.
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

/// The text with `capability_gate = true`; `None` when it says so already.
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
    use crate::config::Config;
    use std::path::Path;

    #[test]
    fn the_starter_settings_are_settings_with_the_gate_on() {
        let config = Config::parse(Path::new("config.toml"), CONFIG).unwrap();
        assert!(config.oversight.capability_gate);
        assert!(config.oversight.prices.contains_key("claude-sonnet-4"));
        let mut plain = Config::default();
        plain.oversight.capability_gate = true;
        plain.oversight.prices = config.oversight.prices.clone();
        assert_eq!(config, plain, "the rest is the default, written out");
    }

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
