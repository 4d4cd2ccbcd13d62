//! Where Role OS touches the machine.
//!
//! Reading order: [`environment`] (the variables), [`workspace`] (where the root is), [`config`] (the settings file).
//!
//! The promise: what leaves this crate is a checked value. No network, no terminal, no decision.

pub mod environment;

pub mod workspace;

pub mod config;
