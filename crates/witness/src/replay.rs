//! What a replay shows beside the raw sections: whether the outcome agrees with the test log, and the parts of a diff.

use crate::bundle::Contents;
use crate::test_log::{self, Reading};
use crate::wire::{Outcome, Tag};

/// Whether the stated outcome is the one that the test log shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Agreement {
    /// The log shows what the outcome says.
    Agrees,
    /// The log shows something else.
    Contradicts,
    /// The log says too little; the text tells why.
    CannotTell(&'static str),
}

impl Agreement {
    /// Stable name, as used in JSON.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Agrees => "agrees",
            Self::Contradicts => "contradicts",
            Self::CannotTell(_) => "cannot_tell",
        }
    }
}

/// The last step of a replay: the test log understood, and compared with the outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutcomeCheck {
    /// What the log says, when its runner is known.
    pub reading: Option<Reading>,
    /// Whether that fits the outcome.
    pub agreement: Agreement,
}

impl OutcomeCheck {
    /// Reads the test log of a bundle and compares.
    #[must_use]
    pub fn of(contents: &Contents<'_>) -> Self {
        let log = contents.section(Tag::TestLog);
        let reading = log.and_then(test_log::read);
        let agreement = compare(contents.outcome(), log.is_some(), reading.as_ref());
        Self { reading, agreement }
    }
}

/// Compares an outcome with what a test log says.
#[must_use]
pub fn compare(outcome: Outcome, has_log: bool, reading: Option<&Reading>) -> Agreement {
    let Some(reading) = reading else {
        return match (outcome, has_log) {
            (Outcome::Skipped, false) => Agreement::Agrees,
            (_, false) => Agreement::CannotTell("there is no test log"),
            (_, true) => Agreement::CannotTell("the test log is of no runner that is known here"),
        };
    };
    let ran = reading.passed + reading.failed + reading.errors > 0;
    match outcome {
        Outcome::Solved if reading.passes() => Agreement::Agrees,
        Outcome::Solved => Agreement::Contradicts,
        Outcome::Failed if !reading.passes() => Agreement::Agrees,
        // Failed also means that the change was rejected, which no test log shows.
        Outcome::Failed => {
            Agreement::CannotTell("the tests pass; the change may have been rejected")
        }
        Outcome::Skipped if ran => Agreement::Contradicts,
        Outcome::Skipped => Agreement::Agrees,
        Outcome::Error => Agreement::CannotTell("a test log does not show what broke"),
    }
}

/// The outcome that a fresh run of the tests shows. A runner that is not known here is believed by its exit code.
#[must_use]
pub fn observed(exited_well: bool, reading: Option<&Reading>) -> Outcome {
    if exited_well && reading.is_none_or(Reading::passes) {
        Outcome::Solved
    } else {
        Outcome::Failed
    }
}

/// What a line of a unified diff is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiffPart {
    /// Names of files and other notes before a hunk.
    File,
    /// `@@ … @@`.
    Hunk,
    /// Added.
    Added,
    /// Removed.
    Removed,
    /// The same on both sides.
    Context,
}

/// The lines of a diff without their line ends, each with its part.
pub fn diff_lines(diff: &[u8]) -> impl Iterator<Item = (DiffPart, &[u8])> {
    let mut in_hunk = false;
    let diff = diff.strip_suffix(b"\n").unwrap_or(diff);
    let lines = (!diff.is_empty()).then(|| diff.split(|byte| *byte == b'\n'));
    lines.into_iter().flatten().map(move |line| {
        let part = match line.first() {
            _ if line.starts_with(b"@@") => DiffPart::Hunk,
            // Inside a hunk `--- x` is a removed line that happens to start with dashes.
            _ if !in_hunk || line.starts_with(b"diff ") => DiffPart::File,
            Some(b'+') => DiffPart::Added,
            Some(b'-') => DiffPart::Removed,
            _ => DiffPart::Context,
        };
        in_hunk = match part {
            DiffPart::Hunk => true,
            DiffPart::File => false,
            DiffPart::Added | DiffPart::Removed | DiffPart::Context => in_hunk,
        };
        (part, line)
    })
}
