//! The tests of the catalog, in one program: published vectors, the YAML dialect, hostile text, the strict check.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::panic,
    reason = "a helper that fails is a test that fails"
)]

mod dialect;
mod hostile;
mod properties;
mod reference;
mod strict;
mod support;
mod vectors;
