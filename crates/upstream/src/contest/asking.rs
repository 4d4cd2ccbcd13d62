//! Calls candidates, measures them, and checks their answers with verifiers.

use std::sync::Arc;
use std::time::Instant;

use futures_util::future::join_all;
use routing::specialists::{Asked, Entrant};
use routing::verifiers::Subject;
use selection::contest::Measured;
use selection::verifier::{Declared, Outcome};
use selection::{canonical, output, quality, refusal};
use serde_json::Value;
use specialist::contract::{Answered, CallError};

use super::{Arena, Asking, Ran};

impl Arena<'_> {
    /// Calls all at once.
    pub(super) async fn ask_all(
        &self,
        asked: Asked<'_>,
        asking: &Asking<'_>,
        entrants: Vec<Entrant>,
    ) -> Vec<(Ran, Measured)> {
        let each = entrants.into_iter().map(|mut entrant| {
            self.dispatcher.say_beside(&mut entrant.call);
            self.ask(asked, asking, entrant)
        });
        join_all(each).await
    }

    /// Calls one candidate, as often as it is measured, and checks its first answer with its verifier.
    async fn ask(
        &self,
        asked: Asked<'_>,
        asking: &Asking<'_>,
        entrant: Entrant,
    ) -> (Ran, Measured) {
        let times = if asking.wanted.learn {
            self.measurements
        } else {
            1
        };
        let mut known = self.dispatcher.backends.knows(&entrant.call);
        let mut wire = Vec::new();
        let mut first: Option<Result<Answered, CallError>> = None;
        let mut differs = false;
        for _ in 0..times {
            let started = Instant::now();
            let call = self.dispatcher.backends.call(&entrant.call).await;
            let waited = started.elapsed().as_secs_f64() * 1000.0;
            wire.push(call.as_ref().map_or(waited, |answered| answered.wire_ms));
            let Some(earlier) = &first else {
                let failed = call.is_err();
                first = Some(call);
                if failed {
                    break;
                }
                continue;
            };
            known = true;
            let verdict = |call: &Result<Answered, CallError>| {
                call.as_ref().map(|answered| answered.verdict.clone()).ok()
            };
            differs |= verdict(earlier) != verdict(&call);
        }
        let call = first.unwrap_or_else(|| Err(CallError::early("not_asked", "nobody was asked")));
        let mut measured = self.measure(asked, asking, &entrant, &call).await;
        measured.time_ms = median(wire);
        measured.nondeterministic = differs;
        measured.cache_state = Some(if known { "warm" } else { "cold" }.to_owned());
        (Ran { entrant, call }, measured)
    }

    pub(super) async fn measure(
        &self,
        asked: Asked<'_>,
        asking: &Asking<'_>,
        entrant: &Entrant,
        call: &Result<Answered, CallError>,
    ) -> Measured {
        let blank = Value::String(String::new());
        let verdict = call.as_ref().map_or(&blank, |answered| &answered.verdict);
        let (outcome, required) = match (call, &entrant.declaration.verifier) {
            (Err(error), _) => (
                Outcome::Fail(format!("no answer: {}", error.error)),
                Vec::new(),
            ),
            (_, Err(bad)) => (
                Outcome::Fail(format!("the verifier cannot run: {bad}")),
                Vec::new(),
            ),
            (_, Ok(None)) => (
                Outcome::Fail("the version declares no verifier".to_owned()),
                Vec::new(),
            ),
            (Ok(_), Ok(Some(declared))) => self.verify(declared, verdict, asked.input).await,
        };
        let format = match &entrant.declaration.verifier {
            Ok(Some(declared)) => declared.format.as_deref(),
            _ => None,
        };
        let shaped = output::shaped(verdict, format.or(Some("json")));
        let shaped = shaped.as_deref().unwrap_or(verdict);
        let text = output::text(verdict);
        let input_tokens = output::tokens(&output::text(asked.input));
        let output_tokens = output::tokens(&text);
        let alpha = asking.current.metric.alpha_q1;
        Measured {
            model_id: entrant.version.model_id.clone(),
            version: entrant.version.id.clone(),
            stable: entrant.version.certified_level.is_stable(),
            outcome,
            q1: asking
                .target
                .filter(|_| call.is_ok())
                .map(|target| quality::score(alpha, shaped, target)),
            agreement: None,
            unverified: entrant.declaration.verifier == Ok(None),
            price_usd: self.price(entrant, call.as_ref().ok(), (input_tokens, output_tokens)),
            refusal_penalty: refusal::penalty(&output::text(shaped), &required),
            time_ms: 0,
            input_tokens,
            output_tokens,
            output_hash: call.is_ok().then(|| canonical::hash_bytes(text.as_bytes())),
            cache_state: None,
            nondeterministic: false,
        }
    }

    /// Verifies an output. Verifiers may run a command, which needs a blocking thread.
    pub(super) async fn verify(
        &self,
        declared: &Declared,
        verdict: &Value,
        input: &Value,
    ) -> (Outcome, Vec<String>) {
        let verifiers = Arc::clone(&self.verifiers);
        let (declared, verdict, input) = (declared.clone(), verdict.clone(), input.clone());
        let verified = tokio::task::spawn_blocking(move || match verifiers.ready(&declared) {
            Ok(ready) => {
                let subject = Subject {
                    output: &verdict,
                    input: &input,
                };
                let outcome = verifiers.verify_ready(&ready, subject);
                (outcome, ready.required().to_vec())
            }
            Err(why) => (
                Outcome::Fail(format!("the verifier cannot run: {why}")),
                Vec::new(),
            ),
        });
        verified.await.unwrap_or_else(|error| {
            let why = format!("the verifier cannot run: {error}");
            (Outcome::Fail(why), Vec::new())
        })
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "milliseconds of one run, and no less than none"
)]
fn median(mut times: Vec<f64>) -> u64 {
    times.sort_by(f64::total_cmp);
    let middle = times.get(times.len() / 2).copied().unwrap_or(0.0);
    middle.round() as u64
}
