//! The functions of make, as far as their result is text of their arguments. All others are unknown.

use crate::value::{ENVIRONMENT, HOLE, LISTED};

use super::makefile::Makefile;
use super::scope::{Effects, Scope};

/// Names of functions.
pub(super) fn functions() -> &'static [&'static str] {
    &[
        "subst",
        "patsubst",
        "strip",
        "findstring",
        "filter",
        "filter-out",
        "sort",
        "word",
        "wordlist",
        "words",
        "firstword",
        "lastword",
        "dir",
        "notdir",
        "suffix",
        "basename",
        "addsuffix",
        "addprefix",
        "join",
        "wildcard",
        "realpath",
        "abspath",
        "if",
        "or",
        "and",
        "foreach",
        "file",
        "call",
        "value",
        "eval",
        "origin",
        "flavor",
        "error",
        "warning",
        "info",
        "shell",
        "guile",
        "let",
        "intcmp",
    ]
}

/// The text of a call of a function.
pub(super) fn call(
    file: &Makefile,
    name: &str,
    text: &str,
    scope: &Scope,
    depth: usize,
    effects: &mut Effects,
) -> String {
    let parts = split(text);
    let mut each = |index: usize, scope: &Scope| {
        let part = parts.get(index).copied().unwrap_or_default();
        file.expanded(part, scope, depth, effects)
    };
    match name {
        "if" => {
            let condition = each(0, scope);
            let (yes, no) = (each(1, scope), each(2, scope));
            // What is not known may be either; the one that says more is taken.
            match condition.trim() {
                "" => no,
                known if crate::value::has_hole(known) && says_more(&no, &yes) => no,
                _ => yes,
            }
        }
        "or" => {
            let mut all = (0..parts.len()).map(|index| each(index, scope));
            all.find(|part| !part.is_empty()).unwrap_or_default()
        }
        "and" => {
            let all: Vec<String> = (0..parts.len()).map(|index| each(index, scope)).collect();
            if all.iter().any(String::is_empty) {
                String::new()
            } else {
                all.last().cloned().unwrap_or_default()
            }
        }
        "foreach" => {
            let variable = each(0, scope);
            let list = each(1, scope);
            let words = list.split_whitespace().take(64).map(|word| {
                let mut inner = scope.clone();
                inner
                    .bound
                    .push((variable.trim().to_owned(), word.to_owned()));
                each(2, &inner)
            });
            words.collect::<Vec<_>>().join(" ")
        }
        "call" => {
            let mut inner = scope.clone();
            for index in 0..parts.len() {
                let part = each(index, scope);
                inner.bound.push((index.to_string(), part));
            }
            let function = each(0, scope);
            let function = function.trim();
            if functions().contains(&function) {
                let words: Vec<String> = (1..parts.len()).map(|index| each(index, scope)).collect();
                return call(file, function, &words.join(","), scope, depth, effects);
            }
            file.value(function, &inner, depth, effects)
        }
        _ => {
            let whole = each_joined(&parts, |index| each(index, scope));
            plain(file, name, &whole, effects)
        }
    }
}

fn each_joined(parts: &[&str], each: impl FnMut(usize) -> String) -> Vec<String> {
    (0..parts.len()).map(each).collect()
}

/// Functions whose arguments are all expanded.
fn plain(file: &Makefile, name: &str, parts: &[String], effects: &mut Effects) -> String {
    let part = |index: usize| parts.get(index).map_or("", String::as_str);
    let words = |index: usize| part(index).split_whitespace();
    let joined = |words: Vec<String>| words.join(" ");
    let number = |index: usize| part(index).trim().parse::<usize>().unwrap_or(0);
    // What a shell prints is not there yet: its text cannot be taken apart.
    let pending = parts.iter().any(|part| part.contains("$("));
    if pending
        && !matches!(
            name,
            "shell" | "eval" | "file" | "error" | "warning" | "info"
        )
    {
        return printed(parts).to_string();
    }
    match name {
        "subst" => part(2).replace(part(0), part(1)),
        "patsubst" => joined(
            words(2)
                .map(|word| substituted(word, part(0).trim(), part(1).trim()))
                .collect(),
        ),
        "strip" => joined(words(0).map(str::to_owned).collect()),
        "sort" => {
            let mut all: Vec<String> = words(0).map(str::to_owned).collect();
            all.sort();
            all.dedup();
            joined(all)
        }
        "findstring" if part(1).contains(part(0)) => part(0).to_owned(),
        "findstring" => String::new(),
        "filter" | "filter-out" => joined(
            words(1)
                .filter(|word| {
                    let fits = words(0).any(|wanted| {
                        crate::evaluate::pattern::matches(&wanted.replace('%', "*"), word)
                    });
                    fits == (name == "filter")
                })
                .map(str::to_owned)
                .collect(),
        ),
        "word" => {
            let at = number(0).checked_sub(1);
            at.and_then(|at| words(1).nth(at)).unwrap_or("").to_owned()
        }
        "wordlist" => {
            let (from, to) = (number(0).saturating_sub(1), number(1));
            let all = words(2).take(to).skip(from);
            joined(all.map(str::to_owned).collect())
        }
        "words" => words(0).count().to_string(),
        "firstword" => words(0).next().unwrap_or("").to_owned(),
        "lastword" => words(0).last().unwrap_or("").to_owned(),
        "dir" | "notdir" | "suffix" | "basename" => {
            joined(words(0).map(|word| part_of_name(name, word)).collect())
        }
        "addsuffix" => joined(words(1).map(|word| format!("{word}{}", part(0))).collect()),
        "addprefix" => joined(words(1).map(|word| format!("{}{word}", part(0))).collect()),
        "join" => {
            let mut others = words(1);
            let pairs = words(0).map(|word| format!("{word}{}", others.next().unwrap_or("")));
            joined(pairs.collect())
        }
        "error" | "warning" | "info" => String::new(),
        "value" => file.last(part(0).trim()).unwrap_or_default(),
        "eval" => {
            effects.evaluated.push(parts.join(","));
            String::new()
        }
        "file" => {
            let target = part(0).trim_start_matches(['>', '<', ' ']).trim();
            if part(0).starts_with('<') {
                return HOLE.to_string();
            }
            let text = parts.get(1..).unwrap_or_default().join(",");
            effects.writes.push((target.to_owned(), text));
            String::new()
        }
        "shell" => {
            let command = parts.join(",");
            let substitution = format!("$({command})");
            effects.shell.push(command);
            substitution
        }
        // Names of files that are there.
        "wildcard" | "realpath" | "abspath" if !parts.iter().any(|part| part.contains(HOLE)) => {
            LISTED.to_string()
        }
        "origin" | "flavor" => LISTED.to_string(),
        _ => HOLE.to_string(),
    }
}

/// What stands for the output of commands that a function of make takes apart: words, or a place of an installation.
fn printed(parts: &[String]) -> char {
    let commands = parts.iter().flat_map(|part| part.split("$(").skip(1));
    let mut marks = commands.map(|rest| {
        let command = rest.split(')').next().unwrap_or_default();
        let words: Vec<String> = command.split_whitespace().map(str::to_owned).collect();
        let (name, arguments) = words.split_first()?;
        crate::evaluate::outputs::mark(name, arguments)
    });
    let installed = marks.all(|mark| mark == Some(ENVIRONMENT));
    if installed { ENVIRONMENT } else { LISTED }
}

fn part_of_name(function: &str, word: &str) -> String {
    let name = crate::lookup::base_name(word);
    match function {
        "dir" => word.strip_suffix(name).unwrap_or("./").to_owned(),
        "notdir" => name.to_owned(),
        "suffix" => {
            let ending = name.rsplit_once('.');
            ending.map_or_else(String::new, |(_, ending)| format!(".{ending}"))
        }
        _ => match name.rsplit_once('.') {
            Some((_, ending)) => {
                let end = word.len().saturating_sub(ending.len().saturating_add(1));
                word.get(..end).unwrap_or(word).to_owned()
            }
            None => word.to_owned(),
        },
    }
}

/// `$(patsubst %.c,%.o,…)` and `$(X:.c=.o)` of one word.
pub(super) fn substituted(word: &str, from: &str, to: &str) -> String {
    let Some((before, after)) = from.split_once('%') else {
        return match word.strip_suffix(from) {
            Some(start) => format!("{start}{to}"),
            None => word.to_owned(),
        };
    };
    let stem = word
        .strip_prefix(before)
        .and_then(|rest| rest.strip_suffix(after));
    stem.map_or_else(|| word.to_owned(), |stem| to.replacen('%', stem, 1))
}

/// Arguments between commas that are not inside references.
fn split(text: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    let mut start = 0;
    let mut all = Vec::new();
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'(' | b'{' => depth = depth.saturating_add(1),
            b')' | b'}' => depth = depth.saturating_sub(1),
            b',' if depth == 0 => {
                all.extend(text.get(start..at));
                start = at.saturating_add(1);
            }
            _ => {}
        }
    }
    all.extend(text.get(start..));
    all
}

/// Whether the first of two branches is there alone, or names what cannot be undone and the other does not.
fn says_more(first: &str, second: &str) -> bool {
    const WORDS: &[&str] = &["push", "publish", "upload", "release", "deploy", "create"];
    let names = |text: &str| WORDS.iter().any(|word| text.contains(word));
    second.trim().is_empty() || (names(first) && !names(second))
}
