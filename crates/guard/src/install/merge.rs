//! Inserts hook entries into another program's JSON settings, and preserves comments and formatting.
//!
//! Existing text is not moved, reformatted or interpreted. Text that cannot be parsed is refused with its position, and
//! nothing is written.

mod variables;

use jsonc_parser::ast::{Object, ObjectProp, Value as Node};
use jsonc_parser::common::Ranged as _;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use serde_json::Value;

use super::layout::{Container, Layout};
use base::insertion::Insertion;

pub use variables::without_variables;

/// Some editors put it in front of the text; JSON parsers do not accept it as a part of the text.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// The key of hooks in every agent's settings.
const HOOKS: &str = "hooks";

/// Syntax that the agent's parser accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// JSON and nothing else.
    Strict,
    /// Comments and trailing commas too.
    Comments,
}

/// One entry in the list of an event.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Name of the event.
    pub event: &'static str,
    /// Value for its list.
    pub value: Value,
}

/// Everything of ours in a settings file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Wanted {
    /// Keys beside `hooks` that must exist, with any value.
    pub beside: Vec<(&'static str, Value)>,
    pub entries: Vec<Entry>,
    /// Keys within objects beside `hooks`: the object, the key and its value. An existing key stays as it is.
    pub inside: Vec<(&'static str, &'static str, Value)>,
}

/// Settings that cannot be merged, with the position.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {what}")]
pub struct MergeError {
    /// Counted from 1.
    pub line: usize,
    /// Counted from 1, in characters.
    pub column: usize,
    /// Error at this position.
    pub what: String,
}

/// Returns the insertions after which the settings hold everything in `wanted` behind their existing content.
///
/// # Errors
/// The text is not of this dialect, or a part that has to hold entries has another shape.
pub fn insertions(
    text: &str,
    dialect: Dialect,
    wanted: &Wanted,
) -> Result<Vec<Insertion>, MergeError> {
    let file = Parsed::new(text, dialect)?;
    let mut insertions = match &file.root {
        None => file.whole(wanted),
        Some(Node::Object(root)) => file.at_root(root, wanted)?,
        Some(other) => return Err(file.refuse(other.start(), "expected an object: `{`")),
    };
    insertions.sort_by_key(|insertion| insertion.at);
    Ok(insertions)
}

/// Parses the entries in the lists of events, each with its event.
///
/// # Errors
/// As [`insertions`].
pub fn entries(text: &str, dialect: Dialect) -> Result<Vec<(String, Value)>, MergeError> {
    let file = Parsed::new(text, dialect)?;
    let Some(Node::Object(root)) = &file.root else {
        return Ok(Vec::new());
    };
    let mut found = Vec::new();
    if let Some(hooks) = file.hooks(root)? {
        for property in &hooks.properties {
            let Node::Array(list) = &property.value else {
                continue;
            };
            let event = property.name.as_str().to_owned();
            let values = list.elements.iter().cloned().map(Value::from);
            found.extend(values.map(|value| (event.clone(), value)));
        }
    }
    Ok(found)
}

/// Returns one setting beside the hooks; `None` if it is missing, or the text cannot be parsed.
#[must_use]
pub fn setting(text: &str, dialect: Dialect, key: &str) -> Option<Value> {
    let file = Parsed::new(text, dialect).ok()?;
    let Some(Node::Object(root)) = &file.root else {
        return None;
    };
    let property = root
        .properties
        .iter()
        .find(|one| one.name.as_str() == key)?;
    Some(Value::from(property.value.clone()))
}

/// Returns the settings as a value; `None` if the text cannot be parsed or is blank.
#[must_use]
pub fn parse(text: &str, dialect: Dialect) -> Option<Value> {
    let file = Parsed::new(text, dialect).ok()?;
    file.root.map(Value::from)
}

/// Returns the text with another value at a place; `None` if there is no such place.
#[must_use]
pub fn replace(text: &str, dialect: Dialect, place: &[&str], value: &Value) -> Option<String> {
    let file = Parsed::new(text, dialect).ok()?;
    let mut node = file.root.as_ref()?;
    for key in place {
        node = &node.as_object()?.get(key)?.value;
    }
    let (start, end) = (node.start() + file.offset, node.end() + file.offset);
    Some(format!("{}{value}{}", text.get(..start)?, text.get(end..)?))
}

/// Returns the text without the entries that are `ours`, and without lists that held nothing else.
///
/// # Errors
/// As [`insertions`].
pub fn without(
    text: &str,
    dialect: Dialect,
    ours: &dyn Fn(&Value) -> bool,
) -> Result<String, MergeError> {
    let mut text = text.to_owned();
    loop {
        let file = Parsed::new(&text, dialect)?;
        let Some(cut) = file.first_of_ours(ours)? else {
            return Ok(text);
        };
        text = cut;
    }
}

/// A text and its parsed value.
struct Parsed<'a> {
    text: &'a str,
    root: Option<Node<'a>>,
    /// Bytes of the byte order mark, which the parser's positions do not include.
    offset: usize,
}

impl<'a> Parsed<'a> {
    fn new(text: &'a str, dialect: Dialect) -> Result<Self, MergeError> {
        let body = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
        let tolerant = dialect == Dialect::Comments;
        let options = ParseOptions {
            allow_comments: tolerant,
            allow_trailing_commas: tolerant,
            allow_loose_object_property_names: false,
            allow_missing_commas: false,
            allow_single_quoted_strings: false,
            allow_hexadecimal_numbers: false,
            allow_unary_plus_numbers: false,
            allow_bare_decimal_point_numbers: false,
            allow_non_finite_numbers: false,
            allow_extended_string_escapes: false,
        };
        let parsed = parse_to_ast(body, &CollectOptions::default(), &options).map_err(|error| {
            MergeError {
                line: error.line_display(),
                column: error.column_display(),
                what: error.kind().to_string(),
            }
        })?;
        Ok(Self {
            text: body,
            root: parsed.value,
            offset: text.len() - body.len(),
        })
    }

    fn refuse(&self, at: usize, what: &str) -> MergeError {
        let before = self.text.get(..at).unwrap_or_default();
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let column = before.get(line_start..).unwrap_or_default().chars().count();
        MergeError {
            line: before.matches('\n').count() + 1,
            column: column + 1,
            what: what.to_owned(),
        }
    }

    /// Returns the insertions for a text without any value: blank, or only comments.
    fn whole(&self, wanted: &Wanted) -> Vec<Insertion> {
        let layout = Layout::of(self.text, None);
        let mut document = serde_json::Map::new();
        for (key, value) in &wanted.beside {
            document.insert((*key).to_owned(), value.clone());
        }
        for (outer, key, value) in &wanted.inside {
            let inner = document
                .entry(*outer)
                .or_insert_with(|| Value::Object(serde_json::Map::new()));
            if let Some(inner) = inner.as_object_mut() {
                inner.insert((*key).to_owned(), value.clone());
            }
        }
        document.insert(HOOKS.to_owned(), lists(&wanted.entries, &|_| true));
        let newline = layout.newline();
        let joint = if self.text.is_empty() || self.text.ends_with('\n') {
            ""
        } else {
            newline
        };
        let written = layout.written(&Value::Object(document), "");
        vec![Insertion {
            at: self.offset + self.text.len(),
            text: format!("{joint}{written}{newline}"),
        }]
    }

    fn at_root(&self, root: &Object<'_>, wanted: &Wanted) -> Result<Vec<Insertion>, MergeError> {
        let first = root.properties.first().map(|property| property.range.start);
        let compact = !self.slice(root.range.start, root.range.end).contains('\n');
        let layout = match first {
            Some(_) if compact => Layout::compact(self.text),
            first => Layout::of(self.text, first),
        };
        let mut result = Vec::new();
        let mut missing: Vec<(&str, Value)> = Vec::new();
        for (key, value) in &wanted.beside {
            if root.get(key).is_none() {
                missing.push((key, value.clone()));
            }
        }
        self.inside(&layout, root, &wanted.inside, &mut missing, &mut result);
        match self.hooks(root)? {
            None => missing.push((HOOKS, lists(&wanted.entries, &|_| true))),
            Some(hooks) => self.at_hooks(&layout, hooks, &wanted.entries, &mut result)?,
        }
        result.extend(layout.append_properties(&object(root), &missing));
        for insertion in &mut result {
            insertion.at += self.offset;
        }
        Ok(result)
    }

    fn at_hooks(
        &self,
        layout: &Layout<'_>,
        hooks: &Object<'_>,
        entries: &[Entry],
        result: &mut Vec<Insertion>,
    ) -> Result<(), MergeError> {
        for property in &hooks.properties {
            let event = property.name.as_str();
            let mine = entries.iter().filter(|entry| entry.event == event);
            let values: Vec<&Value> = mine.map(|entry| &entry.value).collect();
            if values.is_empty() {
                continue;
            }
            let Node::Array(list) = &property.value else {
                let what = format!("expected the hooks of `{event}` to be a list: `[`");
                return Err(self.refuse(property.value.start(), &what));
            };
            self.only_once(hooks, event)?;
            let container = Container {
                start: list.range.start,
                end: list.range.end,
                last: list.elements.last().map(|last| (last.start(), last.end())),
            };
            result.extend(layout.append_elements(&container, &values));
        }
        let missing = lists(entries, &|event| hooks.get(event).is_none());
        let missing: Vec<(&str, Value)> = missing
            .as_object()
            .into_iter()
            .flatten()
            .map(|(event, list)| (event.as_str(), list.clone()))
            .collect();
        result.extend(layout.append_properties(&object(hooks), &missing));
        Ok(())
    }

    fn hooks<'b>(&self, root: &'b Object<'a>) -> Result<Option<&'b Object<'a>>, MergeError> {
        let Some(property) = root.get(HOOKS) else {
            return Ok(None);
        };
        self.only_once(root, HOOKS)?;
        match &property.value {
            Node::Object(hooks) => Ok(Some(hooks)),
            other => Err(self.refuse(other.start(), "expected `hooks` to be an object: `{`")),
        }
    }

    /// Refuses a duplicate key: some programs use the first one, some the last.
    fn only_once(&self, object: &Object<'_>, key: &str) -> Result<(), MergeError> {
        let mut same = object
            .properties
            .iter()
            .filter(|property| property.name.as_str() == key);
        match (same.next(), same.next()) {
            (_, Some(second)) => {
                Err(self.refuse(second.range.start, &format!("the key `{key}` stands twice")))
            }
            _ => Ok(()),
        }
    }

    /// Returns the text without our first entry, or `None` if there is none.
    fn first_of_ours(&self, ours: &dyn Fn(&Value) -> bool) -> Result<Option<String>, MergeError> {
        let Some(Node::Object(root)) = &self.root else {
            return Ok(None);
        };
        let Some(hooks) = self.hooks(root)? else {
            return Ok(None);
        };
        for property in &hooks.properties {
            let Node::Array(list) = &property.value else {
                continue;
            };
            for (index, element) in list.elements.iter().enumerate() {
                let Some(inner) = find(element, ours) else {
                    continue;
                };
                let layout = Layout::of(self.text, None);
                let cut = match inner {
                    Within::Handlers(handlers, at) => layout.cut(&spans(handlers), at),
                    Within::Itself if list.elements.len() > 1 => {
                        layout.cut(&spans(&list.elements), index)
                    }
                    Within::Itself => self.cut_list(root, hooks, property, element),
                };
                let mark = if self.offset > 0 { "\u{feff}" } else { "" };
                return Ok(Some(format!("{mark}{cut}")));
            }
        }
        Ok(None)
    }

    /// Removes a list that would be empty, and `hooks` if it was the last; lists with a comment stay.
    fn cut_list(
        &self,
        root: &Object<'_>,
        hooks: &Object<'_>,
        property: &ObjectProp<'_>,
        element: &Node<'_>,
    ) -> String {
        let layout = Layout::of(self.text, None);
        let bare = |outer: (usize, usize)| {
            let around = [
                self.slice(outer.0, element.start()),
                self.slice(element.end(), outer.1),
            ];
            !around
                .iter()
                .any(|text| text.contains("//") || text.contains("/*"))
        };
        let position = |object: &Object<'_>, start| {
            let spans = properties(object);
            let index = spans.iter().position(|span| span.0 == start);
            layout.cut(&spans, index.unwrap_or_default())
        };
        let whole = root
            .get(HOOKS)
            .map(|hooks| (hooks.range.start, hooks.range.end));
        let list = (property.range.start, property.range.end);
        match whole {
            Some(whole) if hooks.properties.len() == 1 && bare(whole) => position(root, whole.0),
            _ if bare(list) => position(hooks, list.0),
            _ => layout.cut(&[(element.start(), element.end())], 0),
        }
    }

    fn slice(&self, start: usize, end: usize) -> &str {
        self.text.get(start..end).unwrap_or_default()
    }
}

/// The part of an event's list element that is ours.
enum Within<'a, 'b> {
    /// All of it.
    Itself,
    /// One of its handlers, beside handlers of others.
    Handlers(&'b [Node<'a>], usize),
}

fn find<'a, 'b>(element: &'b Node<'a>, ours: &dyn Fn(&Value) -> bool) -> Option<Within<'a, 'b>> {
    if ours(&Value::from(element.clone())) {
        return Some(Within::Itself);
    }
    let handlers = &element.as_object()?.get_array(HOOKS)?.elements;
    let at = handlers
        .iter()
        .position(|handler| ours(&Value::from(handler.clone())))?;
    Some(match handlers.len() {
        1 => Within::Itself,
        _ => Within::Handlers(handlers, at),
    })
}

fn properties(object: &Object<'_>) -> Vec<(usize, usize)> {
    object
        .properties
        .iter()
        .map(|property| (property.range.start, property.range.end))
        .collect()
}

fn spans(nodes: &[Node<'_>]) -> Vec<(usize, usize)> {
    nodes
        .iter()
        .map(|node| (node.start(), node.end()))
        .collect()
}

fn object(object: &Object<'_>) -> Container {
    Container {
        start: object.range.start,
        end: object.range.end,
        last: properties(object).last().copied(),
    }
}

/// Returns the entries as an object of lists, in their order.
fn lists(entries: &[Entry], take: &dyn Fn(&str) -> bool) -> Value {
    let mut events = serde_json::Map::new();
    for entry in entries.iter().filter(|entry| take(entry.event)) {
        let list = events
            .entry(entry.event)
            .or_insert_with(|| Value::Array(Vec::new()));
        if let Value::Array(list) = list {
            list.push(entry.value.clone());
        }
    }
    Value::Object(events)
}

#[cfg(test)]
mod tests;
