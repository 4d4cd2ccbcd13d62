//! Test vectors: bundles made by the reference crates, and the results of those crates.

use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use witness::key::HmacKey;

/// Returns the part of `manifest.json` that a test needs.
pub(crate) fn manifest<T: DeserializeOwned>() -> T {
    let text = std::fs::read(vectors().join("manifest.json")).expect("the manifest is in place");
    serde_json::from_slice(&text).expect("the manifest has the fields that the test asks for")
}

/// Returns the bytes of one vector.
pub(crate) fn read(file: &str) -> Vec<u8> {
    std::fs::read(vectors().join(file)).expect("every vector of the manifest is in place")
}

/// Returns the key of a vector; the empty string is the key of no bytes.
pub(crate) fn key(hex_text: &str) -> HmacKey {
    HmacKey::new(&hex::decode(hex_text).expect("keys are written in hex"))
}

fn vectors() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors")
}
