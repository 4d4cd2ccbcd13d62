//! Files as the analysis sees them: what the command itself wrote first, then what the lookup has.

use std::collections::BTreeSet;

use crate::lookup::{Content, absolute, base_name, directory_of};
use crate::value::{HOLE, LISTED, Value, has_hole};

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

/// Why a file that is not there yet cannot be known.
pub(crate) const FETCHED: &str = "the command itself brings it from elsewhere";

impl Evaluator<'_> {
    /// Remembers that unknown files appear in a directory: unpacked, cloned, downloaded or written by code.
    pub(crate) fn filled(&mut self, directory: &str) {
        if !has_hole(directory) && self.filled.len() < 32 {
            self.filled
                .insert(absolute(&self.state.directory, directory));
        }
    }

    fn is_filled(&self, path: &str) -> bool {
        self.filled.iter().any(|place| {
            path.strip_prefix(place.as_str())
                .is_some_and(|rest| rest.starts_with('/') || place == "/")
        })
    }

    /// Whether unknown files can only have come by git switching the tree in which the command began, or by another
    /// working tree of the same repository.
    ///
    /// Recipes and package scripts are then read as they were: `git pull && make` is everyday work.
    pub(crate) fn is_only_switched(&self) -> bool {
        let known = |place: &String| {
            (self.switched && **place == *self.start) || self.trees.contains_key(place)
        };
        !self.filled.is_empty() && self.filled.iter().all(known)
    }

    /// Where a file of another working tree is in the one that it was made from.
    fn in_first_tree(&self, path: &str) -> Option<String> {
        self.trees.iter().find_map(|(place, from)| {
            let rest = path.strip_prefix(place.as_str())?;
            rest.starts_with('/').then(|| format!("{from}{rest}"))
        })
    }

    /// Whether a file that was read is a tracked one that git has changed since.
    pub(crate) fn may_be_another(&self, path: &str) -> bool {
        const UNTRACKED: &[&str] = &["/.git/", "/node_modules/", "/.venv/", "/venv/", "/target/"];
        let path = absolute(&self.state.directory, path);
        if !self.switched {
            return self.in_first_tree(&path).is_some() && !self.written.contains_key(&path);
        }
        let tracked =
            path.starts_with(&*self.start) && !UNTRACKED.iter().any(|place| path.contains(place));
        tracked && !self.written.contains_key(&path) && !path.starts_with("/dev/")
    }

    /// What is in a file.
    pub(crate) fn file(&mut self, path: &str) -> File {
        if path.starts_with("/dev/tcp/")
            || path.starts_with("/dev/udp/")
            || matches!(path, "/dev/urandom" | "/dev/random")
        {
            return File::Unreadable("it comes from the network");
        }
        // `/proc/$$/fd/3`: of this shell.
        let own = path.strip_prefix("/proc/").and_then(|rest| {
            let (process, rest) = rest.split_once('/')?;
            let number = rest.strip_prefix("fd/")?;
            (process != "self").then(|| format!("/dev/fd/{number}"))
        });
        let path = own.as_deref().unwrap_or(path);
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
            let unknown = path.contains([HOLE, LISTED]) || has_hole(base_name(path));
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
        let path = self.same_as.get(&path).cloned().unwrap_or(path);
        if path == "/dev/stdin" {
            return File::Text(self.state.input.clone().unwrap_or_else(Value::empty));
        }
        if let Some(content) = self.written.get(&path) {
            return File::Text(content.clone());
        }
        if self.links.contains_key(&path) {
            return File::Binary;
        }
        match self.on_disk(&path) {
            Content::Text(_) if self.is_installed(&path) => File::Binary,
            Content::Text(_) if self.patched_unknown => File::Unreadable(FETCHED),
            Content::Text(text) if text.len() > crate::value::MAX_TEXT => {
                File::Unreadable("it is too large")
            }
            Content::Text(text) => File::Text(Value::text(text)),
            Content::Missing if self.is_filled(&path) => {
                let first = self.in_first_tree(&path);
                match first.map(|first| self.on_disk(&first)) {
                    Some(Content::Text(text)) if text.len() <= crate::value::MAX_TEXT => {
                        File::Text(Value::text(text))
                    }
                    _ => File::Unreadable(FETCHED),
                }
            }
            Content::Missing => File::Missing,
            Content::Binary => File::Binary,
            Content::Unreadable(why) => File::Unreadable(why),
        }
    }

    /// A program of the actions where programs are installed: its name says what it does, although it may be a script.
    fn is_installed(&self, path: &str) -> bool {
        let place = directory_of(path);
        (place.ends_with("/bin") || place.ends_with("/.bin"))
            && self.catalog.is_program(&super::run::program_name(path))
            && !path.starts_with(&format!("{}/bin/", self.state.directory))
    }

    /// Whether the command itself wrote a file.
    pub(crate) fn wrote(&self, path: &str) -> bool {
        self.written
            .contains_key(&absolute(&self.state.directory, path))
    }

    /// What the lookup has, asked once for each path.
    fn on_disk(&mut self, path: &str) -> Content {
        if let Some(content) = self.read_before.get(path) {
            return content.clone();
        }
        let content = self.lookup.read(path);
        if self.read_before.len() < 64 {
            self.read_before.insert(path.to_owned(), content.clone());
        }
        content
    }

    /// The text of a file when it is known exactly.
    pub(crate) fn known_file(&mut self, path: &str) -> Option<String> {
        match self.file(path) {
            // Of several the newest.
            File::Text(value) => Some(value.first().to_owned()).filter(|text| !has_hole(text)),
            _ => None,
        }
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
        let source = absolute(&self.state.directory, from);
        self.move_tree(&source, &target);
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

    /// Files below a directory that is copied, moved or linked go along.
    fn move_tree(&mut self, from: &str, to: &str) {
        let prefix = format!("{from}/");
        let below: Vec<(String, Value)> = self
            .written
            .iter()
            .filter_map(|(path, content)| {
                Some((
                    format!("{to}/{}", path.strip_prefix(&prefix)?),
                    content.clone(),
                ))
            })
            .take(256)
            .collect();
        self.written.extend(below);
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
        let words = operands(name, arguments);
        match name {
            "cp" | "mv" | "ln" | "link" | "install" | "rsync" | "scp" | "aws" | "docker"
            | "gsutil" | "kubectl"
                if self.fetches(name, &words) => {}
            "docker" | "podman" | "kubectl" if words.first().is_some_and(|verb| verb == "cp") => {}
            "cp" | "mv" | "ln" | "link" | "install" | "rsync" => {
                if let Some(place) = option_value(arguments, &["-t", "--target-directory"]) {
                    for one in words.iter().filter(|word| **word != place) {
                        self.alias_file(one, &format!("{place}/"));
                    }
                    return Some(Outcome::quiet(None));
                }
                if let [from, to] = words.as_slice()
                    && name == "ln"
                    && (from == "/dev/stdin" || matches!(self.file(from), File::Missing))
                    && !has_hole(from)
                    && !is_system(from)
                {
                    // A link to a file that is written later.
                    let target = absolute(&self.state.directory, to);
                    let source = absolute(&self.state.directory, from);
                    self.same_as.insert(target, source);
                    return Some(Outcome::quiet(None));
                }
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
                self.download(name, arguments);
                return None;
            }
            "sort" | "gpg" | "gpg2" | "openssl" | "age" | "iconv" | "uudecode" | "xz" | "zstd"
            | "lz4" | "brotli" => {
                self.packed(name, &words);
                let to = option_value(arguments, &["-o", "-out", "--output"]);
                if let Some(path) = to {
                    self.write(&path, &Value::unknown(), false);
                }
                return None;
            }
            "xxd" => {
                if let [_, to] = words.as_slice() {
                    self.write(to, &Value::unknown(), false);
                }
                return None;
            }
            "truncate" => self.truncated(arguments, &words),
            "mkfifo" => {
                for path in &words {
                    self.write(path, &Value::unknown(), false);
                }
            }
            "sponge" => {
                let input = self.state.input.clone().unwrap_or_else(Value::empty);
                for path in &words {
                    self.write(path, &input, false);
                }
            }
            "tar" | "bsdtar" | "unzip" | "7z" | "7za" | "7zr" | "bsdcpio" | "cpio" | "unrar"
            | "ar" | "split" | "csplit" | "rename" | "gunzip" | "gzip" | "unxz" | "bzip2"
            | "bunzip2" | "unzstd" => {
                self.unpacked(name, arguments);
                self.packed(name, &words);
                return None;
            }
            "patch" => self.patched(arguments),
            "mktemp" => {
                self.temporary = self.temporary.saturating_add(1);
                let path = format!("/tmp/tmp.{:010}", self.temporary);
                return Some(Outcome::prints(Value::text(path + "\n")));
            }
            "ed" => {
                for path in &words {
                    let guess = self.typed_into(path);
                    self.write_guess(path, guess);
                }
            }
            "dd" => {
                if let Some(path) = arguments.iter().find_map(|word| word.strip_prefix("of=")) {
                    let copied = self.copied(arguments);
                    self.write(path, &copied, false);
                }
                return None;
            }
            _ => return None,
        }
        Some(Outcome::quiet(None))
    }

    /// `scp host:x .`, `aws s3 cp s3://x .`, `docker cp c:/x .`: the file comes from elsewhere.
    fn fetches(&mut self, name: &str, words: &[String]) -> bool {
        let Some((to, from)) = words.split_last() else {
            return false;
        };
        let remote: Vec<String> = from
            .iter()
            .filter(|word| {
                word.contains("://")
                    || word
                        .split_once(':')
                        .is_some_and(|(host, _)| !host.contains('/'))
            })
            .cloned()
            .collect();
        let copies = matches!(name, "scp" | "rsync") || words.iter().any(|word| word == "cp");
        if remote.is_empty() || !copies {
            return false;
        }
        if name == "rsync" || to.ends_with('/') {
            self.filled(to);
        }
        self.write(to, &Value::unknown(), false);
        for one in &remote {
            let path = one.rsplit_once(':').map_or(one.as_str(), |(_, path)| path);
            self.write(
                &format!("{to}/{}", base_name(path)),
                &Value::unknown(),
                false,
            );
        }
        true
    }

    /// Archives that are unpacked fill a directory with files that nobody can know.
    fn unpacked(&mut self, name: &str, arguments: &[String]) {
        let first = arguments.first().map_or("", String::as_str);
        let unpacks = match name {
            "tar" | "bsdtar" => {
                arguments
                    .iter()
                    .any(|word| word.starts_with("--extract") || word.starts_with("--get"))
                    || arguments.iter().enumerate().any(|(index, word)| {
                        let flags = word.strip_prefix('-').or(if index == 0 {
                            Some(word.as_str())
                        } else {
                            None
                        });
                        flags.is_some_and(|flags| {
                            !flags.starts_with('-') && flags.len() < 9 && flags.contains('x')
                        })
                    })
            }
            "unzip" => !arguments
                .iter()
                .any(|word| matches!(word.as_str(), "-l" | "-p" | "-t" | "-v" | "-Z")),
            "7z" | "7za" | "7zr" | "unrar" | "ar" => {
                first.starts_with('x') || first.starts_with('e')
            }
            "cpio" | "bsdcpio" => arguments
                .iter()
                .any(|word| word.starts_with("-i") || word.contains("extract")),
            "gzip" | "gunzip" if super::outputs::to_output(arguments) => false,
            "gzip" | "xz" | "bzip2" | "zstd" => arguments.iter().any(|word| word.starts_with("-d")),
            _ => true,
        };
        if !unpacks {
            return;
        }
        let place =
            option_value(arguments, &["-C", "--directory", "-d", "-D"]).filter(|_| name != "gzip");
        self.filled(place.as_deref().unwrap_or("."));
    }

    /// Files that a patch changes become unknown; an unknown patch may change any.
    pub(crate) fn patched(&mut self, arguments: &[String]) {
        let mut texts = Vec::new();
        for word in arguments {
            // `--input=x`, `-ix`.
            let option = word
                .strip_prefix("-i")
                .or_else(|| word.strip_prefix("--input="));
            if option.is_some() || !word.starts_with('-') {
                texts.extend(self.known_file(option.unwrap_or(word)));
            }
        }
        match self.state.input.clone() {
            Some(input) if input.known().is_some() => texts.push(input.first().to_owned()),
            Some(_) => self.patched_unknown = true,
            None => {}
        }
        let named = arguments.iter().find(|word| !word.starts_with('-'));
        for text in texts {
            self.guard_patch(&text);
            self.patch_files(&text, named.map(String::as_str));
        }
        self.filled(".");
    }

    fn download(&mut self, name: &str, arguments: &[String]) {
        let unknown = Value::unknown();
        let named = option_value(arguments, &["-o", "--output", "-O", "--output-document"]);
        let named = named.or_else(|| super::launch::letter_value(arguments, 'o'));
        if let Some(path) = named.filter(|path| !path.starts_with("http") && path != "-") {
            self.write(&path, &unknown, false);
        }
        if !self.saves_by_name(name, arguments) {
            return;
        }
        for address in arguments.iter().filter(|word| word.contains("://")) {
            if !base_name(address).is_empty() {
                self.write(base_name(address), &unknown, false);
            }
        }
    }
}

/// Where programs are installed, as opposed to a project's own scripts.
pub(crate) fn is_system(path: &str) -> bool {
    let places = [
        "/usr/", "/bin/", "/sbin/", "/opt/", "/nix/", "/snap/", "/lib/",
    ];
    places.iter().any(|place| path.starts_with(place))
}

/// The words of a file tool that are neither options nor their values.
fn operands(name: &str, arguments: &[String]) -> Vec<String> {
    let valued: &[&str] = match name {
        "install" => &["-m", "-o", "-g", "-S", "--mode", "--owner", "--group"],
        "cp" | "mv" | "ln" => &["-S"],
        "rsync" => &["-e"],
        _ => &[],
    };
    let mut before = "";
    let mut words: Vec<String> = Vec::new();
    for word in arguments {
        if !word.starts_with('-') && !valued.contains(&before) {
            words.push(word.clone());
        }
        before = word;
    }
    words
}
