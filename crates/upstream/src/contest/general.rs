//! The general model in a contest: called beside the candidates for learning, never served as one.

use std::time::Instant;

use routing::specialists::{Asked, Entrant};
use selection::candidates::Declaration;
use selection::contest::{Measured, hold};
use selection::run_log::GENERAL;
use selection::verifier::{Declared, Outcome};
use selection::{canonical, output, quality, refusal};
use serde_json::Value;
use specialist::contract::{Answered, Call};

use super::{Arena, Asking, Ran, Trouble, scale};
use crate::agreement::Answers;
use crate::dispatch::Due;
use crate::fallback::Said;

impl Arena<'_> {
    /// Calls the general model once, if there is one.
    pub(super) async fn ask_general(
        &self,
        asked: Asked<'_>,
        asking: &Asking<'_>,
        declared: Option<&Declared>,
    ) -> Option<(Said, Measured)> {
        self.dispatcher.fallback?;
        let started = Instant::now();
        let said = self
            .dispatcher
            .general(self.prompt(asked, asking))
            .await
            .ok()?;
        let time_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        let mut measured = self.measure_general(asked, asking, declared, &said).await;
        measured.time_ms = time_ms;
        Some((said, measured))
    }

    async fn measure_general(
        &self,
        asked: Asked<'_>,
        asking: &Asking<'_>,
        declared: Option<&Declared>,
        said: &Said,
    ) -> Measured {
        let (outcome, required) = match declared {
            Some(declared) => self.verify(declared, &said.verdict, asked.input).await,
            None => (
                Outcome::Fail("the role declares no verifier".to_owned()),
                Vec::new(),
            ),
        };
        let format = declared.and_then(|declared| declared.format.as_deref());
        let shaped = output::shaped(&said.verdict, format.or(Some("json")));
        let shaped = shaped.as_deref().unwrap_or(&said.verdict);
        let text = output::text(&said.verdict);
        let alpha = asking.current.metric.alpha_q1;
        let input_tokens = output::tokens(&output::text(asked.input));
        let output_tokens = output::tokens(&text);
        let usage = said.usage;
        let price = self.config.general_price();
        Measured {
            model_id: GENERAL.to_owned(),
            version: String::new(),
            stable: true,
            outcome,
            q1: asking
                .target
                .map(|target| quality::score(alpha, shaped, target)),
            agreement: None,
            unverified: declared.is_none(),
            price_usd: price.map(|price| {
                let (input, output) = usage.map_or((input_tokens, output_tokens), |usage| {
                    (usage.input, usage.output)
                });
                price.usd(input, output)
            }),
            refusal_penalty: refusal::penalty(&output::text(shaped), &required),
            time_ms: 0,
            input_tokens,
            output_tokens,
            output_hash: Some(canonical::hash_bytes(text.as_bytes())),
            cache_state: None,
            nondeterministic: false,
        }
    }

    /// Sets each candidate's agreement with the general model.
    pub(super) async fn compare(&self, asked: Asked<'_>, said: &Said, ran: &mut [(Ran, Measured)]) {
        let registry = self.dispatcher.specialists.registry().ok();
        for (one, measured) in ran {
            let Ok(answered) = &one.call else { continue };
            let id = &one.entrant.version.id;
            let written = registry
                .as_ref()
                .and_then(|registry| registry.written(asked.role, id));
            let answers = Answers {
                role: asked.role.to_owned(),
                input: asked.input.clone(),
                specialist: answered.verdict.clone(),
                general: said.verdict.clone(),
                target: None,
                written: written.cloned(),
            };
            let judging = self.dispatcher.judging.clone();
            let judged = tokio::task::spawn_blocking(move || judging.graded(&answers));
            measured.agreement = judged.await.ok().flatten();
        }
    }

    /// Returns the cost of a candidate's execution, if a price is known.
    pub(super) fn price(
        &self,
        entrant: &Entrant,
        call: Option<&Answered>,
        (input, output): (u64, u64),
    ) -> Option<f64> {
        let version = &entrant.version;
        let names = [
            version.model_id.as_str(),
            &version.adapter_id,
            &version.base_model,
        ];
        let price = self.config.model_price(names)?;
        let told = call.and_then(|answered| answered.usage);
        // An adapter that reports less than was observed is not cheaper for it.
        let (input, output) = told.map_or((input, output), |usage| {
            (usage.input.max(input), usage.output.max(output))
        });
        Some(price.usd(input, output))
    }

    /// Logs a probe as a contest between the version that answered and the general model.
    pub async fn note_probe(
        &self,
        due: &Due,
        said: &Said,
        asking: Asking<'_>,
    ) -> Result<(), String> {
        let asked = due.asked();
        let entrant = self
            .entrant(due)
            .ok_or("the version is no longer registered")?;
        let declared = entrant.declaration.verifier.clone().ok().flatten();
        let answered = Answered {
            verdict: due.verdict.clone(),
            score: None,
            adapter_id: entrant.version.adapter_id.clone(),
            base_model: None,
            duration_ms: due.wire_ms,
            wire_ms: due.wire_ms,
            usage: None,
        };
        let call = Ok(answered);
        let mut measured = self.measure(asked, &asking, &entrant, &call).await;
        measured.time_ms = whole(due.wire_ms);
        let mut ran = vec![(Ran { entrant, call }, measured)];
        self.compare(asked, said, &mut ran).await;
        let general = self
            .measure_general(asked, &asking, declared.as_ref(), said)
            .await;
        let all = ran
            .into_iter()
            .map(|(_, measured)| measured)
            .chain([general])
            .collect();
        let held = hold(scale(asking.current), all);
        let mut trouble = Trouble::default();
        trouble.note_all(self.write(asked, &asking, &held, ("probe", None)));
        trouble.0.map_or(Ok(()), Err)
    }

    fn entrant(&self, due: &Due) -> Option<Entrant> {
        let registry = self.dispatcher.specialists.registry().ok()?;
        let entry = registry.entry(&due.role)?;
        let version = entry.version(due.version.as_deref()?)?;
        let written = registry.written(&due.role, &version.id);
        Some(Entrant {
            call: Call::new(entry, version, &due.input, &due.trace_id),
            version: version.clone(),
            declaration: Declaration::of(written.unwrap_or(&Value::Null)),
            score: None,
            active: entry.active_version.as_deref() == Some(&version.id),
        })
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "milliseconds of one call"
)]
fn whole(milliseconds: f64) -> u64 {
    milliseconds.round() as u64
}
