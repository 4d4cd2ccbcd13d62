//! A dispatch to several versions at once: each is checked by its verifier, the best that passed wins, and every
//! execution is logged. If none passed: the general model, checked by the same verifier; then "unsure".
//!
//! Other crates select the entrants, score the outputs and determine the winner; this module makes the calls.

use std::path::PathBuf;
use std::sync::Arc;

use base::clock;
use base::config::Config;
use base::config::selection::Selection;
use base::config::specialist::Privacy;
use base::environment;
use routing::dataset;
use routing::dataset::Texts;
use routing::events;
use routing::metrics::Current;
use routing::runs;
use routing::selector;
use routing::specialists::{Asked, Entrant, LeftOut, Opened, Specialists, Wanted};
use routing::verifiers::Verifiers;
use selection::canonical;
use selection::contest::{Common, Held, Measured, Scale, hold};
use selection::event::Event;
use selection::likeness;
use selection::manifest::Fallback as Declared;
use selection::selector::Features;
use selection::selector::features::Line;
use serde_json::{Map, Value};
use specialist::contract::{Answered, CallError};
use specialist::quota::Source;

use crate::dispatch::{Answer, Dispatcher, Ended};
use crate::fallback::{Prompt, Said};

mod asking;
mod general;
mod serving;

/// Logs of contests.
#[derive(Clone, Debug)]
pub struct Logs {
    /// The run log.
    pub runs: PathBuf,
    pub seals: base::seals::Seals,
    /// The features beside it.
    pub features: PathBuf,
    pub events: PathBuf,
    /// Inputs with winning outputs, if the settings permit storing them.
    pub texts: Option<PathBuf>,
}

impl Logs {
    /// Returns the logs of a workspace.
    #[must_use]
    pub fn of(workspace: &base::workspace::Workspace, config: &Config) -> Self {
        let keeps = config.privacy.keep_inputs;
        Self {
            texts: keeps.then(|| dataset::path(workspace)),
            runs: runs::path(workspace),
            seals: base::seals::Seals::of(workspace),
            features: selector::features_path(workspace),
            events: events::path(workspace),
        }
    }
}

/// Returns `true` if a dispatch of this role is a contest: several versions are called, or the answer of a serving one
/// has a verifier.
#[must_use]
pub fn is_wanted(set: &Selection, specialists: &Specialists, role: &str) -> bool {
    let Ok(registry) = specialists.registry() else {
        return false;
    };
    let Some(entry) = registry.entry(role) else {
        return false;
    };
    let declares = |id: &str| {
        let written = registry.written(role, id);
        written.is_some_and(|version| version.get("verifier").is_some_and(Value::is_object))
    };
    let canary = entry.canary.iter().map(|canary| canary.version.as_str());
    let mut serving = entry
        .serving()
        .map(|version| version.id.as_str())
        .chain(canary);
    set.k_infer.get() > 1 || serving.any(declares)
}

/// Returns the input's hash for logs, plain or keyed if the settings name a key, and related fields: the key's name,
/// and the hash of the input's form.
pub fn prompt_hash<'a>(
    set: &'a Privacy,
    bytes: &[u8],
) -> Result<(String, Map<String, Value>), &'a str> {
    let name = &set.prompt_key_env;
    let form = likeness::form(&String::from_utf8_lossy(bytes));
    let mut further = Map::new();
    let (hash, form) = if name.is_empty() {
        let hash = canonical::hash_bytes;
        (hash(bytes), hash(form.as_bytes()))
    } else {
        let key = environment::secret(name).ok_or(name.as_str())?;
        let key = key.reveal().as_encoded_bytes();
        let (hash, id) = base::keyed_hash(key, bytes);
        further.insert("prompt_key".to_owned(), id.into());
        (hash, base::keyed_hash(key, form.as_bytes()).0)
    };
    further.insert("input_form".to_owned(), form.into());
    Ok((hash, further))
}

/// Shared state of contests.
#[derive(Debug)]
pub struct Arena<'a> {
    /// Gate, backends and the general model.
    pub dispatcher: &'a Dispatcher<'a>,
    pub verifiers: Arc<Verifiers>,
    pub logs: Logs,
    /// Number of calls per candidate in a learning run.
    pub measurements: u64,
    /// Settings, for prices.
    pub config: &'a Config,
}

/// Input of a contest, beside the dispatch itself.
#[derive(Clone, Debug)]
pub struct Asking<'a> {
    /// The role's own instructions, for the general model.
    pub instructions: Option<&'a str>,
    /// The input's hash for the logs.
    pub prompt_hash: &'a str,
    /// Log fields about the hash.
    pub further: Map<String, Value>,
    /// The known right output.
    pub target: Option<&'a Value>,
    /// Options of the contest.
    pub wanted: Wanted<'a>,
    /// The current metric.
    pub current: &'a Current,
    /// Id of the contest in the run log.
    pub run_id: String,
}

/// The execution of one candidate.
#[derive(Debug)]
pub struct Ran {
    pub entrant: Entrant,
    /// Its answer, or the error.
    pub call: Result<Answered, CallError>,
}

/// Result of a contest.
#[derive(Debug)]
pub struct Contested {
    /// The answer and its receipt.
    pub answer: Answer,
    /// Scores of all candidates, and the winner.
    pub held: Held,
    /// The executions, in the same order.
    pub ran: Vec<Ran>,
    /// Excluded versions, with reasons.
    pub left_out: Vec<LeftOut>,
    /// Set if the served answer was checked by a verifier.
    pub verified: bool,
    /// `claude` or `unsure`, if no candidate was served.
    pub fallback: Option<&'static str>,
    /// Set if anything answered, even if not well enough.
    pub answered: bool,
}

#[derive(Debug)]
pub struct Learned {
    /// Scores of all candidates, and the winner.
    pub held: Held,
    /// Cost in US dollars, by the set prices.
    pub usd: f64,
    /// Error of logging.
    pub not_logged: Option<String>,
}

impl Arena<'_> {
    pub async fn hold(&self, asked: Asked<'_>, asking: Asking<'_>) -> Contested {
        let mut trouble = Trouble::default();
        let request = Event::InferRequest {
            role: asked.role.to_owned(),
            prompt_hash: asking.prompt_hash.to_owned(),
        };
        trouble.note(events::emit(&self.logs.events, &[request]));
        let backends = self.dispatcher.backends;
        let may_call = |call: &_| backends.may_call(call);
        let Opened {
            mut begun,
            entrants,
            mut spare,
            left_out,
        } = self.dispatcher.specialists.open_contest(
            asked,
            asking.wanted,
            self.dispatcher.classifier,
            &may_call,
        );
        let scale = scale(asking.current);
        let (mut ran, general) = self.run(asked, &asking, entrants).await;
        let mut held = hold(scale, measured(&ran, general.as_ref()));
        if held.winner.is_none()
            && !asking.wanted.learn
            && let Some(more) = declared_fallback(&ran, &mut spare)
        {
            ran.extend(self.ask_all(asked, &asking, vec![more]).await);
            held = hold(scale, measured(&ran, None));
        }
        let said = general.map(|(said, _)| said);
        let served = self
            .serve(asked, &asking, &held, (&ran, said.as_ref()))
            .await;
        let by = served.by.and_then(|at| ran.get(at));
        begun.version = by.map(|(ran, _)| ran.entrant.version.id.clone());
        let source = by.map_or(Source::Claude, |_| Source::Specialist);
        let mode = if asking.wanted.learn {
            "learn"
        } else {
            "serve"
        };
        let mode = (mode, served.fallback);
        trouble.note_all(self.write(asked, &asking, &held, mode));
        trouble.note(self.keep_texts(asked, &asking, &held, (&ran, said.as_ref())));
        let call = by.or(ran.first()).map(|(ran, _)| ran.call.clone());
        let may_probe = if asking.wanted.learn {
            Err("learning")
        } else {
            Ok(())
        };
        let ended = Ended {
            source,
            result: served.result,
            call,
            general: served.general,
        };
        let prompt = self.prompt(asked, &asking);
        let concluded = self
            .dispatcher
            .conclude(asked, prompt, begun, ended, may_probe);
        let mut answer = concluded.await;
        answer.not_logged = answer.not_logged.or(trouble.0);
        Contested {
            answer,
            held,
            ran: ran.into_iter().map(|(ran, _)| ran).collect(),
            left_out,
            verified: served.verified,
            fallback: served.fallback,
            answered: served.answered,
        }
    }

    /// Calls candidates, and the general model beside them for learning.
    async fn run(
        &self,
        asked: Asked<'_>,
        asking: &Asking<'_>,
        entrants: Vec<Entrant>,
    ) -> (Vec<(Ran, Measured)>, Option<(Said, Measured)>) {
        if !asking.wanted.learn || entrants.is_empty() {
            return (self.ask_all(asked, asking, entrants).await, None);
        }
        let mut declared = entrants.iter().map(|one| one.declaration.verifier.clone());
        let declared = declared.find_map(|declared| declared.ok().flatten());
        let (mut ran, general) = futures_util::future::join(
            self.ask_all(asked, asking, entrants),
            self.ask_general(asked, asking, declared.as_ref()),
        )
        .await;
        if let Some((said, _)) = &general {
            self.compare(asked, said, &mut ran).await;
        }
        (ran, general)
    }

    /// Holds a contest only for learning: no answer is served, and no place in a quota is taken. Returns `None` without
    /// entrants.
    pub async fn learn(&self, asked: Asked<'_>, asking: Asking<'_>) -> Option<Learned> {
        let backends = self.dispatcher.backends;
        let may_call = |call: &_| backends.may_call(call);
        let opened = self.dispatcher.specialists.open_contest(
            asked,
            asking.wanted,
            self.dispatcher.classifier,
            &may_call,
        );
        if opened.entrants.is_empty() {
            return None;
        }
        let (ran, general) = self.run(asked, &asking, opened.entrants).await;
        let held = hold(scale(asking.current), measured(&ran, general.as_ref()));
        let mut trouble = Trouble::default();
        trouble.note_all(self.write(asked, &asking, &held, ("learn", None)));
        let said = general.map(|(said, _)| said);
        trouble.note(self.keep_texts(asked, &asking, &held, (&ran, said.as_ref())));
        let prices = held.placed.iter().filter_map(|one| one.measured.price_usd);
        Some(Learned {
            usd: prices.sum(),
            held,
            not_logged: trouble.0,
        })
    }

    /// Returns the prompt for the general model.
    fn prompt<'a>(&'a self, asked: Asked<'a>, asking: &Asking<'a>) -> Prompt<'a> {
        Prompt {
            role: asked.role,
            instructions: asking.instructions,
            input: asked.input,
            trace_id: asked.trace_id,
            beside: self.dispatcher.beside,
        }
    }

    /// Writes the lines of the run log, the features and the events. Returns the first error.
    fn write(
        &self,
        asked: Asked<'_>,
        asking: &Asking<'_>,
        held: &Held,
        (mode, fallback): (&str, Option<&str>),
    ) -> Vec<Result<(), base::files::FileError>> {
        if held.placed.is_empty() {
            return Vec::new();
        }
        let run_id = asking.run_id.clone();
        let common = Common {
            timestamp: clock::text(clock::now_ns()),
            prompt_hash: asking.prompt_hash.to_owned(),
            run_id: run_id.clone(),
            role: asked.role.to_owned(),
            mode: mode.to_owned(),
            fallback: fallback.map(str::to_owned),
            trace_id: asked.trace_id.to_owned(),
            further: asking.further.clone(),
        };
        let records = held.records(scale(asking.current), &common);
        let line = Line {
            run_id,
            role: asked.role.to_owned(),
            prompt_hash: asking.prompt_hash.to_owned(),
            features: Features::of_input(asked.input),
        };
        vec![
            runs::append(&self.logs.seals, &self.logs.runs, records)
                .and_then(|tail| runs::report(&self.logs.runs, tail)),
            selector::append_features(&self.logs.features, &line),
            events::emit(&self.logs.events, &told(asking, held)).map(drop),
        ]
    }
}

impl Arena<'_> {
    /// Stores the input and the winner's output, if permitted.
    fn keep_texts(
        &self,
        asked: Asked<'_>,
        asking: &Asking<'_>,
        held: &Held,
        (ran, said): (&[(Ran, Measured)], Option<&Said>),
    ) -> Result<(), base::files::FileError> {
        let (Some(path), Some(winner)) = (&self.logs.texts, held.winner) else {
            return Ok(());
        };
        let output = match ran.get(winner) {
            Some((ran, _)) => ran.call.as_ref().ok().map(|answered| &answered.verdict),
            None => said.map(|said| &said.verdict),
        };
        let Some(output) = output else {
            return Ok(());
        };
        let texts = Texts {
            run_id: asking.run_id.clone(),
            input: asked.input.clone(),
            output: output.clone(),
            target: asking.target.cloned(),
        };
        dataset::append(path, &texts)
    }
}

/// Returns the events of a contest for other programs.
fn told(asking: &Asking<'_>, held: &Held) -> Vec<Event> {
    let result = |measured: &Measured| Event::InferResult {
        model_id: measured.model_id.clone(),
        time_ms: measured.time_ms,
        tokens: measured.output_tokens,
        output_hash: measured.output_hash.clone().unwrap_or_default(),
        verifier_score: u8::from(measured.outcome.passed()),
    };
    let mut events: Vec<Event> = held
        .placed
        .iter()
        .map(|placed| result(&placed.measured))
        .collect();
    let winner = held.winner().filter(|_| asking.wanted.learn);
    events.extend(winner.map(|winner| Event::SelectTrainExample {
        prompt_hash: asking.prompt_hash.to_owned(),
        winner_model_id: winner.measured.model_id.clone(),
    }));
    events
}

/// The first error of logging.
#[derive(Default)]
struct Trouble(Option<String>);

impl Trouble {
    fn note<T>(&mut self, written: Result<T, base::files::FileError>) {
        if let (None, Err(error)) = (&self.0, written) {
            self.0 = Some(format!("{error}: {}", error.source));
        }
    }

    fn note_all(&mut self, written: Vec<Result<(), base::files::FileError>>) {
        written.into_iter().for_each(|one| self.note(one));
    }
}

fn scale(current: &Current) -> Scale<'_> {
    Scale {
        metric: &current.metric,
        mixed: current
            .mixing
            .as_ref()
            .map(|mixing| (&mixing.migration.old, mixing.alpha())),
    }
}

/// Returns all measurements, the general model last.
fn measured(ran: &[(Ran, Measured)], general: Option<&(Said, Measured)>) -> Vec<Measured> {
    let ran = ran.iter().map(|(_, measured)| measured);
    let general = general.map(|(_, measured)| measured);
    ran.chain(general).cloned().collect()
}

/// Returns the model that the first candidate names as its fallback, if it is in the role and was not called yet. Only
/// one is followed, so that two that name each other do not loop.
fn declared_fallback(ran: &[(Ran, Measured)], spare: &mut Vec<Entrant>) -> Option<Entrant> {
    let (first, _) = ran.first()?;
    let Declared::Model(model) = &first.entrant.declaration.fallback else {
        return None;
    };
    let at = spare
        .iter()
        .position(|entrant| entrant.version.model_id == *model)?;
    Some(spare.remove(at))
}
