//! Settings and keys, read-only: every value with its origin, and the public halves of the keys.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use base::approval_key::Place;
use base::config::Config;
use base::keys::{KeyStore, public_line};
use serde_json::Value;

use super::frame::{Frame, Visit, show};
use super::when::When;
use crate::api::Desk;
use crate::problem::Problem;
use present::show::clean;

/// Most columns of a value.
const MAX_VALUE: usize = 600;

#[derive(Template)]
#[template(path = "pages/settings.html")]
struct Settings {
    frame: Frame,
    file: String,
    sections: Vec<Section>,
    ignored: Vec<String>,
    show_all: bool,
}

struct Section {
    name: String,
    rows: Vec<Row>,
}

#[derive(Debug, PartialEq)]
struct Row {
    key: String,
    value: String,
    default: String,
    is_set: bool,
}

pub(super) async fn page(
    State(desk): State<Arc<Desk>>,
    visit: Visit,
    asked: super::listing::Asked,
) -> Response {
    show(&desk, visit, "Settings", move |desk, visit| {
        let show_all = asked.one("all") == "yes";
        let set = serde_json::to_value(&desk.config).unwrap_or_default();
        let default = serde_json::to_value(Config::default()).unwrap_or_default();
        Ok(Settings {
            frame: visit.frame("Settings", "Settings"),
            file: clean::line(&desk.workspace.config_path().display().to_string(), 200),
            sections: sections(&set, &default, show_all),
            ignored: desk
                .config
                .ignored
                .iter()
                .map(|one| clean::line(&format!("{}: {}", one.key, one.doubt), 200))
                .collect(),
            show_all,
        })
    })
    .await
}

/// Compares the settings with their defaults, section by section.
fn sections(set: &Value, default: &Value, show_all: bool) -> Vec<Section> {
    let Some(found) = set.as_object() else {
        return Vec::new();
    };
    let sections = found.iter().map(|(name, section)| {
        let mut rows = Vec::new();
        flatten(
            "",
            section,
            default.get(name).unwrap_or(&Value::Null),
            &mut rows,
        );
        rows.retain(|row| show_all || row.is_set);
        Section {
            name: name.clone(),
            rows,
        }
    });
    sections
        .filter(|section| !section.rows.is_empty())
        .collect()
}

fn flatten(key: &str, set: &Value, default: &Value, rows: &mut Vec<Row>) {
    if let (Value::Object(fields), Value::Object(known)) = (set, default)
        && !known.is_empty()
    {
        for (name, value) in fields {
            let key = if key.is_empty() {
                name.clone()
            } else {
                format!("{key}.{name}")
            };
            flatten(&key, value, known.get(name).unwrap_or(&Value::Null), rows);
        }
        return;
    }
    let text = |value: &Value| match value {
        Value::Null => "none".to_owned(),
        Value::String(text) if text.is_empty() => "none".to_owned(),
        Value::String(text) => clean::line(&without_paths(text), MAX_VALUE),
        other => clean::line(&without_paths(&other.to_string()), MAX_VALUE),
    };
    rows.push(Row {
        key: key.to_owned(),
        value: text(set),
        default: text(default),
        is_set: set != default,
    });
}

/// Removes everything but the host of each address: the rest of a webhook's address is often a secret.
fn without_paths(text: &str) -> String {
    let mut parts = text.split("://");
    let mut shown = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(['"', ' ', ',']).unwrap_or(part.len());
        let (address, rest) = part.split_at_checked(end).unwrap_or((part, ""));
        let (machine, path) = address.split_once('/').unwrap_or((address, ""));
        let machine = machine
            .rsplit_once('@')
            .map_or(machine, |(_, machine)| machine);
        shown.push_str("://");
        shown.push_str(machine);
        if !path.is_empty() {
            shown.push_str("/…");
        }
        shown.push_str(rest);
    }
    shown
}

#[derive(Template)]
#[template(path = "pages/keys.html")]
struct Keys {
    frame: Frame,
    rows: Vec<Key>,
    refused: Vec<String>,
    approval: Option<(String, String)>,
}

struct Key {
    id: String,
    algorithm: String,
    created: When,
    signs: bool,
    public: Option<String>,
}

pub(super) async fn keys(State(desk): State<Arc<Desk>>, visit: Visit) -> Response {
    show(&desk, visit, "Settings", |desk, visit| {
        let store = KeyStore::open(&desk.workspace)?;
        Ok(Keys {
            frame: visit.frame("Settings", "Keys"),
            rows: store
                .list()
                .into_iter()
                .map(|key| Key {
                    id: key.id.to_string(),
                    algorithm: key.algorithm.to_string(),
                    created: When::of(&key.created),
                    signs: key.signs,
                    public: key.public.as_ref().map(public_line),
                })
                .collect(),
            refused: store
                .refused()
                .iter()
                .map(|(path, doubt)| clean::line(&format!("{}: {doubt}", path.display()), 300))
                .collect(),
            approval: approval(desk)?,
        })
    })
    .await
}

/// Returns the public half of the key that signs approvals and grants, and the protection of its private half.
fn approval(desk: &Desk) -> Result<Option<(String, String)>, Problem> {
    let place = Place::of(&desk.workspace);
    let Some(key) = place.verifying_key()? else {
        return Ok(None);
    };
    Ok(Some((
        public_line(&key),
        place.level()?.as_str().to_owned(),
    )))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_setting_is_shown_with_its_default_and_only_when_it_was_set() {
        let default = json!({ "a": { "x": 1, "y": { "z": "" } }, "b": { "list": {} } });
        let set = json!({ "a": { "x": 2, "y": { "z": "" } }, "b": { "list": { "k": 1 } } });
        let names = |show_all| -> Vec<(String, String, String, bool)> {
            let all = sections(&set, &default, show_all).into_iter();
            all.flat_map(|section| {
                section
                    .rows
                    .into_iter()
                    .map(move |row| (section.name.clone(), row.key, row.value, row.is_set))
            })
            .collect()
        };
        let owned = |list: &[(&str, &str, &str, bool)]| -> Vec<(String, String, String, bool)> {
            list.iter()
                .map(|(a, b, c, d)| ((*a).to_owned(), (*b).to_owned(), (*c).to_owned(), *d))
                .collect()
        };
        let changed = [("a", "x", "2", true), ("b", "list", r#"{"k":1}"#, true)];
        assert_eq!(names(false), owned(&changed));
        let all = [changed[0], ("a", "y.z", "none", false), changed[1]];
        assert_eq!(names(true), owned(&all));
    }

    #[test]
    fn of_an_address_the_machine_is_shown() {
        for (text, shown) in [
            (
                "https://hooks.example/T0/B1/secret",
                "https://hooks.example/…",
            ),
            ("http://me:pw@10.0.0.1:99", "http://10.0.0.1:99"),
            (
                r#"[{"url":"http://a/b?c"},{"url":"http://d"}]"#,
                r#"[{"url":"http://a/…"},{"url":"http://d"}]"#,
            ),
            ("plain", "plain"),
        ] {
            assert_eq!(without_paths(text), shown);
        }
    }
}
