//! What `jq` prints of a document that is known: paths, elements, joined texts, and new texts in it.

use serde_json::Value as Json;

use super::words::Given;

/// The output of `jq`; None where the program does more.
pub(super) fn query(arguments: &[String], text: &str) -> Option<String> {
    let long = [
        ("raw-output", 'r'),
        ("null-input", 'n'),
        ("exit-status", 'e'),
        ("compact-output", 'c'),
        ("join-output", 'j'),
    ];
    let given = Given::read(arguments, "rnecjM", &long)?;
    let program = given.operands.first()?;
    if let Some(document) = assigned(program, text) {
        return Some(document);
    }
    let raw = given.has('r') || given.has('j');
    let document = if given.has('n') {
        Json::Null
    } else {
        // A program that is a text needs no document.
        serde_json::from_str(text).unwrap_or(Json::Null)
    };
    let mut values = vec![document];
    for stage in program.split('|') {
        let mut next = Vec::new();
        for value in values {
            next.extend(staged(stage.trim(), value)?);
        }
        values = next;
    }
    let end = if given.has('j') { "" } else { "\n" };
    let mut output = String::new();
    for value in &values {
        match value {
            Json::String(text) if raw => output.push_str(text),
            Json::Array(_) | Json::Object(_) => return None,
            other => output.push_str(&other.to_string()),
        }
        output.push_str(end);
    }
    Some(output)
}

/// One part between pipes.
fn staged(stage: &str, value: Json) -> Option<Vec<Json>> {
    if let Ok(literal @ (Json::String(_) | Json::Array(_))) = serde_json::from_str(stage) {
        return Some(vec![literal]);
    }
    if let Some(separator) = stage
        .strip_prefix("join(")
        .and_then(|rest| rest.strip_suffix(')'))
    {
        let separator: String = serde_json::from_str(separator.trim()).ok()?;
        let words: Vec<&str> = value
            .as_array()?
            .iter()
            .map(Json::as_str)
            .collect::<Option<_>>()?;
        return Some(vec![Json::String(words.join(&separator))]);
    }
    if stage == "implode" {
        let letters = value.as_array()?.iter().map(|number| {
            let number = u32::try_from(number.as_u64()?).ok()?;
            char::from_u32(number)
        });
        return Some(vec![Json::String(letters.collect::<Option<_>>()?)]);
    }
    if let Some((first, other)) = stage.split_once(" // ") {
        let found = staged(first.trim(), value.clone()).unwrap_or_default();
        let found: Vec<Json> = found.into_iter().filter(|one| !one.is_null()).collect();
        return if found.is_empty() {
            staged(other.trim(), value)
        } else {
            Some(found)
        };
    }
    let mut rest = stage.strip_prefix('.')?;
    let mut values = vec![value];
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix("[]") {
            let mut inner = Vec::new();
            for value in values {
                match value {
                    Json::Array(all) => inner.extend(all),
                    Json::Object(all) => inner.extend(all.into_iter().map(|(_, one)| one)),
                    _ => return None,
                }
            }
            values = inner;
            rest = after.strip_prefix('.').unwrap_or(after);
            continue;
        }
        let (key, after) = key(rest)?;
        values = values
            .iter()
            .map(|value| match key.parse::<usize>() {
                Ok(index) if value.is_array() => value.get(index).cloned(),
                _ => value.get(key).cloned(),
            })
            .collect::<Option<_>>()?;
        rest = after.strip_prefix('.').unwrap_or(after);
    }
    Some(values)
}

/// `name`, `"name"`, `["name"]` or `[0]` at the beginning, and what follows.
fn key(text: &str) -> Option<(&str, &str)> {
    if let Some(inner) = text.strip_prefix('[') {
        let (key, after) = inner.split_once(']')?;
        return Some((key.trim().trim_matches('"'), after));
    }
    if let Some(inner) = text.strip_prefix('"') {
        return inner.split_once('"');
    }
    let end = text
        .find(|one: char| !(one.is_alphanumeric() || one == '_'))
        .unwrap_or(text.len());
    (end > 0).then(|| text.split_at_checked(end)).flatten()
}

/// `.scripts.x = "text"`, one or several with pipes between: the document with new texts in it.
fn assigned(program: &str, text: &str) -> Option<String> {
    let mut document: Json = serde_json::from_str(text).ok()?;
    for part in program.split('|') {
        let (path, value) = part.trim().split_once('=')?;
        let value: Json = serde_json::from_str(value.trim()).ok()?;
        let mut at = &mut document;
        for key in path.trim().strip_prefix('.')?.split('.') {
            let key = key.trim_matches(['"', '[', ']']);
            at = at.as_object_mut()?.entry(key).or_insert(Json::Null);
            if at.is_null() {
                *at = Json::Object(serde_json::Map::new());
            }
        }
        *at = value;
    }
    Some(document.to_string() + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_picked_out_of_documents() {
        for (words, text, expected) in [
            (&["-r", ".a.b"][..], r#"{"a":{"b":"push"}}"#, Some("push\n")),
            (
                &["-r", ".steps[].run"],
                r#"{"steps":[{"run":"a"},{"run":"b"}]}"#,
                Some("a\nb\n"),
            ),
            (
                &["-r", ".c|join(\" \")"],
                r#"{"c":["git","push"]}"#,
                Some("git push\n"),
            ),
            (&["-rn", "[112,117]|implode"], "", Some("pu\n")),
            (&["-r", ".a // \"x\""], "{}", Some("x\n")),
            (&["-r", ".a | ascii_upcase"], r#"{"a":"x"}"#, None),
        ] {
            let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
            assert_eq!(query(&words, text).as_deref(), expected, "{words:?}");
        }
    }
}
