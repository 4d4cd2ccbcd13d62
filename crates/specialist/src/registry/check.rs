//! The check of a registry: total, in the order of the file, every problem with its place.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::format::{is_address, is_sha256, is_time};
use super::{Contract, Entry, FALLBACK, Place, Problem, Refused, Rule, SCHEMA, Version, Withdrawn};
use crate::family;
use crate::level::Level;
use crate::text::head;

/// Longest time limit that an entry may give itself, in milliseconds.
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

/// A number of dispatches; no log holds more than a thousand million.
fn whole(number: f64) -> Option<u64> {
    let is_whole = (1.0..=1e9).contains(&number) && number.fract() == 0.0;
    is_whole
        .then(|| format!("{number:.0}").parse().ok())
        .flatten()
}

/// What a text must look like.
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

/// A value as an error shows it.
fn shown(value: Option<&Value>) -> String {
    match value {
        None => "nothing".to_owned(),
        Some(value) => head(&value.to_string(), 80).to_owned(),
    }
}

/// What was found so far, and where we are.
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

    /// A text that must be there; an empty one counts as missing.
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

    /// A text of a certain form.
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
        Some(Entry {
            role: role?,
            backend_url: backend_url?,
            workload_quota: workload_quota?,
            active_version: active_version?,
            versions: versions?,
            contract: contract?,
            timeout_ms: timeout_ms?,
            auth_env: auth_env?,
        })
    }

    fn role(&mut self, object: &Map<String, Value>) -> Option<String> {
        let role = self.text(object, "role")?;
        if !self.roles.insert(role.clone()) {
            // Which of the two is meant cannot be told, so neither is believed.
            let what = format!("duplicate role {role:?}");
            self.problem(None, what);
            if let Some(problem) = self.problems.last_mut() {
                problem.refused = Refused::Registry;
            }
        }
        Some(role)
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

    /// Keys that the published registry does not have. All are optional.
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

    /// The list, when it is one; bad versions in it are problems and are left out.
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

    fn version(&mut self, object: &Map<String, Value>) -> Option<Version> {
        let id = self.text(object, "id");
        let adapter_id = self.text(object, "adapter_id");
        let model_id = match object.get("model_id") {
            None | Some(Value::Null) => adapter_id.clone(),
            Some(_) => self.text(object, "model_id"),
        };
        let backend_url = match object.get("backend_url") {
            None | Some(Value::Null) => Some(None),
            Some(_) => self.formed(object, "backend_url", &ADDRESS).map(Some),
        };
        let base_model = self.text(object, "base_model");
        let refusal = base_model.as_deref().and_then(family::refusal);
        if let (Some(model), Some(why)) = (&base_model, refusal) {
            self.problem(Some(Rule::R1), format!("base_model {model:?} {why}"));
        }
        let gate_threshold = self.threshold(object);
        let certified_level = self.level(object);
        let exam_hash = self.formed(object, "exam_hash", &SHA256);
        let field_audit_window = self.audit_window(object);
        let created_at = self.formed(object, "created_at", &TIME);
        let exam_centroid = self.centroid(object);
        let ood_floor = self.ood_floor(object);
        let withdrawn = self.withdrawn(object);
        self.lineage(object);
        self.recipe_card(object);
        Some(Version {
            id: id?,
            adapter_id: adapter_id?,
            model_id: model_id?,
            backend_url: backend_url?,
            base_model: base_model?,
            gate_threshold: gate_threshold?,
            certified_level: certified_level?,
            exam_hash: exam_hash?,
            field_audit_window: field_audit_window?,
            created_at: created_at?,
            exam_centroid: exam_centroid?,
            ood_floor: ood_floor?,
            withdrawn: withdrawn?,
        })
    }

    /// The protocol's names for levels are no reason to take a version out; a name that nobody knows is a slip.
    fn withdrawn(&mut self, object: &Map<String, Value>) -> Option<Option<Withdrawn>> {
        match object.get("status") {
            None | Some(Value::Null) => Some(None),
            Some(value) => match value.as_str() {
                Some("experimental" | "stable") => Some(None),
                Some("deprecated") => Some(Some(Withdrawn::Deprecated)),
                Some("revoked") => Some(Some(Withdrawn::Revoked)),
                _ => {
                    let what = format!(
                        "status must be \"deprecated\" or \"revoked\", got {}",
                        shown(Some(value))
                    );
                    self.problem(None, what);
                    None
                }
            },
        }
    }

    fn threshold(&mut self, object: &Map<String, Value>) -> Option<f64> {
        let value = object.get("gate_threshold");
        match value.and_then(Value::as_f64) {
            Some(threshold) if (0.0..=1.0).contains(&threshold) => Some(threshold),
            _ => {
                let what = format!("gate_threshold must be in [0, 1], got {}", shown(value));
                self.problem(Some(Rule::R5), what);
                None
            }
        }
    }

    fn level(&mut self, object: &Map<String, Value>) -> Option<Level> {
        let text = self.text(object, "certified_level")?;
        let level = Level::parse(&text);
        if level.is_none() {
            let what = format!("certified_level must be L0 to L9, got {text:?}");
            self.problem(None, what);
        }
        level
    }

    fn audit_window(&mut self, object: &Map<String, Value>) -> Option<u64> {
        let value = object.get("field_audit_window");
        let window = value.and_then(Value::as_f64).and_then(whole);
        if window.is_none() {
            let got = shown(value);
            let what = format!("field_audit_window must be a whole number above 0, got {got}");
            self.problem(None, what);
        }
        window
    }

    fn centroid(&mut self, object: &Map<String, Value>) -> Option<Option<Vec<f64>>> {
        match object.get("exam_centroid") {
            None | Some(Value::Null) => Some(None),
            Some(value) => {
                let numbers: Option<Vec<f64>> = value
                    .as_array()
                    .and_then(|list| list.iter().map(Value::as_f64).collect());
                if numbers.is_none() {
                    self.problem(None, "exam_centroid must be an array of numbers");
                }
                numbers.map(Some)
            }
        }
    }

    fn ood_floor(&mut self, object: &Map<String, Value>) -> Option<Option<f64>> {
        match object.get("ood_floor") {
            None | Some(Value::Null) => Some(None),
            Some(value) => match value.as_f64() {
                Some(floor) if (-1.0..=1.0).contains(&floor) => Some(Some(floor)),
                _ => {
                    let what = format!("ood_floor must be in [-1, 1], got {}", shown(Some(value)));
                    self.problem(Some(Rule::R5), what);
                    None
                }
            },
        }
    }

    fn lineage(&mut self, object: &Map<String, Value>) {
        let Some(lineage) = object.get("lineage").filter(|value| !value.is_null()) else {
            return;
        };
        let parents = lineage.get("parents").and_then(Value::as_array);
        let named = |value: &Value| value.as_str().is_some_and(|text| !text.is_empty());
        if !parents.is_some_and(|list| list.len() >= 2 && list.iter().all(named)) {
            self.problem(
                None,
                "lineage.parents must be at least two non-empty strings",
            );
        }
        if !lineage.get("method").is_some_and(named) {
            self.problem(None, "lineage.method must be a non-empty string");
        }
    }

    fn recipe_card(&mut self, object: &Map<String, Value>) {
        let Some(card) = object.get("recipe_card").filter(|value| !value.is_null()) else {
            return;
        };
        for problem in recipe_problems(card) {
            self.problem(None, format!("recipe_card.{problem}"));
        }
    }

    /// `None` when it is neither text nor null; the inner `None` when nobody is active.
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
        let raw = object.get("versions").and_then(Value::as_array);
        let named = raw.and_then(|list| {
            list.iter()
                .find(|version| version.get("id").and_then(Value::as_str) == Some(id))
        });
        if named.is_none() {
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

/// What is wrong with a recipe card.
pub(crate) fn recipe_problems(card: &Value) -> Vec<&'static str> {
    let text = |key: &str| card.get(key).and_then(Value::as_str);
    let mut problems = Vec::new();
    if text("id").is_none_or(str::is_empty) {
        problems.push("id must be a non-empty string");
    }
    if !text("sha256").is_some_and(is_sha256) {
        problems.push("sha256 must be 64 lowercase hexadecimal digits");
    }
    if card
        .get("path")
        .is_some_and(|path| path.as_str().is_none_or(str::is_empty))
    {
        problems.push("path must be a non-empty string");
    }
    problems
}
