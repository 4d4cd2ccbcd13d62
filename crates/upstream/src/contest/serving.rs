//! Selects the served answer of a contest: the best certified candidate that passed, else an active version without a
//! verifier, else the general model, checked by the same verifier, else "unsure".

use routing::specialists::Asked;
use selection::contest::{Held, Measured};
use selection::manifest::Fallback as Declared;
use selection::refusal;
use selection::verifier::Outcome;
use serde_json::Value;

use super::{Arena, Asking, Ran, scale};
use crate::fallback::{FallbackError, Said};

/// The served answer with its source.
pub(super) struct Served {
    pub(super) result: Result<Value, FallbackError>,
    /// Index among the candidates, if it is one of theirs.
    pub(super) by: Option<usize>,
    pub(super) verified: bool,
    pub(super) fallback: Option<&'static str>,
    pub(super) answered: bool,
    pub(super) general: Option<Said>,
}

impl Arena<'_> {
    /// Selects the best certified candidate that passed; an active version without a verifier; the general model;
    /// "unsure".
    pub(super) async fn serve(
        &self,
        asked: Asked<'_>,
        asking: &Asking<'_>,
        held: &Held,
        (ran, said): (&[(Ran, Measured)], Option<&Said>),
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
                general: None,
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
                general: None,
            };
        }
        let why = match held.winner() {
            Some(_) => "no certified candidate passed its verifier",
            None if ran.iter().all(|(ran, _)| ran.call.is_err()) => "no candidate answered",
            None => "no candidate passed its verifier",
        };
        self.fall_back(asked, asking, (ran, said), why).await
    }

    async fn fall_back(
        &self,
        asked: Asked<'_>,
        asking: &Asking<'_>,
        (ran, said): (&[(Ran, Measured)], Option<&Said>),
        nobody: &str,
    ) -> Served {
        let answered = ran.iter().any(|(ran, _)| ran.call.is_ok());
        let unsure = |why: String, answered: bool| Served {
            result: Ok(refusal::unsure(&why)),
            by: None,
            verified: false,
            fallback: Some("unsure"),
            answered,
            general: None,
        };
        // A manifest's preference is about failed answers; a backend that is down has given none.
        let first = ran.first().filter(|_| answered);
        if first.is_some_and(|(ran, _)| ran.entrant.declaration.fallback == Declared::Unsure) {
            return unsure(nobody.to_owned(), answered);
        }
        if self.dispatcher.elsewhere {
            return Served {
                result: Err(FallbackError::Elsewhere),
                by: None,
                verified: false,
                fallback: Some("claude"),
                answered: false,
                general: None,
            };
        }
        let asked_before = said.cloned().map(Ok);
        let said = match asked_before {
            Some(said) => said,
            None => self.dispatcher.general(self.prompt(asked, asking)).await,
        };
        let said = match said {
            Ok(said) => said,
            // Without any entrant, it is a plain dispatch without an answer.
            Err(error) if ran.is_empty() => {
                return Served {
                    result: Err(error),
                    by: None,
                    verified: false,
                    fallback: None,
                    answered: false,
                    general: None,
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
            Some(declared) => {
                let verified = self.verify(declared, &said.verdict, asked.input);
                (verified.await.0, true)
            }
        };
        match outcome {
            Outcome::Pass => Served {
                result: Ok(said.verdict.clone()),
                by: None,
                verified,
                fallback: Some("claude"),
                answered: true,
                general: Some(said),
            },
            Outcome::Fail(why) => {
                let why = format!("{nobody}, and the general model did not either: {why}");
                unsure(why, true)
            }
        }
    }
}
