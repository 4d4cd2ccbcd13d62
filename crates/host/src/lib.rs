//! Where Role OS touches the machine: files, clock, keys, locks, git and child processes.
//!
//! Reading order: [`environment`], [`workspace`] and [`config`] (where we are and what was set), [`clock`], [`chance`] (random draws), [`files`] and [`clean`] (text that is safe to show),
//! then [`keys`], [`approval_key`], [`agents_above`], [`receipts`], [`grants`], [`pins`], [`repository`], [`approvals`], [`settings_edit`] and [`ownership`] (what a person allows),
//! [`ledger`] and [`store`] (the workspace's bundles), [`scan`] and [`score`] (many of them), [`git`],
//! [`process`], [`programs`] (our own) and [`rerun`] (running tests again), [`catalog`] and [`authoring`] (roles in a directory), [`roles`] and [`exports`] (those that were installed, and those for other agents), [`command_lookup`] (files that a command would run), [`specialists`] (adapters: their registry, their state and their logs), [`contracts`] (what calls of tools must look like), [`agents`], [`journal`], [`hook`] and [`rehearsal`] (what coding agents ask, and what is kept of it), [`supervision`] (what really runs, judged when it begins), [`install`], [`second_seam`] and [`doctor`] (setting a repository up for them, and whether that holds), [`manifests`], [`verifiers`] [`runs`], [`feedback`], [`learning`], [`dataset`] and [`events`] (what models declare, whether they kept it, what became of their runs, what users say of them, what is learned from them, and what others are told), [`running`] and [`requests`] (the one `roleos up` of a workspace, and what was asked of it), and [`trace_input`] and [`view`] (what other programs hand in and read).
//!
//! Everything here acts and nothing here decides: what to believe, allow or refuse is the rooms' business.
//! No network, no terminal.

pub mod environment;

pub mod workspace;

pub mod config;

pub mod trust_store;

pub mod trust;

pub mod chance;
pub mod clean;
pub mod clock;

pub mod files;

pub mod insertion;
pub mod installed;
pub mod liveness;
pub mod prices;
pub mod sealed_files;
pub mod specialist_paths;
pub mod starter;

pub mod keys;

pub mod approval_key;

pub mod agents_above;

pub mod receipts;

pub mod grants;
mod guarded_links;

pub mod pins;
pub mod protected;

pub mod repository;

pub mod approvals;

pub mod settings_edit;

pub mod overview;
pub mod ownership;

pub mod judged;
pub mod ledger;

pub mod store;

pub mod scan;

pub mod score;

pub mod git;

pub mod command_lookup;

pub mod agents;

pub mod hook;

pub mod rehearsal;

pub mod journal;

pub mod contracts;

pub mod process;

pub mod programs;

pub mod rerun;

pub mod catalog;

pub mod authoring;

pub mod roles;

pub mod exports;

pub mod install;

pub mod second_seam;

pub mod supervision;

pub mod doctor;

pub mod sealing;

pub mod manifests;
pub mod specialists;

pub mod feedback;

pub mod dataset;

pub mod learning;

pub mod runs;

pub mod events;

pub mod verifiers;

pub mod metrics;

pub mod audits;

pub mod selector;

pub mod running;

pub mod requests;

pub mod trace_input;

pub mod view;

use sha2::{Digest as _, Sha256};
use witness::wire::TaskId;

/// An error and its causes on one line.
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

/// SHA-256, the name under which bundles are spoken of.
#[must_use]
pub fn digest(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// A task id that nobody has used: a UUID of version 7, which sorts by time.
#[must_use]
pub fn fresh_task_id() -> TaskId {
    TaskId(uuid::Uuid::now_v7().into_bytes())
}

/// HMAC-SHA256 of bytes in hex, and a name by which the key is known without giving it away.
#[must_use]
pub fn keyed_hash(key: &[u8], bytes: &[u8]) -> (String, String) {
    use hmac::{Hmac, KeyInit as _, Mac as _};
    let mac = |bytes: &[u8]| {
        // Every length of key is taken.
        let mac = Hmac::<Sha256>::new_from_slice(key).ok();
        mac.map(|mac| hex::encode(mac.chain_update(bytes).finalize().into_bytes()))
            .unwrap_or_default()
    };
    let name = mac(b"roleos key id");
    let name = name.get(..16).unwrap_or_default().to_owned();
    (mac(bytes), name)
}
