//! The one place that knows how a role is played: a plain dispatch, or a contest of versions that have verifiers.

use std::collections::BTreeMap;
use std::sync::Arc;

use host::specialists::{Asked, Wanted};
use host::{events, metrics};
use hyper::StatusCode;
use selection::candidates;

use crate::contest::{self, Arena, Asking, Logs};
use crate::dispatch::{Answer, Dispatcher};
use crate::problem::Problem;
use crate::up::App;

/// What came of it.
#[derive(Debug)]
pub(in crate::gateway) struct Game {
    /// The answer and its receipt.
    pub(in crate::gateway) answer: Answer,
    /// Whether what was served passed a verifier.
    pub(in crate::gateway) verified: bool,
}

/// Plays. With `elsewhere` the general model is asked by somebody else where no adapter answers.
pub(in crate::gateway) async fn play(
    app: &App,
    asked: Asked<'_>,
    instructions: Option<&str>,
    elsewhere: bool,
) -> Result<Game, Problem> {
    let gateway = &app.gateway;
    let mut dispatcher = Dispatcher::new(
        &app.specialists,
        &gateway.backends,
        gateway.fallback.as_ref(),
        &gateway.judge,
    );
    dispatcher.elsewhere = elsewhere;
    let set = &app.config.selection;
    if !contest::is_wanted(set, &app.specialists, asked.role) {
        return Ok(Game {
            answer: dispatcher.dispatch(asked, instructions).await,
            verified: false,
        });
    }
    let refused = |code, message| Problem::new(StatusCode::INTERNAL_SERVER_ERROR, code, message);
    let bytes = asked.input.to_string();
    let (prompt_hash, further) = contest::prompt_hash(&app.config.privacy, bytes.as_bytes())
        .map_err(|name| refused("no_prompt_key", format!("the variable `{name}` is not set")))?;
    let (current, step) = metrics::contest(&app.workspace)
        .map_err(|error| refused("metric", format!("the metric cannot be used: {error}")))?;
    let logs = Logs::of(&app.workspace);
    if let Some(step) = step {
        // A log that cannot be written keeps nobody from an answer.
        events::emit(&logs.events, &[step]).ok();
    }
    let arena = Arena {
        dispatcher: &dispatcher,
        verifiers: Arc::clone(&gateway.verifiers),
        logs,
        measurements: set.measurements.get(),
    };
    let asking = Asking {
        instructions,
        prompt_hash: &prompt_hash,
        further,
        target: None,
        wanted: Wanted {
            k: usize::try_from(set.k_infer.get()).unwrap_or(usize::MAX),
            learn: false,
            task: candidates::task(asked.input),
            trials: &BTreeMap::new(),
        },
        current: &current,
    };
    let contested = arena.hold(asked, asking).await;
    Ok(Game {
        answer: contested.answer,
        verified: contested.verified,
    })
}
