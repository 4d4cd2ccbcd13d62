//! State between dispatches: quota windows, probe counters, probes, halts.
//!
//! Version 3 is written; 1 and 2 are read. A state that cannot be read is an error and never counts as empty, because
//! that would lift a halt.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::inputs::Inputs;
use crate::quota::{Scope, Source, View, Window};
use crate::shadow::{Judgement, Probes, Settings};

pub mod old;
mod reservation;
pub mod rows;

pub use reservation::Reservation;

/// Schema that is written.
pub const SCHEMA: &str = "roleos-specialist-state/v3";

/// Halt of a role or a version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Halt {
    /// Reason as text.
    pub reason: String,
    /// Time of the halt, as text.
    pub since: String,
}

/// Halts of a role, for the gate.
#[derive(Clone, Copy, Debug, Default)]
pub struct Halts<'a> {
    /// Reason that the whole role is halted.
    pub role: Option<&'a str>,
    /// Halts of versions.
    pub versions: Option<&'a BTreeMap<String, Halt>>,
}

impl<'a> Halts<'a> {
    /// Returns why a version may not answer: its role or the version itself is halted.
    #[must_use]
    pub fn of(self, version: &str) -> Option<&'a str> {
        let own = || Some(self.versions?.get(version)?.reason.as_str());
        self.role.or_else(own)
    }
}

/// State of one role.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Slot {
    /// Dispatches of the role.
    pub window: Window,
    /// Number of the adapter's answers since the last probe.
    pub probe_counter: u64,
    /// Number of those that belong to the stretch of answers from which that probe was drawn.
    pub probe_rest: u64,
    /// Probes since the last clearing, by the version that answered; those of older logs under the empty id.
    pub probes: BTreeMap<String, Probes>,
    /// Halt of the whole role.
    pub halt: Option<Halt>,
    /// Halts of versions by their probes; other versions continue.
    pub halts: BTreeMap<String, Halt>,
}

impl Slot {
    /// Returns every halt, the role's own first, with the halted version.
    pub fn all_halts(&self) -> impl Iterator<Item = (Option<&str>, &Halt)> {
        let own = self.halt.iter().map(|halt| (None, halt));
        let versions = self.halts.iter();
        own.chain(versions.map(|(version, halt)| (Some(version.as_str()), halt)))
    }
}

/// State of all roles.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    /// Dispatches of all roles.
    pub fleet: Window,
    /// Number of changes to the probes, which tells an older state from a newer one.
    pub sequence: u64,
    roles: BTreeMap<String, Slot>,
    /// Slots held by dispatches without an answer, oldest first.
    reservations: Vec<Reservation>,
}

/// Reason that a state cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StateError {
    /// It is not JSON.
    #[error("STATE_PARSE_ERROR: {0}")]
    Parse(String),
    /// It is JSON, but not a state.
    #[error("STATE_SCHEMA_MISMATCH: {0}")]
    Schema(String),
}

impl State {
    /// Parses a state of any version.
    ///
    /// # Errors
    /// Fails if it is not a state; the file must then be left as it is.
    pub fn parse(bytes: &[u8]) -> Result<Self, StateError> {
        let value: Value =
            serde_json::from_slice(bytes).map_err(|error| StateError::Parse(error.to_string()))?;
        Self::from_json(&value)
    }

    fn from_json(value: &Value) -> Result<Self, StateError> {
        let schema = value.get("schema").and_then(Value::as_str);
        let roles = value.get("roles").and_then(Value::as_object);
        let (Some(schema), Some(roles)) = (schema, roles) else {
            let what = "it has no `schema`, or its `roles` are no object";
            return Err(StateError::Schema(what.to_owned()));
        };
        match schema {
            SCHEMA => Self::read(value, roles),
            old::V2 => old::read_v2(value, roles),
            old::V1 => old::read_v1(roles),
            other => Err(StateError::Schema(format!(
                "got {other:?}, expected {SCHEMA:?}, {:?} or {:?}",
                old::V2,
                old::V1
            ))),
        }
    }

    fn read(value: &Value, roles: &Map<String, Value>) -> Result<Self, StateError> {
        let mut state = Self {
            fleet: window(value)?,
            sequence: sequence(value)?,
            roles: BTreeMap::new(),
            reservations: reservation::read(value)?,
        };
        for (role, value) in roles {
            let slot = Slot {
                window: window(value)?,
                probe_counter: counter(value)?,
                probe_rest: number(value, "probe_rest")?,
                probes: all_probes(value)?,
                halt: halt(value)?,
                halts: version_halts(value)?,
            };
            state.roles.insert(role.clone(), slot);
        }
        Ok(state)
    }

    /// Returns the text of the file.
    #[must_use]
    pub fn print(&self) -> String {
        let roles: Map<String, Value> = self
            .roles
            .iter()
            .map(|(role, slot)| (role.clone(), slot.to_json()))
            .collect();
        let value = json!({
            "schema": SCHEMA,
            "sequence": self.sequence,
            "dispatched": self.fleet.dispatched(),
            "dispatches": letters(&self.fleet),
            "reservations": self.reservations.iter().map(Reservation::to_json).collect::<Vec<_>>(),
            "roles": roles,
        });
        let mut text = serde_json::to_string_pretty(&value).unwrap_or_default();
        text.push('\n');
        text
    }

    /// Returns the state of a role, if there is any.
    #[must_use]
    pub fn slot(&self, role: &str) -> Option<&Slot> {
        self.roles.get(role)
    }

    /// Returns the state of a role, which is created if it is missing.
    pub fn slot_mut(&mut self, role: &str) -> &mut Slot {
        if !self.roles.contains_key(role) {
            self.roles.insert(role.to_owned(), Slot::default());
        }
        self.roles.entry(role.to_owned()).or_default()
    }

    /// Returns all roles with their state.
    pub fn roles(&self) -> impl Iterator<Item = (&str, &Slot)> {
        self.roles.iter().map(|(role, slot)| (role.as_str(), slot))
    }

    /// Returns every halt of a role, its own first, with the halted version.
    pub fn halts(&self, role: &str) -> impl Iterator<Item = (Option<&str>, &Halt)> {
        self.slot(role).into_iter().flat_map(Slot::all_halts)
    }

    /// Returns the halts of a role, for the gate.
    #[must_use]
    pub fn halts_for(&self, role: &str) -> Halts<'_> {
        let slot = self.slot(role);
        Halts {
            role: slot.and_then(|slot| Some(slot.halt.as_ref()?.reason.as_str())),
            versions: slot.map(|slot| &slot.halts),
        }
    }

    /// Returns the first halt of a role, of the role itself or of a version.
    #[must_use]
    pub fn halt(&self, role: &str) -> Option<&Halt> {
        self.halts(role).next().map(|(_, halt)| halt)
    }

    /// Returns the used part of a role's quota, for the gate.
    #[must_use]
    pub fn quota(&self, role: &str, scope: Scope, window: usize) -> View {
        match (scope, self.slot(role)) {
            (Scope::Fleet, _) => self.fleet.view(window),
            (Scope::Role, Some(slot)) => slot.window.view(window),
            (Scope::Role, None) => Window::default().view(window),
        }
    }

    /// Adds a dispatch to both windows and returns its number.
    pub fn dispatch(&mut self, role: &str, source: Source, window: usize) -> Number {
        Number {
            fleet: self.fleet.push(source, window),
            role: self.slot_mut(role).window.push(source, window),
        }
    }

    /// Corrects the source of a dispatch.
    pub fn correct(&mut self, role: &str, number: Number, source: Source) {
        self.fleet.correct(number.fleet, source);
        self.slot_mut(role).window.correct(number.role, source);
    }

    /// Counts a probe on an input, given by its sketch, for the version that answered, and halts that version if the
    /// rule says so and it may be halted (a canary is withdrawn instead). Returns `true` if this probe halted it.
    pub fn probe(
        &mut self,
        (role, version): (&str, &str),
        (input, agreed): (&str, bool),
        settings: &Settings,
        may_halt: bool,
        reason: impl FnOnce(&Judgement) -> Halt,
    ) -> (Judgement, bool) {
        let slot = self.slot_mut(role);
        let probes = slot.probes.entry(version.to_owned()).or_default();
        probes.push_input(input, agreed, settings);
        let judgement = probes.judge(settings);
        let triggered = may_halt && judgement.halts && !slot.halts.contains_key(version);
        if triggered {
            slot.halts.insert(version.to_owned(), reason(&judgement));
        }
        (judgement, triggered)
    }

    /// Replaces the probes by those of the logs, agreements and disagreements alike, because another program wrote
    /// the state last. They count for a halt but earn nothing, because the logs are not sealed.
    pub fn recount(&mut self, logged: &Self) {
        for slot in self.roles.values_mut() {
            slot.probes.clear();
        }
        for (role, slot) in logged.roles() {
            let probes = &mut self.slot_mut(role).probes;
            probes.clone_from(&slot.probes);
            probes.values_mut().for_each(|one| one.inputs.forget());
        }
    }

    /// Returns the probes of a version since the last clearing.
    #[must_use]
    pub fn probes(&self, role: &str, version: &str) -> Option<&Probes> {
        self.slot(role)?.probes.get(version)
    }

    /// Lifts the halt of a version, or all halts of a role, and restarts the count. Returns the lifted halts, each
    /// with its version.
    pub fn clear(&mut self, role: &str, version: Option<&str>) -> Vec<(Option<String>, Halt)> {
        let Some(slot) = self.roles.get_mut(role) else {
            return Vec::new();
        };
        let own = slot.halt.take_if(|_| version.is_none());
        let mut lifted: Vec<(Option<String>, Halt)> =
            own.map(|halt| (None, halt)).into_iter().collect();
        let is_meant = |id: &String| version.is_none_or(|version| version == id);
        for (id, halt) in std::mem::take(&mut slot.halts) {
            if is_meant(&id) {
                lifted.push((Some(id), halt));
            } else {
                slot.halts.insert(id, halt);
            }
        }
        if !lifted.is_empty() {
            slot.probes.retain(|id, _| !is_meant(id));
            (slot.probe_counter, slot.probe_rest) = (0, 0);
        }
        lifted
    }
}

/// Number of a dispatch among all and among those of its role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Number {
    /// Number among all dispatches.
    pub fleet: u64,
    /// Number among those of its role.
    pub role: u64,
}

impl Slot {
    fn to_json(&self) -> Value {
        let written = |halt: &Halt| json!({ "reason": halt.reason, "since": halt.since });
        let halts = self.halts.iter();
        let halts: Map<String, Value> = halts
            .map(|(id, halt)| (id.clone(), written(halt)))
            .collect();
        let letter = |agreed: &bool| if *agreed { 'A' } else { 'D' };
        let version = |(id, probes): (&String, &Probes)| {
            let recent: String = probes.recent.iter().map(letter).collect();
            let counts = json!({ "total": probes.total, "agreed": probes.agreed, "recent": recent, "inputs": probes.inputs.to_json() });
            (id.clone(), counts)
        };
        json!({
            "dispatched": self.window.dispatched(),
            "dispatches": letters(&self.window),
            "probe_counter": self.probe_counter,
            "probe_rest": self.probe_rest,
            "probes_by_version": self.probes.iter().map(version).collect::<Map<_, _>>(),
            "halt": self.halt.as_ref().map(written),
            "halts_by_version": halts,
        })
    }
}

/// Returns one letter per dispatch: `S` by the specialist, `C` by the general model.
fn letters(window: &Window) -> String {
    let letter = |source: &Source| match source {
        Source::Specialist => 'S',
        Source::Claude => 'C',
    };
    window.records().iter().map(letter).collect()
}

fn bad(what: &str) -> StateError {
    StateError::Schema(what.to_owned())
}

fn window(value: &Value) -> Result<Window, StateError> {
    let letters = value.get("dispatches").and_then(Value::as_str);
    let number = value.get("dispatched").and_then(Value::as_u64);
    let (Some(letters), Some(number)) = (letters, number) else {
        return Err(bad("`dispatches` is no text, or `dispatched` no number"));
    };
    let records: Result<Vec<Source>, StateError> = letters
        .bytes()
        .map(|letter| match letter {
            b'S' => Ok(Source::Specialist),
            b'C' => Ok(Source::Claude),
            _ => Err(bad("`dispatches` has another letter than S and C")),
        })
        .collect();
    Ok(Window::new(records?, number))
}

fn counter(value: &Value) -> Result<u64, StateError> {
    number(value, "probe_counter")
}

fn sequence(value: &Value) -> Result<u64, StateError> {
    number(value, "sequence")
}

/// Reads a number; a missing one counts as zero.
fn number(value: &Value, key: &str) -> Result<u64, StateError> {
    match value.get(key) {
        None => Ok(0),
        Some(number) => number
            .as_u64()
            .ok_or_else(|| bad(&format!("`{key}` is no whole number"))),
    }
}

/// Reads the probes by version; an older file has one count for the role, whose version is unknown.
fn all_probes(value: &Value) -> Result<BTreeMap<String, Probes>, StateError> {
    if let Some(counts) = value.get("probes") {
        return Ok(BTreeMap::from([(String::new(), probes(counts)?)]));
    }
    match value.get("probes_by_version") {
        None => Ok(BTreeMap::new()),
        Some(Value::Object(versions)) => versions
            .iter()
            .map(|(id, counts)| Ok((id.clone(), probes(counts)?)))
            .collect(),
        Some(_) => Err(bad("`probes_by_version` is not an object")),
    }
}

fn probes(value: &Value) -> Result<Probes, StateError> {
    let number = |key: &str| value.get(key).and_then(Value::as_u64);
    let recent = value.get("recent").and_then(Value::as_str);
    let (Some(total), Some(agreed), Some(recent)) = (number("total"), number("agreed"), recent)
    else {
        return Err(bad("`probes` has no `total`, `agreed` or `recent`"));
    };
    let recent: Result<Vec<bool>, StateError> = recent
        .bytes()
        .map(|letter| match letter {
            b'A' => Ok(true),
            b'D' => Ok(false),
            _ => Err(bad("`recent` has another letter than A and D")),
        })
        .collect();
    let recent = recent?;
    if agreed > total || recent.len() as u64 > total {
        return Err(bad("`probes` counts more than there were"));
    }
    let inputs = Inputs::read(value.get("inputs"));
    Ok(Probes {
        recent,
        agreed,
        total,
        inputs: inputs.ok_or_else(|| bad("`inputs` of `probes` are no counts of inputs"))?,
    })
}

/// Reads the halts by version; an older file has none.
fn version_halts(value: &Value) -> Result<BTreeMap<String, Halt>, StateError> {
    let halts = match value.get("halts_by_version") {
        None => return Ok(BTreeMap::new()),
        Some(Value::Object(halts)) => halts,
        Some(_) => return Err(bad("`halts_by_version` is not an object")),
    };
    let one =
        |(id, value): (&String, &Value)| Some((id.clone(), one_halt(Some(value)).transpose()?));
    halts
        .iter()
        .filter_map(one)
        .map(|(id, halt)| Ok((id, halt?)))
        .collect()
}

fn halt(value: &Value) -> Result<Option<Halt>, StateError> {
    one_halt(value.get("halt"))
}

/// Reads a halt. A value that is not clearly absent does not count as absent.
fn one_halt(halt: Option<&Value>) -> Result<Option<Halt>, StateError> {
    match halt {
        None | Some(Value::Null) => Ok(None),
        Some(halt) if halt.is_object() => {
            let text = |key: &str| halt.get(key).and_then(Value::as_str).unwrap_or_default();
            Ok(Some(Halt {
                reason: text("reason").to_owned(),
                since: text("since").to_owned(),
            }))
        }
        Some(_) => Err(bad("`halt` is neither null nor an object")),
    }
}
