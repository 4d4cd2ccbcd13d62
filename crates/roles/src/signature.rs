//! The signature over the served files of a catalog: an Ed25519 note beside the index.
//!
//! ```text
//! roleos catalog v1
//! <sha256>  index.yaml
//! <sha256>  bundles/<id>/<lang>.yaml          one line per declared file
//!
//! — roleos-catalog <base64 of key hash and signature>
//! ```
//!
//! The first line has a space, so that no checkpoint begins like it.

use std::collections::BTreeMap;

use ::catalog::source::{File, INDEX, NOTE, Sources};
use base::files::{self, FileError, Privacy};
use witness::key::{PublicKey, SigningKey};
use witness::ledger::checkpoint::Origin;
use witness::ledger::note;

use crate::catalog::Directory;

const HEADING: &str = "roleos catalog v1";
const NAME: &str = "roleos-catalog";

/// Digests by path, signed by a trusted key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Digests(BTreeMap<String, String>);

impl Digests {
    /// Returns `true` if the file is listed with the digest of these bytes.
    #[must_use]
    pub fn contains(&self, path: &str, bytes: &[u8]) -> bool {
        self.0.get(path) == Some(&digest(bytes))
    }
}

/// Verifies a note.
///
/// # Errors
/// Returns a reason if no trusted key signed it, or if its text is not a list of digests.
pub fn verify(note: &[u8], keys: &[PublicKey]) -> Result<Digests, &'static str> {
    let note = std::str::from_utf8(note).map_err(|_| "its note is not text")?;
    let name = Origin::parse(NAME).map_err(|_| "its note has no key name")?;
    let text = note::verified_text(note, &name, keys).ok_or("no trusted key signed its note")?;
    let lines = text
        .strip_prefix(HEADING)
        .and_then(|rest| rest.strip_prefix('\n'));
    let lines = lines.ok_or("its note is not about a catalog")?.lines();
    let pairs = lines.map(|line| line.split_once("  "));
    let pairs = pairs.map(|pair| pair.map(|(hash, path)| (path.to_owned(), hash.to_owned())));
    let digests: Option<_> = pairs.collect();
    digests
        .map(Digests)
        .ok_or("its note has a line that is not a digest")
}

/// Signs the files of a catalog and writes the note beside the index.
///
/// # Errors
/// Returns a sentence if a declared file does not exist, or the error of writing.
pub fn sign(directory: &Directory, key: &SigningKey) -> Result<(), SignError> {
    let raw = |path: &str| match directory.raw(path) {
        Ok(Some(bytes)) => Ok(bytes),
        Ok(None) => Err(SignError::Unreadable(
            path.to_owned(),
            "it is missing".to_owned(),
        )),
        Err(why) => Err(SignError::Unreadable(path.to_owned(), why)),
    };
    let index = raw(INDEX)?;
    let mut text = format!("{HEADING}\n{}  {INDEX}\n", digest(&index));
    for path in Sources::new(File::of(index)).wanted() {
        text.push_str(&format!("{}  {path}\n", digest(&raw(&path)?)));
    }
    let name = Origin::parse(NAME)
        .map_err(|error| SignError::Unreadable(NAME.to_owned(), error.to_string()))?;
    let note = note::sign_text(&name, &text, key);
    files::write(
        &directory.root().join(NOTE),
        note.as_bytes(),
        Privacy::Shared,
    )?;
    Ok(())
}

fn digest(bytes: &[u8]) -> String {
    hex::encode(base::digest(bytes))
}

/// Reason that a catalog was not signed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SignError {
    /// A declared file has no bytes.
    #[error("cannot sign `{0}`: {1}")]
    Unreadable(String, String),
    /// The note cannot be written.
    #[error(transparent)]
    File(#[from] FileError),
}
