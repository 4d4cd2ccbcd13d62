//! Check of one version of an entry.

use serde_json::{Map, Value};

use super::{ADDRESS, Check, SHA256, TIME, shown};
use crate::family;
use crate::level::Level;
use crate::registry::format::is_sha256;
use crate::registry::{Rule, Version, Withdrawn};

impl Check {
    pub(super) fn version(&mut self, object: &Map<String, Value>) -> Option<Version> {
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
        let backend_urls = self.addresses(object);
        let base_model = self.text(object, "base_model");
        let refusal = base_model.as_deref().and_then(family::refusal);
        if let (Some(model), Some(why)) = (&base_model, refusal) {
            self.problem(Some(Rule::R1), format!("base_model {model:?} {why}"));
        }
        let gate_threshold = self.threshold(object);
        let certified_level = self.level(object, "certified_level");
        // Only `certify` writes it, beside the level.
        let evidenced = match object.get("evidence_level") {
            None | Some(Value::Null) => Some(Level::UNCERTIFIED),
            Some(_) => self.level(object, "evidence_level"),
        };
        let certified_for = match object.get("certified_for") {
            None | Some(Value::Null) => Some(None),
            Some(_) => self.text(object, "certified_for").map(Some),
        };
        let certified_by = match object.get("certified_by") {
            None | Some(Value::Null) => Some(None),
            Some(_) => self.text(object, "certified_by").map(Some),
        };
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
            backend_urls: backend_urls?,
            base_model: base_model?,
            gate_threshold: gate_threshold?,
            claimed: certified_level? > evidenced?,
            certified_level: certified_level?,
            certified_by: certified_by?,
            certified_for: certified_for?,
            weights: object
                .get("weights_sha256")
                .and_then(Value::as_str)
                .map(str::to_owned),
            exam_hash: exam_hash?,
            field_audit_window: field_audit_window?,
            created_at: created_at?,
            exam_centroid: exam_centroid?,
            ood_floor: ood_floor?,
            withdrawn: withdrawn?,
        })
    }

    /// Reads the status. The protocol's names for levels do not withdraw a version; an unknown name is a problem.
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

    fn level(&mut self, object: &Map<String, Value>, key: &str) -> Option<Level> {
        let text = self.text(object, key)?;
        let level = Level::parse(&text);
        if level.is_none() {
            let what = format!("{key} must be L0 to L9, got {text:?}");
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
}

/// Converts a number of dispatches; no log holds more than a thousand million.
fn whole(number: f64) -> Option<u64> {
    let is_whole = (1.0..=1e9).contains(&number) && number.fract() == 0.0;
    is_whole
        .then(|| format!("{number:.0}").parse().ok())
        .flatten()
}

/// Returns the problems of a recipe card.
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
