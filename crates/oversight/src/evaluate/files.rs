//! Files as the analysis sees them: what the command itself wrote first, then what the lookup has.

use std::collections::BTreeSet;

use crate::lookup::{Content, absolute, base_name, directory_of};
use crate::value::{HOLE, Value, has_hole};

use super::wrapper::option_value;
use super::{Evaluator, Outcome};

/// A file.
#[derive(Clone, Debug)]
pub(crate) enum File {
    Text(Value),
    Missing,
    Binary,
    Unreadable(&'static str),
}

impl Evaluator<'_> {
    /// What is in a file.
    pub(crate) fn file(&mut self, path: &str) -> File {
        match path {
            "/dev/null" => return File::Text(Value::empty()),
            "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0" | "-" => {
                let input = self.state.input.clone();
                return File::Text(input.unwrap_or_else(Value::empty));
            }
            _ => {}
        }
        if has_hole(path) {
            // A directory that only the environment knows: the file is taken as not there.
            let unknown = path.contains(HOLE) || has_hole(base_name(path));
            return if unknown {
                File::Unreadable("its name is not known")
            } else {
                File::Missing
            };
        }
        let number = path
            .strip_prefix("/dev/fd/")
            .or_else(|| path.strip_prefix("/proc/self/fd/"));
        if let Some(content) = number
            .and_then(|number| number.parse().ok())
            .and_then(|number: i32| self.state.descriptors.get(&number))
        {
            return File::Text(content.clone());
        }
        if has_hole(&self.state.directory) && !path.starts_with('/') {
            return File::Missing;
        }
        let path = absolute(&self.state.directory, path);
        if let Some(content) = self.written.get(&path) {
            return File::Text(content.clone());
        }
        match self.lookup.read(&path) {
            Content::Text(text) if text.len() > crate::value::MAX_TEXT => {
                File::Unreadable("it is too large")
            }
            Content::Text(text) => File::Text(Value::text(text)),
            Content::Missing => File::Missing,
            Content::Binary => File::Binary,
            Content::Unreadable(why) => File::Unreadable(why),
        }
    }

    /// The text of a file when it is known exactly.
    pub(crate) fn known_file(&mut self, path: &str) -> Option<String> {
        match self.file(path) {
            File::Text(value) => value.known().map(str::to_owned),
            _ => None,
        }
    }

    /// Remembers what the command writes.
    pub(crate) fn write(&mut self, path: &str, content: &Value, append: bool) {
        if has_hole(path) || path.starts_with("/dev/") || has_hole(&self.state.directory) {
            return;
        }
        let path = absolute(&self.state.directory, path);
        let content = match (append, self.written.get(&path)) {
            (true, Some(before)) => before.then(content),
            (true, None) => match self.lookup.read(&path) {
                Content::Text(before) => Value::text(before).then(content),
                _ => content.clone(),
            },
            (false, _) => content.clone(),
        };
        self.written.insert(path, content);
    }

    /// Copies, moves or links a file: its text, or the program behind its name.
    pub(crate) fn alias_file(&mut self, from: &str, to: &str) {
        if has_hole(to) || has_hole(&self.state.directory) {
            return;
        }
        let mut target = absolute(&self.state.directory, to);
        if to.ends_with('/') || to == "." || !self.lookup.list(&target).is_empty() {
            target = absolute(&target, base_name(from));
        }
        match self.file(from) {
            File::Text(content) => {
                self.written.insert(target, content);
            }
            File::Missing | File::Binary => {
                let known = self
                    .links
                    .get(&absolute(&self.state.directory, from))
                    .cloned();
                let program = known.unwrap_or_else(|| base_name(from).to_owned());
                self.links.insert(target, program);
            }
            File::Unreadable(_) => {
                self.written.insert(target, Value::unknown());
            }
        }
    }

    /// Names in a directory, written ones included.
    pub(crate) fn names_in(&self, directory: &str) -> Vec<String> {
        let mut names: BTreeSet<String> = self.lookup.list(directory).into_iter().collect();
        let prefix = format!("{}/", directory.trim_end_matches('/'));
        for path in self.written.keys().chain(self.links.keys()) {
            if let Some(rest) = path.strip_prefix(&prefix) {
                names.extend(rest.split('/').next().map(str::to_owned));
            }
        }
        names.into_iter().collect()
    }

    /// Whether a path is there.
    pub(crate) fn exists(&self, path: &str) -> bool {
        let name = base_name(path);
        self.written.contains_key(path)
            || self
                .names_in(directory_of(path))
                .iter()
                .any(|other| other == name)
    }

    /// Programs that copy, move or link files, and those that write one.
    pub(crate) fn file_tool(&mut self, name: &str, arguments: &[String]) -> Option<Outcome> {
        let words: Vec<String> = arguments
            .iter()
            .filter(|word| !word.starts_with('-'))
            .cloned()
            .collect();
        match name {
            "cp" | "mv" | "ln" | "install" | "rsync" => {
                if let [from @ .., to] = words.as_slice() {
                    for one in from {
                        self.alias_file(one, to);
                    }
                    if from.is_empty() {
                        self.alias_file(to, ".");
                    }
                }
            }
            "touch" | "mkdir" => {
                for path in &words {
                    self.write(path, &Value::empty(), true);
                }
            }
            "curl" | "wget" | "aria2c" | "http" | "xh" => {
                self.download(arguments);
                return None;
            }
            "dd" | "patch" | "ed" => {
                if let Some(path) = arguments.iter().find_map(|word| word.strip_prefix("of=")) {
                    self.write(path, &Value::unknown(), false);
                }
                return None;
            }
            _ => return None,
        }
        Some(Outcome::quiet(None))
    }

    fn download(&mut self, arguments: &[String]) {
        let unknown = Value::unknown();
        let named = option_value(arguments, &["-o", "--output", "-O", "--output-document"]);
        let named = named.or_else(|| super::launch::letter_value(arguments, 'o'));
        if let Some(path) = named.filter(|path| !path.starts_with("http") && path != "-") {
            self.write(&path, &unknown, false);
        }
        for address in arguments.iter().filter(|word| word.contains("://")) {
            let name = base_name(address);
            if !name.is_empty() {
                self.write(name, &unknown, false);
            }
        }
    }
}
