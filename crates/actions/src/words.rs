//! Parsing of arguments: the global options of git, a dry push, operands.

use shell::words::names;

/// Parsed call of git.
#[derive(Clone, Debug, Default)]
pub struct GitCall<'w> {
    /// Subcommand and its arguments.
    pub rest: &'w [String],
    /// Settings of `-c key=value`; a value that starts with U+0001 is the name of a variable.
    pub settings: Vec<(String, String)>,
    /// Value of `-C`, joined.
    pub directory: Option<String>,
    /// Value of `--git-dir`.
    pub git_dir: Option<String>,
    /// Set for `--help`, `--version`, `--exec-path`, which do nothing else.
    pub only_prints: bool,
}

/// Parses the global options of git.
pub fn git_command(arguments: &[String]) -> GitCall<'_> {
    let mut call = GitCall::default();
    let mut words = arguments.iter();
    loop {
        let before = words.as_slice();
        let Some(word) = words.next() else {
            return call;
        };
        match word.as_str() {
            "-c" => add_setting(&mut call, words.next().map_or("", String::as_str), false),
            "--config-env" => add_setting(&mut call, words.next().map_or("", String::as_str), true),
            "-C" => {
                let next = words.next().map_or("", String::as_str);
                call.directory = Some(match call.directory.take() {
                    Some(before) if !next.starts_with('/') => format!("{before}/{next}"),
                    _ => next.to_owned(),
                });
            }
            "--git-dir" => call.git_dir = words.next().cloned(),
            "--work-tree" | "--namespace" | "--super-prefix" | "--attr-source"
            | "--shallow-file" => {
                words.next();
            }
            "--help" | "-h" | "--version" | "-v" | "--exec-path" | "--html-path" | "--man-path"
            | "--info-path" | "help" => {
                call.only_prints = true;
            }
            option if option.starts_with("--config-env=") => {
                add_setting(&mut call, option.trim_start_matches("--config-env="), true);
            }
            option if option.starts_with("--git-dir=") => {
                call.git_dir = option.get("--git-dir=".len()..).map(str::to_owned);
            }
            option if option.starts_with("--list-cmds") => call.only_prints = true,
            option if option.starts_with('-') => {}
            _ => {
                call.rest = before;
                return call;
            }
        }
    }
}

fn add_setting(call: &mut GitCall<'_>, text: &str, named: bool) {
    let (key, value) = text.split_once('=').unwrap_or((text, "true"));
    let value = if named {
        format!("\u{1}{value}")
    } else {
        value.to_owned()
    };
    call.settings.push((key.to_owned(), value));
}

/// Built-in git commands that are gated or common.
pub(crate) const GIT_BUILTIN: &[&str] = names!(
    "add am apply archive bisect blame branch bundle cat-file check-attr checkout cherry-pick clean clone \
    commit config describe diff difftool fetch format-patch fsck gc grep help init log \
    ls-files ls-remote merge mergetool mv notes pull push rebase reflog remote reset restore revert \
    rev-list rev-parse rm send-pack shortlog show show-ref stash status submodule switch tag \
    update-index update-ref version worktree filter-branch hash-object ls-tree merge-base sparse-checkout"
);

/// Returns `true` for gated or common git commands, which an alias cannot replace.
pub fn is_git_builtin(verb: &str) -> bool {
    GIT_BUILTIN.contains(&verb) || matches!(verb, "http-push" | "lfs" | "subtree")
}

/// Returns `true` if an option of `git push`, or its prefix, takes the next argument.
fn takes_word(option: &str) -> bool {
    const VALUED: &[&str] = &[
        "--push-option",
        "--repo",
        "--receive-pack",
        "--exec",
        "--recurse-submodules",
    ];
    option.len() > 3 && VALUED.iter().any(|valued| valued.starts_with(option))
}

/// Returns `true` for the argument behind which nothing is an option.
pub(super) fn ends_options(program: &str, word: &str) -> bool {
    word == "--" || (program == "git" && word == "--end-of-options")
}

/// Returns `true` for `git push -n`, `--dry-run` and its abbreviations; the last one wins, and `--no-dry-run` cancels
/// it.
pub(super) fn git_push_is_dry(arguments: &[String]) -> bool {
    let mut dry = false;
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            word if ends_options("git", word) => break,
            "-o" => drop(words.next()),
            option if takes_word(option) => drop(words.next()),
            "--help" | "-h" => return true,
            option if option.len() >= 6 && "--no-dry-run".starts_with(option) => dry = false,
            option if option.len() >= 4 && "--dry-run".starts_with(option) => dry = true,
            option if option.starts_with("--") => {}
            flags if flags.starts_with('-') && flags.len() > 1 => {
                // `-o` takes the rest of the cluster, or the next argument.
                let before = flags.split_once('o').map_or(flags, |(before, _)| before);
                dry |= before.contains('n');
                if flags.ends_with('o') {
                    words.next();
                }
            }
            _ => {}
        }
    }
    dry
}

/// Returns the operands in the possible readings.
///
/// It is unknown if an unknown option takes the next argument, so both readings are returned.
pub(super) fn readings<'w>(
    program: &str,
    known: &[&str],
    arguments: &'w [String],
) -> Vec<Vec<&'w String>> {
    let mut strict = Vec::new();
    let mut loose = Vec::new();
    let mut words = arguments.iter();
    let mut after_unknown = false;
    while let Some(word) = words.next() {
        if ends_options(program, word) {
            strict.extend(words.as_slice());
            loose.extend(words.as_slice());
            break;
        }
        if word.starts_with('-') && word.len() > 1 {
            let takes = known.contains(&word.as_str());
            if takes {
                words.next();
            }
            after_unknown = !takes && word.starts_with("--") && !word.contains('=');
            continue;
        }
        strict.push(word);
        if !after_unknown {
            loose.push(word);
        }
        after_unknown = false;
    }
    if strict == loose {
        vec![strict]
    } else {
        vec![strict, loose]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn global_options_of_git_are_taken_away() {
        for (text, rest, directory, only_prints) in [
            ("push origin main", "push origin main", None, false),
            ("-C a -C b push", "push", Some("a/b"), false),
            ("-C a -C /b push", "push", Some("/b"), false),
            ("--git-dir x push", "push", None, false),
            ("--git-dir=x -p push", "push", None, false),
            ("--no-pager log -1", "log -1", None, false),
            ("--version", "", None, true),
            ("help push", "push", None, true),
            ("--list-cmds=main", "", None, true),
        ] {
            let words = split(text);
            let call = git_command(&words);
            assert_eq!(call.rest, split(rest), "{text}");
            assert_eq!(call.directory.as_deref(), directory, "{text}");
            assert_eq!(call.only_prints, only_prints, "{text}");
            let named = text.contains("git-dir").then_some("x");
            assert_eq!(call.git_dir.as_deref(), named, "{text}");
        }
    }

    #[test]
    fn settings_of_a_call_of_git_are_kept() {
        for (text, key, value) in [
            ("-c alias.x=push x", "alias.x", "push"),
            ("-c core.bare x", "core.bare", "true"),
            ("--config-env=alias.x=V x", "alias.x", "\u{1}V"),
            ("--config-env alias.x=V x", "alias.x", "\u{1}V"),
        ] {
            let words = split(text);
            let call = git_command(&words);
            let expected = [(key.to_owned(), value.to_owned())];
            assert_eq!(call.settings, expected, "{text}");
            assert_eq!(call.rest, ["x"], "{text}");
        }
    }

    #[test]
    fn a_dry_push_is_told_from_a_real_one() {
        for (text, dry) in [
            ("", false),
            ("-n", true),
            ("-fn origin", true),
            ("--dry-run origin main", true),
            ("--dry", true),
            ("--dry-run --no-dry-run", false),
            ("--end-of-options --dry-run :x", false),
            ("-- --help", false),
            ("-n --end-of-options origin", true),
            ("--no-dry-run -n", true),
            ("-o n", false),
            ("-on", false),
            ("-no x", true),
            ("--push-option -n", false),
            ("--repo --dry-run", false),
            ("-- -n", false),
            ("--help", true),
        ] {
            assert_eq!(git_push_is_dry(&split(text)), dry, "{text}");
        }
    }

    #[test]
    fn a_word_behind_an_unknown_option_is_read_both_ways() {
        for (text, expected) in [
            ("a b", &["a b"][..]),
            ("-v a b", &["a b"]),
            ("--known x a", &["a"]),
            ("--unknown x a", &["x a", "a"]),
            ("--unknown=x a", &["a"]),
            ("--unknown -- x", &["x"]),
            ("-", &["-"]),
        ] {
            let words = split(text);
            let found = readings("git", &["--known"], &words);
            let found: Vec<String> = found
                .iter()
                .map(|words| {
                    words
                        .iter()
                        .map(|word| word.as_str())
                        .collect::<Vec<_>>()
                        .join(" ")
                })
                .collect();
            assert_eq!(found, expected, "{text}");
        }
    }
}
