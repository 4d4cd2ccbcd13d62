//! The lines of a journal, by kind. The field names are the file format: they are added to and never change their meaning.

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
    /// SHA-256 of the line before it, as hexadecimal text.
    pub prev: String,
    /// When, in nanoseconds since 1970.
    pub time_ns: u64,
    /// The agent whose hook this was: `claude`, `codex`, `gemini`, `cursor`, `copilot`.
    pub agent: String,
    /// Tool calls in this session up to and including this line.
    pub calls: u64,
    /// What happened.
    #[serde(flatten)]
    pub record: Record,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Record {
    /// The session began, or was first seen.
    Start(Box<Start>),
    /// A person said something.
    Prompt(Prompt),
    /// The agent gave a plan.
    Plan(Plan),
    /// The agent wants to use a tool, and what was answered.
    Call(Box<Call>),
    /// A call that builds, installs or tests begins, and what it can read beside the commit.
    Building(Building),
    /// The tool has ended.
    Result(Outcome),
    /// The tool broke or was cut off.
    Failure(Outcome),
    /// The agent finished its turn.
    Stop(Stop),
    /// A subagent finished.
    SubagentStop(Stop),
    /// The agent's own settings changed.
    ConfigChange(ConfigChange),
    /// The session goes on with another model.
    ModelSwitch(ModelSwitch),
    /// The agent itself broke: its model could not be reached, or it could not go on.
    Broke(Broke),
    /// The working tree was kept as it was when the session began.
    Snapshot(Snapshot),
    /// The working tree was returned to the snapshot.
    Rollback(Rollback),
    /// Protected files were changed, and the change was taken back.
    Restored(Restored),
    /// A command that was to be supervised was not.
    Unwatched(Unwatched),
    /// The session ended.
    End(End),
    /// The lines from `from` to the one before this are being made into a bundle.
    Sealing(Sealing),
    /// They are in a bundle now; what follows belongs to another one.
    Sealed(Sealed),
    /// The line before was torn by a crash and has been taken out.
    Repaired(Repaired),
    /// Lines that had been written are gone or were exchanged, and no crash did it.
    Lost(Lost),
    /// A kind that a later version writes.
    #[serde(other)]
    Unknown,
}

impl Record {
    /// The word in `kind`.
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
    /// `startup`, `resume`, `clear`, … as the agent says; `first-seen` when the start itself was never reported.
    pub source: String,
    /// The model, where the agent tells.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The role that the whole session plays: the agent definition it was started with, where the agent tells.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// Where the agent works.
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
    /// Grants, settings and approval key as they were.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pins: Option<Pin>,
    /// Our hook stood in the agent's settings, as far as we can see them.
    pub wired: bool,
    /// Our own version.
    pub roleos: String,
    /// The capability gate was on.
    pub gate: bool,
    /// No person was there to ask.
    pub unattended: bool,
    /// `off`, `restricted`, `approved` or `autonomous`.
    pub mode: String,
    /// The policy of the mode, as the text whose hash a bundle carries; empty when the mode is off.
    pub policy: String,
    /// The policy of the mode in full; absent when the mode is off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limits: Option<Limits>,
    /// The agent's own process, by which it is known whether the session can still go on.
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
    /// The mode and limits with which the session began; none when no mode governed.
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

/// Text that was made fit for keeping.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Kept {
    /// Redacted and capped.
    pub text: String,
    /// SHA-256 of the whole text as it came.
    pub sha256: String,
    /// Bytes of the whole text.
    pub bytes: u64,
    /// Secrets that were taken out.
    #[serde(skip_serializing_if = "is_zero")]
    pub redacted: u64,
    /// Not all of it was kept.
    #[serde(skip_serializing_if = "is_false")]
    pub capped: bool,
}

/// What a person asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Prompt {
    /// The words.
    #[serde(flatten)]
    pub kept: Kept,
}

/// What the agent said it would do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Plan {
    /// The tool by which it said so: `ExitPlanMode`, `TodoWrite`, `update_plan`, …
    pub tool: String,
    /// The plan as text, one line a step.
    #[serde(flatten)]
    pub kept: Kept,
}

/// One call and its verdict.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Call {
    /// The agent's name for this call; empty when it gives none.
    pub call_id: String,
    /// The tool, by the agent's name.
    pub tool: String,
    /// Arguments, redacted and capped.
    pub input: Value,
    /// SHA-256 of the whole arguments as canonical JSON, see [`super::capture::canonical`].
    pub input_sha256: String,
    /// Secrets that were taken out.
    #[serde(skip_serializing_if = "is_zero")]
    pub redacted: u64,
    /// Not all of the arguments were kept.
    #[serde(skip_serializing_if = "is_false")]
    pub capped: bool,
    /// Where it would run.
    pub cwd: String,
    /// The subagent that made the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subagent: Option<String>,
    /// The capability gate was on.
    pub gate: bool,
    /// What was answered: `allow`, `advise`, `watch`, `ask` or `deny`.
    pub verdict: String,
    /// What the bundle says of it: `allowed`, `denied` or `confirmed`.
    pub recorded: String,
    /// Ids of all gated actions that were found.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub actions: Vec<String>,
    /// Why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<String>,
    /// Advice that was given.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Grants that let it through, by action.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub grants: Vec<String>,
    /// The refusal whose approval let it through.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approval: Option<String>,
    /// Rules of the mode and budgets that were broken.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub violations: Vec<String>,
    /// The id that the refusal showed, under which a person may approve the act.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refusal: Option<String>,
    /// SHA-256 of the act as an approval binds it, of calls with gated actions, as hexadecimal text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub act: Option<String>,
    /// How long the decision took, in microseconds.
    pub decided_us: u64,
}

/// What a build could read beside the commit from which the session started.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Building {
    /// The agent's name for the call.
    pub call_id: String,
    /// Code beside the diff that the session had written by then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub own: Option<String>,
    /// Changed files that say what is built.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<BuildFile>,
}

/// A changed file that a build may have run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct BuildFile {
    /// The path in the repository.
    pub path: String,
    /// Hashes of the lines in it that the commit does not have, where the file is a recipe.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<String>,
}

/// How a tool ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Outcome {
    /// The agent's name for the call.
    pub call_id: String,
    /// The tool.
    pub tool: String,
    /// SHA-256 of the whole result as canonical JSON.
    pub sha256: String,
    /// Whether the result looks like a failure of the tool or of the command.
    #[serde(skip_serializing_if = "is_false")]
    pub failed: bool,
    /// Exit status, where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit: Option<i64>,
    /// How long the tool took, where the agent tells.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// The command ran tests, so what it printed is evidence.
    #[serde(skip_serializing_if = "is_false")]
    pub test: bool,
    /// The working tree after a test run, as git hashes it: what was tested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tree: Option<String>,
    /// The settings that choose tests, after a test run, as one hash.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub setup: Option<String>,
    /// The real directory in which the tests ran, where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// The tests are not those of the repository around the session.
    #[serde(skip_serializing_if = "is_false")]
    pub elsewhere: bool,
    /// Why a program of the test command may not be the real one, or a script of the project no test runner.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub doubt: Option<String>,
    /// What it printed: kept of tests and of failures only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<Kept>,
}

/// The end of a turn.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Stop {
    /// The subagent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subagent: Option<String>,
    /// The last words of the agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<Kept>,
}

/// The agent's settings changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ConfigChange {
    /// Which settings, as the agent says.
    pub source: String,
    /// The file, where the agent tells.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The change was refused.
    #[serde(skip_serializing_if = "is_false")]
    pub refused: bool,
}

/// Another model.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ModelSwitch {
    /// The one before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The one after.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
}

/// The end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct End {
    /// Why, as the agent says.
    pub reason: String,
}

/// The agent could not go on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Broke {
    /// What it said.
    #[serde(flatten)]
    pub kept: Kept,
}

/// A seal has begun. Whoever finds no [`Sealed`] behind it finishes it under the same task id.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Sealing {
    /// The task id that the bundle has or gets.
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
    /// SHA-256 of the bundle; empty when there was nothing to seal.
    pub sha256: String,
    /// Number of the last line that is in it.
    pub upto: u64,
}

/// What was left of a line that a crash cut off.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Repaired {
    /// Its bytes.
    pub bytes: u64,
    /// SHA-256 of them.
    pub sha256: String,
    /// The beginning of them.
    pub text: String,
}

/// How many lines there should have been, and were.
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
