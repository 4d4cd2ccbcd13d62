//! How single programs read their words: options before the subcommand, options that make it harmless.
//!
//! An option counts as harmless only where it cannot be the value of the option before it.

use crate::words::names;

use super::Rule;

/// A call of git, taken apart.
#[derive(Clone, Debug, Default)]
pub(crate) struct GitCall {
    /// Subcommand and what follows.
    pub(crate) rest: Vec<String>,
    /// `-c key=value`; a value that starts with U+0001 is the name of a variable.
    pub(crate) settings: Vec<(String, String)>,
    /// `-C`, joined.
    pub(crate) directory: Option<String>,
    /// `--help`, `--version`, `--exec-path`: nothing is done.
    pub(crate) only_prints: bool,
}

/// Takes the global options of git away.
pub(crate) fn git_command(arguments: &[String]) -> GitCall {
    let mut call = GitCall::default();
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
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
            "--git-dir" | "--work-tree" | "--namespace" | "--super-prefix" | "--attr-source"
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
            option if option.starts_with("--list-cmds") => call.only_prints = true,
            option if option.starts_with('-') => {}
            _ => {
                call.rest.push(word.clone());
                call.rest.extend(words.cloned());
                return call;
            }
        }
    }
    call
}

fn add_setting(call: &mut GitCall, text: &str, named: bool) {
    let (key, value) = text.split_once('=').unwrap_or((text, "true"));
    let value = if named {
        format!("\u{1}{value}")
    } else {
        value.to_owned()
    };
    call.settings.push((key.to_owned(), value));
}

/// Commands of git that an alias cannot replace, as far as they are gated or common.
pub(crate) fn is_git_builtin(verb: &str) -> bool {
    const BUILTIN: &[&str] = names!(
        "add am apply archive bisect blame branch bundle cat-file check-attr checkout cherry-pick clean clone \
        commit config describe diff difftool fetch format-patch fsck gc grep help http-push init lfs log \
        ls-files ls-remote merge mergetool mv notes pull push rebase reflog remote reset restore revert \
        rev-list rev-parse rm send-pack shortlog show show-ref stash status submodule subtree switch tag \
        update-index update-ref version worktree filter-branch hash-object ls-tree merge-base sparse-checkout"
    );
    BUILTIN.contains(&verb)
}

/// Whether an option of `git push`, or its beginning, takes the next word.
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

/// `git push -n`, `--dry-run` and its abbreviations; the last one wins, and `--no-dry-run` undoes it.
pub(super) fn git_push_is_dry(arguments: &[String]) -> bool {
    let mut dry = false;
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--" => break,
            "-o" => drop(words.next()),
            option if takes_word(option) => drop(words.next()),
            "--help" | "-h" => return true,
            option if option.len() >= 6 && "--no-dry-run".starts_with(option) => dry = false,
            option if option.len() >= 4 && "--dry-run".starts_with(option) => dry = true,
            option if option.starts_with("--") => {}
            flags if flags.starts_with('-') && flags.len() > 1 => {
                // `-o` takes the rest of the cluster, or the next word.
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

/// Options that take the next word, by program.
fn valued(program: &str) -> &'static [&'static str] {
    match program {
        "gh" => names!(
            "-R --repo -t --title -b --body -F --body-file -B --base -H --head -l --label -a --assignee -r \
            --reviewer -m --milestone -p --project -T --template -n --notes --target --notes-file \
            --description -d --homepage --hostname --add-topic --remove-topic --default-branch --visibility \
            --notes-start-tag --recover --discussion-category --tag"
        ),
        "npm" | "pnpm" | "yarn" | "bun" => names!(
            "--tag --access --registry --otp --workspace -w --prefix -C --dir --cwd --filter -F --loglevel \
            --userconfig --cache --scope --publish-branch --new-version --new-version --auth-type --from \
            --include --exclude --node-options --globalconfig --prefer --provenance-file --message -m -j \
            --jobs"
        ),
        "uv" => names!(
            "--directory --project --config-file --cache-dir --python -p --index --publish-url --token -t -u \
            --username --password --color --trusted-publishing --keyring-provider --check-url"
        ),
        "poetry" => names!(
            "-C --directory -P --project -r --repository -u --username -p --password --cert --client-cert \
            --dist-dir"
        ),
        "hatch" => names!(
            "-e --env -p --project --data-dir --cache-dir --config -r --repo -u --user -a --auth -o --option"
        ),
        "flit" => names!("-f --ini-file --repository --pypirc"),
        "wrangler" => names!(
            "-c --config --cwd -e --env --project-name --branch --commit-hash --commit-message"
        ),
        "twine" => names!(
            "-r --repository --repository-url -u --username -p --password -c --comment --config-file --cert \
            --client-cert -i --identity --sign-with"
        ),
        "docker" => names!("--context -c --config -H --host -l --log-level -f --file -p"),
        "kubectl" => names!("-n --namespace --context --kubeconfig --cluster --user -f -l -k"),
        "cargo" => names!(
            "-p --package --manifest-path --registry --index --token --color --target -C --config"
        ),
        "jj" => names!("-R --repository --config -b --bookmark --remote"),
        _ => &[],
    }
}

/// The words that are no options, read in the ways that are possible.
///
/// Whether an option that is not known takes the next word cannot be told, so both readings are given.
pub(super) fn readings(program: &str, arguments: &[String]) -> Vec<Vec<String>> {
    let known = valued(program);
    let mut strict = Vec::new();
    let mut loose = Vec::new();
    let mut words = arguments.iter();
    let mut after_unknown = false;
    while let Some(word) = words.next() {
        if word == "--" {
            strict.extend(words.as_slice().iter().cloned());
            loose.extend(words.as_slice().iter().cloned());
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
        strict.push(word.clone());
        if !after_unknown {
            loose.push(word.clone());
        }
        after_unknown = false;
    }
    if strict == loose {
        vec![strict]
    } else {
        vec![strict, loose]
    }
}

pub(super) fn asks_for_help(arguments: &[String]) -> bool {
    arguments
        .iter()
        .any(|word| word == "--help" || word == "-h")
}

/// Whether options make the act harmless: help, a dry run that is not undone.
pub(super) fn is_harmless(
    rule: &Rule,
    arguments: &[String],
    environment: &dyn Fn(&str) -> Option<String>,
) -> bool {
    let known = valued(&rule.program);
    let javascript = rule.action.starts_with("npm:");
    let mut dry = javascript
        && ["npm_config_dry_run", "NPM_CONFIG_DRY_RUN"]
            .iter()
            .any(|name| environment(name).is_some_and(|value| value == "true" || value == "1"));
    let homepage = rule.action == "gh:repo-edit" && arguments.iter().any(|word| word == "edit");
    let mut words = arguments.iter().peekable();
    while let Some(word) = words.next() {
        if word == "--" {
            break;
        }
        if known.contains(&word.as_str()) {
            words.next();
            continue;
        }
        match word.as_str() {
            "--help" => return true,
            "-h" if !homepage => return true,
            "help" if rule.program != "gh-pages" && arguments.first() == Some(word) => return true,
            "--no-dry-run" | "--dry-run=false" | "--dry-run=0" => dry = false,
            "--dry-run=true" | "--dry-run=1" => {
                dry |= rule.harmless.iter().any(|option| option == "--dry-run");
            }
            option if rule.harmless.iter().any(|harmless| harmless == option) => {
                dry = !(javascript && words.peek().is_some_and(|next| *next == "false"));
            }
            _ => {}
        }
    }
    dry
}

/// `gh-pages` without a directory does nothing.
pub(super) fn is_complete(rule: &Rule, arguments: &[String]) -> bool {
    if rule.program != "gh-pages" {
        return true;
    }
    let names = |word: &String| {
        word.starts_with("-d") || word.starts_with("--dist") || crate::value::has_hole(word)
    };
    arguments.iter().any(names)
}
