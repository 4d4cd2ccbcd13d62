//! Sums over the gateway's log: requests, errors and latencies by role and model.

use rusqlite::Connection;
use serde::Serialize;
use utoipa::ToSchema;

use super::{View, ViewError};

/// Limit of the rows of the sum; rarer pairs are left out.
const MAX_ROWS: u32 = 200;

/// The requests of one role and model.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct Traffic {
    /// The role; empty where none was asked for.
    pub role: String,
    /// The model that was asked for.
    pub model: String,
    /// Requests.
    pub requests: u64,
    /// Those with a status of 400 and above, or cut off.
    pub errors: u64,
    /// Half of them took no longer, in milliseconds.
    pub median_ms: f64,
    /// 95 of 100 took no longer, in milliseconds.
    pub p95_ms: f64,
    /// Tokens in, as far as they are known.
    pub input_tokens: u64,
    /// Tokens out, as far as they are known.
    pub output_tokens: u64,
}

impl View {
    /// Returns the sums of the requests since a time (RFC 3339), the most frequent pairs first.
    pub fn traffic(&self, since: &str) -> Result<Vec<Traffic>, ViewError> {
        self.read(|db| sums(db, since))
    }

    /// Returns the statuses of all requests with their counts.
    pub fn statuses(&self) -> Result<Vec<(String, u64)>, ViewError> {
        self.read(|db| {
            let mut query = db.prepare_cached(
                "SELECT CAST(status AS TEXT), count(*) FROM request GROUP BY status ORDER BY status",
            )?;
            let rows = query.query_map([], |row| {
                Ok((row.get(0)?, row.get::<_, i64>(1)?.cast_unsigned()))
            })?;
            rows.collect()
        })
    }
}

/// Ranks the requests of each pair by their time, and reads both quantiles from the ranks.
const SUMS: &str = "
WITH ranked AS (
    SELECT role, model, ms, status, outcome, input_tokens, output_tokens,
        row_number() OVER pair AS place, count(*) OVER (PARTITION BY role, model) AS n
    FROM request WHERE ts >= ?1
    WINDOW pair AS (PARTITION BY role, model ORDER BY ms)
)
SELECT role, model, count(*), sum(status >= 400 OR outcome <> 'complete'),
    min(iif(2 * place >= n, ms, NULL)), min(iif(100 * place >= 95 * n, ms, NULL)),
    ifnull(sum(input_tokens), 0), ifnull(sum(output_tokens), 0)
FROM ranked GROUP BY role, model ORDER BY count(*) DESC, role, model LIMIT ?2";

fn sums(db: &Connection, since: &str) -> Result<Vec<Traffic>, rusqlite::Error> {
    let mut query = db.prepare_cached(SUMS)?;
    let count = |row: &rusqlite::Row<'_>, column| {
        Ok::<_, rusqlite::Error>(row.get::<_, i64>(column)?.cast_unsigned())
    };
    let rows = query.query_map(rusqlite::params![since, MAX_ROWS], |row| {
        Ok(Traffic {
            role: row.get(0)?,
            model: row.get(1)?,
            requests: count(row, 2)?,
            errors: count(row, 3)?,
            median_ms: row.get(4)?,
            p95_ms: row.get(5)?,
            input_tokens: count(row, 6)?,
            output_tokens: count(row, 7)?,
        })
    })?;
    rows.collect()
}
