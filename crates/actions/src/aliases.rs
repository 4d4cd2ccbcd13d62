//! Aliases that a program resolves by itself: their locations, and the meaning of a call.

use toml::{Table, Value};

use crate::lookup::absolute;
use crate::{ALIASES, AliasesOf};

/// Part of the machine that aliases depend on.
#[derive(Clone, Copy)]
pub struct Machine<'a> {
    pub directory: &'a str,
    pub home: &'a str,
    /// Look-up of a variable of the program.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
    /// Look-up of the text of a file, by its absolute path.
    pub read: &'a dyn Fn(&str) -> Option<String>,
}

impl std::fmt::Debug for Machine<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Machine")
            .field("directory", &self.directory)
            .finish_non_exhaustive()
    }
}

/// A call of an alias.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Called {
    pub name: String,
    pub meant: Meant,
}

/// Meaning of an alias's call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Meant {
    /// Arguments of the same program.
    Arguments(Vec<String>),
    /// A text for a shell, and the arguments behind the name.
    Shell(String, Vec<String>),
}

/// Returns `true` if a program resolves aliases by itself.
pub fn has(program: &str) -> bool {
    ALIASES.iter().any(|kept| kept.program == program)
}

/// Returns the alias that the arguments of a program call, resolved once.
pub fn called(program: &str, arguments: &[String], machine: Machine<'_>) -> Option<Called> {
    let kept = ALIASES.iter().find(|kept| kept.program == program)?;
    let names = words_that_may_be_called(arguments);
    let tables = tables_of(kept, arguments, machine);
    names.into_iter().find_map(|at| {
        let name = arguments.get(at)?;
        let words = value_in(kept, &tables, name, machine)?;
        let rest = arguments.get(at.saturating_add(1)..)?;
        let meant = match words.first()?.strip_prefix('!') {
            Some(first) => {
                let behind = words.iter().skip(1).map(String::as_str);
                let text: Vec<&str> = std::iter::once(first).chain(behind).collect();
                Meant::Shell(text.join(" "), rest.to_vec())
            }
            None => Meant::Arguments(filled(&words, rest)),
        };
        Some(Called {
            name: name.clone(),
            meant,
        })
    })
}

/// Returns the possible positions of the alias's name: behind options, each of which may have a value.
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

/// Returns the words of an alias with the arguments behind it, where `$1` takes the first of them.
fn filled(words: &[String], rest: &[String]) -> Vec<String> {
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

/// Returns the words of an alias; the first begins with `!` if they are passed to a shell.
fn value_in(
    kept: &AliasesOf,
    tables: &[Table],
    name: &str,
    machine: Machine<'_>,
) -> Option<Vec<String>> {
    let variable = (!kept.variables.is_empty()).then(|| {
        format!(
            "{}{}",
            kept.variables,
            name.to_uppercase().replace('-', "_")
        )
    });
    let variable = variable.and_then(|variable| (machine.variable)(&variable));
    let text = variable.map(Value::String);
    let value = text.or_else(|| tables.iter().find_map(|table| table.get(name)).cloned())?;
    Some(match value {
        // A shell parses its quotes itself.
        Value::String(text) if text.starts_with('!') => vec![text],
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
    })
}

/// Returns the tables of aliases, by precedence.
fn tables_of(kept: &AliasesOf, arguments: &[String], machine: Machine<'_>) -> Vec<Table> {
    let read = |path: &str| {
        let text = (machine.read)(&absolute(machine.directory, path))?;
        table_in(kept, &text)
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
        match place_of(file, machine) {
            Some(Place::One(path)) => tables.extend(read(&path)),
            Some(Place::Above(name)) => {
                let mut folder = Some(machine.directory);
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
    /// In the directory of the program and in each above it.
    Above(&'static str),
}

fn place_of(file: &'static str, machine: Machine<'_>) -> Option<Place> {
    let (start, rest) = file.split_once('/').unwrap_or((file, ""));
    let start = match start.strip_prefix('$') {
        _ if start == "..." => return Some(Place::Above(rest)),
        Some(name) => (machine.variable)(name).filter(|text| !text.is_empty())?,
        None => machine.home.to_owned(),
    };
    Some(Place::One(match rest {
        "" => start,
        rest => format!("{start}/{rest}"),
    }))
}

/// Returns the aliases in a settings file, TOML or the plain YAML of `gh`.
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
