//! Check that Codex would run our hook: it silently skips one that is not trusted.
//!
//! Codex keeps in its own `config.toml`, under `hooks.state`, a hash of each hook that a person trusted. The hash is
//! over the hook's event, matcher, command and timeout as compact JSON with sorted keys (Codex 0.142 to 0.166).

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use base::environment;
use base::installed::read_text;
use guard::agents::Agent;
use guard::install::registration;
use guard::install::settings::Settings;

/// State of Codex's trust.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// The hook is trusted as it is.
    Given,
    /// The hook is not known.
    Missing,
    /// Another version of the hook is trusted.
    Changed,
    /// The hook is disabled.
    Disabled,
    /// The directory is not trusted, so that its settings are not read at all.
    ProjectUntrusted,
}

impl Trust {
    /// Returns `true` if the hook runs.
    #[must_use]
    pub fn is_given(&self) -> bool {
        *self == Self::Given
    }
}

/// Examines the hook before each tool call, in this settings file of this project.
pub fn examine(settings: &Path, root: &Path) -> Result<Trust, String> {
    let Some(home) = codex_home() else {
        return Ok(Trust::Missing);
    };
    let path = home.join("config.toml");
    let text = read_text(&path).map_err(|error| error.to_string())?;
    let config: toml::Table =
        text.unwrap_or_default()
            .parse()
            .map_err(|error: toml::de::Error| {
                format!("cannot read `{}`: {}", path.display(), error.message())
            })?;
    let text = read_text(settings).ok().flatten().unwrap_or_default();
    let found = Settings::of(Agent::Codex, root).and_then(|one| one.entries(&text));
    let entries = found.map_err(|error| error.to_string())?;
    Ok(judge(&config, settings, root, &entries))
}

fn codex_home() -> Option<PathBuf> {
    let named = environment::agent_mark("CODEX_HOME").filter(|value| !value.is_empty());
    let home = || environment::home().map(|home| home.join(".codex"));
    named.map(PathBuf::from).or_else(home)
}

fn judge(config: &toml::Table, settings: &Path, root: &Path, entries: &[(String, Value)]) -> Trust {
    let trusted_folder = root.ancestors().any(|folder| {
        let projects = config.get("projects").and_then(toml::Value::as_table);
        let project = projects.and_then(|all| all.get(folder.to_string_lossy().as_ref()));
        let level = project.and_then(|one| one.get("trust_level"));
        level.and_then(toml::Value::as_str) == Some("trusted")
    });
    if !trusted_folder {
        return Trust::ProjectUntrusted;
    }
    let features = config.get("features").and_then(|all| all.get("hooks"));
    if features.and_then(toml::Value::as_bool) == Some(false) {
        return Trust::Disabled;
    }
    let event = registration::gate_event(Agent::Codex);
    let groups = entries.iter().filter(|(name, _)| name == event);
    for (group_index, (_, group)) in groups.enumerate() {
        let handlers = group.get("hooks").and_then(Value::as_array);
        for (index, handler) in handlers.into_iter().flatten().enumerate() {
            if !registration::is_ours(Agent::Codex, handler) {
                continue;
            }
            let key = format!("{}:pre_tool_use:{group_index}:{index}", settings.display());
            let state = config
                .get("hooks")
                .and_then(|hooks| hooks.get("state"))
                .and_then(|state| state.get(&key));
            let field = |name: &str| state.and_then(|state| state.get(name));
            if field("enabled").and_then(toml::Value::as_bool) == Some(false) {
                return Trust::Disabled;
            }
            let hash = field("trusted_hash").and_then(toml::Value::as_str);
            return match hash {
                None => Trust::Missing,
                Some(hash) if hash == hook_hash("pre_tool_use", group, handler) => Trust::Given,
                Some(_) => Trust::Changed,
            };
        }
    }
    Trust::Missing
}

/// Returns the hash by which Codex identifies a hook.
fn hook_hash(event: &str, group: &Value, handler: &Value) -> String {
    let mut normal = Map::new();
    let timeout = handler.get("timeout").and_then(Value::as_u64);
    // Sorted by name, as Codex does before hashing.
    let is_async = handler.get("async").and_then(Value::as_bool);
    normal.insert("async".to_owned(), json!(is_async.unwrap_or(false)));
    let command = handler.get("command").cloned().unwrap_or_default();
    normal.insert("command".to_owned(), command);
    if let Some(message) = handler.get("statusMessage") {
        normal.insert("statusMessage".to_owned(), message.clone());
    }
    normal.insert("timeout".to_owned(), json!(timeout.unwrap_or(600).max(1)));
    normal.insert("type".to_owned(), json!("command"));
    let mut identity = Map::new();
    identity.insert("event_name".to_owned(), json!(event));
    identity.insert("hooks".to_owned(), json!([normal]));
    if let Some(matcher) = group.get("matcher").filter(|matcher| matcher.is_string()) {
        identity.insert("matcher".to_owned(), matcher.clone());
    }
    let text = Value::Object(identity).to_string();
    format!("sha256:{}", hex::encode(base::digest(text.as_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMMAND: &str = "/bin/roleos hook codex --root /r";

    fn entries() -> Vec<(String, Value)> {
        let theirs = json!({ "hooks": [{ "type": "command", "command": "true" }] });
        let ours = json!({
            "matcher": "*",
            "hooks": [{ "type": "command", "command": COMMAND, "timeout": 5 }],
        });
        vec![
            ("Stop".to_owned(), theirs.clone()),
            ("PreToolUse".to_owned(), theirs),
            ("PreToolUse".to_owned(), ours),
        ]
    }

    fn check(config: &str, expected: Trust) {
        let config: toml::Table = config.parse().unwrap();
        let settings = Path::new("/r/.codex/hooks.json");
        let found = judge(&config, settings, Path::new("/r"), &entries());
        assert_eq!(found, expected, "{config}");
    }

    #[test]
    fn trust_is_what_codex_was_told_about_this_very_hook() {
        let folder = "[projects.\"/r\"]\ntrust_level = \"trusted\"\n";
        let state = "[hooks.state.\"/r/.codex/hooks.json:pre_tool_use:1:0\"]\n";
        let (_, group) = entries().pop().unwrap();
        let hash = hook_hash("pre_tool_use", &group, &group["hooks"][0]);
        check("", Trust::ProjectUntrusted);
        check(
            &format!("{state}trusted_hash = \"{hash}\"\n"),
            Trust::ProjectUntrusted,
        );
        check(folder, Trust::Missing);
        check(
            &format!("{folder}{state}trusted_hash = \"{hash}\"\n"),
            Trust::Given,
        );
        check(
            &format!("{folder}{state}trusted_hash = \"sha256:00\"\n"),
            Trust::Changed,
        );
        check(
            &format!("{folder}{state}enabled = false\n"),
            Trust::Disabled,
        );
        check(
            &format!("{folder}{state}trusted_hash = \"{hash}\"\n[features]\nhooks = false\n"),
            Trust::Disabled,
        );
        let other = state.replace(":1:0", ":0:0");
        check(
            &format!("{folder}{other}trusted_hash = \"{hash}\"\n"),
            Trust::Missing,
        );
    }

    /// The text that is hashed, with its keys in order and without blanks.
    #[test]
    fn the_hash_is_over_the_normal_form() {
        let (_, group) = entries().pop().unwrap();
        let text = format!(
            "{{\"event_name\":\"pre_tool_use\",\"hooks\":[{{\"async\":false,\"command\":\"{COMMAND}\",\
             \"timeout\":5,\"type\":\"command\"}}],\"matcher\":\"*\"}}"
        );
        assert_eq!(
            hook_hash("pre_tool_use", &group, &group["hooks"][0]),
            format!("sha256:{}", hex::encode(base::digest(text.as_bytes())))
        );
    }
}
