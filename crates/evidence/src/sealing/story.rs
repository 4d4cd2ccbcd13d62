//! The journal lines of one bundle, combined: each call with its result, and the events around them.

use std::path::Path;

use super::test_commands::changes::may_change_files;
use super::test_commands::{self, Selection, TestCommand};
use oversight::lookup::absolute;
use oversight::tools::shell_command;
use witness::outcome::scope::Scope;
use witness::outcome::{Credit, Run};
use witness::policy::Check;

use crate::journal::record::{Call, Kept, Line, Outcome, Record, RestoredFile, Rollback, Start};
use base::liveness::Process;
use base::repository::Location;

/// Tools that change files; a change after the last test run was not tested.
const EDITORS: &[&str] = &[
    "Edit",
    "Write",
    "MultiEdit",
    "NotebookEdit",
    "apply_patch",
    "write_file",
    "replace",
    "edit_file",
    "search_replace",
    "create",
    "str_replace_editor",
];

/// Words in the names of read-only tools: `Read`, `list_directory`, `mcp__tracker__get_issue`.
const LOOKING: &[&str] = &[
    "read", "grep", "glob", "ls", "list", "get", "search", "find", "view", "fetch", "todo", "plan",
    "task", "agent", "output", "question",
];

/// Certainty that a call changed files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Changed {
    No,
    /// A command or tool that is not known to change nothing.
    Perhaps,
    Yes,
}

/// One call.
#[derive(Clone, Debug)]
pub(super) struct CallStory<'a> {
    pub(super) call: &'a Call,
    pub(super) time_ns: u64,
    pub(super) result: Option<(&'a Outcome, u64)>,
}

impl CallStory<'_> {
    /// Returns the check for the bundle. A question that was not answered with yes is a refusal.
    pub(super) fn check(&self) -> Check {
        match &*self.call.recorded {
            "denied" => Check::Denied,
            _ if self.call.verdict == "ask" && self.result.is_none() => Check::Denied,
            "confirmed" => Check::Confirmed,
            _ if self.call.approval.is_some() => Check::Confirmed,
            _ => Check::Allowed,
        }
    }

    /// Returns the duration: as the agent states it, else the time between the two events.
    pub(super) fn latency_ms(&self) -> u32 {
        let Some((result, ended)) = self.result else {
            return 0;
        };
        let measured = ended.saturating_sub(self.time_ns) / 1_000_000;
        let latency = result.duration_ms.unwrap_or(measured);
        u32::try_from(latency).unwrap_or(u32::MAX)
    }

    fn failed(&self) -> bool {
        self.result.is_some_and(|(result, _)| result.failed)
    }

    /// Returns whether the call changed files. `own_tests` are the user's commands that run tests.
    fn changed(&self, own_tests: &[String]) -> Changed {
        let tool = &*self.call.tool;
        if self.check() == Check::Denied || self.result.is_none() {
            return Changed::No;
        }
        if EDITORS.contains(&tool) {
            let is_edit = !self.failed() && !self.is_outside();
            return if is_edit { Changed::Yes } else { Changed::No };
        }
        let may_change = match self.command() {
            Some(command) => may_change_files(&command, own_tests),
            None => {
                let tool = tool
                    .rsplit("__")
                    .next()
                    .unwrap_or(tool)
                    .to_ascii_lowercase();
                !LOOKING.iter().any(|word| tool.contains(word))
            }
        };
        if may_change {
            Changed::Perhaps
        } else {
            Changed::No
        }
    }

    /// Returns `true` for an edit of a file outside the repository.
    fn is_outside(&self) -> bool {
        let path = ["file_path", "path", "notebook_path"]
            .iter()
            .find_map(|key| self.call.input.get(key)?.as_str());
        let Some(path) = path.map(Path::new).filter(|path| path.is_absolute()) else {
            return false;
        };
        let cwd = Path::new(&self.call.cwd);
        Location::around(cwd)
            .is_some_and(|location| !path.starts_with(&location.top) && !path.starts_with(cwd))
    }

    /// Returns the command, if the tool is a shell.
    pub(super) fn command(&self) -> Option<String> {
        shell_command(&self.call.tool, &self.call.input)
    }
}

/// The events in one stretch of a session.
#[derive(Clone, Debug, Default)]
pub(super) struct Story<'a> {
    pub(super) agent: String,
    pub(super) start: Option<&'a Start>,
    pub(super) began_ns: u64,
    pub(super) ended_ns: u64,
    pub(super) prompts: Vec<&'a Kept>,
    pub(super) plan: Option<&'a Kept>,
    pub(super) calls: Vec<CallStory<'a>>,
    pub(super) rollbacks: Vec<&'a Rollback>,
    /// Protected files that were changed and restored.
    pub(super) restored: Vec<&'a RestoredFile>,
    pub(super) last_words: Option<&'a Kept>,
    pub(super) model: Option<&'a str>,
    /// The agent's reason for the end of the session; `None` if it never ended.
    pub(super) end: Option<&'a str>,
    /// The agent's message when it failed, if nothing followed.
    pub(super) broke: Option<&'a Kept>,
    /// Set if a turn was begun and not finished.
    pub(super) open_turn: bool,
    pub(super) redacted: u64,
    pub(super) capped: u64,
    /// Number of lines that a crash had torn.
    pub(super) repaired: u64,
    /// Set if lines are missing, and not by a crash.
    pub(super) is_cut: bool,
}

impl<'a> Story<'a> {
    /// Combines the lines from number `from` up to, and without, `upto`. `lines` are those of the whole journal.
    pub(super) fn of(lines: &'a [Line], from: u64, upto: u64) -> Self {
        let mut story = Self::default();
        // The session may have begun before these lines.
        for line in lines.iter().filter(|line| line.seq < from) {
            if let Record::Start(start) = &line.record {
                story.start = Some(start);
            }
        }
        let mut is_first_start = true;
        for line in lines.iter().filter(|line| (from..upto).contains(&line.seq)) {
            if let Record::Start(start) = &line.record
                && std::mem::take(&mut is_first_start)
            {
                story.start = Some(start);
            }
            story.line(line);
        }
        story
    }

    fn line(&mut self, line: &'a Line) {
        if self.agent.is_empty() {
            self.agent.clone_from(&line.agent);
            self.began_ns = line.time_ns;
        }
        self.ended_ns = line.time_ns;
        match &line.record {
            Record::Start(start) => self.model = start.model.as_deref().or(self.model),
            Record::Prompt(prompt) => {
                self.kept(&prompt.kept);
                self.prompts.push(&prompt.kept);
                self.open_turn = true;
                self.broke = None;
            }
            Record::Plan(plan) => {
                self.kept(&plan.kept);
                self.plan = Some(&plan.kept);
            }
            Record::Call(call) => self.call(call, line.time_ns),
            Record::Result(result) | Record::Failure(result) => self.result(result, line.time_ns),
            Record::Stop(stop) => {
                self.open_turn = false;
                self.broke = None;
                if let Some(message) = &stop.message {
                    self.kept(message);
                    self.last_words = Some(message);
                }
            }
            Record::ModelSwitch(switch) => self.model = switch.to.as_deref().or(self.model),
            Record::Broke(broke) => {
                self.kept(&broke.kept);
                self.broke = Some(&broke.kept);
            }
            Record::Rollback(rollback) => self.rollbacks.push(rollback),
            Record::Restored(restored) => self.restored.extend(&restored.files),
            Record::End(end) => self.end = Some(&end.reason),
            Record::Repaired(_) => self.repaired += 1,
            Record::Lost(_) => self.is_cut = true,
            Record::SubagentStop(_)
            | Record::ConfigChange(_)
            | Record::Snapshot(_)
            | Record::Unwatched(_)
            | Record::Building(_)
            | Record::Sealing(_)
            | Record::Sealed(_)
            | Record::Unknown => {}
        }
    }

    fn call(&mut self, call: &'a Call, time_ns: u64) {
        self.redacted += call.redacted;
        self.capped += u64::from(call.capped);
        self.open_turn = true;
        self.broke = None;
        self.end = None;
        self.calls.push(CallStory {
            call,
            time_ns,
            result: None,
        });
    }

    /// Adds a result to the call with its id, or to the last waiting call of that tool.
    fn result(&mut self, result: &'a Outcome, time_ns: u64) {
        if let Some(output) = &result.output {
            self.kept(output);
        }
        let waits = |one: &&mut CallStory<'_>| {
            one.result.is_none()
                && if result.call_id.is_empty() {
                    one.call.tool == result.tool
                } else {
                    one.call.call_id == result.call_id
                }
        };
        if let Some(found) = self.calls.iter_mut().rev().find(waits) {
            found.result = Some((result, time_ns));
        }
    }

    fn kept(&mut self, kept: &Kept) {
        self.redacted += kept.redacted;
        self.capped += u64::from(kept.capped);
    }

    /// Returns `true` if nothing happened that belongs into a bundle.
    pub(super) fn is_empty(&self) -> bool {
        let is_silent = self.prompts.is_empty() && self.calls.is_empty();
        is_silent && self.rollbacks.is_empty() && !self.is_cut
    }

    /// Counts the calls that repeat a failed one, literally, without a change of files in between.
    pub(super) fn retries(&self, own_tests: &[String]) -> usize {
        let mut failed: Vec<(&str, &str)> = Vec::new();
        let mut retries = 0;
        for one in &self.calls {
            let key = (&*one.call.tool, &*one.call.input_sha256);
            let is_known = failed.contains(&key);
            retries += usize::from(is_known);
            if one.changed(own_tests) != Changed::No {
                failed.retain(|known| *known == key);
            }
            if one.failed() && !is_known {
                failed.push(key);
            }
        }
        retries
    }

    /// Returns the test runs, each with the place of its call. `tree` is the working tree that is sealed.
    pub(super) fn runs(&self, own_tests: &[String], tree: Option<&str>) -> Vec<(usize, Run)> {
        let calls = self.calls.iter().enumerate();
        calls
            .filter_map(|(place, one)| {
                let (result, _) = one.result.filter(|(result, _)| result.test)?;
                let command = one.command()?;
                let test = TestCommand::of(&command, own_tests)?;
                // The directory was resolved after the tests had run; a link may lead elsewhere by now.
                let credit = match &result.folder {
                    _ if result.elsewhere => Credit::Elsewhere,
                    // The command failed, so a doubt about its scripts does not matter.
                    Some(_) if result.doubt.is_none() || result.failed => credit(test.credit),
                    _ => credit(test.credit).min(Credit::Nothing),
                };
                let folder = result.folder.clone();
                let folder = folder.unwrap_or_else(|| absolute(&one.call.cwd, &test.folder));
                Some((
                    place,
                    Run {
                        output: result.output.as_ref()?.text.clone().into_bytes(),
                        failed: result.failed,
                        exit: result.exit,
                        credit,
                        scope: scope(test.selection, folder),
                        doubt: result.doubt.clone(),
                        setup: result.setup.clone(),
                        is_stale: self.is_stale(place, result.tree.as_deref(), own_tests, tree),
                        command,
                    },
                ))
            })
            .collect()
    }

    /// Returns `true` if the tested files may differ from the sealed ones: the tree is another one, a file was edited,
    /// or, if the tree is unknown, a command may have changed a file.
    fn is_stale(
        &self,
        place: usize,
        tested: Option<&str>,
        own_tests: &[String],
        sealed: Option<&str>,
    ) -> bool {
        let later = self.calls.iter().skip(place + 1);
        let mut changes = later.map(|one| one.changed(own_tests));
        match (tested, sealed) {
            (Some(tested), Some(sealed)) => {
                tested != sealed || changes.any(|change| change == Changed::Yes)
            }
            _ => changes.any(|change| change != Changed::No),
        }
    }

    /// Counts the calls after `place` that may have changed a file.
    pub(super) fn changes_after(&self, place: usize, own_tests: &[String]) -> usize {
        let later = self.calls.iter().skip(place + 1);
        later
            .filter(|one| one.changed(own_tests) != Changed::No)
            .count()
    }

    /// Returns the last failed call that no later call of the same tool made good.
    pub(super) fn last_failure(&self) -> Option<&CallStory<'a>> {
        let place = self.calls.iter().rposition(CallStory::failed)?;
        let failed = self.calls.get(place)?;
        let put_right =
            self.calls.iter().skip(place + 1).any(|later| {
                later.call.input_sha256 == failed.call.input_sha256 && !later.failed()
            });
        (!put_right).then_some(failed)
    }

    /// Returns a description of the agent's failure, if it failed.
    pub(super) fn breakdown(&self) -> Option<String> {
        if let Some(broke) = self.broke {
            return Some(format!("The agent broke: {}", broke.text));
        }
        (self.end.is_none() && self.open_turn)
            .then(|| "The session has no end: it was sealed in the middle of a turn.".to_owned())
    }

    /// Returns the agent's process.
    pub(super) fn process(&self) -> Option<Process> {
        self.start.and_then(|start| start.process)
    }
}

/// Converts the credit of a command for the outcome.
pub fn credit(credit: test_commands::Credit) -> Credit {
    match credit {
        test_commands::Credit::Elsewhere => Credit::Elsewhere,
        test_commands::Credit::Nothing => Credit::Nothing,
        test_commands::Credit::SomeLines => Credit::SomeLines,
        test_commands::Credit::Output => Credit::Output,
        test_commands::Credit::All => Credit::All,
    }
}

/// Returns the selection of a test command, in the directory in which it runs.
fn scope(selection: Selection, folder: String) -> Scope {
    let filters = selection.filters.into_iter();
    Scope {
        program: selection.program,
        is_direct: selection.is_direct,
        is_recursive: selection.is_recursive,
        stops_early: selection.stops_early,
        is_exact: selection.is_exact,
        folder,
        places: selection.places,
        filters: filters.map(|one| (one.option, one.value)).collect(),
        widened: selection.widened,
        is_unclear: selection.is_unclear,
    }
}
