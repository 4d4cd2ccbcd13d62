//! Commands in the arguments of a tool that is not known: in any string, at any depth.
//!
//! A string in a field that is named for commands is followed as one. Any other string counts, as a question, where it
//! reads as the call of a gated program; prose does not.

use serde_json::Value;

use crate::evaluate::Evaluator;
use crate::evaluate::run::program_name;
use crate::words::names;

/// Parts of the names of fields that hold a command.
const COMMANDS: &[&str] =
    names!("command commands cmd cmds script scripts bash shell sh run exec commandline");

/// Fields that hold the name of a program, and its arguments.
const PROGRAMS: &[&str] = names!("program executable exe binary bin command cmd tool");
const ARGUMENTS: &[&str] = names!("args arguments argv params parameters");

/// Fields that hold code, whose strings can be commands.
const CODE: &[&str] = names!("script");

/// Fields that hold the content of a file.
const CONTENT: &[&str] = names!(
    "content contents file_text new_string old_string new_str old_str insert_text patch diff code source"
);

/// Longer strings are texts.
const MAX_TEXT: usize = 16 * 1024;
/// Longest line that can be a command in a field of another kind, and its longest part in words.
const MAX_LINE: usize = 300;
const MAX_WORDS: usize = 5;
/// More strings are not followed; the rest of the input counts as one that is not understood.
const MAX_STRINGS: usize = 256;

/// Follows the commands in an input.
pub(super) fn follow(evaluator: &mut Evaluator<'_>, input: &Value) {
    let mut left = MAX_STRINGS;
    walk(evaluator, "", input, &mut left);
}

fn walk(evaluator: &mut Evaluator<'_>, key: &str, value: &Value, left: &mut usize) {
    match value {
        Value::String(text) => string(evaluator, key, text, left),
        Value::Array(items) => {
            words(evaluator, items);
            for item in items {
                walk(evaluator, key, item, left);
            }
        }
        Value::Object(entries) => {
            call(evaluator, value);
            for (key, value) in entries {
                string(evaluator, "", key, left);
                walk(evaluator, key, value, left);
            }
        }
        _ => {}
    }
}

/// `{"program": "git", "arguments": ["push"]}`.
fn call(evaluator: &mut Evaluator<'_>, object: &Value) {
    let field = |names: &[&str]| names.iter().find_map(|name| object.get(name));
    let program = field(PROGRAMS).and_then(Value::as_str);
    let Some((program, arguments)) = program.zip(field(ARGUMENTS)) else {
        return;
    };
    let mut all = vec![program.to_owned()];
    match arguments {
        Value::String(text) => all.extend(text.split_whitespace().map(str::to_owned)),
        Value::Array(items) => {
            all.extend(items.iter().filter_map(Value::as_str).map(str::to_owned));
        }
        _ => return,
    }
    evaluator.run(&all);
}

/// `["git", "push"]`: a list of words that begins with a program.
fn words(evaluator: &mut Evaluator<'_>, items: &[Value]) {
    let words: Option<Vec<String>> = items
        .iter()
        .map(|item| item.as_str().map(str::to_owned))
        .collect();
    let Some(words) = words.filter(|words| words.len() > 1 && words.len() < 1000) else {
        return;
    };
    if words
        .first()
        .is_some_and(|first| is_program(evaluator, first))
    {
        evaluator.perhaps(|this| this.run(&words));
    }
}

fn string(evaluator: &mut Evaluator<'_>, key: &str, text: &str, left: &mut usize) {
    if text.len() > MAX_TEXT || !may_start(evaluator, text) {
        return;
    }
    let Some(rest) = left.checked_sub(1) else {
        return;
    };
    *left = rest;
    let parts = parts_of(key);
    let is_named = |names: &[&str]| parts.iter().any(|part| names.contains(&part.as_str()));
    if is_named(COMMANDS) {
        evaluator.shell_text(text);
    } else if !CONTENT.contains(&key) && reads_as_command(evaluator, text) {
        evaluator.perhaps(|this| this.shell_text(text));
    }
    if is_named(CODE) {
        for literal in text.split(['"', '\'', '`']) {
            if reads_as_command(evaluator, literal) {
                evaluator.perhaps(|this| this.shell_text(literal));
            }
        }
    }
}

/// Returns `true` if the name of a program that is gated, ours or an agent stands in a text.
fn may_start(evaluator: &Evaluator<'_>, text: &str) -> bool {
    let mut programs = evaluator
        .catalog
        .programs()
        .chain(["roleos", "claude", "codex", "gemini"]);
    programs.any(|program| text.contains(program)) || crate::actions::mentions_guarded(text)
}

fn is_program(evaluator: &Evaluator<'_>, word: &str) -> bool {
    let name = program_name(word);
    evaluator.catalog.is_program(&name) || name == "roleos"
}

/// Returns `true` if a text is one line whose parts are short, and one of them begins with a gated program.
fn reads_as_command(evaluator: &Evaluator<'_>, text: &str) -> bool {
    let line = text.trim();
    if line.len() > MAX_LINE || line.contains('\n') {
        return false;
    }
    let parts = line
        .split(['&', ';', '|'])
        .map(str::trim)
        .filter(|part| !part.is_empty());
    parts.into_iter().any(|part| {
        let mut words = part
            .split_whitespace()
            .skip_while(|word| word.contains('=') || *word == "sudo");
        let begins = words
            .next()
            .is_some_and(|first| is_program(evaluator, first));
        let operands = words.filter(|word| !word.starts_with('-')).count();
        begins && operands < MAX_WORDS - 1
    })
}

/// Returns the parts of a field's name, in lower case: `shellCommand`, `shell_command`.
fn parts_of(key: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    for letter in key.chars() {
        let begins = letter.is_ascii_uppercase() || !letter.is_alphanumeric();
        if begins && parts.last().is_some_and(|part| !part.is_empty()) {
            parts.push(String::new());
        }
        if letter.is_alphanumeric()
            && let Some(part) = parts.last_mut()
        {
            part.push(letter.to_ascii_lowercase());
        }
    }
    parts
}
