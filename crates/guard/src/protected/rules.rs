//! Decides about a changed file, from the contents before and after alone.

use serde_json::Value;

use super::content::Content;
use super::list::Kind;
use super::store::Running;
use crate::agents::Agent;
use crate::install::merge::{self, Entry, Wanted};
use crate::install::{registration, settings, strength};

/// Treatment of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The change stays.
    Keep,
    /// The old content is restored.
    PutBack,
    /// The file keeps a part of the change, and becomes this text.
    Mend(String),
}

/// A changed path, with its old and new content.
#[derive(Clone, Copy, Debug)]
pub(super) struct Change<'a> {
    pub(super) kind: Kind,
    /// The path, relative to the workspace if it is inside.
    pub(super) name: &'a str,
    pub(super) before: &'a Content,
    pub(super) now: &'a Content,
    pub(super) text_before: &'a str,
    pub(super) text_now: &'a str,
}

/// Settings of agents that switch hooks off: the place, and the value that does it.
const SWITCHES: &[(Agent, &[&str], bool)] = &[
    (Agent::Claude, &["disableAllHooks"], true),
    (Agent::Copilot, &["disableAllHooks"], true),
    (Agent::Gemini, &["hooksConfig", "enabled"], false),
    (Agent::Gemini, &["tools", "enableHooks"], false),
    (Agent::Codex, &["features", "hooks"], false),
    (Agent::Codex, &["features", "codex_hooks"], false),
];

/// Decides about a change made while tool calls were running.
pub(super) fn during_calls(change: &Change<'_>, calls: &[Running]) -> Outcome {
    let stays = match change.kind {
        Kind::Folder | Kind::Listed => is_plain_folder(change),
        Kind::GitConfig => {
            sources_of_hooks(change.text_before) == sources_of_hooks(change.text_now)
        }
        Kind::Settings(Agent::Claude) => is_permission_rule(change, calls),
        Kind::Kept => matches!(change.now, Content::File { .. } | Content::Other),
        Kind::GitHook | Kind::GitPointer | Kind::Settings(_) | Kind::Plain => false,
    };
    if stays {
        return Outcome::Keep;
    }
    match calls.iter().any(|call| is_approved(change, call)) {
        // An approved change counts like an edit by a person: our hook stays in.
        true => between_calls(change),
        false => Outcome::PutBack,
    }
}

/// Decides about a change made while no tool call was running, most likely by a person: it stays, except for parts that
/// remove our hook or switch hooks off.
pub(super) fn between_calls(change: &Change<'_>) -> Outcome {
    match change.kind {
        Kind::Folder | Kind::Listed if matches!(change.now, Content::Link(_)) => {
            // A linked folder of settings is the user's choice; below our folders, no link is followed anyway.
            Outcome::Keep
        }
        Kind::Settings(agent) => match mended(agent, change) {
            None => Outcome::Keep,
            Some(Some(text)) => Outcome::Mend(text),
            Some(None) => Outcome::PutBack,
        },
        _ => Outcome::Keep,
    }
}

/// Returns `true` if a person was asked about this file before the call ran, or approved the call beforehand.
fn is_approved(change: &Change<'_>, call: &Running) -> bool {
    let question = call.question.as_str();
    match change.kind {
        Kind::GitConfig => question.contains("git"),
        _ => ["`", "/"]
            .iter()
            .any(|before| question.contains(&format!("{before}{}`", change.name))),
    }
}

/// Returns `true` for a folder that appears or disappears; its content is decided by itself.
fn is_plain_folder(change: &Change<'_>) -> bool {
    let is_plain = |content: &Content| matches!(content, Content::Folder | Content::Absent);
    is_plain(change.before) && is_plain(change.now)
}

/// Returns the lines of git's configuration that set the location of hooks or further configuration.
fn sources_of_hooks(config: &str) -> Vec<String> {
    let mut in_include = false;
    let mut found = Vec::new();
    for line in config.lines() {
        let line = line.trim().to_ascii_lowercase();
        if line.starts_with('[') {
            in_include = line.starts_with("[include");
        }
        let names_hooks = line.contains("hookspath") || line.contains("worktreeconfig");
        if names_hooks || in_include {
            found.push(line);
        }
    }
    found
}

/// Returns `true` if the change only adds rules that allow the tool of a running call: Claude Code records in this way
/// that its person does not want to be asked again. Such a rule does not affect the gate.
fn is_permission_rule(change: &Change<'_>, calls: &[Running]) -> bool {
    if !matches!(change.now, Content::File { .. }) {
        return false;
    }
    let parse = |text: &str| match text.trim() {
        "" => Some(Value::Object(serde_json::Map::new())),
        text => merge::parse(text, merge::Dialect::Comments),
    };
    let (Some(before), Some(mut now)) = (parse(change.text_before), parse(change.text_now)) else {
        return false;
    };
    let allowed = |settings: &Value| -> Vec<Value> {
        let list = settings.pointer("/permissions/allow");
        list.and_then(Value::as_array).cloned().unwrap_or_default()
    };
    let (old, new) = (allowed(&before), allowed(&now));
    let added: Vec<&Value> = new.iter().filter(|rule| !old.contains(rule)).collect();
    let is_only_longer = old.iter().all(|rule| new.contains(rule));
    let is_of_a_call = |rule: &&Value| {
        let rule = rule.as_str().unwrap_or_default();
        calls.iter().any(|call| allows(rule, call))
    };
    if added.is_empty() || !is_only_longer || !added.iter().all(is_of_a_call) {
        return false;
    }
    if let Some(permissions) = now
        .pointer_mut("/permissions")
        .and_then(Value::as_object_mut)
    {
        permissions.insert("allow".to_owned(), Value::Array(old));
    }
    let without_empty = |mut settings: Value| {
        if let Some(fields) = settings.as_object_mut() {
            let permissions = fields.get_mut("permissions").and_then(Value::as_object_mut);
            if let Some(permissions) = permissions {
                permissions.retain(|_, list| list.as_array().is_none_or(|list| !list.is_empty()));
                if permissions.is_empty() {
                    fields.remove("permissions");
                }
            }
        }
        settings
    };
    without_empty(before) == without_empty(now)
}

/// Returns `true` if a rule of Claude Code allows this call and no more of its tool than Claude Code offers.
fn allows(rule: &str, call: &Running) -> bool {
    let Some((tool, rest)) = rule.split_once('(') else {
        return rule == call.tool && call.command.is_empty();
    };
    let what = rest.strip_suffix(')').unwrap_or_default();
    let prefix = what.trim_end_matches('*').trim_end_matches([':', ' ']);
    let names_it = call.command.is_empty() || call.command.contains(prefix);
    tool == call.tool && !prefix.is_empty() && !prefix.contains('*') && names_it
}

/// Returns the text with our hook in it and hooks switched on. `None` if both is the case already. `Some(None)` if that
/// needs more than an insertion.
fn mended(agent: Agent, change: &Change<'_>) -> Option<Option<String>> {
    let is_toml = merge::parse(change.text_before, merge::Dialect::Comments).is_none();
    let lost = lost_entries(agent, change);
    let switched = switches(agent).filter(|(place, off)| {
        is_set(change.text_now, place, *off) && !is_set(change.text_before, place, *off)
    });
    let switched: Vec<_> = switched.collect();
    if lost.is_empty() && switched.is_empty() {
        return None;
    }
    let dialect = registration::dialect(agent);
    if is_toml && !change.text_before.trim().is_empty() {
        return Some(None);
    }
    let mut text = change.text_now.to_owned();
    for (place, off) in switched {
        match merge::replace(&text, dialect, place, &Value::Bool(!off)) {
            Some(mended) => text = mended,
            None => return Some(None),
        }
    }
    if lost.is_empty() {
        return Some(Some(text));
    }
    if !matches!(change.now, Content::File { .. }) {
        return Some(None);
    }
    let is_ours = |value: &Value| registration::is_ours(agent, value);
    let wanted = Wanted {
        beside: Vec::new(),
        entries: our_entries(agent, change.text_before),
        inside: Vec::new(),
    };
    let mended = merge::without(&text, dialect, &is_ours).and_then(|text| {
        let insertions = merge::insertions(&text, dialect, &wanted)?;
        Ok(base::insertion::apply(&text, &insertions))
    });
    Some(mended.ok())
}

/// Returns our entries that are missing or changed.
fn lost_entries(agent: Agent, change: &Change<'_>) -> Vec<Entry> {
    let now = our_entries(agent, change.text_now);
    let mut lost = our_entries(agent, change.text_before);
    lost.retain(|entry| !now.contains(entry));
    lost
}

fn our_entries(agent: Agent, text: &str) -> Vec<Entry> {
    let entries = merge::entries(text, registration::dialect(agent));
    let entries = entries.or_else(|_| settings::toml_entries(text));
    let entries = entries.unwrap_or_default();
    let ours = entries
        .into_iter()
        .filter(|(_, group)| strength::our_handler(agent, group).is_some());
    ours.filter_map(|(event, value)| {
        let event = registration::event_name(agent, &event)?;
        Some(Entry { event, value })
    })
    .collect()
}

fn switches(agent: Agent) -> impl Iterator<Item = (&'static [&'static str], bool)> {
    let own = SWITCHES.iter().filter(move |(one, _, _)| *one == agent);
    own.map(|(_, place, off)| (*place, *off))
}

fn is_set(text: &str, place: &[&str], value: bool) -> bool {
    let parsed = merge::parse(text, merge::Dialect::Comments).or_else(|| {
        let table: toml::Table = text.parse().ok()?;
        serde_json::to_value(table).ok()
    });
    let found = parsed.and_then(|parsed| {
        let inner = place.iter().try_fold(&parsed, |value, key| value.get(key));
        inner.and_then(Value::as_bool)
    });
    found == Some(value)
}
