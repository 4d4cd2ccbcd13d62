//! Our programs, which are in one folder: `roleos`, `roleos-hook`, and the link `roleos-watch`.

use std::io;
use std::path::{Path, PathBuf};

/// The command line.
pub const MAIN: &str = "roleos";

/// The small program that agents and git execute.
pub const HOOK: &str = "roleos-hook";

/// The link for the supervision of agents' commands.
pub const WATCH: &str = "roleos-watch";

/// Returns the real path of the running program.
///
/// # Errors
/// The system does not report it.
pub fn running() -> io::Result<PathBuf> {
    std::env::current_exe()?.canonicalize()
}

/// Returns the program that hooks start: `roleos-hook` beside `running`, or `running` itself if that is missing.
#[must_use]
pub fn hook(running: &Path) -> PathBuf {
    let beside = running.with_file_name(HOOK);
    if beside.is_file() {
        beside
    } else {
        running.to_owned()
    }
}

/// Returns the command line that belongs to `running`, for work that the hook does not do itself. `PATH` is never
/// searched: hooks run without supervision, and an agent can change that variable.
#[must_use]
pub fn main(running: &Path) -> Option<PathBuf> {
    if running.file_name().is_some_and(|name| name != HOOK) {
        return Some(running.to_owned());
    }
    let beside = running.with_file_name(MAIN);
    beside.is_file().then_some(beside)
}

/// Returns every path at which our programs are expected, existing or not.
#[must_use]
pub fn all(running: &Path) -> Vec<PathBuf> {
    let mut all = vec![running.to_owned()];
    for name in [MAIN, HOOK, WATCH] {
        let path = running.with_file_name(name);
        if path != running {
            all.push(path);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    #[test]
    fn each_program_finds_the_other_beside_it_and_nowhere_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        assert_eq!(hook(&path("roleos")), path("roleos"));
        assert_eq!(main(&path("roleos")), Some(path("roleos")));
        assert_eq!(main(&path("roleos-0.2")), Some(path("roleos-0.2")));
        assert_eq!(main(&path("roleos-hook")), None);
        for name in [MAIN, HOOK] {
            File::create(path(name)).unwrap();
        }
        assert_eq!(hook(&path("roleos-0.2")), path("roleos-hook"));
        assert_eq!(hook(&path("roleos-hook")), path("roleos-hook"));
        assert_eq!(main(&path("roleos-hook")), Some(path("roleos")));
    }

    #[test]
    fn every_program_is_listed_once() {
        let names = |running: &str| -> Vec<String> {
            let all = all(Path::new(running)).into_iter();
            all.map(|path| path.to_string_lossy().into_owned())
                .collect()
        };
        assert_eq!(
            names("/b/roleos-hook"),
            ["/b/roleos-hook", "/b/roleos", "/b/roleos-watch"]
        );
        assert_eq!(
            names("/b/mine"),
            ["/b/mine", "/b/roleos", "/b/roleos-hook", "/b/roleos-watch"]
        );
    }
}
