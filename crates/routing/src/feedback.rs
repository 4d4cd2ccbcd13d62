//! Feedback of users on answers, `.role-os/feedback.jsonl`: append-only, each line linked to the one before it.
//!
//! It only labels the training data of the selector: no certificate, promotion or halt uses it.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use selection::quality;
use selection::run_log::{FIRST, Record, link};
use selection::selector::Features;
use selection::selector::examples::Opinion;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::runs;
use crate::specialists::Specialists;
use base::files::{self, Action, FileError, Lock};
use base::seals::Seals;
use base::workspace::Workspace;

/// Longest trace id of a dispatch.
pub const MAX_TRACE: usize = 256;

/// Longest comment, in characters.
pub const MAX_COMMENT: usize = 4000;

/// Largest target, in bytes of its JSON.
pub const MAX_TARGET: usize = 256 * 1024;

/// Largest file; beyond it, nothing is added.
const MAX_FILE: u64 = 1024 * 1024 * 1024;

/// Longest line: a target, a comment and the features of an input.
const MAX_LINE: usize = 1024 * 1024;

/// Score from which an answer counts as good.
const GOOD: f64 = 0.5;

/// Quality against the right answer from which an answer counts as good, as in exams.
const FLOOR: f64 = 0.8;

/// Weight of the structure when quality is measured, as the published metric has it.
const ALPHA: f64 = 0.4;

/// Name under which the last line is stored.
const NAME: &str = "feedback";

/// Returns the path of the log.
#[must_use]
pub fn path(workspace: &Workspace) -> PathBuf {
    workspace.role_os_dir().join("feedback.jsonl")
}

/// Feedback on an answer.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Said {
    /// The dispatch, from `x-roleos-trace-id`.
    pub trace_id: String,
    /// Score from 0 (bad) to 1 (good).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// The right answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
}

impl Said {
    /// Checks sizes and ranges.
    ///
    /// # Errors
    /// The problem, as a sentence.
    pub fn check(&self) -> Result<(), String> {
        if self.trace_id.is_empty() || self.trace_id.chars().count() > MAX_TRACE {
            return Err(format!(
                "`trace_id` must have from 1 to {MAX_TRACE} characters"
            ));
        }
        if self.score.is_none() && self.target.is_none() && self.comment.is_none() {
            return Err("give `score`, `target` or `comment`".to_owned());
        }
        if self
            .score
            .is_some_and(|score| !(0.0..=1.0).contains(&score))
        {
            return Err("`score` must be a number from 0 to 1".to_owned());
        }
        let comment = self.comment.as_deref().unwrap_or_default();
        if comment.chars().count() > MAX_COMMENT {
            return Err(format!(
                "`comment` must have at most {MAX_COMMENT} characters"
            ));
        }
        let target = self.target.as_ref();
        if target.is_some_and(|target| target.to_string().len() > MAX_TARGET) {
            return Err(format!("`target` must have at most {MAX_TARGET} bytes"));
        }
        Ok(())
    }
}

/// The answer that the feedback is about, as far as known.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(default)]
pub struct Subject {
    /// The role that was played.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// The version that answered; `None` for the general model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model_id: Option<String>,
    /// Hash of the input.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt_hash: Option<String>,
    /// Features of the input for the selector.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub features: Option<Features>,
    /// The answer, for comparison with a target; not stored.
    #[serde(skip)]
    pub answer: Option<Value>,
}

/// One line of the log.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Line {
    /// Time, RFC 3339 in UTC.
    pub ts: String,
    /// The feedback.
    #[serde(flatten)]
    pub said: Words,
    #[serde(flatten)]
    pub subject: Subject,
    /// Set if the answer was good, where the feedback shows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acceptable: Option<bool>,
    /// Sender of the feedback.
    pub sender: String,
    /// SHA-256 of the line before this one.
    pub prev: String,
}

/// [`Said`] as it is written in a line with other fields.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Words {
    pub trace_id: String,
    /// Score from 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// The right answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
}

/// Returns `true` if the answer was good: by the score, else by the right answer if the answer is known.
#[must_use]
pub fn acceptable(said: &Said, subject: &Subject) -> Option<bool> {
    if let Some(score) = said.score {
        return Some(score >= GOOD);
    }
    let (target, answer) = (said.target.as_ref()?, subject.answer.as_ref()?);
    Some(quality::score(ALPHA, answer, target) >= FLOOR)
}

/// Appends feedback. Returns `true` if the answer counts as good.
///
/// # Errors
/// The log cannot be locked, read or written, is full, or its links do not hold (`InvalidData`): an added line would
/// not count.
pub fn append(
    (seals, path): (&Seals, &Path),
    ts: String,
    said: Said,
    subject: Subject,
    sender: String,
) -> Result<Option<bool>, FileError> {
    let _alone = Lock::beside(path)?;
    if files::metadata(path).is_ok_and(|facts| facts.len() >= MAX_FILE) {
        let full = io::Error::other("the log is full; move it away to begin another");
        return Err(FileError::new(Action::Append, path, full));
    }
    runs::set_torn_aside(path)?;
    if let Some(line) = broken_link(path)? {
        let why = format!(
            "line {line} does not follow the one before it, so nothing in it counts; `roleos feedback --verify` shows every such line; put a copy back, or rename it and another begins"
        );
        let broken = io::Error::new(io::ErrorKind::InvalidData, why);
        return Err(FileError::new(Action::Append, path, broken));
    }
    let last = runs::last_line(path, MAX_LINE)?;
    let acceptable = acceptable(&said, &subject);
    let Said {
        trace_id,
        score,
        target,
        comment,
    } = said;
    let line = Line {
        ts,
        said: Words {
            trace_id,
            score,
            target,
            comment,
        },
        subject,
        acceptable,
        sender,
        prev: last.map_or_else(|| FIRST.to_owned(), |line| link(&line)),
    };
    let mut text = serde_json::to_string(&line).unwrap_or_default();
    let mark = link(text.as_bytes());
    text.push('\n');
    files::append_line(path, &text, false)?;
    seals.set_head(NAME, &mark)?;
    Ok(acceptable)
}

/// Reads the lines; no log means none. Unreadable lines are counted.
///
/// # Errors
/// The log exists and cannot be read.
pub fn read(path: &Path, mut take: impl FnMut(Line)) -> Result<u64, FileError> {
    let mut unreadable = 0;
    let read = runs::lines_up_to(path, MAX_LINE, |line| match serde_json::from_slice(line) {
        Ok(line) => take(line),
        Err(_) => unreadable += 1,
    });
    match read {
        Err(error) if error.source.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(unreadable),
    }
}

/// Checks the links, and that the last line is the one that was added last. Returns the number of lines, and the
/// numbers of those that do not follow the one before or differ from the added ones.
///
/// # Errors
/// The log exists and cannot be read.
pub fn verify(seals: &Seals, path: &Path) -> Result<(u64, Vec<u64>), FileError> {
    let (lines, mut bad, ends) = links(path)?;
    let newest: Option<String> = seals.head(NAME).ok().flatten();
    let is_other = newest.is_some_and(|newest| !ends.contains(&newest));
    // After a crash, the last line may not have been recorded; a log that was moved away begins again.
    if is_other && lines > 0 && bad.last() != Some(&lines) {
        bad.push(lines);
    }
    Ok((lines, bad))
}

/// Checks only the links; returns those of the last two lines as well.
fn links(path: &Path) -> Result<(u64, Vec<u64>, [String; 2]), FileError> {
    let mut before = String::new();
    let (mut lines, mut bad, mut prev) = (0, Vec::new(), FIRST.to_owned());
    let read = runs::lines_up_to(path, MAX_LINE, |line| {
        lines += 1;
        let follows = serde_json::from_slice::<Line>(line).is_ok_and(|line| line.prev == prev);
        if !follows {
            bad.push(lines);
        }
        before = std::mem::replace(&mut prev, link(line));
    });
    match read {
        Err(error) if error.source.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok((lines, bad, [before, prev])),
    }
}

/// Returns the first line whose link does not hold. Reads only the links at the end of each line: every append scans
/// the log.
fn broken_link(path: &Path) -> Result<Option<u64>, FileError> {
    let (mut lines, mut bad, mut prev) = (0, None, FIRST.to_owned());
    let read = runs::lines_up_to(path, MAX_LINE, |line| {
        lines += 1;
        let ending = format!("\"prev\":\"{prev}\"}}");
        if !line.ends_with(ending.as_bytes()) {
            bad.get_or_insert(lines);
        }
        prev = link(line);
    });
    match read {
        Err(error) if error.source.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(bad),
    }
}

/// Returns the last feedback on each answer of a version, and the number of lines that do not count: with a broken
/// link, all of them.
///
/// # Errors
/// The log exists and cannot be read.
pub fn opinions(path: &Path) -> Result<(Vec<Opinion>, u64), FileError> {
    let (lines, bad, _) = links(path)?;
    if !bad.is_empty() {
        return Ok((Vec::new(), lines));
    }
    // The last feedback on each answer, in the order in which it was given.
    let (mut last, mut number) = (BTreeMap::new(), 0_u64);
    let unreadable = read(path, |line| {
        let subject = line.subject;
        let named = subject.role.zip(subject.version).zip(line.acceptable);
        if let Some(((role, version), acceptable)) = named {
            let trace_id = line.said.trace_id;
            number += 1;
            let opinion = Opinion {
                trace_id: trace_id.clone(),
                sender: line.sender,
                role,
                version: version.clone(),
                acceptable,
                input: subject.prompt_hash.zip(subject.features),
            };
            last.insert((trace_id, version), (number, opinion));
        }
    })?;
    let mut last: Vec<(u64, Opinion)> = last.into_values().collect();
    last.sort_by_key(|(number, _)| *number);
    Ok((
        last.into_iter().map(|(_, opinion)| opinion).collect(),
        unreadable,
    ))
}

/// Searches a dispatch in the logs: the run log first, which has the most data, then the field log and the gateway's
/// requests.
#[must_use]
pub fn find(workspace: &Workspace, specialists: &Specialists, trace_id: &str) -> Option<Subject> {
    let quoted = Value::from(trace_id).to_string();
    in_runs(&runs::path(workspace), &quoted)
        .or_else(|| in_field_log(specialists, &quoted))
        .or_else(|| in_requests(workspace, &quoted))
}

fn holds(line: &[u8], needle: &str) -> bool {
    memchr::memmem::find(line, needle.as_bytes()).is_some()
}

/// Returns the execution that was served; of several candidates, the winner.
fn in_runs(path: &Path, quoted: &str) -> Option<Subject> {
    let needle = format!("\"trace_id\":{quoted}");
    let mut found = None;
    runs::lines(path, |line| {
        let Some(record) = holds(line, &needle)
            .then(|| Record::parse(line).ok())
            .flatten()
        else {
            return;
        };
        let is_served = record.more.mode.as_deref() == Some("serve") && record.won();
        if is_served || found.is_none() {
            let served = is_served.then_some(());
            found = Some(Subject {
                role: record.more.role,
                version: served.and(record.more.version),
                model_id: served.map(|()| record.model_id),
                prompt_hash: Some(record.prompt_hash),
                ..Subject::default()
            });
        }
    })
    .ok()?;
    found
}

fn in_field_log(specialists: &Specialists, quoted: &str) -> Option<Subject> {
    let needle = format!("\"trace_id\":{quoted}");
    let log = specialists.field_log().ok()?;
    let mut lines = log.split(|byte| *byte == b'\n');
    let line = lines.rfind(|line| holds(line, &needle))?;
    let row: Value = serde_json::from_slice(line).ok()?;
    let text = |key: &str| row.get(key).and_then(Value::as_str).map(str::to_owned);
    let is_adapters = text("source").as_deref() == Some("specialist");
    Some(Subject {
        role: text("role"),
        version: text("version").filter(|_| is_adapters),
        ..Subject::default()
    })
}

fn in_requests(workspace: &Workspace, quoted: &str) -> Option<Subject> {
    let needle = format!("\"trace\":{quoted}");
    let newest = workspace.role_os_dir().join("gateway.jsonl");
    let older = (1..).map(|number: u32| newest.with_added_extension(number.to_string()));
    let logs = std::iter::once(newest.clone()).chain(older);
    for log in logs.take_while(|log| log.exists()) {
        let mut found = None;
        let read = runs::lines(&log, |line| {
            if holds(line, &needle) {
                let row: Value = serde_json::from_slice(line).unwrap_or_default();
                let role = row.get("role").and_then(Value::as_str).map(str::to_owned);
                found = Some(Subject {
                    role,
                    ..Subject::default()
                });
            }
        });
        if read.is_ok() && found.is_some() {
            return found;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::json;

    use super::*;

    fn said(value: Value) -> Said {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn limits_come_before_anything_is_kept() {
        for (value, fits) in [
            (json!({ "trace_id": "t", "score": 1 }), true),
            (
                json!({ "trace_id": "t", "score": 0.0, "comment": "x" }),
                true,
            ),
            (json!({ "trace_id": "t", "target": { "a": 1 } }), true),
            (json!({ "trace_id": "t" }), false),
            (json!({ "trace_id": "", "score": 1 }), false),
            (json!({ "trace_id": "x".repeat(257), "score": 1 }), false),
            (json!({ "trace_id": "t", "score": 1.01 }), false),
            (json!({ "trace_id": "t", "score": -0.1 }), false),
            (
                json!({ "trace_id": "t", "comment": "é".repeat(4001) }),
                false,
            ),
            (
                json!({ "trace_id": "t", "comment": "é".repeat(4000) }),
                true,
            ),
            (
                json!({ "trace_id": "t", "target": "x".repeat(MAX_TARGET) }),
                false,
            ),
        ] {
            assert_eq!(said(value.clone()).check().is_ok(), fits, "{value:.80}");
        }
        let unknown = json!({ "trace_id": "t", "score": 1, "level": "L5" });
        assert!(serde_json::from_value::<Said>(unknown).is_err());
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "plays an edit by hand")]
    fn lines_are_linked_and_an_edit_is_found() {
        let guard = tempfile::tempdir().unwrap();
        let path = guard.path().join("feedback.jsonl");
        let environment = base::environment::Environment {
            state: Some(guard.path().join("state")),
            ..Default::default()
        };
        let workspace = Workspace::find(Some(guard.path()), &environment).unwrap();
        let seals = Seals::of(&workspace);
        assert_eq!(verify(&seals, &path).unwrap(), (0, vec![]));
        let subject = Subject {
            role: Some("r".to_owned()),
            version: Some("v1".to_owned()),
            answer: Some(json!({ "label": "a" })),
            ..Subject::default()
        };
        let add = |value: Value| {
            let now = "2026-09-03T10:00:00Z".to_owned();
            append(
                (&seals, &path),
                now,
                said(value),
                subject.clone(),
                "ana".to_owned(),
            )
            .unwrap()
        };
        assert_eq!(add(json!({ "trace_id": "t", "score": 0.2 })), Some(false));
        assert_eq!(
            add(json!({ "trace_id": "t", "target": { "label": "a" } })),
            Some(true)
        );
        assert_eq!(
            add(json!({ "trace_id": "t", "target": { "label": "b" } })),
            Some(false)
        );
        assert_eq!(add(json!({ "trace_id": "t", "comment": "hm" })), None);
        assert_eq!(verify(&seals, &path).unwrap(), (4, vec![]));
        let mut read_back = Vec::new();
        assert_eq!(read(&path, |line| read_back.push(line)).unwrap(), 0);
        assert_eq!(read_back[1].said.target, Some(json!({ "label": "a" })));
        assert_eq!(
            (read_back[1].sender.as_str(), read_back[1].acceptable),
            ("ana", Some(true))
        );
        let text = fs::read_to_string(&path).unwrap();
        assert!(!text.contains("\"answer\""), "{text}");
        for (from, to, bad) in [
            ("\"score\":0.2", "\"score\":0.9", vec![2]),
            ("\"hm\"", "\"ok\"", vec![4]),
        ] {
            fs::write(&path, text.replacen(from, to, 1)).unwrap();
            assert_eq!(verify(&seals, &path).unwrap(), (4, bad), "{to}");
        }
        let lines: Vec<&str> = text.lines().take(2).collect();
        fs::write(&path, lines.join("\n") + "\n").unwrap();
        assert_eq!(verify(&seals, &path).unwrap(), (2, vec![2]), "two are gone");
    }
}
