//! Inputs with the outputs that won, `.role-os/contest-texts.jsonl`: written only with `[privacy] keep_inputs`, to
//! train models on. The run log names the winner; a line with another output is not exported.

use std::collections::{BTreeSet, HashMap};
use std::io;
use std::path::{Path, PathBuf};

use selection::run_log::Record;
use selection::{canonical, output};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::feedback;
use crate::runs;
use base::files::{self, FileError, Lock};
use base::workspace::Workspace;

/// Least agreement with the general model of an exported output.
const FLOOR: f64 = 0.8;

/// Longest line that is written or read.
const MAX_LINE: usize = 1024 * 1024;

/// Returns the path of the texts.
#[must_use]
pub fn path(workspace: &Workspace) -> PathBuf {
    workspace.role_os_dir().join("contest-texts.jsonl")
}

/// The texts of one contest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Texts {
    /// The contest, as in the run log.
    pub run_id: String,
    pub input: Value,
    /// The winner's answer.
    pub output: Value,
    /// The right answer, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<Value>,
}

/// Adds the texts of a contest; too long ones are skipped.
///
/// # Errors
/// The file cannot be locked or written.
pub fn append(path: &Path, texts: &Texts) -> Result<(), FileError> {
    let mut line = serde_json::to_string(texts).unwrap_or_default();
    if line.len() > MAX_LINE {
        return Ok(());
    }
    line.push('\n');
    let _alone = Lock::beside(path)?;
    files::append_line(path, &line, false).map(drop)
}

/// Returns the texts of a contest, where they were kept.
///
/// # Errors
/// The file is there and cannot be read.
pub fn find(path: &Path, run_id: &str) -> Result<Option<Texts>, FileError> {
    let mut found = None;
    let read = runs::lines_up_to(path, MAX_LINE, |line| {
        let texts: Option<Texts> = serde_json::from_slice(line).ok();
        found = texts
            .filter(|texts| texts.run_id == run_id)
            .or(found.take());
    });
    match read {
        Err(error) if error.source.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(found),
    }
}

/// What was handed out, and what was not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exported {
    /// Exported lines.
    pub lines: u64,
    /// Texts whose contest is not in the log, was won by another output, or by one that the general model or a user
    /// contradicts.
    pub left_out: u64,
}

/// Exports a line for every contest whose winner the run log confirms, in the format for training chat models:
/// `messages` with the input and the best output (the right one, if known), and its origin.
///
/// # Errors
/// A file exists and cannot be read.
pub fn export(
    log: &Path,
    texts: &Path,
    said: &Path,
    role: Option<&str>,
    mut take: impl FnMut(&Value),
) -> Result<Exported, FileError> {
    let mut winners: HashMap<String, Record> = HashMap::new();
    let there = |read: Result<(), FileError>| match read {
        Err(error) if error.source.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    };
    there(runs::lines(log, |line| {
        let Ok(record) = Record::parse(line) else {
            return;
        };
        if let Some(run_id) = record.more.run_id.clone().filter(|_| record.won()) {
            winners.insert(run_id, record);
        }
    }))?;
    let (opinions, _) = feedback::opinions(said)?;
    let bad: BTreeSet<(String, String)> = opinions
        .into_iter()
        .filter(|opinion| !opinion.acceptable)
        .map(|opinion| (opinion.trace_id, opinion.version))
        .collect();
    let is_bad = |record: &Record| {
        let named = record
            .more
            .trace_id
            .clone()
            .zip(record.more.version.clone());
        named.is_some_and(|named| bad.contains(&named))
    };
    let mut done = Exported::default();
    there(runs::lines_up_to(texts, MAX_LINE, |line| {
        let texts: Option<Texts> = serde_json::from_slice(line).ok();
        let found = texts.and_then(|texts| {
            let record = winners.get(&texts.run_id)?;
            let hash = canonical::hash_bytes(output::text(&texts.output).as_bytes());
            let is_winners = record.more.output_hash.as_ref() == Some(&hash);
            // An output that won by its speed and not by its content is not worth learning.
            let agrees =
                record.more.agreement.is_none_or(|agreed| agreed >= FLOOR) && !is_bad(record);
            (is_winners && (agrees || texts.target.is_some())).then_some((texts, record))
        });
        let Some((texts, record)) = found else {
            done.left_out += 1;
            return;
        };
        if role.is_some_and(|role| record.more.role.as_deref() != Some(role)) {
            return;
        }
        done.lines += 1;
        let best = texts.target.as_ref().unwrap_or(&texts.output);
        take(&json!({
            "messages": [
                { "role": "user", "content": output::text(&texts.input) },
                { "role": "assistant", "content": output::text(best) },
            ],
            "role": record.more.role,
            "model_id": record.model_id,
            "version": record.more.version,
            "run_id": texts.run_id,
            "prompt_hash": record.prompt_hash,
            "reward": record.reward,
            "is_target": texts.target.is_some(),
        }));
    }))?;
    Ok(done)
}
