//! Git's `pre-push` hook as the second checkpoint. An existing hook is kept, and runs after ours.
//!
//! All working trees of a repository share its hooks, so one hook knows every workspace that was set up there.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use base::files::{self, FileError};
use base::git;

use super::registration::Program;
use super::words::quoted;
use super::{Change, InstallError, Mode};
use base::installed::read_text;

/// The hook's name.
const NAME: &str = "pre-push";
/// The name under which an existing hook is kept.
const KEPT: &str = "pre-push.before-roleos";
/// The line that identifies our hook.
const MARK: &str = "# Role OS pre-push hook.";
/// Prefix of the line with the data of our hook.
const KNOWS: &str = "# Workspaces: ";
/// Longest hook that is read; hooks need not be text.
const MAX_HOOK: u64 = 16 * 1024 * 1024;

/// Location of a repository's hooks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// This directory, which belongs to the repository.
    Here(PathBuf),
    /// A directory that other repositories use as well.
    Shared(PathBuf),
    /// The workspace is not in a repository.
    NoRepository,
}

/// Finds the directory of the hooks.
#[must_use]
pub fn place(root: &Path) -> Place {
    let (Ok(hooks), Ok(top)) = (git::hooks_dir(root), git::top_level(root)) else {
        return Place::NoRepository;
    };
    let own = git::exclude_file(root).ok().and_then(|file| {
        let folder = file.parent()?.parent()?;
        fs::canonicalize(folder).ok()
    });
    let real = real_path(&hooks);
    let inside = own.is_some_and(|own| real.starts_with(own)) || real.starts_with(real_path(&top));
    if inside {
        Place::Here(real)
    } else {
        Place::Shared(real)
    }
}

/// Resolves the real path of a file that may not exist yet.
fn real_path(path: &Path) -> PathBuf {
    if let Ok(real) = fs::canonicalize(path) {
        return real;
    }
    match (path.parent(), path.file_name()) {
        (Some(above), Some(name)) if !above.as_os_str().is_empty() => real_path(above).join(name),
        _ => path.to_owned(),
    }
}

/// The program that our hook starts, and its workspaces.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Knows {
    program: PathBuf,
    roots: Vec<PathBuf>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    state: Option<PathBuf>,
}

impl Knows {
    /// Parses the data in the text of our hook; `None` for another hook.
    fn of(text: &str) -> Option<Self> {
        let line = text.lines().find_map(|line| line.strip_prefix(KNOWS))?;
        serde_json::from_str(line).ok()
    }

    /// Adds this workspace, and drops those that no longer exist.
    fn with(mut self, program: &Program) -> Self {
        self.program.clone_from(&program.path);
        self.state.clone_from(&program.state);
        self.roots
            .retain(|root| *root == program.root || root.join(".role-os").is_dir());
        if !self.roots.contains(&program.root) {
            self.roots.push(program.root.clone());
        }
        self
    }

    /// Removes this workspace; `None` if no other is left.
    fn without(mut self, root: &Path) -> Option<Self> {
        self.roots
            .retain(|known| known != root && known.join(".role-os").is_dir());
        (!self.roots.is_empty()).then_some(self)
    }

    /// Returns the hook's text. An agent's push needs the program; a person's push does not.
    fn script(&self) -> String {
        let word = |path: &Path| quoted(&path.to_string_lossy());
        let roleos = word(&self.program);
        let knows = serde_json::to_string(self).unwrap_or_default();
        let root = self.choice();
        let state = self.state.as_deref().map(word);
        let state = state.map_or_else(String::new, |state| format!(" --trust-store {state}"));
        format!(
            r#"#!/bin/sh
{MARK} It asks the gate about a push below an agent, and never about your own.
# `roleos init --uninstall` takes it out and puts back what was here before.
{KNOWS}{knows}
refs=$(cat; printf x)
refs=${{refs%x}}
{root}if [ -x {roleos} ]; then
    printf %s "$refs" | {roleos} pre-push --root "$root"{state} -- "$@" || exit 1
elif [ -n "$CLAUDECODE$AI_AGENT$CODEX_THREAD_ID$CODEX_SANDBOX$GEMINI_CLI$CURSOR_AGENT$COPILOT_CLI" ]; then
    echo "roleos: {roleos} is missing, so this push cannot be checked; run \`roleos init\` again" >&2
    exit 1
fi
here=$(dirname -- "$0")
next=$here/{KEPT}
if [ -x "$next" ] && [ -f "$here/h" ]; then
    # Husky finds the project's hook by the name that it was started by, so that name has to stay.
    printf %s "$refs" | next=$next sh -c '. "$next"' "$0" "$@" || exit
elif [ -x "$next" ]; then
    printf %s "$refs" | "$next" "$@" || exit
fi
exit 0
"#
        )
    }

    /// Returns the lines that select the workspace: the innermost around the push, else the first.
    fn choice(&self) -> String {
        let word = |path: &Path| quoted(&path.to_string_lossy());
        let first = self.roots.first().map(|root| word(root));
        let mut text = format!("root={}\n", first.unwrap_or_default());
        if self.roots.len() < 2 {
            return text;
        }
        let mut inner_first: Vec<&PathBuf> = self.roots.iter().collect();
        inner_first.sort_by_key(|root| std::cmp::Reverse(root.as_os_str().len()));
        text.push_str("case $(pwd -P)/ in\n");
        for root in inner_first {
            let root = word(root);
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{root}/*) root={root} ;;");
        }
        text.push_str("esac\n");
        text
    }
}

/// Returns `true` if a text is our hook.
fn is_ours(text: &str) -> bool {
    text.lines().any(|line| line.starts_with(MARK))
}

/// The entry at a hook's path.
#[derive(Clone, Debug, PartialEq, Eq)]
enum There {
    File(Vec<u8>),
    /// A link to any path, which need not exist.
    Link(PathBuf),
}

impl There {
    fn at(path: &Path) -> Result<Option<Self>, InstallError> {
        match fs::symlink_metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Ok(facts) if facts.is_symlink() => {
                let target = fs::read_link(path)
                    .map_err(|source| FileError::new(files::Action::Read, path, source))?;
                Ok(Some(Self::Link(target)))
            }
            _ => Ok(Some(Self::File(files::read(path, MAX_HOOK)?))),
        }
    }

    fn text(&self) -> Option<&str> {
        match self {
            Self::File(bytes) => std::str::from_utf8(bytes).ok(),
            Self::Link(_) => None,
        }
    }

    fn is_ours(&self) -> bool {
        self.text().is_some_and(is_ours)
    }

    /// Returns its content in a plan: bytes, or the target of a link.
    fn bytes(&self) -> Vec<u8> {
        match self {
            Self::File(bytes) => bytes.clone(),
            Self::Link(target) => target.as_os_str().as_bytes().to_vec(),
        }
    }

    /// Returns its permissions for another path.
    fn mode(&self, path: &Path) -> Mode {
        match self {
            Self::File(_) => Mode::Like(
                fs::metadata(path).map_or(0o755, |facts| facts.permissions().mode() & 0o7777),
            ),
            Self::Link(_) => Mode::Link,
        }
    }
}

/// Returns `true` if the hook is executable; Git skips others.
fn is_executable(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|facts| facts.permissions().mode() & 0o111 != 0)
}

/// Returns the target of a planned link.
pub(super) fn target(bytes: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(bytes))
}

/// Returns the paths of our hook and of a kept one in this directory.
#[must_use]
pub fn files_in(hooks: &Path) -> [PathBuf; 2] {
    [NAME, KEPT].map(|name| hooks.join(name))
}

/// Returns the changes that install the hook; none if it is installed.
///
/// # Errors
/// A file cannot be read.
pub fn install(hooks: &Path, program: &Program) -> Result<Vec<Change>, InstallError> {
    let [path, kept] = files_in(hooks);
    let now = There::at(&path)?;
    let nothing = || Knows {
        program: PathBuf::new(),
        roots: Vec::new(),
        state: None,
    };
    let known = now.as_ref().and_then(There::text).and_then(Knows::of);
    let text = known.unwrap_or_else(nothing).with(program).script();
    if now.as_ref().and_then(There::text) == Some(&text) && is_executable(&path) {
        return Ok(Vec::new());
    }
    let mut changes = Vec::new();
    if let Some(theirs) = now.as_ref().filter(|now| !now.is_ours()) {
        match There::at(&kept)? {
            // The owner restored their hook, as husky does with each installation: it is kept already.
            Some(same) if same == *theirs => {}
            Some(_) => {
                return Err(InstallError::Settings {
                    path: kept,
                    why: format!("it is there, and `{}` is another hook", path.display()),
                });
            }
            None => changes.push(Change {
                path: kept,
                before: None,
                after: Some(theirs.bytes()),
                mode: theirs.mode(&path),
                what: "the pre-push hook that was there; it runs after ours".to_owned(),
            }),
        }
    }
    changes.push(Change {
        path,
        before: now.map(|now| now.bytes()),
        after: Some(text.into_bytes()),
        mode: Mode::Like(0o755),
        what: "git's pre-push hook".to_owned(),
    });
    Ok(changes)
}

/// Returns the changes that remove this workspace from the hook; none if it is not installed. With the last workspace,
/// the kept hook is restored.
///
/// # Errors
/// A file cannot be read.
pub fn uninstall(hooks: &Path, root: &Path) -> Result<Vec<Change>, InstallError> {
    let [path, kept] = files_in(hooks);
    let Some(now) = There::at(&path)?.filter(There::is_ours) else {
        return Ok(Vec::new());
    };
    let mut change = Change {
        path,
        before: Some(now.bytes()),
        after: None,
        mode: Mode::Like(0o755),
        what: "git's pre-push hook".to_owned(),
    };
    let known = now.text().and_then(Knows::of);
    if let Some(others) = known.and_then(|known| known.without(root)) {
        change.after = Some(others.script().into_bytes());
        change.what = "git's pre-push hook; other working trees still use it".to_owned();
        return Ok(vec![change]);
    }
    let Some(theirs) = There::at(&kept)? else {
        return Ok(vec![change]);
    };
    change.after = Some(theirs.bytes());
    change.mode = theirs.mode(&kept);
    let gone = Change {
        path: kept,
        before: Some(theirs.bytes()),
        after: None,
        mode: Mode::Plain,
        what: "the pre-push hook that was there before".to_owned(),
    };
    Ok(vec![change, gone])
}

/// Returns `Some(true)` if the hook is installed and up to date, `None` if it is not installed.
#[must_use]
pub fn state(hooks: &Path, program: &Program) -> Option<bool> {
    let text = read_text(&hooks.join(NAME)).ok()??;
    let current = |known: Knows| {
        let knows = known.program == program.path && known.roots.contains(&program.root);
        knows && text == known.script() && is_executable(&hooks.join(NAME))
    };
    is_ours(&text).then(|| Knows::of(&text).is_some_and(current))
}

/// Returns `true` if other workspaces share the hook with this one.
#[must_use]
pub fn is_shared(hooks: &Path, root: &Path) -> bool {
    let text = read_text(&hooks.join(NAME)).ok().flatten();
    let known = text.as_deref().and_then(Knows::of);
    known.is_some_and(|known| known.without(root).is_some())
}
