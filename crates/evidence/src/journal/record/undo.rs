//! Journal lines about files that were saved and restored.

use serde::{Deserialize, Serialize};

use super::is_false;

/// A commit that holds the working tree.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Snapshot {
    /// The top of the repository.
    pub top: String,
    pub commit: String,
    /// Its tree: the bytes of the files.
    pub tree: String,
    /// The commit that holds index, refs and permissions.
    pub state: String,
    /// The ref that keeps it.
    pub name: String,
    /// Why there is no snapshot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// A reset to the snapshot.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Rollback {
    /// The call whose violation caused it.
    pub call_id: String,
    /// Set if the state found afterwards is the wanted one.
    pub restored: bool,
    /// Hash of the wanted state.
    pub wanted: String,
    /// Hash of the state found afterwards.
    pub found: String,
    /// The ref that keeps the undone work; empty if nothing was undone.
    pub kept: String,
    /// Why the rollback is incomplete.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// A command that was to be supervised and was not.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Unwatched {
    pub call_id: String,
    /// The consequence, as a sentence.
    pub why: String,
}

/// Protected files that were restored.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Restored {
    /// The call after which it was noticed; empty if no call had just ended.
    pub call_id: String,
    pub files: Vec<RestoredFile>,
}

/// One protected file that was restored.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RestoredFile {
    /// The file.
    pub path: String,
    /// The state that was found, in words.
    pub found: String,
    /// Set if a tool call was running when it was changed.
    pub during_call: bool,
    /// Set if only our hook was restored and other changes of the file stay.
    #[serde(skip_serializing_if = "is_false")]
    pub mended: bool,
    /// Path of the saved change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kept: Option<String>,
    /// Why the file could not be restored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}
