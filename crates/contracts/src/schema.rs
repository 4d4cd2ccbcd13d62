//! The JSON Schema of a tool, for what the floor's own rules cannot say. Compiled only for a call of that very tool.

use std::sync::{Arc, OnceLock};

use json_schema::Schema as Compiled;
use serde_json::Value;

/// More findings of one call are not told.
const MAX_TOLD: usize = 5;

/// One schema.
#[derive(Clone, Debug)]
pub(super) struct Schema {
    source: Value,
    compiled: OnceLock<Result<Arc<Compiled>, String>>,
}

impl Schema {
    pub(super) fn new(source: Value) -> Self {
        Self {
            source,
            compiled: OnceLock::new(),
        }
    }

    fn compiled(&self) -> Result<&Compiled, &String> {
        let compiled = self.compiled.get_or_init(|| build(&self.source));
        compiled.as_ref().map(Arc::as_ref)
    }

    /// Why it cannot be used.
    pub(super) fn error(&self) -> Option<String> {
        self.compiled().err().cloned()
    }

    /// What of the arguments it refuses, where and why. Nothing when it cannot be used.
    pub(super) fn violations(&self, input: &Value) -> Vec<String> {
        let Ok(schema) = self.compiled() else {
            return Vec::new();
        };
        let violations = schema.violations(input).into_iter();
        let proved = violations.filter(|violation| !violation.is_circle);
        let notes = proved
            .take(MAX_TOLD)
            .map(|violation| match violation.place.as_str() {
                "" => format!("by its schema: {}", violation.reason),
                place => format!("'{place}' by its schema: {}", violation.reason),
            });
        notes.collect()
    }
}

fn build(source: &Value) -> Result<Arc<Compiled>, String> {
    if !source.is_object() {
        return Err("has to be an object".to_owned());
    }
    Compiled::new(source)
        .map(Arc::new)
        .map_err(|error| format!("is no JSON Schema that can be used: {error}"))
}
