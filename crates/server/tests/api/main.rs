//! The API over a real socket: responses, refusals, and no partial changes.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "a test that cannot go on fails, and reads the variable that names its interpreter"
)]

mod changes;
mod contract;
mod dashboards;
mod lists;
#[cfg(feature = "oidc")]
mod oidc;
#[cfg(feature = "otlp")]
mod otlp;
mod pages;
mod place;
mod refusals;
mod tls;
