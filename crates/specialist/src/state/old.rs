//! States of versions 1 and 2, as the published tool writes them. Read, never written.
//!
//! Both share one list of dispatches among all roles. Version 2 does not name the role of a dispatch, so the list
//! counts for every role that the file names: a role may serve less at first, never more than its quota.

use serde_json::{Map, Value};

use super::{Slot, State, StateError, bad, counter, halt};
use crate::quota::{Source, Window};

/// Schema of version 2.
pub const V2: &str = "roleos-specialist-state/v2";

/// Schema of version 1.
pub const V1: &str = "roleos-specialist-state/v1";

/// Limit of records; of a longer list the end is kept.
const MAX_RECORDS: usize = 100_000;

fn window(records: Vec<Source>) -> Window {
    let number = records.len() as u64;
    let surplus = records.len().saturating_sub(MAX_RECORDS);
    Window::new(records.into_iter().skip(surplus).collect(), number)
}

/// Reads version 2, as tolerant towards records as the published reader: a number is a specialist's, a record without
/// a time is dropped.
pub(super) fn read_v2(value: &Value, roles: &Map<String, Value>) -> Result<State, StateError> {
    let list = value.get("dispatches").and_then(Value::as_array);
    let records = list.into_iter().flatten().filter_map(|record| {
        if record.is_number() {
            return Some(Source::Specialist);
        }
        record.get("t").filter(|time| time.is_number())?;
        let is_claude = record.get("route").and_then(Value::as_str) == Some("claude");
        Some(if is_claude {
            Source::Claude
        } else {
            Source::Specialist
        })
    });
    let fleet = window(records.collect());
    let mut state = State {
        fleet,
        ..State::default()
    };
    for (role, value) in roles {
        let slot = slot(value, state.fleet.clone())?;
        state.roles.insert(role.clone(), slot);
    }
    Ok(state)
}

/// Reads version 1, which has only the specialists' dispatches, by role.
pub(super) fn read_v1(roles: &Map<String, Value>) -> Result<State, StateError> {
    let mut state = State::default();
    let mut total = 0;
    for (role, value) in roles {
        let times = value.get("dispatch_timestamps").and_then(Value::as_array);
        let count = times.into_iter().flatten().filter(|time| time.is_number());
        let count = count.count();
        total += count;
        let own = window(vec![Source::Specialist; count]);
        state.roles.insert(role.clone(), slot(value, own)?);
    }
    state.fleet = window(vec![Source::Specialist; total]);
    Ok(state)
}

fn slot(value: &Value, window: Window) -> Result<Slot, StateError> {
    if !value.is_object() {
        return Err(bad("a role is no object"));
    }
    Ok(Slot {
        window,
        probe_counter: counter(value)?,
        halt: halt(value)?,
        ..Slot::default()
    })
}
