//! Detects test runs that may have loaded code which this session put beside its diff.
//!
//! Files that git ignores, and those outside of the repository, are not in the diff. Such a file is the session's if it
//! changed during a call that is not known to only read, or to build, install or test the content of the diff and the
//! project. The time of a change is the file's `ctime`, which no program of a user can set.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use base::environment;
use base::git::{self, Git};
use base::repository::Location;
use evidence::journal::record::Building;
use evidence::sealing::test_commands::effects::{Effects, Input, Role};
use evidence::sealing::test_commands::loaders::{is_code, loads_code};
use oversight::lookup::absolute;

use super::build_files::Changed;
use super::real_program::OF_PROJECT;

/// Entries of folders that are read; beyond that, they cannot all be known.
const MAX_ENTRIES: usize = 400_000;

/// Settings of the user by which runners load code, below the home directory.
const OF_HOME: [&str; 6] = [
    ".cargo/config.toml",
    ".cargo/config",
    ".npmrc",
    ".rspec",
    ".gradle/init.gradle",
    ".config/go/env",
];

/// Earlier calls of the session that could make a runner load code.
#[derive(Clone, Debug, Default)]
pub(super) struct Before {
    /// Variables that were exported in a shell of the session.
    pub(super) exported: Vec<(String, String)>,
    /// The calls up to this one, oldest first.
    pub(super) calls: Vec<PastCall>,
    /// The start of the session, in nanoseconds since 1970.
    pub(super) began_ns: u64,
    /// The commit from which it started.
    pub(super) base: Option<String>,
}

/// An allowed call.
#[derive(Clone, Debug, Default)]
pub(super) struct PastCall {
    /// The directory in which it began.
    pub(super) cwd: String,
    /// Earliest start, in nanoseconds since 1970.
    pub(super) from_ns: u64,
    /// End of the call.
    pub(super) until_ns: u64,
    /// Set if it executed a command.
    pub(super) is_shell: bool,
    /// Set for the call of the event itself.
    pub(super) is_this: bool,
    pub(super) effects: Effects,
    /// The files that it could read, if it is a build.
    pub(super) building: Option<Building>,
}

/// Code that the session may have put beside its diff, in the repository around one folder.
#[derive(Debug)]
pub(super) struct OwnCode<'b> {
    pub(super) top: PathBuf,
    pub(super) before: &'b Before,
    /// Times of calls whose writes are the session's.
    times: Vec<Time>,
    /// The files in the diff.
    pub(super) changed: Changed,
}

/// A time in which changes are the session's.
#[derive(Debug)]
struct Time {
    from_ns: u64,
    until_ns: u64,
    /// Limits the changes to this path and below, if known.
    below: Option<PathBuf>,
}

impl Time {
    fn covers(&self, at: u64, path: &Path) -> bool {
        let is_below = |place: &PathBuf| path.starts_with(place);
        (self.from_ns..=self.until_ns).contains(&at) && self.below.as_ref().is_none_or(is_below)
    }
}

/// Target of a path.
#[derive(Debug)]
pub(super) enum Place {
    /// Something that the diff would show, or nothing.
    Inside,
    /// Outside the repository.
    Outside(PathBuf),
    /// Something inside that the diff does not show.
    Beside(PathBuf),
}

impl<'b> OwnCode<'b> {
    pub(super) fn around(folder: &Path, before: &'b Before) -> Self {
        let top =
            Location::around(folder).map_or_else(|| folder.to_owned(), |location| location.top);
        let base = before.base.as_deref().unwrap_or("HEAD");
        let mut own = Self {
            changed: Changed::new(&top, base),
            top,
            before,
            times: Vec::new(),
        };
        for call in &before.calls {
            own.add(call);
        }
        own
    }

    fn add(&mut self, call: &PastCall) {
        let effects = &call.effects;
        let until_ns = match effects.stays {
            true => u64::MAX,
            false => call.until_ns,
        };
        let time = |below| Time {
            from_ns: call.from_ns,
            until_ns,
            below,
        };
        let only_looks = !effects.builds && effects.written.is_empty();
        if effects.has_other
            || call.is_shell && !only_looks && !effects.builds
            || effects.builds && !self.is_of_project(call)
        {
            return self.times.push(time(None));
        }
        for path in &effects.written {
            let path = PathBuf::from(absolute(&call.cwd, path));
            let path = fs::canonicalize(&path).unwrap_or(path);
            self.times.push(time(Some(path)));
        }
    }

    /// Returns `true` if a build ran only content of the diff and the project.
    fn is_of_project(&mut self, call: &PastCall) -> bool {
        let building = call.building.as_ref();
        let building = building.filter(|building| building.own.is_none());
        building.is_some_and(|building| self.changed.hold(&building.files))
    }

    /// Returns the commit from which the session started.
    pub(super) fn base(&self) -> &str {
        self.before.base.as_deref().unwrap_or("HEAD")
    }

    /// Returns an input of a build in `cwd` that neither the diff nor the project contains.
    pub(super) fn input_of(&self, effects: &Effects, cwd: &str) -> Option<PathBuf> {
        let mut inputs = effects.inputs.iter();
        let own = inputs.find(|input| self.is_own(input, cwd))?;
        Some(PathBuf::from(absolute(cwd, &own.path)))
    }

    fn is_own(&self, input: &Input, cwd: &str) -> bool {
        if input.path.contains('\u{1}') {
            return input.role != Role::Built;
        }
        let path = PathBuf::from(absolute(cwd, &input.path));
        let is_changed = || match self.place(&path) {
            Place::Inside => input.role == Role::Script && is_fresh(&path, self.before.began_ns),
            Place::Outside(real) | Place::Beside(real) => self.is_written(&real),
        };
        let mut above = Path::new(cwd).ancestors();
        match input.role {
            Role::Built => path.exists() && is_changed(),
            // An installer in the call may create a program there.
            Role::Script if !path.exists() => {
                !path.parent().is_some_and(|bin| bin.ends_with("bin"))
            }
            Role::Script => is_changed() || !self.is_usual(input, cwd),
            Role::Tool => {
                let has = |folder: &Path| {
                    let mut bins = OF_PROJECT.iter();
                    bins.any(|bin| folder.join(bin).join(&input.path).exists())
                };
                !above.any(has) || !self.is_usual(input, cwd)
            }
        }
    }

    /// Returns `true` if the session wrote a file, or code in a folder.
    fn is_written(&self, path: &Path) -> bool {
        let at = changed_ns(path).filter(|_| path.is_file());
        at.is_some_and(|at| self.times.iter().any(|time| time.covers(at, path)))
            || self.holds(path).is_some()
    }

    /// Returns `true` if all arguments of a program of the project are options and plain words, or from the project
    /// itself.
    fn is_usual(&self, input: &Input, cwd: &str) -> bool {
        let is_letter = |one: char| one.is_ascii_alphanumeric() || "_:@-".contains(one);
        let is_plain = |word: &String| {
            let path = Path::new(cwd).join(word);
            word.chars().all(is_letter) && matches!(self.place(&path), Place::Inside)
        };
        let name = input.path.rsplit('/').next().unwrap_or_default();
        input.arguments.iter().all(is_plain)
            || self.is_held(&[format!("{name} {}", input.arguments.join(" "))])
    }

    /// Returns `true` if the commit from which the session started contains one of these strings.
    pub(super) fn is_held(&self, texts: &[String]) -> bool {
        let Ok(git) = Git::at(&self.top) else {
            return false;
        };
        let mut search = vec!["grep", "-q", "-w", "-F"];
        search.extend(texts.iter().flat_map(|text| ["-e", text]));
        search.push(self.base());
        self.before.base.is_some() && git.run(search, &[]).is_ok()
    }

    /// Returns the target of a path.
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
        setting.or_else(|| self.found()).map(|path| {
            let path = path.display();
            format!("`{path}` was written by the session, is not in the diff, and may be loaded; remove it, then build or install it again in a call of its own")
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
    pub(super) fn found(&self) -> Option<PathBuf> {
        if self.times.is_empty() {
            return None;
        }
        match self.places() {
            Some(places) => self.collect(places, &|_, is_own| is_own).into_iter().next(),
            None => Some(self.top.clone()),
        }
    }

    /// Removes compiled Python modules that changed during the session, if a call may have forged one: Python compiles
    /// them again from their sources.
    pub(super) fn clear_caches(&self) {
        if self.times.is_empty() {
            return;
        }
        let is_compiled = |name: &OsStr| name.as_encoded_bytes().ends_with(b".pyc");
        let wanted = |path: &Path, _: bool| is_cached_module(path);
        let places = self.places().unwrap_or_default();
        for path in self.collect_named(places, &is_compiled, &wanted) {
            // One that stays is noticed after the run.
            fs::remove_file(path).ok();
        }
    }

    /// Lists the places beside the diff: ignored files, nested repositories, links in the diff, and files that runners
    /// load from other folders. `None` if git fails.
    fn places(&self) -> Option<Vec<PathBuf>> {
        let listed = |more: &[&str]| {
            let arguments = ["ls-files", "-z", "--others", "--exclude-standard"];
            let listed = Git::at(&self.top)
                .ok()?
                .run([&arguments, more].concat(), &[])
                .ok()?;
            let listed = String::from_utf8_lossy(&listed).into_owned();
            let entries = listed.split('\0').filter(|entry| !entry.is_empty());
            Some(
                entries
                    .map(|entry| self.top.join(entry))
                    .collect::<Vec<PathBuf>>(),
            )
        };
        let mut places = listed(&["--ignored", "--directory"])?;
        let is_other = |path: &PathBuf| path.is_symlink() || path.is_dir();
        places.extend(listed(&[])?.into_iter().filter(is_other));
        let above = self.top.ancestors().skip(1);
        places.extend(above.map(|folder| folder.join("node_modules")));
        let home = environment::home().unwrap_or_default();
        places
            .extend([".local/lib", ".node_modules", ".node_libraries"].map(|name| home.join(name)));
        let path = environment::absolute_search_path().unwrap_or_default();
        for bin in std::env::split_paths(&path) {
            let lib = bin
                .parent()
                .and_then(|prefix| fs::canonicalize(prefix.join("lib")).ok());
            let entries = lib.into_iter().flat_map(fs::read_dir).flatten().flatten();
            let is_loaded = |entry: &fs::DirEntry| {
                let name = entry.file_name();
                name.as_encoded_bytes().starts_with(b"python3") || name == "node"
            };
            places.extend(entries.filter(is_loaded).map(|entry| entry.path()));
        }
        places.sort();
        places.dedup();
        Some(places)
    }

    /// Returns the files at or below these places that a runner may load, that changed during the session, and for
    /// which `is_wanted` returns `true`, given the path and `true` if the session put it there. If there are too many,
    /// the rest counts as one of them.
    fn collect(
        &self,
        places: Vec<PathBuf>,
        is_wanted: &dyn Fn(&Path, bool) -> bool,
    ) -> Vec<PathBuf> {
        self.collect_named(places, &|_| true, is_wanted)
    }

    /// Does the same for files in folders whose names match; others are not read.
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
            let is_during = self.times.iter().any(|time| time.covers(at, &path));
            if facts.is_dir() {
                // A new entry in a folder changes both of its times; a move of the folder itself, only one.
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
            let is_own = is_during || next.is_brought;
            let is_fresh = at > self.before.began_ns;
            if is_fresh && may_be_loaded(&path, &facts) && is_wanted(&path, is_own) {
                found.push(path);
            }
        }
        found
    }
}

/// A path that is read next.
struct Waiting {
    path: PathBuf,
    /// Set if it is not below another one.
    is_place: bool,
    /// Set if code of the session moved or filled a folder above it.
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

/// Returns `true` for `__pycache__/a.cpython-313.pyc`, which is loaded only with its source.
fn is_cached_module(path: &Path) -> bool {
    let is_compiled = path.extension().is_some_and(|ending| ending == "pyc");
    is_compiled
        && path
            .parent()
            .is_some_and(|folder| folder.ends_with("__pycache__"))
}

/// Returns `true` if a file, or the link to it, changed since the session began.
pub(super) fn is_fresh(path: &Path, began_ns: u64) -> bool {
    changed_ns(path).is_some_and(|at| at > began_ns)
}

/// Returns the time when a file, or the link to it, last changed, in nanoseconds since 1970.
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
