//! The templates of task files: `{{.NAME}}`, its default, and conditions of which each side may hold.

use crate::value::{ENVIRONMENT, HOLE};

/// More sides of conditions are not told apart.
const MAX_WAYS: usize = 16;

/// The text with its variables filled in; the last value of a name counts.
pub(super) fn filled(text: &str, variables: &[(String, String)]) -> String {
    let mut whole = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{{") {
        whole.push_str(before);
        let Some((inner, after)) = after.split_once("}}") else {
            whole.push(HOLE);
            return whole;
        };
        if inner.starts_with('-') {
            whole.truncate(whole.trim_end().len());
        }
        let trims = inner.ends_with('-');
        let value = value(inner.trim_matches(['-', ' ']), variables);
        if value.contains("$(") && whole.matches('\'').count() % 2 == 1 {
            // What a command prints stands there, and not the command.
            if value.contains(['"', '\'', '\\']) {
                whole.push(HOLE);
            } else {
                whole.push_str(&format!("'\"{value}\"'"));
            }
        } else {
            whole.push_str(&value);
        }
        rest = if trims { after.trim_start() } else { after };
    }
    whole.push_str(rest);
    whole
}

/// What stands between the braces.
fn value(inner: &str, variables: &[(String, String)]) -> String {
    if inner.starts_with("/*") {
        return String::new();
    }
    if is_plain_word(inner) {
        return ENVIRONMENT.to_string();
    }
    let mut parts = inner.split('|').map(str::trim);
    let first = parts.next().unwrap_or_default();
    let mut value = operand(first, variables);
    for part in parts {
        value = match part.split_once(' ') {
            Some(("default", other)) => defaulted(value, operand(other.trim(), variables)),
            None => match (part, value) {
                ("lower", Some(text)) => Some(text.to_lowercase()),
                ("upper", Some(text)) => Some(text.to_uppercase()),
                ("trim" | "quote" | "squote" | "shellQuote" | "q" | "toString", value) => value,
                _ => Some(HOLE.to_string()),
            },
            _ => Some(HOLE.to_string()),
        };
    }
    if let Some((other, name)) = first
        .strip_prefix("default ")
        .and_then(|words| words.trim().rsplit_once(' '))
    {
        value = defaulted(operand(name, variables), operand(other.trim(), variables));
    }
    // A name that is set nowhere is a variable of the environment.
    value.unwrap_or_else(|| ENVIRONMENT.to_string())
}

/// Whether functions make one plain word of what they are given, whatever that is: a date, or a part of a path.
fn is_plain_word(inner: &str) -> bool {
    const MAKES: &[&str] = &[
        "OS",
        "ARCH",
        "exeExt",
        "numCPU",
        "now",
        "date",
        "joinPath",
        "relPath",
        "base",
        "dir",
        "ext",
        "clean",
        "toSlash",
        "fromSlash",
        "trimPrefix",
        "trimSuffix",
        "env",
        "uuid",
    ];
    let mut names = inner.split('|').map(|part| part.trim().split(' ').next());
    let first = names.next().flatten().unwrap_or_default();
    let known = |name: &str| MAKES.contains(&name);
    let rest: Vec<&str> = names.flatten().collect();
    let made = known(first) || (first.starts_with('.') && !rest.is_empty());
    made && rest.iter().all(|name| known(name))
        && !inner.contains([';', '&', '$', '`', '<', '>', '\n'])
}

fn defaulted(value: Option<String>, other: Option<String>) -> Option<String> {
    value.filter(|value| !value.is_empty()).or(other)
}

/// A name or a text; nothing for a name that is not set.
fn operand(text: &str, variables: &[(String, String)]) -> Option<String> {
    if let Some(name) = text.strip_prefix('.') {
        let known = variables.iter().rev().find(|(known, _)| known == name);
        return match known {
            Some((_, value)) => Some(value.clone()),
            None if name.chars().all(|one| one.is_alphanumeric() || one == '_') => None,
            None => Some(HOLE.to_string()),
        };
    }
    let quoted = text
        .strip_prefix(['"', '`'])
        .and_then(|text| text.strip_suffix(['"', '`']));
    if let Some(text) = quoted.filter(|text| !text.contains(['"', '`', '\\'])) {
        return Some(text.to_owned());
    }
    if !text.is_empty() && text.chars().all(|one| one.is_ascii_digit()) {
        return Some(text.to_owned());
    }
    Some(HOLE.to_string())
}

/// The texts that conditions leave, one for each side.
pub(super) fn ways(text: &str) -> Vec<String> {
    let mut done = Vec::new();
    let mut waiting = vec![text.to_owned()];
    while let Some(text) = waiting.pop() {
        if done.len().saturating_add(waiting.len()) > MAX_WAYS {
            return vec![HOLE.to_string()];
        }
        match sides(&text) {
            Some(sides) => waiting.extend(sides),
            None => done.push(text),
        }
    }
    done
}

/// The sides of the first condition, each with what stands around it.
fn sides(text: &str) -> Option<Vec<String>> {
    let mut depth = 0_usize;
    let mut begin = 0;
    let mut from = 0;
    let mut parts: Vec<&str> = Vec::new();
    let mut has_else = false;
    for (at, _) in text.match_indices("{{") {
        let inner = text.get(at.saturating_add(2)..)?;
        let length = inner.find("}}")?;
        let after = at.saturating_add(length).saturating_add(4);
        let inner = inner.get(..length)?.trim_matches(['-', ' ']);
        match inner.split(' ').next().unwrap_or_default() {
            "if" | "with" | "range" => {
                if depth == 0 {
                    (begin, from) = (at, after);
                }
                depth = depth.saturating_add(1);
            }
            "else" if depth == 1 => {
                parts.push(text.get(from..at)?);
                has_else |= inner == "else";
                from = after;
            }
            "end" if depth == 1 => {
                parts.push(text.get(from..at)?);
                if !has_else {
                    parts.push("");
                }
                let (before, rest) = (text.get(..begin)?, text.get(after..)?);
                let whole = parts.iter().map(|part| format!("{before}{part}{rest}"));
                return Some(whole.collect());
            }
            "end" => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    None
}
