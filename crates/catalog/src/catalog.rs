//! A parsed catalog, and a checked one. Only the checked one is known to be complete.

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

/// Strictness of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rigour {
    /// The rules of the published check.
    Published,
    /// Also the rules for problems that the published check accepts.
    Strict,
}

/// Handling of a lock that is not JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damaged {
    /// Refuse to write a new lock.
    Refuse,
    /// Write a new lock; every role then counts as new.
    Replace,
}

/// The two files with earlier versions.
#[derive(Clone, Debug, Default)]
pub struct Records {
    /// The content lock.
    pub lock: Lock,
    /// Versions that are no longer in the lock.
    pub tombstones: Tombstones,
}

/// A remark that is not a problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// Stable name for JSON.
    pub class: &'static str,
    /// Text for people.
    pub what: String,
    /// Position of the remark.
    pub place: Place,
}

/// Result of a check.
#[derive(Clone, Debug)]
pub struct Report {
    /// Set if the catalog is valid. An empty index fails without a problem.
    pub passed: bool,
    /// Problems in the published order.
    pub problems: Vec<Problem>,
}

/// A parsed catalog: its content, and all problems of its structure.
#[derive(Debug)]
pub struct Draft {
    contents: Contents,
    problems: Vec<Problem>,
    roles: Vec<Hashed>,
}

impl Draft {
    /// Parses and checks all files.
    #[must_use]
    pub fn read(sources: Sources) -> Self {
        Self::read_on(sources, NonZeroUsize::MIN)
    }

    /// Parses and checks all files, on up to this many threads.
    #[must_use]
    pub fn read_on(sources: Sources, threads: NonZeroUsize) -> Self {
        let contents = Contents::new(sources);
        Self {
            problems: check::structure(&contents),
            roles: canonical::hash_all(&contents, threads),
            contents,
        }
    }

    /// Returns the content of the files, right or wrong.
    #[must_use]
    pub fn claims(&self) -> &Contents {
        &self.contents
    }

    /// Returns the problems of the structure.
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// Returns every role of the index with its hash, in the order of its first appearance.
    #[must_use]
    pub fn roles(&self) -> &[Hashed] {
        &self.roles
    }

    /// Runs the whole check: structure, then the lock, then the rules of the strict check.
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

    /// Checks a catalog without its lock, such as one from another machine: structure, files that a server would
    /// refuse, and the rules of the strict check.
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

    /// Returns the updated lock. All or nothing: any problem of the structure, and any role that changed under an old
    /// version, prevents the update.
    ///
    /// # Errors
    /// Fails with the problems; the list is empty only for an empty index.
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

    /// Returns the files that a server would refuse, with the reason.
    #[must_use]
    pub fn served(&self) -> BTreeMap<String, Refusal> {
        served::refusals(&self.contents)
    }

    /// Returns the warnings: unknown tags, and an empty index.
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

/// A catalog with a valid structure: every declared file and role is present, and nothing else.
#[derive(Debug)]
pub struct Catalog {
    draft: Draft,
}

impl Catalog {
    /// Parses a catalog and checks its structure; there is no other way to a checked catalog.
    ///
    /// # Errors
    /// Fails if the structure is invalid; the draft has the problems.
    pub fn parse(sources: Sources) -> Result<Self, Box<Draft>> {
        let draft = Draft::read(sources);
        if draft.problems.is_empty() && draft.contents.has_index() {
            Ok(Self { draft })
        } else {
            Err(Box::new(draft))
        }
    }

    /// Returns the content of the files.
    #[must_use]
    pub fn contents(&self) -> &Contents {
        &self.draft.contents
    }

    /// Returns the parsed catalog, for the lock and the verdicts.
    #[must_use]
    pub fn draft(&self) -> &Draft {
        &self.draft
    }
}
