//! Outgoing HTTP: requests to other machines, and processing of their answers.
//!
//! `exchange` sends one request under limits, over the pooled `connections`; [`blocking`] lets a program without an
//! async runtime wait.
//! [`backend`] asks adapters, [`fallback`] the general model; [`dispatch`] goes from the gate to the receipt,
//! [`agreement`] compares two answers, [`contest`] asks several at once, [`audit`] asks an exam's cases, [`consult`] asks
//! about a tool call. [`catalog_remote`] fetches a catalog's files. `oidc` asks a provider who a person is.
//!
//! Other crates decide about the use of an answer. This crate does not listen or print.

pub mod agreement;
pub mod audit;
pub mod backend;
pub mod blocking;
pub mod catalog_remote;
pub mod connections;
pub mod consult;
pub mod contest;
pub mod dispatch;
pub mod exchange;
pub mod fallback;
#[cfg(feature = "oidc")]
pub mod oidc;
pub mod shipper;
pub mod web_address;
