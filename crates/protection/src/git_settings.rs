//! Git settings that name a program, or a file with such settings: git executes it later, without another check.

use actions::git_command;
use actions::git_config::{is_include, is_run};
use authority::verdict::Verdict;
use shell::value::{for_people, has_hole};
use shell::words::names;

use crate::Guarded;

/// Programs that users name in git's settings and that only show, edit, sign or store.
const ORDINARY: &[&str] = names!(
    "true false cat : less more most delta bat batcat diff-so-fancy diff-highlight difft vim vi nvim nano emacs \
    emacsclient code code-insiders subl micro hx helix kak gedit notepad zed store cache osxkeychain manager \
    manager-core libsecret wincred gnome-keyring oauth gpg gpg2 ssh-keygen ssh git-lfs vimdiff nvimdiff meld kdiff3 \
    opendiff bc diffmerge p4merge never always auto keep built-in"
);

/// Whole commands that a helper may be.
const ORDINARY_COMMANDS: &[&str] = &["!gh auth git-credential", "!glab auth git-credential"];

/// Options by which an ordinary program would run another, or read commands from a file.
const RUNS: &[&str] = names!("-c -S -s -e -F -u --cmd --exec --command -x");

/// Returns the question about the first setting that names a program. `further` are settings from the environment.
pub fn change(arguments: &[String], further: &[(String, String)]) -> Option<Guarded> {
    if let Some(how) = edits_whole(arguments) {
        let reason = format!(
            "`git config {how}` changes git's settings as a whole, which can name programs that git runs later"
        );
        return Some(Guarded::new("git config", Verdict::Ask, reason));
    }
    let made = made(arguments);
    let (key, value) = made
        .iter()
        .chain(further)
        .find(|(key, value)| is_later(key, value))?;
    let reason = if key.eq_ignore_ascii_case("core.hookspath") {
        "it changes where git finds its hooks (`core.hooksPath`): hooks run later, without being looked at again"
            .to_owned()
    } else {
        format!(
            "it sets `{}` to `{}`: git runs programs that its settings name, without being looked at again",
            for_people(key),
            for_people(value)
        )
    };
    Some(Guarded::new(for_people(key), Verdict::Ask, reason))
}

/// Returns the option by which `git config` opens or renames a whole section or file.
fn edits_whole(arguments: &[String]) -> Option<String> {
    const WHOLE: &[&str] = names!("-e --edit edit --rename-section rename-section");
    let call = git_command(arguments);
    let (verb, rest) = call.rest.split_first()?;
    let is_whole = |word: &&String| WHOLE.contains(&word.as_str());
    let found = rest.iter().find(is_whole);
    found.filter(|_| verb == "config").cloned()
}

/// Returns the settings that a git call makes.
pub fn made(arguments: &[String]) -> Vec<(String, String)> {
    let call = git_command(arguments);
    let mut made = call.settings;
    let Some((verb, rest)) = call.rest.split_first() else {
        return made;
    };
    match verb.as_str() {
        "config" => made.extend(configured(rest)),
        "clone" | "init" | "submodule" => {
            let words = rest.iter().zip(rest.iter().skip(1));
            let named = words.filter(|(option, _)| matches!(option.as_str(), "-c" | "--config"));
            let glued = rest
                .iter()
                .filter_map(|word| word.strip_prefix("--config="));
            let all = named.map(|(_, setting)| setting.as_str()).chain(glued);
            let pairs = all.filter_map(|setting| setting.split_once('='));
            made.extend(pairs.map(|(key, value)| (key.to_owned(), value.to_owned())));
            let template = rest
                .iter()
                .filter_map(|word| word.strip_prefix("--template="));
            made.extend(template.map(|path| ("init.templateDir".to_owned(), path.to_owned())));
        }
        _ => {}
    }
    made
}

/// Returns the setting that `git config` makes, in any of its forms.
fn configured(rest: &[String]) -> Option<(String, String)> {
    const VALUED: &[&str] = names!("-f --file --blob --type -t --default --value --comment --url");
    let mut words = Vec::new();
    // Options and commands before the key.
    let mut before = Vec::new();
    let mut all = rest.iter();
    while let Some(word) = all.next() {
        let is_command = matches!(word.as_str(), "set" | "unset" | "get" | "list");
        if VALUED.contains(&word.as_str()) {
            all.next();
        } else if words.is_empty() && (word.starts_with('-') || (is_command && rest.len() > 1)) {
            before.push(word.as_str());
        } else {
            // The argument after the key is its value, even if it begins with a dash.
            words.push(word.clone());
        }
    }
    let has = |parts: &[&str]| {
        before.iter().any(|word| {
            parts
                .iter()
                .any(|part| word.trim_start_matches('-').starts_with(part))
        })
    };
    let key = words.first().filter(|_| !has(&["get", "list"]))?.clone();
    let removes = has(&["unset"]);
    match words.get(1) {
        Some(value) if !removes => Some((key, value.clone())),
        // Without the setting, git uses its own directory again.
        _ if removes && key.eq_ignore_ascii_case("core.hookspath") => Some((key, String::new())),
        _ => None,
    }
}

/// Returns `true` if git would execute the value, or a value in the file that it names.
fn is_later(key: &str, value: &str) -> bool {
    let key = key.to_ascii_lowercase();
    let last = key.rsplit('.').next().unwrap_or(&key);
    let first = key.split('.').next().unwrap_or(&key);
    let moves = matches!(
        last,
        "hookspath" | "attributesfile" | "vcs" | "worktree" | "templatedir" | "partialclone"
    ) || is_include(&key)
        || key.contains("ext::")
        || value.starts_with("ext::")
        || (first == "protocol" && last == "allow" && value == "always")
        || (first == "extensions" && last == "worktreeconfig");
    let runs = is_run(&key, value) || (first == "alias" && value.starts_with('!'));
    moves || (runs && !is_ordinary(value))
}

/// Returns `true` if a value is a plain call of a program that only shows, edits, signs or stores.
fn is_ordinary(value: &str) -> bool {
    let value = value.trim();
    if value.is_empty() || ORDINARY_COMMANDS.contains(&value) {
        return true;
    }
    let mut words = value.split_whitespace();
    let program = words.next().unwrap_or_default();
    let is_plain = !has_hole(value)
        && !value.contains(['!', '`', '$', ';', '|', '&', '<', '>', '(', '\'', '"', '\\']);
    let runs = |word: &str| {
        let option = word.split('=').next().unwrap_or(word);
        let lower = word.to_ascii_lowercase();
        RUNS.contains(&option)
            || word.starts_with('+')
            || lower.contains("command")
            || lower.contains("include")
    };
    is_plain && ORDINARY.contains(&program) && !words.any(runs)
}

/// Returns the question about attributes that make git run a driver. `text` is the written text.
pub fn attributes(path: &str, text: &str) -> Option<Guarded> {
    let is_it = path.ends_with(".gitattributes") || path.ends_with("info/attributes");
    let ordinary = ["lfs", "text", "binary", "union", "ours", "unset"];
    let driver = text
        .lines()
        .filter(|line| !line.trim_start().starts_with('#'))
        .flat_map(str::split_whitespace)
        .filter(|word| {
            ["filter=", "diff=", "merge="]
                .iter()
                .any(|key| word.starts_with(key))
        })
        .find(|word| {
            word.split_once('=')
                .is_some_and(|(key, name)| is_driver(key, name, &ordinary))
        })
        .filter(|_| is_it)?;
    let reason = format!(
        "it writes `{}` with `{}`: git runs the program of such a driver, without being looked at again",
        for_people(path),
        for_people(driver)
    );
    Some(Guarded::new(for_people(path), Verdict::Ask, reason))
}

/// Returns `true` if an attribute names a driver that is not built into git.
fn is_driver(key: &str, name: &str, ordinary: &[&str]) -> bool {
    const LANGUAGES: &[&str] = names!(
        "ada bash bibtex cpp csharp css dts elixir fortran fountain golang html ini java kotlin markdown matlab \
        objc pascal perl php python r ruby rust scheme tex"
    );
    let is_language = key == "diff" && LANGUAGES.contains(&name);
    !ordinary.contains(&name) && !is_language
}
