//! One bundle file, read and checked against the keys of the workspace.

use witness::bundle::{Bundle, Contents, Reason, Strictness};
use witness::evidence::{Evidence, Signers, Unproven, Verdict};
use witness::key::Keyring;

/// A file after parsing and verification, with its claims if they are readable.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "evidence is the common case; boxing it would cost an allocation a file"
)]
pub enum Judged<'a> {
    /// Verified.
    Evidence(Evidence<'a>),
    /// Well-formed, not verified.
    Unproven(Box<Unproven<'a>>),
    /// Not readable.
    Malformed(Verdict),
}

impl<'a> Judged<'a> {
    /// Reads and checks the bytes of one file.
    #[must_use]
    pub fn of(bytes: &'a [u8], strictness: Strictness, keyring: &Keyring) -> Self {
        match Bundle::parse(bytes, strictness) {
            Err(malformed) => Self::Malformed(Verdict::Malformed(malformed)),
            Ok(bundle) => match bundle.verify(keyring) {
                Ok(evidence) => Self::Evidence(evidence),
                Err(unproven) => Self::Unproven(unproven),
            },
        }
    }

    /// Returns the verdict on the file.
    #[must_use]
    pub fn verdict(&self) -> &Verdict {
        match self {
            Self::Evidence(_) => &Verdict::Valid,
            Self::Unproven(unproven) => &unproven.verdict,
            Self::Malformed(verdict) => verdict,
        }
    }

    /// Returns the claims, unless the file is not readable. They are known to be true only with a valid verdict.
    #[must_use]
    pub fn contents(&self) -> Option<&Contents<'a>> {
        match self {
            Self::Evidence(evidence) => Some(evidence.contents()),
            Self::Unproven(unproven) => Some(unproven.bundle.claims()),
            Self::Malformed(_) => None,
        }
    }

    /// Returns warnings about a readable file.
    #[must_use]
    pub fn warnings(&self) -> &[Reason] {
        match self {
            Self::Evidence(evidence) => evidence.warnings(),
            Self::Unproven(unproven) => unproven.bundle.warnings(),
            Self::Malformed(_) => &[],
        }
    }

    /// Returns the keys whose signatures were verified.
    #[must_use]
    pub fn signers(&self) -> Signers {
        match self {
            Self::Evidence(evidence) => evidence.signers(),
            Self::Unproven(_) | Self::Malformed(_) => Signers::default(),
        }
    }

    /// Returns `true` if it carries any signature, valid or not.
    #[must_use]
    pub fn is_signed(&self) -> bool {
        match self {
            Self::Evidence(_) => true,
            Self::Unproven(unproven) => unproven.bundle.is_signed(),
            Self::Malformed(_) => false,
        }
    }

    /// Returns the bytes that the header covers; empty if there is no header.
    #[must_use]
    pub fn bytes(&self) -> &'a [u8] {
        match self {
            Self::Evidence(evidence) => evidence.bytes(),
            Self::Unproven(unproven) => unproven.bundle.bytes(),
            Self::Malformed(_) => &[],
        }
    }
}
