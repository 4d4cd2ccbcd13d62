//! The check of a registry: total, in the order of the file, every problem with its position.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::format::{is_address, is_sha256, is_time};
use super::{Canary, Contract, Entry, FALLBACK, Place, Problem, Refused, Rule, SCHEMA, Version};
use crate::text::head;

mod version;

/// Limit of addresses per adapter.
const MAX_ADDRESSES: usize = 64;

/// Longest time limit of an entry, in milliseconds.
const MAX_TIMEOUT_MS: u64 = 600_000;

/// Checks everything; the entries are those that no problem refuses.
pub(super) fn all(document: &Value) -> (Vec<Entry>, Vec<Problem>) {
    let mut check = Check::default();
    let Some(root) = document.as_object() else {
        check.whole(None, "registry root must be a JSON object");
        return (Vec::new(), check.problems);
    };
    let schema = root.get("schema");
    if schema.and_then(Value::as_str) != Some(SCHEMA) {
        let what = format!(
            "schema mismatch — got {}, expected \"{SCHEMA}\"",
            shown(schema)
        );
        check.whole(Some(Rule::R7), &what);
    }
    let Some(list) = root.get("specialists").and_then(Value::as_array) else {
        check.whole(None, "specialists must be an array");
        return (Vec::new(), check.problems);
    };
    let mut entries = Vec::new();
    for (number, value) in list.iter().enumerate() {
        if let Some(entry) = check.entry(number, value) {
            entries.push((number, entry));
        }
    }
    let refused = |problem: &Problem| problem.refused == Refused::Registry;
    if check.problems.iter().any(refused) {
        return (Vec::new(), check.problems);
    }
    let bad: BTreeSet<usize> = check.problems.iter().filter_map(number_of).collect();
    entries.retain(|(number, _)| !bad.contains(number));
    let entries = entries.into_iter().map(|(_, entry)| entry).collect();
    (entries, check.problems)
}

fn number_of(problem: &Problem) -> Option<usize> {
    problem.place.entry.as_ref().map(|(number, _)| *number)
}

/// Required form of a text.
struct Form {
    fits: fn(&str) -> bool,
    what: &'static str,
}

const ADDRESS: Form = Form {
    fits: is_address,
    what: "an http:// or https:// address",
};

const SHA256: Form = Form {
    fits: is_sha256,
    what: "a SHA-256 in 64 lower-case hexadecimal digits",
};

const TIME: Form = Form {
    fits: is_time,
    what: "an ISO 8601 time",
};

/// Returns a value as shown in an error.
fn shown(value: Option<&Value>) -> String {
    match value {
        None => "nothing".to_owned(),
        Some(value) => head(&value.to_string(), 80).to_owned(),
    }
}

/// State of the check: the problems so far, and the current position.
#[derive(Default)]
struct Check {
    problems: Vec<Problem>,
    roles: BTreeSet<String>,
    place: Place,
}

impl Check {
    fn whole(&mut self, rule: Option<Rule>, what: &str) {
        self.problems.push(Problem {
            rule,
            place: Place::default(),
            what: what.to_owned(),
            refused: Refused::Registry,
        });
    }

    fn problem(&mut self, rule: Option<Rule>, what: impl Into<String>) {
        let refused = match rule {
            Some(Rule::R3 | Rule::R4 | Rule::R7) => Refused::Registry,
            _ => Refused::Entry,
        };
        self.problems.push(Problem {
            rule,
            place: self.place.clone(),
            what: what.into(),
            refused,
        });
    }

    /// Reads a required text; an empty one counts as missing.
    fn text(&mut self, object: &Map<String, Value>, key: &str) -> Option<String> {
        let value = object.get(key);
        match value.and_then(Value::as_str) {
            Some(text) if !text.is_empty() => Some(text.to_owned()),
            _ => {
                self.problem(
                    None,
                    format!("{key} must be a non-empty string, got {}", shown(value)),
                );
                None
            }
        }
    }

    /// Reads a text of a certain form.
    fn formed(&mut self, object: &Map<String, Value>, key: &str, form: &Form) -> Option<String> {
        let text = self.text(object, key)?;
        if !(form.fits)(&text) {
            let (what, got) = (form.what, shown(object.get(key)));
            self.problem(None, format!("{key} must be {what}, got {got}"));
            return None;
        }
        Some(text)
    }

    fn entry(&mut self, number: usize, value: &Value) -> Option<Entry> {
        let role = value.get("role").and_then(Value::as_str).map(str::to_owned);
        self.place = Place {
            entry: Some((number, role)),
            version: None,
        };
        let Some(object) = value.as_object() else {
            self.problem(None, "entry must be an object");
            return None;
        };
        let role = self.role(object);
        let backend_url = self.formed(object, "backend_url", &ADDRESS);
        if object.get("fallback").and_then(Value::as_str) != Some(FALLBACK) {
            let what = format!(
                "fallback must be \"{FALLBACK}\", got {}",
                shown(object.get("fallback"))
            );
            self.problem(None, what);
        }
        let workload_quota = self.quota(object);
        let (contract, timeout_ms, auth_env) = self.backend_extras(object);
        let place = self.place.clone();
        let versions = self.versions(object);
        self.place = place;
        let active_version = self.active(object, versions.as_deref());
        let beside = self.beside(object);
        let canary = self.canary(object);
        let backend_urls = self.addresses(object);
        Some(Entry {
            role: role?,
            backend_url: backend_url?,
            workload_quota: workload_quota?,
            active_version: active_version?,
            beside: beside?,
            canary: canary?,
            versions: versions?,
            backend_urls: backend_urls?,
            contract: contract?,
            timeout_ms: timeout_ms?,
            auth_env: auth_env?,
        })
    }

    fn role(&mut self, object: &Map<String, Value>) -> Option<String> {
        let role = self.text(object, "role")?;
        if !self.roles.insert(role.clone()) {
            // It is unknown which of the two is meant, so neither is used.
            let what = format!("duplicate role {role:?}");
            self.problem(None, what);
            if let Some(problem) = self.problems.last_mut() {
                problem.refused = Refused::Registry;
            }
        }
        Some(role)
    }

    /// Reads the ids of the versions beside the active one; an unknown id is a problem of the entry.
    fn beside(&mut self, object: &Map<String, Value>) -> Option<Vec<String>> {
        let ids = self.texts(object, "beside", usize::MAX)?;
        if let Some(id) = ids.iter().find(|id| !names_version(object, id)) {
            self.problem(None, format!("beside {id:?} not found in versions[]"));
            return None;
        }
        Some(ids)
    }

    fn canary(&mut self, object: &Map<String, Value>) -> Option<Option<Canary>> {
        let Some(value) = object.get("canary").filter(|value| !value.is_null()) else {
            return Some(None);
        };
        let version = value.get("version").and_then(Value::as_str);
        let version = version.filter(|id| names_version(object, id));
        let share = value.get("share").and_then(Value::as_f64);
        let share = share.filter(|share| *share > 0.0 && *share <= 1.0);
        let (Some(version), Some(share)) = (version, share) else {
            let what = format!(
                "canary must name a version of versions[] and a share in (0, 1], got {}",
                shown(Some(value))
            );
            self.problem(None, what);
            return None;
        };
        Some(Some(Canary {
            version: version.to_owned(),
            share,
        }))
    }

    fn addresses(&mut self, object: &Map<String, Value>) -> Option<Vec<String>> {
        let urls = self.texts(object, "backend_urls", MAX_ADDRESSES)?;
        if let Some(url) = urls.iter().find(|url| !is_address(url)) {
            let what = format!("backend_urls must be {}, got {url:?}", ADDRESS.what);
            self.problem(None, what);
            return None;
        }
        Some(urls)
    }

    /// Reads an optional list of texts that are not empty.
    fn texts(
        &mut self,
        object: &Map<String, Value>,
        key: &str,
        most: usize,
    ) -> Option<Vec<String>> {
        let value = match object.get(key) {
            None | Some(Value::Null) => return Some(Vec::new()),
            Some(value) => value,
        };
        let text = |item: &Value| Some(item.as_str().filter(|text| !text.is_empty())?.to_owned());
        let list = value.as_array().filter(|list| list.len() <= most);
        let texts: Option<Vec<String>> = list.and_then(|list| list.iter().map(text).collect());
        if texts.is_none() {
            let what = format!(
                "{key} must be a list of non-empty strings, got {}",
                shown(Some(value))
            );
            self.problem(None, what);
        }
        texts
    }

    fn quota(&mut self, object: &Map<String, Value>) -> Option<f64> {
        let value = object.get("workload_quota");
        match value.and_then(Value::as_f64) {
            Some(quota) if quota > 0.0 && quota <= 1.0 => Some(quota),
            _ => {
                let what = format!("workload_quota must be in (0, 1], got {}", shown(value));
                self.problem(Some(Rule::R6), what);
                None
            }
        }
    }

    /// Reads the keys that the published registry does not have. All are optional.
    fn backend_extras(
        &mut self,
        object: &Map<String, Value>,
    ) -> (
        Option<Contract>,
        Option<Option<u64>>,
        Option<Option<String>>,
    ) {
        let contract = match object.get("contract") {
            None | Some(Value::Null) => Some(Contract::Verify),
            Some(Value::String(name)) if name == "verify" => Some(Contract::Verify),
            Some(Value::String(name)) if name == "openai" => Some(Contract::OpenAi),
            other => {
                let what = format!(
                    "contract must be \"verify\" or \"openai\", got {}",
                    shown(other)
                );
                self.problem(None, what);
                None
            }
        };
        let timeout_ms = match object.get("timeout_ms") {
            None | Some(Value::Null) => Some(None),
            Some(value) => match value.as_u64() {
                Some(time @ 1..=MAX_TIMEOUT_MS) => Some(Some(time)),
                _ => {
                    let what = format!(
                        "timeout_ms must be a whole number from 1 to {MAX_TIMEOUT_MS}, got {}",
                        shown(Some(value))
                    );
                    self.problem(None, what);
                    None
                }
            },
        };
        let auth_env = match object.get("auth_env") {
            None | Some(Value::Null) => Some(None),
            Some(_) => self.text(object, "auth_env").map(Some),
        };
        (contract, timeout_ms, auth_env)
    }

    /// Reads the list of versions; a bad version in it is a problem and is left out.
    fn versions(&mut self, object: &Map<String, Value>) -> Option<Vec<Version>> {
        let Some(list) = object.get("versions").and_then(Value::as_array) else {
            self.problem(None, "versions must be an array");
            return None;
        };
        let mut ids = BTreeSet::new();
        let mut versions = Vec::new();
        for (number, value) in list.iter().enumerate() {
            let id = value.get("id").and_then(Value::as_str).map(str::to_owned);
            self.place.version = Some((number, id.clone()));
            let Some(object) = value.as_object() else {
                self.problem(None, "version must be an object");
                continue;
            };
            if let Some(id) = id
                && !ids.insert(id.clone())
            {
                self.problem(Some(Rule::R3), format!("duplicate version id {id:?}"));
            }
            versions.extend(self.version(object));
        }
        Some(versions)
    }

    /// Reads the active version: `None` if it is neither text nor null; the inner `None` if no version is active.
    fn active(
        &mut self,
        object: &Map<String, Value>,
        versions: Option<&[Version]>,
    ) -> Option<Option<String>> {
        let id = match object.get("active_version") {
            None | Some(Value::Null) => return Some(None),
            Some(Value::String(id)) => id,
            other => {
                let what = format!(
                    "active_version must be a string or null, got {}",
                    shown(other)
                );
                self.problem(None, what);
                return None;
            }
        };
        let versions = versions?;
        if !names_version(object, id) {
            let what = format!("active_version {id:?} not found in versions[]");
            self.problem(Some(Rule::R4), what);
        }
        let uncertified = versions
            .iter()
            .any(|version| version.id == *id && !version.certified_level.is_certified());
        if uncertified {
            let what = format!("active_version {id:?} is L0 (uncertified); it may not serve");
            self.problem(Some(Rule::R2), what);
        }
        Some(Some(id.clone()))
    }
}

/// Returns `true` if a version of the entry has this id, also one with problems of its own.
fn names_version(entry: &Map<String, Value>, id: &str) -> bool {
    let list = entry.get("versions").and_then(Value::as_array);
    list.into_iter()
        .flatten()
        .any(|version| version.get("id").and_then(Value::as_str) == Some(id))
}
