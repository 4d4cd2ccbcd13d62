//! The same tasks twice, and what needs a look. Attempts at one task are known by their identity.

use rusqlite::Connection;

use super::list::TaskColumn;
use super::{View, ViewError};

/// Pairs that are listed.
const MAX_PAIRS: u64 = 200;
/// Seven days.
const WEEK_NS: u64 = 7 * 86_400_000_000_000;

/// The last attempt at a task in one half of a comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Side {
    /// Its task id.
    pub task_id: String,
    /// How it ended.
    pub outcome: String,
    /// What it cost, in millionths of a US dollar.
    pub cost: i64,
}

/// One task in both halves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// `regression`, `fixed`, `changed` or `same`.
    pub change: &'static str,
    /// In the baseline.
    pub baseline: Side,
    /// In what is compared with it.
    pub now: Side,
}

impl Pair {
    fn new(baseline: Side, now: Side) -> Self {
        let change = match (baseline.outcome.as_str(), now.outcome.as_str()) {
            (one, other) if one == other => "same",
            ("solved", "failed") => "regression",
            ("failed", "solved") => "fixed",
            _ => "changed",
        };
        Self {
            change,
            baseline,
            now,
        }
    }
}

/// Tasks that are in both halves, regressions first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Compared {
    /// Solved in the baseline and failed now.
    pub regressions: u64,
    /// Failed in the baseline and solved now.
    pub fixed: u64,
    /// Tasks in both.
    pub shared: u64,
    /// The first of them.
    pub pairs: Vec<Pair>,
}

/// What needs a look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Trouble {
    /// Calls that were refused in the last seven days.
    pub denied: u64,
    /// Sessions that have ended and are in no bundle.
    pub unsealed: u64,
}

impl View {
    /// Verified bundles with one value of a column against those with another.
    ///
    /// # Errors
    /// The view cannot be read.
    pub fn compared(
        &self,
        column: TaskColumn,
        baseline: &str,
        with: &str,
    ) -> Result<Compared, ViewError> {
        let column = column.name();
        // With `max`, SQLite takes the other columns from the row that has it.
        let half = |value: &str| {
            format!(
                "SELECT identity, task_id, outcome, cost, max(created_ns) FROM task
                 WHERE verdict = 'valid' AND {column} = {value} GROUP BY identity"
            )
        };
        let sql = format!(
            "SELECT b.task_id, b.outcome, b.cost, n.task_id, n.outcome, n.cost
             FROM ({}) b JOIN ({}) n ON n.identity = b.identity
             ORDER BY CASE WHEN b.outcome = 'solved' AND n.outcome = 'failed' THEN 0
                 WHEN b.outcome = 'failed' AND n.outcome = 'solved' THEN 1
                 WHEN b.outcome != n.outcome THEN 2 ELSE 3 END, n.task_id",
            half("?1"),
            half("?2")
        );
        self.read(|db| compared(db, &sql, baseline, with))
    }

    /// What needs a look.
    ///
    /// # Errors
    /// The view cannot be read.
    pub fn trouble(&self, now_ns: u64) -> Result<Trouble, ViewError> {
        let since = i64::try_from(now_ns.saturating_sub(WEEK_NS)).unwrap_or(i64::MAX);
        self.read(|db| {
            let denied: i64 = db.query_row(
                "SELECT count(*) FROM decision WHERE verdict = 'deny' AND time_ns >= ?1",
                [since],
                |row| row.get(0),
            )?;
            let unsealed: i64 = db.query_row(
                "SELECT count(*) FROM session WHERE ended AND sealed = ''",
                [],
                |row| row.get(0),
            )?;
            Ok(Trouble {
                denied: denied.cast_unsigned(),
                unsealed: unsealed.cast_unsigned(),
            })
        })
    }
}

fn compared(
    db: &Connection,
    sql: &str,
    baseline: &str,
    with: &str,
) -> Result<Compared, rusqlite::Error> {
    let mut query = db.prepare_cached(sql)?;
    let mut rows = query.query([baseline, with])?;
    let mut found = Compared::default();
    while let Some(row) = rows.next()? {
        let side = |first: usize| {
            Ok::<_, rusqlite::Error>(Side {
                task_id: row.get(first)?,
                outcome: row.get(first + 1)?,
                cost: row.get(first + 2)?,
            })
        };
        let pair = Pair::new(side(0)?, side(3)?);
        found.shared += 1;
        found.regressions += u64::from(pair.change == "regression");
        found.fixed += u64::from(pair.change == "fixed");
        if found.shared <= MAX_PAIRS {
            found.pairs.push(pair);
        }
    }
    Ok(found)
}
