//! The strings of one list or object of a tool's input, read as the arguments of one command.

use serde_json::Value;

use super::strings::{
    CALLS, COMMANDS, FOR_PEOPLE, MAX_STRINGS, OBJECTS, Purpose, Walk, can_begin, holds_content,
    is_named, is_program, may_start,
};
use protection::inputs::parts_of;

/// Limit of programs in one container, and of argument lists for each.
const MAX_STARTS: usize = 4;
const MAX_PLACES: usize = 16;

impl Walk<'_, '_> {
    /// Evaluates `["git", ["push"]]`, `{"bin": "git", "options": {"sub": "push"}}`: the strings of a list or an
    /// object, in order and at any depth, are the arguments of one command, whose program can be at any position of
    /// an object.
    pub(super) fn container(&mut self, key: &str, value: &Value) {
        let mut leaves = Vec::new();
        let named = |key: &str| is_program(self.evaluator, key);
        collect(value, key, &named, None, &mut leaves);
        let text: Vec<&str> = leaves.iter().map(|leaf| leaf.text).collect();
        if leaves.len() < 2 || leaves.len() > MAX_STRINGS {
            return;
        }
        let calls = |leaf: &Leaf<'_>| leaf.is_in(COMMANDS) || leaf.is_in(CALLS);
        let may_run = self.purpose != Purpose::People || leaves.iter().any(calls);
        if !may_run || !may_start(self.evaluator, &text.join(" ")) {
            return;
        }
        let is_first = |at: &usize| {
            let list = leaves.get(*at).and_then(|leaf| leaf.list);
            let before = at.checked_sub(1).and_then(|before| leaves.get(before));
            list.is_none() || before.and_then(|before| before.list) != list
        };
        let starts = (0..leaves.len()).filter(is_first).filter(|at| {
            let leaf = leaves.get(*at);
            leaf.is_some_and(|leaf| {
                let mut words = Vec::new();
                leaf.add_to(&mut words);
                let first = words.first();
                first.is_some_and(|first| can_begin(self.evaluator, first))
            })
        });
        for at in starts.take(MAX_STARTS).collect::<Vec<_>>() {
            let Some(start) = leaves.get(at) else {
                continue;
            };
            for rest in arguments(&leaves, at) {
                let is_call = calls(start) || rest.iter().any(|leaf| calls(leaf));
                let mut words = Vec::new();
                start.add_to(&mut words);
                rest.iter().for_each(|leaf| leaf.add_to(&mut words));
                if is_call {
                    self.evaluator.muted(|this| this.run(&words));
                } else {
                    self.evaluator.perhaps(|this| this.run(&words));
                }
            }
        }
    }
}

/// A string of the input.
struct Leaf<'v> {
    /// Parts of the name of its field.
    field: Vec<String>,
    text: &'v str,
    /// Outermost list that contains it.
    list: Option<usize>,
}

impl Leaf<'_> {
    fn is_in(&self, names: &[&str]) -> bool {
        is_named(&self.field, names)
    }

    /// Adds its arguments: a string in a list is one, any other can contain several.
    fn add_to(&self, words: &mut Vec<String>) {
        match self.list {
            Some(_) => words.push(self.text.to_owned()),
            None => words.extend(self.text.split_whitespace().map(str::to_owned)),
        }
    }
}

/// Returns the lists of arguments that can belong to the program at `at`: the strings after it in its own list, each
/// other list or string, and all other strings together.
fn arguments<'l, 'v>(leaves: &'l [Leaf<'v>], at: usize) -> Vec<Vec<&'l Leaf<'v>>> {
    let list = leaves.get(at).and_then(|leaf| leaf.list);
    let own = leaves.iter().skip(at.saturating_add(1));
    let own: Vec<_> = own
        .take_while(|leaf| list.is_some() && leaf.list == list)
        .collect();
    if !own.is_empty() {
        return vec![own];
    }
    let can_be = |leaf: &&Leaf<'_>| !leaf.is_in(OBJECTS) || actions::mentions_guarded(leaf.text);
    let others = leaves.iter().enumerate().filter(|(other, _)| *other != at);
    let others: Vec<&Leaf<'_>> = others.map(|(_, leaf)| leaf).filter(can_be).collect();
    let is_same = |one: &&Leaf<'_>, two: &&Leaf<'_>| one.list.is_some() && one.list == two.list;
    let places = others.chunk_by(is_same).take(MAX_PLACES).map(<[_]>::to_vec);
    let places: Vec<_> = places.collect();
    places.into_iter().chain([others]).collect()
}

/// Collects the strings of a value in order. A field that is switched on counts by its name.
fn collect<'v>(
    value: &'v Value,
    key: &'v str,
    is_program: &dyn Fn(&str) -> bool,
    list: Option<usize>,
    leaves: &mut Vec<Leaf<'v>>,
) {
    let field = parts_of(key);
    if leaves.len() > MAX_STRINGS || is_named(&field, FOR_PEOPLE) || holds_content(key) {
        return;
    }
    let push = |text| leaves.push(Leaf { field, text, list });
    match value {
        Value::String(text) => push(text.as_str()),
        Value::Bool(true) => push(key),
        Value::Array(items) => {
            let list = list.or(Some(leaves.len()));
            let each = items.iter();
            each.for_each(|item| collect(item, key, is_program, list, leaves));
        }
        Value::Object(entries) => {
            for (key, value) in entries {
                if is_program(key) {
                    let field = Vec::new();
                    leaves.push(Leaf {
                        field,
                        text: key,
                        list,
                    });
                }
                collect(value, key, is_program, list, leaves);
            }
        }
        _ => {}
    }
}
