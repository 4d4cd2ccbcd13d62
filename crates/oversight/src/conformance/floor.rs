//! The schema floor: is what has to be there there, of the right type, and within its bounds? A note is a proof.

use serde_json::{Map, Value};

use super::contract::{Contract, Param, PathRule};
use super::script::{self, json, number_text};
use super::{Level, Notes};
use crate::lookup::{Content, Lookup, absolute, base_name, directory_of};
use crate::verdict::Place;

/// Longer texts are not compared with a pattern.
const MAX_SEARCHED: usize = 1 << 20;

/// A list of so many names may be cut off, so that what is not in it may still be there.
const MAX_LISTED: usize = 4096;

/// What the rules may ask of the world.
#[derive(Clone, Copy)]
pub(super) struct World<'a> {
    pub(super) place: Place<'a>,
    pub(super) lookup: &'a dyn Lookup,
}

/// Levels 1 to 3: first all that is missing, then argument by argument.
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

/// Too large, too small, too long, too short.
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
    let whole = whole(text, world.place);
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
        let directories = directories.map(|directory| self::whole(directory, world.place));
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
    match (rule.exists, existence(&whole, world.lookup)) {
        (Some(true), Some(false)) => found.push(format!("'{name}' does not exist: {whole}")),
        (Some(false), Some(true)) => found.push(format!("'{name}' exists already: {whole}")),
        _ => {}
    }
    found
}

/// `C:\` and `C:/`.
fn has_drive(text: &str) -> bool {
    let mut letters = text.chars();
    letters
        .next()
        .is_some_and(|letter| letter.is_ascii_alphabetic())
        && letters.next() == Some(':')
        && matches!(letters.next(), Some('/' | '\\'))
}

/// The path from the root, without asking the machine. Paths of another system or of another user are not followed.
fn whole(text: &str, place: Place<'_>) -> Option<String> {
    if has_drive(text) || text.contains('\\') {
        return None;
    }
    match text.strip_prefix('~') {
        None => Some(absolute(place.directory, text)),
        Some(rest) if rest.is_empty() || rest.starts_with('/') => {
            Some(absolute(place.home, rest.trim_start_matches('/')))
        }
        Some(_) => None,
    }
}

fn lies_in(path: &str, directory: &str) -> bool {
    let rest = path.strip_prefix(directory.trim_end_matches('/'));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Whether something is there; `None` when the machine does not show it clearly.
fn existence(path: &str, lookup: &dyn Lookup) -> Option<bool> {
    let mut path = path;
    let mut asked = true;
    loop {
        if path == "/" {
            return asked.then_some(true);
        }
        let parent = directory_of(path);
        let names = lookup.list(parent);
        let name = base_name(path);
        if names.iter().any(|other| other == name) {
            // An ancestor that is there and shows nothing may be closed to us.
            return asked.then_some(true);
        }
        if names.len() >= MAX_LISTED {
            return (asked && lookup.read(path) != Content::Missing).then_some(true);
        }
        if !names.is_empty() {
            return Some(false);
        }
        (path, asked) = (parent, false);
    }
}
