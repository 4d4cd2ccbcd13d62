//! A dispatch that asks several versions at once: each is held against its verifier, the best that passed wins, and every
//! execution is written down. Nobody passed: the general model, held against the same verifier; then the honest "unsure".
//!
//! Which of them take part, what an output is worth and who wins is decided in the rooms; here they are asked.

use std::path::PathBuf;
use std::sync::Arc;

use host::config::selection::Selection;
use host::config::specialist::Privacy;
use host::metrics::Current;
use host::specialists::{Asked, Entrant, LeftOut, Opened, Specialists, Wanted};
use host::verifiers::Verifiers;
use host::{clock, environment, events, runs, selector};
use selection::contest::{Common, Held, Measured, Scale, hold};
use selection::event::Event;
use selection::manifest::Fallback as Declared;
use selection::selector::Features;
use selection::selector::features::Line;
use selection::verifier::Outcome;
use selection::{canonical, refusal};
use serde_json::{Map, Value};
use specialist::contract::{Answered, CallError};
use specialist::quota::Source;

use crate::dispatch::{Answer, Dispatcher, Ended};
use crate::fallback::{FallbackError, Prompt};

mod asking;

/// Where contests are written down.
#[derive(Clone, Debug)]
pub struct Logs {
    /// The run log.
    pub runs: PathBuf,
    /// The features beside it.
    pub features: PathBuf,
    /// The events.
    pub events: PathBuf,
}

impl Logs {
    /// Those of a workspace.
    #[must_use]
    pub fn of(workspace: &host::workspace::Workspace) -> Self {
        Self {
            runs: runs::path(workspace),
            features: selector::features_path(workspace),
            events: events::path(workspace),
        }
    }
}

/// Whether a dispatch of this role is a contest: several versions are asked, or one whose answer has a verifier.
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
    set.k_infer.get() > 1 || entry.active_version.as_deref().is_some_and(declares)
}

/// The input's hash as logs have it: plain, or keyed where the settings name a key.
///
/// # Errors
/// The variable that should hold the key is not set; its name.
pub fn prompt_hash<'a>(
    set: &'a Privacy,
    bytes: &[u8],
) -> Result<(String, Map<String, Value>), &'a str> {
    let name = &set.prompt_key_env;
    if name.is_empty() {
        return Ok((canonical::hash_bytes(bytes), Map::new()));
    }
    let key = environment::secret(name).ok_or(name.as_str())?;
    let (hash, id) = host::keyed_hash(key.reveal().as_encoded_bytes(), bytes);
    let mut further = Map::new();
    further.insert("prompt_key".to_owned(), id.into());
    Ok((hash, further))
}

/// What contests share.
#[derive(Debug)]
pub struct Arena<'a> {
    /// Gate, backends and the general model.
    pub dispatcher: &'a Dispatcher<'a>,
    /// Who verifies.
    pub verifiers: Arc<Verifiers>,
    /// Where it is written down.
    pub logs: Logs,
    /// How often a learning run asks each candidate.
    pub measurements: u64,
}

/// What is asked, beside the dispatch itself.
#[derive(Clone, Debug)]
pub struct Asking<'a> {
    /// The role's own instructions, for the general model.
    pub instructions: Option<&'a str>,
    /// The input's hash, as the logs have it.
    pub prompt_hash: &'a str,
    /// Fields of the log that tell how it was hashed.
    pub further: Map<String, Value>,
    /// The known right output.
    pub target: Option<&'a Value>,
    /// Who takes part.
    pub wanted: Wanted<'a>,
    /// What an output is worth now.
    pub current: &'a Current,
}

/// What one candidate did.
#[derive(Debug)]
pub struct Ran {
    /// Who it is.
    pub entrant: Entrant,
    /// Its answer, or why there is none.
    pub call: Result<Answered, CallError>,
}

/// What a contest came to.
#[derive(Debug)]
pub struct Contested {
    /// The answer and its receipt.
    pub answer: Answer,
    /// Everybody's worth, and who won.
    pub held: Held,
    /// What the candidates did, in the same order.
    pub ran: Vec<Ran>,
    /// Who took no part, and why.
    pub left_out: Vec<LeftOut>,
    /// Whether what was served was held against a verifier.
    pub verified: bool,
    /// `claude` or `unsure`, when no candidate was served.
    pub fallback: Option<&'static str>,
    /// Whether anybody answered at all, though perhaps not well enough.
    pub answered: bool,
}

/// What is served, and by whom.
struct Served {
    result: Result<Value, FallbackError>,
    /// Place among the candidates, when it is one of theirs.
    by: Option<usize>,
    verified: bool,
    fallback: Option<&'static str>,
    answered: bool,
}

impl Arena<'_> {
    /// Holds a contest.
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
        let mut ran: Vec<(Ran, Measured)> = self.ask_all(asked, &asking, entrants).await;
        let mut held = hold(scale, measured(&ran));
        if held.winner.is_none()
            && !asking.wanted.learn
            && let Some(more) = declared_fallback(&ran, &mut spare)
        {
            ran.extend(self.ask_all(asked, &asking, vec![more]).await);
            held = hold(scale, measured(&ran));
        }
        let served = self.serve(asked, &asking, &held, &ran).await;
        let by = served.by.and_then(|at| ran.get(at));
        begun.version = by.map(|(ran, _)| ran.entrant.version.id.clone());
        let source = by.map_or(Source::Claude, |_| Source::Specialist);
        trouble.note_all(self.write(asked, &asking, &held, &served));
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
        };
        let prompt = prompt(asked, &asking);
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

    /// The best certified candidate that passed; an active version without a verifier; the general model; "unsure".
    async fn serve(
        &self,
        asked: Asked<'_>,
        asking: &Asking<'_>,
        held: &Held,
        ran: &[(Ran, Measured)],
    ) -> Served {
        let certified = |measured: &Measured| {
            let found = ran
                .iter()
                .find(|(ran, _)| ran.entrant.version.id == measured.version);
            found.is_some_and(|(ran, _)| ran.entrant.version.certified_level.is_certified())
        };
        let verdict = |at: usize| {
            let (ran, _) = ran.get(at)?;
            Some(ran.call.as_ref().ok()?.verdict.clone())
        };
        let best = held.best(scale(asking.current), certified);
        if let Some((at, verdict)) = best.and_then(|at| Some((at, verdict(at)?))) {
            return Served {
                result: Ok(verdict),
                by: Some(at),
                verified: true,
                fallback: None,
                answered: true,
            };
        }
        let unverified = ran.iter().position(|(ran, _)| {
            ran.entrant.active
                && ran.entrant.declaration.verifier == Ok(None)
                && ran.entrant.version.certified_level.is_certified()
        });
        if let Some((at, verdict)) = unverified.and_then(|at| Some((at, verdict(at)?))) {
            return Served {
                result: Ok(verdict),
                by: Some(at),
                verified: false,
                fallback: None,
                answered: true,
            };
        }
        let why = match held.winner() {
            Some(_) => "no certified candidate passed its verifier",
            None => "no candidate passed its verifier",
        };
        self.fall_back(asked, asking, ran, why).await
    }

    async fn fall_back(
        &self,
        asked: Asked<'_>,
        asking: &Asking<'_>,
        ran: &[(Ran, Measured)],
        nobody: &str,
    ) -> Served {
        let answered = ran.iter().any(|(ran, _)| ran.call.is_ok());
        let unsure = |why: String, answered: bool| Served {
            result: Ok(refusal::unsure(&why)),
            by: None,
            verified: false,
            fallback: Some("unsure"),
            answered,
        };
        let first = ran.first().map(|(ran, _)| &ran.entrant.declaration);
        if first.is_some_and(|declaration| declaration.fallback == Declared::Unsure) {
            return unsure(nobody.to_owned(), answered);
        }
        if self.dispatcher.elsewhere {
            return Served {
                result: Err(FallbackError::Elsewhere),
                by: None,
                verified: false,
                fallback: Some("claude"),
                answered: false,
            };
        }
        let said = match self.dispatcher.general(prompt(asked, asking)).await {
            Ok(said) => said,
            // Where nobody took part at all, it is a plain dispatch that nobody could answer.
            Err(error) if ran.is_empty() => {
                return Served {
                    result: Err(error),
                    by: None,
                    verified: false,
                    fallback: None,
                    answered: false,
                };
            }
            Err(error) => {
                let why = format!("{nobody}, and {error}");
                return unsure(why, answered);
            }
        };
        let declared = ran
            .iter()
            .find_map(|(ran, _)| ran.entrant.declaration.verifier.as_ref().ok()?.as_ref());
        let (outcome, verified) = match declared {
            None => (Outcome::Pass, false),
            Some(declared) => (self.verify(declared, &said, asked.input).await.0, true),
        };
        match outcome {
            Outcome::Pass => Served {
                result: Ok(said),
                by: None,
                verified,
                fallback: Some("claude"),
                answered: true,
            },
            Outcome::Fail(why) => {
                let why = format!("{nobody}, and the general model did not either: {why}");
                unsure(why, true)
            }
        }
    }

    /// The lines of the run log, the features and the events. What could not be written is told.
    fn write(
        &self,
        asked: Asked<'_>,
        asking: &Asking<'_>,
        held: &Held,
        served: &Served,
    ) -> Vec<Result<(), host::files::FileError>> {
        if held.placed.is_empty() {
            return Vec::new();
        }
        let run_id = host::fresh_task_id().to_string();
        let common = Common {
            timestamp: clock::text(clock::now_ns()),
            prompt_hash: asking.prompt_hash.to_owned(),
            run_id: run_id.clone(),
            role: asked.role.to_owned(),
            mode: if asking.wanted.learn {
                "learn"
            } else {
                "serve"
            }
            .to_owned(),
            fallback: served.fallback.map(str::to_owned),
            trace_id: asked.trace_id.to_owned(),
            further: asking.further.clone(),
        };
        let records = held.records(scale(asking.current), &common);
        let line = Line {
            run_id,
            role: asked.role.to_owned(),
            prompt_hash: asking.prompt_hash.to_owned(),
            features: Features::of_input(asked.input, &[]),
        };
        vec![
            runs::append(&self.logs.runs, records)
                .and_then(|tail| runs::report(&self.logs.runs, tail)),
            selector::append_features(&self.logs.features, &line),
            events::emit(&self.logs.events, &told(asking, held)).map(drop),
        ]
    }
}

/// What others are told of a contest that was held.
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

/// What could not be written first.
#[derive(Default)]
struct Trouble(Option<String>);

impl Trouble {
    fn note<T>(&mut self, written: Result<T, host::files::FileError>) {
        if let (None, Err(error)) = (&self.0, written) {
            self.0 = Some(format!("{error}: {}", error.source));
        }
    }

    fn note_all(&mut self, written: Vec<Result<(), host::files::FileError>>) {
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

fn prompt<'a>(asked: Asked<'a>, asking: &Asking<'a>) -> Prompt<'a> {
    Prompt {
        role: asked.role,
        instructions: asking.instructions,
        input: asked.input,
        trace_id: asked.trace_id,
        beside: None,
    }
}

fn measured(ran: &[(Ran, Measured)]) -> Vec<Measured> {
    ran.iter().map(|(_, measured)| measured.clone()).collect()
}

/// The model that the first candidate names as its fallback, when it is in the role and was not asked yet. Only one is
/// followed, so that two that name each other do not go on for ever.
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
