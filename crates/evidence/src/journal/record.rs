//! The lines of a journal, by kind. The field names are the file format: fields are added, and never change their
//! meaning.

use oversight::governance::{Governance, Mode};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use base::liveness::Process;
use base::pins::Pin;

mod undo;

pub use undo::{Restored, RestoredFile, Rollback, Snapshot, Unwatched};

/// One line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// Its number, from 0.
    pub seq: u64,
    /// SHA-256 of the line before it, in hexadecimal digits.
    pub prev: String,
    /// Time in nanoseconds since 1970.
    pub time_ns: u64,
    /// The agent that ran the hook: `claude`, `codex`, `gemini`, `cursor`, `copilot`.
    pub agent: String,
    /// Tool calls in this session up to and including this line.
    pub calls: u64,
    /// The event.
    #[serde(flatten)]
    pub record: Record,
}

/// An event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Record {
    /// The session began, or was first seen.
    Start(Box<Start>),
    /// A person wrote a prompt.
    Prompt(Prompt),
    /// The agent gave a plan.
    Plan(Plan),
    /// The agent wants to use a tool; holds the answer.
    Call(Box<Call>),
    /// A call that builds, installs or tests begins, and the files that it can read beside the commit.
    Building(Building),
    /// The tool has ended.
    Result(Outcome),
    /// The tool failed or was interrupted.
    Failure(Outcome),
    /// The agent finished its turn.
    Stop(Stop),
    /// A subagent finished.
    SubagentStop(Stop),
    /// The agent's own settings changed.
    ConfigChange(ConfigChange),
    /// The session goes on with another model.
    ModelSwitch(ModelSwitch),
    /// The agent itself failed: its model could not be reached, or it could not go on.
    Broke(Broke),
    /// The working tree was saved as it was when the session began.
    Snapshot(Snapshot),
    /// The working tree was reset to the snapshot.
    Rollback(Rollback),
    /// Protected files were changed, and the change was reverted.
    Restored(Restored),
    /// A command that was to be supervised was not.
    Unwatched(Unwatched),
    /// The session ended.
    End(End),
    /// The lines from `from` to the one before this are being sealed.
    Sealing(Sealing),
    /// They are in a bundle now; later lines belong to another one.
    Sealed(Sealed),
    /// The line before was torn by a crash and has been removed.
    Repaired(Repaired),
    /// Lines that had been written are gone or were exchanged, and not by a crash.
    Lost(Lost),
    /// A kind of a later version.
    #[serde(other)]
    Unknown,
}

impl Record {
    /// Returns the value of `kind`.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Start(_) => "start",
            Self::Prompt(_) => "prompt",
            Self::Plan(_) => "plan",
            Self::Call(_) => "call",
            Self::Building(_) => "building",
            Self::Result(_) => "result",
            Self::Failure(_) => "failure",
            Self::Stop(_) => "stop",
            Self::SubagentStop(_) => "subagent_stop",
            Self::ConfigChange(_) => "config_change",
            Self::ModelSwitch(_) => "model_switch",
            Self::Broke(_) => "broke",
            Self::Snapshot(_) => "snapshot",
            Self::Rollback(_) => "rollback",
            Self::Restored(_) => "restored",
            Self::Unwatched(_) => "unwatched",
            Self::End(_) => "end",
            Self::Sealing(_) => "sealing",
            Self::Sealed(_) => "sealed",
            Self::Repaired(_) => "repaired",
            Self::Lost(_) => "lost",
            Self::Unknown => "unknown",
        }
    }
}

/// The first line of a session, and again when it is resumed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Start {
    /// The id as the agent gave it; the file's name may be its hash.
    pub session: String,
    /// `startup`, `resume`, `clear`, … as the agent says; `first-seen` if the start itself was never reported.
    pub source: String,
    /// The model, if the agent states it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The role that the whole session plays: the agent definition it was started with, if the agent states it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// Working directory of the agent.
    pub cwd: String,
    /// The agent's own record of the conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transcript: Option<String>,
    /// Commit that the work starts from; absent outside of git and before the first commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_commit: Option<String>,
    /// Branch that was checked out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// Grants, settings and approval key at the start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pins: Option<Pin>,
    /// Set if our hook was in the agent's settings, as far as we can see them.
    pub wired: bool,
    /// Version of Role OS.
    pub roleos: String,
    /// Set if the capability gate was on.
    pub gate: bool,
    /// Set if no person was there to confirm.
    pub unattended: bool,
    /// `off`, `restricted`, `approved` or `autonomous`.
    pub mode: String,
    /// The policy of the mode, as the text whose hash a bundle carries; empty if the mode is off.
    pub policy: String,
    /// The policy of the mode in full; absent if the mode is off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limits: Option<Limits>,
    /// Process of the agent; while it exists, the session can go on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub process: Option<Process>,
    /// Rules that cannot be enforced in this session, each with the reason.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// Tool lists and budgets of a mode.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Limits {
    /// Tools that may be used.
    pub allowed_tools: Vec<String>,
    /// Tools that may never be used.
    pub denied_tools: Vec<String>,
    /// Budget in millionths of a US dollar.
    pub max_cost_microdollars: u32,
    /// Budget in calls.
    pub max_tool_calls: u16,
}

impl From<&Governance> for Limits {
    fn from(governance: &Governance) -> Self {
        Self {
            allowed_tools: governance.allowed_tools.clone(),
            denied_tools: governance.denied_tools.clone(),
            max_cost_microdollars: governance.max_cost_microdollars,
            max_tool_calls: governance.max_tool_calls,
        }
    }
}

impl Start {
    /// Returns the mode and limits with which the session began; `None` if no mode was in force.
    #[must_use]
    pub fn governance(&self) -> Option<Governance> {
        let limits = self.limits.clone()?;
        Some(Governance {
            mode: Mode::from_name(&self.mode)?,
            allowed_tools: limits.allowed_tools,
            denied_tools: limits.denied_tools,
            max_cost_microdollars: limits.max_cost_microdollars,
            max_tool_calls: limits.max_tool_calls,
        })
    }
}

/// Text prepared for storage.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Kept {
    /// Redacted and capped.
    pub text: String,
    /// SHA-256 of the original text.
    pub sha256: String,
    /// Length of the original text in bytes.
    pub bytes: u64,
    /// Number of secrets that were removed.
    #[serde(skip_serializing_if = "is_zero")]
    pub redacted: u64,
    /// Set if not all of it was kept.
    #[serde(skip_serializing_if = "is_false")]
    pub capped: bool,
}

/// A person's prompt.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Prompt {
    /// The text.
    #[serde(flatten)]
    pub kept: Kept,
}

/// The agent's plan.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Plan {
    /// The tool that carried it: `ExitPlanMode`, `TodoWrite`, `update_plan`, …
    pub tool: String,
    /// The plan as text, one line per step.
    #[serde(flatten)]
    pub kept: Kept,
}

/// One call and its verdict.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Call {
    /// The agent's name for this call; empty if it gives none.
    pub call_id: String,
    /// The tool, by the agent's name.
    pub tool: String,
    /// Arguments, redacted and capped.
    pub input: Value,
    /// SHA-256 of the whole arguments as canonical JSON, see [`super::capture::canonical`].
    pub input_sha256: String,
    /// Number of secrets that were removed.
    #[serde(skip_serializing_if = "is_zero")]
    pub redacted: u64,
    /// Set if not all of the arguments were kept.
    #[serde(skip_serializing_if = "is_false")]
    pub capped: bool,
    /// Directory in which it would run.
    pub cwd: String,
    /// The subagent that made the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subagent: Option<String>,
    /// Set if the capability gate was on.
    pub gate: bool,
    /// The answer: `allow`, `advise`, `watch`, `ask` or `deny`.
    pub verdict: String,
    /// The check in the bundle: `allowed`, `denied` or `confirmed`.
    pub recorded: String,
    /// Ids of all gated actions that were found.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub actions: Vec<String>,
    /// Reasons of the verdict.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<String>,
    /// Advice to the agent.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Grants that allowed it, by action.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub grants: Vec<String>,
    /// The refusal whose approval allowed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approval: Option<String>,
    /// Rules of the mode and budgets that were broken.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub violations: Vec<String>,
    /// The id that the refusal showed, under which a person may approve the act.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refusal: Option<String>,
    /// SHA-256 of the act as an approval binds it, for calls with gated actions, in hexadecimal digits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub act: Option<String>,
    /// Duration of the decision, in microseconds.
    pub decided_us: u64,
}

/// The files that a build could read beside the commit from which the session started.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Building {
    /// The agent's name for the call.
    pub call_id: String,
    /// Code beside the diff that the session had written by then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub own: Option<String>,
    /// Changed build files.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<BuildFile>,
}

/// A changed file that a build may have run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct BuildFile {
    /// The path in the repository.
    pub path: String,
    /// Hashes of the lines in it that are not in the commit, if the file is a recipe.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<String>,
}

/// The end of a tool.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Outcome {
    /// The agent's name for the call.
    pub call_id: String,
    pub tool: String,
    /// SHA-256 of the whole result as canonical JSON.
    pub sha256: String,
    /// Set if the result looks like a failure of the tool or of the command.
    #[serde(skip_serializing_if = "is_false")]
    pub failed: bool,
    /// Exit status, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit: Option<i64>,
    /// Duration of the tool, if the agent states it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// Set if the command ran tests, so that its output is evidence.
    #[serde(skip_serializing_if = "is_false")]
    pub test: bool,
    /// The working tree after a test run, as git hashes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tree: Option<String>,
    /// The settings that choose tests, after a test run, as one hash.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub setup: Option<String>,
    /// The real directory in which the tests ran, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// Set if the tests are not those of the repository around the session.
    #[serde(skip_serializing_if = "is_false")]
    pub elsewhere: bool,
    /// Why a program of the test command may not be the real one, or a script of the project may not be a test runner.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub doubt: Option<String>,
    /// Its output, kept for tests and failures only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<Kept>,
}

/// The end of a turn.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Stop {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subagent: Option<String>,
    /// Final message of the agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<Kept>,
}

/// The agent's settings changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ConfigChange {
    /// Source of the settings, as the agent says.
    pub source: String,
    /// The file, if the agent states it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Set if the change was refused.
    #[serde(skip_serializing_if = "is_false")]
    pub refused: bool,
}

/// Another model.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ModelSwitch {
    /// The previous model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The next model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
}

/// The end of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct End {
    /// Reason, as the agent says.
    pub reason: String,
}

/// A failure of the agent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Broke {
    /// Its message.
    #[serde(flatten)]
    pub kept: Kept,
}

/// A seal has begun. If no [`Sealed`] follows, the next seal finishes it under the same task id.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Sealing {
    /// The task id of the bundle.
    pub task_id: String,
    /// Number of the first line that goes into it.
    pub from: u64,
}

/// A seal is done.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Sealed {
    /// The task id of the bundle.
    pub task_id: String,
    /// SHA-256 of the bundle; empty if there was nothing to seal.
    pub sha256: String,
    /// Number of the last line that is in it.
    pub upto: u64,
}

/// The rest of a line that a crash cut off.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Repaired {
    /// Its length in bytes.
    pub bytes: u64,
    /// Its SHA-256.
    pub sha256: String,
    /// Its beginning.
    pub text: String,
}

/// A loss of lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Lost {
    /// Lines that had been written.
    pub written: u64,
    /// Lines that were found.
    pub found: u64,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature is the serialiser's"
)]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature is the serialiser's"
)]
fn is_false(flag: &bool) -> bool {
    !*flag
}
