//! The lines of a journal that go into one bundle, put together: each call with its result, and what was around them.

use oversight::tools::shell_command;
use witness::outcome::Run;
use witness::policy::Check;

use crate::journal::record::{Call, Kept, Line, Outcome, Process, Record, Rollback, Start};

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

/// One call.
#[derive(Clone, Debug)]
pub(super) struct CallStory<'a> {
    pub(super) call: &'a Call,
    pub(super) time_ns: u64,
    pub(super) result: Option<(&'a Outcome, u64)>,
}

impl CallStory<'_> {
    /// What the bundle says of it. A question that nobody answered with yes is a refusal.
    pub(super) fn check(&self) -> Check {
        match &*self.call.recorded {
            "denied" => Check::Denied,
            _ if self.call.verdict == "ask" && self.result.is_none() => Check::Denied,
            "confirmed" => Check::Confirmed,
            _ if self.call.approval.is_some() => Check::Confirmed,
            _ => Check::Allowed,
        }
    }

    /// How long it took: what the agent says, else the time between the two events.
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

    /// The command, when the tool is a shell.
    pub(super) fn command(&self) -> Option<String> {
        shell_command(&self.call.tool, &self.call.input)
    }
}

/// What happened in one stretch of a session.
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
    pub(super) last_words: Option<&'a Kept>,
    pub(super) model: Option<&'a str>,
    /// Why the agent said that the session ended; none when it never did.
    pub(super) end: Option<&'a str>,
    /// What the agent said when it broke, when nothing went on after that.
    pub(super) broke: Option<&'a Kept>,
    /// A turn was begun and not finished.
    pub(super) open_turn: bool,
    pub(super) redacted: u64,
    pub(super) capped: u64,
    /// Lines that a crash had torn.
    pub(super) repaired: u64,
}

impl<'a> Story<'a> {
    /// Puts the lines from number `from` up to, and without, `upto` together. `lines` are those of the whole journal.
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
            Record::End(end) => self.end = Some(&end.reason),
            Record::Repaired(_) => self.repaired += 1,
            Record::SubagentStop(_)
            | Record::ConfigChange(_)
            | Record::Snapshot(_)
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

    /// Finds the call by its id, or the last one of that tool that waits.
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

    /// Nothing happened that a bundle could tell.
    pub(super) fn is_empty(&self) -> bool {
        self.prompts.is_empty() && self.calls.is_empty() && self.rollbacks.is_empty()
    }

    /// Calls that repeat a failed one, word by word.
    pub(super) fn retries(&self) -> usize {
        let mut failed: Vec<(&str, &str)> = Vec::new();
        let mut retries = 0;
        for one in &self.calls {
            let key = (&*one.call.tool, &*one.call.input_sha256);
            retries += usize::from(failed.contains(&key));
            if one.failed() && !failed.contains(&key) {
                failed.push(key);
            }
        }
        retries
    }

    /// Test runs, each with the place of its call.
    pub(super) fn runs(&self) -> Vec<(usize, Run)> {
        let calls = self.calls.iter().enumerate();
        calls
            .filter_map(|(place, one)| {
                let (result, _) = one.result.filter(|(result, _)| result.test)?;
                let output = result.output.as_ref();
                Some((
                    place,
                    Run {
                        command: one.command().unwrap_or_default(),
                        output: output.map(|kept| kept.text.clone().into_bytes())?,
                        failed: result.failed,
                        exit: result.exit,
                    },
                ))
            })
            .collect()
    }

    /// Calls after `place` that changed a file.
    pub(super) fn edits_after(&self, place: usize) -> usize {
        let later = self.calls.iter().skip(place + 1);
        later
            .filter(|one| EDITORS.contains(&&*one.call.tool))
            .filter(|one| one.result.is_some() && !one.failed())
            .count()
    }

    /// The last thing that a tool failed with and that no later call of the same tool put right.
    pub(super) fn last_failure(&self) -> Option<&CallStory<'a>> {
        let place = self.calls.iter().rposition(CallStory::failed)?;
        let failed = self.calls.get(place)?;
        let put_right =
            self.calls.iter().skip(place + 1).any(|later| {
                later.call.input_sha256 == failed.call.input_sha256 && !later.failed()
            });
        (!put_right).then_some(failed)
    }

    /// Why the agent broke, in words, if it did.
    pub(super) fn breakdown(&self) -> Option<String> {
        if let Some(broke) = self.broke {
            return Some(format!("The agent broke: {}", broke.text));
        }
        (self.end.is_none() && self.open_turn)
            .then(|| "The session has no end: it was sealed in the middle of a turn.".to_owned())
    }

    /// The agent's process.
    pub(super) fn process(&self) -> Option<Process> {
        self.start.and_then(|start| start.process)
    }
}
