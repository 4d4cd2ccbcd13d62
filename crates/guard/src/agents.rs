//! The coding agents whose hooks call us: their events, their answer formats, and their behaviour when a hook fails.
//!
//! One file and one [`Dialect`] per agent. This is only translation: events become an [`Event`], an [`Answer`] becomes
//! the bytes and the exit code of that agent. The answer is decided elsewhere.

mod claude;
mod codex;
mod copilot;
mod cursor;
mod fields;
mod gemini;

use std::ffi::OsString;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use base::clean;

pub use fields::BadEvent;

/// Longest text that is put into an answer; Claude Code takes 10,000 characters.
const MAX_TEXT: usize = 9_000;

/// A supported agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Agent {
    Claude,
    /// Codex CLI.
    Codex,
    Gemini,
    Cursor,
    /// GitHub Copilot CLI and cloud agent.
    Copilot,
}

impl Agent {
    pub const ALL: [Self; 5] = [
        Self::Claude,
        Self::Codex,
        Self::Gemini,
        Self::Cursor,
        Self::Copilot,
    ];

    /// Returns the name used on the command line and in journals.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.dialect().name
    }

    /// Returns the agent of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|agent| agent.name() == name)
    }

    /// Returns the protocol of the agent.
    #[must_use]
    pub fn dialect(self) -> &'static Dialect {
        match self {
            Self::Claude => &claude::DIALECT,
            Self::Codex => &codex::DIALECT,
            Self::Gemini => &gemini::DIALECT,
            Self::Cursor => &cursor::DIALECT,
            Self::Copilot => &copilot::DIALECT,
        }
    }
}

/// Protocol of an agent, and its behaviour.
#[derive(Debug)]
pub struct Dialect {
    /// Name on the command line.
    pub name: &'static str,
    /// Name for people.
    pub label: &'static str,
    /// Outcome of a call when our hook fails.
    pub when_hook: WhenHook,
    /// Ways around the hook that the agent itself leaves open.
    pub holes: &'static [&'static str],
    /// Set if this dialect was tried against the real program, and not only written after its documentation.
    pub tried: bool,
    read: fn(&Value, Option<&str>) -> Result<Event, BadEvent>,
    reply: fn(&Event, &Answer) -> Reply,
    can_ask: fn(&Event) -> bool,
    unattended: Unattended,
}

/// Predicate on environment variables: no person attends the session.
type Unattended = fn(&dyn Fn(&str) -> Option<OsString>) -> bool;

impl Dialect {
    /// Parses one event; `named` is the event's name if the agent does not put it into the event itself.
    ///
    /// # Errors
    /// It is not an event of this agent.
    pub fn read(&self, event: &Value, named: Option<&str>) -> Result<Event, BadEvent> {
        (self.read)(event, named)
    }

    /// Formats an answer for the agent.
    #[must_use]
    pub fn reply(&self, event: &Event, answer: &Answer) -> Reply {
        (self.reply)(event, &answer.harmless())
    }

    /// Puts an answer in our own words into the agent's form. Nothing in it can be a secret or act on a terminal, and
    /// looking for that costs a tenth of a call.
    pub(crate) fn reply_with_own_words(&self, event: &Event, answer: &Answer) -> Reply {
        (self.reply)(event, answer)
    }

    /// Puts an answer into the agent's own form, together with a note for the model and the person where the call
    /// proceeds.
    #[must_use]
    pub fn reply_with(&self, event: &Event, answer: &Answer, note: Option<&str>) -> Reply {
        let Some(note) = note else {
            return self.reply(event, answer);
        };
        let advice = match answer {
            Answer::Advise(text) => format!("{text} {note}"),
            Answer::Proceed | Answer::Tell(_) => note.to_owned(),
            _ => return self.reply(event, answer),
        };
        let news = match answer {
            Answer::Tell(text) => format!("{text}\n{note}"),
            _ => note.to_owned(),
        };
        let takes_context = matches!(
            event.kind,
            Kind::SessionStart
                | Kind::Prompt
                | Kind::BeforeTool
                | Kind::AfterTool
                | Kind::ToolFailed
        );
        let told = self.reply(event, &Answer::Tell(news));
        match takes_context {
            true => self.reply(event, &Answer::Advise(advice)).joined(&told),
            false => told,
        }
    }

    /// Returns `true` if the agent can ask its person at this event.
    #[must_use]
    pub fn can_ask(&self, event: &Event) -> bool {
        (self.can_ask)(event)
    }

    /// Returns `true` if the environment shows that no person attends.
    pub fn unattended(&self, variable: impl Fn(&str) -> Option<OsString>) -> bool {
        let automatic = |name| variable(name).is_some_and(|value| value == "true" || value == "1");
        automatic("CI") || automatic("GITHUB_ACTIONS") || (self.unattended)(&variable)
    }
}

/// Outcome of a tool call when our hook fails.
#[derive(Clone, Copy, Debug)]
pub struct WhenHook {
    /// The hook succeeds without output. This is how we let a call proceed.
    pub is_silent: Then,
    /// The hook does not answer in time.
    pub is_slow: Then,
    /// The hook ends with another exit code, or by a signal.
    pub crashes: Then,
    /// The hook does not exist.
    pub is_missing: Then,
}

/// Reaction of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// The call runs, or is decided by the agent's own rules.
    Proceeds(&'static str),
    /// The call does not run.
    Blocks(&'static str),
}

impl Then {
    /// Returns `true` if the call is stopped.
    #[must_use]
    pub fn blocks(self) -> bool {
        matches!(self, Self::Blocks(_))
    }

    /// Returns the circumstances; may be empty.
    #[must_use]
    pub fn note(self) -> &'static str {
        match self {
            Self::Proceeds(note) | Self::Blocks(note) => note,
        }
    }
}

/// Kind of an event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// A session began or was resumed.
    SessionStart,
    /// A person wrote a prompt.
    Prompt,
    /// A tool is about to be used: the one event that can be refused.
    BeforeTool,
    /// A tool has ended.
    AfterTool,
    /// A tool has failed.
    ToolFailed,
    /// The agent has finished its turn.
    Stop,
    /// A subagent has finished.
    SubagentStop,
    /// The session is over.
    SessionEnd,
    /// The agent's settings have changed.
    ConfigChange,
    /// The session goes on with another model.
    ModelSwitch,
    /// An event that we do not use.
    #[default]
    Other,
}

/// One event of any agent. Unknown fields are empty.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Event {
    /// Kind of the event.
    pub kind: Kind,
    /// Name of the event in the agent.
    pub name: String,
    pub session: Option<String>,
    /// Working directory of the agent.
    pub cwd: Option<String>,
    pub model: Option<String>,
    /// The agent's own record of the conversation.
    pub transcript: Option<String>,
    /// The subagent that caused it.
    pub subagent: Option<String>,
    pub tool: String,
    /// Arguments of the tool.
    pub input: Value,
    /// The agent's id of the call.
    pub call_id: String,
    /// Result of the tool.
    pub response: Value,
    /// Duration of the tool.
    pub duration_ms: Option<u64>,
    /// A prompt, a message of the agent, or an error.
    pub text: Option<String>,
    /// Reason of a session's start or end, or the changed settings.
    pub source: Option<String>,
    /// The file that changed.
    pub file: Option<String>,
    /// The model before a switch.
    pub from_model: Option<String>,
}

/// Answer to the agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    Proceed,
    /// Proceed, with a note for the model.
    Advise(String),
    /// Proceed, with a note for the person.
    Tell(String),
    /// Ask a person.
    Ask(String),
    /// Refuse, with the reason.
    Deny(String),
    /// Refuse because no decision was possible, with the reason. Needs only an exit code to be understood.
    Block(String),
}

impl Answer {
    /// Returns the answer with text that every agent accepts, and that a terminal only displays. Quoted parts may come
    /// from an agent.
    fn harmless(&self) -> Self {
        let harmless = |text: &String| {
            let text = redact::text(text).text;
            let text = clean::text(text.as_bytes());
            let head = text.get(..text.floor_char_boundary(MAX_TEXT));
            match head.unwrap_or_default() {
                head if head.len() < text.len() => format!("{head}…"),
                head => head.to_owned(),
            }
        };
        match self {
            Self::Proceed => Self::Proceed,
            Self::Advise(text) => Self::Advise(harmless(text)),
            Self::Tell(text) => Self::Tell(harmless(text)),
            Self::Ask(text) => Self::Ask(harmless(text)),
            Self::Deny(text) => Self::Deny(harmless(text)),
            Self::Block(text) => Self::Block(harmless(text)),
        }
    }
}

/// Output for the agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reply {
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
    /// Exit code: 0 proceed, 2 block.
    pub code: u8,
    /// Set if standard output must reach the agent, or the call would run: if it cannot be written, this goes to
    /// standard error, and the exit code is 2.
    pub otherwise: Option<String>,
}

impl Reply {
    /// Returns an empty reply.
    fn proceed() -> Self {
        Self::default()
    }

    /// Returns a reply with one JSON value on standard output.
    fn json(value: &Value) -> Self {
        Self {
            stdout: format!("{value}\n"),
            ..Self::default()
        }
    }

    /// Combines two replies: the keys of both JSON objects, and the standard error of both.
    fn joined(self, other: &Self) -> Self {
        let parse = |text: &str| serde_json::from_str::<Value>(text).ok();
        let stdout = match (parse(&self.stdout), parse(&other.stdout)) {
            (Some(Value::Object(mut own)), Some(Value::Object(more))) => {
                own.extend(more);
                format!("{}\n", Value::Object(own))
            }
            (None, Some(_)) => other.stdout.clone(),
            _ => self.stdout,
        };
        Self {
            stdout,
            stderr: format!("{}{}", self.stderr, other.stderr),
            ..self
        }
    }

    /// Returns a reply with one JSON value that asks a question.
    fn question(value: &Value, reason: &str) -> Self {
        let text = format!("roleos could not ask about this call, so it is blocked. {reason}\n");
        Self {
            otherwise: Some(text),
            ..Self::json(value)
        }
    }

    /// Returns a refusal that the agent shows as one, and not as a failed hook.
    fn deny(value: &Value, reason: &str) -> Self {
        Self {
            otherwise: Some(format!("{reason}\n")),
            ..Self::json(value)
        }
    }

    /// Returns a refusal without JSON.
    fn block(reason: &str) -> Self {
        Self {
            stderr: format!("{reason}\n"),
            code: 2,
            ..Self::default()
        }
    }

    /// Returns a refusal as JSON and by the exit code, since agents differ in which they evaluate first.
    fn block_with(value: &Value, reason: &str) -> Self {
        Self {
            stdout: format!("{value}\n"),
            ..Self::block(reason)
        }
    }
}

#[cfg(test)]
mod tests;
