//! Files that a git call names, and their use.

use actions::git_command;
use shell::words::{Names, names};

use crate::Touch;
use crate::programs::{Touches, has_flag, is_remote, operands, value};

/// Git verbs whose arguments are revisions, messages or files that are only read.
static GIT_READS: Names = Names::new(names!(
    "add annotate bisect blame branch cat-file check-attr check-ignore check-mailmap cherry cherry-pick commit \
    count-objects describe diff diff-files diff-index diff-tree difftool fetch for-each-ref fsck gc grep hash-object help \
    lfs log ls-files ls-remote ls-tree merge merge-base merge-tree name-rev notes pull push range-diff rebase reflog \
    remote reset rev-list rev-parse revert shortlog show show-branch show-ref stash status switch symbolic-ref tag \
    update-ref var verify-commit verify-tag version whatchanged write-tree"
));

/// Git options that name a file or directory that is written, for any verb.
const GIT_OUTPUTS: &[&str] = names!(
    "--output --output-directory --git-dir --work-tree --separate-git-dir --export-marks --index-output"
);

/// Returns the files that git touches by name. Reading and committing settings is ordinary.
pub(crate) fn touched(arguments: &[String]) -> Touches {
    let call = git_command(arguments);
    let mut found = Touches::new();
    if call.only_prints {
        return found;
    }
    let Some((verb, rest)) = call.rest.split_first() else {
        return found;
    };
    let inside = |path: &str| match &call.directory {
        Some(directory) if !path.starts_with('/') => format!("{directory}/{path}"),
        _ => path.to_owned(),
    };
    for path in value(arguments, GIT_OUTPUTS) {
        found.push((Touch::Write, inside(path)));
        found.push((Touch::Fill, inside(path)));
    }
    let messages = value(
        rest,
        &["-F", "--file", "--template", "--pathspec-from-file"],
    );
    found.extend(messages.iter().map(|path| (Touch::Read, inside(path))));
    if verb == "config" {
        let files = value(rest, &["-f"]).into_iter();
        found.extend(files.map(|path| (Touch::Read, inside(path))));
    }
    let own: &[&str] = match verb.as_str() {
        "archive" | "format-patch" | "bugreport" | "diagnose" | "mailsplit" | "index-pack" => {
            &["-o"]
        }
        "config" if !reads_settings(rest) => &["-f", "--file"],
        _ => &[],
    };
    for path in value(rest, own) {
        found.push((Touch::Write, inside(path)));
        found.push((Touch::Fill, inside(path)));
    }
    let touch = match verb.as_str() {
        "checkout" | "restore" | "apply" | "update-index" => Touch::Write,
        "rm" | "mv" | "clean" => Touch::Tree,
        "clone" | "worktree" | "submodule" | "init" => Touch::Fill,
        "hash-object" | "add" | "diff" | "stash" | "archive" | "blame" | "show" => Touch::Read,
        "config" => return found,
        "grep" => {
            let files = operands(rest).into_iter().skip(1);
            found.extend(files.map(|path| (Touch::Read, inside(path))));
            return found;
        }
        verb if GIT_READS.contains(verb) => {
            let prefixes = value(rest, &["--prefix"]).into_iter();
            found.extend(prefixes.map(|path| (Touch::Fill, inside(path))));
            return found;
        }
        _ => Touch::Given,
    };
    if verb == "clean" && has_flag(rest, "n", &["--dry-run"]) {
        return found;
    }
    for path in operands(rest) {
        if touch == Touch::Fill && (path.contains("://") || is_remote(path)) {
            continue;
        }
        found.push((touch, inside(path)));
        // `update-index --cacheinfo mode,object,path`.
        if let Some((_, path)) = path.rsplit_once(',').filter(|_| verb == "update-index") {
            found.push((touch, inside(path)));
        }
    }
    for path in value(rest, &["--prefix"]) {
        found.push((Touch::Fill, inside(path)));
    }
    if matches!(verb.as_str(), "apply" | "am") {
        let places = value(rest, &["--directory"]).into_iter();
        found.extend(places.map(|path| (Touch::Fill, inside(path))));
    }
    // Files that git ignores here are ours, and the agent's settings with the hook.
    let takes_ignored = match verb.as_str() {
        "clean" => has_flag(rest, "xX", &[]),
        "stash" => has_flag(rest, "a", &["--all"]),
        _ => false,
    };
    let is_path = |word: &&String| !matches!(word.as_str(), "push" | "save");
    if takes_ignored && !operands(rest).iter().any(is_path) {
        found.push((Touch::Tree, inside(".")));
    }
    found
}

/// Returns `true` if `git config` with these arguments only shows settings.
fn reads_settings(rest: &[String]) -> bool {
    const READS: &[&str] = names!("get list get-color get-colorbool");
    let is_read = |word: &String| {
        let word = word.strip_prefix("--").unwrap_or(word);
        word == "-l"
            || READS
                .iter()
                .any(|read| word == *read || word.starts_with("get-"))
    };
    let named = value(rest, &["-f", "--file"]);
    let others = operands(rest)
        .into_iter()
        .filter(|word| !named.contains(&word.as_str()));
    const CHANGES: &[&str] = names!("unset set add edit rename remove replace");
    let is_change = |word: &String| {
        let word = word.trim_start_matches('-');
        word == "e"
            || CHANGES
                .iter()
                .any(|change| word.split('-').next() == Some(change))
    };
    // A key alone shows the setting.
    rest.iter().any(is_read) || (others.count() < 2 && !rest.iter().any(is_change))
}
