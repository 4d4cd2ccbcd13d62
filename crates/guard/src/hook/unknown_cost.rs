//! Reports cost budgets that are not enforced because the cost is unknown. The call budget is still enforced.

use std::path::Path;

use oversight::governance::{Mode, Spent};

use super::desk::Desk;
use crate::agents::Event;
use base::prices::{Prices, Usage};
use evidence::sealing::budget;
use evidence::sealing::transcript;

/// The cost of a session so far, and why it is incomplete.
#[derive(Clone, Debug, Default)]
pub(super) struct Cost {
    pub(super) spent: Spent,
    unknown: Option<String>,
}

impl Cost {
    /// Reads the cost of the session from the agent's own record, if a budget needs it.
    pub(super) fn read(desk: &Desk<'_>, event: &Event, calls: u64) -> Self {
        if desk.governance.mode == Mode::Off {
            return Self::default();
        }
        let prices = Prices::new(&desk.config.oversight.prices);
        let agent = desk.agent.name();
        let record = event.transcript.as_deref();
        let read = match record {
            Some(record) => budget::so_far(agent, Path::new(record), prices, &memory(desk, event)),
            None => Err("the agent names no record of the session".to_owned()),
        };
        match read {
            Ok(so_far) => Self {
                spent: so_far.spent,
                unknown: no_price(&so_far.unpriced),
            },
            // A record may not exist before the first call.
            Err(why) => Self {
                spent: Spent::default(),
                unknown: (calls > 0 || record.is_none()).then_some(why),
            },
        }
    }

    /// Returns the note for the answer to a call, once per session and reason.
    pub(super) fn note(&self, desk: &Desk<'_>, event: &Event) -> Option<String> {
        let note = sentence(desk, self.unknown.as_deref()?)?;
        budget::is_first_note(&memory(desk, event), &note).then_some(note)
    }
}

/// Returns the note for the start of a session.
pub(super) fn at_start(desk: &Desk<'_>, event: &Event) -> Option<String> {
    let agent = desk.agent.name();
    let model = event.model.iter().filter(|model| {
        let prices = Prices::new(&desk.config.oversight.prices);
        prices.cost(model, Usage::default()).is_none()
    });
    let unread = transcript::records(agent, Path::new("")).err();
    let why = match unread {
        Some(unread) => unread.to_string(),
        None => no_price(&model.cloned().collect::<Vec<_>>())?,
    };
    sentence(desk, &why)
}

/// Returns the same note, and records that the session received it.
pub(super) fn tell_at_start(desk: &Desk<'_>, event: &Event) -> Option<String> {
    at_start(desk, event).filter(|note| budget::is_first_note(&memory(desk, event), note))
}

fn no_price(models: &[String]) -> Option<String> {
    let names = models.join("`, `");
    (!models.is_empty()).then(|| format!("`[oversight.prices]` has no price for model `{names}`"))
}

/// Returns the whole sentence if a cost budget is in force.
fn sentence(desk: &Desk<'_>, why: &str) -> Option<String> {
    let governance = &desk.governance;
    let is_limited = governance.mode != Mode::Off && governance.max_cost_microdollars < u32::MAX;
    is_limited.then(|| {
        format!(
            "roleos: the cost budget is not enforced: {why}; the budget of {} calls holds",
            governance.max_tool_calls
        )
    })
}

fn memory(desk: &Desk<'_>, event: &Event) -> std::path::PathBuf {
    budget::memory_in(&desk.workspace.sessions_dir(), &desk.session(event))
}
