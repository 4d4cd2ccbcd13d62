//! The end of a session: its test log, its outcome, and the postmortem if it is not solved.

use std::fmt::Write as _;
use std::path::Path;

use testlog::Reading;
use witness::extension::field;
use witness::outcome::{
    self, Change, Credit, Doubt, Judged, Known, Run, RunEnd, Tests, Weighed, deleted,
};
use witness::policy::Check;
use witness::wire::Outcome;

use super::diff::Diff;
use super::draft::Draft;
use super::story::CallStory;
use base::files;
use base::repository::Location;

/// Failed tests that a postmortem names.
const MAX_NAMED: usize = 20;

/// Refused calls that a postmortem names.
const MAX_REFUSALS: usize = 10;

/// Longest test file that is read.
const MAX_SOURCE: u64 = 16 * 1024 * 1024;

/// A test run with its call and its parsed log.
struct Tested {
    place: usize,
    run: Run,
    judged: Judged,
}

/// The evaluated test runs of a session.
struct Runs {
    /// The runs that decide.
    deciding: Vec<Tested>,
    /// Failed tests that the diff removes and that never passed by name.
    deleted: Vec<String>,
    tests: Option<Tests>,
    /// Number of calls after the last passing run that may have changed files.
    edits: usize,
    /// Set if the log in the bundle shows no failure.
    log_passes: bool,
}

impl Tested {
    fn names_failure(&self, name: &str) -> bool {
        let reading = self
            .judged
            .reading
            .as_ref()
            .filter(|_| self.judged.end == RunEnd::Failed);
        reading.is_some_and(|reading| reading.failures.iter().any(|failure| failure.name == name))
    }
}

impl Draft<'_> {
    /// States the outcome, with the test log and the reasons.
    pub(super) fn ending(&mut self, diff: Option<&Diff>) {
        let runs = self.test_log(diff);
        let breakdown = self.story.breakdown().or(self.broke.take());
        let known = Known {
            tests: runs.tests,
            change: change(diff),
            broke: breakdown.is_some(),
            is_cut: self.story.is_cut,
        };
        let mut decision = outcome::decide(known);
        if decision.outcome == Outcome::Failed && runs.log_passes {
            decision.doubt = decision.doubt.or(Some(Doubt::NotByTheLog));
        }
        self.builder.outcome(decision.outcome);
        if let Some(tested) = runs.deciding.last() {
            let command = self.command_from_top(tested);
            self.fact(field::TEST_COMMAND, &command);
        }
        if runs.edits > 0 {
            self.fact("edits_after_tests", &runs.edits.to_string());
        }
        if !runs.deleted.is_empty() {
            self.fact("deleted_tests", &runs.deleted.join(", "));
        }
        if let Some(doubt) = decision.doubt {
            self.fact(field::UNPROVED, doubt.text());
        }
        if decision.outcome != Outcome::Solved {
            let text = self.postmortem(decision, known, &runs, breakdown.as_deref());
            self.builder.postmortem(text);
        }
    }

    /// Keeps the output of the deciding runs, and one line about every other one.
    fn test_log(&mut self, diff: Option<&Diff>) -> Runs {
        let tree = diff.map(|diff| &*diff.tree);
        let own = &self.sources.config.oversight.test_commands;
        let found = self.story.runs(own, tree);
        let (places, runs): (Vec<usize>, Vec<(Run, Judged)>) = found
            .into_iter()
            .map(|(place, run)| {
                let judged = run.judge();
                (place, (run, judged))
            })
            .unzip();
        let deleted = diff.map_or_else(Vec::new, |diff| {
            deleted::tests(&runs, &diff.text, &named_file)
        });
        let Weighed { deciding, tests } = outcome::weigh(&runs, &deleted);
        let mut log = String::new();
        let mut decided = Vec::new();
        let mut edits = 0;
        for (index, (place, (run, judged))) in places.into_iter().zip(runs).enumerate() {
            let command = run.command.replace('\n', "\n  ");
            if judged.end == RunEnd::Passed {
                edits = if run.is_stale {
                    self.story.changes_after(place, own).max(1)
                } else {
                    0
                };
            }
            let decides = deciding.contains(&index);
            // The log of another tree says nothing about this one.
            if decides && run.credit != Credit::Elsewhere {
                let _ = writeln!(log, "$ {command}");
                log.push_str(&String::from_utf8_lossy(&run.output));
                if !log.ends_with('\n') {
                    log.push('\n');
                }
            } else {
                let end = judged.end.name();
                let _ = writeln!(log, "# another run of `{command}`: {end}");
            }
            if decides {
                decided.push(Tested { place, run, judged });
            }
        }
        let log_passes = testlog::read(log.as_bytes()).is_some_and(|reading| reading.passes());
        if !decided.is_empty() {
            self.builder.test_log(log);
        }
        let is_open = |name: &String| decided.iter().any(|tested| tested.names_failure(name));
        let deleted: Vec<String> = deleted.into_iter().filter(is_open).collect();
        Runs {
            deciding: decided,
            deleted,
            tests,
            edits,
            log_passes,
        }
    }

    /// Returns the test command as it runs at the top of the repository, where a rerun starts it.
    fn command_from_top(&self, tested: &Tested) -> String {
        let command = tested.run.command.clone();
        let cwd = self.story.calls.get(tested.place).map(|one| &*one.call.cwd);
        let below = cwd.and_then(|cwd| {
            let cwd = Path::new(cwd);
            let top = Location::around(cwd)?.top;
            let below = cwd.canonicalize().ok()?.strip_prefix(top).ok()?.to_owned();
            let below = below.to_str()?.to_owned();
            (!below.is_empty()).then_some(below)
        });
        match below {
            Some(below) => format!("cd '{}' && {command}", below.replace('\'', r"'\''")),
            None => command,
        }
    }

    fn postmortem(
        &self,
        decision: outcome::Decision,
        known: Known,
        runs: &Runs,
        breakdown: Option<&str>,
    ) -> String {
        let mut text = match (decision.outcome, decision.doubt) {
            (
                _,
                Some(
                    doubt @ (Doubt::DiffFails
                    | Doubt::EditedAfterwards
                    | Doubt::OtherSetup
                    | Doubt::Narrower),
                ),
            ) => {
                format!("Unproved: the tests passed, but {}.\n", doubt.text())
            }
            (_, Some(doubt @ Doubt::RecordCut)) => format!("Unproved: {}.\n", doubt.text()),
            (Outcome::Skipped, Some(doubt)) => format!("Unproved: {}.\n", doubt.text()),
            (Outcome::Error, _) if known.tests.is_some() => {
                "The tests could not be started.\n".to_owned()
            }
            (Outcome::Error, _) => "The agent broke before any test ran.\n".to_owned(),
            (Outcome::Skipped, None) => {
                "No test ran, so nothing shows that the task is solved.\n".to_owned()
            }
            _ => "Tests fail.\n".to_owned(),
        };
        if runs.edits > 0 {
            let _ = writeln!(
                text,
                "Calls after the tests that may have changed files: {}.",
                runs.edits
            );
        }
        for name in runs.deleted.iter().take(MAX_NAMED) {
            let _ = writeln!(text, "Deleted while it failed: {name}");
        }
        for tested in &runs.deciding {
            if tested.judged.end != RunEnd::Passed {
                describe(&mut text, tested);
            }
        }
        if let Some(breakdown) = breakdown {
            let _ = writeln!(text, "{breakdown}");
        }
        if let Some(failed) = self.story.last_failure() {
            describe_failure(&mut text, failed);
        }
        let refused = self.story.calls.iter();
        let refused = refused.filter(|one| one.check() == Check::Denied);
        for one in refused.take(MAX_REFUSALS) {
            let why = one.call.reasons.first().map_or("", |reason| reason);
            let _ = writeln!(text, "Refused: {} {why}", one.call.tool);
        }
        if let Some(words) = self.story.last_words {
            let _ = writeln!(text, "The agent's last words: {}", words.text);
        }
        text
    }
}

/// Reads a file that a log names, below the directory of the run or one above it, as runners name files from the root of
/// the project.
fn named_file(folder: &str, file: &str) -> Option<Vec<u8>> {
    let mut folders = Path::new(folder).ancestors();
    folders.find_map(|folder| files::read(&folder.join(file), MAX_SOURCE).ok())
}

fn change(diff: Option<&Diff>) -> Change {
    match diff {
        None => Change::Unknown,
        Some(diff) if !diff.applies => Change::DoesNotApply,
        Some(diff) if diff.files == 0 => Change::Nothing,
        Some(_) => Change::Applies,
    }
}

/// Describes a run that did not pass.
fn describe(text: &mut String, tested: &Tested) {
    let command = &tested.run.command;
    let _ = writeln!(text, "`{command}` {}.", tested.judged.end.name());
    if tested.judged.end == RunEnd::CannotTell {
        let why = match &tested.judged.reading {
            _ if tested.run.credit == Credit::Elsewhere => {
                "It ran on another tree than the repository's."
            }
            _ if tested.run.doubt.is_some() => tested.run.doubt.as_deref().unwrap_or_default(),
            None => "Its output is of no test runner that is known here.",
            Some(reading) if reading.passes() => {
                "Its output or exit code may come from something else in the command."
            }
            Some(_) => "Its output shows no test that ran to the end.",
        };
        let _ = writeln!(text, "{why}");
    }
    if let Some(reading) = &tested.judged.reading {
        describe_reading(text, reading);
    }
}

fn describe_reading(text: &mut String, reading: &Reading) {
    let _ = writeln!(
        text,
        "{}: {} passed, {} failed, {} errors, {} skipped.",
        reading.runner.name(),
        reading.passed,
        reading.failed,
        reading.errors,
        reading.skipped
    );
    for failure in reading.failures.iter().take(MAX_NAMED) {
        let _ = writeln!(text, "Failed: {}", failure.name);
    }
    if !reading.complete {
        text.push_str("The output is cut off, so it cannot be told that nothing else failed.\n");
    }
}

fn describe_failure(text: &mut String, failed: &CallStory<'_>) {
    let _ = write!(text, "The last failed call: {}", failed.call.tool);
    if let Some(command) = failed.command() {
        let _ = write!(text, " `{command}`");
    }
    if let Some(exit) = failed.result.and_then(|(result, _)| result.exit) {
        let _ = write!(text, ", exit code {exit}");
    }
    text.push('\n');
}
