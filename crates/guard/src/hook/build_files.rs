//! Finds the changed files that a build may run, and checks that the diff still shows them unchanged.
//!
//! A recipe, or a file that the command or a recipe names, can be changed for one build and restored.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};

use base::digest;
use base::files;
use base::git::{self, Git};
use evidence::journal::record::BuildFile;
use evidence::sealing::test_commands::effects::Effects;
use evidence::sealing::test_commands::loaders::is_code;
use evidence::sealing::test_commands::setup::{choosing_part, is_recipe};

/// Longest file that is read.
const MAX_BYTES: u64 = 256 * 1024;

/// Most files that are recorded.
const MAX_FILES: usize = 500;

/// Common recipe files.
const USUAL: [&str; 5] = [
    "package.json",
    "Makefile",
    "justfile",
    "setup.py",
    "CMakeLists.txt",
];

/// Words in the names of tests.
const TESTING: [&str; 2] = ["test", "spec"];

/// Words in the names of scripts that build something.
const MAKING: [&str; 7] = [
    "build", "gen", "bundle", "compile", "setup", "install", "prepare",
];

/// The files of a repository that differ from a commit.
#[derive(Debug)]
pub(super) struct Changed {
    top: PathBuf,
    base: String,
    paths: OnceCell<Vec<String>>,
    /// Checked files; `true` if the recorded lines are still there.
    known: Vec<(BuildFile, bool)>,
}

impl Changed {
    pub(super) fn new(top: &Path, base: &str) -> Self {
        Self {
            top: top.to_owned(),
            base: base.to_owned(),
            paths: OnceCell::new(),
            known: Vec::new(),
        }
    }

    /// Returns the files that differ from the commit, and those that it does not have.
    pub(super) fn paths(&self) -> &[String] {
        self.paths.get_or_init(|| {
            let Ok(git) = Git::at(&self.top) else {
                return Vec::new();
            };
            let list = |arguments: &[&str]| {
                let listed = git.run(arguments, &[]).unwrap_or_default();
                String::from_utf8_lossy(&listed).into_owned()
            };
            let changed = list(&["diff", "--name-only", "--no-renames", "-z", &self.base]);
            let new = list(&["ls-files", "-z", "--others", "--exclude-standard"]);
            let names = changed.split('\0').chain(new.split('\0'));
            names
                .filter(|name| !name.is_empty())
                .map(str::to_owned)
                .collect()
        })
    }

    /// Returns the changed files that a command may run.
    pub(super) fn run_by(&self, command: &str, effects: &Effects) -> Vec<BuildFile> {
        let is_recipe_at = |path: &&str| is_recipe(path.rsplit('/').next().unwrap_or(path));
        let changed = self.paths().iter().map(String::as_str);
        let recipes = changed.filter(is_recipe_at).chain(USUAL);
        let recipes = recipes.filter(|_| effects.runs_project);
        let recipes: Vec<u8> = recipes.flat_map(|path| self.read(path)).collect();
        let recipes = String::from_utf8_lossy(&recipes);
        let found = self.paths().iter().filter_map(|path| {
            let name = path.rsplit('/').next().unwrap_or(path);
            let is_named = recipes.contains(name);
            let is_test = effects.runs_project && TESTING.iter().any(|word| name.contains(word));
            let is_maker = is_named && MAKING.iter().any(|word| name.contains(word));
            let has_lines = is_recipe(name) || is_maker;
            let is_run = is_code(name) && (is_test || command.contains(name));
            (has_lines || is_named || is_run).then(|| BuildFile {
                path: path.clone(),
                lines: match has_lines {
                    true => self.added(path, effects.runs_project),
                    false => Vec::new(),
                },
            })
        });
        found.take(MAX_FILES).collect()
    }

    /// Returns `true` if files are still changed, and the added lines are still there.
    pub(super) fn hold(&mut self, recorded: &[BuildFile]) -> bool {
        recorded.iter().all(|file| {
            if let Some((_, is_held)) = self.known.iter().find(|(known, _)| known == file) {
                return *is_held;
            }
            let now = self.added(&file.path, true);
            let is_held = self.paths().contains(&file.path)
                && file.lines.iter().all(|line| now.contains(line));
            self.known.push((file.clone(), is_held));
            is_held
        })
    }

    fn read(&self, path: &str) -> Vec<u8> {
        files::read(&self.top.join(path), MAX_BYTES).unwrap_or_default()
    }

    /// Returns hashes of the lines that the commit does not have. In `package.json`, only those of scripts that
    /// installers start count, unless `all` is set.
    fn added(&self, path: &str, all: bool) -> Vec<String> {
        let name = path.rsplit('/').next().unwrap_or(path);
        let lines = |bytes: Vec<u8>| {
            let part = choosing_part(name, &String::from_utf8_lossy(&bytes));
            let lines = part.lines().map(|line| line.trim().trim_end_matches(','));
            let is_known = |line: &&str| {
                all || name != "package.json"
                    || line.contains("install")
                    || line.contains("prepare")
            };
            let lines = lines.filter(|line| line.len() > 1).filter(is_known);
            let hashes = lines.map(|line| hex::encode(digest(line.as_bytes())));
            hashes.collect::<Vec<String>>()
        };
        let old = lines(git::file_at(&self.top, &self.base, path).unwrap_or_default());
        let mut now = lines(self.read(path));
        now.retain(|line| !old.contains(line));
        now
    }
}
