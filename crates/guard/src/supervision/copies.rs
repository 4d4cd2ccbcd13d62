//! Known programs under another name: a link to the same file, or a copy of its bytes.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};

use supervise::Exec;

/// Folders that only the system's own tools change: there a file is what its name says.
const OF_SYSTEM: &[&str] = &[
    "/usr/bin",
    "/bin",
    "/usr/sbin",
    "/sbin",
    "/usr/lib",
    "/lib",
    "/usr/libexec",
];

/// A program that is looked for.
#[derive(Clone, Debug)]
struct Known {
    name: String,
    path: PathBuf,
    file: (u64, u64),
    size: u64,
}

/// The programs of the gated actions, where the command would find them.
#[derive(Debug)]
pub(super) struct Copies {
    names: Vec<String>,
    search: Vec<PathBuf>,
    /// Looked up when the first unknown file is executed.
    known: Option<Vec<Known>>,
    /// What files were found to be.
    seen: BTreeMap<(u64, u64), Option<String>>,
}

impl Copies {
    pub(super) fn new(names: Vec<String>, path: &OsStr) -> Self {
        let folders = std::env::split_paths(path).filter(|folder| folder.is_absolute());
        Self {
            names,
            search: folders.collect(),
            known: None,
            seen: BTreeMap::new(),
        }
    }

    /// Returns the name of the program that a file is, where it goes by another.
    pub(super) fn name_of(&mut self, exec: &Exec<'_>) -> Option<String> {
        if is_of_system(exec.target().unwrap_or(exec.path())) {
            return None;
        }
        let file = exec.file()?;
        if let Some(known) = self.seen.get(&file) {
            return known.clone();
        }
        let (names, search) = (&self.names, &self.search);
        let known = self.known.get_or_insert_with(|| find(names, search));
        let found = known.iter().find(|one| {
            one.file == file || (one.size == exec.size() && same_bytes(&one.path, exec.place()))
        });
        let name = found.map(|one| one.name.clone());
        self.seen.insert(file, name.clone());
        name
    }
}

/// Whether a file lies in a folder that only the system's own tools change.
pub(super) fn is_of_system(file: &Path) -> bool {
    let folder = file.parent().unwrap_or(Path::new(""));
    // A name can lead out of the folder again.
    !file.components().any(|part| part == Component::ParentDir)
        && OF_SYSTEM.iter().any(|known| folder.starts_with(known))
}

/// Finds the programs as a search would, the first of each name. Folders are listed, because there are far more names than
/// folders.
fn find(names: &[String], search: &[PathBuf]) -> Vec<Known> {
    let mut wanted: BTreeSet<&str> = names.iter().map(String::as_str).collect();
    let mut known = Vec::new();
    let mut looked: Vec<&Path> = Vec::new();
    for folder in search {
        if looked.contains(&folder.as_path()) {
            continue;
        }
        looked.push(folder);
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let Some(name) = name.to_str().and_then(|name| wanted.get(name).copied()) else {
                continue;
            };
            let path = entry.path();
            let Some(facts) = fs::metadata(&path).ok().filter(fs::Metadata::is_file) else {
                continue;
            };
            wanted.remove(name);
            known.push(Known {
                name: name.to_owned(),
                path,
                file: (facts.dev(), facts.ino()),
                size: facts.len(),
            });
        }
    }
    known
}

fn same_bytes(one: &Path, other: &Path) -> bool {
    let open = |path: &Path| File::open(path).ok();
    let (Some(mut one), Some(mut other)) = (open(one), open(other)) else {
        return false;
    };
    let (mut left, mut right) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    loop {
        let (Ok(read), Ok(also)) = (fill(&mut one, &mut left), fill(&mut other, &mut right)) else {
            return false;
        };
        if read != also || left.get(..read) != right.get(..also) {
            return false;
        }
        if read == 0 {
            return true;
        }
    }
}

fn fill(file: &mut File, into: &mut [u8]) -> std::io::Result<usize> {
    let mut done = 0;
    while let Some(room) = into.get_mut(done..).filter(|room| !room.is_empty()) {
        match file.read(room)? {
            0 => break,
            read => done += read,
        }
    }
    Ok(done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_each_name_is_found() {
        let place = tempfile::tempdir().unwrap();
        let folders = ["a", "b"].map(|name| place.path().join(name));
        for folder in &folders {
            fs::create_dir(folder).unwrap();
        }
        let [a, b] = &folders;
        fs::create_dir(a.join("npm")).unwrap();
        for file in [a.join("git"), b.join("git"), b.join("npm"), b.join("ls")] {
            File::create(file).unwrap();
        }
        let names = ["gh", "git", "npm"].map(str::to_owned);
        let search = [a.clone(), a.clone(), place.path().join("none"), b.clone()];
        let mut found: Vec<PathBuf> = find(&names, &search)
            .into_iter()
            .map(|one| one.path)
            .collect();
        found.sort();
        assert_eq!(found, [a.join("git"), b.join("npm")]);
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
