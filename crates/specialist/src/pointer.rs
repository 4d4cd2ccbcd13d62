//! Moving the pointer: which version may become active. A promotion is earned by comparison, a rollback by history.

use std::collections::BTreeSet;

use crate::event::{Kind, Log};
use crate::registry::{Entry, Version};
use crate::serving::{Bar, Standing};

/// A direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Move {
    /// To a version that is to serve.
    Promote,
    /// Back to one that served.
    Rollback,
}

impl Move {
    /// The event that records it.
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

/// What is known about a version that is to become active.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Versions of the role that were active before.
    pub was_active: BTreeSet<String>,
    /// What is known of it beside the registry.
    pub standing: Standing,
    /// How it compares with the active version on the newest exam that both took.
    pub compared: Option<Compared>,
    /// Whether an operator overrides the exams, and says why.
    pub forced: bool,
}

/// Two versions on one exam.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compared {
    /// Whether the version is not worse by more than the margin.
    pub holds: bool,
    /// The numbers, in words.
    pub said: String,
}

/// Why a version may not become active.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// There is no such version.
    #[error("R4: role `{role}` has no version `{version}`")]
    UnknownVersion {
        /// The role.
        role: String,
        /// What was asked for.
        version: String,
    },
    /// More than one version is meant.
    #[error("role `{role}` has several versions that `{version}` may mean: {}", .ids.join(", "))]
    AmbiguousVersion {
        /// The role.
        role: String,
        /// What was asked for.
        version: String,
        /// Their ids.
        ids: Vec<String>,
    },
    /// It is not certified.
    #[error("refusing to {verb} an L0 (uncertified) version: {role}/{version}")]
    Uncertified {
        /// The role.
        role: String,
        /// What was asked for.
        version: String,
        /// `promote` or `rollback to`.
        verb: &'static str,
    },
    /// It was taken out.
    #[error("refusing to {verb} a {status} version: {role}/{version}")]
    Withdrawn {
        /// The role.
        role: String,
        /// What was asked for.
        version: String,
        /// `deprecated` or `revoked`.
        status: &'static str,
        /// `promote` or `rollback to`.
        verb: &'static str,
    },
    /// It and the active version took no exam together here, so nothing says which is better.
    #[error(
        "`{role}/{version}` and the active `{active}` took no exam together and cannot be compared"
    )]
    NotCompared {
        /// The role.
        role: String,
        /// What was asked for.
        version: String,
        /// What is active.
        active: String,
    },
    /// It is worse than the active version.
    #[error("`{role}/{version}` is worse than the active `{active}`: {said}")]
    Worse {
        /// The role.
        role: String,
        /// What was asked for.
        version: String,
        /// What is active.
        active: String,
        /// The numbers.
        said: String,
    },
    /// It did not pass its newest exam.
    #[error("`{role}/{version}` did not pass its newest exam: {said}")]
    FailedExam {
        /// The role.
        role: String,
        /// What was asked for.
        version: String,
        /// The numbers.
        said: String,
        /// `promote` or `rollback to`.
        verb: &'static str,
    },
    /// It is halted, was halted since its newest exam, or its certificate is of another backend.
    #[error("refusing to {verb} `{role}/{version}`: {bar}")]
    Barred {
        /// The role.
        role: String,
        /// What was asked for.
        version: String,
        /// `promote` or `rollback to`.
        verb: &'static str,
        /// Why.
        bar: Bar,
    },
    /// It is active already, so there is nothing to try it against.
    #[error("`{role}/{version}` is the active version; it cannot be its own canary")]
    OwnCanary {
        /// The role.
        role: String,
        /// What was asked for.
        version: String,
    },
    /// It was never active.
    #[error("`{role}/{version}` was never active; a rollback goes back to a version that was")]
    NeverActive {
        /// The role.
        role: String,
        /// What was asked for.
        version: String,
    },
    /// No version is active, so there is nothing to go back from.
    #[error("role `{0}` has no active version; there is nothing to roll back from")]
    NothingActive(String),
    /// The active version is the first one, so there is nothing to go back to.
    #[error(
        "role `{0}` had no other active version before this one; there is nothing to roll back to"
    )]
    NothingBefore(String),
    /// A canary needs an active version beside it.
    #[error("role `{0}` has no active version; a canary is tried beside one")]
    NothingBeside(String),
}

impl Refusal {
    /// Returns `true` if `promote --force` overrides it, and a promotion is what was asked for.
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
    /// Finds a version by its id, by the only id that begins so, or by its model's id.
    ///
    /// # Errors
    /// No version is meant, or more than one.
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

/// Returns the versions of a role that were active at some time, as the events log has it.
#[must_use]
pub fn was_active(log: &Log, role: &str) -> BTreeSet<String> {
    let moves = [Kind::Promote, Kind::Rollback, Kind::Deactivate];
    let ids = log.of(role, &moves).flat_map(|event| {
        let id = |key: &str| event.data.get(key)?.as_str().map(str::to_owned);
        [id("from_version"), id("to_version")]
    });
    ids.flatten().collect()
}

/// The version that would become active.
///
/// # Errors
/// It may not.
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

/// A version that may serve. What exams say of it an operator may override.
///
/// # Errors
/// It is unknown, or why it may not serve.
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

/// Whether the exams speak for it; an operator may override them, and nothing else.
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
