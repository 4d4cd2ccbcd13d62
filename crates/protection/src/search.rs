//! Tools that search files by a name pattern: a pattern can match the keys without naming them.

use serde_json::Value;
use shell::pattern;

use crate::Touch;
use crate::programs::Touches;
use actions::lookup::base_name;

/// Limit of the alternatives of a pattern.
const MAX_ALTERNATIVES: usize = 64;

/// Returns the files that a search reads, by the field of its input with a name pattern. `keys_below` lists the keys
/// below a directory.
pub(crate) fn touches(
    input: &Value,
    field: &str,
    keys_below: &dyn Fn(&str) -> Vec<String>,
) -> Touches {
    let text = |key: &str| input.get(key).and_then(Value::as_str).unwrap_or_default();
    let place = match text("path") {
        "" => ".",
        "/" => "/",
        place => place.trim_end_matches('/'),
    };
    let mut found = Touches::new();
    if field == "glob" && base_name(place).eq_ignore_ascii_case(".role-os") {
        found.push((Touch::Take, place.to_owned()));
    }
    let patterns = alternatives(text(field));
    let keys = match field {
        "glob" if !text(field).is_empty() => keys_below(place),
        _ => Vec::new(),
    };
    for name in patterns {
        // A pattern that excludes files, and an empty one.
        if name.starts_with('!') || name.is_empty() {
            continue;
        }
        let whole = match name.strip_prefix('/') {
            Some(_) if field == "pattern" => name.clone(),
            Some(name) => format!("{place}/{name}"),
            None => format!("{place}/{name}"),
        };
        if whole.to_ascii_lowercase().contains("role-os") {
            found.push((Touch::Read, whole));
        } else if keys.iter().any(|path| can_match(&name, path)) {
            found.push((Touch::Take, place.to_owned()));
        }
    }
    found
}

/// Returns `true` if a name pattern can match a path: without a slash it is compared with the last part alone.
fn can_match(name: &str, path: &str) -> bool {
    let name = name.trim_start_matches("**/").trim_start_matches('/');
    if !name.contains('/') {
        return pattern::matches(name, base_name(path));
    }
    let mut at = Some(path);
    while let Some(path) = at {
        if pattern::matches(name, path) {
            return true;
        }
        at = path.split_once('/').map(|(_, rest)| rest);
    }
    false
}

/// Returns the pattern with each of its alternatives in braces, and each of several patterns.
fn alternatives(text: &str) -> Vec<String> {
    let mut done: Vec<String> = Vec::new();
    let mut open = vec![text.to_owned()];
    while let Some(text) = open.pop() {
        let parts = text.split_once('{').and_then(|(before, rest)| {
            let (inner, after) = rest.split_once('}')?;
            Some((before, inner, after))
        });
        match parts {
            Some((before, inner, after)) if open.len() < MAX_ALTERNATIVES => {
                let one = |part: &str| format!("{before}{part}{after}");
                open.extend(inner.split(',').map(one));
            }
            _ => done.extend(text.split([' ', ',']).map(str::to_owned)),
        }
        if done.len() > MAX_ALTERNATIVES {
            break;
        }
    }
    done
}
