//! The catalogue of contracts, parsed from text, and the check of a call against it.

use std::fmt;
use std::sync::OnceLock;

use serde::Deserializer as _;
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde_json::{Map, Value};

use crate::contract::Contract;
use crate::problem::{At, Problem, Problems};
use crate::schema::{self, Schemas};
use crate::{floor, relation};

/// Limit of the length of a catalogue, in bytes.
pub const MAX_TEXT: usize = 4 << 20;

/// Limit of notes on one call.
const MAX_NOTES: usize = 20;

/// Limit of the length of a note; the arguments that it quotes may be long.
const MAX_NOTE: usize = 600;

/// Limits of the number and the depth of values of a call; beyond them, it is not checked.
const MAX_VALUES: usize = 100_000;
const MAX_DEPTH: usize = 128;

/// Keys of the catalogue that describe the file and do not name a tool.
const ABOUT: &[&str] = &["$schema", "$comment"];

/// Directories of a call, and access to the files there.
#[derive(Clone, Copy, Debug)]
pub struct World<'a> {
    /// Working directory, absolute.
    pub directory: &'a str,
    /// Home directory, absolute.
    pub home: &'a str,
    pub files: &'a dyn Files,
    /// Validator of JSON Schemas.
    pub schemas: &'a dyn Schemas,
}

/// Access to files for contracts. Paths are absolute, without `.` and `..`.
pub trait Files: fmt::Debug {
    /// Returns the names in a directory; empty if there is no such directory.
    fn list(&self, directory: &str) -> Vec<String>;
    /// Returns `true` if there is a file that is not a directory.
    fn has_file(&self, path: &str) -> bool;
}

/// Machine without files.
#[derive(Clone, Copy, Debug)]
pub struct NoFiles;

impl Files for NoFiles {
    fn list(&self, _: &str) -> Vec<String> {
        Vec::new()
    }

    fn has_file(&self, _: &str) -> bool {
        false
    }
}

/// The catalogue: contracts of tools, by their exact names.
#[derive(Clone, Debug, Default)]
pub struct Contracts {
    entries: Vec<Entry>,
    problems: Vec<Problem>,
}

/// Entry of one tool. Its contract is parsed when the tool is called.
#[derive(Clone, Debug)]
struct Entry {
    tool: String,
    written: Value,
    contract: OnceLock<Contract>,
}

impl Entry {
    fn contract(&self) -> &Contract {
        let read = || Contract::read(&self.tool, &self.written);
        self.contract.get_or_init(read)
    }
}

/// Subject of a note, on the ladder of conformance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// L1: an argument has another type.
    Type,
    /// L2: an argument is missing.
    Required,
    /// L3: a value is out of its bounds.
    Range,
    /// L4: a relation between arguments does not hold.
    Contract,
    /// The JSON Schema of the tool is violated.
    Schema,
}

impl Level {
    /// Returns the name for programs.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Type => "L1",
            Self::Required => "L2",
            Self::Range => "L3",
            Self::Contract => "L4",
            Self::Schema => "schema",
        }
    }
}

/// One mistake of a call, for the agent: the problem, and the right value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Subject of the note.
    pub level: Level,
    /// Sentence without a full stop.
    pub text: String,
}

impl Contracts {
    /// Returns a catalogue without contracts.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// Parses a catalogue. A broken one is empty, with its problems.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        Self::read(text, None)
    }

    /// Parses the contract of one tool and skips all others, for a caller with a single question.
    #[must_use]
    pub fn parse_for(text: &str, tool: &str) -> Self {
        Self::read(text, Some(tool))
    }

    fn read(text: &str, only: Option<&str>) -> Self {
        let text = text.strip_prefix('\u{FEFF}').unwrap_or(text);
        let broken = |what: String| {
            let mut problems = Problems::default();
            problems.error(At::Root, what);
            Self {
                entries: Vec::new(),
                problems: problems.0,
            }
        };
        if text.len() > MAX_TEXT {
            return broken(format!("is larger than {MAX_TEXT} bytes and is not read"));
        }
        let mut reader = serde_json::Deserializer::from_str(text);
        let read = reader
            .deserialize_map(Catalogue { only })
            .and_then(|contracts| reader.end().map(|()| contracts));
        read.unwrap_or_else(|error| broken(format!("cannot be read as a JSON object: {error}")))
    }

    /// Returns the names of the tools, in the order of the file.
    pub fn tools(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|entry| entry.tool.as_str())
    }

    /// Returns `true` if the tool has a contract.
    #[must_use]
    pub fn knows(&self, tool: &str) -> bool {
        self.tools().any(|known| known == tool)
    }

    /// Returns all problems of the catalogue, in the order of the file.
    #[must_use]
    pub fn problems(&self) -> Vec<Problem> {
        let mut problems = self.problems.clone();
        for entry in &self.entries {
            problems.extend(entry.contract().all_problems(&entry.tool));
        }
        problems
    }

    /// Returns the provable mistakes of a call.
    #[must_use]
    pub fn check(&self, tool: &str, input: &Value, world: World<'_>) -> Vec<Note> {
        let mut notes = Notes::default();
        let entry = self.entries.iter().find(|entry| entry.tool == tool);
        let Some(entry) = entry.filter(|_| is_bounded(input)) else {
            return notes.0;
        };
        let contract = entry.contract();
        let nothing = Map::new();
        // Arguments that are not an object count as empty.
        let call = input.as_object().unwrap_or(&nothing);
        floor::check(contract, call, world, &mut notes);
        let facts = relation::Facts {
            call,
            state: contract.state.as_ref(),
        };
        for constraint in &contract.constraints {
            if let Some(text) = facts.violation(&constraint.rule) {
                notes.add(Level::Contract, text, constraint.hint.as_deref());
            }
        }
        if let Some(schema) = &contract.schema {
            for text in schema::violations(schema, input, world.schemas) {
                notes.add(Level::Schema, text, None);
            }
        }
        notes.0
    }
}

/// Returns the notes as one sentence for the agent; `None` without notes. The beginning is the published one.
#[must_use]
pub fn advice(tool: &str, notes: &[Note]) -> Option<String> {
    let texts: Vec<&str> = notes.iter().map(|note| note.text.as_str()).collect();
    let list = texts.join("; ");
    (!notes.is_empty()).then(|| {
        format!("Tool-Call Conformance (advisory): \"{tool}\" appears NONCONFORMANT — {list}.")
    })
}

/// Collector of notes, limited in number and length.
#[derive(Debug, Default)]
pub(crate) struct Notes(pub(crate) Vec<Note>);

impl Notes {
    pub(crate) fn add(&mut self, level: Level, text: String, hint: Option<&str>) {
        if self.0.len() == MAX_NOTES {
            return;
        }
        let mut text = cut(text);
        if let Some(hint) = hint {
            text = format!("{text} ({})", cut(hint.to_owned()));
        }
        self.0.push(Note { level, text });
    }
}

fn cut(mut text: String) -> String {
    if let Some((end, _)) = text.char_indices().nth(MAX_NOTE) {
        text.truncate(end);
        text.push('…');
    }
    text
}

/// Returns `true` if the arguments are few and shallow enough for a walk.
fn is_bounded(input: &Value) -> bool {
    let mut waiting = vec![(input, 1)];
    let mut seen = 0_usize;
    while let Some((value, depth)) = waiting.pop() {
        seen += 1;
        let inside = match value {
            Value::Array(items) => items.len(),
            Value::Object(object) => object.len(),
            _ => continue,
        };
        if depth > MAX_DEPTH || seen + waiting.len() + inside > MAX_VALUES {
            return false;
        }
        match value {
            Value::Array(items) => waiting.extend(items.iter().map(|item| (item, depth + 1))),
            Value::Object(object) => waiting.extend(object.values().map(|item| (item, depth + 1))),
            _ => {}
        }
    }
    true
}

/// Visitor that parses the object key by key, so that a duplicate tool is found.
struct Catalogue<'a> {
    only: Option<&'a str>,
}

impl<'de> Visitor<'de> for Catalogue<'_> {
    type Value = Contracts;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with one key for each tool")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Contracts, A::Error> {
        let mut contracts = Contracts::none();
        let mut problems = Problems::default();
        let mut places = std::collections::BTreeMap::new();
        while let Some(tool) = map.next_key::<String>()? {
            let skipped = self.only.is_some_and(|only| only != tool);
            if skipped || ABOUT.contains(&tool.as_str()) {
                map.next_value::<IgnoredAny>()?;
                continue;
            }
            let written: Value = map.next_value()?;
            let contract = OnceLock::new();
            let place = *places
                .entry(tool.clone())
                .or_insert(contracts.entries.len());
            let entry = Entry {
                tool,
                written,
                contract,
            };
            match contracts.entries.get_mut(place) {
                Some(first) => {
                    let what = "is there twice; the last counts";
                    problems.error(At::Key(&At::Root, &entry.tool), what);
                    *first = entry;
                }
                None => contracts.entries.push(entry),
            }
        }
        contracts.problems = problems.0;
        Ok(contracts)
    }
}
