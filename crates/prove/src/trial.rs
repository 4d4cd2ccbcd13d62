//! One attempt at one task: a fresh tree, the agent in its box under supervision, its change, a rollback if it broke a
//! rule, and the grade. Every step leaves a file, so that a killed run resumes.

mod agent_box;
mod disk;
pub mod hooks;
pub mod model;
pub mod record;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use base::files;
use sandbox::Stopped;
use witness::wire::Mode;

use agent_box::{Slot, take_report, take_traffic};
use model::Models;

use crate::agent::Agent;
use crate::grade::Cause;
use crate::grading::{self, Bench};
use crate::suite::Member;
use crate::world::{self, World};
pub use record::{AgentRecord, RollbackRecord, TrialFolder, TrialRecord};

/// Mount points that are not part of an agent's work.
const SKIP: [&str; 1] = ["node_modules"];
/// Longest output of an agent that is kept.
const MAX_TRANSCRIPT: usize = 4 << 20;

/// Rules of running agents.
#[derive(Clone, Debug)]
pub struct Rules {
    pub agent: Agent,
    pub mode: Mode,
    /// `roleos` itself, which supervises the box and connects it to the outside.
    pub program: PathBuf,
    /// The workspace whose rules the supervisor applies. `None` runs unsupervised.
    pub supervised_in: Option<PathBuf>,
    /// Settings of `--policy`, as text.
    pub policy: String,
    /// Set if the harness confirms calls that are not gated, in approved mode.
    pub confirms: bool,
    /// Models for the agent; `None` for none.
    pub models: Option<Arc<dyn Models>>,
    /// Name of the model.
    pub model: String,
    /// Folders with the agent's programs.
    pub folders: Vec<PathBuf>,
    /// Changes by task that are graded instead of an agent's work.
    pub predictions: Option<BTreeMap<String, String>>,
}

impl Rules {
    /// Returns the address of the model inside the box; empty without one.
    #[must_use]
    pub fn model_url(&self) -> String {
        let url = || format!("http://127.0.0.1:{}", model::PORT);
        self.models.as_ref().map_or_else(String::new, |_| url())
    }
}

/// Runs the agent if it has not ended yet, then grades. `step` is called with each begun and finished step.
///
/// # Errors
/// A file of the run cannot be written.
pub fn run(
    bench: &Bench<'_>,
    rules: &Rules,
    member: &Member,
    attempt: u32,
    folder: &TrialFolder,
    step: &dyn Fn(&str) -> io::Result<()>,
) -> io::Result<TrialRecord> {
    let started = Instant::now();
    let lost: u32 = folder.record("lost.json").unwrap_or(0);
    let agent = match folder.record::<AgentRecord>("agent.json") {
        Some(agent) => agent,
        None => {
            // If the run is killed from here on, an attempt and its cost are lost.
            folder.keep("lost.json", &(lost + 1))?;
            let agent = AgentRecord {
                lost,
                ..run_agent(bench, rules, member, folder, step)?
            };
            folder.keep("agent.json", &agent)?;
            step("agent_ended")?;
            agent
        }
    };
    let diff = folder.read("diff").unwrap_or_default();
    let graded = match agent.cause {
        Some(cause) => grading::Graded {
            verdict: crate::grade::Verdict::of(cause, agent.stopped.clone()),
            diff,
            ..grading::Graded::default()
        },
        None => grading::grade(bench, member, diff, agent.left_out.clone()),
    };
    folder.write("test.log", &graded.log)?;
    let test_ms = millis(graded.took) * u64::from(graded.runs.max(1));
    let whole = millis(started.elapsed());
    let record = TrialRecord {
        task: member.task.id.clone(),
        attempt,
        digest: member.digest.clone(),
        outcome: graded.verdict.outcome().name().to_owned(),
        cause: graded.verdict.cause,
        failing: graded
            .verdict
            .failing
            .iter()
            .map(|(name, status)| (name.clone(), (*status).to_owned()))
            .collect(),
        notes: graded
            .verdict
            .notes
            .iter()
            .cloned()
            .chain(agent.cost_note())
            .collect(),
        passed: graded.verdict.passing.len(),
        test_ms,
        test_runs: graded.runs,
        overhead_ms: whole.saturating_sub(test_ms).saturating_sub(agent.took_ms),
        created_ns: base::clock::now_ns(),
        agent,
    };
    folder.keep_result(&record)?;
    step("graded")?;
    Ok(record)
}

fn millis(time: std::time::Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Runs the agent in a fresh tree and returns its change.
fn run_agent(
    bench: &Bench<'_>,
    rules: &Rules,
    member: &Member,
    folder: &TrialFolder,
    step: &dyn Fn(&str) -> io::Result<()>,
) -> io::Result<AgentRecord> {
    let slot = tempfile::Builder::new()
        .prefix("agent-")
        .tempdir_in(bench.work)?;
    let tree = slot.path().join("wt");
    let broken = |why: String| AgentRecord {
        cause: Some(Cause::SandboxFailed),
        stopped: why,
        ..AgentRecord::default()
    };
    if let Err(error) = write_tree(bench, member, &tree) {
        return Ok(broken(error.to_string()));
    }
    if let Some(predictions) = &rules.predictions {
        let change = predictions.get(&member.task.id).map_or("", String::as_str);
        let mut record = AgentRecord::default();
        apply_change(bench, member, &tree, change, folder, &mut record)?;
        return Ok(record);
    }
    let before = World::read(&tree, &SKIP)?;
    step("agent_started")?;
    let started = Instant::now();
    let state = folder.0.join("hooks");
    fs::remove_dir_all(&state).ok();
    let place = Slot {
        folder: slot.path(),
        state: &state,
        room: disk::room(member, &before),
    };
    let mut boxing = match agent_box::run(bench, rules, member, place) {
        Ok(boxing) => boxing,
        Err(error) => {
            return Ok(AgentRecord {
                cause: Some(Cause::Harness),
                stopped: error.to_string(),
                ..AgentRecord::default()
            });
        }
    };
    let mut record = AgentRecord {
        took_ms: millis(started.elapsed()),
        ..AgentRecord::default()
    };
    take_traffic(&mut record, rules, &mut boxing, &slot.path().join("out"));
    let printed = boxing.printed;
    folder.write(
        "transcript",
        printed.get(..MAX_TRANSCRIPT).unwrap_or(&printed),
    )?;
    match boxing.ended {
        Ok(done) => record.code = Some(done.code),
        Err(stopped @ (Stopped::NoSandbox(_) | Stopped::Machine(_))) => {
            return Ok(broken(stopped.to_string()));
        }
        Err(stopped) => {
            record.stopped = stopped.to_string();
            record.cause = Some(Cause::AgentExhaustedBudget);
        }
    }
    if rules.supervised_in.is_some()
        && !take_report(&mut record, boxing.report)
        && record.cause.is_none()
    {
        return Ok(broken("the supervisor left no report".to_owned()));
    }
    judge_budgets(&mut record, member);
    judge(bench, rules, member, &before, &tree, &mut record)?;
    if record.cause.is_none() && rules.mode == Mode::Restricted {
        let change = suggestion(&String::from_utf8_lossy(&printed));
        apply_change(bench, member, &tree, &change, folder, &mut record)?;
    } else if record.cause.is_none() {
        take_change(bench, member, &tree, folder, &mut record)?;
    }
    Ok(record)
}

fn write_tree(bench: &Bench<'_>, member: &Member, tree: &Path) -> Result<(), base::git::GitError> {
    let task = &member.task;
    let hidden: Vec<&str> = [task.fix_commit.as_str(), task.base_commit.as_str()]
        .into_iter()
        .filter(|commit| !commit.is_empty())
        .collect();
    bench
        .trees
        .write_agent_tree(&task.base_tree, tree, &hidden)?;
    if bench
        .env
        .is_some_and(|env| env.join("node_modules").is_dir())
    {
        fs::create_dir_all(tree.join("node_modules")).map_err(crate::tree::failed)?;
    }
    Ok(())
}

/// Detects exceeded budgets, and a failed model.
fn judge_budgets(record: &mut AgentRecord, member: &Member) {
    let limits = &member.task.limits;
    let calls = record.calls.len() as u64;
    if calls > limits.tool_calls {
        record.cause = Some(Cause::AgentExhaustedBudget);
        record.stopped = format!(
            "{calls} tool calls were made, {} are allowed",
            limits.tool_calls
        );
    }
    let Some(metered) = &record.metered else {
        return;
    };
    if metered.is_exhausted {
        record.cause = Some(Cause::AgentExhaustedBudget);
        record.stopped = "the money of the task is used up".to_owned();
    } else if let Some(status) = metered.failed.filter(|_| record.code != Some(0)) {
        record.cause = Some(Cause::ModelProviderFailed);
        record.stopped = format!("the last answer of the model had the status {status}");
    }
}

/// Detects broken rules in the agent's final state, and restores the state before it if the mode requires that.
fn judge(
    bench: &Bench<'_>,
    rules: &Rules,
    member: &Member,
    before: &World,
    tree: &Path,
    record: &mut AgentRecord,
) -> io::Result<()> {
    fs::create_dir_all(tree)?;
    let most = disk::room(member, before);
    let size = disk::size(files::parent(tree));
    record.disk_bytes = size;
    if size > most {
        let what = format!(
            "the files of the agent grew to {} MiB, {} are allowed",
            size >> 20,
            most >> 20
        );
        record.stopped.clone_from(&what);
        if rules.mode == Mode::Autonomous {
            record.violations.push(what);
        } else {
            record.cause = Some(Cause::AgentExhaustedBudget);
        }
    }
    if record.violations.is_empty() || rules.mode != Mode::Autonomous {
        return Ok(());
    }
    record.cause = Some(Cause::Violation);
    let fresh = tempfile::Builder::new()
        .prefix("fresh-")
        .tempdir_in(bench.work)?;
    let found = write_tree(bench, member, fresh.path())
        .map_err(io::Error::other)
        .and_then(|()| world::restore(tree, fresh.path(), before, &SKIP));
    let wanted = before.hash();
    record.rollback = Some(match found {
        Ok(found) => RollbackRecord {
            restored: found.hash() == wanted,
            found: found.hash(),
            wanted,
        },
        Err(error) => RollbackRecord {
            restored: false,
            found: error.to_string(),
            wanted,
        },
    });
    Ok(())
}

/// Returns the last block of a text that is fenced as a diff; nothing without one.
fn suggestion(printed: &str) -> String {
    let mut found = String::new();
    let mut block: Option<String> = None;
    for line in printed.lines() {
        match &mut block {
            Some(text) if line.trim_end() == "```" => {
                found = std::mem::take(text);
                block = None;
            }
            Some(text) => {
                text.push_str(line);
                text.push('\n');
            }
            None if line.trim() == "```diff" => block = Some(String::new()),
            None => {}
        }
    }
    found
}

/// Applies a recorded change, and returns the part of it that counts.
fn apply_change(
    bench: &Bench<'_>,
    member: &Member,
    tree: &Path,
    change: &str,
    folder: &TrialFolder,
    record: &mut AgentRecord,
) -> io::Result<()> {
    if let Err(error) = bench.trees.apply(change.as_bytes(), tree) {
        record.cause = Some(Cause::NoApply);
        record.stopped = error.to_string();
        return Ok(());
    }
    take_change(bench, member, tree, folder, record)
}

/// Returns the part of the change that counts.
fn take_change(
    bench: &Bench<'_>,
    member: &Member,
    tree: &Path,
    folder: &TrialFolder,
    record: &mut AgentRecord,
) -> io::Result<()> {
    let changed = bench
        .trees
        .changes(&member.task.base_tree, tree)
        .map_err(io::Error::other)?;
    if changed.is_cut {
        record.cause = Some(Cause::DiffTooLarge);
        return Ok(());
    }
    match grading::counted_part(bench.repo, member, tree, &changed.patch) {
        Ok((diff, left_out)) => {
            folder.write("diff", &diff)?;
            record.left_out = left_out;
        }
        Err(error) => {
            record.cause = Some(Cause::NoApply);
            record.stopped = error.to_string();
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::suggestion;

    #[test]
    fn the_last_fenced_diff_is_the_suggestion() {
        for (printed, expected) in [
            ("", ""),
            ("```diff\na\n```\nor\n```diff\nb\n\n```\nend", "b\n\n"),
            ("```\na\n```", ""),
            ("```diff\nnot closed", ""),
        ] {
            assert_eq!(suggestion(printed), expected, "{printed}");
        }
    }
}
