//! Conditions of serving: the one rule for promoting, putting beside, rolling back, lifting a halt, trying as a
//! canary, and the gate.
//!
//! A version serves while it is certified here or claims a level that is accepted, was not withdrawn, is not halted,
//! passed its newest exam, and is unchanged since that exam: the same pin at the same addresses.

use std::fmt;

use sha2::{Digest as _, Sha256};

use crate::registry::{Contract, Entry, Version, Withdrawn};

/// Facts about a version outside the registry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// Reason that it, or its role, is halted.
    pub halt: Option<String>,
    /// Result of its newest exam, if that was not passed.
    pub failed_exam: Option<String>,
    /// Time since which it has been in doubt: probes halted it, and it took no exam after that.
    pub halted_since_exam: Option<String>,
}

/// Reason that a version may not serve.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Bar {
    /// It was withdrawn.
    Withdrawn(Withdrawn),
    /// It is not certified.
    Uncertified,
    /// Its backend is not the certified one.
    Lapsed,
    /// It is halted.
    Halted(String),
    /// It did not pass its newest exam.
    FailedExam(String),
    /// It was halted since its newest exam.
    HaltedSinceExam(String),
}

impl Bar {
    /// Returns `true` if an operator may override it with a reason: only the results of exams.
    #[must_use]
    pub fn is_of_exams(&self) -> bool {
        matches!(self, Self::FailedExam(_) | Self::HaltedSinceExam(_))
    }
}

impl fmt::Display for Bar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Withdrawn(withdrawn) => write!(f, "it is {}", withdrawn.name()),
            Self::Uncertified => f.write_str("it is not certified (L0)"),
            Self::Lapsed => f.write_str(
                "its backend is not the one that it was certified with; take an exam again and certify it",
            ),
            Self::Halted(reason) => write!(f, "it is halted: {reason}"),
            Self::FailedExam(said) => write!(f, "it did not pass its newest exam: {said}"),
            Self::HaltedSinceExam(since) => {
                write!(f, "its probes halted it at {since}, and it took no exam since")
            }
        }
    }
}

impl Entry {
    /// Decides if a version of this role may serve.
    ///
    /// # Errors
    /// Returns the reason if it may not.
    pub fn may_serve(&self, version: &Version, standing: &Standing) -> Result<(), Bar> {
        if let Some(withdrawn) = version.withdrawn {
            return Err(Bar::Withdrawn(withdrawn));
        }
        if !version.certified_level.is_certified() {
            return Err(Bar::Uncertified);
        }
        if self.has_lapsed(version) {
            return Err(Bar::Lapsed);
        }
        if let Some(reason) = &standing.halt {
            return Err(Bar::Halted(reason.clone()));
        }
        if let Some(said) = &standing.failed_exam {
            return Err(Bar::FailedExam(said.clone()));
        }
        match &standing.halted_since_exam {
            Some(since) => Err(Bar::HaltedSinceExam(since.clone())),
            None => Ok(()),
        }
    }

    /// Returns `true` if the certificate is of another backend than the version has now.
    #[must_use]
    pub fn has_lapsed(&self, version: &Version) -> bool {
        let certified_for = version.certified_for.as_ref();
        certified_for.is_some_and(|subject| *subject != self.subject(version))
    }

    /// Returns a hash of what answers for a version: its pin and base, the contract and the addresses. An exam holds
    /// for exactly this hash.
    #[must_use]
    pub fn subject(&self, version: &Version) -> String {
        self.hash_of(version, &[&version.adapter_id, &version.base_model])
    }

    /// Returns a hash of what answers, whatever its name: the weights (the pin if they are unknown), the contract and
    /// the addresses. Attempts at exams count together by this hash.
    #[must_use]
    pub fn identity(&self, version: &Version) -> String {
        self.hash_of(
            version,
            &[version.weights.as_ref().unwrap_or(&version.adapter_id)],
        )
    }

    fn hash_of(&self, version: &Version, parts: &[&String]) -> String {
        let contract = match self.contract {
            Contract::Verify => "verify",
            Contract::OpenAi => "openai",
        };
        let mut addresses = self.addresses(version);
        addresses.sort_unstable();
        let mut hasher = Sha256::new();
        let parts = parts.iter().map(|part| part.as_str());
        for part in std::iter::once(contract).chain(parts).chain(addresses) {
            hasher.update(part.as_bytes());
            hasher.update([0]);
        }
        let digest: [u8; 32] = hasher.finalize().into();
        digest.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}
