//! One bundle file, read and checked against the keys of the workspace.

use witness::bundle::{Bundle, Contents, Reason, Strictness};
use witness::evidence::{Evidence, Signers, Unproven, Verdict};
use witness::key::Keyring;

/// A file that was read and judged, with what it says as far as it could be read.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "evidence is the common case; boxing it would cost an allocation a file"
)]
pub enum Judged<'a> {
    /// Believed.
    Evidence(Evidence<'a>),
    /// Well-formed, not believed.
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

    /// What became of it.
    #[must_use]
    pub fn verdict(&self) -> &Verdict {
        match self {
            Self::Evidence(_) => &Verdict::Valid,
            Self::Unproven(unproven) => &unproven.verdict,
            Self::Malformed(verdict) => verdict,
        }
    }

    /// What it says, unless it cannot be read. Only with a valid verdict is it known to be true.
    #[must_use]
    pub fn contents(&self) -> Option<&Contents<'a>> {
        match self {
            Self::Evidence(evidence) => Some(evidence.contents()),
            Self::Unproven(unproven) => Some(unproven.bundle.claims()),
            Self::Malformed(_) => None,
        }
    }

    /// What a reader should know although it was read.
    #[must_use]
    pub fn warnings(&self) -> &[Reason] {
        match self {
            Self::Evidence(evidence) => evidence.warnings(),
            Self::Unproven(unproven) => unproven.bundle.warnings(),
            Self::Malformed(_) => &[],
        }
    }

    /// Whose signatures were found good.
    #[must_use]
    pub fn signers(&self) -> Signers {
        match self {
            Self::Evidence(evidence) => evidence.signers(),
            Self::Unproven(_) | Self::Malformed(_) => Signers::default(),
        }
    }

    /// Whether it carries any signature, good or not.
    #[must_use]
    pub fn is_signed(&self) -> bool {
        match self {
            Self::Evidence(_) => true,
            Self::Unproven(unproven) => unproven.bundle.is_signed(),
            Self::Malformed(_) => false,
        }
    }

    /// The bytes that the header speaks of; empty when there is no header.
    #[must_use]
    pub fn bytes(&self) -> &'a [u8] {
        match self {
            Self::Evidence(evidence) => evidence.bytes(),
            Self::Unproven(unproven) => unproven.bundle.bytes(),
            Self::Malformed(_) => &[],
        }
    }
}
