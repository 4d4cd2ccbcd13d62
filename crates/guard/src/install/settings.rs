//! Adds our entries to one agent's settings, or removes them, as text.

use std::path::{Path, PathBuf};

use serde_json::Value;
use toml_edit::{DocumentMut, Item};

use crate::agents::Agent;

use super::registration::{self, Program};
use super::{Change, InstallError, Mode, merge};
use base::insertion::{self, Insertion};
use base::installed::{Installed, read_text};

/// Codex reads this file as well; if it has hooks, ours are added there.
const CODEX_CONFIG: &str = ".codex/config.toml";

/// Returns the hooks in a TOML file by event.
pub(crate) fn toml_entries(text: &str) -> Result<Vec<(String, Value)>, toml::de::Error> {
    let document: toml::Table = text.parse()?;
    let hooks = document.get("hooks").and_then(toml::Value::as_table);
    let mut entries = Vec::new();
    for (event, list) in hooks.into_iter().flatten() {
        for entry in list.as_array().into_iter().flatten() {
            let value = serde_json::to_value(entry).unwrap_or_default();
            entries.push((event.clone(), value));
        }
    }
    Ok(entries)
}

/// The file with one agent's hooks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    pub agent: Agent,
    /// The file.
    pub path: PathBuf,
    is_toml: bool,
}

impl Settings {
    /// Finds the file for this agent's hooks.
    ///
    /// # Errors
    /// A file that has to be checked cannot be read.
    pub fn of(agent: Agent, root: &Path) -> Result<Self, InstallError> {
        let path = root.join(registration::file(agent));
        let json = Self {
            agent,
            path,
            is_toml: false,
        };
        if agent != Agent::Codex || json.path.exists() {
            return Ok(json);
        }
        let toml = Self {
            agent,
            path: root.join(CODEX_CONFIG),
            is_toml: true,
        };
        let text = read_text(&toml.path)?.unwrap_or_default();
        // An unparsable file may hold hooks; it is then refused with its position.
        let has_hooks = text.contains("hooks") && !toml.entries(&text)?.is_empty();
        Ok(if has_hooks { toml } else { json })
    }

    /// Returns a settings file of the whole machine.
    #[must_use]
    pub fn at(agent: Agent, path: PathBuf) -> Self {
        Self {
            agent,
            path,
            is_toml: false,
        }
    }

    /// Parses the entries of the file by event, including those of others.
    ///
    /// # Errors
    /// The text cannot be parsed.
    pub fn entries(&self, text: &str) -> Result<Vec<(String, Value)>, InstallError> {
        if !self.is_toml {
            let dialect = registration::dialect(self.agent);
            return merge::entries(text, dialect).map_err(|error| self.refuse(&error));
        }
        toml_entries(text).map_err(|error| self.refuse(&error))
    }

    /// Returns the change after which the file holds exactly our wanted entries; `None` if it does already.
    ///
    /// # Errors
    /// The file cannot be read or parsed.
    pub fn install(
        &self,
        program: &Program,
        gate: bool,
        record: &mut Installed,
    ) -> Result<Option<Change>, InstallError> {
        let before = read_text(&self.path)?;
        let now = before.clone().unwrap_or_default();
        let wanted = registration::wanted(self.agent, program, gate);
        let is_ours = |value: &Value| self.is_ours(value);
        let present: Vec<(String, Value)> = self
            .entries(&now)?
            .into_iter()
            .filter(|(_, value)| is_ours(value))
            .collect();
        let complete = wanted.entries.len() == present.len()
            && wanted.entries.iter().all(|entry| {
                let wanted = (entry.event.to_owned(), entry.value.clone());
                present.contains(&wanted)
            })
            && self.has_variables(&now, &wanted);
        if complete {
            return Ok(None);
        }
        // Our older entries are replaced, not doubled. A file without any stays as it is.
        let clean = if present.is_empty() && !self.has_our_variable(&now) {
            before.clone()
        } else {
            self.without(&now, record)?
        };
        let made = record
            .of(&self.path)
            .map_or(before.is_none(), |put| put.made);
        let base = clean.unwrap_or_default();
        let insertions = if self.is_toml {
            self.toml_insertions(&base, &wanted)?
        } else {
            let dialect = registration::dialect(self.agent);
            merge::insertions(&base, dialect, &wanted).map_err(|error| self.refuse(&error))?
        };
        let after = insertion::apply(&base, &insertions);
        record.put(&self.path, made, &after, insertions);
        Ok(Some(self.change(before, Some(after))))
    }

    /// Returns the change that removes our entries; `None` if there are none.
    ///
    /// # Errors
    /// The file cannot be read or parsed.
    pub fn uninstall(&self, record: &mut Installed) -> Result<Option<Change>, InstallError> {
        let Some(before) = read_text(&self.path)? else {
            record.forget(&self.path);
            return Ok(None);
        };
        let after = self.without(&before, record)?;
        record.forget(&self.path);
        if after.as_deref() == Some(before.as_str()) {
            return Ok(None);
        }
        Ok(Some(self.change(Some(before), after)))
    }

    /// Returns the text without our entries: exactly the old one if no other program changed it. `None` means no file.
    fn without(&self, now: &str, record: &Installed) -> Result<Option<String>, InstallError> {
        if let Some(before) = record.before(&self.path, now) {
            return Ok(before);
        }
        let is_ours = |value: &Value| registration::is_ours(self.agent, value);
        let after = if self.is_toml {
            self.toml_without(now)?
        } else {
            let dialect = registration::dialect(self.agent);
            let text =
                merge::without(now, dialect, &is_ours).map_err(|error| self.refuse(&error))?;
            let ours = &registration::is_our_variable;
            merge::without_variables(&text, dialect, registration::ENVIRONMENT, ours)
                .map_err(|error| self.refuse(&error))?
        };
        let made = record.of(&self.path).is_some_and(|put| put.made);
        let is_blank = self.is_blank(&after);
        Ok((!(made && is_blank)).then_some(after))
    }

    /// Returns the variables in the settings.
    fn variables(&self, text: &str) -> serde_json::Map<String, Value> {
        let dialect = registration::dialect(self.agent);
        let set = (!self.is_toml)
            .then(|| merge::setting(text, dialect, registration::ENVIRONMENT))
            .flatten();
        match set {
            Some(Value::Object(variables)) => variables,
            _ => serde_json::Map::new(),
        }
    }

    /// Returns `true` if every wanted variable is set; a foreign value counts.
    fn has_variables(&self, text: &str, wanted: &merge::Wanted) -> bool {
        let set = self.variables(text);
        let holds = |key: &str, value: &Value| {
            let found = set.get(key);
            found.is_some_and(|found| found == value || !registration::is_our_variable(key, found))
        };
        wanted
            .inside
            .iter()
            .all(|(_, key, value)| holds(key, value))
    }

    fn has_our_variable(&self, text: &str) -> bool {
        let set = self.variables(text);
        set.iter()
            .any(|(key, value)| registration::is_our_variable(key, value))
    }

    /// Returns a note if the agent's commands have a foreign prefix.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn prefix_note(&self, root: &Path) -> Result<Option<String>, InstallError> {
        let text = read_text(&self.path)?.unwrap_or_default();
        let file = super::shown(root, &self.path);
        Ok(self.foreign_prefix(&text).map(|other| {
            format!(
                "`{}` in `{file}` is `{other}` and was left so: commands are not supervised, and those that cannot be \
                 followed are asked about",
                registration::SHELL_PREFIX
            )
        }))
    }

    /// Returns the program that the agent puts in front of its commands, if it is not ours.
    #[must_use]
    pub fn foreign_prefix(&self, text: &str) -> Option<String> {
        let set = self.variables(text);
        let value = set.get(registration::SHELL_PREFIX)?;
        let ours = registration::is_our_variable(registration::SHELL_PREFIX, value);
        (!ours).then(|| value.as_str().unwrap_or_default().to_owned())
    }

    /// Returns our program that the agent puts in front of its commands.
    #[must_use]
    pub fn own_prefix(&self, text: &str) -> Option<PathBuf> {
        let set = self.variables(text);
        let value = set.get(registration::SHELL_PREFIX)?;
        let ours = registration::is_our_variable(registration::SHELL_PREFIX, value);
        ours.then(|| PathBuf::from(value.as_str().unwrap_or_default()))
    }

    /// Returns `true` if only the content that we added with the first entry is left.
    fn is_blank(&self, text: &str) -> bool {
        let parsed: Value = serde_json::from_str(text).unwrap_or_default();
        let left = parsed.as_object();
        text.trim().is_empty()
            || left.is_some_and(|left| left.keys().all(|key| key == "version") && !self.is_toml)
    }

    fn is_ours(&self, entry: &Value) -> bool {
        let inner = entry.get("hooks").and_then(Value::as_array);
        match inner {
            Some(handlers) => handlers
                .iter()
                .any(|handler| registration::is_ours(self.agent, handler)),
            None => registration::is_ours(self.agent, entry),
        }
    }

    /// Returns the insertion of tables at the end of the file, where they can stand unless the hooks are written on one
    /// line.
    fn toml_insertions(
        &self,
        text: &str,
        wanted: &merge::Wanted,
    ) -> Result<Vec<Insertion>, InstallError> {
        let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let mut added = String::new();
        if !text.is_empty() && !text.ends_with('\n') {
            added.push('\n');
        }
        for entry in &wanted.entries {
            let mut group = DocumentMut::new();
            let mut events = serde_json::Map::new();
            events.insert(entry.event.to_owned(), serde_json::json!([entry.value]));
            let value = serde_json::json!({ "hooks": events });
            if let Ok(text) = toml::to_string(&value) {
                group = text.parse().unwrap_or_default();
            }
            added.push('\n');
            added.push_str(group.to_string().trim_start());
        }
        let insertion = Insertion {
            at: text.len(),
            text: added.replace('\n', newline),
        };
        let after = insertion::apply(text, std::slice::from_ref(&insertion));
        if after.parse::<toml::Table>().is_err() {
            return Err(InstallError::Settings {
                path: self.path.clone(),
                why: "its hooks are written on one line, to which nothing can be added; write them as `[[hooks.<event>]]`, \
                      or move them to `.codex/hooks.json`"
                    .to_owned(),
            });
        }
        Ok(vec![insertion])
    }

    fn toml_without(&self, text: &str) -> Result<String, InstallError> {
        let mut document: DocumentMut = text.parse().map_err(|error| self.refuse(&error))?;
        let Some(hooks) = document.get_mut("hooks").and_then(Item::as_table_like_mut) else {
            return Ok(text.to_owned());
        };
        let (mut emptied, mut found) = (Vec::new(), false);
        for (event, list) in hooks.iter_mut() {
            let Some(groups) = list.as_array_of_tables_mut() else {
                continue;
            };
            let had = groups.len();
            groups
                .retain(|group| !group.to_string().contains("roleos") || !self.is_our_group(group));
            found |= groups.len() < had;
            if had > 0 && groups.is_empty() {
                emptied.push(event.get().to_owned());
            }
        }
        for event in emptied {
            hooks.remove(&event);
        }
        if !found {
            return Ok(text.to_owned());
        }
        // The writer ends all lines with a line feed.
        let after = document.to_string();
        Ok(if text.contains("\r\n") {
            after.replace("\r\n", "\n").replace('\n', "\r\n")
        } else {
            after
        })
    }

    fn is_our_group(&self, group: &toml_edit::Table) -> bool {
        let handlers = group.get("hooks").and_then(Item::as_array_of_tables);
        let commands = handlers
            .into_iter()
            .flatten()
            .map(|handler| handler.get("command").and_then(Item::as_str));
        let mut commands = commands.peekable();
        commands.peek().is_some()
            && commands.all(|command| {
                let handler = serde_json::json!({ "command": command });
                registration::is_ours(self.agent, &handler)
            })
    }

    fn change(&self, before: Option<String>, after: Option<String>) -> Change {
        Change {
            path: self.path.clone(),
            before: before.map(String::into_bytes),
            after: after.map(String::into_bytes),
            mode: Mode::Plain,
            what: format!("hooks of {}", self.agent.dialect().label),
        }
    }

    fn refuse(&self, why: &dyn std::fmt::Display) -> InstallError {
        InstallError::Settings {
            path: self.path.clone(),
            why: why.to_string().trim_end().replace('\n', " "),
        }
    }
}
