//! Adapters from the registry to a halt: registered, used for learning, examined, promoted, probed. Every call goes
//! over HTTP and through the same code as `roleos dispatch`, `audit`, `specialist` and `selector`.

use std::collections::BTreeMap;
use std::sync::Arc;

use base::files::{self, Privacy};
use demo_models::tasks::{self, ADAPTERS, Adapter, DATES, ROUTER};
use routing::audits;
use routing::events;
use routing::manifests::registering::{self, How};
use routing::metrics;
use routing::runs;
use routing::selector;
use routing::selector::Judge;
use routing::specialists::{Asked, Named, Operator, Promotion, Specialists, Wanted};
use routing::verifiers::Verifiers;
use selection::canonical;
use selection::event::Event;
use selection::manifest::Mode;
use selection::selector::Book;
use serde_json::{Map, Value, json};
use specialist::level::Level;
use upstream::backend::{Backends, Limits};
use upstream::blocking;
use upstream::contest::{Arena, Asking, Logs};
use upstream::dispatch::Dispatcher;
use upstream::fallback::Fallback;

use super::{OPERATOR, Stage};
use crate::command::audit;
use crate::command::specialist::{certify, now, open};
use crate::failure::Failure;

/// Prefix of the trace ids of dispatches; a number follows.
const TRACE: &str = "demo-";

/// Learning runs of a role that its selector needs.
const LEAST_LEARNING: usize = 20;

/// Cases of an exam.
const CASES: usize = 30;

/// Gate threshold, which is low because two equally good adapters share the selector's confidence.
const THRESHOLD: f64 = 0.2;

/// Returns the number of learning runs among the dispatches.
fn learning(dispatches: usize) -> usize {
    (dispatches * 4 / 15)
        .max(2 * LEAST_LEARNING)
        .min(dispatches)
}

/// Returns the number of the dispatch from which the drifting adapter drifts.
fn drifts_from(dispatches: usize) -> usize {
    let learning = learning(dispatches);
    learning + (dispatches - learning) / 2
}

fn act<T>(reason: &str, act: impl FnOnce(Operator<'_>) -> T) -> T {
    let now = now();
    act(Operator {
        name: OPERATOR,
        reason,
        now: &now,
    })
}

/// Registers all adapters at level L0.
pub(super) fn register(stage: &Stage<'_>) -> Result<bool, Failure> {
    let specialists = open(stage.context, &Named::default())?;
    let mut did = false;
    for adapter in &ADAPTERS {
        let registry = specialists.registry()?;
        let entry = registry.entry(adapter.role);
        if entry.is_some_and(|entry| entry.version(adapter.version).is_some()) {
            continue;
        }
        enter(stage, &specialists, adapter)?;
        did = true;
    }
    Ok(did)
}

fn enter(stage: &Stage<'_>, specialists: &Specialists, adapter: &Adapter) -> Result<(), Failure> {
    let path = stage
        .place
        .package(&format!("{}-{}.json", adapter.role, adapter.version));
    let version = json!({
        "id": adapter.version, "adapter_id": adapter.id, "model_id": adapter.id, "base_model": "demo/text-rules",
        "gate_threshold": THRESHOLD, "note": adapter.strength, "io_contract": { "output": { "format": "json" } },
        "verifier": {
            "type": "json_schema", "pass_condition": "schema_valid",
            "config": { "schema": tasks::schema(adapter.role) },
        },
    });
    files::write(&path, version.to_string().as_bytes(), Privacy::Shared)?;
    let how = How {
        adapter_id: None,
        artifacts: None,
        mode: Mode::Strict,
        set: &stage.context.config.selection,
        signers: &[],
    };
    let entering = registering::read(&path, how)?;
    let url = format!("http://{}/{}", stage.backstage.address(), adapter.role);
    let registered = act("the demo begins", |operator| {
        specialists.register(
            adapter.role,
            entering.version,
            Some((&url, 1.0)),
            None,
            operator,
        )
    })?;
    let told = Event::ModelAddRequest {
        reason: "registered".to_owned(),
        stats_snapshot: json!({ "role": adapter.role, "version": registered.id }),
    };
    events::emit(&events::path(&stage.context.workspace), &[told])?;
    Ok(())
}

/// Makes the first dispatches, as learning runs.
pub(super) fn learn(stage: &Stage<'_>) -> Result<bool, Failure> {
    dispatch(stage, learning(stage.place.dispatches()), true)
}

/// Makes the other dispatches, which serve.
pub(super) fn serve(stage: &Stage<'_>) -> Result<bool, Failure> {
    dispatch(stage, stage.place.dispatches(), false)
}

/// Counts the dispatches of this demo in the field log.
fn made(specialists: &Specialists) -> Result<usize, Failure> {
    let bytes = specialists.field_log()?;
    let lines = bytes.split(|byte| *byte == b'\n');
    let is_ours = |line: &&[u8]| {
        let row: Value = serde_json::from_slice(line).unwrap_or_default();
        let trace = row.get("trace_id").and_then(Value::as_str);
        trace.is_some_and(|trace| trace.starts_with(TRACE))
    };
    Ok(lines.filter(is_ours).count())
}

/// Makes the dispatches up to this number.
fn dispatch(stage: &Stage<'_>, upto: usize, learn: bool) -> Result<bool, Failure> {
    let context = stage.context;
    let specialists = open(context, &Named::default())?;
    let made = made(&specialists)?;
    let drifts = drifts_from(stage.place.dispatches());
    if made > drifts {
        // A drift is not undone by a restart.
        stage.backstage.drift();
    }
    if made >= upto {
        return Ok(false);
    }
    let backends = Backends::new(Limits::from(&context.config.specialist));
    let role_os = context.workspace.role_os_dir();
    let fallback = Fallback::new(&context.config.fallback.claude, &role_os);
    let judge = Judge::of(&context.workspace);
    let dispatcher = Dispatcher::new(&specialists, &backends, fallback.as_ref(), &judge);
    let arena = Arena {
        dispatcher: &dispatcher,
        verifiers: Arc::new(Verifiers::new(&context.config.selection)),
        logs: Logs::of(&context.workspace, &context.config),
        measurements: context.config.selection.measurements.get(),
        config: &context.config,
    };
    let progress = stage.ui.progress(stage.place.dispatches(), "dispatches");
    let all = async {
        for number in made..upto {
            stage.goes_on()?;
            if number >= drifts {
                stage.backstage.drift();
            }
            one(stage, &arena, number, learn).await?;
            progress.set(number + 1);
        }
        Ok(true)
    };
    let ran: Result<bool, Failure> =
        blocking::run(all).map_err(|error| Failure::refused("runtime", error.to_string()))?;
    ran
}

async fn one(
    stage: &Stage<'_>,
    arena: &Arena<'_>,
    number: usize,
    learn: bool,
) -> Result<(), Failure> {
    let workspace = &stage.context.workspace;
    let role = if number.is_multiple_of(2) {
        ROUTER
    } else {
        DATES
    };
    let text = tasks::input(role, number / 2);
    let right = tasks::right(role, &text);
    let input = Value::String(text.clone());
    let (current, _) = metrics::contest(workspace)?;
    let trials = if learn {
        runs::trials(&arena.logs.runs, role)?
    } else {
        BTreeMap::new()
    };
    let (now, trace_id) = (now(), format!("{TRACE}{number:04}"));
    let asked = Asked {
        role,
        input: &input,
        trace_id: &trace_id,
        now: &now,
    };
    let prompt_hash = canonical::hash_bytes(text.as_bytes());
    let asking = Asking {
        instructions: None,
        prompt_hash: &prompt_hash,
        further: Map::new(),
        target: learn.then_some(&right),
        wanted: Wanted {
            k: if learn { 4 } else { 1 },
            learn,
            task: None,
            trials: &trials,
        },
        current: &current,
        run_id: base::fresh_task_id().to_string(),
    };
    let held = arena.hold(asked, asking).await;
    if let Some(why) = held.answer.not_logged {
        return Err(Failure::refused(
            "demo_log",
            format!("a log was not written: {why}"),
        ));
    }
    let answered = held.answer.result.map(drop);
    answered.map_err(|error| Failure::refused("demo_dispatch", error.to_string()))
}

/// Trains the selector, examines all versions, and promotes one that passed in each role.
pub(super) fn promote(stage: &Stage<'_>) -> Result<bool, Failure> {
    let mut did = train(stage)?;
    let specialists = open(stage.context, &Named::default())?;
    for role in [ROUTER, DATES] {
        let set = stage.place.package(&format!("{role}-exam.json"));
        let exam = tasks::exam(role, CASES).to_string();
        files::write(&set, exam.as_bytes(), Privacy::Shared)?;
        for adapter in ADAPTERS.iter().filter(|adapter| adapter.role == role) {
            stage.goes_on()?;
            did |= examine(stage, &specialists, adapter, &set)?;
        }
    }
    Ok(did)
}

fn train(stage: &Stage<'_>) -> Result<bool, Failure> {
    let workspace = &stage.context.workspace;
    if selector::path(workspace).exists() {
        return Ok(false);
    }
    let lessons = selector::lessons_of(workspace)?;
    let book = Book::train(&lessons.roles);
    selector::replace(workspace, &book, &lessons, false)?;
    Ok(true)
}

/// Takes the exam, certifies, and moves the pointer to the first version with a level.
fn examine(
    stage: &Stage<'_>,
    specialists: &Specialists,
    adapter: &Adapter,
    set: &std::path::Path,
) -> Result<bool, Failure> {
    let (role, version) = (adapter.role, adapter.version);
    let taken = audits::all(&specialists.paths().audits)
        .into_iter()
        .any(|(_, record)| record.role == role && record.version == version);
    if !taken {
        audit::newcomer(stage.ui, stage.context, specialists, (role, version), set)?;
        certify::attempt(stage.context, specialists, (role, version), OPERATOR)?;
    }
    let registry = specialists.registry()?;
    let Some(entry) = registry.entry(role) else {
        return Ok(!taken);
    };
    let level = entry.version(version).map(|found| found.certified_level);
    if entry.active_version.is_none() && level >= Some(Level::of(1)) {
        act("passed its exam", |operator| {
            specialists.promote(role, version, Promotion::default(), operator)
        })?;
        return Ok(true);
    }
    Ok(!taken)
}
