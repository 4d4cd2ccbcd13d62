//! Every setting with its type, default, value and origin, based on the published schema. Writes nothing.

use serde_json::Value;
use toml_edit::{DocumentMut, Item, Key, TableLike};

use super::{Config, ConfigError, read_text};
use crate::environment::Environment;
use crate::workspace::Workspace;

/// JSON Schema of the settings file, for editors; `cargo xtask codegen` writes it.
pub const SCHEMA: &str = include_str!("../../../../schemas/config.schema.json");

/// One setting.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// Section and key, with dots between them.
    pub key: String,
    /// Type and range of its values.
    pub kind: String,
    /// The value without a line in any file; null if the key may be missing.
    pub default: Value,
    /// The effective value.
    pub value: Value,
    /// Origin of the value.
    pub origin: Origin,
    /// Purpose, for people.
    pub description: String,
}

/// Origin of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// No file and no variable sets it.
    Default,
    /// The settings file of the workspace.
    WorkspaceFile,
    /// The settings file that `ROLEOS_CONFIG` names.
    NamedFile,
    /// An environment variable.
    Environment(&'static str),
    /// The last confirmed value: the file's own is ignored until `roleos trust`.
    Confirmed,
    /// The file is missing, and the hooks were installed with it.
    Installed,
}

impl Origin {
    /// Returns the stable name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::WorkspaceFile => "workspace file",
            Self::NamedFile => "ROLEOS_CONFIG",
            Self::Environment(name) => name,
            Self::Confirmed => "confirmed",
            Self::Installed => "installed",
        }
    }
}

/// Lists every setting, by name.
///
/// # Errors
/// The settings file cannot be read.
pub fn list(
    workspace: &Workspace,
    environment: &Environment,
    config: &Config,
) -> Result<Vec<Setting>, ConfigError> {
    let path = workspace.settings_path(environment);
    let written = read_text(&path).unwrap_or_default();
    let written: DocumentMut = written.parse().unwrap_or_default();
    let schema: Value = serde_json::from_str(SCHEMA).unwrap_or_default();
    let holding = serde_json::to_value(config).unwrap_or_default();
    let mut settings = Vec::new();
    collect(&schema, &holding, "", &mut settings);
    for setting in &mut settings {
        setting.origin = origin(setting, &written, environment, config);
        if let Origin::Environment(name) = setting.origin {
            setting.value = environment.setting(name).unwrap_or_default();
        }
    }
    Ok(settings)
}

/// Finds the effective value of a key, including keys inside a setting's table.
#[must_use]
pub fn find(settings: &[Setting], key: &str) -> Option<Value> {
    let parts = Key::parse(key).ok()?;
    let names: Vec<&str> = parts.iter().map(Key::get).collect();
    (1..=names.len()).find_map(|length| {
        let (outer, inner) = names.split_at_checked(length)?;
        let outer = outer.join(".");
        let setting = settings.iter().find(|setting| setting.key == outer)?;
        let mut value = &setting.value;
        for name in inner {
            value = value.get(name)?;
        }
        Some(value.clone())
    })
}

fn collect(schema: &Value, holding: &Value, above: &str, settings: &mut Vec<Setting>) {
    for (name, shape) in properties(schema) {
        let key = match above {
            "" => name.to_owned(),
            above => format!("{above}.{name}"),
        };
        let value = holding.get(name).cloned().unwrap_or_default();
        if shape.get("properties").is_some() {
            collect(shape, &value, &key, settings);
            continue;
        }
        settings.push(Setting {
            key,
            kind: kind(shape),
            default: shape.get("default").cloned().unwrap_or_default(),
            value,
            origin: Origin::Default,
            description: description(shape),
        });
    }
}

fn origin(
    setting: &Setting,
    written: &DocumentMut,
    environment: &Environment,
    config: &Config,
) -> Origin {
    if let Some(name) = environment.wins_over(&setting.key) {
        return Origin::Environment(name);
    }
    let is_of = |outer: &str| {
        let rest = setting.key.strip_prefix(outer);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    if config.ignored.iter().any(|ignored| is_of(ignored.key)) {
        return Origin::Confirmed;
    }
    let mut table: Option<&dyn TableLike> = Some(written.as_table());
    let mut is_written = false;
    for part in setting.key.split('.') {
        let item = table.and_then(|table| table.get(part));
        is_written = item.is_some();
        table = item.and_then(Item::as_table_like);
    }
    match (is_written, environment.config.is_some()) {
        (true, true) => Origin::NamedFile,
        (true, false) => Origin::WorkspaceFile,
        (false, _) if setting.value != setting.default => Origin::Installed,
        (false, _) => Origin::Default,
    }
}

/// Returns the properties by name: the order of a JSON object depends on the features of other crates, and a page must
/// not.
pub(super) fn properties(schema: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let mut properties: Vec<_> = schema
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .map(|(name, shape)| (name.as_str(), shape))
        .collect();
    properties.sort_by_key(|&(name, _)| name);
    properties.into_iter()
}

/// Returns the description on one line.
pub(super) fn description(schema: &Value) -> String {
    let text = schema.get("description").and_then(Value::as_str);
    text.unwrap_or_default().replace('\n', " ")
}

/// Returns the values of an enumeration.
fn words(schema: &Value) -> Vec<&str> {
    let variants = schema.get("oneOf").and_then(Value::as_array);
    let listed = schema.get("enum").and_then(Value::as_array);
    let named = variants
        .into_iter()
        .flatten()
        .filter_map(|one| one.get("const"));
    let words = listed.into_iter().flatten().chain(named);
    words.filter_map(Value::as_str).collect()
}

/// Names the type of a setting, with its range.
pub(super) fn kind(schema: &Value) -> String {
    let words = words(schema);
    if !words.is_empty() {
        return words.join(" or ");
    }
    let name = match schema.get("type") {
        Some(Value::Array(names)) => {
            let names = names.iter().filter_map(Value::as_str);
            let names: Vec<&str> = names.filter(|name| *name != "null").collect();
            names.join(" or ")
        }
        Some(Value::String(name)) => name.clone(),
        _ => "any".to_owned(),
    };
    match (schema.get("minimum"), schema.get("maximum")) {
        (Some(minimum), Some(maximum)) => format!("{name}, {minimum} to {maximum}"),
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::*;

    #[track_caller]
    fn check(text: &str, variables: &[(&str, &str)], expected: &[(&str, &str, &str)]) {
        let folder = tempfile::tempdir().unwrap();
        let workspace = Workspace::at(folder.path()).unwrap();
        let shared = crate::files::Privacy::Shared;
        crate::files::make_directory(&workspace.role_os_dir(), shared).unwrap();
        crate::files::write(&workspace.config_path(), text.as_bytes(), shared).unwrap();
        let environment = Environment::from_lookup(|name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| OsString::from(value))
        });
        let config = Config::load(&workspace, &environment).unwrap();
        let settings = list(&workspace, &environment, &config).unwrap();
        for (key, value, origin) in expected {
            let setting = settings.iter().find(|one| one.key == *key).unwrap();
            let seen = (setting.value.to_string(), setting.origin.as_str());
            assert_eq!(seen, ((*value).to_owned(), *origin), "{key}");
        }
    }

    #[test]
    fn a_value_comes_with_its_origin() {
        check(
            "",
            &[],
            &[
                ("oversight.opaque", "\"watch\"", "default"),
                ("oversight.max_tool_calls", "null", "default"),
                ("fallback.claude.retries", "2", "default"),
                ("oversight.prices", "{}", "default"),
            ],
        );
        check(
            "fallback.claude.retries = 3\n[oversight.prices]\nm = { input = 1 }\n[witness]\nthreads = 0\n",
            &[("ROLEOS_CAPABILITY_GATE", "1"), ("ROLEOS_SHADOW_K", "7")],
            &[
                ("fallback.claude.retries", "3", "workspace file"),
                ("witness.threads", "0", "workspace file"),
                (
                    "oversight.capability_gate",
                    "true",
                    "ROLEOS_CAPABILITY_GATE",
                ),
                ("specialist.shadow_every", "7", "ROLEOS_SHADOW_K"),
                ("specialist.shadow_tau", "0.15", "default"),
            ],
        );
    }

    #[test]
    fn the_schema_lists_what_the_settings_have() {
        let schema = super::super::reference::schema_text();
        assert_eq!(schema, SCHEMA, "run `cargo xtask codegen`");
    }
}
