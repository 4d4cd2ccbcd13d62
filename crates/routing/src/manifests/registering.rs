//! Converts a manifest or a version's file for the registry: its declarations and the schema, so that the version stays
//! the same when its folder changes.

use std::path::Path;

use selection::candidates::Declaration;
use selection::manifest::{Manifest, Mode, Problem};
use selection::verifier::Kind;
use serde_json::{Map, Value, json};
use witness::key::PublicKey;

use super::signature::{self, Signed};
use super::{check, parse};
use crate::verifiers::{self, Verifiers};
use base::config::selection::Selection;
use base::files::{self, FileError};

/// Largest manifest or version file.
const MAX_FILE: u64 = 16 * 1024 * 1024;

/// Groups of a manifest that a contest needs; they are stored as written.
const GROUPS: [&str; 4] = ["scope", "io_contract", "verifier", "routing"];

/// Error of registering a version.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RegisterError {
    /// A file operation failed.
    #[error(transparent)]
    File(#[from] FileError),
    /// It is neither JSON nor YAML.
    #[error("cannot read `{path}`: {why}")]
    Unreadable {
        path: String,
        /// Error of parsing.
        why: String,
    },
    /// The manifest is invalid.
    #[error("the manifest `{path}` cannot be registered")]
    Manifest {
        path: String,
        /// All problems.
        problems: Vec<Problem>,
    },
    /// Its verifier cannot be created.
    #[error("the verifier that `{path}` declares cannot be used: {why}")]
    Verifier {
        path: String,
        /// Reason.
        why: String,
    },
    /// The signature is missing or bad.
    #[error("the manifest `{path}` {why}")]
    Signature {
        path: String,
        /// Reason.
        why: String,
    },
}

/// Options for reading a file.
#[derive(Clone, Copy, Debug)]
pub struct How<'a> {
    /// The pin, if it is not the model's id.
    pub adapter_id: Option<&'a str>,
    /// Folder with the weights; by default, beside the manifest.
    pub artifacts: Option<&'a Path>,
    /// Strictness of parsing.
    pub mode: Mode,
    /// The settings.
    pub set: &'a Selection,
    /// Trusted signers.
    pub signers: &'a [PublicKey],
}

/// A version that can be registered.
#[derive(Clone, Debug, PartialEq)]
pub struct Entering {
    /// The version, as the registry will store it.
    pub version: Value,
    /// Warnings for people.
    pub warnings: Vec<String>,
    /// Set if it came with a manifest.
    pub manifest: bool,
}

/// Reads a manifest or a version's file.
///
/// # Errors
/// It cannot be read, or is invalid.
pub fn read(path: &Path, how: How<'_>) -> Result<Entering, RegisterError> {
    let bytes = files::read(path, MAX_FILE)?;
    let is_json = path.extension().is_some_and(|ending| ending == "json");
    let (value, is_manifest) = match serde_json::from_slice::<Value>(&bytes) {
        // A version has an id and names its base; a manifest describes it.
        Ok(value) => {
            let has = |key: &str| value.get(key).is_some();
            let declares = ["model_id", "artifacts", "io_contract"];
            let is_manifest = !has("id") && declares.into_iter().any(has);
            (value, is_manifest || !is_json)
        }
        Err(error) if is_json => {
            return Err(RegisterError::Unreadable {
                path: path.display().to_string(),
                why: format!("it is no JSON: {error}"),
            });
        }
        Err(_) => {
            let value = parse(bytes.clone()).map_err(|why| RegisterError::Unreadable {
                path: path.display().to_string(),
                why,
            })?;
            (value, true)
        }
    };
    if is_manifest {
        of_manifest(path, &bytes, &value, how)
    } else {
        of_version(path, value, how)
    }
}

fn folder(path: &Path) -> String {
    real(files::parent(path))
}

fn real(folder: &Path) -> String {
    let real = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    real.to_string_lossy().into_owned()
}

fn of_manifest(
    path: &Path,
    bytes: &[u8],
    value: &Value,
    how: How<'_>,
) -> Result<Entering, RegisterError> {
    let named = path.display().to_string();
    let mut warnings = Vec::new();
    let wrong = |problems: Vec<Problem>| RegisterError::Manifest {
        path: named.clone(),
        problems,
    };
    let manifest = Manifest::parse(value, how.mode, &how.set.licenses).map_err(wrong)?;
    let beside = files::parent(path);
    let weights = how.artifacts.unwrap_or(beside).join(&manifest.weights);
    let has_weights = how.artifacts.is_some() || weights.symlink_metadata().is_ok();
    if has_weights {
        let folder = how.artifacts.unwrap_or(beside);
        let checked = check(path, Some(folder), how.mode, &how.set.licenses)?;
        if !checked.problems.is_empty() {
            return Err(wrong(checked.problems));
        }
    } else {
        warnings.push(format!(
            "the weights `{}` are not here, so their hash was not checked; `--artifacts DIR` says where they are",
            manifest.weights
        ));
    }
    let signed = signature::check(path, bytes, &manifest.hash, how.signers)?;
    let signed_by = match signed {
        Signed::By(key) => Some(key),
        Signed::Not if how.set.require_signature => {
            return Err(RegisterError::Signature {
                path: named,
                why: "carries no signature, and `[selection] require_signature` is set".to_owned(),
            });
        }
        Signed::Not => None,
        Signed::Bad(why) => {
            return Err(RegisterError::Signature { path: named, why });
        }
    };
    let mut version = json!({
        "id": manifest.hash,
        "adapter_id": how.adapter_id.unwrap_or(&manifest.model_id),
        "model_id": manifest.model_id,
        "model_version": manifest.version,
        "base_model": manifest.base_model_id,
        "base_hash": manifest.base_hash,
        "manifest_hash": manifest.hash,
        "weights_sha256": manifest.weights_hash,
        "weights_checked": has_weights,
        "license": manifest.license,
        "signed_by": signed_by,
        "package": folder(path),
    });
    if let Some(object) = version.as_object_mut() {
        if let Some(artifacts) = how.artifacts {
            object.insert("artifacts".to_owned(), json!(real(artifacts)));
        }
        for group in GROUPS {
            let kept = value.get(group).cloned().unwrap_or_default();
            object.insert(group.to_owned(), kept);
        }
    }
    settle_verifier(path, &mut version)?;
    Ok(Entering {
        version,
        warnings,
        manifest: true,
    })
}

fn of_version(path: &Path, mut version: Value, how: How<'_>) -> Result<Entering, RegisterError> {
    if let Some(object) = version.as_object_mut() {
        if let Some(adapter_id) = how.adapter_id {
            object.insert("adapter_id".to_owned(), json!(adapter_id));
        }
        if object.get("verifier").is_some_and(Value::is_object) && !object.contains_key("package") {
            object.insert("package".to_owned(), json!(folder(path)));
        }
    }
    settle_verifier(path, &mut version)?;
    Ok(Entering {
        version,
        warnings: Vec::new(),
        manifest: false,
    })
}

/// Creates the declared verifier once, to check that this works, and adds its schema.
fn settle_verifier(path: &Path, version: &mut Value) -> Result<(), RegisterError> {
    let bad = |why: String| RegisterError::Verifier {
        path: path.display().to_string(),
        why,
    };
    let declared = Declaration::of(version)
        .verifier
        .map_err(|error| bad(error.to_string()))?;
    let Some(mut declared) = declared else {
        return Ok(());
    };
    if let (Kind::JsonSchema, Some(named)) = (declared.kind, declared.schema_path()) {
        let named = named.to_owned();
        let schema = verifiers::read_schema(declared.package.as_deref(), &named).map_err(bad)?;
        let resolved = verifiers::inside(declared.package.as_deref(), &named).map_err(bad)?;
        let config = &mut declared.config;
        config.insert("schema".to_owned(), schema);
        config.insert("schema_path".to_owned(), json!(resolved.to_string_lossy()));
        let kept = version
            .get_mut("verifier")
            .and_then(Value::as_object_mut)
            .map(|verifier: &mut Map<String, Value>| {
                verifier.insert("config".to_owned(), Value::Object(config.clone()))
            });
        drop(kept);
    }
    Verifiers::new(&Selection::default())
        .ready(&declared)
        .map(drop)
        .map_err(bad)
}
