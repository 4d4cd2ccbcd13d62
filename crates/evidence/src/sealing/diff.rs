//! The changes of a session: the working tree against the commit at its start, new files included.
//!
//! The repository is left as it is: our index and objects are removed afterwards. Whole files are kept up to a limit,
//! and the diff is checked to apply.

use std::path::Path;

use super::tree::{Reading, Scratch};
use base::git::{Git, GitError};

/// First bytes of each file in a diff.
const FILE: &[u8] = b"diff --git ";

/// Pathspecs without the folders of Role OS itself, which are not changes of an agent.
const OURS: [&str; 3] = [
    ".",
    ":(exclude,glob)**/.role-os/**",
    ":(exclude,glob)**/.claude/role-os/**",
];

/// The changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diff {
    /// A unified diff that git applies, binary files included.
    pub text: Vec<u8>,
    /// Files that changed.
    pub files: usize,
    /// Files that did not fit.
    pub left_out: usize,
    /// The working tree as git hashes it.
    pub tree: String,
    /// Set if the kept diff applies to the commit, which was tried.
    pub applies: bool,
    /// Number of secrets that were removed afterwards.
    pub redacted: u64,
}

/// Compares the working tree at `top` with `base`, or with the empty tree if the session began before the first commit.
/// At most `limit` bytes are kept.
///
/// # Errors
/// There is no such commit, or a file cannot be read.
pub fn take(top: &Path, base: Option<&str>, limit: usize) -> Result<Diff, GitError> {
    let scratch = Scratch::of_working_tree_aside(top, Reading::Committed)?;
    let git = scratch.git();
    let base = match base {
        Some(commit) => {
            let tree = format!("{commit}^{{tree}}");
            git.line(["rev-parse", "--verify", "--end-of-options", &tree])?
        }
        None => git.line(["hash-object", "-w", "-t", "tree", "/dev/null"])?,
    };
    let tree = scratch.write_tree()?;
    let mut names = vec!["diff-tree", "-r", "-z", "--no-renames", "--name-only"];
    names.extend([&base, &tree, "--"]);
    names.extend(OURS);
    let listed = git.run(names, &[])?;
    let files = listed.iter().filter(|byte| **byte == 0).count();
    let printed = git.patch(&base, &tree, &OURS, limit)?;
    let mut text = printed.bytes;
    if printed.truncated {
        let end = last_file(&text);
        text.truncate(end);
    }
    let kept = files_in(&text);
    let applies = applies(git, &base, &text);
    let redacted = redact(&mut text);
    Ok(Diff {
        text,
        files,
        tree,
        left_out: files.saturating_sub(kept),
        applies,
        redacted,
    })
}

/// Returns `true` if the diff applies to the tree, tried in the scratch's index, which is not used again.
fn applies(git: &Git, base: &str, text: &[u8]) -> bool {
    if text.is_empty() {
        return true;
    }
    git.run(["read-tree", base], &[]).is_ok()
        && git
            .run(["apply", "--cached", "--whitespace=nowarn", "-"], text)
            .is_ok()
}

/// Returns the offset of the last file, which was cut off.
fn last_file(text: &[u8]) -> usize {
    let mut end = 0;
    let mut at = 0;
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        if line.starts_with(FILE) {
            end = at;
        }
        at += line.len();
    }
    end
}

fn files_in(text: &[u8]) -> usize {
    let lines = text.split(|byte| *byte == b'\n');
    lines.filter(|line| line.starts_with(FILE)).count()
}

/// Removes secrets from the diff if it is text.
fn redact(text: &mut Vec<u8>) -> u64 {
    let mut count = 0;
    let mut clean = Vec::with_capacity(text.len());
    for chunk in text.utf8_chunks() {
        let redacted = redact::text(chunk.valid());
        count += redacted.count;
        clean.extend_from_slice(redacted.text.as_bytes());
        clean.extend_from_slice(chunk.invalid());
    }
    *text = clean;
    count
}

#[cfg(test)]
mod tests;
