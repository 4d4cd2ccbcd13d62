//! Counts by hour or by day, in UTC, for the charts: refusals, and latencies of the gateway.

use rusqlite::{Connection, params};

use super::{View, ViewError};

/// The calls of one day that did not simply run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusals {
    /// `2026-11-19`.
    pub day: String,
    /// Calls on that day.
    pub calls: u64,
    /// Those that a person was asked about.
    pub asked: u64,
    /// Those that were refused.
    pub denied: u64,
}

/// The requests of one hour or day.
#[derive(Clone, Debug, PartialEq)]
pub struct Latency {
    /// `2026-11-19`, or `2026-11-19T03`.
    pub slot: String,
    /// Requests.
    pub requests: u64,
    /// Half of them took no longer, in milliseconds.
    pub median_ms: f64,
    /// 95 of 100 took no longer, in milliseconds.
    pub p95_ms: f64,
}

impl View {
    /// Returns the newest `most` days with calls, oldest first.
    pub fn refusals(&self, most: u32) -> Result<Vec<Refusals>, ViewError> {
        self.read(|db| refusals(db, most))
    }

    /// Returns the newest `most` hours or days with requests since a time (RFC 3339), oldest first.
    pub fn latencies(
        &self,
        since: &str,
        is_hourly: bool,
        most: u32,
    ) -> Result<Vec<Latency>, ViewError> {
        let letters = if is_hourly { 13 } else { 10 };
        self.read(|db| latencies(db, since, letters, most))
    }
}

fn count(row: &rusqlite::Row<'_>, column: usize) -> Result<u64, rusqlite::Error> {
    row.get::<_, i64>(column).map(i64::cast_unsigned)
}

fn refusals(db: &Connection, most: u32) -> Result<Vec<Refusals>, rusqlite::Error> {
    let mut query = db.prepare_cached(
        "SELECT day, calls, asked, denied FROM (
             SELECT date(time_ns / 1000000000, 'unixepoch') AS day, count(*) AS calls,
                 sum(verdict = 'ask') AS asked, sum(verdict = 'deny') AS denied
             FROM decision GROUP BY day ORDER BY day DESC LIMIT ?1
         ) ORDER BY day",
    )?;
    let rows = query.query_map([most], |row| {
        Ok(Refusals {
            day: row.get(0)?,
            calls: count(row, 1)?,
            asked: count(row, 2)?,
            denied: count(row, 3)?,
        })
    })?;
    rows.collect()
}

fn latencies(
    db: &Connection,
    since: &str,
    letters: u32,
    most: u32,
) -> Result<Vec<Latency>, rusqlite::Error> {
    // The requests of each slot are ranked by their time, and both quantiles read off the ranks.
    let mut query = db.prepare_cached(
        "WITH ranked AS (
             SELECT substr(ts, 1, ?2) AS slot, ms,
                 row_number() OVER (PARTITION BY substr(ts, 1, ?2) ORDER BY ms) AS place,
                 count(*) OVER (PARTITION BY substr(ts, 1, ?2)) AS n
             FROM request WHERE ts >= ?1
         ), slots AS (
             SELECT slot, count(*) AS requests, min(iif(2 * place >= n, ms, NULL)) AS median,
                 min(iif(100 * place >= 95 * n, ms, NULL)) AS p95
             FROM ranked GROUP BY slot ORDER BY slot DESC LIMIT ?3
         )
         SELECT slot, requests, median, p95 FROM slots ORDER BY slot",
    )?;
    let rows = query.query_map(params![since, letters, most], |row| {
        Ok(Latency {
            slot: row.get(0)?,
            requests: count(row, 1)?,
            median_ms: row.get(2)?,
            p95_ms: row.get(3)?,
        })
    })?;
    rows.collect()
}
