//! A state as one text per role and one for the window of all roles, for a store that keeps them separately. The
//! texts are parts of the file.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{SCHEMA, State, StateError, bad, letters};
use crate::quota::Window;

/// Name of the row with the window of all roles; no role has this name.
pub const FLEET: &str = "";

impl State {
    /// Builds a state from rows. Without the row of all roles, their window is not kept.
    ///
    /// # Errors
    /// Fails if a row is damaged.
    pub fn from_rows<'a>(
        rows: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, StateError> {
        let mut whole =
            json!({ "schema": SCHEMA, "dispatched": 0, "dispatches": "", "sequence": 0 });
        let (mut roles, mut reservations, mut has_fleet) = (Map::new(), Vec::new(), false);
        for (role, text) in rows {
            let row: Value =
                serde_json::from_str(text).map_err(|error| StateError::Parse(error.to_string()))?;
            let Value::Object(mut row) = row else {
                return Err(bad("a row of the state is not an object"));
            };
            if role == FLEET {
                has_fleet = true;
                whole
                    .as_object_mut()
                    .into_iter()
                    .for_each(|whole| whole.extend(row.clone()));
                continue;
            }
            match row.remove("reservations") {
                None => {}
                Some(Value::Array(own)) => reservations.extend(own),
                Some(_) => return Err(bad("`reservations` is not a list")),
            }
            roles.insert(role.to_owned(), Value::Object(row));
        }
        if let Some(whole) = whole.as_object_mut() {
            whole.insert("reservations".to_owned(), Value::Array(reservations));
            whole.insert("roles".to_owned(), Value::Object(roles));
        }
        let mut state = Self::from_json(&whole)?;
        if !has_fleet {
            // No window reaches back to this number: reservations then last as long as their role's window.
            state.fleet = Window::new(Vec::new(), u64::MAX);
        }
        Ok(state)
    }

    /// Splits a state into rows, by role.
    #[must_use]
    pub fn to_rows(&self) -> BTreeMap<String, String> {
        let row = |(role, slot): (&String, &super::Slot)| {
            let own = self.reservations.iter().filter(|one| one.role == *role);
            let own: Vec<Value> = own.map(super::Reservation::to_json).collect();
            let mut value = slot.to_json();
            if let Some(object) = value.as_object_mut() {
                object.insert("reservations".to_owned(), Value::Array(own));
            }
            (role.clone(), value.to_string())
        };
        let mut rows: BTreeMap<String, String> = self.roles.iter().map(row).collect();
        if self.fleet.dispatched() != u64::MAX {
            let fleet = json!({
                "sequence": self.sequence,
                "dispatched": self.fleet.dispatched(),
                "dispatches": letters(&self.fleet),
            });
            rows.insert(FLEET.to_owned(), fleet.to_string());
        }
        rows
    }
}
