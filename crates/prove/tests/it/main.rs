//! Suites mined from scratch repositories, graded, run and rolled back in real boxes.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on says so by panicking"
)]
#![expect(
    clippy::disallowed_methods,
    reason = "`cargo xtask test` names the interpreter in a variable"
)]

mod scratch;
mod tricks;
