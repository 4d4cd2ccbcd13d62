//! Journal lines about files that were kept and put back.

use serde::{Deserialize, Serialize};

use super::is_false;

/// A commit that holds the working tree.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Snapshot {
    /// The top of the repository.
    pub top: String,
    /// The commit.
    pub commit: String,
    /// Its tree: the bytes of the files.
    pub tree: String,
    /// The commit that holds index, refs and permissions.
    pub state: String,
    /// The ref that keeps it.
    pub name: String,
    /// Why there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// A return to the snapshot.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Rollback {
    /// The call whose violation asked for it.
    pub call_id: String,
    /// The state found afterwards is the one that was wanted.
    pub restored: bool,
    /// Hash of the state that was wanted.
    pub wanted: String,
    /// Hash of the state that was found.
    pub found: String,
    /// The ref that keeps what was undone; empty when there was nothing to undo.
    pub kept: String,
    /// Why it could not be done as a whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// A command that was to be supervised and was not.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Unwatched {
    /// The call.
    pub call_id: String,
    /// What that means, in a sentence.
    pub why: String,
}

/// Protected files that were put back.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Restored {
    /// The call after which it was noticed; empty when no call had just ended.
    pub call_id: String,
    /// The files.
    pub files: Vec<RestoredFile>,
}

/// One protected file that was put back.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RestoredFile {
    /// The file.
    pub path: String,
    /// What stood there, in words.
    pub found: String,
    /// A tool call was running when it was changed.
    pub during_call: bool,
    /// Only our hook was put back, and other changes of the file stay.
    #[serde(skip_serializing_if = "is_false")]
    pub mended: bool,
    /// Where the change is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kept: Option<String>,
    /// Why the file could not be put back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}
