//! Statistics of a log: read in pieces by one thread per core, joined in the log's order, so that the sums are the same
//! on every machine.

use statistics::rate::{Rate, rate, spread};
use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use selection::run_log::MAX_LINE;
use selection::run_log::brief::Brief;

use super::lines_of;
use base::files::{self, Action, FileError};

/// Bytes that one thread reads at a time.
const PIECE: u64 = 16 * 1024 * 1024;

/// Figures of one model in one role.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tally {
    /// Number of runs.
    pub runs: u64,
    /// Runs that passed.
    pub passed: u64,
    /// Contests won.
    pub won: u64,
    /// Runs that refused at least partly.
    pub refused: u64,
    reward: f64,
    cost: f64,
}

impl Tally {
    /// Returns share of runs that passed.
    #[must_use]
    pub fn pass_rate(&self) -> Rate {
        rate(self.passed, self.runs)
    }

    /// Returns share of runs that won.
    #[must_use]
    pub fn win_rate(&self) -> Rate {
        rate(self.won, self.runs)
    }

    /// Returns mean reward.
    #[must_use]
    pub fn mean_reward(&self) -> f64 {
        mean(self.reward, self.runs)
    }

    /// Returns mean cost.
    #[must_use]
    pub fn mean_cost(&self) -> f64 {
        mean(self.cost, self.runs)
    }

    fn add(&mut self, record: &Brief<'_>) {
        self.runs += 1;
        self.passed += u64::from(record.passed());
        self.won += u64::from(record.won());
        self.refused += u64::from(record.refusal_penalty > 0.0);
        self.reward += record.reward;
        self.cost += record.cost;
    }

    fn join(&mut self, later: &Self) {
        self.runs += later.runs;
        self.passed += later.passed;
        self.won += later.won;
        self.refused += later.refused;
        self.reward += later.reward;
        self.cost += later.cost;
    }
}

#[expect(clippy::cast_precision_loss, reason = "a count of log lines")]
fn mean(sum: f64, count: u64) -> f64 {
    if count == 0 { 0.0 } else { sum / count as f64 }
}

/// Statistics of a log.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stats {
    /// By role, then by model.
    pub models: BTreeMap<(String, String), Tally>,
    /// Unreadable lines.
    pub unreadable: u64,
}

impl Stats {
    /// Returns the entropy of the winners in bits, and the largest share of wins.
    #[must_use]
    pub fn winners(&self) -> (f64, f64) {
        let wins: Vec<u64> = self.models.values().map(|tally| tally.won).collect();
        spread(&wins)
    }

    fn join(&mut self, later: Self) {
        self.unreadable += later.unreadable;
        for (key, tally) in later.models {
            self.models.entry(key).or_default().join(&tally);
        }
    }
}

/// Computes the statistics of a log; memory grows with the number of models, not of lines.
///
/// # Errors
/// The file cannot be read.
pub fn stats(path: &Path) -> Result<Stats, FileError> {
    in_pieces(path, PIECE).map_err(|source| FileError::new(Action::Read, path, source))
}

fn in_pieces(path: &Path, piece: u64) -> io::Result<Stats> {
    let pieces = files::metadata(path)?.len().div_ceil(piece).max(1);
    let threads = thread::available_parallelism().map_or(1, usize::from) as u64;
    let next = AtomicU64::new(0);
    let done: Mutex<BTreeMap<u64, io::Result<Stats>>> = Mutex::default();
    thread::scope(|scope| {
        let work = || {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= pieces {
                    return;
                }
                let start = number * piece;
                // The last piece extends to the end, also if the log has grown meanwhile.
                let end = if number + 1 == pieces {
                    u64::MAX
                } else {
                    start + piece
                };
                let added = piece_of(path, start..end);
                if let Ok(mut done) = done.lock() {
                    done.insert(number, added);
                }
            }
        };
        // If no thread can be spawned, this one does all the work.
        for _ in 1..threads.min(pieces) {
            thread::Builder::new().spawn_scoped(scope, work).ok();
        }
        work();
    });
    let mut all = Stats::default();
    let done = done.into_inner().unwrap_or_default();
    if done.len() as u64 != pieces {
        return Err(io::Error::other("a thread did not finish"));
    }
    for added in done.into_values() {
        all.join(added?);
    }
    Ok(all)
}

fn piece_of(path: &Path, stretch: Range<u64>) -> io::Result<Stats> {
    let mut stats = Stats::default();
    let mut roles: BTreeMap<String, BTreeMap<String, Tally>> = BTreeMap::new();
    lines_of(path, MAX_LINE, stretch, |line| match Brief::parse(line) {
        Some(record) => {
            let role = record.role.as_deref().unwrap_or_default();
            // Most lines have a known role and model; only a new name is copied.
            let known = roles
                .get_mut(role)
                .and_then(|models| models.get_mut(&*record.model_id));
            match known {
                Some(tally) => tally.add(&record),
                None => roles
                    .entry(role.to_owned())
                    .or_default()
                    .entry(record.model_id.to_string())
                    .or_default()
                    .add(&record),
            }
        }
        None => stats.unreadable += 1,
    })?;
    let named = roles.into_iter().flat_map(|(role, models)| {
        let named = models.into_iter();
        named.map(move |(model, tally)| ((role.clone(), model), tally))
    });
    stats.models = named.collect();
    Ok(stats)
}

#[cfg(test)]
mod tests {
    use base::seals::Seals;

    use super::super::append;
    use super::super::tests::contest;
    use super::*;

    #[test]
    fn pieces_of_any_size_add_up_to_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run_log.jsonl");
        for number in 0..40 {
            append(
                &Seals::default(),
                &path,
                contest(&number.to_string(), "learn"),
            )
            .unwrap();
        }
        // A line that is not a run, and one that is too long.
        let long = format!("no line\n\"{}\"\n", "x".repeat(MAX_LINE + 10));
        base::files::append(&path, long.as_bytes()).unwrap();
        append(&Seals::default(), &path, contest("last", "learn")).unwrap();
        let whole = in_pieces(&path, u64::MAX).unwrap();
        assert_eq!(whole.unreadable, 2);
        let counts = |stats: &Stats| -> Vec<(u64, u64, u64)> {
            let tallies = stats.models.values();
            tallies
                .map(|tally| (tally.runs, tally.passed, tally.won))
                .collect()
        };
        assert_eq!(counts(&whole), [(41, 41, 41), (41, 0, 0)]);
        for piece in [1, 7, 100, 701, 5000, 65_536] {
            let pieces = in_pieces(&path, piece).unwrap();
            assert_eq!(counts(&pieces), counts(&whole), "{piece}");
            assert_eq!(pieces.unreadable, whole.unreadable, "{piece}");
        }
    }
}
