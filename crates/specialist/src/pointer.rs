//! Moving the pointer: which version may become active. Promote and rollback are the same move in two directions.

use crate::event::Kind;
use crate::registry::{Entry, Version};

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
}

/// An audit that was run: this version against this exam.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Audited {
    /// The version's id.
    pub version: String,
    /// The exam.
    pub exam_hash: String,
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
    /// Its exam is another than the active version's, so their levels say nothing about each other.
    #[error(
        "`{role}/{version}` and the active `{active}` were examined differently and cannot be compared"
    )]
    OtherExam {
        /// The role.
        role: String,
        /// What was asked for.
        version: String,
        /// What is active.
        active: String,
    },
}

/// The version that would become active.
///
/// # Errors
/// It may not.
pub fn target<'a>(
    entry: &'a Entry,
    version: &str,
    direction: Move,
    audits: &[Audited],
) -> Result<&'a Version, Refusal> {
    let role = || entry.role.clone();
    let Some(wanted) = entry.version(version) else {
        return Err(Refusal::UnknownVersion {
            role: role(),
            version: version.to_owned(),
        });
    };
    let verb = match direction {
        Move::Promote => "promote",
        Move::Rollback => "rollback to",
    };
    if let Some(withdrawn) = wanted.withdrawn {
        return Err(Refusal::Withdrawn {
            role: role(),
            version: version.to_owned(),
            status: withdrawn.name(),
            verb,
        });
    }
    if !wanted.certified_level.is_certified() {
        return Err(Refusal::Uncertified {
            role: role(),
            version: version.to_owned(),
            verb,
        });
    }
    let active = entry.active().ok().flatten();
    match active {
        Some(active)
            if direction == Move::Promote
                && active.exam_hash != wanted.exam_hash
                && !is_recomputed(active, wanted, audits) =>
        {
            Err(Refusal::OtherExam {
                role: role(),
                version: version.to_owned(),
                active: active.id.clone(),
            })
        }
        _ => Ok(wanted),
    }
}

/// Whether one exam was run on both.
fn is_recomputed(a: &Version, b: &Version, audits: &[Audited]) -> bool {
    let exams_of = |id: &str| {
        let id = id.to_owned();
        audits.iter().filter(move |audit| audit.version == id)
    };
    exams_of(&a.id).any(|one| exams_of(&b.id).any(|other| other.exam_hash == one.exam_hash))
}
