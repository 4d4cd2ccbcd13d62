//! The real binary, as people, scripts and attackers use it. One test binary, so that it links once.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "a test that cannot go on says so by panicking, and writes files without ceremony"
)]

mod command_blocks;
mod everyday;

mod workspace;

mod up;

mod demo;
mod deploy;

mod clients;
mod generated_client;

mod sample;

mod vectors;

mod scorecard;

mod curve;

mod seal;

mod ship;

mod team_store;

mod sealed_sessions;

mod outcomes;
mod outcomes_beside;

mod strangers_programs;

mod keys;

mod roots;

mod ledger;

mod crash;

mod dsse;

mod rerun;

#[cfg(target_os = "linux")]
mod prove;
mod prove_model;
mod prove_options;

mod explain;

mod contest;

mod selection;

mod hook;

mod hook_crowd;

mod programs;

#[cfg(target_os = "linux")]
mod run;

#[cfg(target_os = "linux")]
mod bypasses;

mod refusals;

mod sessions;

#[cfg(target_os = "linux")]
mod supervised;

mod terminal;

mod saying_yes;

mod authority;

mod operator;
mod service;
mod watching;

mod browser;

mod contracts;

#[expect(
    dead_code,
    reason = "the tests of `upstream` read more of a request than these"
)]
#[path = "../../../upstream/tests/dispatch/adapter.rs"]
mod adapter;

mod conformance_ceiling;

mod faults;
mod foreign_registry;

mod specialist;

mod killed_dispatch;

mod limits;
mod links;

mod inside_agent;

mod adapter_advice;
mod adapter_evidence;
mod effects;

mod evidence;
mod exchange;
mod overview;
mod put_back;
mod readme_adapter;

mod own_powers;

mod documents;

mod checklist;

mod bad_input;

mod init;

mod init_git;

mod wording;

mod catalog_remote;

mod catalog_roles;
