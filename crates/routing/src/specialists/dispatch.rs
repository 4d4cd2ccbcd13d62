//! One dispatch, from the gate to the probe. The caller makes the requests in between, without any lock.
//!
//! The place in the quota is taken before the request to the backend and released if it does not answer, so that
//! concurrent dispatches never exceed the share. The place of a dispatch that never ends, because its process was
//! killed or its caller has gone, is released too (see [`super::lease`]).

use std::sync::Arc;

use ::specialist::classifier::Classifier;
use ::specialist::contract::Call;
use ::specialist::event::Event;
use ::specialist::field::{INCOMPARABLE, Row};
use ::specialist::gate::{Decision, Reason};
use ::specialist::quota::Source;
use ::specialist::shadow::{Pair, Shadow, halt_reason, summary};
use ::specialist::state::{Halt, Number, Reservation, Slot, State};
use selection::{likeness, output};
use serde_json::Value;

use super::held::{Held, Keep};
use super::lease::Ticket;
use super::{Seen, Specialists, Unreadable, lock};
use crate::shared::{Log, is_away};
use base::files::{self, FileError};

/// A dispatch request.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    pub role: &'a str,
    /// The input; plain text is a JSON string.
    pub input: &'a Value,
    /// The caller's id for it.
    pub trace_id: &'a str,
    /// Current time, as text.
    pub now: &'a str,
}

/// A dispatch with the gate's decision.
#[derive(Clone, Debug)]
pub struct Begun {
    pub decision: Decision,
    /// The request, if the adapter may answer.
    pub call: Option<Call>,
    /// The version that may answer.
    pub version: Option<String>,
    /// Error of counting the dispatch, if relevant.
    pub persist_error: Option<String>,
    pub(super) number: Option<Number>,
    /// Set for a learning run.
    learning: bool,
    /// Holds the place of an adapter's dispatch until it is settled.
    ticket: Option<Arc<Ticket>>,
}

impl Begun {
    /// Creates a dispatch without a place in a quota: a learning run.
    pub(super) fn uncounted(decision: Decision, call: Option<Call>) -> Self {
        Self {
            decision,
            call,
            version: None,
            persist_error: None,
            number: None,
            learning: true,
            ticket: None,
        }
    }

    /// Creates a dispatch to the general model that could not be counted.
    #[must_use]
    pub fn open(reason: Reason, detail: String) -> Self {
        Self {
            decision: Decision::open(reason, detail),
            call: None,
            version: None,
            persist_error: None,
            number: None,
            learning: false,
            ticket: None,
        }
    }
}

/// A dispatch that was answered.
#[derive(Clone, Debug, PartialEq)]
pub struct Settled {
    /// Result of the probe; `None` if it is due now.
    pub shadow: Option<Shadow>,
    /// Error of storing something.
    pub persist_error: Option<String>,
}

/// An adapter's answer beside the general model's.
#[derive(Clone, Copy, Debug)]
pub struct Compared<'a> {
    /// The version that answered.
    pub version: &'a str,
    /// Its answer.
    pub specialist: &'a Value,
    /// The general model's answer.
    pub claude: &'a Value,
    /// Set if they agree; `None` if they cannot be compared.
    pub agreed: Option<bool>,
}

/// A probe that was recorded.
#[derive(Clone, Debug, PartialEq)]
pub struct Probed {
    /// Its result.
    pub shadow: Shadow,
    /// Error of storing it.
    pub persist_error: Option<String>,
}

/// Formats a file error in one line.
pub(super) fn said(error: &FileError) -> String {
    format!("{error}: {}", error.source)
}

impl Specialists {
    /// Queries the gate and takes a place in the quota. `may_call` can exclude a backend, with a reason.
    pub fn begin(
        &self,
        asked: Asked<'_>,
        classifier: &dyn Classifier,
        may_call: &dyn Fn(&Call) -> Result<(), String>,
    ) -> Begun {
        let (seen, held, state) = match self.enter(asked.role) {
            Ok(entered) => entered,
            Err((reason, detail)) => return Begun::open(reason, detail),
        };
        let (mut decision, calls) = self.decide(asked, &seen, &state, classifier);
        let mut first = None;
        for (call, version) in calls {
            match may_call(&call) {
                Ok(()) => {
                    first = Some((call, version));
                    break;
                }
                Err(why) => decision = Decision::open(Reason::CircuitOpen, why),
            }
        }
        let (call, version) = first.unzip();
        self.count(asked.role, (held, state), decision, call, version)
    }

    /// Locks the state, and returns it with the current registry; otherwise returns why nothing can be routed.
    pub(super) fn enter(&self, role: &str) -> Result<(Seen, Held<'_>, State), (Reason, String)> {
        let load_error = |error: FileError| {
            let reason = match is_away(&error) {
                true => Reason::StoreUnreachable,
                false => Reason::StateUnreadable,
            };
            (reason, format!("STATE_LOAD_ERROR: {}", said(&error)))
        };
        let damaged = |error: FileError| (Reason::RegistryDamaged, said(&error));
        let seen = match self.shared {
            None => Some(self.see().map_err(damaged)?),
            Some(_) => None,
        };
        let mut held = self.hold(role).map_err(load_error)?;
        let state = self.held_state(&mut held).map_err(|error| match error {
            Unreadable::File(error) if self.shared.is_some() => load_error(error),
            error => (Reason::StateUnreadable, error.to_string()),
        })?;
        let seen = match seen {
            Some(seen) => seen,
            None => self.seen_by(&held).map_err(damaged)?,
        };
        Ok((seen, held, state))
    }

    /// Counts a decided dispatch.
    pub(super) fn count(
        &self,
        role: &str,
        (held, mut state): (Held<'_>, State),
        decision: Decision,
        call: Option<Call>,
        version: Option<String>,
    ) -> Begun {
        let number = state.dispatch(role, decision.route, self.settings().quota_window);
        // Without a lease, the place is held until the window has moved on.
        let ticket = match decision.route {
            Source::Specialist => self.leases.begin().ok(),
            Source::Claude => None,
        };
        if let Some(ticket) = &ticket {
            state.reserve(Reservation {
                role: role.to_owned(),
                number,
                holder: ticket.holder.clone(),
                ticket: ticket.number,
            });
        }
        let is_halted = state.halt(role).is_some();
        match self.keep(held, state, Keep::Quick, &[]) {
            Ok(()) => Begun {
                decision,
                call,
                version,
                persist_error: None,
                number: Some(number),
                learning: false,
                ticket,
            },
            // An uncounted dispatch is not served by an adapter: the quota could be exceeded.
            Err(error) => {
                let why = format!("STATE_PERSIST_ERROR: {}", said(&error));
                let matters = is_halted || call.is_some();
                let reason = match is_away(&error) {
                    true => Reason::StoreUnreachable,
                    false => Reason::StateUnreadable,
                };
                let decision = match call {
                    Some(_) => Decision::open(reason, why.clone()),
                    None => decision,
                };
                Begun {
                    decision,
                    call: None,
                    version: None,
                    persist_error: matters.then_some(why),
                    number: None,
                    learning: false,
                    ticket: None,
                }
            }
        }
    }

    /// Returns the decision, and the requests to the versions that may answer, best first.
    fn decide(
        &self,
        asked: Asked<'_>,
        seen: &Seen,
        state: &State,
        classifier: &dyn Classifier,
    ) -> (Decision, Vec<(Call, String)>) {
        self.weigh(
            asked,
            None,
            seen,
            state,
            classifier,
            |weighing, question| {
                let entry = question.and_then(|question| question.entry);
                let call = |version: &&_| {
                    let call = Call::new(entry?, version, asked.input, asked.trace_id);
                    Some((call, version.id.clone()))
                };
                let calls = weighing.admitted.iter().filter_map(call).collect();
                (weighing.decision, calls)
            },
        )
    }

    /// Records the source of the answer, and returns the probe if it is known. `can_probe` is an error if there is
    /// nothing to compare with.
    pub fn settle(
        &self,
        asked: Asked<'_>,
        begun: &Begun,
        source: Source,
        can_probe: Result<(), &'static str>,
    ) -> Settled {
        let (route, Some(number)) = (begun.decision.route, begun.number) else {
            let why = can_probe.err().filter(|_| source == Source::Specialist);
            return Settled {
                shadow: why.map(|why| Shadow::Skipped { why, counter: None }),
                persist_error: begun.persist_error.clone(),
            };
        };
        // Dispatches that the gate sent to the general model are counted as such already.
        if route == Source::Claude {
            return Settled {
                shadow: None,
                persist_error: begun.persist_error.clone(),
            };
        }
        let keep = || begun.ticket.iter().for_each(Ticket::keep);
        let lost = |error: String| {
            keep();
            Settled {
                shadow: Some(Shadow::Skipped {
                    why: "state_unreadable",
                    counter: None,
                }),
                persist_error: Some(error),
            }
        };
        let mut held = match self.hold(asked.role) {
            Ok(held) => held,
            Err(error) => return lost(said(&error)),
        };
        let mut state = match self.held_state(&mut held) {
            Ok(state) => state,
            Err(error) => return lost(error.to_string()),
        };
        if let Some(ticket) = &begun.ticket {
            state.end_reservation(&ticket.holder, ticket.number);
        }
        let shadow = if source == Source::Claude {
            state.correct(asked.role, number, source);
            None
        } else {
            self.draw(state.slot_mut(asked.role), can_probe)
        };
        let saved = self.keep(held, state, Keep::Quick, &[]);
        Settled {
            shadow,
            persist_error: saved.err().map(|error| {
                keep();
                said(&error)
            }),
        }
    }

    /// Draws the probe of an adapter's answer; returns `None` if a probe is due.
    fn draw(&self, slot: &mut Slot, can_probe: Result<(), &'static str>) -> Option<Shadow> {
        if let Err(why) = can_probe {
            return Some(Shadow::Skipped { why, counter: None });
        }
        let every = self.settings().shadow.every;
        // One of each run of `every` answers, so that the share is kept for all draws.
        let before = slot.probe_counter.checked_sub(slot.probe_rest);
        if let Some(before) = before.filter(|before| self.chance.one_of(every, *before)) {
            slot.probe_counter = 0;
            slot.probe_rest = every.saturating_sub(before + 1);
            return None;
        }
        slot.probe_counter = slot.probe_counter.saturating_add(1);
        let counter = slot.probe_counter;
        Some(Shadow::Counted { counter })
    }

    /// Records a probe for the version that answered, and halts that version if the rule requires it. A canary is
    /// decided instead: it becomes active, or is withdrawn.
    pub fn probe(&self, asked: Asked<'_>, compared: Compared<'_>) -> Probed {
        let Some(agreed) = compared.agreed else {
            let noted = self.drop_probe(asked, compared.version, INCOMPARABLE);
            return Probed {
                shadow: Shadow::Skipped {
                    why: INCOMPARABLE,
                    counter: Some(0),
                },
                persist_error: noted.err().map(|error| error.to_string()),
            };
        };
        let pair = Pair {
            specialist: summary(Some(compared.specialist)),
            claude: summary(Some(compared.claude)),
        };
        self.record_probe(asked, compared.version, agreed, &pair)
            .unwrap_or_else(|error| Probed {
                shadow: Shadow::Skipped {
                    why: "state_unreadable",
                    counter: None,
                },
                persist_error: Some(format!("STATE_PERSIST_ERROR: {error}")),
            })
    }

    /// Records a probe that was due and is not made, so that its absence is visible.
    ///
    /// # Errors
    /// The line cannot be written.
    pub fn drop_probe(&self, asked: Asked<'_>, version: &str, why: &str) -> Result<(), FileError> {
        let subject = (asked.role, version);
        let event = Event::dropped_probe(subject, asked.now, asked.trace_id, why);
        self.note(Log::Probes, &event, false)
    }

    fn record_probe(
        &self,
        asked: Asked<'_>,
        version: &str,
        agreed: bool,
        pair: &Pair,
    ) -> Result<Probed, String> {
        let settings = self.settings().shadow;
        let is_canary = self.is_canary(asked.role, version);
        let mut held = self.hold(asked.role).map_err(|error| said(&error))?;
        let mut state = self
            .held_state(&mut held)
            .map_err(|error| error.to_string())?;
        let subject = (asked.role, version);
        let input = self.input_sketch(asked.input);
        let outcome = (input.as_str(), agreed);
        let (judgement, halt_triggered) =
            state.probe(subject, outcome, &settings, !is_canary, |judgement| Halt {
                reason: halt_reason(subject, judgement, &settings, pair),
                since: asked.now.to_owned(),
            });
        let event = Event::probe(subject, asked.now, asked.trace_id, outcome, pair);
        let slot = state.slot(asked.role).filter(|_| halt_triggered);
        let halt = slot.and_then(|slot| slot.halts.get(version));
        let halted = halt.map(|halt| Event::halt(subject, halt, &judgement, &settings, pair));
        // The state is written before the event: a halt without its line is in force, a line without its halt is not.
        let mut lines = vec![(Log::Probes, &event)];
        lines.extend(halted.as_ref().map(|halted| (Log::Events, halted)));
        let how = Keep::Probes {
            durable: halt_triggered,
        };
        let failed = self.keep(held, state, how, &lines).err();
        let mut persist_error =
            failed.map(|error| format!("STATE_PERSIST_ERROR: {}", said(&error)));
        if is_canary && let Err(error) = self.decide_canary(asked.role, &judgement, asked.now) {
            persist_error.get_or_insert(error.to_string());
        }
        Ok(Probed {
            shadow: Shadow::Fired {
                agreed,
                judgement,
                halt_triggered,
            },
            persist_error,
        })
    }

    /// Returns the sketch that identifies a repeated input; keyed if the user has a trust store.
    fn input_sketch(&self, input: &Value) -> String {
        let key = self.seals.seal("probed input", b"").unwrap_or_default();
        likeness::sketch(&output::text(input), &key)
    }

    /// Adds a line to the field log. A failure is returned and does not affect the dispatch.
    ///
    /// # Errors
    /// The line cannot be written.
    pub fn log_field(
        &self,
        asked: Asked<'_>,
        begun: &Begun,
        source: Source,
        verdict: Option<&Value>,
        score: Option<f64>,
    ) -> Result<(), FileError> {
        let row = Row {
            role: asked.role,
            ts: asked.now,
            trace_id: asked.trace_id,
            number: begun.number.map(|number| number.role),
            learning: begun.learning,
            route: begun.decision.route,
            source,
            version: begun.version.as_deref(),
            input: asked.input,
            verdict,
            score,
        };
        let line = row.line(self.settings().keep_inputs);
        if self.shared.is_none() {
            self.rotate()?;
        }
        self.add_line(Log::Field, asked.role, &line, false)
    }

    /// Rotates a field log that has become too long, and removes the oldest.
    fn rotate(&self) -> Result<(), FileError> {
        let path = &self.paths().field_log;
        let too_long = || {
            let length = files::metadata(path).map(|metadata| metadata.len());
            length.is_ok_and(|length| length >= self.settings().field_log_bytes)
        };
        if !too_long() {
            return Ok(());
        }
        let _lock = lock(path)?;
        // Another process may have done it meanwhile.
        if !too_long() {
            return Ok(());
        }
        let keep = self.settings().field_log_keep;
        let aside = |number: u64| match number {
            0 => path.clone(),
            _ => path.with_added_extension(number.to_string()),
        };
        for number in (0..keep).rev() {
            // A missing one need not be moved.
            files::rename(&aside(number), &aside(number + 1)).ok();
        }
        if keep == 0 {
            files::remove_file(path).ok();
        }
        Ok(())
    }
}
