//! The bytes of an approval: three lines, of which the third signs the first two. They are parsed strictly, so that any
//! changed byte makes another file.
//!
//! ```text
//! roleos-approval/v1
//! {"act":"<64 hex>","nonce":"<32 hex>","issued_ns":…,"expires_ns":…}
//! <128 hex: Ed25519 over the context and the two lines above>
//! ```

use std::fmt;

use serde::{Deserialize, Serialize};
use witness::key::{PublicKey, SigningKey};

const FORMAT: &str = "roleos-approval/v1\n";
/// Prefix of the signed bytes, so that the signature cannot be used for anything else.
const CONTEXT: &[u8] = b"roleos approval ed25519 v1\n";

/// Reason to reject an approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// There is no approval key in this workspace, so there cannot be a signature.
    NoKey,
    /// It is not in the form of an approval.
    Malformed,
    /// The signature is not ours: it was forged or changed.
    BadSignature,
    /// It was signed for another act.
    OtherAct,
    /// It has expired.
    Expired,
    /// It is from the future: the clock was changed.
    NotYet,
    /// It was used before.
    Replayed,
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoKey => {
                "the approval is refused: there is no approval key that could have signed it"
            }
            Self::Malformed => "the approval is refused: its file is damaged or no approval",
            Self::BadSignature => {
                "the approval is refused: it was forged or changed after it was signed"
            }
            Self::OtherAct => "the approval is refused: it was given for another act",
            Self::Expired => "the approval has expired",
            Self::NotYet => {
                "the approval is refused: it was given in the future, so the clock was changed"
            }
            Self::Replayed => "the approval was used before, and holds only once",
        })
    }
}

/// The signed content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Approval {
    /// Hash of the act.
    pub(super) act: String,
    /// Distinguishes this approval from every other.
    pub(super) nonce: String,
    /// Beginning of its validity.
    pub(super) issued_ns: u64,
    /// End of its validity.
    pub(super) expires_ns: u64,
}

impl Approval {
    /// Returns the signed file.
    pub(super) fn sign(&self, key: &SigningKey) -> Vec<u8> {
        let mut text = FORMAT.to_owned();
        text.push_str(&serde_json::to_string(self).unwrap_or_default());
        text.push('\n');
        let signature = key.sign(&message(&text));
        text.push_str(&hex::encode(signature));
        text.push('\n');
        text.into_bytes()
    }

    /// Parses a file that `key` has signed.
    pub(super) fn verify(bytes: &[u8], key: &PublicKey) -> Result<Self, Flaw> {
        let text = std::str::from_utf8(bytes).map_err(|_| Flaw::Malformed)?;
        let body = text.strip_suffix('\n').ok_or(Flaw::Malformed)?;
        let (signed, digits) = body.rsplit_once('\n').ok_or(Flaw::Malformed)?;
        let signature: [u8; 64] = hex::decode(digits)
            .ok()
            // Only one spelling of a signature is valid.
            .filter(|bytes| hex::encode(bytes) == digits)
            .and_then(|bytes| bytes.try_into().ok())
            .ok_or(Flaw::Malformed)?;
        let signed = format!("{signed}\n");
        if !key.verifies(&message(&signed), &signature) {
            return Err(Flaw::BadSignature);
        }
        let line = signed.strip_prefix(FORMAT).ok_or(Flaw::Malformed)?;
        serde_json::from_str(line).map_err(|_| Flaw::Malformed)
    }

    /// Checks that it is for this act and this moment.
    pub(super) fn holds_for(self, act: &[u8; 32], now_ns: u64) -> Result<Self, Flaw> {
        if self.act != hex::encode(act) {
            return Err(Flaw::OtherAct);
        }
        if now_ns < self.issued_ns {
            return Err(Flaw::NotYet);
        }
        if now_ns >= self.expires_ns {
            return Err(Flaw::Expired);
        }
        Ok(self)
    }
}

fn message(signed: &str) -> Vec<u8> {
    [CONTEXT, signed.as_bytes()].concat()
}
