//! The lines of a journal, by kind. The field names are the file format: they are added to and never change their meaning.

use serde::{Deserialize, Serialize};
use serde_json::Value;

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
    /// The session ended.
    End(End),
    /// The line before was torn by a crash and has been taken out.
    Repaired(Repaired),
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
            Self::Result(_) => "result",
            Self::Failure(_) => "failure",
            Self::Stop(_) => "stop",
            Self::SubagentStop(_) => "subagent_stop",
            Self::ConfigChange(_) => "config_change",
            Self::ModelSwitch(_) => "model_switch",
            Self::End(_) => "end",
            Self::Repaired(_) => "repaired",
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
    /// SHA-256 of the grants and the settings as they were.
    pub pins: Pins,
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
}

/// Hashes of what decides, as hexadecimal text; absent when the file was.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Pins {
    /// `.claude/role-os/capabilities.json`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grants: Option<String>,
    /// `.role-os/config.toml`, or what `ROLEOS_CONFIG` names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config: Option<String>,
    /// `.claude/role-os/tool-contracts.json`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contracts: Option<String>,
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
    /// What was answered: `allow`, `advise`, `ask` or `deny`.
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
    /// A rule of the mode that was broken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub violation: Option<String>,
    /// What a person may approve, when this was refused or asked about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub act: Option<PendingAct>,
    /// How long the decision took, in microseconds.
    pub decided_us: u64,
}

/// An act that was not let through, bound to where and on what it would have worked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PendingAct {
    /// The name that the refusal shows: eight characters.
    pub id: String,
    /// SHA-256 over programs, normalised words and directories of the act, as hexadecimal text.
    pub fingerprint: String,
    /// The directory.
    pub directory: String,
    /// `HEAD` of the repository there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
    /// Names and addresses of the repository's remotes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub remotes: Vec<String>,
    /// The branch that is checked out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
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
