//! Today's cost of the general model, in a small file that every process of the workspace shares.
//!
//! The largest possible cost of a call is reserved before it is made and corrected afterwards, so that concurrent calls
//! do not exceed the cap.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{MAX_FILE, lock, read_or_nothing};
use base::clock;
use base::files::{self, FileError};

/// Money in millionths of a US dollar.
pub type MicroUsd = u64;

/// A day's spending and its cap.
#[derive(Clone, Debug)]
pub struct Spending {
    path: PathBuf,
    cap: Option<MicroUsd>,
}

/// Reason why a call may not be paid.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SpendingError {
    /// The day's cap is reached.
    #[error(
        "the day's spending cap of {cap} millionths of a dollar does not cover this call: {spent} are spent"
    )]
    Cap {
        cap: MicroUsd,
        /// Amount spent or reserved.
        spent: MicroUsd,
    },
    /// The amount spent cannot be read, so nothing may be spent.
    #[error(transparent)]
    File(#[from] FileError),
    /// The file is damaged.
    #[error("`{}` does not say what was spent", .0.display())]
    Damaged(PathBuf),
}

impl Spending {
    /// Creates the spending. Without a cap, nothing is counted.
    #[must_use]
    pub fn new(folder: &Path, cap: Option<MicroUsd>) -> Self {
        Self {
            path: folder.join("fallback-spending.json"),
            cap,
        }
    }

    /// Returns the spending of learning contests; `cap` is the day's budget.
    #[must_use]
    pub fn of_learning(folder: &Path, cap: MicroUsd) -> Self {
        Self {
            path: folder.join("learning-spending.json"),
            cap: Some(cap),
        }
    }

    /// Returns the amount spent or reserved today.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn today(&self) -> Result<MicroUsd, SpendingError> {
        self.spent()
    }

    /// Reserves an amount.
    ///
    /// # Errors
    /// The cap does not cover it, or the amount spent cannot be read.
    pub fn reserve(&self, amount: MicroUsd) -> Result<(), SpendingError> {
        let Some(cap) = self.cap else {
            return Ok(());
        };
        let _lock = lock(&self.path)?;
        let spent = self.spent()?;
        if spent.saturating_add(amount) > cap {
            return Err(SpendingError::Cap { cap, spent });
        }
        self.write(spent.saturating_add(amount))
    }

    /// Replaces a reserved amount by the actual cost.
    ///
    /// # Errors
    /// It cannot be written; the larger sum stays.
    pub fn settle(&self, reserved: MicroUsd, actual: MicroUsd) -> Result<(), SpendingError> {
        if self.cap.is_none() {
            return Ok(());
        }
        let _lock = lock(&self.path)?;
        let spent = self.spent()?;
        self.write(spent.saturating_sub(reserved).saturating_add(actual))
    }

    fn spent(&self) -> Result<MicroUsd, SpendingError> {
        let Some(bytes) = read_or_nothing(&self.path, MAX_FILE)? else {
            return Ok(0);
        };
        let value: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        let day = value.get("day").and_then(Value::as_str);
        let spent = value.get("micro_usd").and_then(Value::as_u64);
        match (day, spent) {
            (Some(day), Some(spent)) if day == today() => Ok(spent),
            (Some(_), Some(_)) => Ok(0),
            _ => Err(SpendingError::Damaged(self.path.clone())),
        }
    }

    fn write(&self, spent: MicroUsd) -> Result<(), SpendingError> {
        let value = json!({ "day": today(), "micro_usd": spent });
        files::write_quickly(&self.path, value.to_string().as_bytes())?;
        Ok(())
    }
}

/// Returns the date, in UTC.
fn today() -> String {
    let now = clock::text(clock::now_ns());
    now.chars().take(10).collect()
}
