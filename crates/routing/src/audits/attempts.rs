//! Every time that a version took an exam: in the record, and where only sealed evidence counts also in the user's trust
//! store, so that a record that is removed or put back hides none.

use std::path::Path;

use selection::audit::record::Attempt;
use serde_json::json;

use base::files::FileError;
use base::seals::Seals;

/// The attempts of one version at one exam.
#[derive(Debug)]
pub struct Attempts<'a> {
    seals: &'a Seals,
    name: String,
    list: Vec<Attempt>,
}

impl<'a> Attempts<'a> {
    /// Reads those before the next one, which will have its record at this path.
    #[must_use]
    pub fn of(
        seals: &'a Seals,
        record: &Path,
        (role, version, exam_hash): (&str, &str, &str),
    ) -> Self {
        let name = json!(["attempts", role, version, exam_hash]).to_string();
        let kept = match seals.is_enforced() {
            true => seals.head(&name).ok().flatten(),
            false => None,
        };
        let of_record = || {
            let record = super::read(record).ok();
            let counts = record.filter(|record| super::check(seals, record).is_ok());
            counts.map(|record| record.all_attempts())
        };
        Self {
            seals,
            name,
            list: kept.or_else(of_record).unwrap_or_default(),
        }
    }

    /// Adds one that was broken off; where nothing was answered there was none.
    ///
    /// # Errors
    /// The trust store cannot be written.
    pub fn add(&mut self, attempt: Attempt) -> Result<(), FileError> {
        if attempt.total == 0 {
            return Ok(());
        }
        self.list.push(attempt);
        self.seals.set_head(&self.name, &self.list)
    }

    /// Ends with one that is in a record behind these.
    ///
    /// # Errors
    /// The trust store cannot be written.
    pub fn finish(self, all: &[Attempt]) -> Result<(), FileError> {
        self.seals.set_head(&self.name, &all)
    }

    /// Returns those so far.
    #[must_use]
    pub fn so_far(&self) -> Vec<Attempt> {
        self.list.clone()
    }
}
