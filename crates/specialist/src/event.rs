//! Events log and probe log: their lines, written and parsed. History is appended to and never edited.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::shadow::{Judgement, Pair, Settings};
use crate::state::{Halt, State};

/// Kind of event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A version was registered.
    Register,
    /// A version's level was raised.
    Certify,
    /// A version became active.
    Promote,
    /// An earlier version became active again.
    Rollback,
    /// A probe was made.
    ShadowProbe,
    /// A probe was due and not made.
    DroppedProbe,
    /// A version, or a whole role, was halted.
    Halt,
    /// A halt was lifted.
    ClearHalt,
    /// A certification was attempted.
    CertificationAttempt,
    /// A version was withdrawn.
    Withdraw,
    /// A canary started or ended: a version that is tried on a share of the inputs.
    Canary,
    /// The versions beside the active one changed.
    Beside,
    /// No version is active any more.
    Deactivate,
    /// Settings of a role or its active version changed.
    Set,
    /// The `specialist:` block of a role's file was written or removed.
    RoleBlock,
}

impl Kind {
    /// Returns the name in the log.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Register => "register",
            Self::Certify => "certify",
            Self::Promote => "promote",
            Self::Rollback => "rollback",
            Self::ShadowProbe => "shadow-probe",
            Self::DroppedProbe => "shadow-probe-dropped",
            Self::Halt => "halt",
            Self::ClearHalt => "clear-halt",
            Self::CertificationAttempt => "certification-attempt",
            Self::Withdraw => "withdraw",
            Self::Canary => "canary",
            Self::Beside => "beside",
            Self::Deactivate => "deactivate",
            Self::Set => "set",
            Self::RoleBlock => "role-block",
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Name of the kind; a log may contain unknown ones.
    pub kind: String,
    /// Role of the event.
    pub role: String,
    /// Time of the event.
    pub ts: String,
    /// Further fields.
    pub data: Value,
}

impl Event {
    /// Creates an event of a known kind.
    #[must_use]
    pub fn new(kind: Kind, role: &str, ts: &str, data: Value) -> Self {
        Self {
            kind: kind.name().to_owned(),
            role: role.to_owned(),
            ts: ts.to_owned(),
            data,
        }
    }

    /// Returns `true` if the event is of this kind.
    #[must_use]
    pub fn is(&self, kind: Kind) -> bool {
        self.kind == kind.name()
    }

    /// Returns the line with its end.
    #[must_use]
    pub fn line(&self) -> String {
        let value = json!({
            "kind": self.kind, "role": self.role, "ts": self.ts, "data": self.data,
        });
        format!("{value}\n")
    }

    /// Creates the event of a probe on an input, given by its sketch, with its two answers; an empty summary is left
    /// out.
    #[must_use]
    pub fn probe(
        (role, version): (&str, &str),
        ts: &str,
        trace_id: &str,
        (input, agreed): (&str, bool),
        pair: &Pair,
    ) -> Self {
        let mut data = Map::new();
        data.insert("trace_id".to_owned(), json!(trace_id));
        data.insert("version".to_owned(), json!(version));
        data.insert("input_form".to_owned(), json!(input));
        data.insert("agreed".to_owned(), json!(agreed));
        add_summaries(&mut data, pair);
        Self::new(Kind::ShadowProbe, role, ts, Value::Object(data))
    }

    /// Creates the event of a probe that was due and not made.
    #[must_use]
    pub fn dropped_probe(
        (role, version): (&str, &str),
        ts: &str,
        trace_id: &str,
        why: &str,
    ) -> Self {
        let data = json!({ "trace_id": trace_id, "version": version, "why": why });
        Self::new(Kind::DroppedProbe, role, ts, data)
    }

    /// Creates the event of a halt by the probes.
    #[must_use]
    pub fn halt(
        (role, version): (&str, &str),
        halt: &Halt,
        judgement: &Judgement,
        settings: &Settings,
        pair: &Pair,
    ) -> Self {
        let (probes, agreed, rate) = judgement.counted();
        let mut data = Map::new();
        data.insert("reason".to_owned(), json!(halt.reason));
        data.insert("version".to_owned(), json!(version));
        data.insert("probes".to_owned(), json!(probes));
        data.insert("agreed".to_owned(), json!(agreed));
        data.insert("rate".to_owned(), json!(rate));
        data.insert("tau".to_owned(), json!(settings.tau));
        data.insert("rule".to_owned(), json!(judgement.rule.name()));
        add_summaries(&mut data, pair);
        Self::new(Kind::Halt, role, &halt.since, Value::Object(data))
    }
}

fn add_summaries(data: &mut Map<String, Value>, pair: &Pair) {
    for (key, summary) in [
        ("specialist_summary", &pair.specialist),
        ("claude_summary", &pair.claude),
    ] {
        if !summary.is_empty() {
            data.insert(key.to_owned(), json!(summary));
        }
    }
}

/// Parsed log.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Log {
    /// Events, oldest first.
    pub events: Vec<Event>,
    /// Numbers of the lines that are not events, counted from 1.
    pub damaged: Vec<usize>,
}

impl Log {
    /// Parses a log. A line that is not an event is skipped and counted as damaged.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Self {
        let mut log = Self::default();
        for (number, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
            let line = line.trim_ascii();
            if line.is_empty() {
                continue;
            }
            match read(line) {
                Some(event) => log.events.push(event),
                None => log.damaged.push(number + 1),
            }
        }
        log
    }

    /// Returns the events of a role and of these kinds, in order.
    pub fn of<'a>(&'a self, role: &'a str, kinds: &'a [Kind]) -> impl Iterator<Item = &'a Event> {
        self.events
            .iter()
            .filter(move |event| event.role == role && kinds.iter().any(|kind| event.is(*kind)))
    }
}

fn read(line: &[u8]) -> Option<Event> {
    let mut value: Value = serde_json::from_slice(line).ok()?;
    let object = value.as_object_mut()?;
    let data = object.remove("data").unwrap_or(Value::Null);
    let text = |key: &str| Some(object.get(key)?.as_str()?.to_owned());
    Some(Event {
        kind: text("kind")?,
        role: text("role").unwrap_or_default(),
        ts: text("ts").unwrap_or_default(),
        data,
    })
}

/// Rebuilds the part of a lost state that must survive: the halts, and the probes since the last clearing.
///
/// Probes have their own log; those of the published tool are among the events and are older. A clearing is in both,
/// so that the order within one log is enough.
#[must_use]
pub fn rebuild(events: &Log, probes: &Log, settings: &Settings) -> State {
    let mut state = State::default();
    let version = |event: &Event| {
        let version = event.data.get("version").and_then(Value::as_str);
        version.map(str::to_owned)
    };
    let mut halts: BTreeMap<(&str, Option<String>), Halt> = BTreeMap::new();
    for event in &events.events {
        if event.is(Kind::Halt) {
            let reason = event.data.get("reason").and_then(Value::as_str);
            let halt = Halt {
                reason: reason.unwrap_or_default().to_owned(),
                since: event.ts.clone(),
            };
            halts.insert((&event.role, version(event)), halt);
        } else if event.is(Kind::ClearHalt) {
            let cleared = version(event);
            halts.retain(|(role, of), _| {
                *role != event.role || (cleared.is_some() && *of != cleared)
            });
        }
    }
    for event in events.events.iter().chain(&probes.events) {
        if event.is(Kind::ClearHalt) {
            let cleared = version(event);
            let probes = &mut state.slot_mut(&event.role).probes;
            probes.retain(|id, _| cleared.as_ref().is_some_and(|cleared| cleared != id));
        } else if event.is(Kind::ShadowProbe) {
            let agreed = event.data.get("agreed").and_then(Value::as_bool);
            let slot = state.slot_mut(&event.role);
            let probes = slot.probes.entry(version(event).unwrap_or_default());
            let input = event.data.get("input_form").and_then(Value::as_str);
            let (input, agreed) = (input.unwrap_or_default(), agreed.unwrap_or(false));
            probes.or_default().push_input(input, agreed, settings);
        }
    }
    for ((role, version), halt) in halts {
        let slot = state.slot_mut(role);
        match version {
            Some(version) => drop(slot.halts.insert(version, halt)),
            None => slot.halt = Some(halt),
        }
    }
    state
}
