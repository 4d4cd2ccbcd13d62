//! Comparison of the same tasks, and a summary of troubles. Attempts at one task are recognised by their identity.

use rusqlite::Connection;

use super::list::TaskColumn;
use super::{View, ViewError};

/// Limit of listed pairs.
const MAX_PAIRS: usize = 200;
/// Seven days.
const WEEK_NS: u64 = 7 * 86_400_000_000_000;

/// The last attempt at a task in one half of a comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Side {
    pub task_id: String,
    /// Outcome of the task.
    pub outcome: String,
    /// Cost in millionths of a US dollar.
    pub cost: i64,
    pub cost_known: bool,
}

/// One task in both halves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// `regression`, `fixed`, `changed` or `same`.
    pub change: &'static str,
    pub baseline: Side,
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

/// Tasks of both halves, regressions first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Compared {
    /// Number of tasks solved in the baseline and failed now.
    pub regressions: u64,
    /// Number of tasks failed in the baseline and solved now.
    pub fixed: u64,
    /// Number of tasks in both halves.
    pub shared: u64,
    /// The first of these tasks.
    pub pairs: Vec<Pair>,
}

/// Summary of troubles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Trouble {
    /// Number of calls that were refused in the last seven days.
    pub denied: u64,
    /// Number of sessions that have ended and are not in a bundle.
    pub unsealed: u64,
}

impl View {
    /// Compares verified bundles with one value of a column, the week or the model, against those with another.
    pub fn compared(
        &self,
        column: TaskColumn,
        baseline: &str,
        with: &str,
    ) -> Result<Compared, ViewError> {
        self.read(|db| {
            let (before, now) = (half(db, column, baseline)?, half(db, column, with)?);
            let (mut found, shared) = merged(&before, &now);
            for (before, now) in shared {
                let pair = Pair::new(side(db, before.id)?, side(db, now.id)?);
                found.pairs.push(pair);
            }
            Ok(found)
        })
    }

    /// Returns the summary of troubles.
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

/// Last attempt at a task, from the index.
#[derive(Clone, Copy)]
struct Attempt {
    identity: [u8; 16],
    created_ns: i64,
    id: i64,
    outcome: Outcome,
}

/// Outcome for the comparison.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Solved,
    Failed,
    Skipped,
    Error,
}

/// Returns the last attempts of one half in the order of the identities, which is that of the index.
fn half(db: &Connection, column: TaskColumn, value: &str) -> Result<Vec<Attempt>, rusqlite::Error> {
    let column = column.name();
    // With `max`, SQLite takes the other columns from the row with the maximum.
    let mut query = db.prepare_cached(&format!(
        "SELECT identity, max(created_ns), id, outcome FROM task
         WHERE {column} = ?1 AND verdict = 'valid' GROUP BY identity"
    ))?;
    let rows = query.query_map([value], |row| {
        Ok(Attempt {
            identity: row.get(0)?,
            created_ns: row.get(1)?,
            id: row.get(2)?,
            outcome: match row.get_ref(3)?.as_str()? {
                "solved" => Outcome::Solved,
                "failed" => Outcome::Failed,
                "skipped" => Outcome::Skipped,
                _ => Outcome::Error,
            },
        })
    })?;
    rows.collect()
}

/// Returns the rank of a change: regressions come first.
fn rank((before, now): (Outcome, Outcome)) -> u8 {
    match (before, now) {
        (Outcome::Solved, Outcome::Failed) => 0,
        (Outcome::Failed, Outcome::Solved) => 1,
        (before, now) if before != now => 2,
        _ => 3,
    }
}

/// Counts the tasks in both halves, and selects the shown ones: by rank, then the newest.
fn merged(before: &[Attempt], now: &[Attempt]) -> (Compared, Vec<(Attempt, Attempt)>) {
    let mut shared = Vec::new();
    let mut rest = now.iter().peekable();
    for one in before {
        while rest
            .next_if(|other| other.identity < one.identity)
            .is_some()
        {}
        if let Some(other) = rest.next_if(|other| other.identity == one.identity) {
            let rank = rank((one.outcome, other.outcome));
            shared.push((rank, std::cmp::Reverse(other.created_ns), *one, *other));
        }
    }
    shared.sort_unstable_by_key(|(rank, age, _, now)| (*rank, *age, now.id));
    let of_rank = |wanted: u8| shared.iter().filter(|(rank, ..)| *rank == wanted).count() as u64;
    let compared = Compared {
        regressions: of_rank(0),
        fixed: of_rank(1),
        shared: shared.len() as u64,
        pairs: Vec::new(),
    };
    let shown = shared.into_iter().take(MAX_PAIRS);
    (
        compared,
        shown.map(|(_, _, one, other)| (one, other)).collect(),
    )
}

fn side(db: &Connection, id: i64) -> Result<Side, rusqlite::Error> {
    let mut query =
        db.prepare_cached("SELECT task_id, outcome, cost, cost_known FROM task WHERE id = ?1")?;
    query.query_row([id], |row| {
        Ok(Side {
            task_id: row.get(0)?,
            outcome: row.get(1)?,
            cost: row.get(2)?,
            cost_known: row.get(3)?,
        })
    })
}
