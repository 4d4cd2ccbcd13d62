//! Scorecard, curve and run statistics from the view. The arithmetic is that of `witness` and `selection`; this
//! module only supplies the values that were read from the bundles. Sums over bundles are kept until a bundle is
//! added or removed; the process that updates the view computes the sums of the first pages, so that no reader waits
//! for a hundred thousand rows.

use statistics::rate::{Rate, rate, spread};
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard, PoisonError};

use evidence::score::Counts;
use evidence::store::audit::Audit;
use rusqlite::Connection;
use witness::cost::Cost;
use witness::curve::{Attempts, Identity, Period, Point};
use witness::scorecard::{Age, Collector, Filter, Report, Row};
use witness::wire::{Outcome, TaskId};

use super::list::{TaskColumn, values};
use super::{View, ViewError};

/// Grouping of a scorecard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum By {
    Role,
    Model,
    /// The governance mode.
    Mode,
    /// The calendar week.
    Week,
    /// The calendar day.
    Day,
    /// The program of the agent.
    Agent,
    /// The suite of the task.
    Suite,
}

impl By {
    /// Returns the name of the column, which is also the word of the API.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Role => "role",
            Self::Model => "model",
            Self::Mode => "mode",
            Self::Week => "week",
            Self::Day => "day",
            Self::Agent => "agent",
            Self::Suite => "suite",
        }
    }
}

/// A scorecard, with the counts of everything besides the counted tasks.
pub type Card = (Report, Counts);

/// Cached sums, with the state of the view that they belong to.
#[derive(Debug, Default)]
pub(super) struct Sums {
    generation: u64,
    audit: Option<Arc<Audit>>,
    cards: HashMap<(Option<By>, Filter), Arc<Card>>,
    curves: HashMap<(Filter, bool), Arc<Vec<Point>>>,
    values: HashMap<TaskColumn, Arc<Counted>>,
    outcomes: Option<Arc<Vec<Outcomes>>>,
}

/// The values of a column with their counts, by name.
pub type Counted = Vec<(String, u64)>;

/// Cached statistics of the run log, with the state of the log that they belong to.
#[derive(Debug, Default)]
pub(super) struct Runs {
    state: String,
    stats: Option<Arc<RunStats>>,
}

/// Limit of cached curves and of cached scorecards; further ones are computed each time.
const MAX_KEPT: usize = 64;

impl View {
    /// Returns the scorecard over verified bundles, the newest per task.
    pub fn scorecard(&self, by: Option<By>, of: &Filter) -> Result<Arc<Card>, ViewError> {
        let key = (by, of.clone());
        if let Some(known) = self.sums().cards.get(&key) {
            return Ok(Arc::clone(known));
        }
        let generation = self.generation.load(Ordering::Relaxed);
        let card = Arc::new(self.read(|db| scorecard(db, by, of))?);
        let mut sums = self.sums();
        if sums.generation == generation && sums.cards.len() < MAX_KEPT {
            sums.cards.insert(key, Arc::clone(&card));
        }
        Ok(card)
    }

    /// Returns the comparison of bundles and ledger, if it was made since the last change of bundles.
    #[must_use]
    pub fn known_audit(&self) -> Option<Arc<Audit>> {
        self.sums().audit.clone()
    }

    pub(super) fn keep_audit(&self, audit: &Arc<Audit>) {
        self.sums().audit = Some(Arc::clone(audit));
    }

    /// Returns the cost-to-outcome curve over verified bundles.
    pub fn curve(&self, period: Period, of: &Filter) -> Result<Arc<Vec<Point>>, ViewError> {
        let key = (of.clone(), period == Period::Day);
        if let Some(known) = self.sums().curves.get(&key) {
            return Ok(Arc::clone(known));
        }
        let generation = self.generation.load(Ordering::Relaxed);
        let curve = Arc::new(self.read(|db| curve(db, period, of))?);
        let mut sums = self.sums();
        if sums.generation == generation && sums.curves.len() < MAX_KEPT {
            sums.curves.insert(key, Arc::clone(&curve));
        }
        Ok(curve)
    }

    /// Returns the values of a column of the bundles with their counts, by name.
    pub fn task_values(&self, column: TaskColumn) -> Result<Arc<Counted>, ViewError> {
        if let Some(known) = self.sums().values.get(&column) {
            return Ok(Arc::clone(known));
        }
        let generation = self.generation.load(Ordering::Relaxed);
        let counted = Arc::new(self.read(|db| values(db, column))?);
        let mut sums = self.sums();
        if sums.generation == generation {
            sums.values.insert(column, Arc::clone(&counted));
        }
        Ok(counted)
    }

    /// Returns the outcomes of each model in each role, the most frequent first, over verified bundles.
    pub fn outcomes(&self) -> Result<Arc<Vec<Outcomes>>, ViewError> {
        if let Some(known) = &self.sums().outcomes {
            return Ok(Arc::clone(known));
        }
        let generation = self.generation.load(Ordering::Relaxed);
        let outcomes = Arc::new(self.read(outcomes)?);
        let mut sums = self.sums();
        if sums.generation == generation {
            sums.outcomes = Some(Arc::clone(&outcomes));
        }
        Ok(outcomes)
    }

    /// Computes the sums of the first pages. Until they are ready, readers get the earlier ones.
    pub(super) fn renew_sums(&self, audit: Audit) -> Result<(), ViewError> {
        let all = Filter::default();
        let mut fresh = self.read(|db| {
            let values = TaskColumn::ALL.into_iter().map(|column| {
                let counted = values(db, column)?;
                Ok::<_, rusqlite::Error>((column, Arc::new(counted)))
            });
            Ok(Sums {
                generation: 0,
                audit: Some(Arc::new(audit)),
                cards: HashMap::from([((None, all.clone()), Arc::new(scorecard(db, None, &all)?))]),
                curves: HashMap::from([(
                    (all.clone(), false),
                    Arc::new(curve(db, Period::Week, &all)?),
                )]),
                values: values.collect::<Result<_, _>>()?,
                outcomes: Some(Arc::new(outcomes(db)?)),
            })
        })?;
        fresh.generation = self.generation.fetch_add(1, Ordering::Relaxed) + 1;
        *self.sums.lock().unwrap_or_else(PoisonError::into_inner) = fresh;
        Ok(())
    }

    /// Returns the cached sums, emptied if bundles were added or removed since.
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

    /// Returns the statistics of the run log for every model in every role.
    pub fn run_stats(&self) -> Result<Arc<RunStats>, ViewError> {
        if let Some(known) = &self.known_runs().stats {
            return Ok(Arc::clone(known));
        }
        self.renew_runs()
    }

    /// Sums the run log, if it has changed. Until that is done, readers get the earlier statistics.
    pub(super) fn renew_runs(&self) -> Result<Arc<RunStats>, ViewError> {
        let (state, stats) = self.read(|db| {
            let state: String = db.query_row(
                "SELECT ifnull(group_concat(id || ' ' || offset || ' ' || hex(mark), ','), '')
                 FROM source WHERE kind = 'runs'",
                [],
                |row| row.get(0),
            )?;
            let runs = self.known_runs();
            let known = runs.stats.as_ref().filter(|_| runs.state == state).cloned();
            drop(runs);
            match known {
                Some(known) => Ok((state, known)),
                None => Ok((state, Arc::new(run_stats(db)?))),
            }
        })?;
        let mut runs = self.known_runs();
        runs.state = state;
        runs.stats = Some(Arc::clone(&stats));
        Ok(stats)
    }

    fn known_runs(&self) -> MutexGuard<'_, Runs> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

const ROW: &str = "task_id, created_ns, outcome, latency_ms, cost, tokens, retries, complete, violations, rollbacks, restored, cost_known, \
    corrected, policy_known, policy, is_task, by_agent, signature, id";
/// Index of the column behind those of [`ROW`].
const NEXT_COLUMN: usize = 19;

/// Returns the contribution of a bundle, as it was read. `leaves` are the ledger positions of those that share task
/// and time.
fn row(
    row: &rusqlite::Row<'_>,
    leaves: &HashMap<i64, Option<u64>>,
) -> Result<Option<(TaskId, Age, Row)>, rusqlite::Error> {
    let task = TaskId::parse(row.get_ref(0)?.as_str()?);
    let age = Age {
        created_ns: row.get::<_, i64>(1)?.cast_unsigned(),
        leaf: leaves.get(&row.get(18)?).copied().flatten(),
        signature: row.get::<_, i64>(17)?.cast_unsigned(),
    };
    let outcome = match row.get_ref(2)?.as_str()? {
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
        cost_known: row.get(11)?,
        is_corrected: row.get(12)?,
        policy_known: row.get(13)?,
        policy_hash: row.get(14)?,
        is_task: row.get(15)?,
        by_agent: row.get(16)?,
    };
    Ok(task.map(|task| (task, age, contribution)))
}

/// Returns the ledger positions of bundles that share their task and their time; the later one breaks the tie.
fn ties(db: &Connection) -> Result<HashMap<i64, Option<u64>>, rusqlite::Error> {
    let mut query = db.prepare_cached(
        "SELECT task.id, (SELECT max(line) FROM leaf WHERE leaf.task_id = task.task_id AND leaf.sha256 = task.sha256)
         FROM task JOIN (
             SELECT task_id, created_ns FROM task WHERE task_id != ''
             GROUP BY task_id, created_ns HAVING count(*) > 1
         ) double ON task.task_id = double.task_id AND task.created_ns = double.created_ns",
    )?;
    let rows = query.query_map([], |row| {
        let line: Option<i64> = row.get(1)?;
        Ok((row.get(0)?, line.map(i64::cast_unsigned)))
    })?;
    rows.collect()
}

/// Prepares the statement over the bundles of a filter, with its conditions bound.
fn of_filter<'db>(
    db: &'db Connection,
    column: &str,
    of: &Filter,
) -> Result<rusqlite::CachedStatement<'db>, rusqlite::Error> {
    let time = |ns: u64| i64::try_from(ns).unwrap_or(i64::MAX);
    let texts = [
        ("role = :role", ":role", &of.role),
        ("model = :model", ":model", &of.model),
        ("suite = :suite", ":suite", &of.suite),
    ];
    let times = [
        ("created_ns >= :since", ":since", of.since_ns),
        ("created_ns < :until", ":until", of.until_ns),
    ];
    // The plus keeps SQLite from looking up nearly every row through an index.
    let mut sql = format!("SELECT {ROW}, {column} FROM task WHERE +verdict = 'valid'");
    let of_texts = texts.iter().filter(|one| one.2.is_some()).map(|one| one.0);
    let of_times = times.iter().filter(|one| one.2.is_some()).map(|one| one.0);
    // Only the requested conditions, so that the index of a role or a model can be used.
    for condition in of_texts.chain(of_times) {
        sql.push_str(" AND ");
        sql.push_str(condition);
    }
    let mut query = db.prepare_cached(&sql)?;
    for (_, name, value) in texts {
        if let Some(place) = query.parameter_index(name)? {
            query.raw_bind_parameter(place, value)?;
        }
    }
    for (_, name, value) in times {
        if let Some(place) = query.parameter_index(name)? {
            query.raw_bind_parameter(place, value.map(time))?;
        }
    }
    Ok(query)
}

fn scorecard(db: &Connection, by: Option<By>, of: &Filter) -> Result<Card, rusqlite::Error> {
    let ties = ties(db)?;
    let mut query = of_filter(db, by.map_or("''", By::name), of)?;
    let mut rows = query.raw_query();
    let mut collector = Collector::default();
    while let Some(found) = rows.next()? {
        let group = match found.get_ref(NEXT_COLUMN)?.as_str()? {
            "" => "(none)",
            group => group,
        };
        if let Some((task, age, contribution)) = row(found, &ties)? {
            let group = by.map(|_| group);
            collector.add_row(task, age, contribution, true, group);
        }
    }
    let report = collector.finish();
    let mut counts = Counts::default();
    counts.take_from(&report);
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

fn curve(db: &Connection, period: Period, of: &Filter) -> Result<Vec<Point>, rusqlite::Error> {
    let ties = ties(db)?;
    let mut query = of_filter(db, "identity", of)?;
    let mut rows = query.raw_query();
    let mut attempts = Attempts::default();
    while let Some(found) = rows.next()? {
        let identity: [u8; 16] = found.get(NEXT_COLUMN)?;
        if let Some((task, age, contribution)) = row(found, &ties)? {
            attempts.add_row(task, age, Identity(identity), contribution, true);
        }
    }
    Ok(attempts.curve(period))
}

/// Outcomes of one model in one role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcomes {
    pub role: String,
    pub model: String,
    /// Number of attempts.
    pub tasks: u64,
    /// Number of attempts that solved the task.
    pub solved: u64,
    pub cost: Cost,
}

fn outcomes(db: &Connection) -> Result<Vec<Outcomes>, rusqlite::Error> {
    let mut query = db.prepare_cached(
        "SELECT role, model, count(*), sum(outcome = 'solved'), sum(cost), sum(cost * cost_known),
             sum(cost_known AND outcome = 'solved'), sum(NOT cost_known)
         FROM task NOT INDEXED
         WHERE verdict = 'valid' AND is_task AND NOT by_agent GROUP BY role, model ORDER BY count(*) DESC, role, model",
    )?;
    let number = |row: &rusqlite::Row<'_>, column| {
        Ok::<_, rusqlite::Error>(row.get::<_, i64>(column)?.cast_unsigned())
    };
    let rows = query.query_map([], |row| {
        Ok(Outcomes {
            role: row.get(0)?,
            model: row.get(1)?,
            tasks: number(row, 2)?,
            solved: number(row, 3)?,
            cost: Cost {
                stated: number(row, 4)?,
                known: number(row, 5)?,
                known_solved: number(row, 6)?,
                unknown_tasks: number(row, 7)?,
            },
        })
    })?;
    rows.collect()
}

/// Statistics of one model in one role from the run log.
#[derive(Clone, Debug, PartialEq)]
pub struct Tally {
    pub role: String,
    pub model: String,
    pub runs: u64,
    /// Share of passed runs.
    pub pass: Rate,
    /// Share of won runs.
    pub win: Rate,
    /// Mean reward.
    pub reward: f64,
    /// Mean cost.
    pub cost: f64,
    /// Number of runs that refused at least in part.
    pub refused: u64,
}

/// Statistics of the run log.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunStats {
    /// Statistics by role, then by model.
    pub models: Vec<Tally>,
    /// Entropy of the winners in bits.
    pub entropy: f64,
    /// Largest share of wins.
    pub largest: f64,
    /// Number of lines that could not be parsed.
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
