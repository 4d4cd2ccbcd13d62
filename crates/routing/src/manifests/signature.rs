//! A detached Ed25519 signature over a manifest: `<manifest>.sig` beside it, 64 raw bytes, hex or base64, over the
//! bytes of the file, or over its manifest hash as 64 hex digits.

use std::io;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use witness::key::{PublicKey, SigningKey};

use super::MAX_MANIFEST;
use base::files::{self, FileError, Privacy};

/// Longest signature file.
const MAX_SIGNATURE: u64 = 4096;

/// Result of checking a manifest's signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Signed {
    /// There is no signature.
    Not,
    /// Valid, by the key with this id.
    By(String),
    /// There is an invalid signature.
    Bad(String),
}

/// Returns the path of a manifest's signature.
#[must_use]
pub fn path(manifest: &Path) -> PathBuf {
    manifest.with_added_extension("sig")
}

/// Checks the signature beside a manifest, if there is one.
///
/// # Errors
/// It exists and cannot be read.
pub fn check(
    manifest: &Path,
    bytes: &[u8],
    hash: &str,
    signers: &[PublicKey],
) -> Result<Signed, FileError> {
    let path = path(manifest);
    let found = match files::read(&path, MAX_SIGNATURE) {
        Ok(found) => found,
        Err(error) if error.source.kind() == io::ErrorKind::NotFound => return Ok(Signed::Not),
        Err(error) => return Err(error),
    };
    let Some(signature) = decoded(&found) else {
        return Ok(Signed::Bad(format!(
            "has a signature `{}` that is not 64 bytes, plain or in hex or base64",
            path.display()
        )));
    };
    let good = |key: &&PublicKey| {
        key.verifies(bytes, &signature) || key.verifies(hash.as_bytes(), &signature)
    };
    Ok(match signers.iter().find(good) {
        Some(key) => Signed::By(key.id().to_string()),
        None if signers.is_empty() => Signed::Bad(
            "has a signature, and no public key is known here to check it with".to_owned(),
        ),
        None => Signed::Bad("has a signature that no key known here has made over it".to_owned()),
    })
}

fn decoded(found: &[u8]) -> Option<[u8; 64]> {
    if let Ok(plain) = <[u8; 64]>::try_from(found) {
        return Some(plain);
    }
    let text = std::str::from_utf8(found).ok()?.trim();
    let bytes = hex::decode(text).or_else(|_| STANDARD.decode(text)).ok()?;
    bytes.try_into().ok()
}

/// Signs a manifest; the signature replaces an earlier one. Returns its path.
///
/// # Errors
/// A file cannot be read or written.
pub fn sign(manifest: &Path, key: &SigningKey) -> Result<PathBuf, FileError> {
    let bytes = files::read(manifest, MAX_MANIFEST)?;
    let path = path(manifest);
    let text = format!("{}\n", hex::encode(key.sign(&bytes)));
    files::write(&path, text.as_bytes(), Privacy::Shared)?;
    Ok(path)
}
