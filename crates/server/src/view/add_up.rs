//! Scorecard, curve and run statistics out of the view. The arithmetic is `witness`' and `selection`'s; only what was read
//! off the bundles comes from here. Sums over bundles are kept until a bundle comes or goes.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard, PoisonError};

use host::view::score::Counts;
use rusqlite::Connection;
use selection::statistics::{Rate, rate, spread};
use witness::curve::{Attempts, Identity, Period, Point};
use witness::scorecard::{Collector, Report, Row};
use witness::wire::{Outcome, TaskId};

use super::{View, ViewError};

/// By what a scorecard is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum By {
    /// The role.
    Role,
    /// The model.
    Model,
    /// The governance mode.
    Mode,
    /// The calendar week.
    Week,
    /// The calendar day.
    Day,
    /// The program.
    Agent,
}

impl By {
    /// The column, which is also the word of the API.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Role => "role",
            Self::Model => "model",
            Self::Mode => "mode",
            Self::Week => "week",
            Self::Day => "day",
            Self::Agent => "agent",
        }
    }
}

/// Which attempts a curve is over.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Of {
    /// Only this role.
    pub role: Option<String>,
    /// Only this model.
    pub model: Option<String>,
}

/// A scorecard, and what was met beside the tasks that count.
pub type Card = (Report, Counts);

/// Sums that were made, and for which state of the view.
#[derive(Debug, Default)]
pub(super) struct Sums {
    generation: u64,
    cards: HashMap<Option<By>, Arc<Card>>,
    curves: HashMap<(Of, bool), Arc<Vec<Point>>>,
}

/// So many curves are kept; who asks for more pays for them.
const MAX_CURVES: usize = 64;

impl View {
    /// The scorecard over verified bundles, the newest per task.
    ///
    /// # Errors
    /// The view cannot be read.
    pub fn scorecard(&self, by: Option<By>) -> Result<Arc<Card>, ViewError> {
        if let Some(known) = self.sums().cards.get(&by) {
            return Ok(Arc::clone(known));
        }
        let generation = self.generation.load(Ordering::Relaxed);
        let card = Arc::new(self.read(|db| scorecard(db, by))?);
        let mut sums = self.sums();
        if sums.generation == generation {
            sums.cards.insert(by, Arc::clone(&card));
        }
        Ok(card)
    }

    /// The cost-to-outcome curve over verified bundles.
    ///
    /// # Errors
    /// The view cannot be read.
    pub fn curve(&self, period: Period, of: &Of) -> Result<Arc<Vec<Point>>, ViewError> {
        let key = (of.clone(), period == Period::Day);
        if let Some(known) = self.sums().curves.get(&key) {
            return Ok(Arc::clone(known));
        }
        let generation = self.generation.load(Ordering::Relaxed);
        let curve = Arc::new(self.read(|db| curve(db, period, of))?);
        let mut sums = self.sums();
        if sums.generation == generation && sums.curves.len() < MAX_CURVES {
            sums.curves.insert(key, Arc::clone(&curve));
        }
        Ok(curve)
    }

    /// Emptied when bundles came or went since.
    fn sums(&self) -> MutexGuard<'_, Sums> {
        let mut sums = self.sums.lock().unwrap_or_else(PoisonError::into_inner);
        let generation = self.generation.load(Ordering::Relaxed);
        if sums.generation != generation {
            *sums = Sums {
                generation,
                ..Sums::default()
            };
        }
        sums
    }

    /// What the run log says of every model in every role.
    ///
    /// # Errors
    /// The view cannot be read.
    pub fn run_stats(&self) -> Result<RunStats, ViewError> {
        self.read(run_stats)
    }
}

const ROW: &str = "task_id, created_ns, outcome, latency_ms, cost, tokens, retries, complete, violations, rollbacks, restored";

/// What a bundle contributes, as it was read off it.
fn row(row: &rusqlite::Row<'_>) -> Result<Option<(TaskId, u64, Row)>, rusqlite::Error> {
    let task: String = row.get(0)?;
    let created: i64 = row.get(1)?;
    let outcome: String = row.get(2)?;
    let outcome = match outcome.as_str() {
        "solved" => Outcome::Solved,
        "failed" => Outcome::Failed,
        "skipped" => Outcome::Skipped,
        _ => Outcome::Error,
    };
    let contribution = Row {
        outcome,
        latency_ms: row.get(3)?,
        cost_microdollars: row.get(4)?,
        tokens: row.get(5)?,
        retries: row.get(6)?,
        evidence_complete: row.get(7)?,
        violations: row.get(8)?,
        rollbacks: row.get(9)?,
        restored: row.get(10)?,
    };
    Ok(TaskId::parse(&task).map(|task| (task, created.cast_unsigned(), contribution)))
}

fn scorecard(db: &Connection, by: Option<By>) -> Result<Card, rusqlite::Error> {
    let group = by.map_or("''", By::name);
    // By name, as files are read in the order of their paths: the later one breaks a tie.
    let sql = format!("SELECT {ROW}, {group} FROM task WHERE verdict = 'valid' ORDER BY file");
    let mut query = db.prepare_cached(&sql)?;
    let mut rows = query.query([])?;
    let mut collector = Collector::default();
    let mut order = 0;
    while let Some(found) = rows.next()? {
        let group: String = found.get(11)?;
        let group = by.map(|_| if group.is_empty() { "(none)" } else { &group });
        if let Some((task, created, contribution)) = row(found)? {
            collector.add_row(task, (created, order), contribution, true, group);
        }
        order += 1;
    }
    let report = collector.finish();
    let mut counts = Counts {
        verified: report.verified,
        duplicates: report.duplicates,
        ..Counts::default()
    };
    let mut query = db.prepare_cached("SELECT verdict, count(*) FROM task GROUP BY verdict")?;
    let mut rows = query.query([])?;
    while let Some(found) = rows.next()? {
        let (verdict, count): (String, i64) = (found.get(0)?, found.get(1)?);
        counts.files += count.cast_unsigned();
        if verdict != "valid" {
            counts.left_out.insert(verdict, count.cast_unsigned());
        }
    }
    Ok((report, counts))
}

fn curve(db: &Connection, period: Period, of: &Of) -> Result<Vec<Point>, rusqlite::Error> {
    let sql = format!(
        "SELECT {ROW}, identity FROM task WHERE verdict = 'valid'
         AND (?1 IS NULL OR role = ?1) AND (?2 IS NULL OR model = ?2)"
    );
    let mut query = db.prepare_cached(&sql)?;
    let mut rows = query.query([&of.role, &of.model])?;
    let mut attempts = Attempts::default();
    while let Some(found) = rows.next()? {
        let identity: [u8; 16] = found.get(11)?;
        if let Some((task, created, contribution)) = row(found)? {
            attempts.add_row((task, created), Identity(identity), contribution, true);
        }
    }
    Ok(attempts.curve(period))
}

/// What the run log says of one model in one role.
#[derive(Clone, Debug, PartialEq)]
pub struct Tally {
    /// The role.
    pub role: String,
    /// The model.
    pub model: String,
    /// Runs.
    pub runs: u64,
    /// Share that passed.
    pub pass: Rate,
    /// Share that won.
    pub win: Rate,
    /// Mean reward.
    pub reward: f64,
    /// Mean cost.
    pub cost: f64,
    /// Runs that refused at least in part.
    pub refused: u64,
}

/// What the run log adds up to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunStats {
    /// By role, then by model.
    pub models: Vec<Tally>,
    /// Entropy of the winners in bits.
    pub entropy: f64,
    /// Largest share of wins.
    pub largest: f64,
    /// Lines that could not be read.
    pub unreadable: u64,
}

fn run_stats(db: &Connection) -> Result<RunStats, rusqlite::Error> {
    let mut query = db.prepare_cached(
        "SELECT role, model, count(*), sum(passed), sum(won), avg(reward), avg(cost), sum(refused)
         FROM run GROUP BY role, model ORDER BY role, model",
    )?;
    let number = |row: &rusqlite::Row<'_>, column| {
        Ok::<_, rusqlite::Error>(row.get::<_, i64>(column)?.cast_unsigned())
    };
    let rows = query.query_map([], |row| {
        let runs = number(row, 2)?;
        Ok(Tally {
            role: row.get(0)?,
            model: row.get(1)?,
            runs,
            pass: rate(number(row, 3)?, runs),
            win: rate(number(row, 4)?, runs),
            reward: row.get(5)?,
            cost: row.get(6)?,
            refused: number(row, 7)?,
        })
    })?;
    let models: Vec<Tally> = rows.collect::<Result<_, _>>()?;
    let mut wins: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    for tally in &models {
        *wins.entry((&tally.role, &tally.model)).or_default() += tally.win.hits;
    }
    let (entropy, largest) = spread(&wins.values().copied().collect::<Vec<_>>());
    let unreadable: i64 = db.query_row(
        "SELECT ifnull(sum(damaged), 0) FROM source WHERE kind = 'runs'",
        [],
        |row| row.get(0),
    )?;
    Ok(RunStats {
        models,
        entropy,
        largest,
        unreadable: unreadable.cast_unsigned(),
    })
}
