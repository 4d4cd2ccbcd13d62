//! One attempt at one task: a fresh tree, the agent in its box under supervision, what it changed, a rollback where it
//! broke a rule, and the grade. Every step leaves a file, so that a killed run goes on where it was.

pub mod record;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;

use base::files;
use sandbox::{Mount, Stopped};
use witness::wire::Mode;

use crate::agent::{Agent, Places};
use crate::boxes::{self, Boxed};
use crate::grade::Cause;
use crate::grading::{self, Bench};
use crate::suite::Member;
use crate::world::{self, World};
use record::MAX_RECORD;

pub use record::{AgentRecord, RollbackRecord, TrialFolder, TrialRecord};

/// Mount points that are no part of an agent's work.
const SKIP: [&str; 1] = ["node_modules"];
/// Most of an agent's output that is kept.
const MAX_TRANSCRIPT: usize = 4 << 20;

/// How agents are run.
#[derive(Clone, Debug)]
pub struct Rules {
    /// Who works.
    pub agent: Agent,
    /// How much freedom it has.
    pub mode: Mode,
    /// `roleos` itself, which supervises the box, and the workspace whose rules count. `None` runs unsupervised.
    pub supervisor: Option<(PathBuf, PathBuf)>,
    /// Address of the model inside the box.
    pub model_url: String,
    /// Changes by task that are graded instead of running an agent.
    pub predictions: Option<BTreeMap<String, String>>,
}

/// Runs the agent if it has not ended yet, then grades. `step` hears what begins and what is done.
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
            // A run that dies from here on has lost an attempt, and its money.
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
        notes: graded.verdict.notes.clone(),
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

/// Runs the agent in a fresh tree and takes what it changed.
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
    let (printed, ended, report) = in_box(bench, rules, member, slot.path())?;
    let (cost, tokens) = if rules.agent.is_harness_check() {
        (Some(0), Some(0))
    } else {
        stated_cost(&slot.path().join("out"))
    };
    let mut record = AgentRecord {
        took_ms: millis(started.elapsed()),
        cost,
        tokens,
        ..AgentRecord::default()
    };
    folder.write(
        "transcript",
        printed.get(..MAX_TRANSCRIPT).unwrap_or(&printed),
    )?;
    match ended {
        Ok(done) => record.code = Some(done.code),
        Err(stopped @ (Stopped::NoSandbox(_) | Stopped::Machine(_))) => {
            return Ok(broken(stopped.to_string()));
        }
        Err(stopped) => {
            record.stopped = stopped.to_string();
            record.cause = Some(Cause::AgentExhaustedBudget);
        }
    }
    if rules.supervisor.is_some() && !take_report(&mut record, report) && record.cause.is_none() {
        return Ok(broken("the supervisor left no report".to_owned()));
    }
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

type Boxing = (Vec<u8>, Result<sandbox::Done, Stopped>, Option<Vec<u8>>);

/// Runs the agent's command. Returns what it printed, how it ended, and the supervisor's report.
fn in_box(bench: &Bench<'_>, rules: &Rules, member: &Member, slot: &Path) -> io::Result<Boxing> {
    let path = |text: &str| PathBuf::from(text);
    let (issue, report) = (slot.join("issue.md"), slot.join("report.json"));
    crate::tree::put(&issue, member.issue.as_bytes())?;
    let tree = slot.join("wt");
    let mut boxed = Boxed::new(bench.tools, &tree);
    boxed.is_read_only = rules.mode == Mode::Restricted;
    boxed.env = bench.env;
    boxed.input = &issue;
    boxed
        .mounts
        .push(Mount::Read(issue.clone(), path("/w/issue.md")));
    for name in ["home", "out", "cache"] {
        fs::create_dir(slot.join(name))?;
        boxed
            .mounts
            .push(Mount::Write(slot.join(name), path(&format!("/w/{name}"))));
    }
    if let Some(reference) = member
        .reference
        .as_ref()
        .filter(|_| rules.agent.gets_reference())
    {
        crate::tree::put(&slot.join("reference.patch"), reference)?;
        boxed.mounts.push(Mount::Read(
            slot.join("reference.patch"),
            path("/w/reference.patch"),
        ));
    }
    boxed.variables = [
        ("ROLEOS_TASK", member.task.id.as_str()),
        ("ROLEOS_ISSUE_FILE", "/w/issue.md"),
        ("ROLEOS_MODEL_URL", &rules.model_url),
        ("CARGO_TARGET_DIR", "/w/cache"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .to_vec();
    if let Some((program, workspace)) = &rules.supervisor {
        // The supervisor would outlive a run that is killed, and the box with it.
        let words: [OsString; 11] = [
            "setpriv".into(),
            "--pdeathsig".into(),
            "KILL".into(),
            program.into(),
            "--root".into(),
            workspace.into(),
            "run".into(),
            "--mode".into(),
            rules.mode.name().into(),
            "--report".into(),
            report.clone().into(),
        ];
        boxed.launcher = words.into_iter().chain(["--".into()]).collect();
    }
    let limits = &member.task.limits;
    #[expect(
        clippy::cast_precision_loss,
        reason = "a budget in dollars, for people and agents"
    )]
    let budget = limits.cost_microdollars as f64 / 1e6;
    let places = Places {
        model_url: rules.model_url.clone(),
        task: member.task.id.clone(),
        seconds: limits.agent_seconds,
        budget_usd: format!("{budget:.2}"),
    };
    let command = rules.agent.command(&places);
    let (printed, ended) = boxed.run(
        &command,
        &boxes::limits(limits, limits.agent_seconds),
        &mut || false,
    );
    Ok((printed, ended, files::read(&report, MAX_RECORD).ok()))
}

/// Reads the cost and the tokens that an agent states in its own record: Claude Code's `result.json`, mini-swe-agent's
/// `run.traj.json`, or a `cost.json` with `cost_usd` and `tokens`.
fn stated_cost(out: &Path) -> (Option<u32>, Option<u32>) {
    let read = |name: &str| -> Option<serde_json::Value> {
        serde_json::from_slice(&files::read(&out.join(name), MAX_RECORD).ok()?).ok()
    };
    let places = [
        ("result.json", "/total_cost_usd", "/usage/output_tokens"),
        (
            "run.traj.json",
            "/info/model_stats/instance_cost",
            "/info/model_stats/tokens",
        ),
        ("cost.json", "/cost_usd", "/tokens"),
    ];
    for (file, cost, tokens) in places {
        let Some(value) = read(file) else { continue };
        let number = |pointer: &str| value.pointer(pointer).and_then(serde_json::Value::as_f64);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a cast of a float saturates"
        )]
        let whole = |number: f64| number.round() as u32;
        return (
            number(cost).map(|dollars| whole(dollars * 1e6)),
            number(tokens).map(whole),
        );
    }
    (None, None)
}

/// Reads the supervisor's report: programs that began, and acts that were refused.
fn take_report(record: &mut AgentRecord, report: Option<Vec<u8>>) -> bool {
    let value: Option<serde_json::Value> =
        report.and_then(|report| serde_json::from_slice(&report).ok());
    let Some(value) = value else { return false };
    record.programs = value
        .get("execs")
        .and_then(serde_json::Value::as_u64)
        .unwrap_or(0);
    let words = |value: &serde_json::Value, key: &str, between: &str| -> String {
        let list = value
            .get(key)
            .and_then(serde_json::Value::as_array)
            .into_iter()
            .flatten();
        list.filter_map(serde_json::Value::as_str)
            .collect::<Vec<_>>()
            .join(between)
    };
    let refused = value
        .get("refused")
        .and_then(serde_json::Value::as_array)
        .into_iter()
        .flatten();
    record.refused = refused
        .map(|one| {
            format!(
                "{}: {}",
                words(one, "actions", ", "),
                words(one, "argv", " ")
            )
        })
        .collect();
    true
}

/// Finds broken rules in the state that the agent left, and returns to the state before it where the mode says so.
fn judge(
    bench: &Bench<'_>,
    rules: &Rules,
    member: &Member,
    before: &World,
    tree: &Path,
    record: &mut AgentRecord,
) -> io::Result<()> {
    fs::create_dir_all(tree)?;
    let after = World::read(tree, &SKIP)?;
    let most = member
        .task
        .limits
        .disk_mb
        .saturating_mul(1 << 20)
        .max(before.size.saturating_mul(2));
    let slot = files::parent(tree);
    let size = ["home", "out", "cache"]
        .iter()
        .fold(after.size, |size, name| {
            size.saturating_add(size_below(&slot.join(name)))
        });
    if size <= most {
        return Ok(());
    }
    let what = format!(
        "the files of the agent grew to {} MiB, {} are allowed",
        size >> 20,
        most >> 20
    );
    record.stopped.clone_from(&what);
    if rules.mode != Mode::Autonomous {
        record.cause = Some(Cause::AgentExhaustedBudget);
        return Ok(());
    }
    record.violations.push(what);
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

/// Returns the bytes of all files below a folder, holes included.
fn size_below(folder: &Path) -> u64 {
    let entries = walkdir::WalkDir::new(folder).into_iter().flatten();
    let sizes = entries
        .filter(|entry| entry.file_type().is_file())
        .filter_map(|entry| entry.metadata().ok());
    sizes.fold(0, |sum, facts| sum.saturating_add(facts.len()))
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

/// Applies a change that was written down, and takes the part of it that counts.
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

/// Takes the part of the change that counts.
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
