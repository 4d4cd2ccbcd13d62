//! Whether a test run may have loaded code that this session put beside its diff.
//!
//! Files that git ignores, and those outside of the repository, are not in the diff. Builds, installers and test runs
//! write there all the time, and what they write comes from the project. One rule tells the rest: such a file was put
//! there by the session if a call named it as one that it writes, or if it changed while a call ran code of the
//! session's own. When a file changed is taken from its `ctime`, which no program of a user can set.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use base::environment;
use base::git::{self, Git};
use base::repository::Location;
use evidence::sealing::test_commands::effects::{Effects, Input, Role};
use evidence::sealing::test_commands::loaders::{is_code, loads_code};
use evidence::sealing::test_commands::setup::is_setup;
use oversight::lookup::absolute;

/// Entries of folders that are looked at; where there are more, they cannot all be known.
const MAX_ENTRIES: usize = 400_000;

/// Longest file of settings that is compared.
const MAX_SETTINGS: u64 = 1024 * 1024;

/// Settings of the user by which runners load code, below the home.
const OF_HOME: [&str; 6] = [
    ".cargo/config.toml",
    ".cargo/config",
    ".npmrc",
    ".rspec",
    ".gradle/init.gradle",
    ".config/go/env",
];

/// What the session has done so far, as far as it can make a runner load code.
#[derive(Clone, Debug, Default)]
pub(super) struct Before {
    /// Variables that were exported in a shell of the session.
    pub(super) exported: Vec<(String, String)>,
    /// The calls before this one, oldest first.
    pub(super) calls: Vec<PastCall>,
    /// The start of the session, in nanoseconds since 1970.
    pub(super) began_ns: u64,
    /// The commit from which it started.
    pub(super) base: Option<String>,
}

/// A call that was let through.
#[derive(Clone, Debug, Default)]
pub(super) struct PastCall {
    /// The directory in which it began.
    pub(super) cwd: String,
    /// When it may have begun, in nanoseconds since 1970.
    pub(super) from_ns: u64,
    /// When it had ended.
    pub(super) until_ns: u64,
    /// It ran a command.
    pub(super) is_shell: bool,
    pub(super) effects: Effects,
}

/// What the session may have put beside its diff, in the repository around one folder.
#[derive(Debug)]
pub(super) struct OwnCode<'b> {
    pub(super) top: PathBuf,
    pub(super) before: &'b Before,
    /// Paths that calls named as those that they write.
    named: Vec<PathBuf>,
    /// When code of the session's own ran.
    times: Vec<(u64, u64)>,
}

/// Where a path leads.
#[derive(Debug)]
pub(super) enum Place {
    /// To something that the diff would show, or to nothing.
    Inside,
    /// Out of the repository.
    Outside(PathBuf),
    /// To something in it that the diff does not show.
    Beside(PathBuf),
}

impl<'b> OwnCode<'b> {
    pub(super) fn around(folder: &Path, before: &'b Before) -> Self {
        let top =
            Location::around(folder).map_or_else(|| folder.to_owned(), |location| location.top);
        let mut own = Self {
            top,
            before,
            named: Vec::new(),
            times: Vec::new(),
        };
        let mut has_undone = false;
        for call in &before.calls {
            let effects = &call.effects;
            for path in &effects.written {
                let path = PathBuf::from(absolute(&call.cwd, path));
                let path = fs::canonicalize(&path).unwrap_or(path);
                if !own.named.contains(&path) {
                    has_undone |= own.is_undone(&path);
                    own.named.push(path);
                }
            }
            let is_own = |input: &Input| own.is_own(input, call);
            let is_own = effects.has_code
                || effects.inputs.iter().any(is_own)
                || effects.builds && has_undone;
            // What only writes, writes only what is the session's.
            let only_writes = !effects.written.is_empty() && call.is_shell && !effects.builds;
            if is_own || only_writes {
                let until_ns = if effects.stays {
                    u64::MAX
                } else {
                    call.until_ns
                };
                own.times.push((call.from_ns, until_ns));
            }
        }
        own
    }

    /// Returns `true` if a call ran a file that is not what the diff or the project shows.
    fn is_own(&self, input: &Input, call: &PastCall) -> bool {
        if input.path.contains('\u{1}') {
            return false;
        }
        let path = PathBuf::from(absolute(&call.cwd, &input.path));
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        // A program may be named without its ending, a module of Python by dots.
        let module = path.with_file_name(name.replace('.', "/"));
        let others = [&path, &module].map(|path| path.with_added_extension("py"));
        let script = path.with_added_extension("js");
        let all = std::iter::once(path.clone()).chain(others).chain([script]);
        let all: Vec<PathBuf> = all.collect();
        let mut there = all.iter().filter(|path| path.exists()).peekable();
        if there.peek().is_none() {
            // It was there when the call ran, and is not any more.
            let may_have_been = is_code(&name) || input.path.contains("./");
            return all.iter().any(|path| self.named.contains(path))
                || input.role != Role::Built && may_have_been;
        }
        let began_ns = self.before.began_ns;
        let mut fresh = there.filter(|path| path.is_dir() || is_fresh(path, began_ns));
        fresh.any(|path| {
            if path.is_dir() && path.starts_with(&self.top) {
                return false;
            }
            match self.place(path) {
                Place::Inside => match input.role {
                    Role::Built => false,
                    Role::Script => true,
                    Role::Other => is_fresh(path, call.until_ns),
                },
                Place::Outside(real) => holds_fresh(&real, began_ns),
                Place::Beside(real) => self.holds(&real).is_some(),
            }
        })
    }

    /// Returns `true` if a file that says what is built was written and is not in the diff any more.
    fn is_undone(&self, path: &Path) -> bool {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let Some(inside) = path
            .strip_prefix(&self.top)
            .ok()
            .filter(|_| is_setup(&name))
        else {
            return false;
        };
        let base = self.before.base.as_deref().unwrap_or("HEAD");
        let old = git::file_at(&self.top, base, &inside.to_string_lossy()).ok();
        base::files::read(path, MAX_SETTINGS).ok() == old
    }

    /// Returns where a path leads.
    pub(super) fn place(&self, path: &Path) -> Place {
        let Ok(real) = fs::canonicalize(path) else {
            let is_outside = path.is_absolute() && !path.starts_with(&self.top);
            return match is_outside {
                true => Place::Outside(path.to_owned()),
                false => Place::Inside,
            };
        };
        let Ok(inside) = real.strip_prefix(&self.top) else {
            return Place::Outside(real);
        };
        if inside.as_os_str().is_empty() {
            return Place::Inside;
        }
        let is_of_git = inside.iter().any(|part| part == ".git");
        let folder = match real.is_dir() {
            true => &real,
            false => real.parent().unwrap_or(&real),
        };
        let is_nested = Location::around(folder).is_some_and(|other| other.top != self.top);
        match is_of_git || is_nested || git::is_ignored(&self.top, &real) {
            true => Place::Beside(real),
            false => Place::Inside,
        }
    }

    /// Returns code at a path, or in a folder, that the session put there.
    pub(super) fn holds(&self, path: &Path) -> Option<PathBuf> {
        let own = self.collect(vec![path.to_owned()], &|_, is_own| is_own);
        own.into_iter().next()
    }

    /// Returns why a run may have loaded such code, if it may. `variables` are those of its own command.
    pub(super) fn doubt(&self, variables: &[(String, String)], folder: &Path) -> Option<String> {
        let exported = self.before.exported.iter();
        let mut loading = exported.filter(|(name, value)| loads_code(name, value));
        if let Some((name, _)) = loading.next() {
            return Some(format!(
                "the session exported `{name}`, by which the runner loads code"
            ));
        }
        let mut all = variables.iter().chain(&self.before.exported);
        let named = all.find_map(|(name, value)| Some((name, self.named_by(value, folder)?)));
        if let Some((name, path)) = named {
            let path = path.display();
            return Some(format!(
                "`{name}` names `{path}`, which was written during the session"
            ));
        }
        let home = environment::home().unwrap_or_default();
        let mut settings = OF_HOME.iter().map(|file| home.join(file));
        let began_ns = self.before.began_ns;
        let setting = settings.find(|path| path.is_file() && is_fresh(path, began_ns));
        let found = setting.or_else(|| self.found().into_iter().next());
        found.map(|path| {
            let path = path.display();
            format!("`{path}` was written by the session, is not in the diff, and may be loaded; build or install it again in a call of its own")
        })
    }

    /// Returns a path in the value of a variable at which the session put code beside the diff.
    fn named_by(&self, value: &str, folder: &Path) -> Option<PathBuf> {
        let parts = value.split([':', ' ', '=', ',']);
        let mut paths = parts.filter(|part| !part.is_empty() && !part.starts_with('-'));
        paths.find_map(|part| {
            let path = folder.join(part.trim_start_matches("\u{1}/"));
            match self.place(&path) {
                Place::Inside => None,
                Place::Outside(real) => holds_fresh(&real, self.before.began_ns).then_some(real),
                Place::Beside(real) => self.holds(&real),
            }
        })
    }

    /// Returns code that the session put beside its diff.
    fn found(&self) -> Vec<PathBuf> {
        match (self.named.is_empty(), self.times.is_empty()) {
            (true, true) => Vec::new(),
            // Nothing else can be the session's.
            (false, true) => {
                let is_beside = |path: &&PathBuf| !matches!(self.place(path), Place::Inside);
                let in_repository = |path: &&PathBuf| path.starts_with(&self.top);
                let named = self.named.iter().filter(|path| path.exists());
                let named = named.filter(in_repository).filter(is_beside);
                self.collect(named.cloned().collect(), &|_, is_own| is_own)
            }
            _ => self.collect(self.places(), &|_, is_own| is_own),
        }
    }

    /// Removes compiled modules of Python that changed during the session, if a call may have forged one: they are made
    /// again from their sources.
    pub(super) fn clear_caches(&self) {
        let is_other = |input: &Input| input.role != Role::Built;
        let may_write = |call: &PastCall| {
            let effects = &call.effects;
            effects.has_code || !effects.written.is_empty() || effects.inputs.iter().any(is_other)
        };
        if !self.before.calls.iter().any(may_write) {
            return;
        }
        let is_compiled = |name: &OsStr| name.as_encoded_bytes().ends_with(b".pyc");
        let wanted = |path: &Path, _: bool| is_cached_module(path);
        let fresh = self.collect_named(self.places(), &is_compiled, &wanted);
        for path in fresh {
            // One that stays is noticed after the run.
            fs::remove_file(path).ok();
        }
    }

    /// The places beside the diff: what git ignores, repositories of their own, and the user's modules of Python.
    fn places(&self) -> Vec<PathBuf> {
        let listed = |more: &[&str]| {
            let arguments = ["ls-files", "-z", "--others", "--exclude-standard"];
            let git = Git::at(&self.top).ok();
            let listed = git.and_then(|git| git.run([&arguments, more].concat(), &[]).ok());
            let listed = String::from_utf8_lossy(&listed.unwrap_or_default()).into_owned();
            let entries = listed.split('\0').filter(|entry| !entry.is_empty());
            entries.map(str::to_owned).collect::<Vec<String>>()
        };
        let ignored = listed(&["--ignored", "--directory"]);
        let nested = listed(&[]).into_iter().filter(|entry| entry.ends_with('/'));
        let in_repository = ignored
            .into_iter()
            .chain(nested)
            .map(|entry| self.top.join(entry));
        let modules = environment::home().map(|home| home.join(".local/lib"));
        in_repository.chain(modules).collect()
    }

    /// Returns the files at or below some places that a runner may load, that changed during the session and that are
    /// wanted, by their path and by whether the session put them there. Where there are too many, the rest is one of them.
    fn collect(
        &self,
        places: Vec<PathBuf>,
        is_wanted: &dyn Fn(&Path, bool) -> bool,
    ) -> Vec<PathBuf> {
        self.collect_named(places, &|_| true, is_wanted)
    }

    /// The same of files in folders whose names fit; others are not looked at.
    fn collect_named(
        &self,
        places: Vec<PathBuf>,
        fits: &dyn Fn(&OsStr) -> bool,
        is_wanted: &dyn Fn(&Path, bool) -> bool,
    ) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut left = MAX_ENTRIES;
        let places = places.into_iter().map(|path| Waiting {
            path,
            is_place: true,
            is_brought: false,
        });
        let mut waiting: Vec<Waiting> = places.collect();
        while let Some(next) = waiting.pop() {
            let path = next.path;
            let Ok(facts) = fs::symlink_metadata(&path) else {
                continue;
            };
            left = match left.checked_sub(1) {
                Some(rest) => rest,
                None => {
                    found.extend(is_wanted(&path, true).then_some(path));
                    break;
                }
            };
            let at = changed_at(&facts);
            let mut times = self.times.iter();
            let is_during = times.any(|(from, until)| (*from..=*until).contains(&at));
            if facts.is_dir() {
                // What is new in a folder changes both of its times, its own move only one.
                let is_moved =
                    facts.mtime() != facts.ctime() || facts.mtime_nsec() != facts.ctime_nsec();
                let is_brought = next.is_brought || is_during && (is_moved || !next.is_place);
                let is_ours = path.file_name().is_some_and(|name| name == ".role-os");
                let entries = Some(&path).filter(|_| !is_ours).map(fs::read_dir);
                let entries = entries.into_iter().flatten().flatten().flatten();
                let is_folder =
                    |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
                let entries = entries.filter(|entry| is_folder(entry) || fits(&entry.file_name()));
                waiting.extend(entries.map(|entry| Waiting {
                    path: entry.path(),
                    is_place: false,
                    is_brought,
                }));
                continue;
            }
            let is_named = || self.named.iter().any(|named| path.starts_with(named));
            let is_own = is_during || next.is_brought || is_named();
            let is_fresh = at > self.before.began_ns;
            if is_fresh && may_be_loaded(&path, &facts) && is_wanted(&path, is_own) {
                found.push(path);
            }
        }
        found
    }
}

/// A path that is looked at next.
struct Waiting {
    path: PathBuf,
    /// It is not below another one.
    is_place: bool,
    /// Code of the session's own moved or filled a folder above it.
    is_brought: bool,
}

/// Returns `true` if a file, or code in a folder, changed during the session.
pub(super) fn holds_fresh(path: &Path, began_ns: u64) -> bool {
    if path.is_file() {
        return is_fresh(path, began_ns);
    }
    let files = walkdir::WalkDir::new(path)
        .max_depth(4)
        .into_iter()
        .flatten();
    let mut files = files.take(20_000);
    files.any(|entry| {
        let facts = entry.metadata();
        facts.is_ok_and(|facts| !facts.is_dir() && may_be_loaded(entry.path(), &facts))
            && is_fresh(entry.path(), began_ns)
    })
}

/// Returns `true` if a runner may load or start a file, or read its settings from it.
fn may_be_loaded(path: &Path, facts: &fs::Metadata) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    is_code(&name) || facts.is_symlink() || facts.permissions().mode() & 0o111 != 0
}

/// Returns `true` for `__pycache__/a.cpython-313.pyc` beside `a.py`.
fn is_cached_module(path: &Path) -> bool {
    let is_compiled = path.extension().is_some_and(|ending| ending == "pyc");
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let stem = name.split('.').next().unwrap_or_default();
    let folder = path
        .parent()
        .filter(|folder| folder.ends_with("__pycache__"));
    let source = folder
        .and_then(Path::parent)
        .map(|above| above.join(format!("{stem}.py")));
    is_compiled && source.is_some_and(|source| source.is_file())
}

/// Returns `true` if a file, or the link to it, changed since the session began.
pub(super) fn is_fresh(path: &Path, began_ns: u64) -> bool {
    changed_ns(path).is_some_and(|at| at > began_ns)
}

/// Returns when a file, or the link to it, last changed, in nanoseconds since 1970.
fn changed_ns(path: &Path) -> Option<u64> {
    let both = [fs::symlink_metadata(path), fs::metadata(path)];
    both.iter().flatten().map(changed_at).max()
}

fn changed_at(facts: &fs::Metadata) -> u64 {
    let seconds = u64::try_from(facts.ctime()).unwrap_or(0);
    let nanoseconds = u64::try_from(facts.ctime_nsec()).unwrap_or(0);
    seconds
        .saturating_mul(1_000_000_000)
        .saturating_add(nanoseconds)
}
