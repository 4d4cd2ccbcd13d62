//! Checks that the programs of a test command are the real ones: a file created during the session must be typical
//! output of an installer, because any other file may print a forged result.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use evidence::sealing::test_commands::TestCommand;

use base::environment;
use base::files;
use lookup::starts_like_a_program;

use super::own_code::is_fresh;

/// Longest script that is read; those of installers are far smaller.
const MAX_SCRIPT: u64 = 64 * 1024;

/// Directories of a project in which package managers install programs.
pub(super) const OF_PROJECT: [&str; 4] =
    [".venv/bin", "venv/bin", "node_modules/.bin", "vendor/bin"];

/// Beginnings of lines in a Python entry point, beside the import of its module.
const PYTHON_LINES: [&str; 10] = [
    "#",
    "import re",
    "import sys",
    "if __name__ ==",
    "if sys.argv[0]",
    "elif sys.argv[0]",
    "sys.argv[0] = ",
    "sys.exit(",
    "'''exec' ",
    "' '''",
];

/// Beginnings of lines in an entry point of a JavaScript package manager.
const NODE_LINES: [&str; 11] = [
    "#",
    "basedir=",
    "case ",
    "*CYGWIN*",
    "*MINGW*",
    "esac",
    "if ",
    "else",
    "fi",
    "export NODE_PATH=",
    "exec ",
];

/// Directories of a test command, and the start of its session.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scene<'a> {
    /// The directory from which the command started.
    pub(super) cwd: &'a Path,
    /// The real directory in which the tests ran.
    pub(super) folder: &'a Path,
    /// The start of the session, in nanoseconds since 1970.
    pub(super) began_ns: u64,
}

/// Returns why a program of the command may not be the real one, if it may not.
pub(super) fn doubt(test: &TestCommand, scene: Scene<'_>) -> Option<String> {
    let folders = search_path(test, scene);
    let programs = test.programs.iter().filter_map(|program| {
        let path = find(program, &folders, scene)?;
        let is_real = !is_fresh(&path, scene.began_ns) || is_installed(&path, scene.began_ns);
        (!is_real).then_some((program, path))
    });
    // Python looks up a module in its directory first.
    let modules = test.modules.iter().filter_map(|module| {
        let first = module.split('.').next()?;
        let candidates = [
            scene.folder.join(format!("{first}.py")),
            scene.folder.join(first),
        ];
        let found = candidates
            .into_iter()
            .find(|path| is_fresh(path, scene.began_ns))?;
        Some((module, found))
    });
    let (name, path) = programs.chain(modules).next()?;
    let path = path.display();
    Some(format!(
        "`{name}` is `{path}`, which was written during the session"
    ))
}

/// Returns the directories in which a name is looked up, in order.
fn search_path(test: &TestCommand, scene: Scene<'_>) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = test
        .path
        .iter()
        .map(|one| scene.folder.join(known_part(one)))
        .collect();
    let activated = test
        .programs
        .iter()
        .filter_map(|one| known_part(one).strip_suffix("/activate"));
    folders.extend(activated.flat_map(|bin| [scene.folder.join(bin), scene.cwd.join(bin)]));
    // `npx`, `uv run` and the like search the project.
    if test.programs.len() > 1 {
        let above = scene.folder.ancestors().take(16);
        folders.extend(above.flat_map(|folder| OF_PROJECT.map(|bin| folder.join(bin))));
    }
    let path = environment::absolute_search_path().unwrap_or_default();
    folders.extend(std::env::split_paths(&path));
    folders
}

/// Returns the file of a program's name or path; `None` if it is not found.
fn find(program: &str, folders: &[PathBuf], scene: Scene<'_>) -> Option<PathBuf> {
    let candidates: Vec<PathBuf> = if program.contains('/') {
        let program = known_part(program);
        vec![scene.folder.join(program), scene.cwd.join(program)]
    } else {
        folders.iter().map(|folder| folder.join(program)).collect()
    };
    candidates.into_iter().find(|path| path.is_file())
}

/// Returns a path without the variable in front, as in `$PWD/bin`; the value of another variable is unknown.
fn known_part(path: &str) -> &str {
    path.strip_prefix("\u{1}/").unwrap_or(path)
}

/// Returns `true` if a new file is typical of an installer: a link to an older program of that name or into an
/// installed package, a binary, or an entry point that only calls its package.
fn is_installed(path: &Path, began_ns: u64) -> bool {
    let Ok(real) = fs::canonicalize(path) else {
        return false;
    };
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    if path.is_symlink() {
        let stem = |name: &str| {
            name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.')
                .to_owned()
        };
        let target = real.file_name().and_then(OsStr::to_str).unwrap_or_default();
        let is_same = stem(target) == stem(name) && !is_fresh(&real, began_ns);
        let in_package = real
            .components()
            .any(|part| part.as_os_str() == "node_modules");
        if is_same || in_package {
            return true;
        }
    }
    if starts_like_a_program(&real) {
        return true;
    }
    let bytes = files::read(&real, MAX_SCRIPT).ok();
    let Some(text) = bytes.and_then(|bytes| String::from_utf8(bytes).ok()) else {
        return false;
    };
    match name {
        "activate" => sets_environment_only(&text),
        _ => {
            is_python_entry(name, &text) || has_lines(&text, |line| starts_like(&NODE_LINES, line))
        }
    }
}

/// Returns `true` for `from pytest import console_main` and nothing else but the call.
fn is_python_entry(name: &str, text: &str) -> bool {
    let package: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
    let is_import = |line: &str| {
        let module = line
            .strip_prefix("from ")
            .and_then(|rest| rest.split([' ', '.']).next());
        module == Some(&*package)
    };
    has_lines(text, |line| {
        is_import(line) || starts_like(&PYTHON_LINES, line)
    })
}

/// Returns `true` for the `activate` script of an environment, which defines `deactivate` and `pydoc`.
fn sets_environment_only(text: &str) -> bool {
    has_lines(text, |line| {
        let defines =
            line.contains("()") || line.starts_with("function ") || line.starts_with("alias ");
        let is_own = starts_like(&["deactivate", "pydoc", "alias pydoc"], line);
        (!defines || is_own) && !line.contains("eval ")
    })
}

/// Returns `true` if every non-empty line passes `is_fine`.
fn has_lines(text: &str, is_fine: impl Fn(&str) -> bool) -> bool {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.all(is_fine)
}

fn starts_like(beginnings: &[&str], line: &str) -> bool {
    beginnings
        .iter()
        .any(|beginning| line.starts_with(beginning))
}
