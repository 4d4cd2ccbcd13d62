//! A temporary workspace, and the commands of an operator in it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;

use crate::failure::{Failure, Result};
use crate::models::{ADAPTER_PRICE, Form, GENERAL, Models, PRICE};
use crate::serving;

/// Role of every scenario.
pub(crate) const ROLE: &str = "support";

/// Variables of the user that would change the behaviour of the program.
const FOREIGN: [&str; 8] = [
    "CLAUDECODE",
    "CLAUDE_CODE_ENTRYPOINT",
    "AI_AGENT",
    "XDG_STATE_HOME",
    "ROLEOS_SHADOW_K",
    "ROLEOS_SHADOW_N",
    "ROLEOS_SHADOW_TAU",
    "ROLEOS_SPECIALISTS_PATH",
];

/// A workspace, which is removed when dropped.
pub(crate) struct Place {
    folder: TempDir,
    roleos: PathBuf,
    models: Models,
}

/// Result of a command.
#[derive(Debug)]
pub(crate) struct Ran {
    /// Exit code.
    pub(crate) code: i32,
    /// Output for programs; null if it is not JSON.
    pub(crate) value: Value,
    /// Output as text.
    pub(crate) text: String,
}

/// `roleos up`, which ends when dropped.
pub(crate) struct Up {
    child: Child,
    pub(crate) url: String,
}

impl Drop for Up {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

impl Place {
    /// Creates a workspace with these models.
    pub(crate) fn new(roleos: &Path, models: &Models) -> Result<Self> {
        let folder = tempfile::Builder::new()
            .prefix("simulate-")
            .tempdir()
            .map_err(|error| Failure::of("cannot make a temporary directory", error))?;
        let place = Self {
            folder,
            roleos: roleos.to_owned(),
            models: models.clone(),
        };
        for directory in ["home", "work/.role-os"] {
            let path = place.folder.path().join(directory);
            fs::create_dir_all(&path)
                .map_err(|error| Failure::of(format!("cannot make `{}`", path.display()), error))?;
        }
        place.configure("")?;
        Ok(place)
    }

    /// Returns the root of the workspace.
    pub(crate) fn root(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    /// Writes the settings: the general model and the prices, and `more`. Everything else has its default.
    pub(crate) fn configure(&self, more: &str) -> Result<()> {
        let (input, output) = PRICE;
        let url = self.models.url();
        let (small, large) = ADAPTER_PRICE;
        let text = format!(
            "[fallback.claude]\nkind = \"openai\"\nbase_url = \"{url}\"\nmodel = \"{GENERAL}\"\n\
             usd_per_million_input = {input:?}\nusd_per_million_output = {output:?}\n\n\
             [oversight.prices.adapter]\ninput = {small:?}\noutput = {large:?}\n\n{more}"
        );
        put(&self.root().join(".role-os/config.toml"), &text)
    }

    /// Runs `roleos` and returns the result; the caller judges the exit code.
    pub(crate) fn try_roleos(&self, words: &[&str]) -> Result<Ran> {
        let mut command = self.command();
        command.arg("--json").args(words);
        let output = command
            .stdin(Stdio::null())
            .output()
            .map_err(|error| Failure::of(format!("cannot start {command:?}"), error))?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        Ok(Ran {
            code: output.status.code().unwrap_or(-1),
            value: serde_json::from_str(&text).unwrap_or_default(),
            text: text + &String::from_utf8_lossy(&output.stderr),
        })
    }

    /// Runs `roleos`, which must succeed.
    pub(crate) fn roleos(&self, words: &[&str]) -> Result<Ran> {
        let ran = self.try_roleos(words)?;
        if ran.code == 0 {
            return Ok(ran);
        }
        let line = words.join(" ");
        Err(Failure::new(format!(
            "`roleos {line}` ended with {}: {}",
            ran.code, ran.text
        )))
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.roleos);
        command
            .current_dir(self.root())
            .env("HOME", self.folder.path().join("home"))
            .arg("--root")
            .arg(self.root());
        // The results are for defaults, and no agent is above the operator.
        for name in FOREIGN {
            command.env_remove(name);
        }
        command
    }

    /// Starts `roleos up`.
    pub(crate) fn up(&self) -> Result<Up> {
        let (child, address) = serving::start(&mut self.command())?;
        Ok(Up {
            child,
            url: format!("http://{address}"),
        })
    }

    /// Writes an audit set of these inputs with their right answers.
    pub(crate) fn set(&self, name: &str, inputs: &[String]) -> Result<PathBuf> {
        let case = |input: &String| {
            let (format, config) = match self.models.form() {
                Form::Label => ("json_schema", json!({ "schema": schema() })),
                Form::Text => ("rule_check", rule()),
            };
            let truth = self.models.truth(input);
            let truth = truth
                .as_str()
                .map_or_else(|| truth.to_string(), str::to_owned);
            json!({ "input": input, "expected_format": format, "verifier_config": config, "expected_output": truth })
        };
        let set = json!({
            "audit_id": name, "version": "v1",
            "metadata": { "description": name, "created_at": "2026-01-01T00:00:00Z" },
            "test_cases": inputs.iter().map(case).collect::<Vec<_>>(),
        });
        let path = self.folder.path().join(format!("{name}.json"));
        put(&path, &set.to_string())?;
        Ok(path)
    }

    /// Writes the manifest of an adapter, with its weights beside it.
    pub(crate) fn manifest(&self, model: &str) -> Result<PathBuf> {
        let folder = self.folder.path().join(model);
        fs::create_dir_all(&folder)
            .map_err(|error| Failure::of(format!("cannot make `{}`", folder.display()), error))?;
        let weights = format!("weights of {model}\n");
        put(&folder.join("weights.bin"), &weights)?;
        put(&folder.join("answer.schema.json"), &schema().to_string())?;
        let sha = |text: &str| {
            let digest = Sha256::digest(text.as_bytes());
            let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("sha256:{hex}")
        };
        let (output, verifier) = match self.models.form() {
            Form::Label => (
                json!({ "format": "json", "schema_ref": "answer.schema.json" }),
                json!({ "type": "json_schema", "pass_condition": "schema_valid == true" }),
            ),
            Form::Text => (
                json!({ "format": "text" }),
                json!({ "type": "rule_check", "pass_condition": "rules_match == true", "config": rule() }),
            ),
        };
        let manifest = json!({
            "model_id": model, "version": "1.0.0",
            "base_model": { "model_id": "small-base", "version": "1", "base_hash": sha("base") },
            "artifacts": { "weights": { "filename": "weights.bin", "sha256": sha(&weights) } },
            "license": "MIT",
            "scope": { "tasks": ["route_ticket"], "non_scope": [] },
            "io_contract": { "input": { "max_tokens": 4096, "required_format": "text" }, "output": output },
            "verifier": verifier,
            "routing": { "tags": ["support"], "recommended_min_confidence": 0.5, "fallback": "base" },
        });
        // JSON is YAML.
        let path = folder.join("model.yaml");
        put(&path, &manifest.to_string())?;
        Ok(path)
    }

    /// Writes a version whose level was claimed elsewhere.
    pub(crate) fn claimed(&self, model: &str) -> Result<PathBuf> {
        let version = json!({
            "id": model, "adapter_id": model, "base_model": "small-base", "certified_level": "L1",
            "verifier": { "type": "json_schema", "pass_condition": "schema_valid", "config": { "schema": schema() } },
            "io_contract": { "output": { "format": "json" } },
        });
        let path = self.folder.path().join(format!("{model}.json"));
        put(&path, &version.to_string())?;
        Ok(path)
    }

    /// Registers an adapter and returns its version's id. Adapters may answer the whole role.
    pub(crate) fn register(&self, model: &str) -> Result<String> {
        let manifest = self.manifest(model)?;
        let (manifest, url) = (manifest.to_string_lossy(), self.models.url());
        self.roleos(&[
            "specialist",
            "register",
            ROLE,
            &manifest,
            "--backend-url",
            url,
        ])?;
        self.version(model)
    }

    /// Returns the id of a registered model's version.
    pub(crate) fn version(&self, model: &str) -> Result<String> {
        let registry = self.read(".role-os/specialists.json")?;
        let registry: Value = serde_json::from_str(&registry)
            .map_err(|error| Failure::of("cannot read the registry", error))?;
        let versions = registry
            .pointer("/specialists/0/versions")
            .and_then(Value::as_array);
        let found = versions
            .into_iter()
            .flatten()
            .find(|version| version.get("adapter_id").and_then(Value::as_str) == Some(model));
        let id = found.and_then(|version| version.get("id")?.as_str());
        id.map(str::to_owned)
            .ok_or_else(|| Failure::new(format!("`{model}` is not in the registry")))
    }

    /// Examines a version.
    pub(crate) fn audit(&self, version: &str, set: &Path) -> Result<Ran> {
        let subject = format!("{ROLE}/{version}");
        self.try_roleos(&["audit", "run", &subject, "--set", &set.to_string_lossy()])
    }

    /// Returns the text of a file of the workspace; empty if it does not exist.
    pub(crate) fn read(&self, name: &str) -> Result<String> {
        let path = self.root().join(name);
        match fs::read_to_string(&path) {
            Ok(text) => Ok(text),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(String::new()),
            Err(error) => Err(Failure::of(
                format!("cannot read `{}`", path.display()),
                error,
            )),
        }
    }
}

fn schema() -> Value {
    json!({
        "type": "object", "required": ["team"], "additionalProperties": false,
        "properties": { "team": { "type": "string", "minLength": 1 } },
    })
}

fn rule() -> Value {
    json!({ "rule": "regex", "pattern": "^(Summary|In short): .{20}" })
}

#[expect(
    clippy::disallowed_methods,
    reason = "a throw-away file; no process reads it half-written"
)]
pub(crate) fn put(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text)
        .map_err(|error| Failure::of(format!("cannot write `{}`", path.display()), error))
}
