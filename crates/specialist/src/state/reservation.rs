//! Reservations: slots of the quota that are taken for running dispatches. Each names its holder, so that the slot of
//! a dispatch whose process died can be released. The caller finds out which holders live.

use serde_json::{Value, json};

use super::{Number, State, StateError, bad};
use crate::quota::{Source, Window};

/// A slot in both windows that a dispatch holds until it has an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reservation {
    pub role: String,
    /// Number of the dispatch.
    pub number: Number,
    /// Process that dispatches.
    pub holder: String,
    /// Number of the dispatch within its process.
    pub ticket: u64,
}

impl Reservation {
    pub(super) fn to_json(&self) -> Value {
        json!({
            "role": self.role,
            "fleet_number": self.number.fleet,
            "role_number": self.number.role,
            "holder": self.holder,
            "ticket": self.ticket,
        })
    }

    fn read(value: &Value) -> Option<Self> {
        let text = |key: &str| Some(value.get(key)?.as_str()?.to_owned());
        let number = |key: &str| value.get(key)?.as_u64();
        Some(Self {
            role: text("role")?,
            number: Number {
                fleet: number("fleet_number")?,
                role: number("role_number")?,
            },
            holder: text("holder")?,
            ticket: number("ticket")?,
        })
    }
}

/// Reads reservations; a missing key counts as none: an older release wrote the file.
pub(super) fn read(value: &Value) -> Result<Vec<Reservation>, StateError> {
    let Some(written) = value.get("reservations") else {
        return Ok(Vec::new());
    };
    let read = |list: &Vec<Value>| list.iter().map(Reservation::read).collect();
    let reservations: Option<Vec<Reservation>> = written.as_array().and_then(read);
    reservations.ok_or_else(|| bad("`reservations` is not a list of reservations"))
}

impl State {
    /// Records the holder of a slot, and drops reservations of slots that have left both windows.
    pub fn reserve(&mut self, reservation: Reservation) {
        self.reservations.push(reservation);
        let Self {
            fleet,
            roles,
            reservations,
            ..
        } = self;
        let holds = |window: &Window, number: u64| {
            window.dispatched().saturating_sub(number) <= window.records().len() as u64
        };
        reservations.retain(|one| {
            let slot = roles.get(&one.role);
            holds(fleet, one.number.fleet)
                || slot.is_some_and(|slot| holds(&slot.window, one.number.role))
        });
    }

    /// Ends the reservation of a dispatch that was answered.
    pub fn end_reservation(&mut self, holder: &str, ticket: u64) {
        self.reservations
            .retain(|one| one.holder != holder || one.ticket != ticket);
    }

    /// Releases the slots whose dispatches can no longer be answered.
    pub fn release(&mut self, mut is_abandoned: impl FnMut(&Reservation) -> bool) {
        let all = std::mem::take(&mut self.reservations);
        let (abandoned, held) = all.into_iter().partition(|one| is_abandoned(one));
        self.reservations = held;
        for one in abandoned {
            self.correct(&one.role, one.number, Source::Claude);
        }
    }

    /// Returns the held slots, oldest first.
    #[must_use]
    pub fn reservations(&self) -> &[Reservation] {
        &self.reservations
    }
}
