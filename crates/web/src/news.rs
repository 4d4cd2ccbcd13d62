//! What happened since the last look at the files, for those who are told: counters, webhooks, a collector.

use std::fmt;
use std::sync::{Arc, PoisonError};

use witness::scorecard::{Filter, Standing};

use crate::api::{Desk, acceptance};
use crate::problem::Problem;
use index::rows::{Decision, Event, Session};
use index::{Changes, ViewError};

/// What is new. A flood is cut after one page of each kind; the counters have all of it.
#[derive(Debug, Default)]
pub struct News {
    /// Verdicts on tool calls.
    pub decisions: Vec<Decision>,
    /// What happened to specialists.
    pub events: Vec<Event>,
    /// Sessions that ended.
    pub ended: Vec<Session>,
    /// The criteria that no longer hold, when the workspace met all of them until now.
    pub failed: Option<Vec<String>>,
}

/// Hears what is new. It must not wait.
pub type Listener = Box<dyn Fn(&News) + Send + Sync>;

/// All who hear it.
#[derive(Default)]
pub struct Listeners(Vec<Listener>);

impl Listeners {
    pub fn add(&mut self, listener: impl Fn(&News) + Send + Sync + 'static) {
        self.0.push(Box::new(listener));
    }
}

impl fmt::Debug for Listeners {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().finish_non_exhaustive()
    }
}

impl Desk {
    /// Counts what is new and tells it to those who listen.
    pub fn tell_news(&self, changes: &Changes) -> Result<(), ViewError> {
        let (decisions, events) = (changes.decisions, changes.events);
        let mut news = News::default();
        if decisions.1 > decisions.0 {
            for (agent, verdict, count) in self.view.count_decisions(decisions.0, decisions.1)? {
                self.counted.decided(&agent, &verdict, count);
            }
            news.decisions = self.view.between(decisions.0, decisions.1)?;
        }
        if events.1 > events.0 {
            for (role, what, count) in self.view.count_events(events.0, events.1)? {
                self.counted.happened(&role, &what, count);
            }
            news.events = self.view.between(events.0, events.1)?;
        }
        news.ended = self.newly_ended(changes)?;
        if changes.bundles > 0 {
            // Where the criteria cannot be looked at, nothing is said about them.
            news.failed = self.newly_failed().ok().flatten();
        }
        for decision in &news.decisions {
            // Nobody has to listen.
            self.news.send(Arc::new(decision.clone())).ok();
        }
        self.listeners.0.iter().for_each(|listener| listener(&news));
        Ok(())
    }

    /// Sessions that ended since the last look.
    fn newly_ended(&self, changes: &Changes) -> Result<Vec<Session>, ViewError> {
        if changes.lines == 0 {
            return Ok(Vec::new());
        }
        let mut seen = self.ended_ns.lock().unwrap_or_else(PoisonError::into_inner);
        let (ended, newest) = self.view.ended_after(*seen)?;
        *seen = newest;
        Ok(ended)
    }

    /// Remembers how things stand when the process starts: what was there before is no news.
    pub fn begin_news(&self) -> Result<(), ViewError> {
        // Where the criteria cannot be looked at now, the next look is the first.
        self.newly_failed().ok();
        let mut seen = self.ended_ns.lock().unwrap_or_else(PoisonError::into_inner);
        *seen = self.view.ended_after(i64::MAX)?.1;
        Ok(())
    }

    /// What speaks against acceptance, if nothing did the last time but that tasks were missing.
    pub fn newly_failed(&self) -> Result<Option<Vec<String>>, Problem> {
        let card = self.view.scorecard(None, &Filter::default())?;
        let accepted = acceptance(self, &card.0, &card.1)?;
        let standing = accepted.standing();
        let mut last = self.standing.lock().unwrap_or_else(PoisonError::into_inner);
        let was = last.replace(standing);
        let fell = standing == Standing::NotAccepted && was.is_some_and(|was| was != standing);
        Ok(fell.then(|| accepted.reasons.into_iter().map(|one| one.text).collect()))
    }
}
