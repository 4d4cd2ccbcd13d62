//! `roleos up --demo`: the whole loop with real components, in a separate folder, then the gateway.
//!
//! [`place`] is the folder with its state; then the acts in order: [`routing`] (adapters are registered, used for
//! learning, examined, promoted, and one is halted), [`weeks`] (repairs of a real repository become bundles), [`agent`]
//! (a scripted agent behind the real hook). [`report`] shows the result. Every act reads the product's own files, and
//! does the missing part.

use std::path::Path;

use base::environment::Environment;
use base::running::Running;
use demo_models::Backstage;
use server::up::UpError;

use crate::command::up;
use crate::ui::{BOLD, DIM, Ui};
use crate::{Context, Exit, Failure};

mod agent;
mod place;
mod report;
mod routing;
mod shell;
mod weeks;

use place::Place;

/// Default number of dispatches of a demo.
pub const DISPATCHES: u16 = 300;

/// Operator name in the logs.
const OPERATOR: &str = "roleos demo";

/// Does the missing part; returns `true` if there was any.
type Act = fn(&Stage<'_>) -> Result<bool, Failure>;

/// State shared by acts.
struct Stage<'a> {
    ui: &'a Ui,
    place: &'a Place,
    context: &'a Context,
    backstage: &'a Backstage,
}

impl Stage<'_> {
    /// Returns an error if the process was interrupted.
    fn goes_on(&self) -> Result<(), Failure> {
        if self.backstage.is_interrupted() {
            return Err(interrupted());
        }
        Ok(())
    }
}

/// Returns the failure of an interrupted demo, which stops it.
fn interrupted() -> Failure {
    Failure::refused("interrupted", "the demo was stopped")
        .hint("the same command goes on from here")
}

/// Plays the missing acts, and serves.
///
/// # Errors
/// The folder is not the demo's, or a part of the loop fails.
pub(crate) fn run(
    ui: &Ui,
    root: Option<&Path>,
    fresh: bool,
    dispatches: u16,
    listen: (std::net::SocketAddr, &up::How),
) -> Result<Exit, Failure> {
    let mut place = Place::open(root, fresh, dispatches)?;
    let role_os = place.role_os();
    let running = Running::begin(&role_os).map_err(UpError::from)?;
    let backstage = place.backstage()?;
    place.prepare(backstage.address())?;
    let context = Context::of(place.workspace()?, Environment::default())?;
    let stage = Stage {
        ui,
        place: &place,
        context: &context,
        backstage: &backstage,
    };
    play(&stage)?;
    report::tell(&stage)?;
    stage.goes_on()?;
    up::serve_on(ui, context, &running, Vec::new(), listen)
}

fn play(stage: &Stage<'_>) -> Result<(), Failure> {
    let acts: [(&str, Act); 6] = [
        ("adapters enter the registry", routing::register),
        ("learning runs", routing::learn),
        ("the selector learns, exams, promotion", routing::promote),
        ("dispatches through the gate", routing::serve),
        ("six weeks of repairs", weeks::play),
        ("an agent behind the hook", agent::play),
    ];
    let ui = stage.ui;
    ui.note(format_args!(
        "{BOLD}demo{BOLD:#} in `{}`",
        stage.place.folder().display()
    ));
    for (number, (name, act)) in acts.into_iter().enumerate() {
        stage.goes_on()?;
        let did = act(stage)?;
        let state = if did { "" } else { " (was done)" };
        ui.note(format_args!("  {}. {name}{DIM}{state}{DIM:#}", number + 1));
    }
    Ok(())
}
