//! What files hold after a patch, an editor that is fed its commands, or `dd`: a guess beside the unknown.
//!
//! The guess names the act; that it is only one of the possibilities keeps the question open.

use crate::value::{Value, has_hole};

use super::Evaluator;
use super::code::changing;
use super::filter::apply;

/// Endings of files that are run as they stand.
const SCRIPTS: &[&str] = &[
    ".sh", ".bash", ".zsh", ".py", ".js", ".mjs", ".cjs", ".pl", ".rb",
];

impl Evaluator<'_> {
    /// Writes what a file probably holds now, and may not.
    pub(crate) fn write_guess(&mut self, path: &str, guess: Option<String>) {
        let unknown = Value::unknown();
        let value = match guess.filter(|text| !text.is_empty()) {
            Some(text) => Value::text(text).or(&unknown),
            None => unknown,
        };
        self.write(path, &value, false);
    }

    /// Files as a patch leaves them: the lines that it keeps and adds.
    pub(crate) fn patch_files(&mut self, text: &str, named: Option<&str>) {
        for part in text
            .split("\n+++ ")
            .skip(usize::from(!text.starts_with("+++ ")))
        {
            let part = part.strip_prefix("+++ ").unwrap_or(part);
            let (path, hunks) = part.split_once('\n').unwrap_or((part, ""));
            let path = path.split('\t').next().unwrap_or(path);
            let lines = hunks
                .lines()
                .filter(|line| !line.starts_with("@@") && !line.starts_with("--- "));
            let kept = lines.filter_map(|line| line.strip_prefix(['+', ' ']));
            let guess: String = kept.flat_map(|line| [line, "\n"]).collect();
            let path = path.strip_prefix("b/").unwrap_or(path);
            for path in [Some(path), named].into_iter().flatten() {
                self.write_guess(path, Some(guess.clone()));
            }
        }
    }

    /// What `ed` and `ex` leave when they are fed their commands: what is typed, and what is replaced.
    pub(crate) fn typed_into(&mut self, path: &str) -> Option<String> {
        let input = self.state.input.clone()?;
        let commands = input.known()?.to_owned();
        let before = self.known_file(path).unwrap_or_default();
        let mut after = before;
        let mut lines = commands.lines();
        while let Some(line) = lines.next() {
            let command = line.trim_start_matches(|one: char| "0123456789,.$%".contains(one));
            if matches!(command, "a" | "i" | "c" | "append" | "insert" | "change") {
                let typed = lines.by_ref().take_while(|line| *line != ".");
                after.extend(typed.flat_map(|line| [line, "\n"]));
            } else if command.starts_with('s') && command.len() > 3 {
                let words = [command.to_owned()];
                after = apply("sed", &words, &after).unwrap_or(after);
            }
        }
        Some(after).filter(|text| !has_hole(text))
    }

    /// `perl -pi -e 's/a/b/' file`: a substitution that `sed` would do as well.
    pub(crate) fn replaced_in(&mut self, path: &str, arguments: &[String]) -> Option<String> {
        let code = arguments
            .iter()
            .find(|word| word.starts_with("s/") || word.starts_with("s|"))?;
        let words = ["-E".to_owned(), code.trim_end_matches(';').to_owned()];
        let text = self.known_file(path)?;
        apply("sed", &words, &text)
    }

    /// A file that code names and a text that it holds: the one may be written into the other.
    pub(crate) fn write_by_code(&mut self, code: &str) {
        if !self.catalog.mentions_part(code) {
            return;
        }
        let texts = super::literal::literals(code);
        let texts = texts.iter().map(|literal| literal.text.as_str());
        let (long, names): (Vec<&str>, Vec<&str>) = texts
            .take(64)
            .partition(|text| text.contains(char::is_whitespace));
        let is_file =
            |name: &&&str| name.len() < 100 && SCRIPTS.iter().any(|ending| name.ends_with(ending));
        for name in names.iter().filter(is_file).take(4) {
            for text in long.iter().take(4) {
                self.write_guess(name, Some((*text).to_owned()));
            }
        }
        if self.older {
            // A script of the project changes its files as it always does.
            return;
        }
        for name in names.iter().filter(|name| name.len() < 100).take(16) {
            if changing::rewrites(code, name) && self.known_file(name).is_some() {
                self.write_guess(name, long.first().map(|text| (*text).to_owned()));
            }
        }
    }

    /// What `dd` copies, where it only copies.
    pub(crate) fn copied(&mut self, arguments: &[String]) -> Value {
        let only = |word: &String| {
            [
                "if=",
                "of=",
                "bs=",
                "status=",
                "conv=notrunc",
                "oflag=append",
            ]
            .iter()
            .any(|start| word.starts_with(start))
        };
        if !arguments.iter().all(only) {
            return Value::unknown();
        }
        match arguments.iter().find_map(|word| word.strip_prefix("if=")) {
            Some(path) => match self.file(path) {
                super::files::File::Text(content) => content,
                _ => Value::unknown(),
            },
            None => self.state.input.clone().unwrap_or_else(Value::empty),
        }
    }
}
