//! One dispatch from the gate to the receipt: the adapter where it may, the general model everywhere else.

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

/// Everything that dispatches share.
pub struct Dispatcher<'a> {
    /// Registry, state and logs.
    pub specialists: &'a Specialists,
    /// The adapters' backends.
    pub backends: &'a Backends,
    /// The general model, when there is one.
    pub fallback: Option<&'a Fallback>,
    /// Judges inputs.
    pub classifier: &'a (dyn Classifier + Sync),
    /// When two answers agree.
    pub judging: Judging,
    /// Whether the caller asks the general model itself where no adapter answers; probes are made all the same.
    pub elsewhere: bool,
    /// Whether the caller makes probes itself, once its own caller has the answer.
    pub background: bool,
    /// What the client says beside its input.
    pub beside: Option<&'a Beside>,
}

impl std::fmt::Debug for Dispatcher<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Dispatcher").finish_non_exhaustive()
    }
}

/// What a dispatch came to.
#[derive(Debug)]
pub struct Answer {
    /// The answer, or why there is none.
    pub result: Result<Value, FallbackError>,
    /// How it came about.
    pub receipt: Receipt,
    /// What could not be written down; it changes nothing about the answer.
    pub not_logged: Option<String>,
    /// What the general model said and used, when it answered.
    pub general: Option<Said>,
    /// The version that answered, when it was an adapter.
    pub version: Option<String>,
    /// The probe that the caller still has to make.
    pub due: Option<Due>,
}

/// A probe that is due: an adapter's answer, and what the general model is asked to compare it with.
#[derive(Clone, Debug)]
pub struct Due {
    pub role: String,
    pub input: Value,
    /// The caller's name for the dispatch.
    pub trace_id: String,
    /// When it was made.
    pub now: String,
    /// The role's own instructions.
    pub instructions: Option<String>,
    /// What the client said beside its input.
    pub beside: Option<Beside>,
    /// The version that answered.
    pub version: Option<String>,
    /// What it said.
    pub verdict: Value,
    /// How long it took.
    pub wire_ms: f64,
}

impl Due {
    /// The dispatch that it belongs to.
    #[must_use]
    pub fn asked(&self) -> Asked<'_> {
        Asked {
            role: &self.role,
            input: &self.input,
            trace_id: &self.trace_id,
            now: &self.now,
        }
    }

    /// What the general model is asked.
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
    /// What came of it.
    pub shadow: Shadow,
    /// Why it could not be kept.
    pub persist_error: Option<String>,
    /// What the general model said.
    pub said: Option<Said>,
}

/// Who answered a dispatch, with what, and what the adapter said when it was asked.
pub(crate) struct Ended {
    pub(crate) source: Source,
    pub(crate) result: Result<Value, FallbackError>,
    pub(crate) call: Option<Result<Answered, CallError>>,
    pub(crate) general: Option<Said>,
}

impl<'a> Dispatcher<'a> {
    /// With agreement as versions declare it.
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

    /// Goes to the general model for a reason that the gate does not know.
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

    /// Puts what the client says beside its input into a call.
    pub(crate) fn say_beside(&self, call: &mut specialist::contract::Call) {
        if let Some(beside) = self.beside {
            call.beside(beside.system.as_deref(), &beside.settings);
        }
    }

    /// Counts and logs what came of a dispatch, probes where that is due, and writes the receipt.
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
        // Of two sides, one must have said it; "unsure" is what nobody did.
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

    /// Asks the general model and compares. The caller keeps the adapter's answer whatever comes of this.
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
