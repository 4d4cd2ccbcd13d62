//! Declared verifiers of a version or an audit case, and the step that runs them.

use serde_json::{Map, Value};

use super::{BadVerifier, Kind, Outcome, Verifier};
use crate::output;

/// Limit of words of a command.
const MAX_WORDS: usize = 1024;

/// Declared verifier, as in the registry, a manifest or an audit set.
#[derive(Clone, Debug, PartialEq)]
pub struct Declared {
    /// Kind of verifier.
    pub kind: Kind,
    /// Settings of the verifier.
    pub config: Map<String, Value>,
    /// Format of the output, if the contract names one.
    pub format: Option<String>,
    /// Directory of its files, if it has any.
    pub package: Option<String>,
}

/// Step that verifies an output.
#[derive(Debug)]
pub enum Step {
    /// Reading the output.
    Read(Verifier),
    /// Running a command.
    Run(Command),
}

/// Command that decides by its exit code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// Program and arguments. `{output}` and `{input}` stand for the paths of the files.
    pub words: Vec<String>,
    /// Name of the file with the output.
    pub output_file: String,
}

impl Declared {
    /// Reads the verifier of a registered version from its `verifier` and its `io_contract`; `None` if it declares
    /// none.
    ///
    /// # Errors
    /// Fails if the declaration is invalid.
    pub fn of_version(version: &Value) -> Result<Option<Self>, BadVerifier> {
        let bad = |what: String| BadVerifier(what);
        let declared = match version.get("verifier") {
            None | Some(Value::Null) => return Ok(None),
            Some(Value::Object(declared)) => declared,
            Some(_) => return Err(bad("`verifier` is no mapping".to_owned())),
        };
        let text = |key: &str| declared.get(key).and_then(Value::as_str);
        let name = text("type").ok_or_else(|| bad("`verifier.type` is missing".to_owned()))?;
        let kind = Kind::parse(name)
            .ok_or_else(|| bad(format!("`verifier.type`: `{name}` is no kind of verifier")))?;
        if let Some(condition) = text("pass_condition").filter(|condition| !kind.knows(condition)) {
            let known = kind.conditions().join("`, `");
            return Err(bad(format!(
                "`verifier.pass_condition`: `{condition}` is none of `{known}`"
            )));
        }
        let config = match declared.get("config") {
            None | Some(Value::Null) => Map::new(),
            Some(Value::Object(config)) => config.clone(),
            Some(_) => return Err(bad("`verifier.config` is no mapping".to_owned())),
        };
        let output = version
            .get("io_contract")
            .and_then(|contract| contract.get("output"));
        let format = output.and_then(|output| output.get("format")?.as_str());
        let mut declared = Self {
            kind,
            config,
            format: format.map(str::to_owned),
            package: version
                .get("package")
                .and_then(Value::as_str)
                .map(str::to_owned),
        };
        let named = output.and_then(|output| output.get("schema_ref")?.as_str());
        if let (Kind::JsonSchema, Some(named), false) = (kind, named, declared.has_schema()) {
            declared
                .config
                .insert("schema_path".to_owned(), Value::from(named));
        }
        Ok(Some(declared))
    }

    /// Returns `true` if it names a schema, inline or in a file.
    #[must_use]
    pub fn has_schema(&self) -> bool {
        ["schema", "schema_path"]
            .iter()
            .any(|key| self.config.contains_key(*key))
    }

    /// Returns the path of the schema, if the settings do not contain the schema itself.
    #[must_use]
    pub fn schema_path(&self) -> Option<&str> {
        if self.kind != Kind::JsonSchema || self.config.contains_key("schema") {
            return None;
        }
        self.config.get("schema_path")?.as_str()
    }

    /// Returns the step that verifies; `schema` is the content of [`Declared::schema_path`].
    ///
    /// # Errors
    /// Fails if the settings are invalid.
    pub fn step(&self, schema: Option<&Value>) -> Result<Step, BadVerifier> {
        match self.kind {
            Kind::JsonSchema => {
                let schema = self.config.get("schema").or(schema);
                let missing = || BadVerifier("the verifier names no schema".to_owned());
                let schema = schema.ok_or_else(missing)?;
                if self.config.get("strict_mode") != Some(&Value::Bool(true)) {
                    return Verifier::json_schema(schema).map(Step::Read);
                }
                Verifier::json_schema(&closed(schema)).map(Step::Read)
            }
            Kind::RuleCheck => Verifier::rules(&Value::Object(self.config.clone())).map(Step::Read),
            Kind::UnitTest | Kind::StaticAnalysis => self.command().map(Step::Run),
        }
    }

    fn command(&self) -> Result<Command, BadVerifier> {
        let bad = |what: &str| BadVerifier(format!("the verifier's `command` {what}"));
        let words: Vec<String> = match self.config.get("command") {
            None => return Err(bad("is missing")),
            Some(Value::String(line)) if !does_something(line) => {
                return Err(bad("does nothing, so it would pass every output"));
            }
            Some(Value::String(line)) => ["sh", "-c", line].map(str::to_owned).to_vec(),
            Some(Value::Array(words)) => words
                .iter()
                .map(|word| word.as_str().map(str::to_owned))
                .collect::<Option<_>>()
                .ok_or_else(|| bad("has a word that is no text"))?,
            Some(_) => return Err(bad("is neither text nor a list of words")),
        };
        if words.first().is_none_or(|word| word.trim().is_empty()) {
            return Err(bad("names no program"));
        }
        if words.len() > MAX_WORDS || words.iter().any(|word| word.contains('\0')) {
            return Err(bad("has too many words, or one with a zero byte"));
        }
        let json = self
            .format
            .as_ref()
            .is_some_and(|format| format.eq_ignore_ascii_case("json"));
        let usual = if json { "output.json" } else { "output.txt" };
        let named = self.config.get("output_file").and_then(Value::as_str);
        let output_file = named.unwrap_or(usual).to_owned();
        let hostile = output_file.is_empty()
            || output_file.starts_with('.')
            || output_file == "input"
            || output_file.contains(['/', '\0']);
        if hostile {
            return Err(BadVerifier(format!(
                "the verifier's `output_file`: `{output_file}` is no plain file name"
            )));
        }
        Ok(Command { words, output_file })
    }

    /// Returns the keys that the contract requires, for the refusal penalty.
    #[must_use]
    pub fn required(&self, schema: Option<&Value>) -> Vec<String> {
        let schema = self.config.get("schema").or(schema);
        let required = schema
            .and_then(|schema| schema.get("required"))
            .and_then(Value::as_array);
        required
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect()
    }

    /// Verifies an output with a verifier that reads.
    #[must_use]
    pub fn read(&self, verifier: &Verifier, output: &Value) -> Outcome {
        // A version that is checked by a schema promised JSON, whatever the contract calls it; only a format of
        // another name says that a text is meant as text.
        let format = match (self.kind, self.format.as_deref()) {
            (Kind::JsonSchema, None) => Some("json"),
            (_, format) => format,
        };
        match output::shaped(output, format) {
            Err(why) => Outcome::Fail(why),
            Ok(shaped) => verifier.verify_value(&shaped),
        }
    }
}

/// Returns `false` for a script of blank lines and comments.
fn does_something(script: &str) -> bool {
    let mut lines = script.lines().map(str::trim);
    lines.any(|line| !line.is_empty() && !line.starts_with('#'))
}

/// Returns the schema under `strict_mode`: an object has no other keys than the named ones, unless the schema says
/// so.
fn closed(schema: &Value) -> Value {
    match schema {
        Value::Array(items) => items.iter().map(closed).collect(),
        Value::Object(fields) => {
            let mut fields: Map<String, Value> = fields
                .iter()
                .map(|(key, value)| (key.clone(), closed(value)))
                .collect();
            if fields.get("properties").is_some_and(Value::is_object) {
                let no_more = fields.entry("additionalProperties");
                no_more.or_insert(Value::Bool(false));
            }
            Value::Object(fields)
        }
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn declared(version: &Value) -> Declared {
        Declared::of_version(version).unwrap().unwrap()
    }

    #[track_caller]
    fn refused(version: &Value, part: &str) {
        let error = Declared::of_version(version)
            .and_then(|declared| declared.unwrap().step(None).map(drop))
            .unwrap_err();
        assert!(error.to_string().contains(part), "{error}");
    }

    #[test]
    fn a_version_without_a_verifier_declares_none() {
        assert_eq!(Declared::of_version(&json!({})), Ok(None));
        assert_eq!(Declared::of_version(&json!({ "verifier": null })), Ok(None));
    }

    #[test]
    fn what_cannot_be_understood_is_refused() {
        refused(&json!({ "verifier": 3 }), "no mapping");
        refused(&json!({ "verifier": {} }), "type");
        refused(&json!({ "verifier": { "type": "vibes" } }), "vibes");
        refused(
            &json!({ "verifier": { "type": "rule_check", "pass_condition": "os.system('x')" } }),
            "pass_condition",
        );
        refused(&json!({ "verifier": { "type": "json_schema" } }), "schema");
        refused(&json!({ "verifier": { "type": "unit_test" } }), "command");
        for command in [
            json!([]),
            json!([""]),
            json!([" "]),
            json!(""),
            json!(" "),
            json!("# tests\n\n"),
            json!([3]),
            json!({}),
            json!(["a\u{0}"]),
        ] {
            refused(
                &json!({ "verifier": { "type": "unit_test", "config": { "command": command } } }),
                "command",
            );
        }
        for name in ["../x", "", ".bashrc", "input"] {
            refused(
                &json!({ "verifier": { "type": "unit_test", "config": { "command": "true", "output_file": name } } }),
                "output_file",
            );
        }
    }

    #[test]
    fn strict_mode_takes_no_key_that_the_schema_does_not_name() {
        let schema = json!({ "type": "object", "properties": {
            "a": { "type": "object", "properties": { "b": {} } }, "free": { "type": "object" } } });
        for (strict, output, passes) in [
            (true, json!({ "a": { "b": 1 }, "free": { "x": 1 } }), true),
            (true, json!({ "a": {}, "more": 1 }), false),
            (true, json!({ "a": { "c": 1 } }), false),
            (false, json!({ "a": { "c": 1 }, "more": 1 }), true),
        ] {
            let declared = declared(&json!({ "verifier": { "type": "json_schema",
                "config": { "schema": schema, "strict_mode": strict } } }));
            let Step::Read(verifier) = declared.step(None).unwrap() else {
                panic!("a schema is read");
            };
            assert_eq!(
                declared.read(&verifier, &output).passed(),
                passes,
                "{output}"
            );
        }
    }

    #[test]
    fn a_schema_is_found_in_the_settings_or_named_by_the_contract() {
        let inline = declared(
            &json!({ "verifier": { "type": "json_schema", "config": { "schema": { "required": ["a"] } } } }),
        );
        assert_eq!(inline.schema_path(), None);
        assert_eq!(inline.required(None), ["a"]);
        let named = declared(&json!({
            "verifier": { "type": "json_schema" },
            "io_contract": { "output": { "format": "json", "schema_ref": "out.json" } },
        }));
        assert_eq!(named.schema_path(), Some("out.json"));
        assert_eq!(named.required(Some(&json!({ "required": ["b"] }))), ["b"]);
    }

    #[test]
    fn a_text_is_read_as_the_contract_calls_it() {
        let version = |format: &str| {
            json!({
                "verifier": { "type": "json_schema", "config": { "schema": { "type": "string" } } },
                "io_contract": { "output": { "format": format } },
            })
        };
        let passes = |format: &str, output: &Value| {
            let declared = declared(&version(format));
            let Ok(Step::Read(verifier)) = declared.step(None) else {
                panic!("it reads")
            };
            declared.read(&verifier, output).passed()
        };
        assert!(passes("text", &json!("{}")));
        assert!(!passes("json", &json!("{}")));
        assert!(passes("json", &json!("\"a\"")));
        assert!(!passes("json", &json!("a")));
        assert!(!passes("text", &json!(" ")));
    }
}
