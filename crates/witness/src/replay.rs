//! Checks of a replay beside the raw sections: agreement of the outcome with the test log, and the parts of a diff.

use crate::bundle::Contents;
use crate::extension::field;
use crate::wire::{Outcome, Tag};
use testlog::Reading;

/// Agreement of the stated outcome with the test log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Agreement {
    /// The log shows the stated outcome.
    Agrees,
    /// The log shows another outcome.
    Contradicts,
    /// The log shows too little; with the reason.
    CannotTell(&'static str),
}

impl Agreement {
    /// Returns the stable name for JSON.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Agrees => "agrees",
            Self::Contradicts => "contradicts",
            Self::CannotTell(_) => "cannot_tell",
        }
    }
}

/// Last step of a replay: the parsed test log, compared with the outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutcomeCheck {
    /// Parsed log, if its runner is known.
    pub reading: Option<Reading>,
    /// Result of the comparison.
    pub agreement: Agreement,
}

impl OutcomeCheck {
    /// Parses the test log of a bundle and compares it with the outcome.
    #[must_use]
    pub fn of(contents: &Contents<'_>) -> Self {
        let log = contents.section(Tag::TestLog);
        let reading = log.and_then(testlog::read);
        let mut agreement = compare(contents.outcome(), log.is_some(), reading.as_ref());
        // The bundle itself says why a log without failures does not show a solved task.
        let is_unproved = contents
            .extensions()
            .provenance
            .contains_key(field::UNPROVED);
        let is_open = matches!(contents.outcome(), Outcome::Skipped | Outcome::Failed);
        if is_unproved && is_open && reading.as_ref().is_some_and(Reading::passes) {
            agreement = Agreement::Agrees;
        }
        Self { reading, agreement }
    }
}

/// Returns the outcome that a bundle's own test log supports: a bundle that claims to be solved over a log with
/// failures counts as failed.
///
/// A scorecard calls this for every bundle, so a log without a word for a failure is not parsed.
#[must_use]
pub fn supported_outcome(contents: &Contents<'_>) -> Outcome {
    let log = contents.section(Tag::TestLog);
    supported(contents.outcome(), log.filter(|log| mentions_failure(log)))
}

/// Returns the outcome that a test log supports. A run that was cut off, or in which no test ran, supports nothing.
pub(crate) fn supported(outcome: Outcome, log: Option<&[u8]>) -> Outcome {
    let passes = || {
        log.and_then(testlog::read)
            .is_none_or(|reading| reading.passes())
    };
    match outcome {
        Outcome::Solved if !passes() => Outcome::Failed,
        stated => stated,
    }
}

/// Returns `true` if a log has one of the words without which no runner reports a failure: fail, error, not ok.
fn mentions_failure(log: &[u8]) -> bool {
    let words: [&[u8]; 5] = [b"ail", b"AIL", b"rror", b"RROR", b"not ok"];
    words
        .iter()
        .any(|word| memchr::memmem::find(log, word).is_some())
}

/// Compares an outcome with a parsed test log.
#[must_use]
pub fn compare(outcome: Outcome, has_log: bool, reading: Option<&Reading>) -> Agreement {
    let Some(reading) = reading else {
        return match (outcome, has_log) {
            (Outcome::Skipped, false) => Agreement::Agrees,
            (_, false) => Agreement::CannotTell("there is no test log"),
            (_, true) => Agreement::CannotTell("the test log is of no runner that is known here"),
        };
    };
    match outcome {
        Outcome::Solved if reading.passes() => Agreement::Agrees,
        Outcome::Solved => Agreement::Contradicts,
        Outcome::Failed if reading.passes() => Agreement::Contradicts,
        Outcome::Failed => Agreement::Agrees,
        Outcome::Skipped if reading.passes() || reading.shows_failure() => Agreement::Contradicts,
        Outcome::Skipped if reading.ran() == 0 => Agreement::Agrees,
        Outcome::Skipped => Agreement::CannotTell("the test log is cut off"),
        Outcome::Error => Agreement::CannotTell("a test log does not show what broke"),
    }
}

/// Kind of a line of a unified diff.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiffPart {
    /// A file name or another note before a hunk.
    File,
    /// A hunk header, `@@ … @@`.
    Hunk,
    /// An added line.
    Added,
    /// A removed line.
    Removed,
    /// A line that is the same on both sides.
    Context,
}

/// Returns the lines of a diff without their line ends, each with its part.
pub fn diff_lines(diff: &[u8]) -> impl Iterator<Item = (DiffPart, &[u8])> {
    let mut place = Place::Notes;
    let diff = diff.strip_suffix(b"\n").unwrap_or(diff);
    let lines = (!diff.is_empty()).then(|| diff.split(|byte| *byte == b'\n'));
    lines
        .into_iter()
        .flatten()
        .map(move |line| (place.step(line), line))
}

/// Position in a diff.
///
/// Only the counts of a hunk distinguish the removed line `--- x` from the name of the next file.
#[derive(Clone, Copy, Debug)]
enum Place {
    /// Before, between and after hunks.
    Notes,
    /// In a hunk that has this many lines of each side left.
    Counted { old: u64, new: u64 },
    /// In a hunk without readable counts, such as that of a merge; only a clear marker ends it.
    Uncounted,
}

impl Place {
    /// Classifies a line and moves past it.
    fn step(&mut self, line: &[u8]) -> DiffPart {
        // No line of a hunk starts with these, so a hunk with too few lines ends here.
        if line.starts_with(b"@@") {
            *self = Self::of_hunk(line);
            return DiffPart::Hunk;
        }
        if line.starts_with(b"diff ") {
            *self = Self::Notes;
        }
        // `\ No newline at end of file` belongs to the line before it and does not count.
        let counts = line.first() != Some(&b'\\');
        match self {
            Self::Notes => return DiffPart::File,
            Self::Counted { old: 0, new: 0 } if counts => {
                *self = Self::Notes;
                return DiffPart::File;
            }
            Self::Counted { .. } | Self::Uncounted => {}
        }
        let part = match line.first() {
            Some(b'+') => DiffPart::Added,
            Some(b'-') => DiffPart::Removed,
            _ => DiffPart::Context,
        };
        if let (Self::Counted { old, new }, true) = (self, counts) {
            *old = old.saturating_sub(u64::from(part != DiffPart::Added));
            *new = new.saturating_sub(u64::from(part != DiffPart::Removed));
        }
        part
    }

    /// Parses `@@ -a,b +c,d @@`; a missing count is 1.
    fn of_hunk(line: &[u8]) -> Self {
        let counts = || {
            let text = line.strip_prefix(b"@@ -")?;
            let (old, text) = take_range(text)?;
            let (new, text) = take_range(text.strip_prefix(b" +")?)?;
            text.starts_with(b" @@")
                .then_some(Self::Counted { old, new })
        };
        counts().unwrap_or(Self::Uncounted)
    }
}

/// Takes `start` or `start,count` and returns the count.
fn take_range(text: &[u8]) -> Option<(u64, &[u8])> {
    let (_, text) = take_number(text)?;
    match text.strip_prefix(b",") {
        Some(text) => take_number(text),
        None => Some((1, text)),
    }
}

/// Takes decimal digits. A number that does not fit counts as the largest.
fn take_number(text: &[u8]) -> Option<(u64, &[u8])> {
    let end = text.iter().position(|byte| !byte.is_ascii_digit());
    let (digits, rest) = text.split_at(end.unwrap_or(text.len()));
    let number = digits.iter().fold(0_u64, |number, digit| {
        number
            .saturating_mul(10)
            .saturating_add(u64::from(digit - b'0'))
    });
    (!digits.is_empty()).then_some((number, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks a diff, written with each line's part as one letter before the line.
    fn check(diff: &str, expected: &str) {
        let lines = diff_lines(diff.as_bytes()).map(|(part, line)| {
            let letter = match part {
                DiffPart::File => 'F',
                DiffPart::Hunk => '@',
                DiffPart::Added => 'A',
                DiffPart::Removed => 'R',
                DiffPart::Context => 'C',
            };
            format!("{letter} {}", String::from_utf8_lossy(line))
        });
        let lines: Vec<String> = lines.collect();
        assert_eq!(lines.join("\n"), expected);
    }

    #[test]
    fn nothing_has_no_lines() {
        check("", "");
        check("\n", "");
    }

    #[test]
    fn counts_tell_the_next_file_from_a_removed_line() {
        check(
            "--- a/x\n+++ b/x\n@@ -1,2 +1 @@\n--- old\n same\n--- a/y\n+++ b/y\n@@ -1 +1 @@ fn y\n-1\n+2\n",
            "F --- a/x\nF +++ b/x\n@ @@ -1,2 +1 @@\nR --- old\nC  same\nF --- a/y\nF +++ b/y\n\
             @ @@ -1 +1 @@ fn y\nR -1\nA +2",
        );
    }

    #[test]
    fn an_added_line_may_look_like_a_file_name() {
        check(
            "@@ -0,0 +1,2 @@\n+++ b/x\n+y\n-- \n2.39",
            "@ @@ -0,0 +1,2 @@\nA +++ b/x\nA +y\nF -- \nF 2.39",
        );
    }

    #[test]
    fn a_missing_newline_belongs_to_the_hunk() {
        check(
            "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file\n--- a/y",
            "@ @@ -1 +1 @@\nR -a\nC \\ No newline at end of file\nA +b\nC \\ No newline at end of file\nF --- a/y",
        );
    }

    #[test]
    fn context_may_have_lost_its_space() {
        check(
            "@@ -1,2 +1,2 @@\n\n\r\n--- a/y",
            "@ @@ -1,2 +1,2 @@\nC \nC \r\nF --- a/y",
        );
    }

    #[test]
    fn a_hunk_that_is_cut_short_ends_at_the_next_clear_sign() {
        check(
            "@@ -1,9 +1,9 @@\n a\ndiff --git a/y b/y\n--- a/y\n@@ -1,9 +1,9 @@\n@@ -1 +0,0 @@\n-x\n",
            "@ @@ -1,9 +1,9 @@\nC  a\nF diff --git a/y b/y\nF --- a/y\n@ @@ -1,9 +1,9 @@\n@ @@ -1 +0,0 @@\nR -x",
        );
    }

    #[test]
    fn hostile_counts_do_not_overflow() {
        check(
            "@@ -1,99999999999999999999999 +18446744073709551615,18446744073709551616 @@\n+a\n-b\n--- c\n",
            "@ @@ -1,99999999999999999999999 +18446744073709551615,18446744073709551616 @@\nA +a\nR -b\nR --- c",
        );
        check("@@ -0,0 +0,0 @@\n+a", "@ @@ -0,0 +0,0 @@\nF +a");
    }

    #[test]
    fn a_hunk_without_counts_lasts_until_a_clear_sign() {
        for head in ["@@@ -1,2 -1,2 +1,3 @@@", "@@ -, +1 @@", "@@ -1 +1", "@@"] {
            check(
                &format!("{head}\n+a\n-b\n c\n--- d\ndiff --git a/y b/y\n+++ b/y"),
                &format!("@ {head}\nA +a\nR -b\nC  c\nR --- d\nF diff --git a/y b/y\nF +++ b/y"),
            );
        }
    }
}
