//! Attempts at an exam. A version that is examined often enough passes by chance, so the attempts of the same weights
//! behind the same backend count together, case by case. Another description, order or version of a set is still the
//! same exam, and so is a set from which the failed cases were removed.

use serde::{Deserialize, Serialize};
use statistics::rate::{Rate, rate};
use statistics::sketch;

use super::record::passes;
use super::{AuditRecord, AuditSet, Given};
use crate::canonical;

/// Limit of cases that are kept per attempt.
const MOST_CASES: usize = 2000;

/// Limit of cases that are kept of all attempts; the oldest attempts are dropped first.
const MOST_OF_ALL: usize = 20_000;

/// Hex digits kept of the digest of a right answer.
const DIGITS: usize = 8;

/// One attempt at an exam, finished or broken off.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Attempt {
    /// Time of the end, RFC 3339 in UTC.
    pub finished_at: String,
    /// Hash of the weights and the backend that answered.
    pub subject: Option<String>,
    /// Id of the version that answered.
    pub version: String,
    /// Hash of the exam.
    pub exam_hash: String,
    /// Result of the exam; `None` if it was broken off, or passed with too few graded cases.
    pub passed: Option<bool>,
    /// Number of graded cases that were right, each input once.
    pub right: u64,
    /// Number of graded cases that were answered.
    pub total: u64,
    /// The answered graded cases.
    pub cases: Vec<Tried>,
}

/// An answered case: the sketch of its input, the first digits of the digest of its right answer, and `true` if it
/// was right.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Tried(String, String, bool);

impl Tried {
    fn is_alike(&self, other: &Self) -> bool {
        sketch::are_alike(&self.0, &other.0)
    }
}

impl Attempt {
    /// Counts answers. A case without an answer is left out: it fails its exam and shows nothing about the next.
    #[must_use]
    pub fn of(
        set: &AuditSet,
        answers: &[Given],
        (subject, version): (&str, &str),
        finished_at: &str,
    ) -> Self {
        let counted = answers
            .iter()
            .filter(|given| given.is_proof() && !given.output.is_null());
        let tried = |given: &Given| {
            let case = set.cases.get(given.index)?;
            // Without a named answer, the check tells cases apart.
            let known = case.known_answer().unwrap_or_else(|| case.check().1);
            let mut known = canonical::hash_bytes(known.as_bytes());
            known.truncate(DIGITS);
            Some(Tried(case.sketch.clone(), known, given.passed()))
        };
        let mut cases: Vec<Tried> = counted.clone().filter_map(tried).collect();
        cases.sort_unstable();
        cases.truncate(MOST_CASES);
        Self {
            finished_at: finished_at.to_owned(),
            subject: Some(subject.to_owned()),
            version: version.to_owned(),
            exam_hash: set.exam_hash.clone(),
            passed: None,
            right: counted.clone().filter(|given| given.passed()).count() as u64,
            total: counted.count() as u64,
            cases,
        }
    }

    /// Returns how many cases of this attempt, right ones and all, count for an exam. The cases that both have count.
    /// If half of the smaller one is in the other, both are one exam, and removed cases count too; a case whose right
    /// answer was corrected does not.
    fn counted_for(&self, exam: &Self) -> (u64, u64) {
        if self.subject != exam.subject {
            return (0, 0);
        }
        if self == exam || (self.cases.is_empty() && self.exam_hash == exam.exam_hash) {
            return (self.right, self.total);
        }
        let has = |one: &Tried| exam.cases.iter().find(|other| other.is_alike(one));
        let found: Vec<(&Tried, Option<&Tried>)> =
            self.cases.iter().map(|one| (one, has(one))).collect();
        let shared = found.iter().filter(|(_, other)| other.is_some()).count();
        let smaller = self.cases.len().min(exam.cases.len());
        let is_same_exam = 2 * shared >= smaller;
        let counted = found.iter().filter(|(one, other)| match other {
            Some(_) => exam
                .cases
                .iter()
                .any(|other| other.is_alike(one) && other.1 == one.1),
            None => is_same_exam,
        });
        let right = counted.clone().filter(|(one, _)| one.2).count();
        (right as u64, counted.count() as u64)
    }

    /// Returns the result as text.
    #[must_use]
    pub fn said(&self) -> String {
        format!(
            "{} of {} graded cases right ({})",
            self.right, self.total, self.finished_at
        )
    }
}

/// Drops the oldest attempts beyond the limit.
pub fn bound(attempts: &mut Vec<Attempt>) {
    let mut room = MOST_OF_ALL;
    let kept = attempts.iter().rev().take_while(|one| {
        let fits = one.cases.len() < room;
        room = room.saturating_sub(one.cases.len() + 1);
        fits
    });
    let surplus = attempts.len() - kept.count();
    attempts.drain(..surplus);
}

/// Attempts that count for one exam, taken together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pooled {
    /// Number of attempts.
    pub attempts: usize,
    /// Rate of right answers.
    pub right: Rate,
}

impl Pooled {
    /// Returns the number of attempts and their result as text.
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
    /// Appends this record's attempt to earlier attempts of the same subject; those that say nothing about this exam
    /// are left out.
    #[must_use]
    pub fn after(mut self, earlier: Vec<Attempt>) -> Self {
        let Some(own) = self.attempts.pop() else {
            return self;
        };
        let counts = |one: &Attempt| one.counted_for(&own).1 > 0;
        self.attempts = earlier.into_iter().filter(counts).collect();
        self.attempts.push(own);
        let passed = self.verdict();
        if let Some(own) = self.attempts.last_mut() {
            own.passed = passed;
        }
        self
    }

    /// Returns whether the exam was passed, or `None` if it passed with too few graded cases.
    fn verdict(&self) -> Option<bool> {
        let tells = self.is_graded() || !passes(self.rate());
        tells.then(|| self.is_passed())
    }

    /// Returns the attempt of an older record, which does not name what answered.
    #[must_use]
    pub fn untold_attempt(&self) -> Option<Attempt> {
        let found = self.proof();
        self.subject.is_none().then(|| Attempt {
            finished_at: self.finished_at.clone(),
            version: self.version.clone(),
            exam_hash: self.exam_hash.clone(),
            passed: self.verdict(),
            right: found.hits,
            total: found.n,
            ..Attempt::default()
        })
    }

    /// Returns the attempts that count for this exam, taken together. An older record counts as one attempt.
    #[must_use]
    pub fn pooled(&self) -> Pooled {
        let Some(own) = self.attempts.last() else {
            return Pooled {
                attempts: 1,
                right: self.proof(),
            };
        };
        let counted = self.attempts.iter().map(|one| one.counted_for(own));
        let counted: Vec<(u64, u64)> = counted.filter(|(_, total)| *total > 0).collect();
        let sum = |count: fn(&(u64, u64)) -> u64| counted.iter().map(count).sum();
        Pooled {
            attempts: counted.len().max(1),
            right: rate(sum(|one| one.0), sum(|one| one.1)),
        }
    }

    /// Returns the result as text.
    #[must_use]
    pub fn said(&self) -> String {
        format!(
            "{} of {} cases passed, {} verifier failures, {} wrong answers ({}); {}",
            self.passed,
            self.cases,
            self.verifier_failures,
            self.wrong_answers,
            self.finished_at,
            self.pooled().said()
        )
    }

    /// Returns how often the exam was taken as text, and a remedy if that is why the exam does not count.
    #[must_use]
    pub fn attempts_said(&self) -> String {
        let pooled = self.pooled();
        let mut said = pooled.said();
        if passes(self.proof()) && !passes(pooled.right) {
            said.push_str(
                ", which is too few of all attempts together; take an exam with other cases, or register weights that were mended",
            );
        }
        said
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Builds an attempt from case numbers: those below `right` were answered right.
    fn attempt(cases: impl Iterator<Item = u16>, right: u16, mended: &[u16]) -> Attempt {
        let case = |one: u16| {
            let known = if mended.contains(&one) {
                "mended"
            } else {
                "known"
            };
            Tried(sketch::of([one, 1000 + one]), known.to_owned(), one < right)
        };
        let cases: Vec<Tried> = cases.map(case).collect();
        Attempt {
            right: cases.iter().filter(|one| one.2).count() as u64,
            total: cases.len() as u64,
            exam_hash: format!("{cases:?}"),
            cases,
            ..Attempt::default()
        }
    }

    #[test]
    fn attempts_count_for_an_exam_by_its_cases() {
        let before = attempt(0..40, 30, &[]);
        for (name, exam, expected) in [
            ("the same cases", attempt(0..40, 40, &[]), (30, 40)),
            (
                "without those that failed",
                attempt(0..30, 30, &[]),
                (30, 40),
            ),
            ("only a few of them", attempt(0..5, 5, &[]), (30, 40)),
            (
                "a few and many others",
                attempt((0..5).chain(100..140), 200, &[]),
                (5, 5),
            ),
            (
                "right answers that were mended",
                attempt(0..40, 40, &[38, 39]),
                (30, 38),
            ),
            ("other cases", attempt(100..140, 200, &[]), (0, 0)),
        ] {
            assert_eq!(before.counted_for(&exam), expected, "{name}");
        }
        let mut elsewhere = attempt(0..40, 40, &[]);
        elsewhere.subject = Some("other".to_owned());
        assert_eq!(before.counted_for(&elsewhere), (0, 0));
    }

    #[test]
    fn the_oldest_attempts_are_forgotten() {
        let mut all: Vec<Attempt> = (0..30)
            .map(|number| Attempt {
                finished_at: number.to_string(),
                ..attempt(0..1000, 0, &[])
            })
            .collect();
        bound(&mut all);
        assert_eq!((all.len(), all[0].finished_at.as_str()), (19, "11"));
    }
}
