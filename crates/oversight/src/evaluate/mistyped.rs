//! Unknown git commands, and those that git may run in their place (`help.autocorrect`).

use actions::lookup::{Lookup as _, absolute};
use actions::{git_command, git_corrections, is_git_builtin};
use protection::git_settings;
use shell::value::has_hole;
use shell::words::names;

use super::Evaluator;
use super::settings::UNREADABLE;

/// Git commands that cannot be an alias or another program.
const OF_GIT: &[&str] = names!(
    "check-attr check-ignore check-mailmap check-ref-format checkout-index cherry column commit-graph commit-tree \
    count-objects credential diagnose diff-files diff-index diff-tree fast-export fast-import fetch-pack fmt-merge-msg \
    for-each-ref for-each-repo fsck gc get-tar-commit-id hash-object hook imap-send index-pack interpret-trailers \
    ls-tree mailinfo mailsplit maintenance merge-base merge-file merge-index merge-tree mktag mktree multi-pack-index \
    name-rev pack-objects pack-redundant pack-refs patch-id prune prune-packed range-diff read-tree receive-pack refs \
    repack replace replay request-pull rerere rev-list show-branch show-index show-ref sparse-checkout stage stripspace \
    symbolic-ref unpack-file unpack-objects update-index update-ref update-server-info upload-archive upload-pack var \
    verify-commit verify-pack verify-tag version web--browse whatchanged write-tree annotate bugreport svn p4 gui citool \
    gitk lfs flow"
);

/// Directories in which git's programs are searched for besides those of `PATH`.
const PROGRAM_FOLDERS: &[&str] = names!(
    "/usr/lib/git-core /usr/libexec/git-core /usr/local/bin /usr/bin /bin /opt/homebrew/bin"
);

/// Returns `true` if a git command may be an alias, another program, or a mistake that git corrects.
pub(crate) fn is_unknown(verb: &str) -> bool {
    !is_git_builtin(verb) && !OF_GIT.contains(&verb) && !has_hole(verb)
}

/// Returns `true` if git corrects commands by a setting, or by one in a file that cannot be read.
fn corrects((key, value): &(String, String)) -> bool {
    const OFF: &[&str] = names!("0 never show false off no");
    match key.as_str() {
        "help.autocorrect" => !OFF.contains(&value.to_ascii_lowercase().as_str()),
        key => key == UNREADABLE,
    }
}

impl Evaluator<'_> {
    /// Returns the git calls that may run in place of one whose command is neither an alias nor a program.
    pub(super) fn git_corrections(
        &self,
        verb: &str,
        rest: &[String],
        own: &[(String, String)],
    ) -> Vec<Vec<String>> {
        if self.is_git_program(verb) {
            return Vec::new();
        }
        let stored = self.stored_settings();
        if !own.iter().chain(&stored).any(corrects) {
            return Vec::new();
        }
        let keys = own.iter().chain(&stored).map(|(key, _)| key);
        let aliases = keys.filter_map(|key| key.strip_prefix("alias."));
        let aliases: Vec<String> = aliases.map(str::to_owned).collect();
        let corrected = git_corrections(verb, &aliases).into_iter();
        corrected
            .map(|verb| [&["git".to_owned(), verb], rest].concat())
            .collect()
    }

    /// Returns the commands that git, started with these arguments, may run in its own process in place of an unknown
    /// one.
    pub(crate) fn git_corrected(&mut self, arguments: &[String]) -> Vec<Vec<String>> {
        let call = git_command(arguments);
        let Some((verb, rest)) = call.rest.split_first() else {
            return Vec::new();
        };
        if call.only_prints || !is_unknown(verb) {
            return Vec::new();
        }
        if let Some(directory) = &call.directory {
            self.state.directory = absolute(&self.state.directory, directory).into();
        }
        if let Some(folder) = &call.git_dir {
            self.state.set("GIT_DIR", folder.clone(), false);
        }
        let own = self.own_settings(&git_settings::made(arguments));
        let wanted = format!("alias.{}", verb.to_ascii_lowercase());
        let is_alias = |(key, _): &(String, String)| *key == wanted;
        if own.iter().any(is_alias) || self.stored_setting(&wanted).is_some() {
            return Vec::new();
        }
        let behind = arguments.len().saturating_sub(call.rest.len());
        let options = arguments.get(..behind).unwrap_or_default();
        let corrected = self.git_corrections(verb, rest, &own).into_iter();
        corrected
            .map(|words| [options, words.get(1..).unwrap_or_default()].concat())
            .collect()
    }

    /// Returns `true` if git finds a program for its command `verb`.
    fn is_git_program(&self, verb: &str) -> bool {
        let path = self.state.get("PATH").unwrap_or_default();
        let path = path.split(':').filter(|folder| !folder.is_empty());
        let own = format!("{}/.local/bin", self.home);
        let folders = path.chain(PROGRAM_FOLDERS.iter().copied()).chain([&*own]);
        folders.filter(|folder| !has_hole(folder)).any(|folder| {
            let path = format!("{folder}/git-{verb}");
            let is_there = self.world.lookup.has(&path);
            is_there && self.world.lookup.may_start(&path)
        })
    }
}
