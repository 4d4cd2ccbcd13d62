//! The `specialist:` blocks of installed roles: read for the gate, and updated with the registry's pointer. A role is
//! identified by its slug first, then by its name.
//!
//! An unreadable role file may contain `specialist: null`, so it counts as if it did.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use ::catalog::installed::{self, Installed};
use ::catalog::yaml::{Document, Kind, MAX_BYTES, Node};
use ::specialist::registry::Entry;
use ::specialist::role_block::RoleBlock;
use serde_json::{Map, Value, json};

use super::{Specialists, Stamp};
use base::files::{self, Lock, Privacy};

/// Content of one file.
#[derive(Clone, Debug)]
struct Said {
    /// Name by which the file identifies a role before any other: the slug, or the beginning of an unreadable file's
    /// name.
    slug: Option<String>,
    name: String,
    block: RoleBlock,
}

/// The folder, and the content of its files when they were last read.
#[derive(Debug)]
pub(super) struct RoleBlocks {
    folder: PathBuf,
    known: Mutex<BTreeMap<PathBuf, (Stamp, Said)>>,
}

impl Specialists {
    /// Returns the role files that do not let the adapter serve, though a version is active.
    #[must_use]
    pub fn files_without_block(&self, role: &str) -> Vec<PathBuf> {
        self.blocks.with(role, &RoleBlock::Absent)
    }

    /// Returns the role files that switch adapters off, by their block or because they are unreadable.
    #[must_use]
    pub fn files_that_switch_off(&self, role: &str) -> Vec<PathBuf> {
        self.blocks.with(role, &RoleBlock::Off)
    }
}

impl RoleBlocks {
    pub(super) fn new(folder: PathBuf) -> Self {
        Self {
            folder,
            known: Mutex::default(),
        }
    }

    /// Returns the combined block of the role's files: one that switches off wins, two that differ match nothing. A
    /// role without a file leaves it to the registry.
    pub(super) fn of(&self, role: &str) -> RoleBlock {
        let meant = self.meant(role);
        let mut blocks = meant.iter().map(|(_, said)| &said.block);
        let Some(first) = blocks.next() else {
            return RoleBlock::NoFile;
        };
        let rest: Vec<&RoleBlock> = blocks.collect();
        for off in [RoleBlock::Off, RoleBlock::Absent] {
            if *first == off || rest.contains(&&off) {
                return off;
            }
        }
        if rest.iter().any(|block| *block != first) {
            let why = "the role's files of different languages disagree";
            return RoleBlock::Unreadable(why.to_owned());
        }
        first.clone()
    }

    /// Returns the role's files with this block.
    pub(super) fn with(&self, role: &str, block: &RoleBlock) -> Vec<PathBuf> {
        let meant = self.meant(role).into_iter();
        let with = meant.filter(|(_, said)| said.block == *block);
        with.map(|(path, _)| path).collect()
    }

    /// Writes the block of the active version into the role's files, or removes it if none is active. A file with
    /// `specialist: null` stays as it is: its author switched the specialist off. Returns the files that changed.
    pub(super) fn write(&self, entry: &Entry) -> Result<Vec<PathBuf>, String> {
        let meant = self.meant(&entry.role);
        if meant.is_empty() {
            return Ok(Vec::new());
        }
        let told = |path: &Path, why: &str| format!("cannot write `{}`: {why}", path.display());
        let lock = self.folder.join(".lock");
        let _lock = Lock::take(&lock).map_err(|error| told(&lock, &error.source.to_string()))?;
        let block = entry.active().ok().flatten().map(|version| {
            let fields = [
                ("backend_url", json!(entry.backend_url)),
                ("adapter_id", json!(version.adapter_id)),
                ("gate_threshold", json!(version.gate_threshold)),
                ("fallback", json!("claude")),
                ("workload_quota", json!(entry.workload_quota)),
                (
                    "certified_level",
                    json!(version.certified_level.to_string()),
                ),
            ];
            let lines = fields.map(|(key, value)| format!("  {key}: {value}\n"));
            format!("specialist:\n{}", lines.concat())
        });
        let mut changed = Vec::new();
        for (path, said) in meant {
            if said.block == RoleBlock::Off {
                continue;
            }
            let bytes = files::read(&path, MAX_BYTES as u64)
                .map_err(|error| told(&path, &error.source.to_string()))?;
            let text = installed::with_extra(&bytes, "specialist", block.as_deref())
                .map_err(|why| told(&path, &why))?;
            if text.as_bytes() != bytes {
                files::write(&path, text.as_bytes(), Privacy::Shared)
                    .map_err(|error| told(&path, &error.source.to_string()))?;
                changed.push(path);
            }
        }
        Ok(changed)
    }

    /// Returns the files of a role.
    fn meant(&self, role: &str) -> Vec<(PathBuf, Said)> {
        let all = self.all();
        let by_slug = |said: &Said| said.slug.as_deref() == Some(role);
        let has_slug = all.iter().any(|(_, said)| by_slug(said));
        let is_meant = |said: &Said| match has_slug {
            true => by_slug(said),
            false => said.name == role,
        };
        all.into_iter().filter(|(_, said)| is_meant(said)).collect()
    }

    fn all(&self) -> Vec<(PathBuf, Said)> {
        let Ok(entries) = files::read_dir(&self.folder) else {
            return Vec::new();
        };
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let mut found = Vec::new();
        for entry in entries.flatten() {
            let path = entry.path();
            let is_role = |extension: &std::ffi::OsStr| extension == "yaml" || extension == "yml";
            if !path.extension().is_some_and(is_role) {
                continue;
            }
            let stamp = Stamp::of(&path);
            let said = match (stamp, known.get(&path)) {
                (Some(stamp), Some((old, said))) if stamp == *old => said.clone(),
                _ => {
                    let said = read(&path);
                    if let Some(stamp) = stamp {
                        known.insert(path.clone(), (stamp, said.clone()));
                    }
                    said
                }
            };
            found.push((path, said));
        }
        found
    }
}

/// Reads a file. One that is not a role, or not where `roleos` looks for roles, switches off the role that it seems to
/// be.
fn read(path: &Path) -> Said {
    let bytes = files::read(path, MAX_BYTES as u64).unwrap_or_default();
    let role = match Installed::parse(bytes.clone()) {
        Ok(role)
            if path
                .extension()
                .is_some_and(|extension| extension == "yaml") =>
        {
            role
        }
        Ok(role) => {
            let said = said_by(role);
            return Said {
                block: RoleBlock::Off,
                ..said
            };
        }
        Err(_) => return guess(path, &bytes),
    };
    said_by(role)
}

fn said_by(role: Installed) -> Said {
    Said {
        slug: role.source.map(|source| source.slug),
        name: role.content.name,
        block: block(role.extras),
    }
}

/// Guesses the role of an unreadable file from its `slug:` and `name:` lines, else from its file name.
fn guess(path: &Path, bytes: &[u8]) -> Said {
    let text = String::from_utf8_lossy(bytes);
    let value = |key: &str| {
        let line = text.lines().find_map(|line| {
            let rest = line.trim_start().strip_prefix(key)?;
            rest.strip_prefix(':')
        });
        let value = line?.trim().trim_matches(['"', '\'']);
        (!value.is_empty()).then(|| value.to_owned())
    };
    let file = path.file_name().unwrap_or_default().to_string_lossy();
    let stem = file.split('.').next().unwrap_or_default().to_owned();
    Said {
        slug: Some(value("slug").unwrap_or_else(|| stem.clone())),
        name: value("name").unwrap_or(stem),
        block: RoleBlock::Off,
    }
}

fn block(extras: String) -> RoleBlock {
    if extras.is_empty() {
        return RoleBlock::Absent;
    }
    let Ok(document) = Document::parse(extras.into_bytes()) else {
        return RoleBlock::Off;
    };
    let value = document.root().get("specialist").map(to_json);
    RoleBlock::read(value.as_ref())
}

fn to_json(node: Node<'_>) -> Value {
    match node.kind() {
        Kind::Null => Value::Null,
        Kind::Bool(value) => Value::Bool(value),
        Kind::Number(number) => serde_json::Number::from_f64(number).into(),
        Kind::Text(text) => Value::String(text.to_owned()),
        Kind::List => node.items().map(to_json).collect(),
        Kind::Map => {
            let entries = node.entries().filter_map(|(key, value)| {
                let key = key.text()?.to_owned();
                Some((key, to_json(value)))
            });
            Value::Object(entries.collect::<Map<_, _>>())
        }
    }
}
