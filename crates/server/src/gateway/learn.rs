//! Learning from traffic: a share of the requests to roles is repeated as a contest of all versions and the general
//! model, after the response, within the day's budget and outside every quota.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use routing::learning;
use routing::specialists::Asked;
use serde_json::Value;

use super::background;
use super::ring::Ring;
use super::roles;
use super::roles::play::Stage;
use crate::up::App;
use upstream::dispatch::Due;
use upstream::fallback::{Beside, Prompt, Said};

/// A request for learning, after its caller has gone.
struct Lesson {
    role: String,
    input: Value,
    trace_id: String,
    instructions: Option<String>,
    beside: Option<Beside>,
}

/// Draws requests for learning, and leaves a drawn one to the background.
pub(super) fn draw(app: &Arc<App>, asked: Asked<'_>, stage: Stage<'_>) {
    let share = app.config.selection.learn_share.get();
    if share <= 0.0 || !app.gateway.chance.share(share) {
        return;
    }
    let lesson = Lesson {
        role: asked.role.to_owned(),
        input: asked.input.clone(),
        trace_id: asked.trace_id.to_owned(),
        instructions: stage.instructions.map(str::to_owned),
        beside: stage.beside.cloned(),
    };
    let work = async move |app: &Arc<App>| {
        let outcome = learn(app, &lesson).await;
        app.metrics.learned(outcome);
        if outcome == HELD {
            noted(app, 1);
        }
    };
    background::spawn(app, work, |app, _| app.metrics.learned("dropped"));
}

/// Result of a contest that was held.
const HELD: &str = "held";

async fn learn(app: &Arc<App>, lesson: &Lesson) -> &'static str {
    let Some(fallback) = &app.gateway.fallback else {
        return "no_general_model";
    };
    let now = roles::now();
    let asked = Asked {
        role: &lesson.role,
        input: &lesson.input,
        trace_id: &lesson.trace_id,
        now: &now,
    };
    let prompt = Prompt {
        role: &lesson.role,
        instructions: lesson.instructions.as_deref(),
        input: &lesson.input,
        trace_id: &lesson.trace_id,
        beside: lesson.beside.as_ref(),
    };
    let budget = learning::budget(&app.workspace, &app.config);
    let most = fallback.most(prompt);
    if budget.reserve(most).is_err() {
        return "budget";
    }
    let spent = held(app, lesson, asked).await;
    let cost = spent.map_or(0, |usd| micro(usd.unwrap_or_default()));
    // An uncorrected amount stays reserved, which spends less and not more.
    budget.settle(most, cost).ok();
    match spent {
        Some(Some(_)) => HELD,
        Some(None) => "not_logged",
        None => "no_versions",
    }
}

/// Holds the contest, and returns its cost. `None` without entrants, `Some(None)` if it was not logged.
async fn held(app: &Arc<App>, lesson: &Lesson, asked: Asked<'_>) -> Option<Option<f64>> {
    let stage = Stage {
        instructions: lesson.instructions.as_deref(),
        beside: lesson.beside.as_ref(),
        elsewhere: false,
    };
    let ring = Ring::open(app, asked, stage).ok()?.with_trials();
    let asking = ring.asking(app.config.selection.k_train.get(), true);
    let learned = ring.arena(1).learn(asked, asking).await?;
    Some(learned.not_logged.is_none().then_some(learned.usd))
}

/// Logs a probe as a contest: both answers were paid.
pub(super) async fn note_probe(app: &Arc<App>, due: &Due, said: &Said) {
    let stage = Stage {
        instructions: due.instructions.as_deref(),
        beside: due.beside.as_ref(),
        elsewhere: false,
    };
    let Ok(ring) = Ring::open(app, due.asked(), stage) else {
        return;
    };
    let noted_down = ring
        .arena(1)
        .note_probe(due, said, ring.asking(1, false))
        .await;
    if noted_down.is_ok() {
        noted(app, 0);
    }
}

/// Counts contests, and trains if there are enough new ones.
pub(super) fn noted(app: &Arc<App>, contests: u64) {
    if app.config.selection.learn_share.get() <= 0.0 {
        return;
    }
    let changed = learning::change(&app.workspace, |learning| {
        learning.contests += contests;
        learning.since_training += 1;
    });
    let enough = app.config.selection.learn_contests.get();
    let is_due = changed.is_ok_and(|learning| learning.since_training >= enough);
    if !is_due || app.gateway.trains.swap(true, Ordering::SeqCst) {
        return;
    }
    let trained = learning::train(&app.workspace, &roles::now());
    app.gateway.trains.store(false, Ordering::SeqCst);
    let outcome = match &trained {
        Ok(training) if training.taken => "taken",
        Ok(_) => "not_taken",
        Err(_) => "failed",
    };
    app.metrics.trained(outcome);
    if let (Ok(training), Some(desk)) = (&trained, &app.desk) {
        desk.tell(&match &training.why {
            None => format!("the selector was trained on {} contests", training.contests),
            Some(why) => format!("the selector was trained and not taken: {why}"),
        });
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a day's money, and no less than nothing"
)]
fn micro(usd: f64) -> u64 {
    (usd * 1e6).ceil() as u64
}
