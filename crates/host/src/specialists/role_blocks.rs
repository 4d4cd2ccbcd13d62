//! The `specialist:` blocks of installed roles. A role is meant by its slug first, then by its name.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use ::catalog::installed::Installed;
use ::catalog::yaml::{Document, Kind, MAX_BYTES, Node};
use ::specialist::role_block::RoleBlock;
use serde_json::{Map, Value};

use super::Stamp;
use crate::files;

/// What one file says.
#[derive(Clone, Debug)]
struct Said {
    slug: Option<String>,
    name: String,
    block: RoleBlock,
}

/// The folder, and what its files said when they were last read.
#[derive(Debug)]
pub(super) struct RoleBlocks {
    folder: PathBuf,
    known: Mutex<BTreeMap<PathBuf, (Stamp, Option<Said>)>>,
}

impl RoleBlocks {
    pub(super) fn new(folder: PathBuf) -> Self {
        Self {
            folder,
            known: Mutex::default(),
        }
    }

    /// What the role's files say together: one that switches off wins, two that differ agree with nothing.
    pub(super) fn of(&self, role: &str) -> RoleBlock {
        let all = self.all();
        let by_slug: Vec<&Said> = all
            .iter()
            .filter(|said| said.slug.as_deref() == Some(role))
            .collect();
        let meant = if by_slug.is_empty() {
            all.iter().filter(|said| said.name == role).collect()
        } else {
            by_slug
        };
        let mut blocks = meant
            .iter()
            .map(|said| &said.block)
            .filter(|block| **block != RoleBlock::Absent);
        let Some(first) = blocks.next() else {
            return RoleBlock::Absent;
        };
        let rest: Vec<&RoleBlock> = blocks.collect();
        if *first == RoleBlock::Off || rest.contains(&&RoleBlock::Off) {
            return RoleBlock::Off;
        }
        if rest.iter().any(|block| *block != first) {
            let why = "the role's files of different languages disagree";
            return RoleBlock::Unreadable(why.to_owned());
        }
        first.clone()
    }

    fn all(&self) -> Vec<Said> {
        let Ok(entries) = files::read_dir(&self.folder) else {
            return Vec::new();
        };
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let mut found = Vec::new();
        for entry in entries.flatten() {
            let path = entry.path();
            if path.extension().is_none_or(|extension| extension != "yaml") {
                continue;
            }
            let stamp = Stamp::of(&path);
            let said = match (stamp, known.get(&path)) {
                (Some(stamp), Some((old, said))) if stamp == *old => said.clone(),
                _ => {
                    let said = read(&path);
                    if let Some(stamp) = stamp {
                        known.insert(path, (stamp, said.clone()));
                    }
                    said
                }
            };
            found.extend(said);
        }
        found
    }
}

/// A file that is no role says nothing.
fn read(path: &std::path::Path) -> Option<Said> {
    let bytes = files::read(path, MAX_BYTES as u64).ok()?;
    let role = Installed::parse(bytes).ok()?;
    Some(Said {
        slug: role.source.map(|source| source.slug),
        name: role.content.name,
        block: block(role.extras),
    })
}

fn block(extras: String) -> RoleBlock {
    let Ok(document) = Document::parse(extras.into_bytes()) else {
        return RoleBlock::Absent;
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
