//! Code that a package manager installed. It goes by its name, as a program on the path does: what it leaves unknown is
//! not counted, and what it plainly does is asked about.

use crate::lookup::{absolute, directory_of};

use super::language::Language;
use super::{Certainty, Evaluator};

/// Directories of installed packages.
const PLACES: &[&str] = &["/node_modules/", "/site-packages/", "/.venv/", "/venv/"];

/// Larger packages are not looked into.
pub(super) const MAX_PACKAGE: usize = 64 * 1024;

/// Longer launchers are programs of their own.
const MAX_LAUNCHER: usize = 2048;

/// More packages than this are not looked for in one code.
pub(super) const MAX_PACKAGES: usize = 16;

/// How code loads a package by its name.
const LOADS: &[&str] = &[
    "require(",
    "require.resolve(",
    "import(",
    "from ",
    "import ",
];

impl Evaluator<'_> {
    /// Whether a file belongs to an installed package and is not yet walked as one.
    pub(crate) fn is_of_package(&self, path: &str) -> bool {
        let path = absolute(&self.state.directory, path);
        self.certainty != Certainty::Possible
            && PLACES.iter().any(|place| path.contains(place))
            && !self.written.contains_key(&path)
    }

    /// Whether code in a directory is that of a package: what it loads is not followed, there is too much of it.
    pub(crate) fn is_package_code(&self, beside: &str) -> bool {
        let beside = format!("{beside}/");
        self.certainty == Certainty::Possible && PLACES.iter().any(|place| beside.contains(place))
    }

    /// Looks into packages that code of node loads by their names.
    pub(super) fn loaded_packages(
        &mut self,
        language: &Language,
        name: &str,
        code: &str,
        beside: &str,
    ) {
        let start = self.state.directory.to_string();
        if self.certainty == Certainty::Possible {
            return;
        }
        for package in loaded(code) {
            for place in [beside, &start] {
                let path = format!("{place}/node_modules/{package}");
                let path = self.code_path(language, &path);
                let key = format!("module {path}");
                let text = self.known_file(&path);
                let text = text.filter(|text| text.len() <= MAX_PACKAGE);
                if let Some(text) = text
                    && self.walking.insert(key.clone())
                {
                    let beside = directory_of(&path).to_owned();
                    self.perhaps(|this| this.code_in(language, name, &text, &beside));
                    self.walking.remove(&key);
                    break;
                }
            }
        }
    }
}

/// Whether a directory holds programs that packages bring, which load the rest of theirs.
pub(super) fn is_launcher(beside: &str) -> bool {
    beside.ends_with("/node_modules/.bin")
        || beside.ends_with("/.venv/bin")
        || beside.ends_with("/venv/bin")
}

/// Whether a launcher is a few lines that load the package beside it.
pub(super) fn loads_rest(text: &str) -> bool {
    let loads = ["require(", "import(", "import ", "from "];
    text.len() < MAX_LAUNCHER
        && text.contains("../")
        && loads.iter().any(|load| text.contains(load))
}

/// Names of packages in quotes behind a word that loads them.
fn loaded(code: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for (load, (at, _)) in LOADS
        .iter()
        .flat_map(|load| code.match_indices(load).map(move |at| (load, at)))
    {
        let rest = code
            .get(at.saturating_add(load.len())..)
            .unwrap_or_default();
        let mut signs = rest.trim_start().chars();
        let Some(quote) = signs.next().filter(|one| matches!(one, '"' | '\'' | '`')) else {
            continue;
        };
        let package = signs.as_str().split(quote).next().unwrap_or_default();
        let is_name = |one: char| one.is_ascii_alphanumeric() || "@/._-".contains(one);
        let named = !package.is_empty() && package.len() < 200 && package.chars().all(is_name);
        let relative = package.starts_with(['.', '/']) || package.contains("..");
        if named && !relative && !found.iter().any(|known| known == package) {
            found.push(package.to_owned());
        }
        if found.len() == MAX_PACKAGES {
            break;
        }
    }
    found
}
