//! GNU sed as far as it matters: commands that it runs, files that it writes, and files that it changes in place.

use crate::value::Value;

use super::files::File;
use super::wrapper::option_value;
use super::{Evaluator, Outcome};

/// What a script does besides editing.
#[derive(Debug, Default, PartialEq, Eq)]
struct Effects {
    /// `e command`, and the replacement of `s///e`.
    commands: Vec<String>,
    /// `e` alone and `s///e`: the line itself is run.
    runs_lines: bool,
    /// `w file`.
    writes: Vec<String>,
    /// What the script puts into lines.
    replacements: Vec<String>,
    /// Lines are changed before they may be run.
    edits: bool,
}

impl Evaluator<'_> {
    /// Follows the commands of a sed script; the text that it prints is computed elsewhere.
    pub(crate) fn stream_editor(&mut self, arguments: &[String]) -> Option<Outcome> {
        let call = Call::parse(arguments);
        let mut script = call.script.clone();
        for file in &call.script_files {
            match self.file(file) {
                File::Text(text) if text.known().is_some() => {
                    script.push('\n');
                    script.push_str(text.first());
                }
                File::Missing => {}
                _ => self.opaque("a sed script that nobody can know is run", file),
            }
        }
        let effects = effects(&script);
        for command in &effects.commands {
            self.in_shell("sed e", command);
        }
        if effects.runs_lines {
            let input = self.sed_input(&call.files);
            if input.known().is_none() {
                self.opaque("sed runs a line that is not known", &script);
            } else {
                self.in_shell("sed e", input.first());
                let named = effects.commands.iter().any(|text| !text.trim().is_empty());
                if effects.edits && !named {
                    for text in &effects.replacements {
                        self.perhaps(|this| this.in_shell("sed e", text));
                    }
                    self.opaque("sed runs a line that it has changed", &script);
                }
            }
        }
        let mut options = arguments.iter().filter(|word| word.starts_with('-'));
        let plain = options.all(|word| matches!(word.as_str(), "-n" | "-e" | "--quiet" | "-ne"));
        for path in &effects.writes {
            let content = match effects.writes.as_slice() {
                [_] if plain => self.sent_to(path, &script, &call.files),
                _ => Value::unknown(),
            };
            self.write(path, &content, false);
        }
        if call.in_place {
            for path in &call.files {
                let before = self.content_value(path);
                let after = before.map(|text| {
                    super::filter::apply("sed", arguments, text)
                        .filter(|_| !text.is_empty())
                        .unwrap_or_else(|| crate::value::HOLE.to_string())
                });
                self.write(path, &after, false);
            }
        }
        None
    }

    /// What a script that ends in `w path` sends there: what it would print in that place.
    fn sent_to(&mut self, path: &str, script: &str, files: &[String]) -> Value {
        let before = script.trim_end().strip_suffix(path).map(str::trim_end);
        let Some(before) = before.and_then(|before| before.strip_suffix('w')) else {
            return Value::unknown();
        };
        let printed = |script: String, text: &str| {
            super::filter::apply("sed", &["-n".to_owned(), script], text)
        };
        self.sed_input(files).map(|text| {
            let (first, _) = before.rsplit_once([';', '\n']).unwrap_or_default();
            let quiet = printed(first.to_owned(), text).is_some_and(|text| text.is_empty());
            let sent = printed(format!("{before}p"), text).filter(|_| quiet);
            sent.filter(|_| !crate::value::has_hole(text))
                .unwrap_or_else(|| crate::value::HOLE.to_string())
        })
    }

    fn sed_input(&mut self, files: &[String]) -> Value {
        if files.is_empty() {
            return self.state.input.clone().unwrap_or_else(Value::empty);
        }
        let mut whole = Value::empty();
        for file in files {
            whole = whole.then(&self.content_value(file));
        }
        whole
    }
}

/// How sed was called.
#[derive(Debug, Default)]
struct Call {
    script: String,
    script_files: Vec<String>,
    files: Vec<String>,
    in_place: bool,
}

impl Call {
    fn parse(arguments: &[String]) -> Self {
        let mut call = Self::default();
        let named = option_value(arguments, &["-e", "--expression", "-f", "--file"]).is_some();
        let mut given = false;
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            if let Some(text) = word.strip_prefix("--expression=") {
                call.add(text);
                given = true;
            } else if let Some(file) = word.strip_prefix("--file=") {
                call.script_files.push(file.to_owned());
                given = true;
            } else if word.starts_with("--in-place") {
                call.in_place = true;
            } else if word == "--expression" || word == "--file" {
                let value = words.next().map_or("", String::as_str);
                if word == "--file" {
                    call.script_files.push(value.to_owned());
                } else {
                    call.add(value);
                }
                given = true;
            } else if let Some(flags) = word
                .strip_prefix('-')
                .filter(|flags| !flags.is_empty() && !flags.starts_with('-'))
            {
                let at = flags.find(['e', 'f', 'i', 'l']);
                let Some((letter, rest)) = at.and_then(|at| {
                    let (_, tail) = flags.split_at_checked(at)?;
                    let mut tail = tail.chars();
                    Some((tail.next()?, tail.as_str().to_owned()))
                }) else {
                    continue;
                };
                if letter == 'i' {
                    call.in_place = true;
                    continue;
                }
                let value = if rest.is_empty() {
                    words.next().cloned().unwrap_or_default()
                } else {
                    rest
                };
                match letter {
                    'e' => {
                        call.add(&value);
                        given = true;
                    }
                    'f' => {
                        call.script_files.push(value);
                        given = true;
                    }
                    _ => {}
                }
            } else if !word.starts_with("--") {
                if given || named || !call.script.is_empty() {
                    call.files.push(word.clone());
                } else {
                    call.add(word);
                    given = true;
                }
            }
        }
        call
    }

    fn add(&mut self, text: &str) {
        if !self.script.is_empty() {
            self.script.push('\n');
        }
        self.script.push_str(text);
    }
}

/// Longer scripts are not read: they may run anything.
const MAX_COMMANDS: usize = 20_000;

/// Walks the commands of a script: address, letter, and what belongs to the letter.
fn effects(script: &str) -> Effects {
    let mut found = Effects::default();
    let mut rest = script;
    for round in 0..=MAX_COMMANDS {
        if round == MAX_COMMANDS {
            found.runs_lines = true;
            break;
        }
        rest = after_address(rest);
        let mut characters = rest.chars();
        let Some(letter) = characters.next() else {
            break;
        };
        rest = characters.as_str();
        match letter {
            's' | 'y' => {
                let Some((replacement, after)) = delimited(rest) else {
                    break;
                };
                let end = after.find([';', '\n', '}']).unwrap_or(after.len());
                let (flags, after) = after.split_at_checked(end).unwrap_or((after, ""));
                if let Some((_, path)) = flags.split_once('w').filter(|_| letter == 's') {
                    found.writes.push(path.trim().to_owned());
                } else if letter == 's' && flags.contains('e') {
                    found.commands.push(replacement);
                    found.runs_lines = true;
                } else if letter == 's' {
                    found.replacements.push(replacement);
                }
                found.edits = true;
                rest = after;
            }
            'a' | 'i' | 'c' => rest = after_text(rest),
            'e' | 'w' | 'W' | 'r' | 'R' => {
                let (line, after) = rest.split_once('\n').unwrap_or((rest, ""));
                let text = line.trim().to_owned();
                match letter {
                    'e' if text.trim_end_matches([';', '}']).is_empty() => found.runs_lines = true,
                    'e' => found.commands.push(text),
                    'w' | 'W' => found.writes.push(text),
                    _ => {}
                }
                rest = after;
            }
            'b' | 't' | 'T' | ':' => {
                let end = rest.find([';', '\n', '}']).unwrap_or(rest.len());
                rest = rest.get(end..).unwrap_or_default();
            }
            '#' => rest = rest.split_once('\n').map_or("", |(_, after)| after),
            'g' | 'G' | 'x' | 'N' | 'D' => found.edits = true,
            _ => {}
        }
    }
    found
}

fn after_address(text: &str) -> &str {
    let mut rest = text;
    loop {
        let trimmed = rest.trim_start_matches(|character: char| {
            character.is_ascii_digit()
                || character.is_whitespace()
                || "$,~!;{}+I".contains(character)
        });
        let mark = if let Some(after) = trimmed.strip_prefix('\\') {
            let mut characters = after.chars();
            let mark = characters.next();
            mark.map(|mark| (mark, characters.as_str()))
        } else {
            trimmed.strip_prefix('/').map(|after| ('/', after))
        };
        match mark.and_then(|(mark, after)| until(after, mark)) {
            Some((_, after)) => rest = after,
            None => return trimmed,
        }
    }
}

/// What follows the text of `a`, `i` and `c`: it goes on behind a line that ends with a backslash.
fn after_text(text: &str) -> &str {
    let mut rest = text;
    while let Some((line, after)) = rest.split_once('\n') {
        rest = after;
        let marks = line.len().saturating_sub(line.trim_end_matches('\\').len());
        if marks % 2 == 0 {
            return rest;
        }
    }
    ""
}

/// The second of two parts, each ended by the sign before the first.
fn delimited(text: &str) -> Option<(String, &str)> {
    let mut characters = text.chars();
    let mark = characters.next()?;
    let (_, after) = until(characters.as_str(), mark)?;
    let (replacement, after) = until(after, mark)?;
    Some((replacement, after))
}

/// Text up to a sign that is not escaped, and what follows it.
pub(super) fn until(text: &str, mark: char) -> Option<(String, &str)> {
    let mut part = String::new();
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        if character == mark {
            return Some((part, characters.as_str()));
        }
        if character == '\\' {
            let next = characters.next()?;
            if next != mark {
                part.push('\\');
            }
            part.push(next);
        } else {
            part.push(character);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_found_behind_addresses_and_other_commands() {
        for script in [
            "1e git push",
            "/x/,$ e git push",
            "s/a/b/;1e git push",
            "1{\ne git push",
            r"\,x,e git push",
        ] {
            assert_eq!(effects(script).commands, ["git push"], "{script}");
        }
        assert!(effects("s/^//e").runs_lines);
        assert_eq!(effects("s/a/b/w out").writes, ["out"]);
        assert_eq!(effects("#!/bin/sed -f\n1e git push").commands, ["git push"]);
        for text in ["1i\\\nyes\ne git push", "1a x\\\ny\n$e git push"] {
            assert_eq!(effects(text).commands, ["git push"], "{text}");
        }
        let harmless = effects("s/e/x/g;/end/d");
        assert!(harmless.commands.is_empty() && !harmless.runs_lines);
        let changed = effects("1{s/.*/git push/;e\n}");
        assert!(changed.runs_lines && changed.edits);
        assert_eq!(changed.replacements, ["git push"]);
    }
}
