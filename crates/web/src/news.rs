//! Events since the last check of the files, for counters, webhooks and a collector.

use std::fmt;
use std::sync::{Arc, PoisonError};

use witness::scorecard::{Filter, Standing};

use crate::api::{Desk, acceptance};
use crate::problem::Problem;
use index::rows::{Decision, Event, Session};
use index::{Changes, ViewError};

/// New events. A flood is cut after one page of each kind; the counters have all of it.
#[derive(Debug, Default)]
pub struct News {
    /// Verdicts on tool calls.
    pub decisions: Vec<Decision>,
    /// Events of specialists.
    pub events: Vec<Event>,
    /// Sessions that ended.
    pub ended: Vec<Session>,
    /// Criteria that are no longer met, if all were met before.
    pub failed: Option<Vec<String>>,
}

/// Receiver of news. It must not block.
pub type Listener = Box<dyn Fn(&News) + Send + Sync>;

/// All receivers.
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
    /// Counts new events and passes them to the receivers.
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
            // If the criteria cannot be checked, nothing is reported about them.
            news.failed = self.newly_failed().ok().flatten();
        }
        for decision in &news.decisions {
            // There may be no receiver.
            self.news.send(Arc::new(decision.clone())).ok();
        }
        self.listeners.0.iter().for_each(|listener| listener(&news));
        Ok(())
    }

    /// Returns the sessions that ended since the last check.
    fn newly_ended(&self, changes: &Changes) -> Result<Vec<Session>, ViewError> {
        if changes.lines == 0 {
            return Ok(Vec::new());
        }
        let mut seen = self.ended_ns.lock().unwrap_or_else(PoisonError::into_inner);
        let (ended, newest) = self.view.ended_after(*seen)?;
        *seen = newest;
        Ok(ended)
    }

    /// Records the state at the start of the process: earlier events are not new.
    pub fn begin_news(&self) -> Result<(), ViewError> {
        // If the criteria cannot be checked now, the next check is the first.
        self.newly_failed().ok();
        let mut seen = self.ended_ns.lock().unwrap_or_else(PoisonError::into_inner);
        *seen = self.view.ended_after(i64::MAX)?.1;
        Ok(())
    }

    /// Returns the reasons against acceptance, if at the last check there were none except missing tasks.
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
