//! A model's manifest on disk: read, checked, and its weights hashed without holding them in memory.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use catalog::canonical;
use catalog::yaml::Document;
use rustix::fs::OFlags;
use rustix::io::Errno;
use selection::manifest::{Manifest, Mode, Problem};
use selection::verifier::Kind;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use base::files::{self, Action, FileError};

pub mod registering;
pub mod signature;
pub mod supply;

/// Longest manifest that is read.
const MAX_MANIFEST: u64 = 1024 * 1024;

/// Largest weights file that is hashed.
const MAX_WEIGHTS: u64 = 1 << 40;

/// Result of a check.
#[derive(Debug)]
pub struct Checked {
    /// The manifest, if it has no problem.
    pub manifest: Option<Manifest>,
    /// SHA-256 of its canonical JSON; `None` if it is not YAML.
    pub hash: Option<String>,
    /// All problems.
    pub problems: Vec<Problem>,
}

/// Reads and checks a manifest; with a directory of artifacts, the weights too. `licenses` replaces the allowed ones if
/// it is not empty.
///
/// # Errors
/// The file cannot be read. Mistakes in its content are problems, not errors.
pub fn check(
    path: &Path,
    artifacts: Option<&Path>,
    mode: Mode,
    licenses: &[String],
) -> Result<Checked, FileError> {
    let bytes = files::read(path, MAX_MANIFEST)?;
    let value = match parse(bytes) {
        Ok(value) => value,
        Err(message) => {
            return Ok(Checked {
                manifest: None,
                hash: None,
                problems: vec![Problem {
                    path: String::new(),
                    message,
                }],
            });
        }
    };
    let hash = Some(selection::canonical::hash(&value));
    Ok(match Manifest::parse(&value, mode, licenses) {
        Err(problems) => Checked {
            manifest: None,
            hash,
            problems,
        },
        Ok(manifest) => {
            let problems = artifacts.map_or_else(Vec::new, |folder| weights(&manifest, folder));
            Checked {
                manifest: problems.is_empty().then_some(manifest),
                hash,
                problems,
            }
        }
    })
}

/// Parses the YAML dialect of the catalog into JSON; JSON itself is YAML.
///
/// # Errors
/// It is not such a document; the error has the position.
pub fn parse(bytes: Vec<u8>) -> Result<Value, String> {
    let document = Document::parse(bytes).map_err(|broken| {
        let place = broken.source.position(broken.error.offset);
        let (line, column) = (place.line, place.column);
        format!("line {line}, column {column}: {}", broken.error.what)
    })?;
    serde_json::from_str(&canonical::json(document.root())).map_err(|error| error.to_string())
}

fn weights(manifest: &Manifest, folder: &Path) -> Vec<Problem> {
    let path = folder.join(&manifest.weights);
    let problem = |path: &str, message: String| {
        vec![Problem {
            path: path.to_owned(),
            message,
        }]
    };
    match hash_file(&path) {
        Err(error) => problem(
            "artifacts.weights.filename",
            format!("{error}: {}", error.source),
        ),
        Ok(found) if format!("sha256:{found}") == manifest.weights_hash => Vec::new(),
        Ok(found) => problem(
            "artifacts.weights.sha256",
            format!("`{}` hashes to sha256:{found}", path.display()),
        ),
    }
}

/// Computes the SHA-256 of a file in pieces. A symbolic link is not followed: the author of the package could choose
/// any file of this machine.
///
/// # Errors
/// It cannot be read, is a link or not a file, or is larger than a terabyte.
pub fn hash_file(path: &Path) -> Result<String, FileError> {
    let failed = |source: io::Error| FileError::new(Action::Read, path, source);
    let file = open_regular(path).map_err(failed)?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 1 << 20];
    let mut rest = file.take(MAX_WEIGHTS + 1);
    let mut length = 0_u64;
    loop {
        let count = rest.read(&mut buffer).map_err(failed)?;
        if count == 0 {
            return Ok(hex::encode(hasher.finalize()));
        }
        length += count as u64;
        if length > MAX_WEIGHTS {
            return Err(failed(io::Error::new(
                io::ErrorKind::FileTooLarge,
                "it is larger than a terabyte",
            )));
        }
        hasher.update(buffer.get(..count).unwrap_or_default());
    }
}

/// Opens a regular file without waiting, and without following a link.
fn open_regular(path: &Path) -> io::Result<File> {
    let refuse = |why: &str| io::Error::new(io::ErrorKind::InvalidInput, why.to_owned());
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = match rustix::fs::open(path, flags, rustix::fs::Mode::empty()) {
        Ok(file) => File::from(file),
        Err(Errno::LOOP) => {
            return Err(refuse(
                "it is a symbolic link, and none is followed here; put the file itself there",
            ));
        }
        Err(error) => return Err(error.into()),
    };
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(refuse("it is not a regular file")),
    }
}

/// Returns the problem if the verifier's schema is not beside the manifest.
#[must_use]
pub fn missing_schema(manifest_path: &Path, manifest: &Manifest) -> Option<Problem> {
    if manifest.verifier != Kind::JsonSchema || manifest.verifier_config.contains_key("schema") {
        return None;
    }
    let path = schema_path(manifest_path, manifest);
    let message = match path.map(|path| (path.is_file(), path)) {
        Some((true, _)) => return None,
        Some((false, path)) => format!("`{}` is not there", path.display()),
        None => "name a schema that lies beside the manifest".to_owned(),
    };
    Some(Problem {
        path: "io_contract.output.schema_ref".to_owned(),
        message,
    })
}

/// Returns the schema that a manifest's verifier needs; only the manifest's folder is searched.
#[must_use]
pub fn schema_path(manifest_path: &Path, manifest: &Manifest) -> Option<PathBuf> {
    let named = manifest
        .verifier_config
        .get("schema_path")
        .and_then(Value::as_str)
        .or(manifest.schema_ref.as_deref())?;
    let inside = Path::new(named)
        .components()
        .all(|part| matches!(part, std::path::Component::Normal(_)));
    inside.then(|| manifest_path.parent().unwrap_or(Path::new(".")).join(named))
}
