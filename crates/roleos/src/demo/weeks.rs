//! Six weeks of repairs: a bug is committed to a real repository, its test fails, the scripted model proposes bodies
//! until the test passes or the attempts are used up, and a bundle is sealed. The work is done now; only the times of
//! bundles and commits are injected, and every bundle states that.

use std::collections::BTreeSet;
use std::time::Instant;

use base::files::{self, Privacy};
use base::prices::{Prices, Usage};
use demo_models::repairs::{self, Repair};
use demo_models::tasks::REPAIRER;
use demo_models::{MODEL, tokens};
use serde_json::{Value, json};
use upstream::blocking;
use upstream::fallback::{Fallback, Prompt};
use witness::builder::Builder;
use witness::extension::field;
use witness::policy::{Check, Policy, short_hash};
use witness::trace::Call;
use witness::wire::{Mode, Outcome, TaskId};

use super::Stage;
use super::shell::{Ran, sh};
use crate::failure::Failure;

/// The last repair, which the agent makes.
pub(super) const AGENTS_OWN: usize = repairs::COUNT - 1;

/// Test command.
pub(super) const TESTS: &str = "sh test.sh";

/// The file that is repaired.
pub(super) const FILE: &str = "text.sh";

/// Most proposals per repair.
const PATIENCE: usize = 3;

const SECOND: u64 = 1_000_000_000;

/// Time between the beginnings of two repairs: six weeks for all of them.
const PAUSE_NS: u64 = 6 * 7 * 24 * 60 * 60 * SECOND / repairs::COUNT as u64;

/// Seals the repairs that are not sealed yet.
pub(super) fn play(stage: &Stage<'_>) -> Result<bool, Failure> {
    let ledger = stage.context.store.ledger()?;
    let entries = ledger.iter().flat_map(|ledger| ledger.entries());
    let sealed: BTreeSet<[u8; 16]> = entries.map(|entry| entry.leaf.task_id.0).collect();
    let missing: Vec<usize> = (0..AGENTS_OWN)
        .filter(|number| !sealed.contains(&task_id(stage, *number).0))
        .collect();
    if missing.is_empty() {
        return Ok(false);
    }
    let role_os = stage.context.workspace.role_os_dir();
    let fallback = Fallback::new(&stage.context.config.fallback.claude, &role_os);
    let fallback = fallback
        .ok_or_else(|| Failure::refused("demo", "the demo's settings name no general model"))?;
    let progress = stage.ui.progress(AGENTS_OWN, "repairs");
    let all = async {
        for number in missing {
            stage.goes_on()?;
            if let Some(repair) = repairs::repair(number) {
                one(stage, &fallback, &repair).await?;
            }
            progress.set(number + 1);
        }
        Ok(true)
    };
    blocking::run(all).map_err(|error| Failure::refused("runtime", error.to_string()))?
}

/// Returns the same id for the same demo, so that a repair is sealed once.
fn task_id(stage: &Stage<'_>, number: usize) -> TaskId {
    let text = format!("roleos demo {} repair {number}", stage.place.began_ns());
    let digest = base::digest(text.as_bytes());
    let mut id = [0; 16];
    id.iter_mut().zip(digest).for_each(|(to, from)| *to = from);
    TaskId(id)
}

/// Returns the injected time of a repair.
fn time_ns(stage: &Stage<'_>, number: usize) -> u64 {
    let ago = (repairs::COUNT - number) as u64 * PAUSE_NS;
    stage.place.began_ns().saturating_sub(ago)
}

/// Commits the bug; returns the commit's id.
pub(super) fn break_it(stage: &Stage<'_>, repair: &Repair) -> Result<String, Failure> {
    let tree = stage.place.repository();
    files::write(&tree.join(FILE), repair.file.as_bytes(), Privacy::Shared)?;
    let at = time_ns(stage, repair.number) / SECOND;
    let line = format!(
        "export GIT_AUTHOR_DATE='@{at} +0000' GIT_COMMITTER_DATE='@{at} +0000'; \
         git add -A && git commit -q --allow-empty -m 'Change {}' && git rev-parse HEAD",
        repair.function
    );
    let ran = sh(&line, &tree)?.succeeds("commit in the demo's repository")?;
    Ok(ran.text().trim().to_owned())
}

async fn one(stage: &Stage<'_>, fallback: &Fallback, repair: &Repair) -> Result<(), Failure> {
    let tree = stage.place.repository();
    let base = break_it(stage, repair)?;
    let at = time_ns(stage, repair.number);
    let policy = Policy::of_mode(Mode::Autonomous);
    let mut builder = Builder::new(task_id(stage, repair.number), policy, at);
    let mut tests = sh(TESTS, &tree)?;
    record(&mut builder, "Bash", TESTS, &tests)?;
    let prices = Prices::new(&stage.context.config.oversight.prices);
    let mut attempts = 0;
    while !tests.ok && attempts < PATIENCE {
        let body = propose(fallback, repair, attempts, &mut builder, prices).await?;
        let text = repairs::with_body(repair.function, &body);
        files::write(&tree.join(FILE), text.as_bytes(), Privacy::Shared)?;
        tests = sh(TESTS, &tree)?;
        record(&mut builder, "Bash", TESTS, &tests)?;
        if attempts > 0 {
            builder.retry();
        }
        attempts += 1;
    }
    let line = format!(
        "git diff HEAD && export GIT_AUTHOR_DATE='@{0} +0000' GIT_COMMITTER_DATE='@{0} +0000' \
         && git commit -q -a -m 'Repair {1}'",
        at / SECOND + 600,
        repair.function
    );
    let diff = sh(&line, &tree)?.succeeds("commit in the demo's repository")?;
    let plan = format!(
        "Run the tests, change `{}` in {FILE}, run them again.\n",
        repair.function
    );
    builder.spec(repair.issue.as_bytes()).plan(plan);
    builder.diff(diff.output).test_log(tests.output);
    if !tests.ok {
        let why = format!("None of {attempts} proposals made the tests pass.\n");
        builder.postmortem(why);
    }
    builder.outcome(if tests.ok {
        Outcome::Solved
    } else {
        Outcome::Failed
    });
    let suite_task = format!("repair-{:02}", repair.number);
    for (name, value) in [
        (field::AGENT, "demo-repairer"),
        (field::MODEL, MODEL),
        (field::ROLE, REPAIRER),
        (field::BASE_COMMIT, &base),
        (field::TEST_COMMAND, TESTS),
        (field::SUITE_TASK, &suite_task),
        ("created", "injected by `roleos up --demo`"),
    ] {
        builder.provenance(name, value);
    }
    let (keys, _) = stage.context.store.keys_for_writing()?;
    stage.context.store.seal(builder, &keys)?;
    Ok(())
}

/// Requests a body from the general model, and records the change as a call with its cost.
async fn propose(
    fallback: &Fallback,
    repair: &Repair,
    attempt: usize,
    builder: &mut Builder,
    prices: Prices<'_>,
) -> Result<String, Failure> {
    let input = json!({
        "repair": repair.number, "attempt": attempt, "issue": repair.issue, "file": repair.file,
    });
    let trace_id = format!("repair-{}-{attempt}", repair.number);
    let began = Instant::now();
    let said = fallback.ask(Prompt {
        role: REPAIRER,
        instructions: None,
        input: &input,
        trace_id: &trace_id,
        beside: None,
    });
    let said = said
        .await
        .map_err(|error| Failure::refused("demo_model", error.to_string()))?;
    let body = match said.verdict {
        Value::String(text) => text,
        other => other.to_string(),
    };
    let question = input.to_string();
    let usage = Usage {
        input: tokens(&question),
        output: tokens(&body),
        ..Usage::default()
    };
    let cost = prices.cost(MODEL, usage).unwrap_or(0);
    let small = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
    let latency = u32::try_from(began.elapsed().as_millis()).unwrap_or(u32::MAX);
    let call = Call {
        action: b"Edit",
        check: Check::Allowed,
        args_hash: short_hash(question.as_bytes()),
        result_hash: short_hash(body.as_bytes()),
        latency_ms: latency,
        cost_microdollars: small(cost),
        tokens: small(usage.tokens()),
    };
    builder.record(&call).map_err(refused)?;
    Ok(body)
}

fn record(builder: &mut Builder, tool: &str, command: &str, ran: &Ran) -> Result<(), Failure> {
    let call = Call {
        action: tool.as_bytes(),
        check: Check::Allowed,
        args_hash: short_hash(command.as_bytes()),
        result_hash: short_hash(&ran.output),
        latency_ms: ran.took_ms,
        cost_microdollars: 0,
        tokens: 0,
    };
    builder.record(&call).map_err(refused)?;
    Ok(())
}

fn refused(error: witness::builder::Refused) -> Failure {
    evidence::store::StoreError::from(error).into()
}
