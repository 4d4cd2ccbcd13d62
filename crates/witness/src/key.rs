//! Keys that sign a bundle, and the keyring against which one is checked.
//!
//! Secrets are wiped when dropped and never printed; the [`KeyId`] identifies a key.

mod export;

use std::fmt;

use ed25519_dalek::Signer as _;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq as _;

use crate::wire::HMAC_LEN;

/// Shortest HMAC key with which a bundle is written. Any length is accepted for reading, as in the reference.
pub const MIN_HMAC_KEY: usize = 16;

/// Prefix of the bytes that our Ed25519 signature covers, so that they cannot have another meaning.
const BUNDLE_CONTEXT: &[u8] = b"roleos witness bundle ed25519 v1\n";

/// Eight bytes that identify a key.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyId(pub [u8; 8]);

impl KeyId {
    fn of(kind: &str, bytes: &[u8]) -> Self {
        let digest: [u8; 32] = Sha256::new()
            .chain_update(b"roleos key id v1\n")
            .chain_update(kind.as_bytes())
            .chain_update(b"\n")
            .chain_update(bytes)
            .finalize()
            .into();
        let [a, b, c, d, e, f, g, h, ..] = digest;
        Self([a, b, c, d, e, f, g, h])
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyId({self})")
    }
}

/// A shared secret: its holders can both check and sign.
#[derive(Clone)]
pub struct HmacKey {
    id: KeyId,
    strong: bool,
    keyed: Hmac<Sha256>,
}

impl HmacKey {
    /// Creates a key from any bytes, also from none.
    #[must_use]
    #[expect(
        clippy::expect_used,
        reason = "HMAC is defined for keys of every length"
    )]
    pub fn new(secret: &[u8]) -> Self {
        Self {
            id: KeyId::of("hmac-sha256", secret),
            strong: secret.len() >= MIN_HMAC_KEY,
            keyed: Hmac::new_from_slice(secret).expect("a key of any length"),
        }
    }

    /// Returns the id of the key.
    #[must_use]
    pub fn id(&self) -> KeyId {
        self.id
    }

    /// Returns `true` if the secret is long enough to write with.
    #[must_use]
    pub fn is_strong(&self) -> bool {
        self.strong
    }

    pub(crate) fn tag(&self, bytes: &[u8]) -> [u8; HMAC_LEN] {
        let mut mac = self.keyed.clone();
        mac.update(bytes);
        mac.finalize().into_bytes().into()
    }

    pub(crate) fn verifies(&self, bytes: &[u8], tag: &[u8; HMAC_LEN]) -> bool {
        self.tag(bytes).ct_eq(tag).into()
    }
}

impl fmt::Debug for HmacKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HmacKey({})", self.id)
    }
}

/// A private key for signatures that others can check but cannot make.
#[derive(Clone)]
pub struct SigningKey(ed25519_dalek::SigningKey);

impl SigningKey {
    /// Creates a key from the 32 secret bytes.
    #[must_use]
    pub fn new(secret: &[u8; 32]) -> Self {
        Self(ed25519_dalek::SigningKey::from_bytes(secret))
    }

    /// Returns the public key.
    #[must_use]
    pub fn public(&self) -> PublicKey {
        PublicKey(self.0.verifying_key())
    }

    /// Signs any bytes; the caller ensures that they state their type.
    #[must_use]
    pub fn sign(&self, bytes: &[u8]) -> [u8; 64] {
        self.0.sign(bytes).to_bytes()
    }

    pub(crate) fn sign_bundle(&self, prefix: &[u8]) -> [u8; 64] {
        self.sign(&bundle_message(prefix))
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SigningKey({})", self.public().id())
    }
}

/// The public half of a [`SigningKey`].
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct PublicKey(ed25519_dalek::VerifyingKey);

impl PublicKey {
    /// Parses 32 bytes; `None` if they are not a point of the curve.
    #[must_use]
    pub fn parse(bytes: &[u8; 32]) -> Option<Self> {
        ed25519_dalek::VerifyingKey::from_bytes(bytes)
            .ok()
            .map(Self)
    }

    /// Returns the 32 bytes.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; 32] {
        self.0.to_bytes()
    }

    /// Returns the id of the key.
    #[must_use]
    pub fn id(&self) -> KeyId {
        KeyId::of("ed25519", self.0.as_bytes())
    }

    /// Returns `true` if `signature` was made over `bytes` with the private key.
    #[must_use]
    pub fn verifies(&self, bytes: &[u8], signature: &[u8; 64]) -> bool {
        let signature = ed25519_dalek::Signature::from_bytes(signature);
        self.0.verify_strict(bytes, &signature).is_ok()
    }

    pub(crate) fn verifies_bundle(&self, prefix: &[u8], signature: &[u8; 64]) -> bool {
        self.verifies(&bundle_message(prefix), signature)
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({})", self.id())
    }
}

fn bundle_message(prefix: &[u8]) -> Vec<u8> {
    let mut message = BUNDLE_CONTEXT.to_vec();
    message.extend_from_slice(&Sha256::digest(prefix));
    message
}

/// Keys that a reader trusts.
#[derive(Clone, Debug, Default)]
pub struct Keyring {
    hmac: Vec<HmacKey>,
    public: Vec<PublicKey>,
    demand: Demand,
}

/// Requirement of a keyring on a bundle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Demand {
    /// Keys are tried if they fit.
    #[default]
    Known,
    /// The caller named this HMAC key: the bundle must carry its tag.
    Hmac,
    /// The caller named this public key: the bundle must carry its signature.
    Ed25519,
}

impl Keyring {
    /// Creates a keyring from the keys of a workspace, old ones included. A bundle that names its key is checked with
    /// that one.
    #[must_use]
    pub fn known(hmac: Vec<HmacKey>, public: Vec<PublicKey>) -> Self {
        Self {
            hmac,
            public,
            demand: Demand::Known,
        }
    }

    /// Creates a keyring with one HMAC key that the caller chose; a bundle without its tag fails.
    #[must_use]
    pub fn hmac(key: HmacKey) -> Self {
        Self {
            hmac: vec![key],
            public: Vec::new(),
            demand: Demand::Hmac,
        }
    }

    /// Creates a keyring with one public key that the caller chose; a bundle without its signature fails.
    #[must_use]
    pub fn public(key: PublicKey) -> Self {
        Self {
            hmac: Vec::new(),
            public: vec![key],
            demand: Demand::Ed25519,
        }
    }

    /// Returns the HMAC keys that could have signed a bundle which names `id`, or names none.
    pub(crate) fn hmac_candidates(&self, id: Option<KeyId>) -> impl Iterator<Item = &HmacKey> {
        let any = self.demand == Demand::Hmac;
        self.hmac
            .iter()
            .filter(move |key| any || id.is_none_or(|id| key.id == id))
    }

    /// Returns `true` if the public key is trusted.
    #[must_use]
    pub fn believes(&self, key: &PublicKey) -> bool {
        self.public.contains(key)
    }

    /// Returns the trusted public keys.
    #[must_use]
    pub fn public_keys(&self) -> &[PublicKey] {
        &self.public
    }

    pub(crate) fn demands_hmac(&self) -> bool {
        self.demand == Demand::Hmac
    }

    pub(crate) fn demands_ed25519(&self) -> bool {
        self.demand == Demand::Ed25519
    }
}
