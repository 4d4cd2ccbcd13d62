//! The contracts of tools, as a file: the workspace's own, else the shipped ones. Reads; decides nothing. [`beside`]
//! lets another program check calls against JSON Schemas.

pub mod beside;

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use ::contracts::{Contracts, MAX_TEXT, NoFiles, Note, Schemas, World};
use oversight::{Call, Place};
use serde::Deserialize;
use serde_json::Value;

use base::files::{self, FileError};
use base::workspace::Workspace;
use lookup::Disk;

pub use ::contracts::OwnSchemas;

/// Contracts for the built-in tools of the usual coding agents. `init` writes them into a workspace that has none.
pub const SHIPPED: &str = include_str!("contracts/shipped.json");

/// Largest corpus that is read.
const MAX_CORPUS: u64 = 64 << 20;

/// A catalogue as text, with its origin.
#[derive(Clone, Debug)]
pub struct Source {
    /// Its file; `None` for the shipped one.
    pub path: Option<PathBuf>,
    /// Its content.
    pub text: Cow<'static, str>,
}

impl Source {
    /// Returns the workspace's own contracts, else the shipped ones.
    ///
    /// # Errors
    /// The file exists and cannot be read.
    pub fn of(workspace: &Workspace) -> Result<Self, FileError> {
        let path = workspace.contracts_path();
        if path.symlink_metadata().is_ok() {
            return Self::read(&path);
        }
        Ok(Self {
            path: None,
            text: Cow::Borrowed(SHIPPED),
        })
    }

    /// Reads the contracts in a file.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn read(path: &Path) -> Result<Self, FileError> {
        let bytes = files::read(path, MAX_TEXT as u64)?;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        Ok(Self {
            path: Some(path.to_owned()),
            text: Cow::Owned(text),
        })
    }

    /// Parses all contracts.
    #[must_use]
    pub fn contracts(&self) -> Contracts {
        Contracts::parse(&self.text)
    }

    /// Returns one tool's contract as written, if it has one.
    #[must_use]
    pub fn written(&self, tool: &str) -> Option<Value> {
        let mut all: Value = serde_json::from_str(&self.text).ok()?;
        all.get_mut(tool).map(Value::take)
    }

    /// Returns the contract of one tool, for a single call.
    #[must_use]
    pub fn contract_of(&self, tool: &str) -> Contracts {
        match (&self.path, shipped_entry(tool)) {
            (None, Some(entry)) => Contracts::parse_for(&format!("{{{entry}}}"), tool),
            (None, None) => Contracts::none(),
            (Some(_), _) => Contracts::parse_for(&self.text, tool),
        }
    }

    /// Returns the findings of the tool's contract about a call, as one sentence.
    #[must_use]
    pub fn advice(&self, call: &Call<'_>, schemas: &dyn Schemas) -> Option<String> {
        let world = World {
            directory: call.place.directory,
            home: call.place.home,
            files: &Disk,
            schemas,
        };
        let notes = self
            .contract_of(call.tool)
            .check(call.tool, call.input, world);
        ::contracts::advice(call.tool, &notes)
    }
}

/// Returns the entry of a tool in the shipped contracts, found by their layout: parsing all of them takes a tenth of a
/// call.
fn shipped_entry(tool: &str) -> Option<&'static str> {
    let start = SHIPPED.find(&format!("\n  \"{tool}\": {{"))?;
    let rest = SHIPPED.get(start..)?;
    rest.get(..rest.find("\n  }")? + 4)
}

/// A call that is known to be correct. Field names of hook events are accepted too.
#[derive(Clone, Debug, Deserialize)]
pub struct KnownGood {
    #[serde(alias = "tool_name")]
    pub tool: String,
    #[serde(alias = "tool_input", default)]
    pub input: Value,
    /// Its working directory.
    pub cwd: Option<String>,
}

/// A call of a corpus that a contract would flag.
#[derive(Clone, Debug)]
pub struct Flagged {
    /// Its line, from 1.
    pub line: usize,
    pub tool: String,
    /// Findings.
    pub notes: Vec<Note>,
}

/// Findings of contracts about calls that are known to be correct.
#[derive(Clone, Debug, Default)]
pub struct Trial {
    /// Number of calls.
    pub calls: usize,
    /// Number of calls whose tool has no contract.
    pub unchecked: usize,
    /// Calls that would be flagged.
    pub flagged: Vec<Flagged>,
}

/// A corpus that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CorpusError {
    /// The file cannot be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// A line is not a call.
    #[error("line {line} of `{}` is no call: {why}", path.display())]
    Line {
        /// The corpus.
        path: PathBuf,
        /// Line number, from 1.
        line: usize,
        /// Message of the parser.
        why: String,
    },
}

/// Checks known-good calls against contracts. Files of this machine are not read: the calls were made elsewhere.
///
/// # Errors
/// The corpus cannot be read, or a line of it is not a call.
pub fn try_corpus(
    contracts: &Contracts,
    path: &Path,
    place: Place<'_>,
) -> Result<Trial, CorpusError> {
    let bytes = files::read(path, MAX_CORPUS)?;
    let mut trial = Trial::default();
    for (index, text) in bytes.split(|byte| *byte == b'\n').enumerate() {
        if text.trim_ascii().is_empty() {
            continue;
        }
        let line = index + 1;
        let call: KnownGood = serde_json::from_slice(text).map_err(|error| {
            let why = error.to_string();
            // The parser sees one line, so its line number is always 1; ours is the useful one.
            let why = why.split(" at line ").next().unwrap_or_default().to_owned();
            let path = path.to_owned();
            CorpusError::Line { path, line, why }
        })?;
        trial.calls += 1;
        trial.unchecked += usize::from(!contracts.knows(&call.tool));
        let world = World {
            directory: call.cwd.as_deref().unwrap_or(place.directory),
            home: place.home,
            files: &NoFiles,
            schemas: &OwnSchemas,
        };
        let notes = contracts.check(&call.tool, &call.input, world);
        if !notes.is_empty() {
            let tool = call.tool;
            trial.flagged.push(Flagged { line, tool, notes });
        }
    }
    Ok(trial)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::json;

    use super::*;

    const PLACE: Place<'static> = Place {
        directory: "/repo",
        home: "/home/dev",
    };

    #[test]
    fn the_shipped_contracts_are_sound() {
        let contracts = Contracts::parse(SHIPPED);
        assert_eq!(contracts.problems(), []);
        assert!(contracts.tools().count() > 40);
        let source = Source {
            path: None,
            text: SHIPPED.into(),
        };
        for tool in contracts
            .tools()
            .chain(["", "Nothing", "name", "Bash\": {"])
        {
            let whole = format!("{:?}", Contracts::parse_for(SHIPPED, tool));
            assert_eq!(format!("{:?}", source.contract_of(tool)), whole, "{tool}");
        }
    }

    #[test]
    fn no_known_good_call_is_flagged_and_every_tool_has_one() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("calls.jsonl");
        let known = include_str!("contracts/known_good.jsonl");
        files::write(&path, known.as_bytes(), files::Privacy::Shared).unwrap();
        let contracts = Contracts::parse(SHIPPED);
        let trial = try_corpus(&contracts, &path, PLACE).unwrap();
        assert!(trial.flagged.is_empty(), "{:?}", trial.flagged);
        assert_eq!(trial.unchecked, 0);
        let calls = known.lines().map(|line| {
            let call: KnownGood = serde_json::from_str(line).unwrap();
            call.tool
        });
        let tried: BTreeSet<String> = calls.collect();
        let tools: BTreeSet<String> = contracts.tools().map(str::to_owned).collect();
        assert_eq!(tried, tools);
    }

    fn check(tool: &str, input: &Value, expected: &[&str]) {
        let contracts = Contracts::parse_for(SHIPPED, tool);
        let world = World {
            directory: PLACE.directory,
            home: PLACE.home,
            files: &NoFiles,
            schemas: &OwnSchemas,
        };
        let notes = contracts.check(tool, input, world);
        let texts: Vec<_> = notes.iter().map(|note| note.text.as_str()).collect();
        assert_eq!(texts, expected, "{tool} {input}");
    }

    #[test]
    fn calls_that_the_tools_would_refuse_are_flagged() {
        check(
            "Bash",
            &json!({"timeout": 600_001}),
            &["missing required 'command'", "'timeout' exceeds max 600000"],
        );
        check(
            "Read",
            &json!({"file_path": "src/a.rs", "limit": 0}),
            &[
                "'file_path' should be an absolute path such as /repo/src/a.rs",
                "'limit' is below min 1",
            ],
        );
        check(
            "Edit",
            &json!({"file_path": "/a", "old_string": "x", "new_string": "x"}),
            &[
                "fields [old_string, new_string] must be distinct (duplicate x) \
               (the new text has to differ from the old one)",
            ],
        );
        check(
            "WebFetch",
            &json!({"url": "example.org", "prompt": "?"}),
            &["'url' does not match the pattern ^(?i:https?):// \
               (give a whole address that begins with https://)"],
        );
        check(
            "str_replace_editor",
            &json!({"command": "create", "path": "/a"}),
            &["when command=\"create\" requires [file_text] present"],
        );
    }
}
