//! The bytes of an approval: three lines, of which the third signs the first two. Read as strictly as they are written,
//! so that a file with any byte changed is another file.
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
/// What a signature covers is preceded by this text, so that it can mean nothing else.
const CONTEXT: &[u8] = b"roleos approval ed25519 v1\n";

/// Why an approval is not believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// There is no approval key here, so nobody can have signed it.
    NoKey,
    /// It is not in the form of an approval.
    Malformed,
    /// The signature is not ours: it was forged or changed.
    BadSignature,
    /// It was signed for another act.
    OtherAct,
    /// It came too late.
    Expired,
    /// It is from the future: the clock was changed.
    NotYet,
    /// It was taken before.
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

/// What was signed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Approval {
    /// Hash of the act.
    pub(super) act: String,
    /// Makes this yes another one than the last.
    pub(super) nonce: String,
    /// From when.
    pub(super) issued_ns: u64,
    /// Until when.
    pub(super) expires_ns: u64,
}

impl Approval {
    /// The file.
    pub(super) fn sign(&self, key: &SigningKey) -> Vec<u8> {
        let mut text = FORMAT.to_owned();
        text.push_str(&serde_json::to_string(self).unwrap_or_default());
        text.push('\n');
        let signature = key.sign(&message(&text));
        text.push_str(&hex::encode(signature));
        text.push('\n');
        text.into_bytes()
    }

    /// Reads a file that `key` has signed.
    pub(super) fn verify(bytes: &[u8], key: &PublicKey) -> Result<Self, Flaw> {
        let text = std::str::from_utf8(bytes).map_err(|_| Flaw::Malformed)?;
        let body = text.strip_suffix('\n').ok_or(Flaw::Malformed)?;
        let (signed, digits) = body.rsplit_once('\n').ok_or(Flaw::Malformed)?;
        let signature: [u8; 64] = hex::decode(digits)
            .ok()
            // Only one spelling of a signature is one.
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

    /// Whether it is for this act and this moment.
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
