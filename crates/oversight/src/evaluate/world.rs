//! Files known by the command itself or the lookup. This module only reads.

use std::collections::{BTreeMap, BTreeSet};

use actions::lookup::{Content, Lookup, Remembered, absolute};
use protection::Touch;
use protection::trees::Packed;
use shell::value::{MAX_TEXT, has_hole, joined, unknown};

use super::Evaluator;

/// Directories of system programs, which are known by their names.
const SYSTEM: &[&str] = shell::words::names!(
    "/usr/ /bin/ /sbin/ /opt/ /nix/ /snap/ /home/linuxbrew/ /Library/ /System/ /Applications/"
);

/// Limit of links per command.
const MAX_LINKS: usize = 64;

/// A file that would be executed.
pub(crate) enum File {
    Text(String),
    Missing,
    Binary,
    /// The content at run time cannot be read now, with the reason.
    Unknown(&'static str),
}

/// State of the machine, with the changes by the command.
pub(crate) struct World<'a> {
    pub(crate) lookup: Remembered<'a>,
    /// Files that the command itself writes, with their text if it is known.
    pub(crate) written: BTreeMap<String, Option<String>>,
    /// Directories whose files the command may have changed, with the reason that they are unknown.
    pub(crate) changed: Vec<(String, &'static str)>,
    /// Git settings that the command makes.
    pub(crate) settings: Vec<(String, String)>,
    /// Scripts and aliases that are being walked, to detect a cycle.
    pub(crate) walking: BTreeSet<String>,
    /// Set if the command added its own directory to the search path of programs.
    pub(crate) own_path: bool,
    /// Commands of `trap`, which run again at the end.
    pub(crate) traps: Vec<String>,
    /// State of the shell when the traps last ran.
    pub(crate) trapped: Option<super::Shell>,
    /// System programs under another name, by their paths.
    pub(crate) copies: BTreeMap<String, String>,
    /// Archives that the command makes, with their content.
    pub(crate) archives: Vec<Packed>,
    /// Links and mounts that the command makes: the path of each, and its target.
    links: Vec<(String, String)>,
    /// Set if the command searched for our processes.
    pub(crate) found_ours: bool,
    /// Set if the command read the names of the keys.
    pub(crate) names_keys: bool,
    /// Number of redirections to standard error.
    pub(crate) errors: usize,
    /// Depth of branches that are possibly not taken, so that the files they write possibly do not exist.
    pub(crate) unsure: usize,
    processes: usize,
}

impl<'a> World<'a> {
    pub(crate) fn new(lookup: &'a dyn Lookup) -> Self {
        Self {
            lookup: Remembered::new(lookup),
            written: BTreeMap::new(),
            changed: Vec::new(),
            settings: Vec::new(),
            walking: BTreeSet::new(),
            own_path: false,
            traps: Vec::new(),
            trapped: None,
            copies: BTreeMap::new(),
            archives: Vec::new(),
            links: Vec::new(),
            found_ours: false,
            names_keys: false,
            errors: 0,
            unsure: 0,
            processes: 62,
        }
    }

    /// Records that `link` leads to `target`, both absolute.
    pub(crate) fn link(&mut self, link: String, target: String) {
        if self.links.len() < MAX_LINKS && link != target {
            self.links.push((link, target));
        }
    }

    /// Returns `true` if the command itself makes links.
    pub(crate) fn has_links(&self) -> bool {
        !self.links.is_empty()
    }

    /// Returns the targets of an absolute path by the links that the command itself makes.
    pub(crate) fn behind_links(&self, path: &str) -> Vec<String> {
        let mut found: Vec<String> = Vec::new();
        let mut next = vec![path.to_owned()];
        while let Some(path) = next.pop() {
            for (link, target) in &self.links {
                let rest = path.strip_prefix(link.as_str());
                let rest = rest.filter(|rest| rest.is_empty() || rest.starts_with('/'));
                let real = rest.map(|rest| format!("{target}{rest}"));
                let is_new = |real: &String| found.len() < MAX_LINKS && !found.contains(real);
                if let Some(real) = real.filter(is_new) {
                    found.push(real.clone());
                    next.push(real);
                }
            }
        }
        found
    }

    /// Creates a path for the output of a process substitution.
    pub(crate) fn process_file(&mut self, content: String) -> String {
        self.processes = self.processes.saturating_add(1);
        let path = format!("/dev/fd/{}", self.processes);
        let content = Some(content).filter(|content| !has_hole(content));
        self.written.insert(path.clone(), content);
        path
    }

    /// Returns `true` if a path is that of a system program.
    pub(crate) fn is_system(&self, path: &str) -> bool {
        SYSTEM.iter().any(|place| path.starts_with(place))
    }

    /// Returns `true` if the command or the agent may write to a path: below the start, in a temporary directory, or
    /// relative.
    pub(crate) fn is_own(&self, path: &str, start: &str, home: &str) -> bool {
        let of_home = path.starts_with(home) && !path.starts_with(start);
        let of_user = of_home && start != home && path.contains("/.");
        !path.is_empty() && !self.is_system(path) && !of_user
    }

    /// Records if programs may now be found in a directory that the command can write.
    pub(crate) fn note_path(&mut self, path: &str, start: &str, home: &str) {
        let is_own = |part: &str| {
            let is_usual = has_hole(part) || part == "$PATH" || part.contains("/.");
            !is_usual && self.is_own(part, start, home)
        };
        let is_own = path.split(':').any(is_own);
        self.own_path |= is_own;
    }

    /// Returns the file of an absolute path.
    fn file(&self, path: &str) -> File {
        if has_hole(path) {
            return File::Unknown("its path is not known");
        }
        match self.written.get(path) {
            Some(Some(text)) => return File::Text(text.clone()),
            Some(None) => return File::Unknown("the command itself writes it"),
            None => {}
        }
        let within = |(place, _): &&(String, &'static str)| {
            path.strip_prefix(place.as_str())
                .is_some_and(|rest| rest.starts_with('/') || place.ends_with('/'))
        };
        if let Some((_, why)) = self.changed.iter().find(within) {
            return File::Unknown(why);
        }
        match self.lookup.read(path) {
            Content::Text(text) if text.len() > MAX_TEXT => File::Unknown("it is too long"),
            Content::Text(text) if has_hole(&text) => File::Unknown("it is no plain text"),
            Content::Text(text) => File::Text(text),
            Content::Missing => File::Missing,
            Content::Binary => File::Binary,
            Content::Unreadable(why) => File::Unknown(why),
        }
    }
}

impl Evaluator<'_> {
    /// Returns the file of a path, relative to the working directory.
    pub(crate) fn file(&self, path: &str) -> File {
        let directory = &self.state.directory;
        match path {
            "-" | "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0" => match self.state.input() {
                Some(text) if !has_hole(text) => File::Text(text.clone()),
                Some(_) => File::Unknown("its input is not known"),
                None => File::Text(String::new()),
            },
            path if has_hole(directory) && !path.starts_with('/') => {
                File::Unknown("its directory is not known")
            }
            path => self.world.file(&absolute(directory, path)),
        }
    }

    /// Returns the content of a file as an input: a missing file is empty, an unreadable one could contain anything.
    pub(crate) fn content(&self, path: &str) -> String {
        if let Some(number) = path.strip_prefix("/dev/fd/")
            && let Some(text) = number
                .parse()
                .ok()
                .and_then(|number: i32| self.state.descriptors.get(&number))
        {
            return text.clone();
        }
        if path == "/dev/null" {
            return String::new();
        }
        match self.file(path) {
            File::Text(text) => text,
            File::Missing if path.starts_with("/dev/") || path.starts_with("/proc/") => unknown(),
            File::Missing if self.world.is_system(path) => unknown(),
            File::Missing => String::new(),
            File::Binary | File::Unknown(_) => unknown(),
        }
    }

    /// Walks a branch that is possibly not taken.
    pub(crate) fn unsurely<T>(&mut self, what: impl FnOnce(&mut Self) -> T) -> T {
        self.world.unsure = self.world.unsure.saturating_add(1);
        let result = what(self);
        self.world.unsure = self.world.unsure.saturating_sub(1);
        result
    }

    /// Records a write of the command.
    pub(crate) fn write(&mut self, path: &str, text: &str, append: bool) {
        if path == "/dev/null" || path.is_empty() {
            return;
        }
        self.guard_attributes(path, text);
        if has_hole(path) || (has_hole(&self.state.directory) && !path.starts_with('/')) {
            self.changed(".", "the command writes a file whose name is not known");
            return;
        }
        let path = absolute(&self.state.directory, path);
        let before = match append {
            true => match self.world.file(&path) {
                File::Text(before) => Some(before),
                File::Missing => Some(String::new()),
                File::Binary | File::Unknown(_) => None,
            },
            false => Some(String::new()),
        };
        let text = before.map(|before| joined(before, text));
        let text = text.filter(|text| !has_hole(text) && self.world.unsure == 0);
        self.world.written.insert(path, text);
    }

    /// Records that files below a directory may have changed.
    pub(crate) fn changed(&mut self, directory: &str, why: &'static str) {
        let place = match has_hole(&self.state.directory) || has_hole(directory) {
            true => "/".to_owned(),
            false => absolute(&self.state.directory, directory),
        };
        // Their earlier content is no longer known.
        let prefix = format!("{}/", place.trim_end_matches('/'));
        for (path, text) in &mut self.world.written {
            if path.starts_with(&prefix) && !path.starts_with("/dev/") {
                *text = None;
            }
        }
        if !self.world.changed.iter().any(|(known, _)| *known == place) {
            self.world.changed.push((place, why));
        }
    }

    /// Records the files that a program writes, by the guard's touches.
    pub(crate) fn writes(&mut self, touch: Touch, path: &str) {
        match touch {
            Touch::Write | Touch::Bound | Touch::Tree => {
                self.write(path, &unknown(), false);
                if touch == Touch::Tree {
                    self.changed(path, "the command itself changes it");
                }
            }
            Touch::Fill => self.changed(path, "the command itself brings it"),
            Touch::Read | Touch::Take | Touch::Link | Touch::Given | Touch::Named => {}
        }
    }
}
