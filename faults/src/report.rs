//! The table of trials with their findings.

use std::fmt;

use serde::Serialize;

/// One kind of fault on one subject.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Row {
    /// The kind of fault.
    pub fault: String,
    /// Command or file that was hit.
    pub subject: String,
    /// Number of trials that ran.
    pub tried: u64,
    /// Number of acknowledged records that were gone or duplicated afterwards.
    pub lost: u64,
    /// Number of gated calls that were not refused.
    pub failed_open: u64,
    /// Number of trials after which the same command did not work again by itself.
    pub needed_repair: u64,
    /// Number of panics, aborts and hangs.
    pub crashed: u64,
    /// Errors for something that was done, without the exit code that says so, and that code for what was not done.
    pub misreported: u64,
    /// The first findings as text.
    pub findings: Vec<String>,
    /// Reason that nothing could be tried.
    pub skipped: Option<String>,
}

#[derive(Clone, Debug, Default, Serialize)]
pub struct Report {
    /// The rows, in the order in which they ran.
    pub rows: Vec<Row>,
}

/// Limit of the findings that a row keeps.
const KEPT: usize = 8;

/// Finding of one trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Finding {
    Lost,
    FailedOpen,
    NeededRepair,
    Crashed,
    Misreported,
}

impl Row {
    pub(crate) fn new(fault: &str, subject: &str) -> Self {
        Self {
            fault: fault.to_owned(),
            subject: subject.to_owned(),
            ..Self::default()
        }
    }

    pub(crate) fn skipped(fault: &str, subject: &str, why: &str) -> Self {
        Self {
            skipped: Some(why.to_owned()),
            ..Self::new(fault, subject)
        }
    }

    /// Counts a finding and keeps its text.
    pub(crate) fn finds(&mut self, finding: Finding, words: &str) {
        let count = match finding {
            Finding::Lost => &mut self.lost,
            Finding::FailedOpen => &mut self.failed_open,
            Finding::NeededRepair => &mut self.needed_repair,
            Finding::Crashed => &mut self.crashed,
            Finding::Misreported => &mut self.misreported,
        };
        *count += 1;
        if self.findings.len() < KEPT {
            self.findings.push(format!("{finding:?}: {words}"));
        }
    }

    /// Adds the trials of another worker on the same row.
    pub(crate) fn merge(&mut self, other: Self) {
        self.tried += other.tried;
        self.lost += other.lost;
        self.failed_open += other.failed_open;
        self.needed_repair += other.needed_repair;
        self.crashed += other.crashed;
        self.misreported += other.misreported;
        self.findings.extend(other.findings);
        self.findings.truncate(KEPT);
    }

    /// Returns `true` if every column is zero.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        let counts = [
            self.lost,
            self.failed_open,
            self.needed_repair,
            self.crashed,
            self.misreported,
        ];
        counts.iter().all(|count| *count == 0)
    }
}

impl Report {
    /// Returns `true` if every column of every row is zero.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.rows.iter().all(Row::is_clean)
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = format!("{}: {}", self.fault, self.subject);
        if let Some(why) = &self.skipped {
            return write!(f, "| {name} | not tried: {why} | | | | | |");
        }
        write!(
            f,
            "| {name} | {} | {} | {} | {} | {} | {} |",
            self.tried,
            self.lost,
            self.failed_open,
            self.needed_repair,
            self.crashed,
            self.misreported
        )
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "| fault | tried | lost | failed open | needed repair | crashed | misreported |\n|---|---|---|---|---|---|---|"
        )?;
        let mut sum = Row::new("all", "together");
        for row in &self.rows {
            writeln!(f, "{row}")?;
            sum.merge(row.clone());
        }
        writeln!(f, "{sum}")?;
        for row in &self.rows {
            for finding in &row.findings {
                writeln!(f, "\n{}: {}: {finding}", row.fault, row.subject)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_is_counted_shown_and_makes_the_report_unclean() {
        let mut row = Row::new("walk", "seal");
        row.tried = 3;
        let mut report = Report {
            rows: vec![row.clone(), Row::skipped("full disk", "seal", "not root")],
        };
        assert!(report.is_clean());
        row.finds(Finding::Lost, "bundle 7");
        report.rows.push(row);
        assert!(!report.is_clean());
        let shown = report.to_string();
        for part in [
            "| walk: seal | 3 | 1 | 0 | 0 | 0 | 0 |",
            "not tried: not root",
            "| all: together | 6 | 1 |",
            "walk: seal: Lost: bundle 7",
        ] {
            assert!(shown.contains(part), "{part}\n{shown}");
        }
    }
}
