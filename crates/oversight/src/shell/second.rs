//! The second opinion: program names that tree-sitter-bash sees.
//!
//! It never finds danger and never lifts a doubt. It only says that the first parser may have overlooked a command.

use std::cell::RefCell;
use std::collections::BTreeSet;

use tree_sitter::{Parser, TreeCursor};

thread_local! {
    /// Building a parser costs more than a typical command.
    static PARSER: RefCell<Option<Parser>> = RefCell::new(bash());
}

fn bash() -> Option<Parser> {
    let mut parser = Parser::new();
    parser
        .set_language(&tree_sitter_bash::LANGUAGE.into())
        .ok()?;
    Some(parser)
}

/// Longer texts have no second opinion; the first parser's word stands.
const MAX_BYTES: usize = 64 * 1024;

/// Names of programs in command position, written as plain words.
///
/// None when the second parser does not understand the text, or was not asked.
pub(crate) fn program_names(text: &str) -> Option<BTreeSet<String>> {
    if text.len() > MAX_BYTES {
        return None;
    }
    let tree = PARSER.with_borrow_mut(|parser| parser.as_mut()?.parse(text, None))?;
    let root = tree.root_node();
    if root.has_error() {
        return None;
    }
    let mut names = BTreeSet::new();
    let mut cursor = root.walk();
    loop {
        let node = cursor.node();
        if node.kind() == "command_name"
            && let Some(name) = text.get(node.byte_range())
            && is_plain(name)
        {
            names.insert(name.to_owned());
        }
        if !cursor.goto_first_child() && !advance(&mut cursor) {
            return Some(names);
        }
    }
}

fn advance(cursor: &mut TreeCursor<'_>) -> bool {
    loop {
        if cursor.goto_next_sibling() {
            return true;
        }
        if !cursor.goto_parent() {
            return false;
        }
    }
}

fn is_plain(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./+".contains(&byte);
    !name.is_empty() && name.bytes().all(plain)
}
