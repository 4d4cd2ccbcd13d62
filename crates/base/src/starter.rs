//! Text of the starter files of a new workspace, and its folder.

use crate::files::{self, FileError, Privacy};
use crate::workspace::Workspace;

/// The settings of a new workspace.
pub const CONFIG: &str = "\
#:schema ./config.schema.json
# Settings of Role OS for this workspace; `roleos config list` shows all of them, `roleos config set` changes one.
# A line that is removed means the default.

[oversight]
# Irreversible actions (push, publish, release, deploy …) need a grant or an approval.
capability_gate = true
# What to answer when a part of a command could not be followed: \"watch\" (it runs under supervision; asked about where
# that is not to be had), \"ask\", \"deny\" or \"allow\".
opaque = \"watch\"
# What a question becomes when the agent runs without a person: \"deny\" or \"ask\".
unattended = \"deny\"

# What models cost, in US dollars per million tokens, by the beginning of their names; the longest one counts.
# A family (`-*`) has the newest list price that was known when this program was made: check them against your provider's
# list, and bring a newer one in with `roleos prices update --file FILE`.
[oversight.prices]
\"claude-opus-*\" = { input = 5, output = 25, cache_read = 0.5, cache_write = 6.25 }
\"claude-opus-4-1\" = { input = 15, output = 75, cache_read = 1.5, cache_write = 18.75 }
\"claude-opus-4-2025\" = { input = 15, output = 75, cache_read = 1.5, cache_write = 18.75 }
\"claude-sonnet-*\" = { input = 3, output = 15, cache_read = 0.3, cache_write = 3.75 }
\"claude-haiku-*\" = { input = 1, output = 5, cache_read = 0.1, cache_write = 1.25 }
\"gpt-5*\" = { input = 1.25, output = 10, cache_read = 0.125 }
\"gpt-5-mini\" = { input = 0.25, output = 2, cache_read = 0.025 }
\"gpt-5-nano\" = { input = 0.05, output = 0.4, cache_read = 0.005 }
";

/// The initial settings of `roleos up` without a file: the usual providers' models, with the clients' own keys.
const CONFIG_OF_UP: &str = "\
# Settings of Role OS for this workspace; `roleos config list` shows all of them, `roleos config set` changes one.
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

/// Secrets, journals and derived files, which do not belong into a repository.
pub const IGNORED: &str = "\
# Written by `roleos init`.
/keys/
/witness/
/ledger/
/approvals/
/sessions/
/watch/
/receipts.jsonl
/installed.json
/config.schema.json
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

/// Grants, which one person gives for one clone.
pub const IGNORED_BESIDE_GRANTS: &str = "\
# Written by `roleos init`.
/capabilities.json
*.lock
.roleos-*
";

/// Creates `.role-os/` with its list of ignored files, if it is missing.
///
/// # Errors
/// It cannot be created.
pub fn ensure_home(workspace: &Workspace) -> Result<(), FileError> {
    let folder = workspace.role_os_dir();
    if folder.is_dir() {
        return Ok(());
    }
    files::make_directory(&folder, Privacy::Shared)?;
    let ignore = folder.join(".gitignore");
    files::write(&ignore, IGNORED.as_bytes(), Privacy::Shared)
}

/// Creates `.role-os/` for `roleos up` with working settings, if it is missing. An existing one stays as it is.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use std::path::Path;

    #[test]
    fn the_starter_settings_are_settings_with_the_gate_on() {
        let config = Config::parse(Path::new("config.toml"), CONFIG).unwrap();
        assert!(config.oversight.capability_gate);
        assert!(config.oversight.prices.contains_key("claude-sonnet-*"));
        let mut plain = Config::default();
        plain.oversight.capability_gate = true;
        plain.oversight.prices = config.oversight.prices.clone();
        assert_eq!(config, plain, "the rest is the default, written out");
    }
}
