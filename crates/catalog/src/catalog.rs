//! A catalog that was read, and one that was checked. Only the second can be trusted to be whole.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use crate::canonical::{self, Hashed};
use crate::contents::Contents;
use crate::lock::{self, Lock, Refreshed};
use crate::problem::{Place, Problem};
use crate::served::{self, Refusal};
use crate::source::{INDEX, Sources};
use crate::tombstones::Tombstones;
use crate::{check, form, strict};

/// How much is asked of a catalog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rigour {
    /// What the published check asks.
    Published,
    /// Also what it lets through.
    Strict,
}

/// What to do with a lock that is not JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damaged {
    /// Refuse to write a new one.
    Refuse,
    /// Write a new one; every role then counts as new.
    Replace,
}

/// The two files that remember what was.
#[derive(Clone, Debug, Default)]
pub struct Records {
    /// The content lock.
    pub lock: Lock,
    /// What was in it once.
    pub tombstones: Tombstones,
}

/// Something worth knowing that is no problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// Stable name, as used in JSON.
    pub class: &'static str,
    /// For people.
    pub what: String,
    /// Where.
    pub place: Place,
}

/// What a check found.
#[derive(Clone, Debug)]
pub struct Report {
    /// Whether the catalog holds. An empty index fails without a problem.
    pub passed: bool,
    /// In the published order.
    pub problems: Vec<Problem>,
}

/// A catalog that was read: everything in it, and everything that is wrong with its structure.
#[derive(Debug)]
pub struct Draft {
    contents: Contents,
    problems: Vec<Problem>,
    roles: Vec<Hashed>,
}

impl Draft {
    /// Looks everything through.
    #[must_use]
    pub fn read(sources: Sources) -> Self {
        Self::read_on(sources, NonZeroUsize::MIN)
    }

    /// Looks everything through, on so many threads where that is worth it.
    #[must_use]
    pub fn read_on(sources: Sources, threads: NonZeroUsize) -> Self {
        let contents = Contents::new(sources);
        Self {
            problems: check::structure(&contents),
            roles: canonical::hash_all(&contents, threads),
            contents,
        }
    }

    /// What the files say, right or wrong.
    #[must_use]
    pub fn claims(&self) -> &Contents {
        &self.contents
    }

    /// What is wrong with the structure.
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// Every role of the index with its hash, in the order of its first appearance.
    #[must_use]
    pub fn roles(&self) -> &[Hashed] {
        &self.roles
    }

    /// The whole check: structure, then the lock, then what only the strict one minds.
    #[must_use]
    pub fn check(&self, records: &Records, rigour: Rigour) -> Report {
        let mut problems = self.problems.clone();
        if self.contents.has_index() {
            problems.extend(records.lock.damage());
            problems.extend(lock::compare(&self.roles, &records.lock));
            problems.extend(self.strict(records, rigour));
        }
        Report {
            passed: self.contents.has_index() && problems.is_empty(),
            problems,
        }
    }

    /// The check of a catalog that came without its lock, as one from another machine does: structure, what a server
    /// would not hand out, and what only the strict one minds.
    #[must_use]
    pub fn check_unlocked(&self, rigour: Rigour) -> Report {
        let mut problems = self.problems.clone();
        if self.contents.has_index() {
            problems.extend(self.strict(&Records::default(), rigour));
        }
        Report {
            passed: self.contents.has_index() && problems.is_empty() && self.served().is_empty(),
            problems,
        }
    }

    /// The lock as it should be now. All or nothing: any problem of the structure, and any role that changed under an
    /// old version, leaves it as it was.
    ///
    /// # Errors
    /// What stands in the way; nothing but an empty index gives an empty list.
    pub fn refresh(
        &self,
        records: &Records,
        rigour: Rigour,
        damaged: Damaged,
    ) -> Result<Refreshed, Vec<Problem>> {
        let mut problems = self.problems.clone();
        if self.contents.has_index() {
            let damage = records.lock.damage();
            problems.extend(damage.filter(|_| damaged == Damaged::Refuse));
            problems.extend(self.strict(records, rigour));
        }
        if !problems.is_empty() || !self.contents.has_index() {
            return Err(problems);
        }
        let refusals = lock::refusals(&self.roles, &records.lock);
        if !refusals.is_empty() {
            return Err(refusals);
        }
        let mut refreshed = lock::refreshed(&self.roles, &records.lock);
        refreshed.tombstones = records.tombstones.after(&self.roles, &records.lock);
        Ok(refreshed)
    }

    /// Files that a server would not hand out, and why.
    #[must_use]
    pub fn served(&self) -> BTreeMap<String, Refusal> {
        served::refusals(&self.contents)
    }

    /// Tags that mean nothing, and an index that says nothing.
    #[must_use]
    pub fn warnings(&self) -> Vec<Warning> {
        let mut warnings = Vec::new();
        if self.contents.index().is_some() && !self.contents.has_index() {
            warnings.push(Warning {
                class: "index_empty",
                what: "index.yaml says nothing".to_owned(),
                place: Place::new(INDEX, 0),
            });
        }
        let sources = self.contents.sources();
        let files = std::iter::once((INDEX, &sources.index));
        let files = files.chain(
            sources
                .files
                .iter()
                .map(|(path, file)| (path.as_str(), file)),
        );
        for (path, file) in files {
            let remarks = file
                .document()
                .map_or(&[][..], |document| document.warnings());
            warnings.extend(remarks.iter().map(|remark| Warning {
                class: "unknown_tag",
                what: remark.what.clone(),
                place: Place::new(path, remark.offset),
            }));
        }
        warnings
    }

    fn strict(&self, records: &Records, rigour: Rigour) -> Vec<Problem> {
        if rigour == Rigour::Published {
            return Vec::new();
        }
        let mut problems = strict::check(&self.contents);
        problems.extend(form::check(&self.contents));
        problems.extend(lock::lowered(&self.roles, &records.lock));
        problems.extend(records.tombstones.check(&self.roles));
        problems
    }
}

/// A catalog whose structure holds: every declared file and role is there, and nothing else.
#[derive(Debug)]
pub struct Catalog {
    draft: Draft,
}

impl Catalog {
    /// The only way to a checked catalog.
    ///
    /// # Errors
    /// The structure does not hold; the draft says where.
    pub fn parse(sources: Sources) -> Result<Self, Box<Draft>> {
        let draft = Draft::read(sources);
        if draft.problems.is_empty() && draft.contents.has_index() {
            Ok(Self { draft })
        } else {
            Err(Box::new(draft))
        }
    }

    /// What the files say.
    #[must_use]
    pub fn contents(&self) -> &Contents {
        &self.draft.contents
    }

    /// As it was read, for the lock and the verdicts.
    #[must_use]
    pub fn draft(&self) -> &Draft {
        &self.draft
    }
}
