//! Tombstones: versions that were locked before and are no longer in the lock.
//!
//! They close the two ways round the rule that a changed role needs a higher version: prune and add again, and lower,
//! edit, raise. They have a separate file, so that the lock keeps the bytes of the published tool.

use std::collections::BTreeMap;

use crate::canonical::Hashed;
use crate::lock::{Lock, Locked, slug_order, text};
use crate::problem::{Class, Problem};
use crate::source::{INDEX, TOMBSTONES};

/// Tombstones in the form of the lock, one entry per slug: the highest version that is gone, and its hash.
#[derive(Clone, Debug, Default)]
pub struct Tombstones {
    lock: Lock,
}

impl Tombstones {
    /// Parses the file; `None` stands for a missing one.
    #[must_use]
    pub fn parse(bytes: Option<&[u8]>) -> Self {
        Self {
            lock: Lock::parse(bytes),
        }
    }

    /// Creates the tombstones of a file that cannot be read.
    #[must_use]
    pub fn damaged(why: String) -> Self {
        Self {
            lock: Lock::damaged(why),
        }
    }

    /// Returns the problems for the strict check: a role that is back with other content at or below its last
    /// version, or a lowered version.
    pub(crate) fn check(&self, roles: &[Hashed]) -> Vec<Problem> {
        let damage = self.lock.damage().map(|mut problem| {
            problem.class = Class::TombstonesUnreadable;
            problem.at(TOMBSTONES, 0)
        });
        let found = roles.iter().filter_map(|role| {
            let (_, last, hash) = buried((&role.slug, self.lock.get(&role.slug)?))?;
            against(role, last, hash)
        });
        damage.into_iter().chain(found).collect()
    }

    /// Returns the text of the file after a refresh; `None` if it does not change. A damaged one is not touched.
    pub(crate) fn after(&self, roles: &[Hashed], lock: &Lock) -> Option<String> {
        if self.lock.is_damaged() {
            return None;
        }
        let roles: BTreeMap<_, _> = roles
            .iter()
            .map(|role| (role.slug.as_str(), role))
            .collect();
        let before: Vec<Buried<'_>> = self.lock.entries().filter_map(buried).collect();
        let mut kept = BTreeMap::new();
        for (slug, version, hash) in &before {
            let stands = |role: &&Hashed| against(role, *version, hash).is_some();
            if roles.get(slug).is_none_or(stands) {
                kept.insert(slug_order(slug), (*slug, *version, *hash));
            }
        }
        for (slug, version, hash) in lock.entries().filter_map(buried) {
            let is_lowered = |role: &&Hashed| role.version.is_some_and(|now| now < version);
            let is_gone = roles.get(slug).is_none_or(is_lowered);
            let known = kept.get(&slug_order(slug)).map(|(_, known, _)| *known);
            if is_gone && known.is_none_or(|known| known <= version) {
                kept.insert(slug_order(slug), (slug, version, hash));
            }
        }
        let now = text(kept.into_values());
        (now != text(before.into_iter())).then_some(now)
    }
}

/// Slug, version and hash of a complete entry.
type Buried<'a> = (&'a str, f64, &'a str);

fn buried<'a>((slug, locked): (&'a str, &'a Locked)) -> Option<Buried<'a>> {
    Some((slug, locked.version?, locked.hash.as_deref()?))
}

fn against(role: &Hashed, last: f64, hash: &str) -> Option<Problem> {
    let version = role.version?;
    let class = match role.digest.to_hex() == hash {
        true if version < last => Class::VersionLowered,
        false if version <= last => Class::ReaddedNotBumped,
        _ => return None,
    };
    let problem = Problem::new(class).slug(&role.slug).version(Some(version));
    Some(
        problem
            .locked_version(Some(last))
            .at(INDEX, role.version_offset),
    )
}
