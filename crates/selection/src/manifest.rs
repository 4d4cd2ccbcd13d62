//! Manifest of a model, `model.yaml`: checked as a whole, every problem with its path. The caller reads the YAML.
//!
//! The strict mode is the published schema; the lenient one also takes dots in `model_id`, as in the published
//! examples. Unknown keys are kept and count for the hash.

use serde_json::{Map, Value};

use crate::canonical;
use crate::verifier::Kind;
use crate::version::semantic;

mod problem;

pub use problem::Problem;

/// Licences that the published schema allows.
pub const LICENSES: &[&str] = &["Apache-2.0", "MIT", "BSD-2-Clause", "BSD-3-Clause"];

/// Strictness of the parser.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// The published schema.
    #[default]
    Strict,
    /// Dots in ids as well.
    Lenient,
}

/// Target of a failed contest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fallback {
    /// The base model.
    Base,
    /// The structured "unsure" answer.
    Unsure,
    /// A model by its id.
    Model(String),
}

/// A manifest without problems.
#[derive(Clone, Debug, PartialEq)]
pub struct Manifest {
    pub model_id: String,
    pub version: String,
    /// Id of the base model.
    pub base_model_id: String,
    /// SHA-256 of the base model, with its prefix.
    pub base_hash: String,
    /// File name of the weights, one path segment.
    pub weights: String,
    /// SHA-256 of that file, with its prefix.
    pub weights_hash: String,
    pub license: String,
    /// Tasks in scope.
    pub tasks: Vec<String>,
    /// Tasks out of scope.
    pub non_scope: Vec<String>,
    /// Limit of input tokens.
    pub max_input_tokens: u64,
    /// Format of the output, `json` or another.
    pub output_format: String,
    /// Path of the output's schema, relative to the manifest.
    pub schema_ref: Option<String>,
    /// Kind of verifier.
    pub verifier: Kind,
    /// Settings of the verifier.
    pub verifier_config: Map<String, Value>,
    /// Routing tags.
    pub tags: Vec<String>,
    /// Least confidence of the selector.
    pub min_confidence: f64,
    /// Fallback when the model fails.
    pub fallback: Fallback,
    /// SHA-256 of the canonical JSON of the whole manifest.
    pub hash: String,
}

impl Manifest {
    /// Parses a manifest.
    ///
    /// # Errors
    /// Returns all problems, in the order of the schema. `licenses` replaces the list of allowed licences if it is
    /// not empty.
    pub fn parse(value: &Value, mode: Mode, licenses: &[String]) -> Result<Self, Vec<Problem>> {
        let mut reader = Reader {
            problems: Vec::new(),
        };
        let Value::Object(whole) = value else {
            reader.problem("", "is no mapping");
            return Err(reader.problems);
        };
        let manifest = reader.whole(whole, mode, licenses, canonical::hash(value));
        reader.problems = problem::outermost(reader.problems);
        if reader.problems.is_empty() {
            Ok(manifest)
        } else {
            Err(reader.problems)
        }
    }
}

/// Reader that collects problems; a missing value becomes an empty one, which never reaches the caller.
struct Reader {
    problems: Vec<Problem>,
}

impl Reader {
    fn problem(&mut self, path: &str, message: impl Into<String>) {
        self.problems.push(Problem {
            path: path.to_owned(),
            message: message.into(),
        });
    }

    fn whole(
        &mut self,
        whole: &Map<String, Value>,
        mode: Mode,
        licenses: &[String],
        hash: String,
    ) -> Manifest {
        let model_id = self.text(whole, "", "model_id");
        self.check_id(&model_id, mode);
        let version = self.text(whole, "", "version");
        self.check_version(&version);
        let base = self.object(whole, "", "base_model");
        let base_model_id = self.text(&base, "base_model", "model_id");
        self.text(&base, "base_model", "version");
        let base_hash = self.digest(&base, "base_model", "base_hash");
        let artifacts = self.object(whole, "", "artifacts");
        let weights_of = self.object(&artifacts, "artifacts", "weights");
        let weights = self.text(&weights_of, "artifacts.weights", "filename");
        self.check_file("artifacts.weights.filename", &weights);
        let weights_hash = self.digest(&weights_of, "artifacts.weights", "sha256");
        let license = self.license(whole, licenses);
        let scope = self.object(whole, "", "scope");
        let tasks = self.texts(&scope, "scope", "tasks", 1);
        let non_scope = self.texts(&scope, "scope", "non_scope", 0);
        let contract = self.object(whole, "", "io_contract");
        let input = self.object(&contract, "io_contract", "input");
        let max_input_tokens = self.tokens(&input);
        self.text(&input, "io_contract.input", "required_format");
        let output = self.object(&contract, "io_contract", "output");
        let output_format = self.text(&output, "io_contract.output", "format");
        let schema_ref = self.optional_text(&output, "io_contract.output", "schema_ref");
        let (verifier, verifier_config) = self.verifier(whole, schema_ref.as_deref());
        let routing = self.object(whole, "", "routing");
        let tags = self.texts(&routing, "routing", "tags", 1);
        let min_confidence = self.confidence(&routing);
        let fallback = self.fallback(&routing);
        self.metadata(whole);
        Manifest {
            model_id,
            version,
            base_model_id,
            base_hash,
            weights,
            weights_hash,
            license,
            tasks,
            non_scope,
            max_input_tokens,
            output_format,
            schema_ref,
            verifier,
            verifier_config,
            tags,
            min_confidence,
            fallback,
            hash,
        }
    }

    fn get<'a>(
        &mut self,
        of: &'a Map<String, Value>,
        parent: &str,
        key: &str,
    ) -> Option<&'a Value> {
        let found = of.get(key);
        if found.is_none() {
            self.problem(&join(parent, key), "is missing");
        }
        found
    }

    fn text(&mut self, of: &Map<String, Value>, parent: &str, key: &str) -> String {
        match self.get(of, parent, key) {
            Some(Value::String(text)) => text.clone(),
            Some(other) => {
                self.problem(
                    &join(parent, key),
                    format!("is {}, not text", name_of(other)),
                );
                String::new()
            }
            None => String::new(),
        }
    }

    fn optional_text(
        &mut self,
        of: &Map<String, Value>,
        parent: &str,
        key: &str,
    ) -> Option<String> {
        of.contains_key(key).then(|| self.text(of, parent, key))
    }

    fn object(&mut self, of: &Map<String, Value>, parent: &str, key: &str) -> Map<String, Value> {
        match self.get(of, parent, key) {
            Some(Value::Object(object)) => object.clone(),
            Some(other) => {
                self.problem(
                    &join(parent, key),
                    format!("is {}, not a mapping", name_of(other)),
                );
                Map::new()
            }
            None => Map::new(),
        }
    }

    fn texts(
        &mut self,
        of: &Map<String, Value>,
        parent: &str,
        key: &str,
        least: usize,
    ) -> Vec<String> {
        let path = join(parent, key);
        let items = match self.get(of, parent, key) {
            Some(Value::Array(items)) => items.as_slice(),
            Some(other) => {
                self.problem(&path, format!("is {}, not a list", name_of(other)));
                return Vec::new();
            }
            None => return Vec::new(),
        };
        if items.len() < least {
            self.problem(&path, "is empty");
        }
        let mut texts = Vec::new();
        for (index, item) in items.iter().enumerate() {
            match item {
                Value::String(text) => texts.push(text.clone()),
                other => self.problem(
                    &format!("{path}[{index}]"),
                    format!("is {}, not text", name_of(other)),
                ),
            }
        }
        texts
    }

    fn digest(&mut self, of: &Map<String, Value>, parent: &str, key: &str) -> String {
        let before = self.problems.len();
        let text = self.text(of, parent, key);
        let good = text.strip_prefix("sha256:").is_some_and(|digits| {
            digits.len() == 64
                && digits
                    .bytes()
                    .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        });
        if !good && self.problems.len() == before {
            self.problem(
                &join(parent, key),
                format!("`{text}` is not `sha256:` and 64 hex digits in lower case"),
            );
        }
        text
    }

    fn check_id(&mut self, id: &str, mode: Mode) {
        let inner = |byte: u8| byte == b'-' || (mode == Mode::Lenient && byte == b'.');
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let bytes = id.as_bytes();
        let good = bytes.len() >= 2
            && bytes.first().copied().is_some_and(plain)
            && bytes.last().copied().is_some_and(plain)
            && bytes.iter().all(|byte| plain(*byte) || inner(*byte))
            && !id.contains("..");
        if !good && !id.is_empty() {
            let dots = if mode == Mode::Strict && id.contains('.') {
                "; `--lenient` takes dots"
            } else {
                ""
            };
            self.problem(
                "model_id",
                format!(
                    "`{id}` is not lower-case letters, digits and inner hyphens, two or more{dots}"
                ),
            );
        } else if id.is_empty()
            && !self
                .problems
                .iter()
                .any(|problem| problem.path == "model_id")
        {
            self.problem("model_id", "is empty");
        }
    }

    fn check_version(&mut self, version: &str) {
        if self
            .problems
            .iter()
            .any(|problem| problem.path == "version")
        {
            return;
        }
        if semantic(version).is_none() {
            self.problem(
                "version",
                format!("`{version}` is no semantic version like `1.0.0`"),
            );
        }
    }

    /// Checks that a name is one path segment, so that a manifest cannot point out of its package.
    fn check_file(&mut self, path: &str, name: &str) {
        let hostile = name.contains(['/', '\\', '\0']) || matches!(name, "." | "..");
        if hostile {
            self.problem(path, format!("`{name}` is no plain file name"));
        } else if name.is_empty() && !self.problems.iter().any(|problem| problem.path == path) {
            self.problem(path, "is empty");
        }
    }

    fn license(&mut self, whole: &Map<String, Value>, licenses: &[String]) -> String {
        let before = self.problems.len();
        let license = self.text(whole, "", "license");
        let allowed = if licenses.is_empty() {
            LICENSES.contains(&license.as_str())
        } else {
            licenses.contains(&license)
        };
        if !allowed && self.problems.len() == before {
            let list = if licenses.is_empty() {
                LICENSES.join(", ")
            } else {
                licenses.join(", ")
            };
            self.problem("license", format!("`{license}` is none of {list}"));
        }
        license
    }

    fn tokens(&mut self, input: &Map<String, Value>) -> u64 {
        let path = "io_contract.input.max_tokens";
        match self.get(input, "io_contract.input", "max_tokens") {
            Some(value) => value
                .as_u64()
                .filter(|tokens| *tokens >= 1)
                .unwrap_or_else(|| {
                    self.problem(path, format!("`{value}` is no whole number from 1 up"));
                    0
                }),
            None => 0,
        }
    }

    fn verifier(
        &mut self,
        whole: &Map<String, Value>,
        schema_ref: Option<&str>,
    ) -> (Kind, Map<String, Value>) {
        let declared = self.object(whole, "", "verifier");
        let before = self.problems.len();
        let name = self.text(&declared, "verifier", "type");
        let kind = Kind::parse(&name);
        if kind.is_none() && self.problems.len() == before {
            let all: Vec<&str> = Kind::ALL.iter().map(|kind| kind.as_str()).collect();
            self.problem(
                "verifier.type",
                format!("`{name}` is none of {}", all.join(", ")),
            );
        }
        let before = self.problems.len();
        let condition = self.text(&declared, "verifier", "pass_condition");
        if let Some(kind) = kind
            && self.problems.len() == before
            && !kind.knows(&condition)
        {
            self.problem(
                "verifier.pass_condition",
                format!(
                    "`{condition}` is none of `{}`",
                    kind.conditions().join("`, `")
                ),
            );
        }
        let config = match declared.get("config") {
            None => Map::new(),
            Some(Value::Object(config)) => config.clone(),
            Some(other) => {
                self.problem(
                    "verifier.config",
                    format!("is {}, not a mapping", name_of(other)),
                );
                Map::new()
            }
        };
        let inline = config.contains_key("schema") || config.contains_key("schema_path");
        if kind == Some(Kind::JsonSchema) && schema_ref.is_none() && !inline {
            self.problem(
                "io_contract.output.schema_ref",
                "is missing, and `verifier.config` has no schema either",
            );
        }
        (kind.unwrap_or(Kind::RuleCheck), config)
    }

    fn confidence(&mut self, routing: &Map<String, Value>) -> f64 {
        match self.get(routing, "routing", "recommended_min_confidence") {
            Some(value) => value
                .as_f64()
                .filter(|number| (0.0..=1.0).contains(number))
                .unwrap_or_else(|| {
                    self.problem(
                        "routing.recommended_min_confidence",
                        format!("`{value}` is no number from 0 to 1"),
                    );
                    0.0
                }),
            None => 0.0,
        }
    }

    fn fallback(&mut self, routing: &Map<String, Value>) -> Fallback {
        let name = self.text(routing, "routing", "fallback");
        match name.as_str() {
            "base" => Fallback::Base,
            "unsure" => Fallback::Unsure,
            _ => Fallback::Model(name),
        }
    }

    fn metadata(&mut self, whole: &Map<String, Value>) {
        let Some(metadata) = whole.get("metadata") else {
            return;
        };
        let Value::Object(metadata) = metadata else {
            self.problem(
                "metadata",
                format!("is {}, not a mapping", name_of(metadata)),
            );
            return;
        };
        for key in ["author", "description"] {
            self.optional_text(metadata, "metadata", key);
        }
        if let Some(value) = metadata.get("training_data")
            && !value.is_object()
        {
            self.problem(
                "metadata.training_data",
                format!("is {}, not a mapping", name_of(value)),
            );
        }
        if metadata.contains_key("known_limitations") {
            self.texts(metadata, "metadata", "known_limitations", 0);
        }
    }
}

fn join(parent: &str, key: &str) -> String {
    if parent.is_empty() {
        key.to_owned()
    } else {
        format!("{parent}.{key}")
    }
}

fn name_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "empty",
        Value::Bool(_) => "a truth value",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a mapping",
    }
}

#[cfg(test)]
mod tests;
