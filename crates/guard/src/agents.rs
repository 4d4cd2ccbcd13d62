//! The coding agents whose hooks call us: what they say, what they understand, and what they do when a hook fails them.
//!
//! One file an agent, one [`Dialect`] each. Here is translation only: events become an [`Event`], an [`Answer`] becomes
//! the bytes and the exit code of that agent. What to answer is decided elsewhere.

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

/// An agent that we speak with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Agent {
    /// Claude Code.
    Claude,
    /// Codex CLI.
    Codex,
    /// Gemini CLI.
    Gemini,
    /// Cursor.
    Cursor,
    /// GitHub Copilot CLI and cloud agent.
    Copilot,
}

impl Agent {
    /// Every agent.
    pub const ALL: [Self; 5] = [
        Self::Claude,
        Self::Codex,
        Self::Gemini,
        Self::Cursor,
        Self::Copilot,
    ];

    /// As it is named on the command line and in journals.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.dialect().name
    }

    /// The agent of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|agent| agent.name() == name)
    }

    /// How to speak with it.
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

/// How to speak with an agent, and what to expect of it.
#[derive(Debug)]
pub struct Dialect {
    /// As on the command line.
    pub name: &'static str,
    /// For people.
    pub label: &'static str,
    /// What becomes of a call when our hook does not do its part.
    pub when_hook: WhenHook,
    /// Ways around the hook that the agent itself leaves open.
    pub holes: &'static [&'static str],
    /// Whether this dialect was tried against the real program, or is written after its documentation alone.
    pub tried: bool,
    read: fn(&Value, Option<&str>) -> Result<Event, BadEvent>,
    reply: fn(&Event, &Answer) -> Reply,
    can_ask: fn(&Event) -> bool,
    unattended: Unattended,
}

/// Whether nobody is there, by the variables of the environment.
type Unattended = fn(&dyn Fn(&str) -> Option<OsString>) -> bool;

impl Dialect {
    /// Reads one event; `named` is the event's name where the agent does not put it into the event itself.
    ///
    /// # Errors
    /// It is no event of this agent.
    pub fn read(&self, event: &Value, named: Option<&str>) -> Result<Event, BadEvent> {
        (self.read)(event, named)
    }

    /// Puts an answer into the agent's own form.
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

    /// Whether the agent can put a question to its person at this event.
    #[must_use]
    pub fn can_ask(&self, event: &Event) -> bool {
        (self.can_ask)(event)
    }

    /// Whether the environment tells that no person is there.
    pub fn unattended(&self, variable: impl Fn(&str) -> Option<OsString>) -> bool {
        let automatic = |name| variable(name).is_some_and(|value| value == "true" || value == "1");
        automatic("CI") || automatic("GITHUB_ACTIONS") || (self.unattended)(&variable)
    }
}

/// What becomes of a tool call when our hook does not do its part.
#[derive(Clone, Copy, Debug)]
pub struct WhenHook {
    /// It ends well and says nothing. This is how we let a call proceed.
    pub is_silent: Then,
    /// It does not answer in time.
    pub is_slow: Then,
    /// It ends with another exit code, or by a signal.
    pub crashes: Then,
    /// It is not there.
    pub is_missing: Then,
}

/// What an agent then does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// The call runs, or is put to the agent's own rules.
    Proceeds(&'static str),
    /// The call does not run.
    Blocks(&'static str),
}

impl Then {
    /// Whether the call is stopped.
    #[must_use]
    pub fn blocks(self) -> bool {
        matches!(self, Self::Blocks(_))
    }

    /// Under which circumstances; may be empty.
    #[must_use]
    pub fn note(self) -> &'static str {
        match self {
            Self::Proceeds(note) | Self::Blocks(note) => note,
        }
    }
}

/// What happened in an agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// A session began or goes on.
    SessionStart,
    /// A person said something.
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
    /// Something that we do not use.
    #[default]
    Other,
}

/// One event, whichever agent it comes from. What an agent does not tell is empty.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Event {
    /// What happened.
    pub kind: Kind,
    /// The agent's name for it.
    pub name: String,
    /// The session.
    pub session: Option<String>,
    /// Where the agent works.
    pub cwd: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// The agent's own record of the conversation.
    pub transcript: Option<String>,
    /// The subagent in which it happened.
    pub subagent: Option<String>,
    /// The tool.
    pub tool: String,
    /// What the tool is given.
    pub input: Value,
    /// The agent's name for the call.
    pub call_id: String,
    /// What the tool gave back.
    pub response: Value,
    /// How long the tool took.
    pub duration_ms: Option<u64>,
    /// What a person or the agent said, or an error.
    pub text: Option<String>,
    /// Why a session began or ended, or which settings changed.
    pub source: Option<String>,
    /// The file that changed.
    pub file: Option<String>,
    /// The model before a switch.
    pub from_model: Option<String>,
}

/// What to tell the agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Go on.
    Proceed,
    /// Go on; a note for the model.
    Advise(String),
    /// Go on; a note for the person.
    Tell(String),
    /// Let a person decide.
    Ask(String),
    /// No, and why.
    Deny(String),
    /// We could not decide, so the call must not run, and why. Needs no more than an exit code to be understood.
    Block(String),
}

impl Answer {
    /// The same with a text that every agent takes, and that does nothing on a terminal but be read. What is quoted in it
    /// may have come from an agent.
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

/// What goes back to the agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reply {
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
    /// Exit code: 0 proceed, 2 block.
    pub code: u8,
    /// Standard output must reach the agent, or the call would run: should it not, this goes to standard error, and the
    /// exit code is 2.
    pub otherwise: Option<String>,
}

impl Reply {
    /// Nothing to say.
    fn proceed() -> Self {
        Self::default()
    }

    /// One JSON value on standard output.
    fn json(value: &Value) -> Self {
        Self {
            stdout: format!("{value}\n"),
            ..Self::default()
        }
    }

    /// Both replies in one: the keys of both JSON objects, and what either says on standard error.
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

    /// The same, as a question.
    fn question(value: &Value, reason: &str) -> Self {
        let text = format!("roleos could not ask about this call, so it is blocked. {reason}\n");
        Self {
            otherwise: Some(text),
            ..Self::json(value)
        }
    }

    /// A refusal that the agent shows as one, and not as a hook that failed.
    fn deny(value: &Value, reason: &str) -> Self {
        Self {
            otherwise: Some(format!("{reason}\n")),
            ..Self::json(value)
        }
    }

    /// A refusal that needs no JSON.
    fn block(reason: &str) -> Self {
        Self {
            stderr: format!("{reason}\n"),
            code: 2,
            ..Self::default()
        }
    }

    /// A refusal in the agent's own words, and by the exit code, for whichever it believes first.
    fn block_with(value: &Value, reason: &str) -> Self {
        Self {
            stdout: format!("{value}\n"),
            ..Self::block(reason)
        }
    }
}

#[cfg(test)]
mod tests;
