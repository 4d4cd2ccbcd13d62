//! Git's `pre-push` hook as the second seam. One that is there already is kept, and runs after ours.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::git;

use super::record::read_text;
use super::registration::Program;
use super::words::quoted;
use super::{Change, InstallError, Mode};

/// The hook's name.
const NAME: &str = "pre-push";
/// The name under which another hook is kept.
const KEPT: &str = "pre-push.before-roleos";
/// By this line a hook of ours is known.
const MARK: &str = "# Role OS pre-push hook.";

/// Where the hooks of a repository are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// In this directory, which belongs to the repository.
    Here(PathBuf),
    /// In a directory that other repositories use as well.
    Shared(PathBuf),
    /// The workspace is in no repository.
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

/// The real path of what may not exist yet.
fn real_path(path: &Path) -> PathBuf {
    if let Ok(real) = fs::canonicalize(path) {
        return real;
    }
    match (path.parent(), path.file_name()) {
        (Some(above), Some(name)) if !above.as_os_str().is_empty() => real_path(above).join(name),
        _ => path.to_owned(),
    }
}

/// The hook's text. A person's push never depends on the program being there; an agent's does.
#[must_use]
pub fn script(program: &Program) -> String {
    let roleos = quoted(&program.path.to_string_lossy());
    let root = quoted(&program.root.to_string_lossy());
    format!(
        r#"#!/bin/sh
{MARK} It asks the gate about a push below an agent, and never about your own.
# `roleos init --uninstall` takes it out and puts back what was here before.
refs=$(cat; printf x)
refs=${{refs%x}}
if [ -x {roleos} ]; then
    printf %s "$refs" | {roleos} pre-push --root {root} -- "$@" || exit 1
elif [ -n "$CLAUDECODE$AI_AGENT$CODEX_THREAD_ID$CODEX_SANDBOX$GEMINI_CLI$CURSOR_AGENT$COPILOT_CLI" ]; then
    echo "roleos: {roleos} is missing, so this push cannot be checked; run \`roleos init\` again" >&2
    exit 1
fi
next=$(dirname -- "$0")/{KEPT}
if [ -x "$next" ]; then
    printf %s "$refs" | "$next" "$@" || exit
fi
exit 0
"#
    )
}

/// Whether a text is a hook of ours.
#[must_use]
pub fn is_ours(text: &str) -> bool {
    text.lines().any(|line| line.starts_with(MARK))
}

/// The changes that put the hook in; none when it is there.
///
/// # Errors
/// A file cannot be read.
pub fn install(hooks: &Path, program: &Program) -> Result<Vec<Change>, InstallError> {
    let (path, kept) = (hooks.join(NAME), hooks.join(KEPT));
    let now = read_bytes(&path)?;
    let text = script(program);
    let ours = now
        .as_deref()
        .is_some_and(|bytes| is_ours(&String::from_utf8_lossy(bytes)));
    if now.as_deref() == Some(text.as_bytes()) {
        return Ok(Vec::new());
    }
    let mut changes = Vec::new();
    if let Some(bytes) = now.as_ref().filter(|_| !ours) {
        if kept.exists() {
            return Err(InstallError::Settings {
                path: kept,
                why: "it is there although the hook before it is not ours".to_owned(),
            });
        }
        changes.push(Change {
            path: kept,
            before: None,
            after: Some(bytes.clone()),
            mode: Mode::Like(mode_of(&path)),
            what: "the pre-push hook that was there; it runs after ours".to_owned(),
        });
    }
    changes.push(Change {
        path,
        before: now,
        after: Some(text.into_bytes()),
        mode: Mode::Like(0o755),
        what: "git's pre-push hook".to_owned(),
    });
    Ok(changes)
}

/// The changes that take the hook out and put back what it stood before; none when it is not there.
///
/// # Errors
/// A file cannot be read.
pub fn uninstall(hooks: &Path) -> Result<Vec<Change>, InstallError> {
    let (path, kept) = (hooks.join(NAME), hooks.join(KEPT));
    let now = read_bytes(&path)?;
    let ours = now
        .as_deref()
        .is_some_and(|bytes| is_ours(&String::from_utf8_lossy(bytes)));
    if !ours {
        return Ok(Vec::new());
    }
    let before = read_bytes(&kept)?;
    let mut changes = vec![Change {
        path,
        before: now,
        after: before.clone(),
        mode: Mode::Like(mode_of(&kept)),
        what: "git's pre-push hook".to_owned(),
    }];
    if before.is_some() {
        changes.push(Change {
            path: kept,
            before,
            after: None,
            mode: Mode::Plain,
            what: "the pre-push hook that was there before".to_owned(),
        });
    }
    Ok(changes)
}

/// Whether the hook is there, and is exactly what would be written now.
#[must_use]
pub fn state(hooks: &Path, program: &Program) -> Option<bool> {
    let text = read_text(&hooks.join(NAME)).ok()??;
    is_ours(&text).then(|| text == script(program))
}

/// Hooks need not be text.
fn read_bytes(path: &Path) -> Result<Option<Vec<u8>>, InstallError> {
    if !path.exists() {
        return Ok(None);
    }
    Ok(Some(crate::files::read(path, 16 * 1024 * 1024)?))
}

fn mode_of(path: &Path) -> u32 {
    fs::metadata(path).map_or(0o755, |facts| facts.permissions().mode() & 0o7777)
}
