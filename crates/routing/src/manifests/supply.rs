//! Checks that a registered version is unchanged: its manifest, its weights, its signature.

use std::fs;
use std::path::{Path, PathBuf};

use selection::canonical;
use selection::manifest::{Manifest, Mode};
use serde_json::{Value, json};

use super::{MAX_MANIFEST, hash_file, parse};
use base::config::selection::Selection;
use base::files;

/// Files of a package that are read to find its manifest.
const MAX_FILES: usize = 256;

/// Checks the supply chain; returns the reason if it is broken, and the hashes that were found. A version without a
/// manifest has none.
pub fn check(written: &Value, set: &Selection) -> (Result<(), String>, Value) {
    let text = |key: &str| written.get(key).and_then(Value::as_str);
    let digests = json!({
        "manifest_hash": text("manifest_hash"), "weights_sha256": text("weights_sha256"),
        "signed_by": written.get("signed_by").cloned().unwrap_or_default(),
    });
    (holds(written, set), digests)
}

fn holds(written: &Value, set: &Selection) -> Result<(), String> {
    let text = |key: &str| written.get(key).and_then(Value::as_str);
    let registered = text("manifest_hash").ok_or("it was registered without a manifest")?;
    let package = Path::new(text("package").ok_or("it was registered without a package")?);
    let (path, value) = find(package, registered).ok_or_else(|| {
        let shown = package.display();
        format!("the manifest that was registered is not in `{shown}` any more")
    })?;
    let complete = Manifest::parse(&value, Mode::Lenient, &set.licenses);
    let manifest = complete.map_err(|problems| {
        let first = problems.first();
        let first = first.map(|one| format!("{}: {}", one.path, one.message));
        format!("`{}` {}", path.display(), first.unwrap_or_default())
    })?;
    let folder = text("artifacts").map_or(package, Path::new);
    let weights = folder.join(&manifest.weights);
    if weights.symlink_metadata().is_err() {
        let shown = weights.display();
        return Err(format!(
            "its weights `{shown}` are not there, so their hash cannot be compared"
        ));
    }
    let found = hash_file(&weights).map_err(|error| format!("{error}: {}", error.source))?;
    if format!("sha256:{found}") != manifest.weights_hash {
        return Err(format!("`{}` hashes to sha256:{found}", weights.display()));
    }
    if set.require_signature && text("signed_by").is_none() {
        return Err("its manifest carries no signature, and the settings require one".to_owned());
    }
    Ok(())
}

/// Finds the file in a package whose content has this hash.
fn find(package: &Path, hash: &str) -> Option<(PathBuf, Value)> {
    let is_document = |path: &PathBuf| {
        let ending = path.extension().and_then(|ending| ending.to_str());
        matches!(ending, Some("yaml" | "yml" | "json"))
    };
    let mut paths: Vec<PathBuf> = fs::read_dir(package)
        .ok()?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(is_document)
        .take(MAX_FILES)
        .collect();
    paths.sort();
    let read = |path: PathBuf| {
        let bytes = files::read(&path, MAX_MANIFEST).ok()?;
        let value = parse(bytes).ok()?;
        (canonical::hash(&value) == hash).then_some((path, value))
    };
    paths.into_iter().find_map(read)
}
