//! How `task` was called, and what its loops go through.

use std::rc::Rc;

use crate::evaluate::run::quote;
use crate::evaluate::yaml::Node;
use crate::value::HOLE;

use super::template::filled;
use super::{File, Variables};

/// Options that take the next word.
const VALUED: &[&str] = &[
    "-t",
    "--taskfile",
    "-d",
    "--dir",
    "-o",
    "--output",
    "-C",
    "--concurrency",
    "-I",
    "--interval",
    "--sort",
];

/// How `task` was called.
#[derive(Default)]
pub(super) struct Call {
    pub(super) files: Rc<[File]>,
    pub(super) names: Vec<String>,
    pub(super) variables: Variables,
    /// Commands are only printed; variables are computed all the same.
    pub(super) dry: bool,
    pub(super) runs: usize,
}

impl Call {
    pub(super) fn of(arguments: &[String]) -> Self {
        let mut call = Self::default();
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            if word == "--" {
                let rest: Vec<String> = words.map(|word| quote(word)).collect();
                call.variables.push(("CLI_ARGS".to_owned(), rest.join(" ")));
                break;
            }
            if VALUED.contains(&word.as_str()) {
                words.next();
            } else if matches!(word.as_str(), "-n" | "--dry") {
                call.dry = true;
            } else if let Some((name, value)) =
                word.split_once('=').filter(|_| !word.starts_with('-'))
            {
                call.variables.push((name.to_owned(), value.to_owned()));
            } else if !word.starts_with('-') {
                call.names.push(word.clone());
            }
        }
        if call.variables.iter().all(|(name, _)| name != "CLI_ARGS") {
            call.variables.push(("CLI_ARGS".to_owned(), String::new()));
        }
        if call.names.is_empty() {
            call.names.push("default".to_owned());
        }
        call
    }
}

/// What `for` binds, round by round; one round without it.
pub(super) fn loop_items(
    node: Option<&Node>,
    variables: &Variables,
) -> Vec<Option<(String, String)>> {
    let Some(node) = node else {
        return vec![None];
    };
    let name = node.get("as").and_then(Node::text).unwrap_or("ITEM");
    let one = |value: String| Some((name.to_owned(), value));
    if let Some(variable) = node.get("var").and_then(Node::text) {
        let value = filled(&format!("{{{{.{variable}}}}}"), variables);
        let mark = node.get("split").and_then(Node::text);
        return match mark {
            Some(mark) => value
                .split(mark)
                .take(64)
                .map(|part| one(part.to_owned()))
                .collect(),
            None => value
                .split_whitespace()
                .take(64)
                .map(|part| one(part.to_owned()))
                .collect(),
        };
    }
    match node {
        Node::List(items) => {
            let texts = items.iter().take(64).map(|item| item.text());
            let texts = texts
                .map(|text| text.map_or_else(|| HOLE.to_string(), |text| filled(text, variables)));
            texts.map(one).collect()
        }
        _ => vec![one(HOLE.to_string())],
    }
}
