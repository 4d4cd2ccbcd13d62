//! Aliases that a program resolves by itself, so that no execution shows them: what a call of one comes down to.

use toml::{Table, Value};

use super::{Execution, Started};
use actions::lookup::{Content, Lookup, absolute};
use actions::{ALIASES, AliasesOf};

/// Aliases of aliases are followed so far.
const MAX_STEPS: usize = 8;

/// Returns `true` if a program resolves aliases by itself.
pub(super) fn has(program: &str) -> bool {
    ALIASES.iter().any(|kept| kept.program == program)
}

/// Returns what the words of a program stand for, one reading for each alias on the way.
pub(super) fn of(
    execution: &Execution,
    one: &Started,
    home: &str,
    lookup: &dyn Lookup,
) -> Vec<Started> {
    let Some(kept) = ALIASES.iter().find(|kept| kept.program == one.program) else {
        return Vec::new();
    };
    let mut tables = None;
    let mut found: Vec<Started> = Vec::new();
    let mut arguments = one.arguments.clone();
    for _ in 0..MAX_STEPS {
        let names = words_that_may_be_called(&arguments);
        let tables =
            tables.get_or_insert_with(|| tables_of(kept, execution, &one.arguments, home, lookup));
        let next = names.into_iter().find_map(|at| {
            let words = value_in(kept, execution, tables, arguments.get(at)?)?;
            Some(called(&words, arguments.get(at.saturating_add(1)..)?))
        });
        let Some(next) = next else {
            break;
        };
        let next = Started {
            program: one.program.clone(),
            arguments: next,
        };
        if found.contains(&next) {
            break;
        }
        arguments.clone_from(&next.arguments);
        found.push(next);
    }
    found
}

/// Where the name of the alias can stand: behind options, of which each may have a value.
fn words_that_may_be_called(arguments: &[String]) -> Vec<usize> {
    let mut places = Vec::new();
    for (at, word) in arguments.iter().enumerate() {
        if word.starts_with(['-', '+']) {
            continue;
        }
        places.push(at);
        let before = at.checked_sub(1).and_then(|before| arguments.get(before));
        if !before.is_some_and(|before| before.starts_with('-') && !before.contains('=')) {
            break;
        }
    }
    places
}

/// The words of an alias with those behind it, where `$1` takes the first of them.
fn called(words: &[String], rest: &[String]) -> Vec<String> {
    let mut rest = rest.iter();
    let mut all: Vec<String> = Vec::new();
    for word in words {
        let is_place = word
            .strip_prefix('$')
            .is_some_and(|at| at.parse::<usize>().is_ok());
        all.push(match is_place {
            true => rest.next().cloned().unwrap_or_default(),
            false => word.clone(),
        });
    }
    all.extend(rest.cloned());
    all
}

/// The words of an alias; `None` for one that is given to a shell, whose programs are seen.
fn value_in(
    kept: &AliasesOf,
    execution: &Execution,
    tables: &[Table],
    name: &str,
) -> Option<Vec<String>> {
    let variable = (!kept.variables.is_empty()).then(|| {
        format!(
            "{}{}",
            kept.variables,
            name.to_uppercase().replace('-', "_")
        )
    });
    let variable = variable.and_then(|variable| execution.variable(&variable));
    let text = variable.map(|text| Value::String(text.to_owned()));
    let value = text.or_else(|| tables.iter().find_map(|table| table.get(name)).cloned())?;
    let words: Vec<String> = match &value {
        Value::String(text) => text
            .split_whitespace()
            .map(|word| word.trim_matches(['"', '\'']).to_owned())
            .collect(),
        Value::Array(words) => words
            .iter()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect(),
        _ => return None,
    };
    words.first().filter(|word| !word.starts_with('!'))?;
    Some(words)
}

/// The tables of aliases, those that count first in front.
fn tables_of(
    kept: &AliasesOf,
    execution: &Execution,
    arguments: &[String],
    home: &str,
    lookup: &dyn Lookup,
) -> Vec<Table> {
    let directory = &execution.directory;
    let read = |path: &str| match lookup.read(&absolute(directory, path)) {
        Content::Text(text) => table_in(kept, &text),
        _ => None,
    };
    let mut tables = Vec::new();
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let (option, value) = word.split_once('=').unwrap_or((word, ""));
        if kept.settings.contains(&option) {
            let value = match word.contains('=') {
                true => Some(value),
                false => words.next().map(String::as_str),
            };
            let value = value.unwrap_or_default();
            tables.extend(table_in(kept, value).or_else(|| read(value)));
        }
    }
    for file in kept.files {
        match place_of(file, execution, home) {
            Some(Place::One(path)) => tables.extend(read(&path)),
            Some(Place::Above(name)) => {
                let mut folder = Some(directory.as_str());
                while let Some(here) = folder {
                    tables.extend(read(&format!("{here}/{name}")));
                    folder = here.rsplit_once('/').map(|(above, _)| above);
                }
            }
            None => {}
        }
    }
    tables
}

enum Place {
    One(String),
    /// In the folder of the program and in each above it.
    Above(&'static str),
}

fn place_of(file: &'static str, execution: &Execution, home: &str) -> Option<Place> {
    let (start, rest) = file.split_once('/').unwrap_or((file, ""));
    let start = match start.strip_prefix('$') {
        _ if start == "..." => return Some(Place::Above(rest)),
        Some(name) => execution.variable(name)?,
        None => home,
    };
    Some(Place::One(match rest {
        "" => start.to_owned(),
        rest => format!("{start}/{rest}"),
    }))
}

/// The aliases in a text of settings, TOML or the plain YAML of `gh`.
fn table_in(kept: &AliasesOf, text: &str) -> Option<Table> {
    match text.parse::<Table>() {
        Ok(mut table) => match table.remove(kept.key)? {
            Value::Table(aliases) => Some(aliases),
            _ => None,
        },
        Err(_) => {
            let mut lines = text.lines().skip_while(|line| {
                line.strip_prefix(kept.key)
                    .is_none_or(|rest| rest.trim() != ":")
            });
            lines.next()?;
            let lines = lines.take_while(|line| line.starts_with(' '));
            let pairs = lines.filter_map(|line| {
                let (name, value) = line.trim().split_once(':')?;
                let value = value.trim().trim_matches(['"', '\'']);
                Some((name.trim().to_owned(), Value::String(value.to_owned())))
            });
            Some(pairs.collect())
        }
    }
}
