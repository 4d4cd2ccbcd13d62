//! Changes between two reads, and the sums of `/metrics`.

use super::list::{Listable, MAX_PAGE};
use super::rows::Session;
use super::{View, ViewError};

/// Limit of separate groups; the rest is summed as one.
const MAX_GROUPS: usize = 200;
/// Name of the rest.
const OTHER: &str = "other";

/// Sealed tasks of one role and model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sealed {
    /// Role and model.
    pub of: (String, String),
    /// Number of tasks.
    pub tasks: u64,
    /// Number of solved tasks.
    pub solved: u64,
    /// Sum of the tokens.
    pub tokens: u64,
    /// Sum of the known costs, in millionths of a dollar.
    pub microdollars: u64,
}

impl View {
    /// Returns the rows with an id in this range, oldest first, at most one page.
    pub fn between<T: Listable>(&self, after: i64, upto: i64) -> Result<Vec<T>, ViewError> {
        let sql = format!(
            "SELECT {}, id FROM {} WHERE id > ?1 AND id <= ?2 ORDER BY id LIMIT {MAX_PAGE}",
            T::COLUMNS,
            T::TABLE
        );
        self.read(|db| {
            let mut query = db.prepare_cached(&sql)?;
            query.query_map([after, upto], T::read)?.collect()
        })
    }

    /// Counts the decisions in this range by agent and verdict.
    pub fn count_decisions(
        &self,
        after: i64,
        upto: i64,
    ) -> Result<Vec<(String, String, u64)>, ViewError> {
        self.counts(
            "SELECT agent, verdict, count(*) FROM decision WHERE id > ?1 AND id <= ?2 GROUP BY agent, verdict",
            (after, upto),
        )
    }

    /// Counts the events in this range by role and kind; probes have the kind `agreed`, `disagreed` or `shadow-probe`
    /// for neither.
    pub fn count_events(
        &self,
        after: i64,
        upto: i64,
    ) -> Result<Vec<(String, String, u64)>, ViewError> {
        self.counts(
            "SELECT role, CASE agreed WHEN 1 THEN 'agreed' WHEN 0 THEN 'disagreed' ELSE kind END AS what, count(*)
             FROM event WHERE id > ?1 AND id <= ?2 GROUP BY role, what",
            (after, upto),
        )
    }

    fn counts(
        &self,
        sql: &str,
        (after, upto): (i64, i64),
    ) -> Result<Vec<(String, String, u64)>, ViewError> {
        self.read(|db| {
            let mut query = db.prepare_cached(sql)?;
            let row = |row: &rusqlite::Row<'_>| {
                let count: i64 = row.get(2)?;
                Ok((row.get(0)?, row.get(1)?, count.cast_unsigned()))
            };
            query.query_map([after, upto], row)?.collect()
        })
    }

    /// Returns the sessions that ended after a moment, oldest first, at most one page; and the time of the last
    /// activity of any session.
    pub fn ended_after(&self, moment_ns: i64) -> Result<(Vec<Session>, i64), ViewError> {
        let sql = format!(
            "SELECT {} FROM session WHERE ended AND last_ns > ?1 ORDER BY last_ns LIMIT {MAX_PAGE}",
            Session::COLUMNS
        );
        self.read(|db| {
            let mut query = db.prepare_cached(&sql)?;
            let ended: Result<_, _> = query.query_map([moment_ns], Session::read)?.collect();
            let newest = "SELECT ifnull(max(last_ns), 0) FROM session";
            let newest = db.query_row(newest, [], |row| row.get(0))?;
            Ok((ended?, newest))
        })
    }

    /// Returns the share of the newest `window` probes of a role in which both answers agreed; `None` before the
    /// first.
    pub fn agreement(&self, role: &str, window: u64) -> Result<Option<f64>, ViewError> {
        let window = i64::try_from(window).unwrap_or(i64::MAX);
        self.read(|db| {
            let mut query = db.prepare_cached(
                "SELECT avg(agreed) FROM (SELECT agreed FROM event
                 WHERE role = ?1 AND kind = 'shadow-probe' AND agreed IS NOT NULL ORDER BY ts DESC, id DESC LIMIT ?2)",
            )?;
            query.query_row(rusqlite::params![role, window], |row| row.get(0))
        })
    }

    /// Returns the verified tasks by role and model, those with the most tasks first.
    pub fn sealed(&self) -> Result<Vec<Sealed>, ViewError> {
        let mut groups: Vec<Sealed> = self.read(|db| {
            let mut query = db.prepare_cached(
                "SELECT role, model, count(*), sum(outcome = 'solved'), sum(tokens), sum(cost * cost_known)
                 FROM task WHERE verdict = 'valid' GROUP BY role, model ORDER BY count(*) DESC, role, model",
            )?;
            let row = |row: &rusqlite::Row<'_>| {
                let number = |column| Ok::<_, rusqlite::Error>(row.get::<_, i64>(column)?.cast_unsigned());
                Ok(Sealed {
                    of: (row.get(0)?, row.get(1)?),
                    tasks: number(2)?,
                    solved: number(3)?,
                    tokens: number(4)?,
                    microdollars: number(5)?,
                })
            };
            query.query_map([], row)?.collect()
        })?;
        let rest = groups.split_off(groups.len().min(MAX_GROUPS));
        groups.extend(rest.into_iter().reduce(|sum, one| Sealed {
            of: (OTHER.to_owned(), OTHER.to_owned()),
            tasks: sum.tasks + one.tasks,
            solved: sum.solved + one.solved,
            tokens: sum.tokens + one.tokens,
            microdollars: sum.microdollars + one.microdollars,
        }));
        Ok(groups)
    }

    /// Returns the number of log lines that could not be parsed.
    pub fn unread_lines(&self) -> Result<u64, ViewError> {
        self.read(|db| {
            let sum = db.query_row("SELECT ifnull(sum(damaged), 0) FROM source", [], |row| {
                row.get::<_, i64>(0)
            });
            sum.map(i64::cast_unsigned)
        })
    }
}
