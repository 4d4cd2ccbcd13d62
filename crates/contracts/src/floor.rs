//! The schema floor: checks for presence, type and bounds. A note is a proof.

use serde_json::{Map, Value};

use super::contract::{Contract, Param, PathRule};
use super::script::{self, json, number_text};
use super::{Files, Level, Notes, World};

/// Limit of the length of a text that is compared with a pattern.
const MAX_SEARCHED: usize = 1 << 20;

/// Number of names from which a list may be cut off, so that a missing name may still exist.
const MAX_LISTED: usize = 4096;

/// Checks levels 1 to 3: first all missing arguments, then argument by argument.
pub(super) fn check(
    contract: &Contract,
    call: &Map<String, Value>,
    world: World<'_>,
    notes: &mut Notes,
) {
    for param in &contract.params {
        if param.required && !call.contains_key(&param.name) {
            let text = format!("missing required '{}'", param.name);
            notes.add(Level::Required, text, param.hint.as_deref());
        }
    }
    for (key, value) in script::entries(call) {
        let param = contract.params.iter().find(|param| param.name == *key);
        if let Some(param) = param {
            argument(param, value, world, notes);
        }
    }
}

fn argument(param: &Param, value: &Value, world: World<'_>, notes: &mut Notes) {
    let name = &param.name;
    let hint = param.hint.as_deref();
    if let Some(shape) = param.shape
        && !shape.fits(value)
    {
        notes.add(
            Level::Type,
            format!("'{name}' should be {}", shape.name()),
            hint,
        );
    }
    if let Some(choices) = &param.choices
        && !choices.iter().any(|choice| script::same(choice, value))
    {
        let choices = json(&Value::from(choices.clone()));
        notes.add(
            Level::Range,
            format!("'{name}' not in enum {choices}"),
            hint,
        );
    }
    for text in bounds(param, value) {
        notes.add(Level::Range, text, hint);
    }
    let Value::String(text) = value else { return };
    if let Some(pattern) = &param.pattern
        && text.len() <= MAX_SEARCHED
        && pattern.finds(text) == Some(false)
    {
        let text = format!("'{name}' does not match the pattern {}", pattern.source);
        notes.add(Level::Range, text, hint);
    }
    for text in param
        .path
        .iter()
        .flat_map(|rule| path(name, rule, text, world))
    {
        notes.add(Level::Range, text, hint);
    }
}

/// Returns the violated bounds: too large, too small, too long, too short.
fn bounds(param: &Param, value: &Value) -> Vec<String> {
    let name = &param.name;
    let mut found = Vec::new();
    if let Some(number) = script::double(value) {
        if let Some(max) = param.max.filter(|max| number > *max) {
            found.push(format!("'{name}' exceeds max {}", number_text(max)));
        }
        if let Some(min) = param.min.filter(|min| number < *min) {
            found.push(format!("'{name}' is below min {}", number_text(min)));
        }
    }
    let (length, what) = match value {
        Value::String(text) => (script::length(text), "characters"),
        Value::Array(items) => (items.len(), "items"),
        _ => return found,
    };
    if let Some(max) = param.max_length.filter(|max| length > *max) {
        found.push(format!(
            "'{name}' has {length} {what}, at most {max} allowed"
        ));
    }
    if let Some(min) = param.min_length.filter(|min| length < *min) {
        found.push(format!(
            "'{name}' has {length} {what}, at least {min} needed"
        ));
    }
    found
}

fn path(name: &str, rule: &PathRule, text: &str, world: World<'_>) -> Vec<String> {
    let mut found = Vec::new();
    let is_absolute = text.starts_with(['/', '~', '\\']) || has_drive(text);
    let whole = whole(text, world);
    match rule.absolute {
        Some(true) if !is_absolute => {
            let right = whole.as_deref().map(|path| format!(" such as {path}"));
            let right = right.unwrap_or_default();
            found.push(format!("'{name}' should be an absolute path{right}"));
        }
        Some(false) if is_absolute => {
            found.push(format!("'{name}' should be a relative path, not {text}"));
        }
        _ => {}
    }
    let Some(whole) = whole else { return found };
    if !rule.within.is_empty() {
        let directories = rule.within.iter();
        let directories = directories.map(|directory| self::whole(directory, world));
        let Some(directories) = directories.collect::<Option<Vec<String>>>() else {
            return found;
        };
        if !directories
            .iter()
            .any(|directory| lies_in(&whole, directory))
        {
            let list = directories.join(" or ");
            found.push(format!("'{name}' should lie within {list}, not at {whole}"));
        }
    }
    match (rule.exists, existence(&whole, world.files)) {
        (Some(true), Some(false)) => found.push(format!("'{name}' does not exist: {whole}")),
        (Some(false), Some(true)) => found.push(format!("'{name}' exists already: {whole}")),
        _ => {}
    }
    found
}

/// Returns `true` for paths that begin with `C:\` or `C:/`.
fn has_drive(text: &str) -> bool {
    let mut letters = text.chars();
    letters
        .next()
        .is_some_and(|letter| letter.is_ascii_alphabetic())
        && letters.next() == Some(':')
        && matches!(letters.next(), Some('/' | '\\'))
}

/// Returns the absolute path, without access to the machine. Paths of another system or of another user are not
/// followed.
fn whole(text: &str, world: World<'_>) -> Option<String> {
    if has_drive(text) || text.contains('\\') {
        return None;
    }
    match text.strip_prefix('~') {
        None => Some(absolute(world.directory, text)),
        Some(rest) if rest.is_empty() || rest.starts_with('/') => {
            Some(absolute(world.home, rest.trim_start_matches('/')))
        }
        Some(_) => None,
    }
}

/// Joins the two unless the path is absolute, and removes `.`, `..` and doubled slashes.
fn absolute(directory: &str, path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    let directory = if path.starts_with('/') { "" } else { directory };
    for part in directory.split('/').chain(path.split('/')) {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

fn lies_in(path: &str, directory: &str) -> bool {
    let rest = path.strip_prefix(directory.trim_end_matches('/'));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Returns whether the path exists; `None` if the machine does not show it clearly.
fn existence(path: &str, files: &dyn Files) -> Option<bool> {
    let mut path = path;
    let mut asked = true;
    loop {
        if path == "/" {
            return asked.then_some(true);
        }
        let (parent, name) = path.rsplit_once('/')?;
        let parent = if parent.is_empty() { "/" } else { parent };
        let names = files.list(parent);
        if names.iter().any(|other| other == name) {
            // An existing ancestor without entries may be unreadable.
            return asked.then_some(true);
        }
        if names.len() >= MAX_LISTED {
            return (asked && files.has_file(path)).then_some(true);
        }
        if !names.is_empty() {
            return Some(false);
        }
        (path, asked) = (parent, false);
    }
}
