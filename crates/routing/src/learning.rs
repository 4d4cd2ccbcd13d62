//! Learning from traffic: progress, last training of the selector, and today's cost.
//!
//! `.role-os/learning.json` is for people and pages; the training data is the run log.

use std::io;
use std::path::PathBuf;

use selection::selector::Book;
use serde::{Deserialize, Serialize};

use crate::selector::{self, SelectorError};
use crate::specialists::spending::{MicroUsd, Spending};
use base::config::Config;
use base::files::{self, FileError, Lock};
use base::workspace::Workspace;

/// Largest file that is read.
const MAX_FILE: u64 = 1 << 20;

/// Progress of learning.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Learning {
    /// Contests that `up` held for learning.
    pub contests: u64,
    /// Contests since the last training, those of probes included.
    pub since_training: u64,
    /// The last training.
    pub last: Option<Training>,
}

/// One training.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Training {
    /// Time of the training.
    pub ts: String,
    /// Contests in the training data.
    pub contests: u64,
    /// Set if the new selector is in use.
    pub taken: bool,
    /// Reason, if it is not in use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// Returns the path of the file.
#[must_use]
pub fn path(workspace: &Workspace) -> PathBuf {
    workspace.role_os_dir().join("learning.json")
}

/// Returns the day's budget.
#[must_use]
pub fn budget(workspace: &Workspace, config: &Config) -> Spending {
    let most = config.selection.learn_budget_usd.micro();
    Spending::of_learning(&workspace.role_os_dir(), most)
}

/// Reads the progress; empty if there is no readable file.
#[must_use]
pub fn read(workspace: &Workspace) -> Learning {
    let bytes = files::read(&path(workspace), MAX_FILE).unwrap_or_default();
    serde_json::from_slice(&bytes).unwrap_or_default()
}

/// Changes the progress under a lock, and returns the new one.
///
/// # Errors
/// The file cannot be locked or written.
pub fn change(
    workspace: &Workspace,
    change: impl FnOnce(&mut Learning),
) -> Result<Learning, FileError> {
    let path = path(workspace);
    let _alone = Lock::beside(&path)?;
    let mut learning = read(workspace);
    change(&mut learning);
    let text = serde_json::to_string(&learning).unwrap_or_default();
    files::write_quickly(&path, text.as_bytes())?;
    Ok(learning)
}

/// Trains the selector on all logged data, and uses the new one if it is not worse on the held-out data.
///
/// # Errors
/// The progress cannot be written.
pub fn train(workspace: &Workspace, now: &str) -> Result<Training, FileError> {
    let (contests, result) = match selector::lessons_of(workspace) {
        Ok(lessons) => {
            let book = Book::train(&lessons.roles);
            let placed = selector::replace(workspace, &book, &lessons, false);
            (
                lessons.contests,
                placed.map(drop).map_err(|error| error.to_string()),
            )
        }
        Err(SelectorError::File(error)) if error.source.kind() == io::ErrorKind::NotFound => {
            (0, Err("there is no run log yet".to_owned()))
        }
        Err(SelectorError::File(error)) => (0, Err(format!("{error}: {}", error.source))),
        Err(error) => (0, Err(error.to_string())),
    };
    let training = Training {
        ts: now.to_owned(),
        contests,
        taken: result.is_ok(),
        why: result.err(),
    };
    let last = training.clone();
    change(workspace, |learning| {
        learning.since_training = 0;
        learning.last = Some(last);
    })?;
    Ok(training)
}

/// Progress of learning with the day's budget, for `status`, the metrics and the pages.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Shown {
    /// Share of the dispatches used for learning.
    pub share: f64,
    /// The progress.
    #[serde(flatten)]
    pub learning: Learning,
    /// New contests after which the selector is trained again.
    pub train_after: u64,
    /// Amount spent today.
    pub spent_usd: f64,
    /// The day's budget.
    pub budget_usd: f64,
}

impl Shown {
    /// Reads the files.
    #[must_use]
    pub fn of(workspace: &Workspace, config: &Config) -> Self {
        let set = &config.selection;
        Self {
            share: set.learn_share.get(),
            learning: read(workspace),
            train_after: set.learn_contests.get(),
            spent_usd: usd(budget(workspace, config).today().unwrap_or(0)),
            budget_usd: set.learn_budget_usd.get(),
        }
    }

    /// Reads the files; `None` if learning is off and was never on.
    #[must_use]
    pub fn if_used(workspace: &Workspace, config: &Config) -> Option<Self> {
        let shown = Self::of(workspace, config);
        (shown.share > 0.0 || shown.learning != Learning::default()).then_some(shown)
    }

    /// Returns one sentence.
    #[must_use]
    pub fn sentence(&self) -> String {
        let Learning {
            contests,
            since_training,
            last,
        } = &self.learning;
        let last = match last {
            None => "never trained".to_owned(),
            Some(one) if one.taken => format!("trained {} on {} contests", one.ts, one.contests),
            Some(one) => format!(
                "trained {} and not taken: {}",
                one.ts,
                one.why.as_deref().unwrap_or("unknown")
            ),
        };
        format!(
            "learning from {} % of the traffic: {contests} contests, {since_training} since the last training (next after {}); \
             {last}; ${:.2} of ${:.2} spent today",
            self.share * 100.0,
            self.train_after,
            self.spent_usd,
            self.budget_usd
        )
    }
}

#[expect(clippy::cast_precision_loss, reason = "a day's money")]
fn usd(amount: MicroUsd) -> f64 {
    amount as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_is_counted_and_a_training_without_a_log_says_so() {
        let guard = tempfile::tempdir().unwrap();
        let workspace = Workspace::at(guard.path()).unwrap();
        files::make_directory(&workspace.role_os_dir(), files::Privacy::Shared).unwrap();
        assert_eq!(read(&workspace), Learning::default());
        for number in 1..=3 {
            let now = change(&workspace, |learning| {
                learning.contests += 1;
                learning.since_training += 1;
            });
            assert_eq!(now.unwrap().since_training, number);
        }
        let training = train(&workspace, "2026-09-03T10:00:00Z").unwrap();
        assert_eq!((training.taken, training.contests), (false, 0));
        let known = read(&workspace);
        assert_eq!((known.contests, known.since_training), (3, 0));
        let shown = Shown::of(&workspace, &Config::default()).sentence();
        assert!(
            shown.contains("3 contests") && shown.contains("$0.00 of $5.00"),
            "{shown}"
        );
        files::write_quickly(&path(&workspace), b"{").unwrap();
        assert_eq!(read(&workspace), Learning::default());
    }
}
