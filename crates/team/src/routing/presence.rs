//! Tracks the running programs: each has a row that it renews by the database's clock, so that the clocks of machines
//! do not matter.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use ::routing::shared::SharedError;
use postgres::Client;
use postgres::types::Type;

use crate::error::TeamError;
use crate::pool::Team;

const RENEW: &str = "INSERT INTO replicas (holder) VALUES ($1)
    ON CONFLICT (holder) DO UPDATE SET seen_at = now()";

/// Statement that removes programs which did not renew their row in time.
const FORGET: &str = "DELETE FROM replicas WHERE seen_at < now() - interval '30 seconds'";

/// This program, and the programs seen last.
#[derive(Debug)]
pub(super) struct Presence {
    holder: String,
    has_entered: AtomicBool,
    alive: Mutex<BTreeSet<String>>,
}

impl Presence {
    /// Creates a unique name for this program.
    pub(super) fn new() -> Result<Self, SharedError> {
        let holder = base::keys::random_token().map_err(|error| SharedError {
            detail: format!("cannot make a random name: {error}"),
            is_away: false,
        })?;
        Ok(Self {
            holder,
            has_entered: AtomicBool::new(false),
            alive: Mutex::default(),
        })
    }

    pub(super) fn holder(&self) -> &str {
        &self.holder
    }

    /// Ensures that the row exists before a place is taken in its name.
    pub(super) fn enter(&self, client: &mut Client) -> Result<(), postgres::Error> {
        if !self.has_entered.load(Ordering::Acquire) {
            client.execute_typed(RENEW, &[(&self.holder, Type::TEXT)])?;
            // A rollback removes the row again; the next beat restores it long before it matters.
            self.has_entered.store(true, Ordering::Release);
        }
        Ok(())
    }

    /// Renews the row, and reads the other running programs.
    pub(super) fn beat(&self, team: &Team) -> Result<(), TeamError> {
        let rows = team.with(|client| {
            client.execute_typed(RENEW, &[(&self.holder, Type::TEXT)])?;
            client.execute_typed(FORGET, &[])?;
            client.query_typed("SELECT holder FROM replicas", &[])
        })?;
        let mut alive = self.alive.lock().unwrap_or_else(PoisonError::into_inner);
        *alive = rows.iter().map(|row| row.get(0)).collect();
        Ok(())
    }

    /// Returns `true` if a program has no row. If the database does not answer, the program counts as running.
    pub(super) fn is_gone(&self, team: &Team, holder: &str) -> bool {
        let alive = || self.alive.lock().unwrap_or_else(PoisonError::into_inner);
        if holder == self.holder || alive().contains(holder) {
            return false;
        }
        let sql = "SELECT 1 FROM replicas WHERE holder = $1";
        let found = team.with(|client| client.query_typed(sql, &[(&holder, Type::TEXT)]));
        let is_gone = found.is_ok_and(|rows| rows.is_empty());
        if !is_gone {
            alive().insert(holder.to_owned());
        }
        is_gone
    }
}
