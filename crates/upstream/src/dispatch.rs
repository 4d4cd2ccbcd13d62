//! One dispatch from the gate to the receipt: the adapter if it may answer, else the general model.

use routing::specialists::{Asked, Begun, Compared, Specialists};
use serde_json::Value;
use specialist::classifier::Classifier;
use specialist::contract::{Answered, CallError};
use specialist::gate::Reason;
use specialist::quota::Source;
use specialist::receipt::Receipt;
use specialist::shadow::Shadow;

use crate::agreement::{Answers, Judging};
use crate::backend::Backends;
use crate::fallback::{Beside, Fallback, FallbackError, Prompt, Said};

/// Shared state of dispatches.
pub struct Dispatcher<'a> {
    /// Registry, state and logs.
    pub specialists: &'a Specialists,
    /// The adapters' backends.
    pub backends: &'a Backends,
    /// The general model, if there is one.
    pub fallback: Option<&'a Fallback>,
    /// Classifier of inputs.
    pub classifier: &'a (dyn Classifier + Sync),
    /// Rules of agreement.
    pub judging: Judging,
    /// Set if the caller calls the general model itself when no adapter answers; probes are made anyway.
    pub elsewhere: bool,
    /// Set if the caller makes probes itself, after it has sent the answer.
    pub background: bool,
    /// The client's text beside its input.
    pub beside: Option<&'a Beside>,
}

impl std::fmt::Debug for Dispatcher<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Dispatcher").finish_non_exhaustive()
    }
}

/// Result of a dispatch.
#[derive(Debug)]
pub struct Answer {
    /// The answer, or the error.
    pub result: Result<Value, FallbackError>,
    pub receipt: Receipt,
    /// Error of logging; it does not affect the answer.
    pub not_logged: Option<String>,
    /// The general model's answer and usage, if it answered.
    pub general: Option<Said>,
    /// The version that answered, if it was an adapter.
    pub version: Option<String>,
    /// The probe that the caller still has to make.
    pub due: Option<Due>,
}

/// A due probe: an adapter's answer, and the prompt for the general model to compare it with.
#[derive(Clone, Debug)]
pub struct Due {
    pub role: String,
    pub input: Value,
    /// The caller's id of the dispatch.
    pub trace_id: String,
    /// Time of the dispatch.
    pub now: String,
    /// The role's own instructions.
    pub instructions: Option<String>,
    /// The client's text beside its input.
    pub beside: Option<Beside>,
    /// The version that answered.
    pub version: Option<String>,
    /// Its answer.
    pub verdict: Value,
    /// Its duration.
    pub wire_ms: f64,
}

impl Due {
    /// Returns the dispatch of the probe.
    #[must_use]
    pub fn asked(&self) -> Asked<'_> {
        Asked {
            role: &self.role,
            input: &self.input,
            trace_id: &self.trace_id,
            now: &self.now,
        }
    }

    /// Returns the prompt for the general model.
    #[must_use]
    pub fn prompt(&self) -> Prompt<'_> {
        Prompt {
            role: &self.role,
            instructions: self.instructions.as_deref(),
            input: &self.input,
            trace_id: &self.trace_id,
            beside: self.beside.as_ref(),
        }
    }
}

/// A probe that was made.
#[derive(Debug)]
pub struct Probe {
    /// Its result.
    pub shadow: Shadow,
    /// Error of storing it.
    pub persist_error: Option<String>,
    /// The general model's answer.
    pub said: Option<Said>,
}

/// Source and result of a dispatch, with the adapter's answer if it was called.
pub(crate) struct Ended {
    pub(crate) source: Source,
    pub(crate) result: Result<Value, FallbackError>,
    pub(crate) call: Option<Result<Answered, CallError>>,
    pub(crate) general: Option<Said>,
}

impl<'a> Dispatcher<'a> {
    /// Creates a dispatcher with agreement as declared by versions.
    #[must_use]
    pub fn new(
        specialists: &'a Specialists,
        backends: &'a Backends,
        fallback: Option<&'a Fallback>,
        classifier: &'a (dyn Classifier + Sync),
    ) -> Self {
        Self {
            specialists,
            backends,
            fallback,
            classifier,
            judging: Judging::default(),
            elsewhere: false,
            background: false,
            beside: None,
        }
    }

    /// Dispatches. `instructions` are the role's own, for the general model.
    pub async fn dispatch(&self, asked: Asked<'_>, instructions: Option<&str>) -> Answer {
        let may_call = |call: &_| self.backends.may_call(call);
        let mut begun = self.specialists.begin(asked, self.classifier, &may_call);
        let call = match &mut begun.call {
            Some(call) => {
                self.say_beside(call);
                Some(self.backends.call(call).await)
            }
            None => None,
        };
        let prompt = Prompt {
            role: asked.role,
            instructions,
            input: asked.input,
            trace_id: asked.trace_id,
            beside: self.beside,
        };
        let mut general = None;
        let (source, result) = match &call {
            Some(Ok(answered)) => (Source::Specialist, Ok(answered.verdict.clone())),
            _ if self.elsewhere => (Source::Claude, Err(FallbackError::Elsewhere)),
            _ => {
                let said = self.general(prompt).await;
                general = said.as_ref().ok().cloned();
                (Source::Claude, said.map(|said| said.verdict))
            }
        };
        let ended = Ended {
            source,
            result,
            call,
            general,
        };
        self.conclude(asked, prompt, begun, ended, Ok(())).await
    }

    /// Uses the general model for a reason outside of the gate.
    pub async fn open(
        &self,
        asked: Asked<'_>,
        instructions: Option<&str>,
        reason: Reason,
        detail: String,
    ) -> Answer {
        let prompt = Prompt {
            role: asked.role,
            instructions,
            input: asked.input,
            trace_id: asked.trace_id,
            beside: self.beside,
        };
        let said = match self.elsewhere {
            true => Err(FallbackError::Elsewhere),
            false => self.general(prompt).await,
        };
        let ended = Ended {
            source: Source::Claude,
            general: said.as_ref().ok().cloned(),
            result: said.map(|said| said.verdict),
            call: None,
        };
        let begun = Begun::open(reason, detail);
        self.conclude(asked, prompt, begun, ended, Ok(())).await
    }

    /// Adds the client's text beside its input to a call.
    pub(crate) fn say_beside(&self, call: &mut specialist::contract::Call) {
        if let Some(beside) = self.beside {
            call.beside(beside.system.as_deref(), &beside.settings);
        }
    }

    /// Counts and logs the result of a dispatch, probes if due, and creates the receipt.
    pub(crate) async fn conclude(
        &self,
        asked: Asked<'_>,
        prompt: Prompt<'_>,
        begun: Begun,
        ended: Ended,
        may_probe: Result<(), &'static str>,
    ) -> Answer {
        let Ended {
            source,
            result,
            call,
            general,
        } = ended;
        let can_probe = self.fallback.map(drop).ok_or("no_fallback").and(may_probe);
        let settled = self.specialists.settle(asked, &begun, source, can_probe);
        // One of two sides must have answered; "unsure" is from neither.
        let is_unsure = result.is_ok() && source == Source::Claude && general.is_none();
        let verdict = result.as_ref().ok().filter(|_| !is_unsure);
        let not_logged = self.log(asked, &begun, source, verdict, call.as_ref());
        let version = begun.version.filter(|_| source == Source::Specialist);
        let mut answer = Answer {
            receipt: Receipt {
                role: asked.role.to_owned(),
                ts: asked.now.to_owned(),
                trace_id: asked.trace_id.to_owned(),
                source,
                decision: begun.decision,
                call,
                shadow: settled.shadow,
                persist_error: settled.persist_error,
                is_unsure,
            },
            result,
            not_logged,
            general,
            version,
            due: None,
        };
        if source == Source::Specialist && answer.receipt.shadow.is_none() {
            self.due(asked, prompt, &mut answer).await;
        }
        answer
    }

    /// Makes the probe of an answer, or leaves it to the caller.
    async fn due(&self, asked: Asked<'_>, prompt: Prompt<'_>, answer: &mut Answer) {
        let Ok(verdict) = &answer.result else {
            return;
        };
        let call = answer.receipt.call.as_ref();
        let due = Due {
            role: asked.role.to_owned(),
            input: asked.input.clone(),
            trace_id: asked.trace_id.to_owned(),
            now: asked.now.to_owned(),
            instructions: prompt.instructions.map(str::to_owned),
            beside: prompt.beside.cloned(),
            version: answer.version.clone(),
            verdict: verdict.clone(),
            wire_ms: call
                .and_then(|call| Some(call.as_ref().ok()?.wire_ms))
                .unwrap_or_default(),
        };
        if self.background {
            answer.receipt.shadow = Some(Shadow::Pending);
            answer.due = Some(due);
            return;
        }
        let probe = self.probe(&due).await;
        answer.receipt.shadow = Some(probe.shadow);
        if answer.receipt.persist_error.is_none() {
            answer.receipt.persist_error = probe.persist_error;
        }
    }

    pub(crate) async fn general(&self, prompt: Prompt<'_>) -> Result<Said, FallbackError> {
        match self.fallback {
            Some(fallback) => fallback.ask(prompt).await,
            None => Err(FallbackError::NotConfigured),
        }
    }

    /// Calls the general model and compares. The adapter's answer is kept regardless of the result.
    pub async fn probe(&self, due: &Due) -> Probe {
        let Ok(said) = self.general(due.prompt()).await else {
            return Probe {
                shadow: Shadow::Skipped {
                    why: "fallback_failed",
                    counter: Some(0),
                },
                persist_error: None,
                said: None,
            };
        };
        let registry = self.specialists.registry().ok();
        let written = due.version.as_ref().zip(registry.as_ref());
        let written = written.and_then(|(id, registry)| registry.written(&due.role, id).cloned());
        let answers = Answers {
            role: due.role.clone(),
            input: due.input.clone(),
            specialist: due.verdict.clone(),
            general: said.verdict.clone(),
            target: None,
            written,
        };
        let judging = self.judging.clone();
        let judged = tokio::task::spawn_blocking(move || judging.agrees(&answers));
        let compared = Compared {
            version: due.version.as_deref().unwrap_or_default(),
            specialist: &due.verdict,
            claude: &said.verdict,
            agreed: judged.await.ok().flatten(),
        };
        let probed = self.specialists.probe(due.asked(), compared);
        Probe {
            shadow: probed.shadow,
            persist_error: probed.persist_error,
            said: Some(said),
        }
    }

    pub(crate) fn log(
        &self,
        asked: Asked<'_>,
        begun: &Begun,
        source: Source,
        verdict: Option<&Value>,
        call: Option<&Result<Answered, CallError>>,
    ) -> Option<String> {
        let score = call.and_then(|call| call.as_ref().ok()?.score);
        let logged = self
            .specialists
            .log_field(asked, begun, source, verdict, score);
        logged
            .err()
            .map(|error| format!("{error}: {}", error.source))
    }
}
