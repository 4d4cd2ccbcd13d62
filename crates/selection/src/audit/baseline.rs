//! Comparison with another version on the same exam: by quality, case by case, with a margin.

use serde::{Deserialize, Serialize};

use super::record::{AuditRecord, Given};
use super::{Answer, Report};

/// Result of a version against a baseline on the same exam.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Baseline {
    /// Id of the baseline version.
    pub version: String,
    /// Indices of the cases that the baseline passed and this version failed.
    pub regressions: Vec<usize>,
    /// Mean reward lost against the baseline; negative when gained. It includes time, so it decides nothing.
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
    /// Amount by which this version may be worse.
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

    /// Returns the numbers as text.
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
