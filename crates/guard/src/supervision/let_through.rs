//! Acts that the hook has allowed, or that a person was asked about, and that have not begun yet: when they begin, they
//! are not decided a second time, and no grant or approval is used twice.
//!
//! One list serves both checkpoints behind the hook: a program that begins, and git's `pre-push`
//! ([`second_seam`](crate::second_seam)). A note counts for the same act in the same command, once, and not for long.
//! If a person answers no to a question, the command does not run, so its note is never used; the same act in another
//! command needs its own note.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::second_seam::Noted as Push;
use base::clock;
use base::files::{self, FileError, Lock, Privacy};
use base::liveness;
use base::starter;
use base::workspace::Workspace;

const FOLDER: &str = "watch";
const FILE: &str = "let-through.json";
const MAX_FILE: u64 = 1024 * 1024;
const MAX_NOTED: usize = 96;
/// Agents allow a command ten minutes.
const LIFETIME_NS: u64 = 10 * 60 * 1_000_000_000;
/// Most processes between an act and its command.
const MAX_ABOVE: usize = 64;
const MAX_COMMAND_LINE: u64 = 2 * 1024 * 1024;

/// An allowed act that has not happened yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Noted {
    at_ns: u64,
    what: Kept,
}

/// The act, as each checkpoint recognises it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kept {
    /// An act of a command, both as SHA-256 in hexadecimal digits.
    Act { command: String, act: String },
    /// A push, for git's hook.
    Push(Push),
}

fn folder(workspace: &Workspace) -> PathBuf {
    workspace.role_os_dir().join(FOLDER)
}

fn hash(text: &str) -> String {
    hex::encode(base::digest(text.trim().as_bytes()))
}

/// Changes the list under a lock; expired notes are removed.
fn change<T>(
    workspace: &Workspace,
    act: impl FnOnce(&mut Vec<Noted>) -> T,
) -> Result<T, FileError> {
    starter::ensure_home(workspace)?;
    files::make_directory(&folder(workspace), Privacy::Secret)?;
    let path = folder(workspace).join(FILE);
    let _alone = Lock::take(&path.with_extension("lock"))?;
    let bytes = match files::read(&path, MAX_FILE) {
        Ok(bytes) => bytes,
        Err(error) if error.source.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(error),
    };
    // A damaged list allows nothing.
    let before: Vec<Noted> = serde_json::from_slice(&bytes).unwrap_or_default();
    let now = clock::now_ns();
    let mut noted = before.clone();
    noted.retain(|one| now.saturating_sub(one.at_ns) < LIFETIME_NS);
    let result = act(&mut noted);
    if noted != before {
        let bytes = serde_json::to_vec(&noted).unwrap_or_default();
        files::write(&path, &bytes, Privacy::Secret)?;
    }
    Ok(result)
}

/// Records allowed acts, in place of those that are old.
///
/// # Errors
/// They cannot be recorded; each will be decided again.
pub(crate) fn keep(
    workspace: &Workspace,
    all: Vec<Kept>,
    is_old: &dyn Fn(&Kept) -> bool,
) -> Result<(), FileError> {
    if all.is_empty() {
        return Ok(());
    }
    let at_ns = clock::now_ns();
    change(workspace, |noted| {
        noted.retain(|one| !is_old(&one.what));
        noted.extend(all.into_iter().map(|what| Noted { at_ns, what }));
        let surplus = noted.len().saturating_sub(MAX_NOTED);
        noted.drain(..surplus);
    })
}

/// Uses up one note for each of these; returns `false` if one of them has none, and then all stay.
pub(crate) fn take_each(workspace: &Workspace, wanted: &[&dyn Fn(&Kept) -> bool]) -> bool {
    if wanted.is_empty() || !folder(workspace).join(FILE).exists() {
        return false;
    }
    let taken = change(workspace, |noted| {
        let mut left = noted.clone();
        for is_wanted in wanted {
            let at = left.iter().position(|one| is_wanted(&one.what))?;
            left.remove(at);
        }
        *noted = left;
        Some(())
    });
    matches!(taken, Ok(Some(())))
}

/// Records the acts of a command that may run.
///
/// # Errors
/// They cannot be recorded; each will be decided again.
pub(crate) fn note(workspace: &Workspace, command: &str, acts: &[String]) -> Result<(), FileError> {
    let command = hash(command);
    let acts = acts.iter().map(|act| Kept::Act {
        command: command.clone(),
        act: hash(act),
    });
    keep(workspace, acts.collect(), &|_| false)
}

/// Uses up the notes of all these acts, which begin now in a process below one of the commands; returns `false` if one
/// of them has none.
pub(crate) fn take(
    workspace: &Workspace,
    process: u32,
    own: Option<&str>,
    acts: &[String],
) -> bool {
    if acts.is_empty() || !folder(workspace).join(FILE).exists() {
        return false;
    }
    let mut commands: Vec<String> = own.map(hash).into_iter().collect();
    commands.extend(above(process).iter().map(|text| hash(text)));
    let commands = &commands;
    let wanted = acts.iter().map(|wanted| {
        let wanted = hash(wanted);
        move |kept: &Kept| match kept {
            Kept::Act { command, act } => *act == wanted && commands.contains(command),
            Kept::Push(_) => false,
        }
    });
    let wanted: Vec<_> = wanted.collect();
    let wanted: Vec<&dyn Fn(&Kept) -> bool> = wanted.iter().map(|one| one as _).collect();
    take_each(workspace, &wanted)
}

/// Returns the command strings of shells above a process, and the strings that they pass to `eval`.
fn above(process: u32) -> Vec<String> {
    let mut texts = Vec::new();
    for words in command_lines(process) {
        let behind = words.windows(2).find_map(|pair| match pair {
            [option, text] if option.starts_with('-') && option.ends_with('c') => Some(text),
            _ => None,
        });
        if let Some(text) = behind {
            texts.extend(shell::evaluated(text));
            texts.push(text.clone());
        }
    }
    texts
}

/// Returns the words of the nearest process above this one that runs the program of that name.
pub(crate) fn program_above(name: &str) -> Option<Vec<String>> {
    let is_it = |words: &Vec<String>| {
        let program = words.first().map(Path::new);
        program.and_then(Path::file_name) == Some(OsStr::new(name))
    };
    command_lines(std::process::id()).find(is_it)
}

/// Returns the words of a process and of those above it.
fn command_lines(process: u32) -> impl Iterator<Item = Vec<String>> {
    let parent = |id: &u32| match liveness::of_process(*id) {
        Some((_, parent)) if parent > 1 => Some(parent),
        _ => None,
    };
    let ids = std::iter::successors(Some(process), parent).take(MAX_ABOVE);
    ids.map(|id| {
        let line = files::read(format!("/proc/{id}/cmdline").as_ref(), MAX_COMMAND_LINE);
        let line = line.unwrap_or_default();
        let line = line.strip_suffix(&[0]).unwrap_or(&line);
        let words = line.split(|byte| *byte == 0);
        words
            .map(|word| String::from_utf8_lossy(word).into_owned())
            .collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_counts_once_for_the_same_act_in_the_same_command() {
        let folder = tempfile::tempdir().unwrap();
        let workspace = Workspace::at(folder.path()).unwrap();
        let (push, publish) = ("push".to_owned(), "publish".to_owned());
        let own = std::process::id();
        assert!(!take(
            &workspace,
            own,
            Some("make"),
            std::slice::from_ref(&push)
        ));
        note(&workspace, "make", &[push.clone(), publish.clone()]).unwrap();
        assert!(!take(
            &workspace,
            own,
            Some("other"),
            std::slice::from_ref(&push)
        ));
        assert!(!take(&workspace, own, Some("make"), &["else".to_owned()]));
        assert!(take(
            &workspace,
            own,
            Some("make"),
            &[publish, push.clone()]
        ));
        assert!(!take(&workspace, own, Some("make"), &[push]));
    }
}
