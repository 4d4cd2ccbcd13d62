//! `roleos dispatch` with candidates: entrants, scores, winner, and the served answer.

use std::collections::BTreeMap;
use std::sync::Arc;

use routing::events;
use routing::metrics;
use routing::runs;
use routing::specialists::{Asked, Specialists, Wanted};
use routing::verifiers::Verifiers;
use selection::event::Event;
use selection::run_log::GENERAL;
use selection::verifier::Outcome;
use selection::{candidates, canonical, output};
use serde_json::{Map, Value, json};
use specialist::quota::Source;
use upstream::blocking;
use upstream::contest::{self, Arena, Asking, Contested, Logs};
use upstream::dispatch::{Answer, Dispatcher};

use super::Args;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::{Failure, chain};
use crate::render::clean;
use crate::render::columns::{Side, fit};
use crate::ui::{BAD, BOLD, DIM, GOOD, Ui};

/// Input of a contest.
#[derive(Debug)]
pub(super) struct Question<'a> {
    pub(super) asked: Asked<'a>,
    pub(super) instructions: Option<&'a str>,
    pub(super) prompt_hash: &'a str,
    pub(super) further: Map<String, Value>,
    /// The known right output.
    pub(super) target: Option<Value>,
}

/// Returns `true` if several versions are called, or one whose answer is checked by a verifier.
pub(super) fn is_wanted(context: &Context, specialists: &Specialists, args: &Args) -> bool {
    if args.k.is_some() || args.learn || args.target.is_some() || args.task.is_some() {
        return true;
    }
    contest::is_wanted(&context.config.selection, specialists, &args.role)
}

/// Returns the input's hash for logs: plain, or keyed if the settings name a key.
pub(super) fn prompt_hash(
    context: &Context,
    bytes: &[u8],
) -> Result<(String, Map<String, Value>), Failure> {
    contest::prompt_hash(&context.config.privacy, bytes).map_err(|name| {
        Failure::refused(
            "no_prompt_key",
            format!("`[privacy] prompt_key_env` names `{name}`, and that variable is not set"),
        )
        .hint("set it, or remove the setting: inputs are then hashed without a key")
    })
}

/// Holds the contest.
pub(super) fn hold(
    ui: &Ui,
    context: &Context,
    dispatcher: &Dispatcher<'_>,
    args: &Args,
    question: Question<'_>,
) -> Result<Contested, Failure> {
    let set = &context.config.selection;
    let usual = if args.learn {
        set.k_train.get()
    } else {
        set.k_infer.get()
    };
    let k = args.k.map_or(usual, u64::from);
    let logs = Logs::of(&context.workspace, &context.config);
    let trials = if args.learn {
        runs::trials(&logs.runs, &args.role)?
    } else {
        BTreeMap::new()
    };
    let (current, step) = metrics::contest(&context.workspace).map_err(|error| {
        Failure::refused("metric", chain(&error))
            .hint("`roleos metric show` shows the metrics of this workspace")
    })?;
    if let Some(step) = step {
        let emitted = events::emit(&logs.events, &[step]);
        noted(ui, emitted.map(drop));
    }
    let asked = question.asked;
    let arena = Arena {
        dispatcher,
        verifiers: Arc::new(Verifiers::new(set)),
        logs,
        measurements: set.measurements.get(),
        config: &context.config,
    };
    let asking = Asking {
        instructions: question.instructions,
        prompt_hash: question.prompt_hash,
        further: question.further,
        target: question.target.as_ref(),
        wanted: Wanted {
            k: usize::try_from(k).unwrap_or(usize::MAX),
            learn: args.learn,
            task: args
                .task
                .as_deref()
                .or_else(|| candidates::task(asked.input)),
            trials: &trials,
        },
        current: &current,
        run_id: base::fresh_task_id().to_string(),
    };
    blocking::run(arena.hold(asked, asking))
        .map_err(|error| Failure::refused("runtime", error.to_string()))
}

fn noted(ui: &Ui, written: Result<(), base::files::FileError>) {
    if let Err(error) = written {
        let why = format!("{error}: {}", error.source);
        let why = clean::name(why.as_bytes());
        ui.note(format_args!("warning: {why}"));
    }
}

/// Emits the events of a dispatch without a contest.
pub(super) fn tell(
    ui: &Ui,
    context: &Context,
    specialists: &Specialists,
    asked: Asked<'_>,
    prompt_hash: &str,
    answer: &Answer,
) {
    let mut told = vec![Event::InferRequest {
        role: asked.role.to_owned(),
        prompt_hash: prompt_hash.to_owned(),
    }];
    if let Ok(result) = &answer.result {
        let text = output::text(result);
        let called = answer
            .receipt
            .call
            .as_ref()
            .and_then(|call| call.as_ref().ok());
        let served = called.filter(|_| answer.receipt.source == Source::Specialist);
        let registry = specialists.registry().ok();
        let entry = registry
            .as_ref()
            .and_then(|registry| registry.entry(asked.role));
        let version = entry.zip(answer.version.as_deref());
        let version = version.and_then(|(entry, id)| entry.version(id));
        let model = served
            .and(version)
            .map_or(GENERAL, |version| &version.model_id);
        told.push(Event::InferResult {
            model_id: model.to_owned(),
            time_ms: served.map_or(0, |served| whole(served.wire_ms)),
            tokens: output::tokens(&text),
            output_hash: canonical::hash_bytes(text.as_bytes()),
            verifier_score: 0,
        });
    }
    noted(
        ui,
        events::emit(&events::path(&context.workspace), &told).map(drop),
    );
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "milliseconds of one call"
)]
fn whole(milliseconds: f64) -> u64 {
    milliseconds.round() as u64
}

/// Shows the result.
pub(super) fn show(ui: &Ui, held: &Contested, learn: bool) -> Result<Exit, Failure> {
    if let Some(why) = &held.answer.not_logged {
        let why = clean::name(why.as_bytes());
        ui.note(format_args!("warning: {why}"));
    }
    if learn && held.held.placed.is_empty() {
        let decision = &held.answer.receipt.decision;
        ui.note(format_args!(
            "warning: nothing was learned, because no candidate was asked ({})",
            decision.reason.name()
        ));
    }
    let mut measured = held.held.placed.iter().map(|placed| &placed.measured);
    let is_scored = measured.any(|one| one.q1.is_some() || one.model_id == GENERAL);
    if learn && !held.held.placed.is_empty() && !is_scored {
        ui.note(format_args!(
            "note: quality was not scored, because nothing tells the right answer; `--target FILE` gives it, or a general model under `[fallback.claude]`"
        ));
    }
    if ui.json {
        ui.json(&as_json(held))?;
    }
    let decision = &held.answer.receipt.decision;
    match &held.answer.result {
        Err(error) => Err(super::no_answer(
            error,
            decision,
            held.answer.receipt.call.as_ref(),
        )),
        Ok(result) => {
            if !ui.json {
                table(ui, held);
                let text = match result {
                    Value::String(text) => text.clone(),
                    other => serde_json::to_string_pretty(other).unwrap_or_default(),
                };
                ui.line(clean::text(text.as_bytes()))?;
                let receipt = held.answer.receipt.to_json().to_string();
                let receipt = clean::name(receipt.as_bytes());
                ui.note(format_args!("{DIM}receipt: {receipt}{DIM:#}"));
            }
            Ok(if held.answered {
                Exit::Done
            } else {
                Exit::Refused
            })
        }
    }
}

fn as_json(held: &Contested) -> Value {
    let each = held.held.placed.iter().map(|placed| {
        let measured = &placed.measured;
        let reason = match &measured.outcome {
            Outcome::Pass => Value::Null,
            Outcome::Fail(why) => json!(why),
        };
        json!({
            "model_id": measured.model_id, "version": measured.version,
            "verifier_result": measured.outcome.as_str(), "q0": u8::from(measured.outcome.passed()),
            "q1": measured.q1, "cost": placed.cost, "refusal_penalty": measured.refusal_penalty,
            "reward": placed.reward, "time_ms": measured.time_ms, "reason": reason,
        })
    });
    let left_out = held
        .left_out
        .iter()
        .map(|one| json!({ "version": one.version, "reason": one.why }));
    let winner = held.held.winner().map(|placed| &placed.measured);
    json!({
        "result": held.answer.result.as_ref().ok(),
        "receipt": held.answer.receipt.to_json(),
        "candidates": each.collect::<Vec<_>>(),
        "winner_model_id": winner.map(|winner| &winner.model_id),
        "winner_version": winner.map(|winner| &winner.version),
        "left_out": left_out.collect::<Vec<_>>(),
        "verified": held.verified,
        "fallback": held.fallback,
    })
}

/// Prints each candidate's score, on standard error so that standard output contains only the answer.
fn table(ui: &Ui, held: &Contested) {
    if held.held.placed.is_empty() {
        return;
    }
    let columns = |cells: [&str; 6]| {
        let [model, verifier, q1, cost, refusal, reward] = cells;
        [
            fit(model, 30, Side::Left),
            fit(verifier, 10, Side::Left),
            fit(q1, 8, Side::Right),
            fit(cost, 8, Side::Right),
            fit(refusal, 9, Side::Right),
            fit(reward, 9, Side::Right),
        ]
        .concat()
    };
    let head = columns(["candidate", "verifier", "q1", "cost", "refusal", "reward"]);
    ui.note(format_args!("{BOLD}  {head}{BOLD:#}"));
    for (at, placed) in held.held.placed.iter().enumerate() {
        let measured = &placed.measured;
        let won = held.held.winner == Some(at);
        let style = if measured.outcome.passed() { GOOD } else { BAD };
        let row = columns([
            &clean::name(measured.model_id.as_bytes()),
            measured.outcome.as_str(),
            &measured
                .q1
                .map_or_else(|| "–".to_owned(), |q1| format!("{q1:.3}")),
            &format!("{:.3}", placed.cost),
            &format!("{:.2}", measured.refusal_penalty),
            &format!("{:.3}", placed.reward),
        ]);
        let why = match &measured.outcome {
            Outcome::Pass => String::new(),
            Outcome::Fail(why) => format!("  {}", clean::line(why, 100)),
        };
        let mark = if won { '*' } else { ' ' };
        ui.note(format_args!(
            "{style}{mark}{style:#} {row}{DIM}{why}{DIM:#}"
        ));
    }
    match held.fallback {
        Some("claude") => ui.note(format_args!("{DIM}served by the general model{DIM:#}")),
        Some(_) if held.held.winner.is_some() => ui.note(format_args!(
            "{DIM}the winner is not certified, so its answer is not served{DIM:#}"
        )),
        Some(_) => ui.note(format_args!(
            "{DIM}nobody passed, so the answer is `UNSURE`, which no model said{DIM:#}"
        )),
        None if !held.verified => ui.note(format_args!("{DIM}served unverified{DIM:#}")),
        None => {}
    }
}
