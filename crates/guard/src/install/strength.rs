//! Checks that an agent's settings make it call our hook before every tool, wait for it, and obey it.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::merge;
use super::registration;
use crate::agents::Agent;
use base::environment;
use base::installed::read_text;

/// Returns our handler in an entry of the settings.
pub fn our_handler(agent: Agent, group: &Value) -> Option<&Value> {
    let inner = group.get("hooks").and_then(Value::as_array);
    let handlers = inner.map_or_else(|| std::slice::from_ref(group), Vec::as_slice);
    handlers
        .iter()
        .find(|handler| registration::is_ours(agent, handler))
}

/// Returns the weaknesses of the entry before a tool call.
pub fn weaknesses(agent: Agent, group: &Value, handler: &Value) -> Vec<String> {
    let mut found = blind_spots(group, handler);
    let closed = match agent {
        Agent::Claude => handler.get("onFailure").and_then(Value::as_str) == Some("block"),
        Agent::Cursor => handler.get("failClosed").and_then(Value::as_bool) == Some(true),
        Agent::Codex | Agent::Gemini | Agent::Copilot => true,
    };
    if !closed {
        let missing = match agent {
            Agent::Claude => "`\"onFailure\": \"block\"`",
            _ => "`\"failClosed\": true`",
        };
        found.push(format!(
            "it has no {missing}, so a call passes when the hook fails"
        ));
    }
    found
}

/// Returns the reasons why calls would pass without an answer of a working hook.
fn blind_spots(group: &Value, handler: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let matcher = group.get("matcher").and_then(Value::as_str);
    if let Some(matcher) = matcher.filter(|text| !matches!(*text, "" | "*" | ".*")) {
        found.push(format!(
            "its matcher is `{matcher}`, and all other tools pass unseen"
        ));
    }
    if let Some(rule) = handler.get("if").and_then(Value::as_str) {
        found.push(format!(
            "it runs only if `{rule}`, which wrapped commands escape"
        ));
    }
    for name in ["async", "asyncRewake"] {
        if handler.get(name).and_then(Value::as_bool) == Some(true) {
            found.push(format!(
                "it is `{name}`, so the agent does not wait for the answer"
            ));
        }
    }
    found
}

/// Lists the settings of Claude Code that are visible from a workspace and writable by its user.
fn claude_settings(root: &Path) -> Vec<PathBuf> {
    let own = ["settings.local.json", "settings.json"].map(|name| root.join(".claude").join(name));
    let home = environment::home().map(|home| home.join(".claude/settings.json"));
    own.into_iter().chain(home).collect()
}

/// Returns the settings of Claude Code that switch all hooks off, if there are any.
pub fn switched_off(root: &Path) -> Option<PathBuf> {
    claude_settings(root).into_iter().find(|path| {
        let text = read_text(path).ok().flatten().unwrap_or_default();
        let dialect = registration::dialect(Agent::Claude);
        merge::setting(&text, dialect, "disableAllHooks") == Some(Value::Bool(true))
    })
}

/// Returns `true` if our hook is in the visible settings of Claude Code, for every tool, and hooks are not switched off
/// there.
pub(crate) fn is_wired(root: &Path) -> bool {
    let agent = Agent::Claude;
    let holds = |path: &PathBuf| {
        let text = read_text(path).ok().flatten().unwrap_or_default();
        let entries = merge::entries(&text, registration::dialect(agent)).unwrap_or_default();
        entries.iter().any(|(event, group)| {
            let sees_all = |handler| blind_spots(group, handler).is_empty();
            event == registration::gate_event(agent)
                && our_handler(agent, group).is_some_and(sees_all)
        })
    };
    claude_settings(root).iter().any(holds) && switched_off(root).is_none()
}
