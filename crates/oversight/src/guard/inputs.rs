//! Which files a tool that is no shell reads or writes: by its name, and by arguments that are paths.

use serde_json::Value;

use crate::governance::canonical;

use super::Touch;
use super::programs::Touches;

/// Arguments that hold a path, or a list of them.
const PATHS: &[&str] = &[
    "file_path",
    "filepath",
    "filename",
    "file",
    "files",
    "path",
    "paths",
    "notebook_path",
    "target_notebook",
    "include",
    "absolute_path",
    "relative_path",
    "target_file",
    "target_path",
    "dir_path",
    "source",
    "source_path",
    "destination",
    "destination_path",
    "dest",
    "from",
    "to",
    "directory",
    "dir",
    "folder",
    "uri",
    "old_path",
    "new_path",
    "oldpath",
    "newpath",
];

/// Arguments that hold a patch.
const PATCHES: &[&str] = &["input", "patch", "diff", "command", "content"];

/// Parts of a name that say that something is changed.
const CHANGES: &[&str] = &[
    "write", "edit", "create", "move", "delete", "remove", "rename", "append", "update", "put",
    "patch", "copy", "mkdir", "save", "insert", "replace", "upload", "set", "modify", "download",
    "touch", "link", "chmod", "truncate", "apply",
];

/// Deeper inputs are not walked.
const MAX_DEPTH: usize = 8;

/// Files that a call touches.
pub(crate) fn touches(tool: &str, input: &Value) -> Touches {
    let mut found = Touches::new();
    let name = tool.rsplit("__").next().unwrap_or(tool).to_lowercase();
    let touch = match canonical(tool) {
        // Names of files are no secret.
        "Glob" => return found,
        "Read" | "Grep" => Touch::Read,
        "Write" | "Edit" => Touch::Write,
        _ if ["delete", "remove", "move", "rename"]
            .iter()
            .any(|word| name.contains(word)) =>
        {
            Touch::Tree
        }
        _ if CHANGES.iter().any(|word| name.contains(word)) => Touch::Write,
        _ => Touch::Read,
    };
    walk(input, touch, MAX_DEPTH, &mut found);
    if name.contains("patch") || name.contains("diff") {
        for key in PATCHES {
            match input.get(key) {
                Some(Value::String(text)) => found.extend(patched(text)),
                Some(Value::Array(words)) => {
                    let words = words.iter().filter_map(Value::as_str);
                    found.extend(words.flat_map(patched));
                }
                _ => {}
            }
        }
        found.extend(input.as_str().map(patched).unwrap_or_default());
    }
    found
}

fn walk(input: &Value, touch: Touch, depth: usize, found: &mut Touches) {
    let Some(deeper) = depth.checked_sub(1) else {
        return;
    };
    match input {
        Value::Object(entries) => {
            for (key, value) in entries {
                let key = key.to_lowercase();
                if is_path(&key) {
                    path(value, touch, deeper, found);
                } else {
                    walk(value, touch, deeper, found);
                }
            }
        }
        Value::Array(items) => {
            for item in items {
                walk(item, touch, deeper, found);
            }
        }
        _ => {}
    }
}

/// Whether an argument of this name holds a path.
fn is_path(key: &str) -> bool {
    let text = ["text", "content", "body", "data", "pattern", "type"];
    PATHS.contains(&key)
        || (key.contains("path") || key.contains("file"))
            && !text.iter().any(|word| key.contains(word))
}

fn path(value: &Value, touch: Touch, depth: usize, found: &mut Touches) {
    match value {
        // Longer than any path, or several lines: it is a text.
        Value::String(text) if text.len() > 4096 || text.contains('\n') => {}
        Value::String(text) => found.push((touch, text.replace('\\', "/"))),
        Value::Array(items) => {
            for item in items {
                path(item, touch, depth, found);
            }
        }
        other => walk(other, touch, depth, found),
    }
}

/// The files that a patch changes, in the forms that agents and `diff` write.
pub(crate) fn patched(text: &str) -> Touches {
    let marks = [
        "*** Update File:",
        "*** Add File:",
        "*** Delete File:",
        "*** Move to:",
        "+++ ",
        "--- ",
        "rename to ",
        "rename from ",
    ];
    let mut found = Touches::new();
    for line in text.lines() {
        let rest = marks
            .iter()
            .find_map(|mark| line.trim_start().strip_prefix(mark));
        let Some(name) = rest.and_then(|rest| rest.split('\t').next()) else {
            continue;
        };
        let name = name.trim().trim_matches('"');
        if name == "/dev/null" || name.is_empty() {
            continue;
        }
        found.push((Touch::Write, name.to_owned()));
        // `diff` and git put a directory of their own in front.
        if let Some((_, bare)) = name.split_once('/').filter(|_| !name.starts_with('/')) {
            found.push((Touch::Write, bare.to_owned()));
        }
    }
    found
}
