//! Validates a value against a JSON Schema, drafts 4 to 2020-12.
//!
//! References must stay inside of the schema itself: nothing is fetched and no file is opened. Patterns run on an
//! engine that does not backtrack. Messages name positions, keywords and the requirements of the schema, never the
//! text of a value.

pub mod unique;

use std::error::Error;
use std::fmt;

use boon::{
    CompileError, Compiler, Draft, ErrorKind, SchemaIndex, Schemas, UrlLoader, ValidationError,
};
use serde_json::Value;

/// Base of relative references in a schema without `$id`. Nothing exists there.
const BASE: &str = "schema:///";

/// Limit of reported violations per value.
const MAX_VIOLATIONS: usize = 100;

/// A compiled schema.
pub struct Schema {
    schemas: Schemas,
    root: SchemaIndex,
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Schema").finish_non_exhaustive()
    }
}

/// A part of a value that the schema refuses.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Violation {
    /// JSON pointer to the part; empty for the whole value.
    pub place: String,
    /// Reason, without the value's own text.
    pub reason: String,
    /// Set if the schema is circular there, so that nothing is proved about the value.
    pub is_circle: bool,
}

impl Schema {
    /// Compiles a schema; without `$schema` it counts as draft 2020-12.
    ///
    /// # Errors
    /// Fails if it is not a schema, or refers to something outside itself.
    pub fn new(source: &Value) -> Result<Self, String> {
        let mut compiler = Compiler::new();
        compiler.set_default_draft(Draft::V2020_12);
        compiler.use_loader(Box::new(Nowhere));
        let mut schemas = Schemas::new();
        compiler
            .add_resource(BASE, source.clone())
            .map_err(|error| reason(&error))?;
        let root = compiler
            .compile(BASE, &mut schemas)
            .map_err(|error| reason(&error))?;
        Ok(Self { schemas, root })
    }

    /// Returns the violations of a value, sorted by position; empty if it is valid.
    #[must_use]
    pub fn violations(&self, value: &Value) -> Vec<Violation> {
        let mut found = Vec::new();
        if let Err(error) = self.schemas.validate(value, self.root) {
            collect(&error, &mut found);
        }
        found.sort_unstable();
        found
    }
}

/// Loader that refuses to load anything.
struct Nowhere;

impl UrlLoader for Nowhere {
    fn load(&self, _: &str) -> Result<Value, Box<dyn Error>> {
        Err("a reference leads out of the schema".into())
    }
}

/// Returns why a schema cannot be compiled.
fn reason(error: &CompileError) -> String {
    if let CompileError::ValidationError { src, .. } = error {
        let mut found = Vec::new();
        collect(src, &mut found);
        found.sort_unstable();
        if let Some(Violation { place, reason, .. }) = found.into_iter().next() {
            return format!("`{place}`: {reason}");
        }
    }
    format!("{error:#}").replace(BASE, "")
}

/// Adds the violations at the leaves of an error.
fn collect(error: &ValidationError<'_, '_>, found: &mut Vec<Violation>) {
    if found.len() >= MAX_VIOLATIONS {
        return;
    }
    let is_alternative = matches!(
        error.kind,
        ErrorKind::AnyOf | ErrorKind::OneOf(_) | ErrorKind::Not | ErrorKind::Contains
    );
    if error.causes.is_empty() || is_alternative {
        found.push(Violation {
            place: error.instance_location.to_string(),
            reason: masked(&error.kind),
            is_circle: matches!(error.kind, ErrorKind::RefCycle { .. }),
        });
        return;
    }
    for cause in &error.causes {
        collect(cause, found);
    }
}

/// Returns a reason without text of the value.
fn masked(kind: &ErrorKind<'_, '_>) -> String {
    match kind {
        ErrorKind::Pattern { want, .. } => format!("does not match pattern `{want}`"),
        ErrorKind::Format { want, .. } => format!("is not valid {want}"),
        ErrorKind::ContentEncoding { want, .. } => format!("is not {want} encoded"),
        ErrorKind::ContentMediaType { want, .. } => format!("is not of media type {want}"),
        ErrorKind::RefCycle { .. } => "the schema leads in circles".to_owned(),
        ErrorKind::FalseSchema => "is not allowed".to_owned(),
        ErrorKind::AnyOf | ErrorKind::OneOf(None) => "fits none of the alternatives".to_owned(),
        ErrorKind::OneOf(Some(_)) => "fits more than one of the alternatives".to_owned(),
        ErrorKind::Not => "fits what `not` forbids".to_owned(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn reasons(schema: &Value, value: &Value) -> Vec<(String, String)> {
        let found = Schema::new(schema).unwrap().violations(value);
        found
            .into_iter()
            .map(|one| (one.place, one.reason))
            .collect()
    }

    #[test]
    fn each_draft_is_read_by_its_own_words() {
        // `exclusiveMinimum` was a flag in draft 4 and is a bound since draft 6; tuples moved in 2020-12.
        let table = [
            (
                json!({ "$schema": "http://json-schema.org/draft-04/schema#", "minimum": 1, "exclusiveMinimum": true }),
                json!(1),
                false,
            ),
            (
                json!({ "$schema": "http://json-schema.org/draft-06/schema#", "exclusiveMinimum": 1 }),
                json!(1),
                false,
            ),
            (
                json!({ "$schema": "http://json-schema.org/draft-07/schema#", "if": { "const": 1 }, "then": false }),
                json!(1),
                false,
            ),
            (
                json!({ "$schema": "http://json-schema.org/draft-07/schema#", "items": [{ "type": "string" }] }),
                json!([1]),
                false,
            ),
            (
                json!({ "$schema": "https://json-schema.org/draft/2019-09/schema", "dependentRequired": { "a": ["b"] } }),
                json!({ "a": 1 }),
                false,
            ),
            (
                json!({ "prefixItems": [{ "type": "string" }] }),
                json!([1]),
                false,
            ),
            (
                json!({ "prefixItems": [{ "type": "string" }] }),
                json!(["a", 1]),
                true,
            ),
            (json!(false), json!(1), false),
            (json!(true), json!(1), true),
        ];
        for (schema, value, fits) in table {
            let found = reasons(&schema, &value);
            assert_eq!(found.is_empty(), fits, "{schema} {value}: {found:?}");
        }
    }

    #[test]
    fn violations_name_places_and_no_values() {
        let schema = json!({
            "type": "object",
            "required": ["id"],
            "additionalProperties": false,
            "properties": {
                "id": { "type": "integer" },
                "mail": { "pattern": "^[a-z]+$" },
                "kind": { "anyOf": [{ "const": 1 }, { "const": 2 }] }
            }
        });
        let found = reasons(&schema, &json!({ "mail": "S3CRET", "kind": 3 }));
        let places: Vec<&str> = found.iter().map(|(place, _)| place.as_str()).collect();
        assert_eq!(places, ["", "/kind", "/mail"], "{found:?}");
        assert!(
            found.iter().all(|(_, reason)| !reason.contains("S3CRET")),
            "{found:?}"
        );
        assert_eq!(
            reasons(&schema, &json!({ "id": 1, "mail": "a", "kind": 2 })),
            []
        );
    }

    #[test]
    fn nothing_outside_is_referred_to() {
        for reference in [
            "https://example.com/a.json",
            "other.json",
            "file:///etc/hostname",
            "schema:///x",
        ] {
            let schema = json!({ "$ref": reference });
            assert!(Schema::new(&schema).is_err(), "{reference}");
        }
        let inside = json!({ "$defs": { "a": { "type": "string" } }, "$ref": "#/$defs/a" });
        assert_eq!(reasons(&inside, &json!("x")), []);
        assert_eq!(reasons(&inside, &json!(1)).len(), 1);
    }

    #[test]
    fn what_is_no_schema_is_said() {
        let table = [
            (json!({ "type": "text" }), "/type"),
            (json!({ "pattern": "(" }), "/pattern"),
            (json!({ "$ref": "#/nowhere" }), "nowhere"),
            (json!({ "minLength": -1 }), "/minLength"),
            (json!({ "$schema": "https://example.com/own" }), "leads out"),
        ];
        for (schema, named) in table {
            let error = Schema::new(&schema).unwrap_err();
            assert!(error.contains(named), "{schema}: {error}");
            assert!(!error.contains(BASE), "{error}");
        }
    }

    #[test]
    fn a_schema_that_contains_itself_ends() {
        let list = json!({ "properties": { "next": { "$ref": "#" } }, "required": ["value"] });
        let deep = (0..60).fold(
            json!({ "value": 1 }),
            |next, _| json!({ "value": 1, "next": next }),
        );
        assert_eq!(reasons(&list, &deep), []);
        let circle = json!({ "$ref": "#" });
        let found = Schema::new(&circle).unwrap().violations(&json!(1));
        assert!(found.iter().all(|one| one.is_circle), "{found:?}");
        assert_eq!(found.len(), 1);
    }
}
