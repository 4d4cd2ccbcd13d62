//! State of a contest in this process, opened once per request.

use std::collections::BTreeMap;
use std::sync::Arc;

use routing::events;
use routing::metrics::{self, Current};
use routing::runs;
use routing::specialists::{Asked, Wanted};
use selection::candidates;
use serde_json::{Map, Value};

use super::roles::play::{Stage, dispatcher};
use crate::up::App;
use upstream::contest::{self, Arena, Asking, Logs};
use upstream::dispatch::Dispatcher;

/// A request with the state for its contest.
pub(super) struct Ring<'a> {
    app: &'a App,
    asked: Asked<'a>,
    stage: Stage<'a>,
    pub(super) dispatcher: Dispatcher<'a>,
    prompt_hash: String,
    further: Map<String, Value>,
    current: Current,
    trials: BTreeMap<String, u64>,
    logs: Logs,
}

impl<'a> Ring<'a> {
    pub(super) fn open(app: &'a App, asked: Asked<'a>, stage: Stage<'a>) -> Result<Self, String> {
        let bytes = asked.input.to_string();
        let (prompt_hash, further) = contest::prompt_hash(&app.config.privacy, bytes.as_bytes())
            .map_err(|name| format!("the variable `{name}` is not set"))?;
        let (current, step) = metrics::contest(&app.workspace)
            .map_err(|error| format!("the metric cannot be used: {error}"))?;
        let logs = Logs::of(&app.workspace, &app.config);
        if let Some(step) = step {
            // A log that cannot be written does not block an answer.
            events::emit(&logs.events, &[step]).ok();
        }
        Ok(Self {
            dispatcher: dispatcher(app, stage),
            app,
            asked,
            stage,
            prompt_hash,
            further,
            current,
            trials: BTreeMap::new(),
            logs,
        })
    }

    /// Adds the number of trials of each version, which a learning contest needs.
    pub(super) fn with_trials(mut self) -> Self {
        self.trials = runs::trials(&self.logs.runs, self.asked.role).unwrap_or_default();
        self
    }

    /// Returns the arena; `measurements` is the number of calls per candidate in a learning run.
    pub(super) fn arena(&self, measurements: u64) -> Arena<'_> {
        Arena {
            dispatcher: &self.dispatcher,
            verifiers: Arc::clone(&self.app.gateway.verifiers),
            logs: self.logs.clone(),
            measurements,
            config: &self.app.config,
        }
    }

    /// Returns the request to `k` candidates.
    pub(super) fn asking(&self, k: u64, learn: bool) -> Asking<'_> {
        Asking {
            instructions: self.stage.instructions,
            prompt_hash: &self.prompt_hash,
            further: self.further.clone(),
            target: None,
            wanted: Wanted {
                k: usize::try_from(k).unwrap_or(usize::MAX),
                learn,
                task: candidates::task(self.asked.input),
                trials: &self.trials,
            },
            current: &self.current,
            run_id: base::fresh_task_id().to_string(),
        }
    }
}
