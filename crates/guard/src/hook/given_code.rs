//! Whether the words of a test command, or settings that the session wrote, name code that is not in the diff: outside of
//! the repository, in a place that git passes over, or by an option that loads a module.
//!
//! What the commit from which the session started says itself is the project's own way to run its tests.

use std::fs;
use std::path::{Path, PathBuf};

use base::files;
use base::git::{self, Git};
use base::repository::Location;
use evidence::sealing::test_commands::loaders::setting_loads_code;
use evidence::sealing::test_commands::setup::{choosing_part, is_setup};
use evidence::sealing::test_commands::{Given, TestCommand};

use super::loaded_code::{Before, holds_fresh};

/// Longest file of settings that is looked at.
const MAX_SETTINGS: u64 = 256 * 1024;

/// Characters around paths and words in settings.
const AROUND: &str = " \t=,:;\"'[](){}";

/// Returns why a test that ran in the real directory `folder` may have run code that is not in the diff.
/// `is_typed` says that the session gave the command itself; a script of the project takes its arguments from there.
pub(super) fn doubt(
    test: &TestCommand,
    (folder, is_typed): (&Path, bool),
    before: &Before,
) -> Option<String> {
    let top = Location::around(folder)?.top;
    let tree = Tree {
        top: &top,
        is_typed,
        before,
    };
    let place = folder.strip_prefix(&top).ok()?.to_string_lossy();
    let of_folder = Given {
        before: "cd".to_owned(),
        value: place.into_owned(),
        is_path: true,
        ..Given::default()
    };
    let of_words = test.given.iter().find_map(|given| tree.word(given, folder));
    of_words
        .or_else(|| tree.word(&of_folder, &top))
        .or_else(|| tree.settings())
}

struct Tree<'t> {
    top: &'t Path,
    /// The command is the session's own: what a script of the project is given stands there.
    is_typed: bool,
    before: &'t Before,
}

impl Tree<'_> {
    fn word(&self, given: &Given, folder: &Path) -> Option<String> {
        let Given { before, value, .. } = given;
        if self.is_typed && given.is_unclear && (given.is_path || given.loads) {
            return Some(format!("a word behind `{before}` is only known to the run"));
        }
        if given.loads && !self.is_held(before, value) {
            return Some(format!(
                "`{before} {value}` may load code or write the report, and the project did not say so before"
            ));
        }
        if !given.is_path {
            return None;
        }
        paths(value).find_map(|path| match self.place(&folder.join(path)) {
            Place::Inside => None,
            Place::Outside => Some(format!("`{value}` is outside of the repository")),
            Place::Beside(real) => {
                let is_own = self.is_held(before, value) && !self.is_written(&real);
                (!is_own).then(|| format!("`{value}` is a place that the diff does not show"))
            }
        })
    }

    fn place(&self, path: &Path) -> Place {
        let Ok(real) = fs::canonicalize(path) else {
            let is_outside = path.is_absolute() && !path.starts_with(self.top);
            return if is_outside {
                Place::Outside
            } else {
                Place::Inside
            };
        };
        let Ok(inside) = real.strip_prefix(self.top) else {
            return Place::Outside;
        };
        if inside.as_os_str().is_empty() {
            return Place::Inside;
        }
        let is_of_git = inside.iter().any(|part| part == ".git");
        let folder = if real.is_dir() {
            &real
        } else {
            real.parent().unwrap_or(&real)
        };
        let is_nested = Location::around(folder).is_some_and(|other| other.top != self.top);
        match is_of_git || is_nested || git::is_ignored(self.top, &real) {
            true => Place::Beside(real),
            false => Place::Inside,
        }
    }

    /// Returns `true` if the commit from which the session started has these words.
    fn is_held(&self, before: &str, value: &str) -> bool {
        let Some(base) = &self.before.base else {
            return false;
        };
        let Ok(git) = Git::at(self.top) else {
            return false;
        };
        let words = [format!("{before} {value}"), format!("{before}={value}")];
        let [spaced, joined] = &words;
        let search = ["grep", "-q", "-w", "-F", "-e", spaced, "-e", joined, base];
        git.run(search, &[]).is_ok()
    }

    /// Returns `true` if a call named a file in this place as one that it writes.
    fn is_written(&self, place: &Path) -> bool {
        let mut written = self.before.written.iter();
        written.any(|path| {
            let path = self.top.join(path);
            fs::canonicalize(&path).unwrap_or(path).starts_with(place)
        })
    }

    /// Settings that the session wrote, and that name such code.
    fn settings(&self) -> Option<String> {
        let git = Git::at(self.top).ok()?;
        let base = self.before.base.as_deref().unwrap_or("HEAD");
        let list = |arguments: &[&str]| {
            let listed = git.run(arguments, &[]).unwrap_or_default();
            String::from_utf8_lossy(&listed).into_owned()
        };
        let changed = list(&["diff", "--name-only", "--no-renames", "-z", base]);
        let new = list(&["ls-files", "-z", "--others", "--exclude-standard"]);
        let mut names = changed.split('\0').chain(new.split('\0'));
        names.find_map(|name| self.setting(name, base))
    }

    fn setting(&self, path: &str, base: &str) -> Option<String> {
        let name = path.rsplit('/').next().filter(|name| !name.is_empty())?;
        let is_hidden = name.starts_with('.') && (name.ends_with("rc") || name.contains("env"));
        if !is_setup(name) && !is_hidden && !name.ends_with(".toml") {
            return None;
        }
        let bytes = files::read(&self.top.join(path), MAX_SETTINGS).ok()?;
        let text = choosing_part(name, &String::from_utf8_lossy(&bytes));
        let old = git::file_at(self.top, base, path).unwrap_or_default();
        let old = String::from_utf8_lossy(&old);
        let folder = self.top.join(path);
        let folder = folder.parent().unwrap_or(self.top);
        let began_ns = self.before.began_ns;
        let names_other = |word: &str| {
            let is_path = word.contains('/') && !word.starts_with("//") && !old.contains(word);
            is_path
                && match self.place(&folder.join(word)) {
                    Place::Inside => false,
                    Place::Outside => holds_fresh(&folder.join(word), began_ns),
                    Place::Beside(real) => holds_fresh(&real, began_ns),
                }
        };
        let mut lines = text.lines().filter(|line| !old.contains(line.trim()));
        lines.find_map(|line| {
            let mut words = line.split(|one| AROUND.contains(one));
            let is_bad = setting_loads_code(line) || words.any(names_other);
            is_bad.then(|| {
                format!("the session wrote into `{path}` what loads code that is not in the diff")
            })
        })
    }
}

/// Where a path leads.
enum Place {
    /// To something that the diff would show, or to nothing.
    Inside,
    /// Out of the repository.
    Outside,
    /// To something in it that the diff does not show.
    Beside(PathBuf),
}

/// The paths that a word may mean: `t.py::test_a`, `build/*.test.js`, `build.test_calc`, `name=path`.
fn paths(value: &str) -> impl Iterator<Item = &str> {
    let parts = value.split([' ', ',', '=']);
    let parts = parts.map(|part| part.split("::").next().unwrap_or(part));
    let known = parts.flat_map(|part| {
        let plain = part.split(['*', '?', '[', '{']).next().unwrap_or(part);
        let folder = match plain.len() == part.len() {
            true => plain,
            false => plain.rsplit_once('/').map_or("", |(folder, _)| folder),
        };
        // A module of Python in a package.
        let package = plain.split('.').next().unwrap_or_default();
        [folder, package]
    });
    known.filter(|path| !path.is_empty())
}
