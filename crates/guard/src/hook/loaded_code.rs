//! Whether a test run may have loaded code that this session put beside its diff: by a variable, by a file that git
//! ignores, or by a file that every run of a language loads.

use std::fs;
use std::path::{Path, PathBuf};

use base::environment;
use base::git::Git;
use base::repository::Location;
use evidence::sealing::test_commands::loaders::{
    is_code, is_loaded_place, is_output, is_site_hook, loads_code,
};
use walkdir::WalkDir;

use super::real_program::is_fresh;

/// Entries of folders that are looked at.
const MAX_ENTRIES: usize = 20_000;

/// Settings of the user by which runners load code, below the home.
const OF_HOME: [&str; 6] = [
    ".cargo/config.toml",
    ".cargo/config",
    ".npmrc",
    ".rspec",
    ".gradle/init.gradle",
    ".config/go/env",
];

/// Folders of environments of Python in a project.
const ENVIRONMENTS: [&str; 2] = [".venv", "venv"];

/// What the session has done so far, as far as it can make a runner load code.
#[derive(Clone, Debug, Default)]
pub(super) struct Before {
    /// Variables that were exported in a shell of the session.
    pub(super) exported: Vec<(String, String)>,
    /// Files that its calls named as those that they write.
    pub(super) written: Vec<String>,
    /// The start of the session, in nanoseconds since 1970.
    pub(super) began_ns: u64,
    /// The commit from which it started.
    pub(super) base: Option<String>,
}

/// Returns why a run in `folder` may have loaded other code, if it may. `variables` are those of its own command.
pub(super) fn doubt(
    variables: &[(String, String)],
    folder: &Path,
    before: &Before,
) -> Option<String> {
    let top = Location::around(folder).map_or_else(|| folder.to_owned(), |location| location.top);
    let exported = before.exported.iter();
    let mut loading = exported.filter(|(name, value)| loads_code(name, value));
    if let Some((name, _)) = loading.next() {
        return Some(format!(
            "the session exported `{name}`, by which the runner loads code"
        ));
    }
    let named = variables.iter().chain(&before.exported).find_map(|one| {
        let path = fresh_path(&one.1, folder, &top, before.began_ns)?;
        Some((one.0.clone(), path))
    });
    if let Some((name, path)) = named {
        return Some(format!(
            "`{name}` names `{}`, which was written during the session",
            path.display()
        ));
    }
    if let Some(path) = before.written.iter().find(|path| is_loaded_place(path)) {
        return Some(format!(
            "the session wrote `{path}`, which is not in the diff and which the runner loads"
        ));
    }
    let found = beside_diff(&top, before.began_ns)
        .or_else(|| for_every_run(&top, before.began_ns))
        .map(|path| path.display().to_string());
    found.map(|path| {
        format!("`{path}` was written during the session, is not in the diff, and may be loaded")
    })
}

/// Returns a path in a value that lies out of the diff and was written during the session.
fn fresh_path(value: &str, folder: &Path, top: &Path, began_ns: u64) -> Option<PathBuf> {
    let parts = value.split([':', ' ', '=', ',']);
    let paths = parts.filter(|part| !part.is_empty() && !part.starts_with('-'));
    paths
        .map(|part| folder.join(part.trim_start_matches("\u{1}/")))
        .filter(|path| path.exists())
        .map(|path| fs::canonicalize(&path).unwrap_or(path))
        .find(|path| {
            let inside = path.strip_prefix(top).ok();
            let is_beside = |inside: &Path| {
                let mut parts = inside.iter();
                parts.any(|part| is_output(&part.to_string_lossy()))
            };
            inside.is_none_or(is_beside) && holds_fresh(path, began_ns)
        })
}

/// Returns `true` if a file, or code in a folder, was written during the session.
pub(super) fn holds_fresh(path: &Path, began_ns: u64) -> bool {
    if path.is_file() {
        return is_fresh(path, began_ns);
    }
    let files = WalkDir::new(path).max_depth(4).into_iter().flatten();
    let mut files = files.take(MAX_ENTRIES);
    files.any(|entry| {
        is_code(&entry.file_name().to_string_lossy()) && is_fresh(entry.path(), began_ns)
    })
}

/// Returns code that was written during the session and that the diff does not hold: git ignores it, or it lies in a
/// repository of its own.
fn beside_diff(top: &Path, began_ns: u64) -> Option<PathBuf> {
    let git = Git::at(top).ok()?;
    let list = |more: &[&str]| {
        let arguments = ["ls-files", "-z", "--others", "--exclude-standard"];
        let listed = git
            .run([&arguments, more].concat(), &[])
            .unwrap_or_default();
        let listed = String::from_utf8_lossy(&listed).into_owned();
        let entries = listed.split('\0').filter(|entry| !entry.is_empty());
        entries.map(str::to_owned).collect::<Vec<String>>()
    };
    let ignored = list(&["--ignored", "--directory"]);
    let own = list(&[]).into_iter().filter(|entry| entry.ends_with('/'));
    let is_output_path = |entry: &String| entry.split('/').any(is_output);
    let mut entries = ignored.into_iter().chain(own);
    entries.find_map(|entry| {
        if is_output_path(&entry) {
            return None;
        }
        let path = top.join(&entry);
        let is_kept = |entry: &walkdir::DirEntry| {
            !entry.file_type().is_dir() || !is_output(&entry.file_name().to_string_lossy())
        };
        let files = WalkDir::new(&path).into_iter().filter_entry(is_kept);
        let mut files = files.flatten().take(MAX_ENTRIES);
        let found = files.find(|file| {
            let name = file.file_name().to_string_lossy();
            !file.file_type().is_dir() && is_code(&name) && is_fresh(file.path(), began_ns)
        });
        found.map(walkdir::DirEntry::into_path)
    })
}

/// Returns a file that every run of a language loads and that was written during the session.
fn for_every_run(top: &Path, began_ns: u64) -> Option<PathBuf> {
    let home = environment::home().unwrap_or_default();
    let settings = OF_HOME.iter().map(|file| home.join(file));
    let environments = ENVIRONMENTS.iter().map(|folder| top.join(folder));
    let places = environments.chain([home.join(".local")]);
    let hooks = places.flat_map(|place| site_hooks(&place, top));
    let caches = unchecked_caches(top);
    let mut all = settings.chain(hooks).chain(caches);
    all.find(|path| path.is_file() && is_fresh(path, began_ns))
}

/// The files that Python loads at its start from the modules of an environment.
fn site_hooks(environment: &Path, top: &Path) -> Vec<PathBuf> {
    let versions = fs::read_dir(environment.join("lib")).into_iter().flatten();
    let folders = versions
        .flatten()
        .map(|entry| entry.path().join("site-packages"));
    let entries = folders.flat_map(|folder| fs::read_dir(folder).into_iter().flatten());
    let entries = entries.flatten().take(MAX_ENTRIES);
    entries
        .filter(|entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            is_site_hook(&name) || name.ends_with(".pth") && loads_other(&entry.path(), top)
        })
        .map(|entry| entry.path())
        .collect()
}

/// Returns `true` if a path file runs code, other than what installers write, or adds a folder that is not of the project.
fn loads_other(path: &Path, top: &Path) -> bool {
    let bytes = base::files::read(path, 64 * 1024).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let known = ["__editable__", "_virtualenv", "SETUPTOOLS_USE_DISTUTILS"];
    let mut lines = text.lines().map(str::trim);
    lines.any(|line| match line.starts_with("import") {
        true => !known.iter().any(|known| line.contains(known)),
        false => !line.is_empty() && !line.starts_with('#') && !Path::new(line).starts_with(top),
    })
}

/// Compiled modules that Python loads without a look at their source, which it never writes by itself.
fn unchecked_caches(top: &Path) -> Vec<PathBuf> {
    let is_kept = |entry: &walkdir::DirEntry| {
        let name = entry.file_name().to_string_lossy();
        !entry.file_type().is_dir() || name == "__pycache__" || !is_output(&name)
    };
    let files = WalkDir::new(top).into_iter().filter_entry(is_kept);
    let files = files.flatten().take(MAX_ENTRIES);
    files
        .filter(|file| {
            file.path()
                .extension()
                .is_some_and(|ending| ending == "pyc")
        })
        .filter(|file| {
            use std::io::Read as _;
            let mut head = [0; 8];
            let read = fs::File::open(file.path()).and_then(|mut file| file.read_exact(&mut head));
            read.is_ok() && matches!(head, [.., 1, 0, 0, 0])
        })
        .map(walkdir::DirEntry::into_path)
        .collect()
}
