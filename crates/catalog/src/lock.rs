//! The content lock: parsing, comparing and rewriting. Its bytes are those of the published tool.
//!
//! A JSON object of `slug` to `{"version", "hash"}` with two blanks of indentation and a newline at its end.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use crate::canonical::{Hashed, array_index};
use crate::problem::{Class, Problem};
use crate::source::{INDEX, LOCK};
use crate::yaml::number_text;

/// Entry of the lock for a role.
#[derive(Clone, Debug, PartialEq)]
pub struct Locked {
    /// Version, if it is a number.
    pub version: Option<f64>,
    /// Hash, if it is text.
    pub hash: Option<String>,
}

/// A lock, which may be absent or damaged.
#[derive(Clone, Debug, Default)]
pub struct Lock {
    /// Entries in the order of the file.
    entries: Vec<(String, Locked)>,
    by_slug: BTreeMap<String, usize>,
    /// Reason that it could not be parsed; it then has no entries.
    damage: Option<String>,
}

impl Lock {
    /// Parses the lock; `None` stands for a missing file. One that is not JSON has no entries and is damaged.
    #[must_use]
    pub fn parse(bytes: Option<&[u8]>) -> Self {
        let Some(bytes) = bytes else {
            return Self::default();
        };
        match serde_json::from_slice::<Value>(bytes) {
            Ok(Value::Object(object)) => Self::of(&object),
            Ok(_) => Self::default(),
            Err(error) => Self::damaged(error.to_string()),
        }
    }

    /// Creates a lock whose file cannot be read.
    #[must_use]
    pub fn damaged(why: String) -> Self {
        Self {
            damage: Some(why),
            ..Self::default()
        }
    }

    fn of(object: &Map<String, Value>) -> Self {
        let mut entries: Vec<_> = object
            .iter()
            .filter_map(|(slug, value)| {
                // Null and `false` are not entries.
                let is_there = !matches!(value, Value::Null | Value::Bool(false));
                is_there.then(|| {
                    let locked = Locked {
                        version: value.get("version").and_then(Value::as_f64),
                        hash: value.get("hash").and_then(Value::as_str).map(str::to_owned),
                    };
                    (slug.clone(), locked)
                })
            })
            .collect();
        entries.sort_by_key(|(slug, _)| array_index(slug).map_or((1, 0), |index| (0, index)));
        let by_slug = entries
            .iter()
            .enumerate()
            .map(|(place, (slug, _))| (slug.clone(), place));
        Self {
            by_slug: by_slug.collect(),
            entries,
            damage: None,
        }
    }

    /// Returns the entry of a role.
    #[must_use]
    pub fn get(&self, slug: &str) -> Option<&Locked> {
        let place = self.by_slug.get(slug)?;
        self.entries.get(*place).map(|(_, locked)| locked)
    }

    /// Returns all entries, in the order of the file.
    pub fn entries(&self) -> impl Iterator<Item = (&str, &Locked)> {
        self.entries
            .iter()
            .map(|(slug, locked)| (slug.as_str(), locked))
    }

    /// Returns `true` if the file exists and is not JSON.
    #[must_use]
    pub fn is_damaged(&self) -> bool {
        self.damage.is_some()
    }

    pub(crate) fn damage(&self) -> Option<Problem> {
        let why = self.damage.as_ref()?;
        Some(
            Problem::new(Class::LockUnreadable)
                .at(LOCK, 0)
                .detail(why.clone()),
        )
    }
}

/// Compares the roles with the lock, in the order of the index; then the additional entries of the lock.
pub(crate) fn compare(roles: &[Hashed], lock: &Lock) -> Vec<Problem> {
    let known: BTreeSet<_> = roles.iter().map(|role| role.slug.as_str()).collect();
    let unknown = lock.entries().filter(|(slug, _)| !known.contains(slug));
    let unknown =
        unknown.map(|(slug, _)| Problem::new(Class::LockUnknownRole).slug(slug).at(LOCK, 0));
    let changed = roles.iter().filter_map(|role| difference(role, lock));
    changed.chain(unknown).collect()
}

/// Returns the class of the problem if a role differs from the lock.
#[must_use]
pub fn state(role: &Hashed, lock: &Lock) -> Option<Class> {
    difference(role, lock).map(|problem| problem.class)
}

fn difference(role: &Hashed, lock: &Lock) -> Option<Problem> {
    let about = |class| {
        Problem::new(class)
            .slug(&role.slug)
            .at(INDEX, role.version_offset)
    };
    let Some(locked) = lock.get(&role.slug) else {
        return Some(about(Class::NotInLock));
    };
    if is_as_locked(role, locked) {
        let problem = about(Class::VersionDrift)
            .version(role.version)
            .locked_version(locked.version);
        return (role.version.is_none() || role.version != locked.version).then_some(problem);
    }
    Some(match verdict(role, locked) {
        Change::NotNumeric => about(Class::ContentChangedVersionNotNumeric),
        Change::NotBumped => about(Class::ContentChangedNotBumped).locked_version(locked.version),
        Change::Bumped => about(Class::ContentChangedLockStale).version(role.version),
    })
}

/// Relation of a changed role's version to the locked one.
enum Change {
    NotNumeric,
    NotBumped,
    Bumped,
}

fn verdict(role: &Hashed, locked: &Locked) -> Change {
    match role.version.filter(|version| version.is_finite()) {
        None => Change::NotNumeric,
        Some(version) if locked.version.is_some_and(|locked| version <= locked) => {
            Change::NotBumped
        }
        Some(_) => Change::Bumped,
    }
}

/// Returns `true` if the hash is the locked one. Hashes are compared as text: one in upper case differs.
pub(crate) fn is_as_locked(role: &Hashed, locked: &Locked) -> bool {
    locked.hash.as_deref() == Some(role.digest.to_hex().as_str())
}

/// Returns the versions below the locked one, which only the strict check reports.
pub(crate) fn lowered(roles: &[Hashed], lock: &Lock) -> Vec<Problem> {
    let found = roles.iter().filter_map(|role| {
        let (version, locked) = (role.version?, lock.get(&role.slug)?.version?);
        let problem = Problem::new(Class::VersionLowered)
            .slug(&role.slug)
            .version(Some(version));
        let problem = problem
            .locked_version(Some(locked))
            .at(INDEX, role.version_offset);
        (version < locked).then_some(problem)
    });
    found.collect()
}

/// An updated lock, with its changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refreshed {
    /// Text of the whole file.
    pub text: String,
    /// Text of the whole file of tombstones, if it changes.
    pub tombstones: Option<String>,
    /// Roles that are new.
    pub added: Vec<String>,
    /// Roles whose hash or version differs.
    pub updated: Vec<String>,
    /// Roles that were removed.
    pub pruned: Vec<String>,
}

/// Returns the roles that may not be recorded: changed under an old version. A new role has no reference.
pub(crate) fn refusals(roles: &[Hashed], lock: &Lock) -> Vec<Problem> {
    let refused = roles.iter().filter_map(|role| {
        let locked = lock.get(&role.slug)?;
        let about = |class| {
            Problem::new(class)
                .slug(&role.slug)
                .at(INDEX, role.version_offset)
        };
        if is_as_locked(role, locked) {
            return None;
        }
        match verdict(role, locked) {
            Change::NotNumeric => Some(about(Class::RefuseVersionNotNumeric)),
            Change::NotBumped => Some(about(Class::RefuseNotBumped).locked_version(locked.version)),
            Change::Bumped => None,
        }
    });
    refused.collect()
}

/// Returns the whole lock of the current catalog.
pub(crate) fn refreshed(roles: &[Hashed], lock: &Lock) -> Refreshed {
    let mut sorted: Vec<_> = roles.iter().collect();
    sorted.sort_by(|one, other| slug_order(&one.slug).cmp(&slug_order(&other.slug)));
    let entries = sorted.iter().map(|role| {
        let version = role.version.unwrap_or_default();
        (role, version, role.digest.to_hex())
    });
    let entries: Vec<_> = entries.collect();
    let slugs = |keep: &dyn Fn(&Hashed, Option<&Locked>) -> bool| {
        let kept = sorted
            .iter()
            .filter(|role| keep(role, lock.get(&role.slug)));
        kept.map(|role| role.slug.clone()).collect::<Vec<_>>()
    };
    let known: BTreeSet<_> = roles.iter().map(|role| role.slug.as_str()).collect();
    let gone = lock.entries().filter(|(slug, _)| !known.contains(slug));
    Refreshed {
        text: text(
            entries
                .iter()
                .map(|(role, version, hash)| (role.slug.as_str(), *version, hash.as_str())),
        ),
        tombstones: None,
        added: slugs(&|_, locked| locked.is_none()),
        updated: slugs(&|role, locked| {
            locked
                .is_some_and(|locked| !is_as_locked(role, locked) || role.version != locked.version)
        }),
        pruned: gone.map(|(slug, _)| slug.to_owned()).collect(),
    }
}

/// Returns the sort key: plain integers first by their number, as in the JSON objects of the published tool; the rest
/// by bytes.
pub(crate) fn slug_order(slug: &str) -> (bool, u32, &str) {
    let index = array_index(slug);
    (index.is_none(), index.unwrap_or_default(), slug)
}

/// Returns the text of the entries.
pub(crate) fn text<'a>(entries: impl Iterator<Item = (&'a str, f64, &'a str)>) -> String {
    let quoted = |text: &str| Value::from(text).to_string();
    let body: Vec<_> = entries
        .map(|(slug, version, hash)| {
            let (slug, hash, version) = (quoted(slug), quoted(hash), number_text(version));
            format!("  {slug}: {{\n    \"version\": {version},\n    \"hash\": {hash}\n  }}")
        })
        .collect();
    if body.is_empty() {
        return "{}\n".to_owned();
    }
    format!("{{\n{}\n}}\n", body.join(",\n"))
}
