//! All attempts at the exams of a role: in the records, and if only sealed evidence counts, also in the user's trust
//! store, so that removing or restoring a record hides none.

use std::path::Path;

use selection::audit::record::{Attempt, bound};
use serde_json::json;

use base::clock;
use base::files::FileError;
use base::seals::Seals;

/// The attempts of the same weights behind the same backend, oldest first.
#[derive(Debug)]
pub struct Attempts<'a> {
    seals: &'a Seals,
    name: String,
    list: Vec<Attempt>,
}

impl<'a> Attempts<'a> {
    /// Reads the attempts of one [`specialist::registry::Entry::identity`], and older ones of the version.
    #[must_use]
    pub fn of(
        seals: &'a Seals,
        records: &Path,
        (role, version, identity): (&str, &str, &str),
    ) -> Self {
        let name = json!(["attempts", role, identity]).to_string();
        let mut list: Vec<Attempt> = seals.head(&name).ok().flatten().unwrap_or_default();
        for (_, record) in super::all(records) {
            if record.role != role || super::check(seals, &record).is_err() {
                continue;
            }
            let is_new = |one: &Attempt| {
                let is_meant = one.subject.as_deref() == Some(identity);
                is_meant
                    && !list.iter().any(|known| {
                        known.finished_at == one.finished_at
                            && known.exam_hash == one.exam_hash
                            && known.version == one.version
                    })
            };
            let untold = record.untold_attempt();
            let new: Vec<Attempt> = record.attempts.into_iter().filter(is_new).collect();
            list.extend(new);
            list.extend(untold.filter(|one| one.version == version));
        }
        list.sort_by_cached_key(|one| clock::parse(&one.finished_at));
        Self { seals, name, list }
    }

    /// Adds an attempt, finished or interrupted; one without answers is not added.
    ///
    /// # Errors
    /// The trust store cannot be written.
    pub fn add(&mut self, attempt: Attempt) -> Result<(), FileError> {
        if attempt.total == 0 && attempt.passed.is_none() {
            return Ok(());
        }
        self.list.push(attempt);
        bound(&mut self.list);
        self.seals.set_head(&self.name, &self.list)
    }

    /// Returns the attempts so far.
    #[must_use]
    pub fn so_far(&self) -> &[Attempt] {
        &self.list
    }

    /// Returns the newest attempt with a known result.
    #[must_use]
    pub fn newest(&self) -> Option<&Attempt> {
        self.list.iter().rfind(|one| one.passed.is_some())
    }
}
