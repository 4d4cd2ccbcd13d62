//! Extracts fields from an agent's event. Nothing is trusted: a field of another type counts as absent, unless a
//! decision depends on it.

use serde_json::{Map, Value};

use super::{Event, Kind};

/// An input that is not an event. With the gate on, this blocks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadEvent(String);

impl BadEvent {
    /// Creates the error with a reason.
    pub fn new(why: impl Into<String>) -> Self {
        Self(why.into())
    }
}

/// An event as an object.
pub(super) struct Fields<'a>(&'a Map<String, Value>);

impl<'a> Fields<'a> {
    pub(super) fn of(event: &'a Value) -> Result<Self, BadEvent> {
        let object = event.as_object();
        object
            .map(Self)
            .ok_or_else(|| BadEvent::new("the event is no JSON object"))
    }

    pub(super) fn get(&self, name: &str) -> Option<&'a Value> {
        self.0.get(name)
    }

    /// Returns the first of these fields that holds a non-empty string.
    pub(super) fn text(&self, names: &[&str]) -> Option<String> {
        let texts = names.iter().filter_map(|name| self.0.get(*name)?.as_str());
        texts
            .filter(|text| !text.is_empty())
            .map(str::to_owned)
            .next()
    }

    pub(super) fn number(&self, names: &[&str]) -> Option<u64> {
        let found = names.iter().find_map(|name| self.0.get(*name))?;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a duration; a wrong one saturates"
        )]
        let rounded = || found.as_f64().map(|number| number.max(0.0) as u64);
        found.as_u64().or_else(rounded)
    }

    /// Returns the name of the tool. A call without one cannot be decided.
    pub(super) fn tool(&self, names: &[&str]) -> Result<String, BadEvent> {
        self.text(names).ok_or_else(|| {
            let expected = names.first().copied().unwrap_or_default();
            BadEvent::new(format!("the event of a tool call has no `{expected}`"))
        })
    }

    /// Returns the arguments, also if they are JSON inside a string.
    pub(super) fn input(&self, names: &[&str]) -> Result<Value, BadEvent> {
        match names.iter().find_map(|name| self.0.get(*name)) {
            None | Some(Value::Null) => Ok(Value::Object(Map::new())),
            Some(Value::String(text)) if text.trim().is_empty() => Ok(Value::Object(Map::new())),
            Some(Value::String(text)) => {
                let parsed: Result<Value, _> = serde_json::from_str(text);
                // The tool has one argument, a string.
                Ok(parsed.unwrap_or_else(|_| Value::String(text.clone())))
            }
            Some(value) => Ok(value.clone()),
        }
    }

    /// Returns the fields that Claude Code, Codex, Gemini and their followers name alike.
    fn common(&self) -> Event {
        Event {
            session: self.text(&["session_id", "sessionId", "conversation_id"]),
            cwd: self.text(&["cwd"]),
            model: self.text(&["model"]),
            transcript: self.text(&["transcript_path", "transcriptPath"]),
            subagent: self.text(&["agent_type", "agent_id"]),
            call_id: self
                .text(&["tool_use_id", "toolUseId", "toolCallId"])
                .unwrap_or_default(),
            duration_ms: self.number(&["duration_ms", "duration"]),
            ..Event::default()
        }
    }

    /// Returns the event of this name with the common fields; `kinds` maps the agent's names.
    pub(super) fn event(&self, name: String, kinds: &[(&str, Kind)]) -> Event {
        let known = kinds.iter().find(|(known, _)| *known == name);
        Event {
            kind: known.map_or(Kind::Other, |(_, kind)| *kind),
            name,
            ..self.common()
        }
    }

    /// Returns the name in the event, else the one that it was registered with.
    pub(super) fn event_name(&self, named: Option<&str>) -> Result<String, BadEvent> {
        self.text(&["hook_event_name"])
            .or_else(|| named.map(str::to_owned))
            .ok_or_else(|| BadEvent::new("the event has no `hook_event_name`"))
    }

    pub(super) fn response(&self, names: &[&str]) -> Value {
        let found = names.iter().find_map(|name| self.0.get(*name));
        found.cloned().unwrap_or_default()
    }
}
