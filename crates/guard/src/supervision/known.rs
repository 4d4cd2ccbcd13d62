//! Programs that are recognised by their names, on the command's search path, so that copies under other names are
//! detected. They are listed once, and the list is stored in the user's state folder until a folder or a program
//! changes.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use base::files::{self, Privacy};
use oversight::execution::LOADER;
use serde::{Deserialize, Serialize};
use supervise::FileState;

use super::elf::{Elf, Mark};
use super::ruled_out::RuledOut;

/// Folders of git's parts, relative to the folder of its program.
const PARTS_OF_GIT: [&str; 2] = ["../libexec/git-core", "../lib/git-core"];

/// The folder of stored lists, and the longest list.
const FOLDER: &str = "programs";
const MAX_KEPT: u64 = 4 * 1024 * 1024;

/// A known program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Known {
    pub(super) name: String,
    pub(super) path: PathBuf,
    /// Device and inode.
    pub(super) file: (u64, u64),
    /// Features by which it may be recognised; none for a script.
    pub(super) marks: Vec<Mark>,
    state: String,
}

/// Places in which programs are searched.
#[derive(Clone, Debug)]
pub(super) struct Search {
    folders: Vec<PathBuf>,
    /// Path of the stored list.
    kept: Option<PathBuf>,
}

/// File extensions of the list, and of the files that are not known programs.
const LIST: &str = "json";
const RULED_OUT: &str = "others";

/// A stored list.
#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    /// The folders with their states; `None` for missing ones.
    folders: Vec<(PathBuf, Option<String>)>,
    known: Vec<Known>,
}

impl Search {
    /// Searches these folders, and those of git beside them.
    pub(super) fn of(folders: Vec<PathBuf>) -> Self {
        let parts = |folder: &PathBuf| PARTS_OF_GIT.map(|part| folder.join(part));
        let parts: Vec<PathBuf> = folders.iter().flat_map(parts).collect();
        let mut distinct: Vec<PathBuf> = Vec::with_capacity(folders.len() + parts.len());
        for folder in folders.into_iter().chain(parts) {
            // A comparison by components would take as long as reading them.
            let is_known = |one: &PathBuf| one.as_os_str() == folder.as_os_str();
            if !distinct.iter().any(is_known) {
                distinct.push(folder);
            }
        }
        Self {
            folders: distinct,
            kept: None,
        }
    }

    /// Searches along `PATH`, and stores the list in the state folder. `names` are further dependencies of the list.
    pub(super) fn along(path: &OsStr, state: Option<&Path>, names: &str) -> Self {
        let folders = std::env::split_paths(path).filter(|folder| folder.is_absolute());
        let folders: Vec<PathBuf> = folders.collect();
        let depends = [path.as_encoded_bytes(), b"\n", names.as_bytes()].concat();
        let name = hex::encode(base::digest(&depends).get(..16).unwrap_or_default());
        Self {
            kept: state.map(|state| state.join(FOLDER).join(name).with_extension(LIST)),
            ..Self::of(folders)
        }
    }

    /// Reads the files that are known not to be such programs.
    pub(super) fn ruled_out(&self) -> RuledOut {
        let kept = self.kept.as_ref();
        // Without a list, there is nothing beside it.
        let kept = kept.map(|kept| kept.with_extension(RULED_OUT));
        RuledOut::read(kept, &self.folders)
    }

    /// Finds every program that is recognised by its name, and the files that load them.
    pub(super) fn find(&self, wanted: &mut dyn FnMut(&Path) -> bool) -> Vec<Known> {
        if let Some(known) = self.read() {
            return known;
        }
        // Before the folders are listed: a change in between must be noticed.
        let states: Vec<_> = self.folders.iter().map(|one| FileState::of(one)).collect();
        let known = self.list(wanted);
        if !states.iter().flatten().any(FileState::is_fresh) {
            let states = states
                .iter()
                .map(|state| state.as_ref().map(FileState::key));
            self.write(&Kept {
                folders: self.folders.iter().cloned().zip(states).collect(),
                known: known.clone(),
            });
        }
        known
    }

    /// Reads the stored list, if nothing has changed since.
    fn read(&self) -> Option<Vec<Known>> {
        let bytes = files::read(self.kept.as_ref()?, MAX_KEPT).ok()?;
        let Kept { folders, known } = serde_json::from_slice(&bytes).ok()?;
        let is_as = |path: &Path, state: Option<&String>| {
            FileState::of(path).map(|state| state.key()).as_ref() == state
        };
        let named = folders.iter().map(|(path, _)| path);
        let holds = named.eq(&self.folders)
            && folders
                .iter()
                .all(|(path, state)| is_as(path, state.as_ref()))
            && known.iter().all(|one| is_as(&one.path, Some(&one.state)));
        holds.then_some(known)
    }

    /// Stores a list, if there is a state folder: running a command does not create one. An unstored list is made
    /// again.
    fn write(&self, list: &Kept) {
        let bytes = serde_json::to_vec(list);
        if let (Some(path), Ok(bytes)) = (&self.kept, bytes)
            && let Some(folder) = path.parent()
            && folder.parent().is_some_and(Path::is_dir)
            && files::make_directory(folder, Privacy::Secret).is_ok()
        {
            files::write(path, &bytes, Privacy::Secret).ok();
        }
    }

    fn list(&self, wanted: &mut dyn FnMut(&Path) -> bool) -> Vec<Known> {
        let mut known: Vec<Known> = Vec::new();
        let mut looked: Vec<PathBuf> = Vec::new();
        let mut loaders: Vec<PathBuf> = Vec::new();
        for folder in &self.folders {
            let Ok(folder) = fs::canonicalize(folder) else {
                continue;
            };
            if looked.contains(&folder) {
                continue;
            }
            for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
                let name = entry.file_name();
                if !wanted(Path::new(&name)) {
                    continue;
                }
                let (path, name) = (entry.path(), name.to_string_lossy().into_owned());
                let one = Known::read(name, path, &mut known, &mut loaders);
                known.extend(one);
            }
            looked.push(folder);
        }
        for path in std::mem::take(&mut loaders) {
            let one = Known::read(LOADER.to_owned(), path, &mut known, &mut loaders);
            known.extend(one);
        }
        known
    }
}

impl Known {
    /// Reads a file; `None` if it is not a program, or is known already. The shortest name counts: of the many links of
    /// git, its own.
    fn read(
        name: String,
        path: PathBuf,
        known: &mut [Self],
        loaders: &mut Vec<PathBuf>,
    ) -> Option<Self> {
        let facts = fs::metadata(&path).ok().filter(fs::Metadata::is_file)?;
        let state = FileState::from(&facts);
        let file = state.file();
        if let Some(one) = known.iter_mut().find(|one| one.file == file) {
            if name.len() < one.name.len() {
                one.name = name;
            }
            return None;
        }
        let elf = Elf::open(&path);
        let loader = elf.as_ref().and_then(Elf::interpreter);
        loaders.extend(loader.filter(|loader| !loaders.contains(loader)));
        Some(Self {
            name,
            path,
            file,
            state: state.key(),
            marks: elf.map_or_else(Vec::new, |elf| elf.marks()),
        })
    }
}

#[cfg(test)]
#[expect(
    clippy::disallowed_methods,
    reason = "tests make files that another would make"
)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::thread;
    use std::time::Duration;

    use super::*;

    fn wanted(name: &Path) -> bool {
        name == Path::new("git") || name == Path::new("npm")
    }

    #[test]
    fn a_list_is_kept_until_something_changes() {
        let place = tempfile::tempdir().unwrap();
        let bin = place.path().join("bin");
        fs::create_dir(&bin).unwrap();
        fs::copy("/bin/bash", place.path().join("real")).unwrap();
        symlink(place.path().join("real"), bin.join("git")).unwrap();
        let state = place.path().join("state");
        let path = std::env::join_paths([bin.as_path(), &place.path().join("none")]).unwrap();
        let search = || Search::along(&path, Some(&state), "names");
        let old = || thread::sleep(Duration::from_millis(80));
        // A fresh list is not stored.
        assert_eq!(search().read(), None);
        old();
        let first = search().find(&mut wanted);
        assert_eq!(first.len(), 2, "git and its loader: {first:?}");
        assert!(!state.exists());
        fs::create_dir(&state).unwrap();
        assert_eq!(search().find(&mut wanted), first);
        assert_eq!(search().read(), Some(first.clone()));
        assert_eq!(search().find(&mut |_| panic!("listed again")), first);
        assert_eq!(Search::along(&path, Some(&state), "others").read(), None);

        // A program is overwritten.
        fs::copy("/bin/ls", place.path().join("real")).unwrap();
        assert_eq!(search().read(), None);
        old();
        assert_ne!(search().find(&mut wanted), first);
        assert!(search().read().is_some());

        // A program is added, in an existing folder and in a new one.
        fs::write(bin.join("npm"), "#!/bin/sh\n").unwrap();
        assert_eq!(search().read(), None);
        old();
        assert_eq!(search().find(&mut wanted).len(), 3);
        fs::create_dir(place.path().join("none")).unwrap();
        assert_eq!(search().read(), None);
        old();
        search().find(&mut wanted);

        // A damaged list does not count.
        let kept = search().kept.unwrap();
        assert!(search().read().is_some());
        fs::write(kept, "{").unwrap();
        assert_eq!(search().read(), None);
        assert_eq!(search().find(&mut wanted).len(), 3);
    }
}
