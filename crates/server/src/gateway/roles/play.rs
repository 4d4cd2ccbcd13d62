//! Executes a request to a role: as a plain dispatch, or as a contest of versions with verifiers. Starts the work after
//! the response, too.

use std::sync::Arc;

use routing::specialists::Asked;
use specialist::gate::Reason;

use crate::gateway::ring::Ring;
use crate::gateway::{background, learn};
use crate::up::App;
use upstream::agreement::Judging;
use upstream::contest;
use upstream::dispatch::{Answer, Dispatcher};
use upstream::fallback::Beside;

/// Result of a request.
#[derive(Debug)]
pub(in crate::gateway) struct Game {
    /// The answer and its receipt.
    pub(in crate::gateway) answer: Answer,
    /// Set if the served answer passed a verifier.
    pub(in crate::gateway) verified: bool,
}

/// Context of a request.
#[derive(Clone, Copy, Debug)]
pub(in crate::gateway) struct Stage<'a> {
    /// The role's own instructions.
    pub(in crate::gateway) instructions: Option<&'a str>,
    /// The client's text beside its input.
    pub(in crate::gateway) beside: Option<&'a Beside>,
    /// Set if the caller calls the general model itself when no adapter answers.
    pub(in crate::gateway) elsewhere: bool,
}

/// Creates a dispatcher of this process; probes are made in the background.
pub(in crate::gateway) fn dispatcher<'a>(app: &'a App, stage: Stage<'a>) -> Dispatcher<'a> {
    let gateway = &app.gateway;
    let dispatcher = Dispatcher::new(
        &app.specialists,
        &gateway.backends,
        gateway.fallback.as_ref(),
        &gateway.judge,
    );
    Dispatcher {
        judging: Judging {
            set: app.config.specialist.agreement.clone(),
            verifiers: Some(Arc::clone(&gateway.verifiers)),
        },
        elsewhere: stage.elsewhere,
        background: true,
        beside: stage.beside,
        ..dispatcher
    }
}

/// Executes a request. If a requirement of a contest is unusable, the general model answers.
pub(in crate::gateway) async fn play(app: &Arc<App>, asked: Asked<'_>, stage: Stage<'_>) -> Game {
    let mut game = match contest::is_wanted(&app.config.selection, &app.specialists, asked.role) {
        true => contested(app, asked, stage).await,
        false => Game {
            answer: dispatcher(app, stage)
                .dispatch(asked, stage.instructions)
                .await,
            verified: false,
        },
    };
    app.gateway.recent.note(asked, &game.answer);
    if let Some(due) = game.answer.due.take() {
        background::probe(app, due);
    }
    learn::draw(app, asked, stage);
    game
}

async fn contested(app: &App, asked: Asked<'_>, stage: Stage<'_>) -> Game {
    let ring = match Ring::open(app, asked, stage) {
        Ok(ring) => ring,
        Err(why) => {
            let (dispatcher, reason) = (dispatcher(app, stage), Reason::StateUnreadable);
            let open = dispatcher.open(asked, stage.instructions, reason, why);
            return Game {
                answer: open.await,
                verified: false,
            };
        }
    };
    let set = &app.config.selection;
    let arena = ring.arena(set.measurements.get());
    let contested = arena
        .hold(asked, ring.asking(set.k_infer.get(), false))
        .await;
    Game {
        answer: contested.answer,
        verified: contested.verified,
    }
}
