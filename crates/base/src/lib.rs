//! Shared code of the crates with side effects: the machine, the workspace, its settings, its keys and the user's
//! trust.
//!
//! | area | modules |
//! |---|---|
//! | machine | [`files`], [`clock`], [`chance`], [`environment`], [`logs`], [`process`], [`liveness`], [`agents_above`], [`ownership`], [`recorded`] |
//! | workspace | [`workspace`], [`specialist_paths`], [`starter`], [`installed`], [`insertion`], [`running`] |
//! | settings | [`config`], [`settings_edit`], [`prices`] |
//! | trust | [`trust_store`], [`trust`], [`sealed_files`], [`keys`], [`approval_key`], [`receipts`], [`grants`], [`pins`] |
//! | git | [`git`], [`repository`] |
//! | text | [`clean`] |
//!
//! No network, no terminal, no decision about a tool call or a model.

pub mod agents_above;
pub mod approval_key;
pub mod chance;
pub mod clean;
pub mod clock;
pub mod config;
pub mod environment;
pub mod files;
pub mod git;
pub mod grants;
mod guarded_links;
pub mod insertion;
pub mod installed;
pub mod keys;
pub mod liveness;
pub mod logs;
pub mod ownership;
pub mod pins;
pub mod prices;
pub mod process;
pub mod programs;
pub mod receipts;
pub mod recorded;
pub mod repository;
pub mod running;
pub mod sealed_files;
pub mod seals;
pub mod second_copy;
pub mod settings_edit;
pub mod specialist_paths;
pub mod starter;
pub mod trust;
pub mod trust_store;
pub mod workspace;

use std::sync::atomic::{AtomicU64, Ordering};

use sha2::{Digest as _, Sha256};
use witness::wire::TaskId;

/// Formats an error and its causes on one line.
#[must_use]
pub fn said(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}

/// Computes the SHA-256, which identifies bundles.
#[must_use]
pub fn digest(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// Returns a new unique task id: a UUID of version 7, which sorts by time.
#[must_use]
pub fn fresh_task_id() -> TaskId {
    TaskId(fresh_uuid().into_bytes())
}

/// Returns a new unique UUID of version 7. If the machine has no randomness, it is made from the process, the time and
/// a count: an id is not a secret.
#[must_use]
pub fn fresh_uuid() -> uuid::Uuid {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let now = clock::now_ns();
    let mut random = [0; 10];
    if getrandom::fill(&mut random).is_err() {
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let origin = format!("{} {now} {count}", std::process::id());
        for (byte, made) in random.iter_mut().zip(digest(origin.as_bytes())) {
            *byte = made;
        }
    }
    uuid::Builder::from_unix_timestamp_millis(now / 1_000_000, &random).into_uuid()
}

/// Returns the HMAC-SHA256 of bytes in hex, and a name that identifies the key without revealing it.
#[must_use]
pub fn keyed_hash(key: &[u8], bytes: &[u8]) -> (String, String) {
    use hmac::{Hmac, KeyInit as _, Mac as _};
    let mac = |bytes: &[u8]| {
        // Keys of every length are accepted.
        let mac = Hmac::<Sha256>::new_from_slice(key).ok();
        mac.map(|mac| hex::encode(mac.chain_update(bytes).finalize().into_bytes()))
            .unwrap_or_default()
    };
    let name = mac(b"roleos key id");
    let name = name.get(..16).unwrap_or_default().to_owned();
    (mac(bytes), name)
}
