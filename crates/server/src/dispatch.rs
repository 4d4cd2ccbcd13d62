//! One dispatch from the gate to the receipt: the adapter where it may, the general model everywhere else.

use host::specialists::{Asked, Begun, Specialists};
use serde_json::Value;
use specialist::classifier::Classifier;
use specialist::conformance;
use specialist::contract::{Answered, CallError};
use specialist::quota::Source;
use specialist::receipt::Receipt;
use specialist::shadow::{Agree, Shadow, same};

use crate::backend::Backends;
use crate::fallback::{Fallback, FallbackError, Prompt};

/// Everything that dispatches share.
pub struct Dispatcher<'a> {
    /// Registry, state and logs.
    pub specialists: &'a Specialists,
    /// The adapters' backends.
    pub backends: &'a Backends,
    /// The general model, when there is one.
    pub fallback: Option<&'a Fallback>,
    /// Who judges inputs.
    pub classifier: &'a (dyn Classifier + Sync),
    /// When two verdicts agree.
    pub agree: Agree,
    /// Whether the caller asks the general model itself where no adapter answers; probes are made all the same.
    pub elsewhere: bool,
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
}

/// Who answered a dispatch, with what, and what the adapter said when it was asked.
pub(crate) struct Ended {
    pub(crate) source: Source,
    pub(crate) result: Result<Value, FallbackError>,
    pub(crate) call: Option<Result<Answered, CallError>>,
}

impl<'a> Dispatcher<'a> {
    /// With plain equality as agreement.
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
            agree: same,
            elsewhere: false,
        }
    }

    /// Dispatches. `instructions` are the role's own, for the general model.
    pub async fn dispatch(&self, asked: Asked<'_>, instructions: Option<&str>) -> Answer {
        let may_call = |call: &_| self.backends.may_call(call);
        let begun = self.specialists.begin(asked, self.classifier, &may_call);
        let call = match &begun.call {
            Some(call) => Some(self.backends.call(call).await),
            None => None,
        };
        let prompt = Prompt {
            role: asked.role,
            instructions,
            input: asked.input,
            trace_id: asked.trace_id,
            beside: None,
        };
        let (source, result) = match &call {
            Some(Ok(answered)) => (Source::Specialist, Ok(answered.verdict.clone())),
            _ if self.elsewhere => (Source::Claude, Err(FallbackError::Elsewhere)),
            _ => (Source::Claude, self.general(prompt).await),
        };
        let ended = Ended {
            source,
            result,
            call,
        };
        self.conclude(asked, prompt, begun, ended, Ok(())).await
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
        } = ended;
        let can_probe = self.fallback.map(drop).ok_or("no_fallback").and(may_probe);
        let settled = self.specialists.settle(asked, &begun, source, can_probe);
        let not_logged = self.log(asked, &begun, source, &result, call.as_ref());
        let version = begun.version.unwrap_or_default();
        let mut receipt = Receipt {
            role: asked.role.to_owned(),
            ts: asked.now.to_owned(),
            trace_id: asked.trace_id.to_owned(),
            source,
            decision: begun.decision,
            call,
            shadow: settled.shadow,
            persist_error: settled.persist_error,
        };
        if let (Source::Specialist, None, Ok(verdict)) = (source, &receipt.shadow, &result) {
            let (shadow, error) = self.probe(asked, &version, prompt, verdict).await;
            receipt.shadow = Some(shadow);
            receipt.persist_error = receipt.persist_error.or(error);
        }
        Answer {
            result,
            receipt,
            not_logged,
        }
    }

    pub(crate) async fn general(&self, prompt: Prompt<'_>) -> Result<Value, FallbackError> {
        match self.fallback {
            Some(fallback) => fallback.ask(prompt).await,
            None => Err(FallbackError::NotConfigured),
        }
    }

    /// The caller keeps the adapter's answer whatever comes of this.
    pub(crate) async fn probe(
        &self,
        asked: Asked<'_>,
        version: &str,
        prompt: Prompt<'_>,
        verdict: &Value,
    ) -> (Shadow, Option<String>) {
        match self.general(prompt).await {
            Ok(claude) => {
                let agree = if asked.role == conformance::ROLE {
                    conformance::agree
                } else {
                    self.agree
                };
                let probed = self
                    .specialists
                    .probe(asked, version, verdict, &claude, agree);
                (probed.shadow, probed.persist_error)
            }
            Err(_) => {
                let shadow = Shadow::Skipped {
                    why: "fallback_failed",
                    counter: Some(0),
                };
                (shadow, None)
            }
        }
    }

    pub(crate) fn log(
        &self,
        asked: Asked<'_>,
        begun: &Begun,
        source: Source,
        result: &Result<Value, FallbackError>,
        call: Option<&Result<Answered, CallError>>,
    ) -> Option<String> {
        let score = call.and_then(|call| call.as_ref().ok()?.score);
        let logged = self
            .specialists
            .log_field(asked, begun, source, result.as_ref().ok(), score);
        logged
            .err()
            .map(|error| format!("{error}: {}", error.source))
    }
}
