//! The gateway over real connections: forwarding, refusals, answers for roles, and logs.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "a test that cannot go on fails, and writes files without ceremony"
)]

mod feedback;
mod learning;
mod load;
mod origin;
mod pass;
mod picky;
mod refuse;
mod role;
mod serving;
mod stage;
