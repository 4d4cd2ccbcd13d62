//! `roleos dispatch --learn --cases SET`: a learning contest for every case of an audit set, with its expected output as
//! the target.

use std::collections::BTreeMap;
use std::path::Path;

use roles::installed_roles::Roles;
use routing::audits;
use routing::selector::Judge;
use routing::specialists::{Asked, Named};
use serde_json::json;
use specialist::contract::read_text;
use upstream::backend::{Backends, Limits};
use upstream::contest::Contested;
use upstream::dispatch::Dispatcher;
use upstream::fallback::Fallback;

use super::super::specialist::{now, open};
use super::{Args, contest, refuse_unknown};
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::render::clean;
use crate::ui::{DIM, GOOD, Ui, WARN};

/// Holds the contests and shows the number of wins.
///
/// # Errors
/// The set cannot be read, or a contest cannot be held.
pub(super) fn run(ui: &Ui, context: &Context, args: &Args, set: &Path) -> Result<Exit, Failure> {
    let set = audits::read_set(set)?;
    let specialists = open(context, &Named::default())?;
    refuse_unknown(context, &specialists, &args.role)?;
    let judge = Judge::of(&context.workspace);
    let backends = Backends::new(Limits::from(&context.config.specialist));
    let fallback = Fallback::new(
        &context.config.fallback.claude,
        &context.workspace.role_os_dir(),
    );
    let dispatcher = Dispatcher::new(&specialists, &backends, fallback.as_ref(), &judge);
    let installed = Roles::new(context.workspace.roles_dir()).find(&args.role);
    let instructions = installed.map(|role| role.content.instructions);
    let progress = ui.progress(set.cases.len(), "contests");
    let mut won: BTreeMap<String, u64> = BTreeMap::new();
    let mut by_nobody = 0_u64;
    let mut measured = 0_usize;
    let mut silent = None;
    for (done, case) in set.cases.iter().enumerate() {
        progress.set(done);
        let input = read_text(&case.input);
        let (prompt_hash, further) = contest::prompt_hash(context, case.input.as_bytes())?;
        let (trace_id, now) = (format!("dispatch-{}", base::fresh_task_id()), now());
        let question = contest::Question {
            asked: Asked {
                role: &args.role,
                input: &input,
                trace_id: &trace_id,
                now: &now,
            },
            instructions: instructions.as_deref(),
            prompt_hash: &prompt_hash,
            further,
            target: case.expected_output.as_deref().map(read_text),
        };
        let held = contest::hold(ui, context, &dispatcher, args, question)?;
        if let Some(why) = &held.answer.not_logged {
            let why = clean::name(why.as_bytes());
            ui.note(format_args!("warning: {why}"));
        }
        match unanswered(&held) {
            None => measured += 1,
            why => silent = why,
        }
        match held.held.winner().filter(|placed| placed.is_right()) {
            Some(placed) => *won.entry(placed.measured.model_id.clone()).or_default() += 1,
            None => by_nobody += 1,
        }
    }
    let contests = set.cases.len();
    if ui.json {
        let answered = measured;
        ui.json(&json!({ "contests": contests, "won": won, "without_winner": by_nobody, "answered": answered, "unanswered_because": silent }))?;
        return Ok(Exit::of_check(measured > 0));
    }
    ui.line(format_args!("{GOOD}{contests}{GOOD:#} contests"))?;
    for (model, count) in won {
        let model = clean::name(model.as_bytes()).into_owned();
        ui.line(format_args!("  {model} won {count}"))?;
    }
    if by_nobody > 0 {
        ui.line(format_args!("  {by_nobody} without a winner"))?;
    }
    if let Some(why) = silent {
        let (count, why) = (
            contests - measured,
            clean::name(why.as_bytes()).into_owned(),
        );
        ui.note(format_args!(
            "{WARN}warning{WARN:#}: no adapter answered in {count} of {contests} contests, so they teach nothing: {why}"
        ));
    }
    if measured == 0 {
        return Ok(Exit::of_check(false));
    }
    ui.note(format_args!(
        "{DIM}next: `roleos selector train` learns from them{DIM:#}"
    ));
    Ok(Exit::Done)
}

/// Returns the reason why no adapter answered; `None` if one did.
fn unanswered(held: &Contested) -> Option<String> {
    if held.ran.iter().any(|ran| ran.call.is_ok()) {
        return None;
    }
    let failed = held.ran.iter().filter_map(|ran| ran.call.as_ref().err());
    let failed = failed.map(|error| format!("the backend failed ({})", error.error));
    let left_out = held.left_out.iter();
    let left_out = left_out.map(|one| format!("`{}`: {}", one.version, one.why));
    let decision = &held.answer.receipt.decision;
    let decided = format!("{}: {}", decision.reason.name(), decision.detail);
    failed.chain(left_out).next().or(Some(decided))
}
