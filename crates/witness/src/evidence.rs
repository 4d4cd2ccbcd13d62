//! A verified bundle, and the verdict on one that is not.

use sha2::{Digest, Sha256};

use crate::bundle::{Bundle, Contents, Malformed, Reason, Strictness};
use crate::key::{KeyId, Keyring};

/// Verdict on a bundle. A new verdict must break every reader that does not handle it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Well-formed, and at least one signature by a trusted key; none that fails.
    Valid,
    /// Well-formed, without a signature.
    Unsigned {
        /// Set if the reader named a key, so that a signature was required.
        required: bool,
    },
    /// Signed, and the reader does not have the key.
    Unchecked,
    /// A signature that does not fit the bytes.
    BadSignature(Scheme),
    /// Not a bundle, or one that two readers could interpret differently.
    Malformed(Malformed),
}

/// Signature scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// HMAC-SHA256 at the end of the bundle.
    Hmac,
    /// Ed25519 in the last section.
    Ed25519,
}

impl Scheme {
    /// Returns the name for people.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Hmac => "HMAC-SHA256",
            Self::Ed25519 => "Ed25519",
        }
    }
}

impl Verdict {
    /// Returns the stable name for JSON.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Valid => "valid",
            Self::Unsigned { .. } => "unsigned",
            Self::Unchecked => "unchecked",
            Self::BadSignature(_) => "bad_signature",
            Self::Malformed(_) => "malformed",
        }
    }

    /// Returns the stable name of the problem, if there is one.
    #[must_use]
    pub fn reason(&self) -> Option<&'static str> {
        match self {
            Self::Valid | Self::Unsigned { required: false } => None,
            Self::Unsigned { required: true } => Some("signature_required"),
            Self::Unchecked => Some("no_key"),
            Self::BadSignature(_) => Some("bad_signature"),
            Self::Malformed(malformed) => Some(malformed.reason.name()),
        }
    }

    /// Returns one sentence for people.
    #[must_use]
    pub fn explain(&self) -> String {
        match self {
            Self::Valid => "well-formed, and the signature is by a key that is trusted here".into(),
            Self::Unsigned { required: false } => "well-formed, but nobody signed it".into(),
            Self::Unsigned { required: true } => {
                "a key was given, and the bundle carries no signature of that kind".into()
            }
            Self::Unchecked => "signed, but no key for it is at hand".into(),
            Self::BadSignature(scheme) => {
                format!("the {} signature does not fit the bytes", scheme.name())
            }
            Self::Malformed(malformed) => malformed.detail.clone(),
        }
    }
}

/// A bundle whose signature was verified. Only this can be read as truth.
#[derive(Clone, Debug)]
pub struct Evidence<'a> {
    bytes: &'a [u8],
    contents: Contents<'a>,
    signers: Signers,
    warnings: Vec<Reason>,
}

/// Keys whose signatures fit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Signers {
    /// The HMAC key that fits.
    pub hmac: Option<KeyId>,
    /// The public key that fits.
    pub ed25519: Option<KeyId>,
}

impl<'a> Evidence<'a> {
    /// Returns the statements of the bundle.
    #[must_use]
    pub fn contents(&self) -> &Contents<'a> {
        &self.contents
    }

    /// Returns the verified bytes, to the last one, unless a warning says [`Reason::UncheckedHmac`].
    #[must_use]
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Returns the keys whose signatures fit.
    #[must_use]
    pub fn signers(&self) -> Signers {
        self.signers
    }

    /// Returns the warnings of the reader.
    #[must_use]
    pub fn warnings(&self) -> &[Reason] {
        &self.warnings
    }

    /// Returns the SHA-256 of the verified bytes, which identifies the bundle in ledgers and statements.
    #[must_use]
    pub fn digest(&self) -> [u8; 32] {
        Sha256::digest(self.bytes).into()
    }
}

/// A well-formed bundle that is not verified, with the verdict.
#[derive(Clone, Debug)]
pub struct Unproven<'a> {
    /// The parsed bundle.
    pub bundle: Bundle<'a>,
    /// The verdict; never [`Verdict::Valid`] and never [`Verdict::Malformed`].
    pub verdict: Verdict,
}

/// Result of the check of one kind of signature.
#[derive(Clone, Copy)]
enum Looked {
    Absent,
    NoKey,
    Good(KeyId),
    Bad,
}

impl Looked {
    fn good(self) -> Option<KeyId> {
        match self {
            Self::Good(id) => Some(id),
            Self::Absent | Self::NoKey | Self::Bad => None,
        }
    }
}

impl<'a> Bundle<'a> {
    /// Verifies the signatures: each with a known key must fit, and at least one must.
    ///
    /// # Errors
    /// Fails if the bundle is not verified; it is returned with the verdict.
    pub fn verify(mut self, keyring: &Keyring) -> Result<Evidence<'a>, Box<Unproven<'a>>> {
        let hmac = self.look_for_hmac(keyring);
        let public = self.look_for_public_seal(keyring);
        if matches!(public, Looked::NoKey) {
            self.warnings.push(Reason::UnknownSigner);
        }
        if matches!((hmac, public), (Looked::NoKey, Looked::Good(_))) {
            self.warnings.push(Reason::UncheckedHmac);
        }
        let required = (keyring.demands_hmac() && matches!(hmac, Looked::Absent))
            || (keyring.demands_ed25519() && !matches!(public, Looked::Good(_) | Looked::Bad));
        let verdict = match (hmac, public) {
            (Looked::Bad, _) => Verdict::BadSignature(Scheme::Hmac),
            (_, Looked::Bad) => Verdict::BadSignature(Scheme::Ed25519),
            _ if required => Verdict::Unsigned { required },
            (Looked::Absent, Looked::Absent) => Verdict::Unsigned { required: false },
            (Looked::Good(_), _) | (_, Looked::Good(_)) => Verdict::Valid,
            _ => Verdict::Unchecked,
        };
        if verdict != Verdict::Valid {
            return Err(Box::new(Unproven {
                bundle: self,
                verdict,
            }));
        }
        Ok(Evidence {
            bytes: self.bytes(),
            signers: Signers {
                hmac: hmac.good(),
                ed25519: public.good(),
            },
            warnings: std::mem::take(&mut self.warnings),
            contents: self.into_contents(),
        })
    }

    fn look_for_hmac(&self, keyring: &Keyring) -> Looked {
        let Some(tag) = self.hmac else {
            return Looked::Absent;
        };
        let named = self.claims().extensions().hmac_key;
        let mut result = Looked::NoKey;
        for key in keyring.hmac_candidates(named) {
            if key.verifies(self.hmac_payload(), tag) {
                return Looked::Good(key.id());
            }
            result = Looked::Bad;
        }
        result
    }

    fn look_for_public_seal(&self, keyring: &Keyring) -> Looked {
        let Some(seal) = self.public_seal else {
            return Looked::Absent;
        };
        // A signature that does not fit its own key is damage, for any signer.
        if !seal.signer.verifies_bundle(seal.covers, seal.signature) {
            return Looked::Bad;
        }
        if keyring.believes(&seal.signer) {
            Looked::Good(seal.signer.id())
        } else {
            Looked::NoKey
        }
    }
}

/// Parses and verifies in one call, for callers that need only the verdict.
#[must_use]
pub fn judge(bytes: &[u8], strictness: Strictness, keyring: &Keyring) -> Verdict {
    match Bundle::parse(bytes, strictness) {
        Err(malformed) => Verdict::Malformed(malformed),
        Ok(bundle) => match bundle.verify(keyring) {
            Ok(_) => Verdict::Valid,
            Err(unproven) => unproven.verdict,
        },
    }
}
