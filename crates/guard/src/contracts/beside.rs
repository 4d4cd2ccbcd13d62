//! JSON Schemas for a program without code for them: it queries the `roleos` in the same folder.
//!
//! A contract only gives advice, so a failed query gives none. The caller limits the time for the advice.

use std::process::Command;

use ::contracts::{OwnSchemas, Schemas};
use serde_json::{Value, json};

use base::{process, programs};

/// Bytes of an answer that are read.
const MAX_ANSWER: usize = 1 << 20;

/// Client of the `roleos` beside this program.
#[derive(Clone, Copy, Debug)]
pub struct Beside;

impl Schemas for Beside {
    fn violations(&self, schema: &Value, value: &Value) -> Vec<(String, String)> {
        let question = json!({ "schema": schema, "value": value });
        asked(&question).unwrap_or_default()
    }
}

fn asked(question: &Value) -> Option<Vec<(String, String)>> {
    let program = programs::main(&programs::running().ok()?)?;
    let question = question.to_string();
    let mut command = Command::new(program);
    let ran = process::output(command.arg("fits"), question.as_bytes(), MAX_ANSWER).ok()?;
    serde_json::from_slice(&ran.stdout.bytes).ok()
}

/// Answers such a query; `None` if the input is not one.
#[must_use]
pub fn answer(question: &[u8]) -> Option<Value> {
    let question: Value = serde_json::from_slice(question).ok()?;
    let (schema, value) = (question.get("schema")?, question.get("value")?);
    Some(json!(OwnSchemas.violations(schema, value)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_answered_as_it_is_read() {
        let schema = json!({ "properties": { "to": { "pattern": "^a" } } });
        for (value, expected) in [
            (json!({ "to": "abc" }), json!([])),
            (
                json!({ "to": "b" }),
                json!([["/to", "does not match pattern `^a`"]]),
            ),
        ] {
            let question = json!({ "schema": schema, "value": value });
            let answer = answer(question.to_string().as_bytes()).unwrap();
            assert_eq!(answer, expected);
            let read: Vec<(String, String)> = serde_json::from_value(answer).unwrap();
            assert_eq!(read, OwnSchemas.violations(&schema, &value));
        }
        for none in ["", "{}", r#"{"schema":{}}"#] {
            assert_eq!(answer(none.as_bytes()), None, "{none}");
        }
    }
}
