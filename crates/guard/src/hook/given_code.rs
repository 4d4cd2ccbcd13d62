//! Detects words of a test command, or settings that the session wrote, that name code outside the diff: outside the
//! repository, in an ignored place, or by an option that loads a module.
//!
//! Content of the commit from which the session started is the project's own way to run its tests.

use std::path::Path;

use base::files;
use base::git;
use evidence::sealing::test_commands::loaders::setting_loads_code;
use evidence::sealing::test_commands::setup::{choosing_part, is_setup};
use evidence::sealing::test_commands::{Given, TestCommand};

use super::own_code::{OwnCode, Place, holds_fresh};

/// Longest settings file that is read.
const MAX_SETTINGS: u64 = 256 * 1024;

/// Characters around paths and words in settings.
const AROUND: &str = " \t=,:;\"'[](){}";

/// Returns why a test that ran in the real directory `folder` may have run code that is not in the diff. `is_typed` is
/// set if the session wrote the command itself; it then holds the arguments of a script of the project.
pub(super) fn doubt(
    test: &TestCommand,
    (folder, is_typed): (&Path, bool),
    own: &OwnCode<'_>,
) -> Option<String> {
    let top = own.top.as_path();
    let tree = Tree {
        top,
        is_typed,
        tests_builds: test.tests_builds(),
        own,
    };
    let place = folder.strip_prefix(top).ok()?.to_string_lossy();
    let of_folder = Given {
        before: "cd".to_owned(),
        value: place.into_owned(),
        is_path: true,
        ..Given::default()
    };
    let of_words = test.given.iter().find_map(|given| tree.word(given, folder));
    of_words
        .or_else(|| tree.word(&of_folder, top))
        .or_else(|| tree.settings())
}

struct Tree<'t> {
    top: &'t Path,
    /// Set if the session wrote the command, which holds the arguments of a script of the project.
    is_typed: bool,
    /// Set if the runner works in a build folder.
    tests_builds: bool,
    own: &'t OwnCode<'t>,
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
        paths(value).find_map(|path| match self.own.place(&folder.join(path)) {
            Place::Inside => None,
            Place::Outside(_) => Some(format!("`{value}` is outside of the repository")),
            Place::Beside(real) => {
                // A build from before the session does not contain its changes.
                let is_built = || self.tests_builds && holds_fresh(&real, self.own.before.began_ns);
                let is_meant = self.is_held(before, value) || is_built();
                let is_fine = is_meant && self.own.holds(&real).is_none();
                (!is_fine).then(|| format!("`{value}` is a place that the diff does not show"))
            }
        })
    }

    /// Returns `true` if the commit from which the session started contains these words.
    fn is_held(&self, before: &str, value: &str) -> bool {
        self.own
            .is_held(&[format!("{before} {value}"), format!("{before}={value}")])
    }

    /// Finds settings that the session wrote and that name such code.
    fn settings(&self) -> Option<String> {
        let base = self.own.base();
        let mut names = self.own.changed.paths().iter();
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
        let began_ns = self.own.before.began_ns;
        let names_other = |word: &str| {
            let is_path = word.contains('/') && !word.starts_with("//") && !old.contains(word);
            is_path
                && match self.own.place(&folder.join(word)) {
                    Place::Inside => false,
                    Place::Outside(real) => holds_fresh(&real, began_ns),
                    Place::Beside(real) => self.own.holds(&real).is_some(),
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

/// Lists the paths that a word may mean: `t.py::test_a`, `build/*.test.js`, `build.test_calc`, `name=path`.
fn paths(value: &str) -> impl Iterator<Item = &str> {
    let parts = value.split([' ', ',', '=']);
    let parts = parts.map(|part| part.split("::").next().unwrap_or(part));
    let known = parts.flat_map(|part| {
        let plain = part.split(['*', '?', '[', '{']).next().unwrap_or(part);
        let folder = match plain.len() == part.len() {
            true => plain,
            false => plain.rsplit_once('/').map_or("", |(folder, _)| folder),
        };
        // A Python module in a package.
        let package = plain.split('.').next().unwrap_or_default();
        [folder, package]
    });
    known.filter(|path| !path.is_empty())
}
