//! Known programs under another name: a link to the same file, a copy of its bytes, or a copy that was changed.
//!
//! A program that was rebuilt, packed or changed throughout is not recognised; programs that it starts are still
//! decided.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Component, Path};

use oversight::execution::LOADER;
use supervise::{Exec, FileState};

use super::elf::Elf;
use super::known::{Known, Search};
use super::ruled_out::RuledOut;

/// Folders that only the system's own tools change: there, a file is what its name says.
const OF_SYSTEM: &[&str] = &[
    "/usr/bin",
    "/bin",
    "/usr/sbin",
    "/sbin",
    "/usr/lib",
    "/lib",
    "/usr/libexec",
];

/// Longest script that is compared.
const MAX_SCRIPT: u64 = 1024 * 1024;
const MIN_SCRIPT: usize = 128;

/// Most files that are remembered.
const MAX_SEEN: usize = 4096;

/// The programs that are recognised by their names, found on the command's search path.
#[derive(Debug)]
pub(super) struct Copies {
    search: Search,
    /// Looked up when the first unknown file is executed.
    known: Option<Vec<Known>>,
    /// Read at the same time.
    ruled_out: Option<RuledOut>,
    /// Results for files.
    seen: HashMap<FileState, Option<String>>,
}

impl Copies {
    pub(super) fn new(search: Search) -> Self {
        Self {
            search,
            known: None,
            ruled_out: None,
            seen: HashMap::new(),
        }
    }

    /// Reads the files that were ruled out before, ahead of the first query.
    pub(super) fn prepare(&mut self) {
        let search = &self.search;
        self.ruled_out.get_or_insert_with(|| search.ruled_out());
    }

    /// Returns the name of the known program that a file is under another name. `wanted` returns `true` for programs
    /// that are recognised by their names.
    pub(super) fn name_of(
        &mut self,
        exec: &Exec<'_>,
        wanted: &mut dyn FnMut(&Path) -> bool,
    ) -> Option<String> {
        if is_of_system(exec.target().unwrap_or(exec.path())) {
            return None;
        }
        self.of_file(exec.state()?, exec.place(), wanted)
    }

    /// Does the same for a file that the supervisor finds at `place`.
    pub(super) fn name_at(
        &mut self,
        place: &Path,
        wanted: &mut dyn FnMut(&Path) -> bool,
    ) -> Option<String> {
        self.of_file(FileState::of(place)?, place, wanted)
    }

    fn of_file(
        &mut self,
        state: FileState,
        place: &Path,
        wanted: &mut dyn FnMut(&Path) -> bool,
    ) -> Option<String> {
        if let Some(known) = self.seen.get(&state) {
            return known.clone();
        }
        // A recently changed file can change again without a visible difference.
        let is_fresh = state.is_fresh();
        let search = &self.search;
        let ruled_out = self.ruled_out.get_or_insert_with(|| search.ruled_out());
        let name = match ruled_out.holds(&state) {
            true => None,
            false => {
                let known = self.known.get_or_insert_with(|| search.find(wanted));
                recognise(known, state.file(), place)
            }
        };
        if self.seen.len() >= MAX_SEEN {
            self.seen.clear();
        }
        if !is_fresh {
            if name.is_none() {
                ruled_out.add(&state);
            }
            self.seen.insert(state, name.clone());
        }
        name
    }

    /// Stores for the next command the files that are not known programs.
    pub(super) fn keep(&mut self) {
        if let Some(ruled_out) = &mut self.ruled_out {
            ruled_out.keep();
        }
    }
}

/// Returns `true` if a file is in a folder that only the system's own tools change.
pub(crate) fn is_of_system(file: &Path) -> bool {
    let folder = file.parent().unwrap_or(Path::new(""));
    // A path can lead out of the folder again.
    !file.components().any(|part| part == Component::ParentDir)
        && OF_SYSTEM.iter().any(|known| folder.starts_with(known))
}

fn recognise(known: &[Known], file: (u64, u64), place: &Path) -> Option<String> {
    if let Some(one) = known.iter().find(|one| one.file == file) {
        return Some(one.name.clone());
    }
    let Some(elf) = Elf::open(place) else {
        let scripts = known.iter().filter(|one| one.marks.is_empty());
        let bytes = script(place)?;
        let mut same =
            scripts.filter(|one| script(&one.path).is_some_and(|known| begins(&bytes, &known)));
        return same.next().map(|one| one.name.clone());
    };
    let marks = elf.marks();
    let alike = |one: &&Known| {
        one.marks.iter().any(|mark| marks.contains(mark))
            && Elf::open(&one.path)
                .is_some_and(|original| elf.is_made_from(&original) || same(place, &one.path))
    };
    match known.iter().find(alike) {
        Some(one) => Some(one.name.clone()),
        None => elf.is_loader().then(|| LOADER.to_owned()),
    }
}

/// Returns the bytes of a script.
fn script(path: &Path) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = File::open(path).ok()?;
    file.take(MAX_SCRIPT).read_to_end(&mut bytes).ok()?;
    (!bytes.is_empty()).then_some(bytes)
}

/// Returns `true` if a script is a known one, with or without appended text.
fn begins(bytes: &[u8], known: &[u8]) -> bool {
    match known.len() < MIN_SCRIPT {
        true => bytes.trim_ascii_end() == known.trim_ascii_end(),
        false => bytes.starts_with(known.trim_ascii_end()),
    }
}

/// Returns `true` if two small programs, which have too few samples, are equal.
fn same(one: &Path, other: &Path) -> bool {
    let size = |path: &Path| fs::metadata(path).ok().map(|facts| facts.len());
    size(one) == size(other)
        && size(one).is_some_and(|size| size <= MAX_SCRIPT)
        && script(one).is_some_and(|bytes| Some(bytes) == script(other))
}

#[cfg(test)]
#[expect(
    clippy::disallowed_methods,
    reason = "tests make files that another would make"
)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    const LONG: &str = "#!/usr/bin/env node\n// a script that is long enough to be known by its beginning, and has much to say\nrequire('../lib/cli.js')(process)\n";

    #[test]
    fn every_program_of_a_name_is_found_and_known_again() {
        let place = tempfile::tempdir().unwrap();
        let folders = ["a/bin", "b/bin", "b/libexec/git-core"].map(|name| place.path().join(name));
        for folder in &folders {
            fs::create_dir_all(folder).unwrap();
        }
        let [a, b, parts] = &folders;
        fs::create_dir(a.join("npm")).unwrap();
        fs::copy("/bin/bash", a.join("git")).unwrap();
        fs::copy(std::env::current_exe().unwrap(), b.join("git")).unwrap();
        fs::hard_link(b.join("git"), parts.join("git-send-pack")).unwrap();
        fs::write(b.join("npm"), LONG).unwrap();
        fs::write(b.join("yarn"), "#!/bin/sh\nyarn\n").unwrap();
        File::create(b.join("ls")).unwrap();
        let mut wanted = |name: &Path| {
            let name = name.to_str().unwrap();
            name.starts_with("git") || ["gh", "npm", "yarn"].contains(&name)
        };
        let search = [a.clone(), a.clone(), place.path().join("none"), b.clone()];
        let known = Search::of(search.to_vec()).find(&mut wanted);
        let mut names: Vec<&str> = known.iter().map(|one| one.name.as_str()).collect();
        names.sort_unstable();
        assert_eq!(names, ["git", "git", LOADER, "npm", "yarn"]);

        let make = |name: &str, bytes: &[u8]| {
            let path = place.path().join(name);
            fs::write(&path, bytes).unwrap();
            path
        };
        let appended = |path: &Path| [&fs::read(path).unwrap(), b"x".as_slice()].concat();
        let loader = Elf::open(&b.join("git")).unwrap().interpreter().unwrap();
        let rows = [
            (make("1", &appended(&a.join("git"))), Some("git")),
            (make("2", &appended(&b.join("git"))), Some("git")),
            (parts.join("git-send-pack"), Some("git")),
            (make("3", &appended(&loader)), Some(LOADER)),
            (make("4", LONG.as_bytes()), Some("npm")),
            (make("5", format!("{LONG}// more").as_bytes()), Some("npm")),
            (make("6", b"#!/bin/sh\nyarn"), Some("yarn")),
            (make("7", b"#!/bin/sh\nyarn\necho"), None),
            (make("8", b""), None),
            (PathBuf::from("/bin/ls"), None),
        ];
        for (path, name) in rows {
            let state = FileState::of(&path).unwrap();
            assert_eq!(
                recognise(&known, state.file(), &path).as_deref(),
                name,
                "{path:?}"
            );
        }
    }

    /// A rewritten file is checked again.
    #[test]
    fn what_a_file_was_does_not_count_for_what_it_is() {
        let place = tempfile::tempdir().unwrap();
        let bin = place.path().join("bin");
        fs::create_dir(&bin).unwrap();
        fs::copy("/bin/bash", bin.join("git")).unwrap();
        let mut copies = Copies::new(Search::of(vec![bin]));
        let mut wanted = |name: &Path| name == Path::new("git");
        let file = place.path().join("x");
        fs::copy("/bin/ls", &file).unwrap();
        assert_eq!(copies.name_at(&file, &mut wanted), None);
        let before = FileState::of(&file).unwrap();
        fs::copy("/bin/bash", &file).unwrap();
        assert_eq!(before.file(), FileState::of(&file).unwrap().file());
        assert_eq!(copies.name_at(&file, &mut wanted).as_deref(), Some("git"));
    }

    #[test]
    fn a_name_that_leads_out_of_a_folder_of_the_system_is_not_of_it() {
        for file in ["/usr/bin/true", "/bin/sh", "/usr/lib/git-core/git-x"] {
            assert!(is_of_system(Path::new(file)), "{file}");
        }
        for file in [
            "/usr/bin/../../tmp/x",
            "/tmp/usr/bin/x",
            "/usr/binary/x",
            "x",
            "/usr/local/bin/x",
            "usr/bin/x",
        ] {
            assert!(!is_of_system(Path::new(file)), "{file}");
        }
    }
}
