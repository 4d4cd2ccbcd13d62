//! Git commands that write files of the working tree, with their sources.

use actions::git_command;

use crate::programs::{has_flag, operands, value};
use crate::trees::{From, Packed, Tree};

/// Returns the trees that a git call writes.
pub(crate) fn written(arguments: &[String]) -> Vec<Tree> {
    let call = git_command(arguments);
    let Some((verb, rest)) = call.rest.split_first().filter(|_| !call.only_prints) else {
        return Vec::new();
    };
    let target = value(arguments, &["--work-tree"])
        .first()
        .map(|place| (*place).to_owned());
    let trees = match verb.as_str() {
        "checkout" | "switch" => switched(rest),
        "restore" => restored(rest),
        "reset" => reset(rest),
        "read-tree" => operands(rest)
            .into_iter()
            .map(|name| revision(name))
            .collect(),
        // The target of `HEAD` determines what the next command restores.
        "symbolic-ref" | "update-ref" => operands(rest)
            .into_iter()
            .skip(1)
            .map(|name| revision(name))
            .collect(),
        "checkout-index" => {
            let members = operands(rest).into_iter().cloned().collect();
            vec![with_members(From::Index, members)]
        }
        "stash" => stashed(rest),
        "merge" | "rebase" => operands(rest)
            .into_iter()
            .map(|name| merged(name))
            .collect(),
        "cherry-pick" | "revert" => replayed(verb, rest),
        // The repository itself can be listed.
        "pull" if operands(rest).first().is_some_and(|from| *from == ".") => operands(rest)
            .into_iter()
            .skip(1)
            .map(|name| merged(name))
            .collect(),
        "bisect" => operands(rest)
            .into_iter()
            .skip(1)
            .map(|name| revision(name))
            .collect(),
        "merge-recursive" | "merge-resolve" | "merge-octopus" | "merge-ort" | "merge-subtree" => {
            operands(rest)
                .into_iter()
                .map(|name| merged(name))
                .collect()
        }
        // The patch can be the output of the same command.
        "apply" | "am" => vec![Tree::new(From::Input, None)],
        _ => Vec::new(),
    };
    let prefix = value(rest, &["--prefix"])
        .first()
        .map(|place| (*place).to_owned());
    trees
        .into_iter()
        .map(|tree| Tree {
            target: prefix.clone().or_else(|| target.clone()),
            ..tree
        })
        .collect()
}

/// Returns the source of `git archive`, with the file that it writes, and those of the patches that git shows.
pub(crate) fn archived(arguments: &[String]) -> Option<Packed> {
    let call = git_command(arguments);
    let (verb, rest) = call.rest.split_first()?;
    let (words, _) = halves(rest);
    let shown = match verb.as_str() {
        "archive" => None,
        "show" | "format-patch" | "log" | "stash" => {
            Some(words.iter().map(|name| picked(name).from))
        }
        "diff" | "diff-tree" | "diff-index" => {
            let ends = words.iter().flat_map(|name| name.split(".."));
            let trees = ends.map(|name| From::Revision(name.trim_matches('.').to_owned()));
            return Some((None, trees.map(|from| (from, String::new())).collect()));
        }
        _ => return None,
    };
    if let Some(shown) = shown {
        let stash = (verb == "stash").then(|| From::Commit("stash".to_owned()));
        return Some((
            None,
            shown
                .chain(stash)
                .map(|from| (from, String::new()))
                .collect(),
        ));
    }
    let file = value(rest, &["-o", "--output"])
        .first()
        .map(|file| (*file).to_owned());
    let name = operands(rest)
        .into_iter()
        .find(|word| Some(*word) != file.as_ref())?;
    Some((file, vec![(From::Revision(name.clone()), String::new())]))
}

fn revision(name: &str) -> Tree {
    Tree::new(From::Revision(name.to_owned()), None)
}

fn merged(name: &str) -> Tree {
    Tree::new(From::Merge(name.to_owned()), None)
}

fn picked(name: &str) -> Tree {
    let from = match name.rsplit_once("..") {
        Some((_, end)) => From::Merge(end.trim_start_matches('.').to_owned()),
        None => From::Commit(name.to_owned()),
    };
    Tree::new(from, None)
}

/// Returns the trees of `git cherry-pick` and `git revert`: commits, ranges of them, and merges by one of their
/// parents.
fn replayed(verb: &str, rest: &[String]) -> Vec<Tree> {
    if has_flag(rest, "", &["--stdin"]) {
        return vec![Tree::new(From::Elsewhere, None)];
    }
    let parents = value(rest, &["-m", "--mainline"]);
    let parent = parents.first();
    let names = operands(rest)
        .into_iter()
        .filter(|name| Some(&name.as_str()) != parent);
    let tree = |name: &String| match (parent, name.split_once("..")) {
        // A revert restores the content of the other parent, or of the commit before the range.
        (Some(parent), _) if verb == "revert" => revision(&format!("{name}^{parent}")),
        (Some(_), _) => revision(name),
        (None, Some((start, _))) if verb == "revert" => {
            revision(if start.is_empty() { "HEAD" } else { start })
        }
        (None, _) if verb == "revert" => Tree::new(From::Reverted(name.clone()), None),
        _ => picked(name),
    };
    names.map(tree).collect()
}

fn with_members(from: From, members: Vec<String>) -> Tree {
    Tree {
        members,
        ..Tree::new(from, None)
    }
}

/// Returns the arguments before and after `--`, without options.
fn halves(rest: &[String]) -> (Vec<String>, Vec<String>) {
    let at = rest
        .iter()
        .position(|word| word == "--")
        .unwrap_or(rest.len());
    let (before, after) = rest.split_at(at);
    let before = operands(before).into_iter().cloned().collect();
    (before, after.iter().skip(1).cloned().collect())
}

/// Returns the trees of `git checkout revision -- paths`, `git checkout paths`, `git switch revision`.
fn switched(rest: &[String]) -> Vec<Tree> {
    let (words, paths) = halves(rest);
    if has_flag(rest, "bBcC", &["--orphan", "--create", "--force-create"]) {
        // One argument names the new branch, which may be glued to its option; any of them can be the revision.
        let forced = has_flag(rest, "f", &["--force", "--discard-changes"]);
        let tree = |name: &String| {
            let from = if forced {
                From::Restored(name.clone())
            } else {
                From::Revision(name.clone())
            };
            with_members(from, Vec::new())
        };
        return words.iter().map(tree).collect();
    }
    let Some((first, more)) = words.split_first() else {
        return if paths.is_empty() {
            Vec::new()
        } else {
            vec![with_members(From::Index, paths)]
        };
    };
    let mut members = more.to_vec();
    members.extend(paths);
    // Without `--` the first argument can be a path.
    let all = std::iter::once(first).chain(&members).cloned().collect();
    let forced = !members.is_empty() || has_flag(rest, "f", &["--force", "--discard-changes"]);
    let from = if forced {
        From::Restored(first.clone())
    } else {
        From::Revision(first.clone())
    };
    vec![with_members(from, members), with_members(From::Index, all)]
}

fn restored(rest: &[String]) -> Vec<Tree> {
    let staged = has_flag(rest, "S", &["--staged"]);
    if staged && !has_flag(rest, "W", &["--worktree"]) {
        return Vec::new();
    }
    let sources = value(rest, &["-s", "--source"]);
    let source = sources.first().copied();
    let paths = operands(rest)
        .into_iter()
        .filter(|word| Some(word.as_str()) != source);
    let from = source.map_or(From::Index, |name| From::Restored(name.to_owned()));
    vec![with_members(from, paths.cloned().collect())]
}

fn reset(rest: &[String]) -> Vec<Tree> {
    let name = operands(rest).first().map_or("HEAD", |word| word.as_str());
    if has_flag(rest, "", &["--hard", "--merge", "--keep"]) {
        return vec![Tree::new(From::Restored(name.to_owned()), None)];
    }
    // The next command restores the index of another branch; a step back on this one is ordinary.
    if name.starts_with("HEAD") || name.starts_with('@') {
        return Vec::new();
    }
    vec![Tree::new(From::Revision(name.to_owned()), None)]
}

fn stashed(rest: &[String]) -> Vec<Tree> {
    let words = operands(rest);
    match words.first().map(|word| word.as_str()) {
        Some("pop" | "apply") => {
            let name = words.get(1).map_or("stash", |word| word.as_str());
            vec![Tree::new(From::Commit(name.to_owned()), None)]
        }
        Some("branch") => {
            let name = words.get(2).map_or("stash", |word| word.as_str());
            vec![Tree::new(From::Commit(name.to_owned()), None)]
        }
        None | Some("push" | "save") => {
            let (_, paths) = halves(rest);
            vec![with_members(From::Restored("HEAD".to_owned()), paths)]
        }
        Some(_) => Vec::new(),
    }
}
