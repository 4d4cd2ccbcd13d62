//! How a version did against another on the same exam: on quality, case by case, with a margin.

use serde::{Deserialize, Serialize};

use super::record::{AuditRecord, Given};
use super::{Answer, Report};

/// How a version did against a baseline on the same exam.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Baseline {
    /// The baseline.
    pub version: String,
    /// Cases that it passed and this version failed.
    pub regressions: Vec<usize>,
    /// Mean worth lost against it; negative when gained. Time is in it, so it decides nothing.
    pub lost_reward: f64,
    /// Mean difference of quality on the same cases; positive when this version is better.
    #[serde(default)]
    pub difference: f64,
    /// Lower bound of that mean.
    #[serde(default)]
    pub low: f64,
    /// Upper bound of that mean.
    #[serde(default)]
    pub high: f64,
    /// By how much this version may be worse.
    #[serde(default)]
    pub margin: f64,
}

impl Baseline {
    /// Compares the answers to an exam with those of another version.
    #[must_use]
    pub fn of(before: &AuditRecord, answers: &[Answer], margin: f64) -> Self {
        let others: Vec<Answer> = before.answers.iter().map(Given::answer).collect();
        Self::from_report(before, &Report::of(answers, Some(&others)), margin)
    }

    pub(super) fn from_report(before: &AuditRecord, report: &Report, margin: f64) -> Self {
        let found = report.comparison.as_ref();
        Self {
            version: before.version.clone(),
            regressions: report.regressions.clone(),
            lost_reward: report.lost_reward.unwrap_or(0.0),
            difference: found.map_or(0.0, |found| found.mean),
            low: found.map_or(-1.0, |found| found.low),
            high: found.map_or(1.0, |found| found.high),
            margin,
        }
    }

    /// Returns `true` if this version is not worse by more than the margin.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.difference >= -self.margin - 1e-9
    }

    /// Returns the numbers in words.
    #[must_use]
    pub fn said(&self) -> String {
        let proven = if self.low >= -self.margin {
            "proven"
        } else {
            "measured on these cases"
        };
        format!(
            "quality {:+.3} against `{}` ({:+.3} to {:+.3}), {} cases failed that it passed; at most {:.3} worse is allowed ({proven})",
            self.difference,
            self.version,
            self.low,
            self.high,
            self.regressions.len(),
            self.margin
        )
    }
}
