//! The JSON Schema of a tool, for what the floor's own rules cannot say. Looked at only for a call of that very tool.

use std::fmt;

use json_schema::Schema as Compiled;
use serde_json::Value;

/// More findings of one call are not told.
const MAX_TOLD: usize = 5;

/// Holds values against JSON Schemas. A program that must be small and start quickly has another one do it.
pub trait Schemas: fmt::Debug {
    /// Returns which parts of the value the schema refuses, as a JSON pointer and a reason each. Nothing when the schema
    /// cannot be used.
    fn violations(&self, schema: &Value, value: &Value) -> Vec<(String, String)>;
}

/// Does it in this program.
#[derive(Clone, Copy, Debug)]
pub struct OwnSchemas;

impl Schemas for OwnSchemas {
    fn violations(&self, schema: &Value, value: &Value) -> Vec<(String, String)> {
        let Ok(schema) = compiled(schema) else {
            return Vec::new();
        };
        let violations = schema.violations(value).into_iter();
        let proved = violations.filter(|violation| !violation.is_circle);
        proved
            .take(MAX_TOLD)
            .map(|violation| (violation.place, violation.reason))
            .collect()
    }
}

/// Why a schema cannot be used.
pub(super) fn error(source: &Value) -> Option<String> {
    compiled(source).err()
}

/// Says what of the arguments the schema refuses, where and why.
pub(super) fn violations(source: &Value, input: &Value, schemas: &dyn Schemas) -> Vec<String> {
    let found = schemas.violations(source, input).into_iter();
    let notes = found
        .take(MAX_TOLD)
        .map(|(place, reason)| match place.as_str() {
            "" => format!("by its schema: {reason}"),
            place => format!("'{place}' by its schema: {reason}"),
        });
    notes.collect()
}

fn compiled(source: &Value) -> Result<Compiled, String> {
    if !source.is_object() {
        return Err("has to be an object".to_owned());
    }
    Compiled::new(source).map_err(|error| format!("is no JSON Schema that can be used: {error}"))
}
