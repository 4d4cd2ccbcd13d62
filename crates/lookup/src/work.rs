//! Check for work in a repository that a git command would throw away. Git is not run.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use oversight::lookup::{MAX_ENTRIES, Work};
use shell::pattern;
use walkdir::WalkDir;

use super::changes::{DIRECTORY, MAX_COMMITS, NotUnderstood, Repository, read_text};
use super::objects::{Id, parse_id};
use base::repository::index;

/// Mode of a submodule.
const SUBMODULE: u32 = 0o160_000;

/// Returns whether the work exists; `None` if that is unknown.
pub(super) fn loses(directory: &Path, work: Work<'_>) -> Option<bool> {
    let repository = Repository::around(directory)?;
    match work {
        Work::Changes => repository.has_changes().ok(),
        Work::NewFiles => repository.has_new_files().ok(),
        Work::Commits { of, to } => repository.has_own_commits(of, to),
    }
}

impl Repository {
    /// Compares `HEAD`, the index and the disk.
    fn has_changes(&self) -> Result<bool, NotUnderstood> {
        let entries = self.index()?;
        let mut committed = BTreeMap::new();
        if let Some(tree) = self.resolve("HEAD").and_then(|head| self.tree_of(&head)) {
            self.flatten(&tree, "", &mut committed)?;
        }
        let is_staged = |entry: &index::Entry| {
            let id = committed.get(&entry.path);
            id.is_none_or(|id| id.as_slice() != entry.id)
        };
        if entries.len() != committed.len() || entries.iter().any(is_staged) {
            return Ok(true);
        }
        let written = fs::metadata(self.location.git_dir.join("index"));
        let written = written.map_or(0, |facts| facts.mtime());
        let is_same = |entry: &index::Entry| {
            entry.mode == SUBMODULE
                || fs::symlink_metadata(self.location.top.join(&entry.path)).is_ok_and(|facts| {
                    let modified = (
                        u32::try_from(facts.mtime()),
                        u32::try_from(facts.mtime_nsec()),
                    );
                    // A file that changed in the second of the index's last write may look the same.
                    modified == (Ok(entry.modified.0), Ok(entry.modified.1))
                        && u64::from(entry.size) == facts.size() & u64::from(u32::MAX)
                        && facts.mtime() < written
                })
        };
        Ok(entries
            .iter()
            .any(|entry| !is_same(entry) && self.is_changed(entry)))
    }

    fn flatten(
        &self,
        tree: &Id,
        prefix: &str,
        all: &mut BTreeMap<String, Id>,
    ) -> Result<(), NotUnderstood> {
        for (name, entry) in self.tree(tree)? {
            let path = format!("{prefix}{name}");
            if entry.mode == DIRECTORY {
                self.flatten(&entry.id, &format!("{path}/"), all)?;
            } else {
                all.insert(path, entry.id);
            }
        }
        Ok(())
    }

    /// Searches for a file that is not in the index and that no `.gitignore` excludes.
    fn has_new_files(&self) -> Result<bool, NotUnderstood> {
        let known: BTreeSet<String> = self.index()?.into_iter().map(|entry| entry.path).collect();
        let mut ignored = Ignored::default();
        ignored.read(&self.location.common_dir.join("info/exclude"), "");
        let top = &self.location.top;
        let mut walk = WalkDir::new(top).min_depth(1).into_iter();
        let mut seen = 0_usize;
        ignored.read(&top.join(".gitignore"), "");
        while let Some(entry) = walk.next() {
            let entry = entry.map_err(|_| NotUnderstood)?;
            let path = entry.path().strip_prefix(top).map_err(|_| NotUnderstood)?;
            let path = path.to_string_lossy().into_owned();
            let is_directory = entry.file_type().is_dir();
            seen += 1;
            if seen > MAX_ENTRIES {
                return Err(NotUnderstood);
            }
            let is_known = known.contains(&path);
            let is_other = path == ".git" || (is_directory && entry.path().join(".git").exists());
            if is_other || (!is_known && ignored.holds(&path, is_directory)) {
                if is_directory {
                    walk.skip_current_dir();
                }
            } else if is_directory {
                ignored.read(&entry.path().join(".gitignore"), &path);
            } else if !is_known {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns whether commits of a branch or of `HEAD` are unreachable from any other ref.
    fn has_own_commits(&self, of: &str, to: Option<&str>) -> Option<bool> {
        let branch = format!("refs/heads/{of}");
        let tip = match of {
            "HEAD" => self.resolve("HEAD"),
            _ => self.resolve(&branch),
        };
        // A branch that does not exist loses nothing.
        let Some(tip) = tip.and_then(|tip| self.commit_of(&tip)) else {
            return Some(false);
        };
        let head = read_text(&self.location.git_dir.join("HEAD")).unwrap_or_default();
        let moved = if of == "HEAD" {
            head.trim().strip_prefix("ref: ").unwrap_or_default()
        } else {
            &branch
        };
        let mut queue: VecDeque<Id> = self.refs(moved).into();
        if of != "HEAD" {
            queue.extend(self.resolve("HEAD"));
        }
        if let Some(to) = to {
            queue.push_back(self.resolve(to)?);
        }
        let mut seen = BTreeSet::new();
        while let Some(id) = queue.pop_front() {
            let Some(id) = self.commit_of(&id) else {
                continue;
            };
            if id == tip {
                return Some(false);
            }
            if seen.insert(id) {
                queue.extend(self.parents(&id).unwrap_or_default());
            }
            if seen.len() > MAX_COMMITS {
                return None;
            }
        }
        Some(true)
    }

    /// Returns the targets of all refs, except that one and those of Role OS.
    fn refs(&self, but: &str) -> Vec<Id> {
        let common = &self.location.common_dir;
        let counts =
            |name: &str| name != but && !name.starts_with("refs/roleos/") && name != "refs/stash";
        let packed = read_text(&common.join("packed-refs")).unwrap_or_default();
        let packed = packed.lines().filter_map(|line| line.split_once(' '));
        let mut found: BTreeMap<String, Id> = packed
            .filter(|(_, name)| counts(name))
            .filter_map(|(id, name)| Some((name.to_owned(), parse_id(id)?)))
            .collect();
        let loose = WalkDir::new(common.join("refs"))
            .into_iter()
            .flatten()
            .take(MAX_ENTRIES);
        for entry in loose.filter(|entry| entry.file_type().is_file()) {
            let name = entry
                .path()
                .strip_prefix(common)
                .unwrap_or(entry.path())
                .to_string_lossy()
                .into_owned();
            let id = read_text(entry.path()).and_then(|text| parse_id(text.trim()));
            if let Some(id) = id.filter(|_| counts(&name)) {
                found.insert(name, id);
            }
        }
        found.into_values().collect()
    }
}

/// Patterns of files that git ignores; later ones override earlier ones.
#[derive(Default)]
struct Ignored(Vec<(String, String)>);

impl Ignored {
    fn read(&mut self, file: &Path, folder: &str) {
        let text = read_text(file).unwrap_or_default();
        let lines = text
            .lines()
            .map(str::trim_end)
            .filter(|line| !line.is_empty() && !line.starts_with('#'));
        self.0
            .extend(lines.map(|line| (folder.to_owned(), line.to_owned())));
    }

    fn holds(&self, path: &str, is_directory: bool) -> bool {
        let mut held = false;
        for (folder, line) in &self.0 {
            let below = match folder.as_str() {
                "" => Some(path),
                folder => path
                    .strip_prefix(folder)
                    .and_then(|rest| rest.strip_prefix('/')),
            };
            let Some(below) = below else { continue };
            let (wanted, holds) = line
                .strip_prefix('!')
                .map_or((line.as_str(), true), |rest| (rest, false));
            let (wanted, only_directories) = wanted
                .strip_suffix('/')
                .map_or((wanted, false), |rest| (rest, true));
            if only_directories && !is_directory {
                continue;
            }
            let fits = if wanted.contains('/') {
                let wanted: Vec<&str> = wanted.trim_start_matches('/').split('/').collect();
                parts_fit(&wanted, &below.split('/').collect::<Vec<_>>())
            } else {
                pattern::matches(wanted, below.rsplit('/').next().unwrap_or(below))
            };
            if fits {
                held = holds;
            }
        }
        held
    }
}

fn parts_fit(wanted: &[&str], parts: &[&str]) -> bool {
    match (wanted, parts) {
        ([], []) | (["**"], [_, ..]) => true,
        (["**", rest @ ..], [_, below @ ..]) => parts_fit(rest, parts) || parts_fit(wanted, below),
        ([first, rest @ ..], [part, below @ ..]) => {
            pattern::matches(first, part) && parts_fit(rest, below)
        }
        _ => false,
    }
}
