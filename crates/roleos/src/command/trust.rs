//! The options that select the trusted key.

use std::path::PathBuf;

use base::keys::{keyring_from_file, keyring_from_hex};
use clap::Args;
use witness::key::Keyring;

use crate::{Context, Failure};

/// A key of the caller's choice instead of the workspace's.
#[derive(Debug, Args)]
pub struct Trust {
    /// HMAC key as hexadecimal text instead of the workspace's keys; "" is the empty key.
    #[arg(long, value_name = "HEX", conflicts_with = "key_file")]
    key_hex: Option<String>,
    /// Key file instead of the workspace's keys: one of ours, a `.pub`, hexadecimal text, or raw HMAC bytes.
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
}

impl Trust {
    /// Returns the trusted keys.
    pub fn keyring(&self, context: &Context) -> Result<Keyring, Failure> {
        match (&self.key_hex, &self.key_file) {
            (Some(text), _) => Ok(keyring_from_hex(text)?),
            (None, Some(path)) => Ok(keyring_from_file(path)?),
            (None, None) => Ok(context.store.keys()?.keyring()),
        }
    }
}
