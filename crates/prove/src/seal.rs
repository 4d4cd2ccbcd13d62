//! A graded trial as a signed bundle. Sealing twice gives the same task id, which the ledger accepts once.

use std::path::PathBuf;

use evidence::store::{Store, StoreError};
use witness::builder::{Builder, Refused};
use witness::extension::{Rollback, field};
use witness::policy::{Check, Policy, Violation, short_hash};
use witness::trace::Call;
use witness::wire::{Mode, TaskId};

use crate::run::RunFacts;
use crate::suite::Member;
use crate::trial::{TrialFolder, TrialRecord};

/// Fact with the digest of the task, so that a changed task counts as another.
pub const SUITE_TASK_DIGEST: &str = "suite_task_digest";
/// Fact with the folder of the suite.
pub const SUITE_FOLDER: &str = "suite_folder";
/// Fact with the name of the run.
pub const RUN: &str = "prove_run";

/// Returns the id of a trial: a UUID of version 8 over run, task and attempt.
#[must_use]
pub fn task_id(run: &str, digest: &str, attempt: u32, retry: u32) -> TaskId {
    let hash = base::digest(format!("{run}\0{digest}\0{attempt}\0{retry}").as_bytes());
    let mut id = [0; 16];
    id.iter_mut().zip(hash).for_each(|(to, from)| *to = from);
    if let Some(version) = id.get_mut(6) {
        *version = *version & 0x0f | 0x80;
    }
    if let Some(variant) = id.get_mut(8) {
        *variant = *variant & 0x3f | 0x80;
    }
    TaskId(id)
}

/// The bundle of a trial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SealedTrial {
    pub task_id: TaskId,
    /// Its file.
    pub path: PathBuf,
    /// SHA-256 of the bundle.
    pub sha256: String,
}

/// Seals a graded trial, or finds its bundle from before a crash.
///
/// # Errors
/// The bundle cannot be written.
pub fn seal(
    store: &Store,
    facts: &RunFacts,
    mode: Mode,
    member: &Member,
    record: &TrialRecord,
    folder: &TrialFolder,
    retry: u32,
) -> Result<SealedTrial, StoreError> {
    let id = task_id(&facts.run, &record.digest, record.attempt, retry);
    let builder = builder(id, facts, mode, member, record, folder, retry)?;
    let (keys, _) = store.keys_for_writing()?;
    match store.seal(builder, &keys) {
        Ok(sealed) => Ok(SealedTrial {
            task_id: id,
            path: sealed.path,
            sha256: hex::encode(sealed.sha256),
        }),
        Err(StoreError::AlreadySealed(id)) => find(store, id)?.ok_or(StoreError::AlreadySealed(id)),
        Err(error) => Err(error),
    }
}

fn find(store: &Store, id: TaskId) -> Result<Option<SealedTrial>, StoreError> {
    let Some(ledger) = store.ledger()? else {
        return Ok(None);
    };
    let entry = ledger
        .entries()
        .iter()
        .find(|entry| entry.leaf.task_id == id);
    Ok(entry.map(|entry| SealedTrial {
        task_id: id,
        path: store.witness_dir().join(&entry.file),
        sha256: hex::encode(entry.leaf.bundle_sha256),
    }))
}

fn builder(
    id: TaskId,
    facts: &RunFacts,
    mode: Mode,
    member: &Member,
    record: &TrialRecord,
    folder: &TrialFolder,
    retry: u32,
) -> Result<Builder, Refused> {
    let mut builder = Builder::new(id, Policy::of_mode(mode), record.created_ns);
    builder
        .outcome(record.outcome())
        .spec(member.issue.as_bytes());
    builder.diff(folder.read("diff").unwrap_or_default());
    builder.test_patch(member.graded_by());
    builder.test_log(folder.read("test.log").unwrap_or_default());
    if let Some(cause) = record.cause {
        let notes = record.notes.join("; ");
        let violations = record.agent.violations.join("; ");
        builder.postmortem(format!("{}: {notes} {violations}", cause.name()).into_bytes());
    }
    let call = Call {
        action: b"agent",
        check: Check::Allowed,
        args_hash: short_hash(facts.agent.as_bytes()),
        result_hash: short_hash(&folder.read("transcript").unwrap_or_default()),
        latency_ms: u32::try_from(record.agent.took_ms).unwrap_or(u32::MAX),
        cost_microdollars: record.agent.cost.unwrap_or(0),
        tokens: record.agent.tokens.unwrap_or(0),
    };
    // The policy's list of tools is for an agent's own tools, but the box observes programs.
    if mode == Mode::Autonomous {
        builder.record_judged(&call, &[])?;
    }
    for one in &record.agent.calls {
        let check = match &*one.recorded {
            "denied" => Check::Denied,
            "confirmed" => Check::Confirmed,
            _ if mode == Mode::Approved => Check::Confirmed,
            _ => Check::Allowed,
        };
        let judged = Call {
            action: one.tool.as_bytes(),
            check,
            args_hash: hash_of(&one.input_sha256),
            result_hash: hash_of(&one.result_sha256),
            latency_ms: u32::try_from(one.took_ms).unwrap_or(u32::MAX),
            cost_microdollars: 0,
            tokens: 0,
        };
        builder.record_judged(&judged, &[])?;
    }
    for act in record.agent.refused.iter().take(1000) {
        let refused = Call {
            action: act.get(..200).unwrap_or(act).as_bytes(),
            args_hash: short_hash(act.as_bytes()),
            result_hash: [0; 8],
            latency_ms: 0,
            cost_microdollars: 0,
            tokens: 0,
            ..call
        };
        builder.record_refused(&refused)?;
    }
    for text in &record.agent.violations {
        builder.violation(Violation {
            call: 0,
            text: text.clone(),
        });
    }
    if let Some(rollback) = &record.agent.rollback {
        builder.rollback(Rollback {
            restored: rollback.restored,
            wanted: rollback.wanted.clone(),
            found: rollback.found.clone(),
            kept: String::new(),
        });
    }
    for (name, value) in provenance(facts, member, record, retry) {
        builder.provenance(name, &value);
    }
    Ok(builder)
}

/// Returns the beginning of a hexadecimal SHA-256.
fn hash_of(text: &str) -> [u8; 8] {
    let mut short = [0; 8];
    hex::decode_to_slice(text.get(..16).unwrap_or_default(), &mut short).ok();
    short
}

fn provenance(
    facts: &RunFacts,
    member: &Member,
    record: &TrialRecord,
    retry: u32,
) -> Vec<(&'static str, String)> {
    let task = &member.task;
    let format = serde_json::to_value(task.test.format).ok();
    let format = format
        .and_then(|value| value.as_str().map(str::to_owned))
        .unwrap_or_default();
    let mut all = vec![
        (field::AGENT, facts.agent_name.clone()),
        (field::SUITE, facts.suite_name.clone()),
        (field::SUITE_TASK, task.id.clone()),
        (SUITE_TASK_DIGEST, member.digest.clone()),
        (SUITE_FOLDER, facts.suite.clone()),
        (RUN, facts.run.clone()),
        ("attempt", record.attempt.to_string()),
        ("attempts_lost", (record.agent.lost + retry).to_string()),
        (field::BASE_COMMIT, task.base_commit.clone()),
        ("base_tree", task.base_tree.clone()),
        (field::TEST_COMMAND, task.test.command.clone()),
        ("test_format", format),
        (
            "test_patch_sha256",
            hex::encode(base::digest(&member.test_patch)),
        ),
        ("test_runs", record.test_runs.to_string()),
        ("sandbox", facts.sandbox.clone()),
        ("governance", facts.governance.clone()),
        ("network", task.network.agent.clone()),
        ("refused", record.agent.all_refused().count().to_string()),
    ];
    all.extend(traffic(record));
    if let Some(cause) = record.cause {
        all.push(("cause", cause.name().to_owned()));
    }
    if !record.agent.left_out.is_empty() {
        let list = record.agent.left_out.join(" ");
        all.push(("diff_left_out", list.chars().take(4000).collect()));
    }
    if record.agent.cost.is_none() {
        all.push((field::COST, "unknown: the agent states none".to_owned()));
    }
    if facts.confirm == "auto" {
        all.push(("confirmed_by", "harness".to_owned()));
    }
    all
}

/// States the source of the cost, the traffic through the model socket, and the refused calls.
fn traffic(record: &TrialRecord) -> Vec<(&'static str, String)> {
    let agent = &record.agent;
    let mut all = Vec::new();
    if !agent.cost_source.is_empty() {
        all.push(("cost_source", agent.cost_source.clone()));
    }
    if let Some(cost) = agent.cost_agent {
        all.push(("cost_agent", cost.to_string()));
    }
    if let Some(metered) = &agent.metered {
        all.push(("tokens_metered", metered.usage.tokens().to_string()));
        all.push(("model_requests", metered.requests.to_string()));
        if let Some(cost) = metered.cost {
            all.push(("cost_priced", cost.to_string()));
        }
        let models: Vec<&str> = metered.models.iter().map(String::as_str).collect();
        all.push((field::MODEL, models.join(" ")));
    }
    let denied = agent.calls.iter().filter(|call| call.recorded == "denied");
    let denied: Vec<String> = denied
        .take(32)
        .map(|call| format!("{} {} ({})", call.tool, call.input, call.actions.join(", ")))
        .collect();
    if !denied.is_empty() {
        all.push((
            "denied_calls",
            denied.join("\n").chars().take(4000).collect(),
        ));
    }
    all
}
