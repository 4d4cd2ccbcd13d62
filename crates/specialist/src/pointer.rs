//! Change of the active version. A promotion is earned by comparison, a rollback by history.

use std::collections::BTreeSet;

use crate::event::{Kind, Log};
use crate::registry::{Entry, Version};
use crate::serving::{Bar, Standing};

/// Direction of the change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Move {
    /// To a version that is to serve.
    Promote,
    /// Back to one that served.
    Rollback,
}

impl Move {
    /// Returns the kind of event that records it.
    #[must_use]
    pub fn kind(self) -> Kind {
        match self {
            Self::Promote => Kind::Promote,
            Self::Rollback => Kind::Rollback,
        }
    }

    fn verb(self) -> &'static str {
        match self {
            Self::Promote => "promote",
            Self::Rollback => "rollback to",
        }
    }
}

/// Facts about a version that is to become active.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Versions of the role that were active before.
    pub was_active: BTreeSet<String>,
    /// Facts about it outside the registry.
    pub standing: Standing,
    /// Comparison with the active version on the newest exam that both took.
    pub compared: Option<Compared>,
    /// Set if an operator overrides the exams with a reason.
    pub forced: bool,
}

/// Comparison of two versions on one exam.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compared {
    /// Set if the version is not worse by more than the margin.
    pub holds: bool,
    /// The numbers as text.
    pub said: String,
}

/// Reason that a version may not become active.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The version does not exist.
    #[error("R4: role `{role}` has no version `{version}`")]
    UnknownVersion {
        role: String,
        /// Name given by the user.
        version: String,
    },
    /// Several versions match.
    #[error("role `{role}` has several versions that `{version}` may mean: {}", .ids.join(", "))]
    AmbiguousVersion {
        role: String,
        /// Name given by the user.
        version: String,
        /// Ids of those versions.
        ids: Vec<String>,
    },
    /// The version is not certified.
    #[error("refusing to {verb} an L0 (uncertified) version: {role}/{version}")]
    Uncertified {
        role: String,
        /// Name given by the user.
        version: String,
        /// `promote` or `rollback to`.
        verb: &'static str,
    },
    /// The version was withdrawn.
    #[error("refusing to {verb} a {status} version: {role}/{version}")]
    Withdrawn {
        role: String,
        /// Name given by the user.
        version: String,
        /// `deprecated` or `revoked`.
        status: &'static str,
        /// `promote` or `rollback to`.
        verb: &'static str,
    },
    /// The version and the active one took no exam together here, so they cannot be compared.
    #[error(
        "`{role}/{version}` and the active `{active}` took no exam together and cannot be compared"
    )]
    NotCompared {
        role: String,
        /// Name given by the user.
        version: String,
        /// Active version.
        active: String,
    },
    /// The version is worse than the active one.
    #[error("`{role}/{version}` is worse than the active `{active}`: {said}")]
    Worse {
        role: String,
        /// Name given by the user.
        version: String,
        /// Active version.
        active: String,
        /// The numbers as text.
        said: String,
    },
    /// The version did not pass its newest exam.
    #[error("`{role}/{version}` did not pass its newest exam: {said}")]
    FailedExam {
        role: String,
        /// Name given by the user.
        version: String,
        /// The numbers as text.
        said: String,
        /// `promote` or `rollback to`.
        verb: &'static str,
    },
    /// The version is halted, was halted since its newest exam, or its certificate is of another backend.
    #[error("refusing to {verb} `{role}/{version}`: {bar}")]
    Barred {
        role: String,
        /// Name given by the user.
        version: String,
        /// `promote` or `rollback to`.
        verb: &'static str,
        /// The condition that fails.
        bar: Bar,
    },
    /// The version is active already, so a trial has no reference.
    #[error("`{role}/{version}` is the active version; it cannot be its own canary")]
    OwnCanary {
        role: String,
        /// Name given by the user.
        version: String,
    },
    /// The version was never active.
    #[error("`{role}/{version}` was never active; a rollback goes back to a version that was")]
    NeverActive {
        role: String,
        /// Name given by the user.
        version: String,
    },
    /// No version is active, so a rollback has no start.
    #[error("role `{0}` has no active version; there is nothing to roll back from")]
    NothingActive(String),
    /// The active version is the first one, so a rollback has no target.
    #[error(
        "role `{0}` had no other active version before this one; there is nothing to roll back to"
    )]
    NothingBefore(String),
    /// A canary needs an active version beside it.
    #[error("role `{0}` has no active version; a canary is tried beside one")]
    NothingBeside(String),
}

impl Refusal {
    /// Returns `true` if `promote --force` overrides the refusal and the move is a promotion.
    #[must_use]
    pub fn can_be_forced(&self) -> bool {
        let promote = Move::Promote.verb();
        match self {
            Self::FailedExam { verb, .. } => *verb == promote,
            Self::Barred { verb, bar, .. } => *verb == promote && bar.is_of_exams(),
            Self::Worse { .. } | Self::NotCompared { .. } => true,
            _ => false,
        }
    }
}

impl Entry {
    /// Finds a version by its id, by a prefix of exactly one id, or by its model's id.
    ///
    /// # Errors
    /// Fails if no version or more than one matches.
    pub fn resolve(&self, named: &str) -> Result<&Version, Refusal> {
        if let Some(version) = self.version(named) {
            return Ok(version);
        }
        let by_prefix = |version: &&Version| !named.is_empty() && version.id.starts_with(named);
        let by_model = |version: &&Version| version.model_id == named;
        let mut meant: Vec<&Version> = self.versions.iter().filter(by_prefix).collect();
        if meant.is_empty() {
            meant = self.versions.iter().filter(by_model).collect();
        }
        let (role, version) = (self.role.clone(), named.to_owned());
        match meant.as_slice() {
            [one] => Ok(one),
            [] => Err(Refusal::UnknownVersion { role, version }),
            many => Err(Refusal::AmbiguousVersion {
                role,
                version,
                ids: many.iter().map(|version| version.id.clone()).collect(),
            }),
        }
    }
}

/// Returns the versions of a role that were active at some time, by the events log.
#[must_use]
pub fn was_active(log: &Log, role: &str) -> BTreeSet<String> {
    let moves = [Kind::Promote, Kind::Rollback, Kind::Deactivate];
    let ids = log.of(role, &moves).flat_map(|event| {
        let id = |key: &str| event.data.get(key)?.as_str().map(str::to_owned);
        [id("from_version"), id("to_version")]
    });
    ids.flatten().collect()
}

/// Returns the version that would become active.
///
/// # Errors
/// Fails if it may not become active.
pub fn target<'a>(
    entry: &'a Entry,
    version: &str,
    direction: Move,
    facts: &Facts,
) -> Result<&'a Version, Refusal> {
    let forced = direction == Move::Promote && facts.forced;
    let wanted = serviceable(entry, version, direction.verb(), &facts.standing, forced)?;
    let active = entry.active().ok().flatten();
    let (role, version) = (entry.role.clone(), wanted.id.clone());
    match (direction, active) {
        (Move::Rollback, None) => Err(Refusal::NothingActive(role)),
        (Move::Rollback, Some(_)) if !facts.was_active.contains(&version) => {
            Err(Refusal::NeverActive { role, version })
        }
        (Move::Promote, Some(active)) if active.id != version => {
            earned(facts, role, version, Some(active)).map(|()| wanted)
        }
        (Move::Promote, None) => earned(facts, role, version, None).map(|()| wanted),
        _ => Ok(wanted),
    }
}

/// Returns a version that may serve. An operator may override the exams.
///
/// # Errors
/// Fails if the version is unknown or may not serve.
pub fn serviceable<'a>(
    entry: &'a Entry,
    version: &str,
    verb: &'static str,
    standing: &Standing,
    forced: bool,
) -> Result<&'a Version, Refusal> {
    let wanted = entry.resolve(version)?;
    let bar = match entry.may_serve(wanted, standing) {
        Ok(()) => return Ok(wanted),
        Err(bar) if forced && bar.is_of_exams() => return Ok(wanted),
        Err(bar) => bar,
    };
    let (role, version) = (entry.role.clone(), wanted.id.clone());
    Err(match bar {
        Bar::Withdrawn(withdrawn) => Refusal::Withdrawn {
            role,
            version,
            status: withdrawn.name(),
            verb,
        },
        Bar::Uncertified => Refusal::Uncertified {
            role,
            version,
            verb,
        },
        Bar::FailedExam(said) => Refusal::FailedExam {
            role,
            version,
            said,
            verb,
        },
        bar => Refusal::Barred {
            role,
            version,
            verb,
            bar,
        },
    })
}

/// Checks that the exams support the version; an operator may override them, and nothing else.
fn earned(
    facts: &Facts,
    role: String,
    version: String,
    active: Option<&Version>,
) -> Result<(), Refusal> {
    if facts.forced {
        return Ok(());
    }
    let Some(active) = active.map(|active| active.id.clone()) else {
        return Ok(());
    };
    match &facts.compared {
        Some(found) if found.holds => Ok(()),
        Some(found) => Err(Refusal::Worse {
            role,
            version,
            active,
            said: found.said.clone(),
        }),
        None => Err(Refusal::NotCompared {
            role,
            version,
            active,
        }),
    }
}
