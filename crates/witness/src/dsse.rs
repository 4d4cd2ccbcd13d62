//! Envelope of signed statements for other tools: DSSE v1 with Ed25519.
//!
//! The signature covers not the payload but its pre-authentication encoding, which states type and lengths; so no
//! canonical JSON is needed and one kind of payload cannot pass for another. The host handles the JSON around it.

use std::collections::BTreeSet;

use crate::key::{KeyId, PublicKey, SigningKey};

/// Payload type of in-toto statements.
pub const IN_TOTO: &str = "application/vnd.in-toto+json";

/// Limit of signatures of an envelope that is checked, because each is tried with every trusted key.
pub const MAX_SIGNATURES: usize = 16;

/// Returns the bytes that are signed: `DSSEv1 <length> <type> <length> <payload>`, lengths in decimal bytes.
#[must_use]
pub fn pae(payload_type: &str, payload: &[u8]) -> Vec<u8> {
    let (type_len, len) = (payload_type.len(), payload.len());
    let mut out = format!("DSSEv1 {type_len} {payload_type} {len} ").into_bytes();
    out.extend_from_slice(payload);
    out
}

/// A payload with signatures that are not verified yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Envelope {
    /// Type of the payload; signed.
    pub payload_type: String,
    /// Bytes of the payload; signed.
    pub payload: Vec<u8>,
    /// Signatures over both.
    pub signatures: Vec<Signature>,
}

/// One signature of an [`Envelope`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// Hint at the key, often empty and never signed. Ours is the [`KeyId`].
    pub keyid: String,
    /// Ed25519 signature over the [`pae`].
    pub sig: [u8; 64],
}

impl Envelope {
    /// Signs a payload.
    #[must_use]
    pub fn sign(payload_type: impl Into<String>, payload: Vec<u8>, key: &SigningKey) -> Self {
        let payload_type = payload_type.into();
        let signature = Signature {
            keyid: key.public().id().to_string(),
            sig: key.sign(&pae(&payload_type, &payload)),
        };
        Self {
            payload_type,
            payload,
            signatures: vec![signature],
        }
    }

    /// Checks that at least one trusted key signed.
    ///
    /// Signatures that do not fit are skipped, as DSSE requires. A key hint affects only the wording of a refusal,
    /// because anyone could have changed it.
    ///
    /// # Errors
    /// Fails if no signature by a trusted key fits.
    pub fn verify(&self, keys: &[PublicKey]) -> Result<Attested<'_>, Unverified> {
        let count = self.signatures.len();
        if count > MAX_SIGNATURES {
            return Err(Unverified::TooManySignatures { count });
        }
        let signed = pae(&self.payload_type, &self.payload);
        let fits = |key: &&PublicKey| {
            let mut signatures = self.signatures.iter();
            signatures.any(|signature| key.verifies(&signed, &signature.sig))
        };
        let signers: BTreeSet<KeyId> = keys.iter().filter(fits).map(PublicKey::id).collect();
        if signers.is_empty() {
            return Err(self.refusal(keys));
        }
        Ok(Attested {
            envelope: self,
            signers,
        })
    }

    fn refusal(&self, keys: &[PublicKey]) -> Unverified {
        let hinted = |id: &KeyId| {
            let id = id.to_string();
            self.signatures.iter().any(|line| line.keyid == id)
        };
        match keys.iter().map(PublicKey::id).find(hinted) {
            _ if self.signatures.is_empty() => Unverified::Unsigned,
            Some(key) => Unverified::BadSignature { key },
            None => Unverified::UnknownKey,
        }
    }
}

/// A payload signed by trusted keys. Only this should be read.
#[derive(Clone, Debug)]
pub struct Attested<'a> {
    envelope: &'a Envelope,
    signers: BTreeSet<KeyId>,
}

impl<'a> Attested<'a> {
    /// Returns the payload, if it is of the type that the caller can parse.
    #[must_use]
    pub fn payload(&self, payload_type: &str) -> Option<&'a [u8]> {
        (self.envelope.payload_type == payload_type).then_some(&self.envelope.payload)
    }

    /// Returns the type of the payload.
    #[must_use]
    pub fn payload_type(&self) -> &'a str {
        &self.envelope.payload_type
    }

    /// Returns the signers, each key once; never empty.
    #[must_use]
    pub fn signers(&self) -> &BTreeSet<KeyId> {
        &self.signers
    }
}

/// Reason that an envelope is not trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unverified {
    /// No signature at all.
    #[error("the envelope carries no signature")]
    Unsigned,
    /// More than [`MAX_SIGNATURES`] signatures.
    #[error("the envelope has {count} signatures, at most {MAX_SIGNATURES} are checked")]
    TooManySignatures {
        /// Number of signatures.
        count: usize,
    },
    /// No trusted key is named, and none fits.
    #[error("no key that is trusted here signed the envelope")]
    UnknownKey,
    /// A trusted key is named, and its signature does not fit.
    #[error("the signature by key `{key}` does not fit the payload")]
    BadSignature {
        /// The named key.
        key: KeyId,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(byte: u8) -> SigningKey {
        SigningKey::new(&[byte; 32])
    }

    fn signed() -> Envelope {
        Envelope::sign(IN_TOTO, b"{}".to_vec(), &key(1))
    }

    fn check(envelope: &Envelope, keys: &[PublicKey], expected: Result<usize, Unverified>) {
        let found = envelope.verify(keys).map(|read| read.signers().len());
        assert_eq!(found, expected);
    }

    /// The first is the test vector of the specification.
    #[test]
    fn pae_states_type_and_lengths() {
        let check = |kind: &str, payload: &[u8], expected: &str| {
            assert_eq!(pae(kind, payload), expected.as_bytes());
        };
        check(
            "http://example.com/HelloWorld",
            b"hello world",
            "DSSEv1 29 http://example.com/HelloWorld 11 hello world",
        );
        check("", b"", "DSSEv1 0  0 ");
        check("é", "ü".as_bytes(), "DSSEv1 2 é 2 ü");
        assert_ne!(pae("a", b"b 1 c"), pae("a 5 b", b"c"));
    }

    #[test]
    fn a_believed_payload_is_read_by_its_type() {
        let envelope = signed();
        let read = envelope.verify(&[key(1).public()]).unwrap();
        assert_eq!(read.payload(IN_TOTO), Some(b"{}".as_slice()));
        assert_eq!(read.payload("text/plain"), None);
        assert_eq!(read.payload_type(), IN_TOTO);
        assert!(read.signers().contains(&key(1).public().id()));
    }

    #[test]
    fn every_refusal_has_its_name() {
        let (ours, other) = (key(1).public(), key(2).public());
        check(&signed(), &[other, ours], Ok(1));
        check(&signed(), &[other], Err(Unverified::UnknownKey));
        check(&signed(), &[], Err(Unverified::UnknownKey));
        let bad = Err(Unverified::BadSignature { key: ours.id() });
        let mut envelope = signed();
        envelope.payload.push(b' ');
        check(&envelope, &[ours], bad);
        let mut envelope = signed();
        envelope.payload_type.push(' ');
        check(&envelope, &[other, ours], bad);
        let mut envelope = signed();
        envelope.signatures.clear();
        check(&envelope, &[ours], Err(Unverified::Unsigned));
        let count = MAX_SIGNATURES + 1;
        envelope.signatures = vec![signed().signatures[0].clone(); count];
        let many = Err(Unverified::TooManySignatures { count });
        check(&envelope, &[ours], many);
    }

    #[test]
    fn hints_decide_nothing() {
        let ours = key(1).public();
        for hint in ["", "anything", &key(2).public().id().to_string()] {
            let mut envelope = signed();
            hint.clone_into(&mut envelope.signatures[0].keyid);
            check(&envelope, &[key(2).public(), ours], Ok(1));
        }
    }

    #[test]
    fn strangers_and_repeated_signatures_neither_harm_nor_count() {
        let mut envelope = signed();
        let twice = envelope.signatures[0].clone();
        envelope.signatures.push(twice);
        envelope
            .signatures
            .extend(Envelope::sign(IN_TOTO, b"{}".to_vec(), &key(2)).signatures);
        let stray = Signature {
            keyid: String::new(),
            sig: [3; 64],
        };
        envelope.signatures.insert(0, stray);
        let ours = key(1).public();
        check(&envelope, &[ours, ours], Ok(1));
        check(&envelope, &[ours, key(2).public()], Ok(2));
    }

    #[test]
    fn every_altered_bit_is_noticed() {
        let keys = [key(1).public()];
        for bit in 0..64 * 8 {
            let mut envelope = signed();
            envelope.signatures[0].sig[bit / 8] ^= 1 << (bit % 8);
            assert!(envelope.verify(&keys).is_err(), "bit {bit}");
        }
    }
}
