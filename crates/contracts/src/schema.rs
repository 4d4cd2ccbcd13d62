//! JSON Schema of a tool, for conditions beyond the floor's own rules. Used only for a call of that tool.

use std::fmt;

use json_schema::Schema as Compiled;
use serde_json::Value;

/// Limit of findings per call.
const MAX_TOLD: usize = 5;

/// Validator of JSON Schemas. A program that must be small and start fast delegates it to another one.
pub trait Schemas: fmt::Debug {
    /// Returns the parts of the value that the schema refuses, as a JSON pointer and a reason each. Empty if the
    /// schema is invalid.
    fn violations(&self, schema: &Value, value: &Value) -> Vec<(String, String)>;
}

/// Validator in this program.
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

/// Returns why a schema is invalid.
pub(super) fn error(source: &Value) -> Option<String> {
    compiled(source).err()
}

/// Returns the parts of the arguments that the schema refuses, each with its position and reason.
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
