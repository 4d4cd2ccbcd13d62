//! Every time that a version took an exam. Whoever takes one often enough passes it by chance, so the attempts count
//! together, as long as the same version was asked the same questions.

use serde::{Deserialize, Serialize};
use statistics::rate::{Rate, rate};

use super::record::passes;
use super::{AuditRecord, Given};

/// One time that an exam was taken, or broken off and begun anew.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    /// When, RFC 3339 in UTC.
    pub finished_at: String,
    /// Hash of what answered.
    pub subject: Option<String>,
    /// Graded cases that were right, each input once.
    pub right: u64,
    /// Graded cases that were answered at all.
    pub total: u64,
}

impl Attempt {
    /// Counts answers. A case without an answer is left out: it fails its exam, and shows nothing about the next.
    #[must_use]
    pub fn of(answers: &[Given], subject: Option<String>, finished_at: &str) -> Self {
        let counted = answers
            .iter()
            .filter(|given| given.is_proof() && !given.output.is_null());
        Self {
            finished_at: finished_at.to_owned(),
            subject,
            right: counted.clone().filter(|given| given.passed()).count() as u64,
            total: counted.count() as u64,
        }
    }
}

/// Attempts of one subject, taken together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pooled {
    /// How many attempts.
    pub attempts: usize,
    /// Their answers.
    pub right: Rate,
}

impl Pooled {
    /// Adds those up that the same subject made.
    #[must_use]
    pub fn of(attempts: &[Attempt], subject: Option<&String>) -> Self {
        let same = attempts
            .iter()
            .filter(|attempt| attempt.subject.as_ref() == subject);
        let sum = |count: fn(&Attempt) -> u64| same.clone().map(count).sum();
        Self {
            attempts: same.clone().count(),
            right: rate(sum(|one| one.right), sum(|one| one.total)),
        }
    }

    /// Says how many there were and what they came to.
    #[must_use]
    pub fn said(&self) -> String {
        let attempts = match self.attempts {
            1 => "1 attempt".to_owned(),
            many => format!("{many} attempts"),
        };
        format!("{attempts}, {} of {} right", self.right.hits, self.right.n)
    }
}

impl AuditRecord {
    /// Puts it behind earlier attempts at the same exam.
    #[must_use]
    pub fn after(mut self, mut earlier: Vec<Attempt>) -> Self {
        earlier.push(self.attempt());
        self.attempts = earlier;
        self
    }

    /// Returns every attempt, this one last.
    #[must_use]
    pub fn all_attempts(&self) -> Vec<Attempt> {
        match self.attempts.is_empty() {
            true => vec![self.attempt()],
            false => self.attempts.clone(),
        }
    }

    fn attempt(&self) -> Attempt {
        Attempt::of(&self.answers, self.subject.clone(), &self.finished_at)
    }

    /// Returns the attempts of what answered here, taken together.
    #[must_use]
    pub fn pooled(&self) -> Pooled {
        Pooled::of(&self.all_attempts(), self.subject.as_ref())
    }

    /// Says how often the exam was taken, and what to do where that is why it does not count.
    #[must_use]
    pub fn attempts_said(&self) -> String {
        let pooled = self.pooled();
        let mut said = pooled.said();
        if passes(self.proof()) && !passes(pooled.right) {
            said.push_str(
                ", which is too few of all attempts together; take an exam with another set, or register what was mended as a new version",
            );
        }
        said
    }
}
