//! Builds a bundle from a story: sections, calls with their cost, and facts. The outcome is in
//! [`ending`](super::ending).

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use witness::builder::{Builder, Refused};
use witness::cost::UNKNOWN;
use witness::extension::{Rollback, field};
use witness::policy::{Check, Policy};
use witness::trace::{Call, MAX_CALLS};
use witness::wire::{Mode, TaskId};

use super::diff::{self, Diff};
use super::rollback::NOT_COVERED;
use super::spent::Spent;
use super::story::Story;
use super::transcript;
use crate::journal::record::Start;
use base::config::Config;
use base::prices::Prices;
use base::repository::Location;

/// Bytes of a diff that are kept.
const MAX_DIFF: usize = 16 * 1024 * 1024;

/// Bytes of a fact that are kept.
const MAX_FACT: usize = 4096;

/// Refused or gated calls that the facts describe.
const MAX_TOLD: usize = 32;

/// Subagents that the facts name.
const MAX_SUBAGENTS: usize = 32;

/// Input of a bundle, beside the story.
pub(super) struct Sources<'a> {
    pub(super) config: &'a Config,
    pub(super) task_id: TaskId,
    pub(super) created_ns: u64,
    /// SHA-256 of the journal's last line in the bundle, and whether the chain held.
    pub(super) journal: (String, bool),
    /// Sessions that worked in the same directory at the same time.
    pub(super) others: Vec<String>,
}

/// Builds the bundle.
///
/// # Errors
/// The format cannot hold it.
pub(super) fn draft(story: &Story<'_>, sources: &Sources<'_>) -> Result<Builder, Refused> {
    let policy = policy(story.start);
    let mut draft = Draft {
        builder: Builder::new(sources.task_id, policy, sources.created_ns),
        story,
        sources,
        notes: Vec::new(),
        broke: None,
    };
    let spent = draft.spent();
    draft.sections();
    draft.calls(&spent)?;
    let diff = draft.diff();
    draft.ending(diff.as_ref());
    draft.facts();
    Ok(draft.builder)
}

/// Returns the policy in force: of the mode, or autonomous without limits if there was no mode.
fn policy(start: Option<&Start>) -> Policy {
    let mode = match start.map(|start| &*start.mode) {
        Some("restricted") => Mode::Restricted,
        Some("approved") => Mode::Approved,
        _ => Mode::Autonomous,
    };
    match start.and_then(|start| start.limits.as_ref()) {
        Some(limits) => Policy {
            mode,
            allowed_tools: limits.allowed_tools.clone(),
            denied_tools: limits.denied_tools.clone(),
            max_cost_microdollars: limits.max_cost_microdollars,
            max_tool_calls: limits.max_tool_calls,
        },
        None => Policy {
            mode,
            allowed_tools: Vec::new(),
            denied_tools: Vec::new(),
            max_cost_microdollars: u32::MAX,
            max_tool_calls: u16::MAX,
        },
    }
}

pub(super) struct Draft<'a> {
    pub(super) builder: Builder,
    pub(super) story: &'a Story<'a>,
    pub(super) sources: &'a Sources<'a>,
    /// Notes about omitted or masked data.
    notes: Vec<String>,
    /// A failure at the end of the agent's own record.
    pub(super) broke: Option<String>,
}

impl Draft<'_> {
    /// States a fact, cut to its limit.
    pub(super) fn fact(&mut self, name: &str, value: &str) {
        let end = value.floor_char_boundary(MAX_FACT);
        self.builder
            .provenance(name, value.get(..end).unwrap_or_default());
    }

    fn sections(&mut self) {
        if let Some(prompt) = self.story.prompts.first() {
            self.builder.spec(prompt.text.clone());
        }
        if let Some(plan) = self.story.plan {
            self.builder.plan(plan.text.clone());
        }
    }

    fn calls(&mut self, spent: &Spent) -> Result<(), Refused> {
        let story = self.story;
        for (place, one) in story.calls.iter().take(MAX_CALLS).enumerate() {
            let (cost, tokens) = spent.of(place);
            let call = Call {
                action: one.call.tool.as_bytes(),
                check: one.check(),
                args_hash: short(&one.call.input_sha256),
                result_hash: one
                    .result
                    .map_or([0; 8], |(result, _)| short(&result.sha256)),
                latency_ms: one.latency_ms(),
                cost_microdollars: narrow(cost),
                tokens: narrow(tokens),
            };
            self.builder.record_judged(&call, &one.call.violations)?;
        }
        if story.calls.len() > MAX_CALLS {
            let more = story.calls.len() - MAX_CALLS;
            self.notes.push(format!("{more} calls did not fit"));
        }
        self.tell_gated();
        for _ in 0..story.retries(&self.sources.config.oversight.test_commands) {
            self.builder.retry();
        }
        if !story.rollbacks.is_empty() {
            self.fact("rollback_not_covered", NOT_COVERED);
        }
        self.tell_restored();
        for (place, rollback) in story.rollbacks.iter().enumerate() {
            if let Some(problem) = &rollback.problem {
                self.fact(&format!("rollback {} problem", place + 1), problem);
            }
            self.builder.rollback(Rollback {
                restored: rollback.restored,
                wanted: rollback.wanted.clone(),
                found: rollback.found.clone(),
                kept: rollback.kept.clone(),
            });
        }
        Ok(())
    }

    /// States the protected files that were changed and restored, and those that could not be.
    fn tell_restored(&mut self) {
        let restored = &self.story.restored;
        if restored.is_empty() {
            return;
        }
        self.fact("protected_files_restored", &restored.len().to_string());
        for (place, file) in restored.iter().take(MAX_TOLD).enumerate() {
            let when = if file.during_call {
                "during a tool call"
            } else {
                "between tool calls"
            };
            let end = match &file.problem {
                Some(problem) => format!("not put back: {problem}"),
                None if file.mended => "our hook put back".to_owned(),
                None => "put back".to_owned(),
            };
            let text = format!("{}: changed {when}, {end}", file.path);
            self.fact(&format!("protected file {}", place + 1), &text);
        }
    }

    /// Describes refused and gated calls in words for readers of the replay: the trace has only hashes.
    fn tell_gated(&mut self) {
        let calls = self.story.calls.iter().enumerate();
        let gated = calls
            .filter(|(_, one)| one.check() == Check::Denied || !one.call.actions.is_empty())
            .take(MAX_TOLD);
        for (place, one) in gated {
            let mut text = format!("{}: {}", one.check().name(), one.call.tool);
            if let Some(command) = one.command() {
                let _ = write!(text, " `{command}`");
            }
            if !one.call.actions.is_empty() {
                let _ = write!(text, " ({})", one.call.actions.join(", "));
            }
            self.fact(&format!("call {}", place + 1), &text);
        }
    }

    /// Returns tokens and cost of the calls, from the agent's own record.
    fn spent(&mut self) -> Spent {
        let path = self.story.start.and_then(|start| start.transcript.clone());
        let read = path.map(|path| transcript::read(&self.story.agent, Path::new(&path)));
        let transcript = match read {
            Some(Ok(transcript)) => transcript,
            Some(Err(why)) => return self.unknown_usage(&why.to_string()),
            None => return self.unknown_usage("the agent names no record of the session"),
        };
        self.broke = transcript.broken_at_the_end(self.story.began_ns);
        let prices = Prices::new(&self.sources.config.oversight.prices);
        let spent = Spent::new(self.story, &transcript, prices);
        self.fact(field::USAGE, &spent.usage_text());
        self.fact(field::COST, &spent.cost_text());
        if let Some(unpriced) = spent.unpriced_text() {
            self.budget_not_enforced(&unpriced);
        }
        if let Some(model) = spent.model() {
            self.fact(field::MODEL, model);
        }
        spent
    }

    fn unknown_usage(&mut self, why: &str) -> Spent {
        self.fact(field::USAGE, &format!("{UNKNOWN}: {why}"));
        self.budget_not_enforced(why);
        Spent::default()
    }

    /// States that the session had a cost budget that could not be enforced.
    fn budget_not_enforced(&mut self, why: &str) {
        let limits = self.story.start.and_then(|start| start.limits.as_ref());
        if limits.is_some_and(|limits| limits.max_cost_microdollars < u32::MAX) {
            self.fact("cost_budget", &format!("not enforced: {why}"));
        }
    }

    fn diff(&mut self) -> Option<Diff> {
        let start = self.story.start?;
        let Some(location) = Location::around(Path::new(&start.cwd)) else {
            self.fact("diff", "none: the session was not in a git repository");
            return None;
        };
        match diff::take(&location.top, start.base_commit.as_deref(), MAX_DIFF) {
            Ok(diff) => {
                self.builder.diff(diff.text.clone());
                if diff.left_out > 0 {
                    let (left_out, files) = (diff.left_out, diff.files);
                    self.notes
                        .push(format!("{left_out} of {files} files did not fit the diff"));
                }
                if diff.redacted > 0 {
                    let count = diff.redacted;
                    self.notes.push(format!(
                        "{count} secrets masked in the diff, so it may not apply as it stands"
                    ));
                }
                if self.story.end.is_none() {
                    self.fact("diff", "taken when the session was found to be over");
                }
                Some(diff)
            }
            Err(why) => {
                self.fact("diff", &format!("none: {why}"));
                None
            }
        }
    }

    /// States the origin of the bundle and its omissions.
    fn facts(&mut self) {
        let story = self.story;
        self.fact(field::AGENT, &story.agent);
        if let Some(start) = story.start {
            self.fact(field::SESSION, &start.session);
            self.fact("roleos", &start.roleos);
            self.fact("gate", if start.gate { "on" } else { "off" });
            if !start.mode.is_empty() {
                self.fact("mode", &start.mode);
            }
            if let Some(role) = &start.role {
                self.fact(field::ROLE, role);
            }
            if let Some(commit) = &start.base_commit {
                self.fact(field::BASE_COMMIT, commit);
            }
            if let Some(branch) = &start.branch {
                self.fact("branch", branch);
            }
        }
        if let Some(model) = story.model {
            self.fact(field::MODEL, model);
        }
        let subagents = story.calls.iter();
        let subagents: BTreeSet<_> = subagents
            .filter_map(|one| one.call.subagent.as_deref())
            .collect();
        if !subagents.is_empty() {
            let names: Vec<_> = subagents.into_iter().take(MAX_SUBAGENTS).collect();
            self.fact("subagents", &names.join(", "));
        }
        self.fact("ended", story.end.unwrap_or("never said"));
        if story.prompts.len() > 1 {
            self.fact("prompts", &story.prompts.len().to_string());
        }
        let (hash, whole) = &self.sources.journal;
        self.fact("journal", hash);
        if !whole {
            self.fact("journal_problem", "a line was changed, lost or cut off");
        } else if story.repaired > 0 {
            self.fact(
                "journal_problem",
                "a line was cut off by a crash and taken out",
            );
        }
        if !self.sources.others.is_empty() {
            let others = self.sources.others.join(", ");
            self.fact(
                "beside",
                &format!("the diff may hold work of sessions {others}"),
            );
        }
        if story.redacted > 0 {
            self.notes
                .push(format!("{} secrets masked", story.redacted));
        }
        if story.capped > 0 {
            self.notes.push(format!("{} texts shortened", story.capped));
        }
        if !self.notes.is_empty() {
            let notes = self.notes.join("; ");
            self.fact(field::REDACTED, &notes);
        }
    }
}

/// Returns the first eight bytes of a hash in hexadecimal digits.
fn short(sha256: &str) -> [u8; 8] {
    let bytes = hex::decode(sha256).unwrap_or_default();
    bytes.first_chunk::<8>().copied().unwrap_or_default()
}

fn narrow(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
