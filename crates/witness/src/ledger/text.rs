//! The two notations that checkpoints and proofs share: plain decimals and base64 hashes.
//!
//! Each value has exactly one spelling, so that a parsed value is written back byte for byte.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// Reads a decimal without sign or leading zeroes.
pub(super) fn decimal(text: &str) -> Option<u64> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    let plain = text == "0" || !text.starts_with('0');
    (digits && plain).then(|| text.parse().ok()).flatten()
}

/// Encodes any bytes as standard base64 with padding.
pub(super) fn encode(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// Decodes standard base64; padding and the unused last bits must be as [`encode`] writes them.
pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text).ok()
}

/// Decodes the base64 of a SHA-256 hash.
pub(super) fn hash(text: &str) -> Option<[u8; 32]> {
    decode(text)?.try_into().ok()
}
