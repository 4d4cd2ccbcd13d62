//! The JSON Schema of a tool, for what the floor's own rules cannot say. Compiled only for a call of that very tool.
//!
//! References lead nowhere but into the schema itself: nothing is fetched and no file is opened. Patterns run on an
//! engine that does not backtrack.

use std::sync::OnceLock;

use jsonschema::{PatternOptions, Validator};
use serde_json::Value;

/// Bytes that a compiled pattern may need.
const MAX_PATTERN: usize = 1 << 20;

/// More findings of one call are not looked at, and of these only some are told.
const MAX_FINDINGS: usize = 100;
const MAX_TOLD: usize = 5;

/// One schema.
#[derive(Clone, Debug)]
pub(super) struct Schema {
    source: Value,
    compiled: OnceLock<Result<Validator, String>>,
}

impl Schema {
    pub(super) fn new(source: Value) -> Self {
        Self {
            source,
            compiled: OnceLock::new(),
        }
    }

    fn compiled(&self) -> Result<&Validator, &String> {
        self.compiled.get_or_init(|| build(&self.source)).as_ref()
    }

    /// Why it cannot be used.
    pub(super) fn error(&self) -> Option<String> {
        self.compiled().err().cloned()
    }

    /// What of the arguments it refuses, where and why. Nothing when it cannot be used.
    pub(super) fn violations(&self, input: &Value) -> Vec<String> {
        let Ok(validator) = self.compiled() else {
            return Vec::new();
        };
        // Most calls are fine, and this is the cheap question.
        if validator.is_valid(input) {
            return Vec::new();
        }
        let errors = validator.iter_errors(input).take(MAX_FINDINGS);
        let said = errors.map(|error| {
            let place = error.instance_path().to_string();
            let what = error.masked();
            if place.is_empty() {
                format!("by its schema: {what}")
            } else {
                format!("'{place}' by its schema: {what}")
            }
        });
        let mut said: Vec<String> = said.collect();
        // The library promises no order; the same call gets the same notes.
        said.sort_unstable();
        said.truncate(MAX_TOLD);
        said
    }
}

fn build(source: &Value) -> Result<Validator, String> {
    if !source.is_object() {
        return Err("has to be an object".to_owned());
    }
    let patterns = PatternOptions::regex()
        .size_limit(MAX_PATTERN)
        .dfa_size_limit(MAX_PATTERN);
    jsonschema::options()
        .with_pattern_options(patterns)
        .offline()
        .build(source)
        .map_err(|error| {
            let place = error.instance_path().to_string();
            let place = if place.is_empty() {
                place
            } else {
                format!(" at `{place}`")
            };
            let what = error.masked();
            format!("is no JSON Schema that can be used{place}: {what}")
        })
}
