//! Keys within an object beside the hooks: inserted if missing, and removed again.

use jsonc_parser::ast::{Object, Value as Node};
use serde_json::Value;

use super::{Dialect, Insertion, Layout, MergeError, Parsed, object, properties};

/// Returns the text without variables of an object that are `ours`.
///
/// # Errors
/// As [`insertions`].
pub fn without_variables(
    text: &str,
    dialect: Dialect,
    outer: &str,
    ours: &dyn Fn(&str, &Value) -> bool,
) -> Result<String, MergeError> {
    let mut text = text.to_owned();
    loop {
        let file = Parsed::new(&text, dialect)?;
        let Some(Node::Object(root)) = &file.root else {
            return Ok(text);
        };
        match file.first_variable(root, outer, ours) {
            Some(cut) => text = cut,
            None => return Ok(text),
        }
    }
}

impl Parsed<'_> {
    /// Adds keys to objects beside the hooks, which are created if missing. A value that is not an object is left to
    /// its owner.
    pub(super) fn inside(
        &self,
        layout: &Layout<'_>,
        root: &Object<'_>,
        wanted: &[(&'static str, &'static str, Value)],
        missing: &mut Vec<(&str, Value)>,
        result: &mut Vec<Insertion>,
    ) {
        let mut outers: Vec<&'static str> = wanted.iter().map(|(outer, ..)| *outer).collect();
        outers.dedup();
        for outer in outers {
            let own = wanted.iter().filter(|(name, ..)| *name == outer);
            let own: Vec<(&str, Value)> =
                own.map(|(_, key, value)| (*key, value.clone())).collect();
            match root.get(outer).map(|property| &property.value) {
                None => {
                    let map: serde_json::Map<String, Value> = own
                        .into_iter()
                        .map(|(key, value)| (key.to_owned(), value))
                        .collect();
                    missing.push((outer, Value::Object(map)));
                }
                Some(Node::Object(inner)) => {
                    let new: Vec<(&str, Value)> = own
                        .into_iter()
                        .filter(|(key, _)| inner.get(key).is_none())
                        .collect();
                    result.extend(layout.append_properties(&object(inner), &new));
                }
                Some(_) => {}
            }
        }
    }

    /// Returns the text without our first variable; an object that held nothing else is removed as well.
    fn first_variable(
        &self,
        root: &Object<'_>,
        outer: &str,
        ours: &dyn Fn(&str, &Value) -> bool,
    ) -> Option<String> {
        let property = root.get(outer)?;
        let Node::Object(inner) = &property.value else {
            return None;
        };
        let at = inner
            .properties
            .iter()
            .position(|one| ours(one.name.as_str(), &Value::from(one.value.clone())))?;
        let layout = Layout::of(self.text, None);
        let only = inner.properties.len() == 1;
        let cut = match properties(root)
            .iter()
            .position(|span| span.0 == property.range.start)
        {
            Some(index) if only => layout.cut(&properties(root), index),
            _ => layout.cut(&properties(inner), at),
        };
        let mark = if self.offset > 0 { "\u{feff}" } else { "" };
        Some(format!("{mark}{cut}"))
    }
}
