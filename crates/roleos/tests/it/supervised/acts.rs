//! Maps the words of a recorder to a gated action: written for the corpora, independent of the tested table.

/// Options of git that take the next word.
const GIT: &[&str] = &[
    "-C",
    "-c",
    "--git-dir",
    "--work-tree",
    "--namespace",
    "--super-prefix",
    "--config-env",
    "--attr-source",
];

/// Options of gh that take the next word.
const GH: &[&str] = &["-R", "--repo", "--hostname"];

/// Returns the action that `words` perform, the program's name first.
pub(super) fn action(words: &[String]) -> Option<&'static str> {
    let (name, words) = words.split_first()?;
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let has = |word: &str| words.contains(&word);
    if has("--help") || words.first() == Some(&"help") {
        return None;
    }
    match name.as_str() {
        "git" => git(&words),
        "git-push" | "git-send-pack" | "git-http-push" => rehearsed(&words, "git:push"),
        "npm" | "pnpm" | "yarn" | "bun" => rehearsed(&words, "npm:publish"),
        "gh" if !has("-h") => gh(&words),
        "twine" => has("upload").then_some("pypi:publish"),
        "uv" | "poetry" | "hatch" | "flit" if has("publish") => rehearsed(&words, "pypi:publish"),
        "gh-pages" => {
            let folder = |word: &&str| word.starts_with("-d") || word.starts_with("--dist");
            let stays = has("-n") || has("--no-push");
            (words.iter().any(folder) && !stays).then_some("pages:deploy")
        }
        "wrangler" => {
            let deploys = has("deploy") || has("publish");
            (has("pages") && deploys).then_some("pages:deploy")
        }
        _ => None,
    }
}

/// Splits words at the first that is neither an option nor the value of one of `values`.
fn verb<'w>(words: &'w [&'w str], values: &[&str]) -> (&'w str, &'w [&'w str]) {
    let mut index = 0;
    while let Some(word) = words.get(index) {
        index += 1;
        if !word.starts_with('-') {
            return (word, &words[index..]);
        }
        index += usize::from(values.contains(word));
    }
    ("", &[])
}

/// Options of pushing that take the next word.
const PUSH: &[&str] = &["-o", "--push-option", "--repo", "--receive-pack", "--exec"];

/// Returns the action unless the words ask for a rehearsal or for help.
fn rehearsed(words: &[&str], action: &'static str) -> Option<&'static str> {
    let mut rehearsal = false;
    let mut words = words.iter().take_while(|word| **word != "--");
    while let Some(word) = words.next() {
        if PUSH.contains(word) {
            words.next();
        } else if let Some(long) = word.strip_prefix("--") {
            match long {
                "dry-run" | "dry-run=true" => rehearsal = true,
                "dry-run=false" => rehearsal = false,
                _ if long.starts_with("no-dry") => rehearsal = false,
                _ => {}
            }
        } else if let Some(letters) = word.strip_prefix('-') {
            rehearsal |= letters
                .split('o')
                .next()
                .is_some_and(|flags| flags.contains(['n', 'h']));
        }
    }
    (!rehearsal).then_some(action)
}

fn git(words: &[&str]) -> Option<&'static str> {
    if matches!(words.first(), Some(&("--exec-path" | "-h"))) {
        return None;
    }
    match verb(words, GIT) {
        ("push" | "send-pack" | "http-push", rest) => rehearsed(rest, "git:push"),
        ("lfs", rest) if rest.contains(&"push") => rehearsed(rest, "git:push"),
        _ => None,
    }
}

fn gh(words: &[&str]) -> Option<&'static str> {
    let (group, rest) = verb(words, GH);
    match (group, verb(rest, GH).0) {
        ("release", "create" | "new" | "delete" | "edit" | "upload") => Some("gh:release"),
        ("pr", "create" | "new") => Some("gh:pr-create"),
        ("repo", "edit" | "delete" | "archive" | "rename") => Some("gh:repo-edit"),
        ("api", _) => api(rest),
        _ => None,
    }
}

/// Returns the change that a call of the API makes, by its method and path.
fn api(words: &[&str]) -> Option<&'static str> {
    let fields = ["-f", "-F", "--field", "--raw-field", "--input"];
    let mut method = None;
    let mut path = None;
    let mut sends = false;
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        match *word {
            "-X" | "--method" => method = rest.next().copied(),
            _ if word.starts_with("-X") => method = word.get(2..),
            _ if word.starts_with("--method=") => method = word.get(9..),
            "-H" | "--header" | "-q" | "--jq" | "-t" | "--template" | "--hostname" | "-p" => {
                rest.next();
            }
            _ if fields.contains(word) => {
                sends = true;
                rest.next();
            }
            _ if fields.iter().any(|field| word.starts_with(field)) => sends = true,
            _ if word.starts_with('-') => {}
            _ => path = path.or(Some(*word)),
        }
    }
    let changes = words.iter().any(|word| word.contains("mutation"));
    let method = method.unwrap_or(if sends { "POST" } else { "GET" });
    let path = path?.trim_start_matches('/');
    let parts: Vec<&str> = path.split(['/', '?']).collect();
    match (method.to_ascii_uppercase().as_str(), parts.as_slice()) {
        (_, ["repos", _, _, "releases", "generate-notes"]) => None,
        ("POST" | "PATCH" | "DELETE", ["repos", _, _, "releases", ..]) => Some("gh:release"),
        ("POST", ["repos", _, _, "pulls"]) => Some("gh:pr-create"),
        ("PATCH" | "DELETE", ["repos", _, _]) => Some("gh:repo-edit"),
        ("POST", ["graphql"]) if changes => Some("gh:api"),
        _ => None,
    }
}
