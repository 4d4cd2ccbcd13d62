//! `gh api`: the same acts through the REST and GraphQL interfaces.

use super::Answer;
use crate::value::{HOLE, has_hole};

/// Adds what a call of the interface does.
pub(super) fn classify(arguments: &[String], answer: &mut Answer) {
    let Some(at) = arguments.iter().position(|word| word == "api") else {
        return;
    };
    let call = Call::parse(arguments.get(at.saturating_add(1)..).unwrap_or_default());
    if call.help {
        return;
    }
    let label = format!("gh api {}", call.method);
    let mut add = |id: &str| answer.actions.push((id.to_owned(), label.clone()));
    let path = call
        .path
        .trim_start_matches("https://api.github.com")
        .trim_start_matches('/');
    let path = path
        .split(['?', '#'])
        .next()
        .unwrap_or_default()
        .trim_end_matches('/');
    if path == "graphql" {
        let acts: &[(&str, &[&str])] = &[
            ("gh:pr-create", &["createPullRequest"]),
            (
                "gh:repo-edit",
                &[
                    "archiveRepository",
                    "unarchiveRepository",
                    "updateRepository",
                    "deleteRepository",
                    "renameRepository",
                ],
            ),
            (
                "gh:release",
                &["createRelease", "deleteRelease", "updateRelease"],
            ),
        ];
        for (id, names) in acts {
            if names.iter().any(|name| call.fields.contains(name)) {
                add(id);
            }
        }
        if call.hides_query && !call.fields.contains("query {") {
            answer.unknown = Some("the GraphQL query is not known");
        }
        return;
    }
    let parts = segments(path);
    let changes = call.method != "GET" && call.method != "HEAD";
    match parts.as_slice() {
        ["repos", _, _] if changes => add("gh:repo-edit"),
        ["repos", _, _, "transfer"] if changes => add("gh:repo-edit"),
        ["repos", _, _, "pulls"] if changes => add("gh:pr-create"),
        ["repos", _, _, "releases", "generate-notes"] => {}
        ["repos", _, _, "releases", ..] if changes => add("gh:release"),
        ["repositories", _] if changes => add("gh:repo-edit"),
        // Which issue or which branch does not matter where the words around say what is done.
        ["repos", _, _, what, ..] if !has_hole(what) && !path.contains(HOLE) => {}
        ["repos", owner, name, what, ..]
            if NONE_GATED.contains(what) && ![owner, name].iter().any(|one| one.contains(HOLE)) => {
        }
        // `repos/$REPOSITORY`: a variable that holds the owner as well.
        ["repos", both] if has_hole(both) && matches!(call.method.as_str(), "PATCH" | "DELETE") => {
            add("gh:repo-edit");
        }
        _ if has_hole(path) && changes => {
            answer.unknown = Some("the address of the interface is not known");
        }
        _ => {}
    }
    if has_hole(&call.method) {
        answer.unknown = Some("the method of the call is not known");
    }
}

/// What stands below `repos/owner/name`.
const BELOW_A_REPOSITORY: &[&str] = &[
    "actions",
    "branches",
    "check-runs",
    "comments",
    "commits",
    "contents",
    "dispatches",
    "git",
    "issues",
    "labels",
    "milestones",
    "pulls",
    "releases",
    "statuses",
];

/// Of these nothing below is gated, whatever it is: `repos/o/r/issues/comments/$(…)`.
const NONE_GATED: &[&str] = &[
    "actions",
    "check-runs",
    "comments",
    "commits",
    "issues",
    "labels",
    "milestones",
    "statuses",
];

/// The parts of an address; none where one of them is empty, as an unset variable leaves it: that is nobody's address.
/// `repos/$REPO/issues`: a variable in the place of the owner holds the name as well.
fn segments(path: &str) -> Vec<&str> {
    let mut parts: Vec<&str> = path.split('/').collect();
    if parts.contains(&"") {
        return Vec::new();
    }
    if let ["repos", both, below, ..] = parts.as_slice()
        && has_hole(both)
        && BELOW_A_REPOSITORY.contains(below)
    {
        let name = *both;
        parts.insert(1, name);
    }
    parts
}

struct Call {
    method: String,
    path: String,
    fields: String,
    /// Whether the GraphQL query, or the name of a field, is not known.
    hides_query: bool,
    help: bool,
}

impl Call {
    fn parse(arguments: &[String]) -> Self {
        let mut method = None;
        let mut path = None;
        let mut fields = String::new();
        let mut has_fields = false;
        let mut hides_query = false;
        let mut help = false;
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let (option, glued) = split(word);
            let value = |words: &mut std::slice::Iter<'_, String>| match glued {
                Some(text) => text.to_owned(),
                None => words.next().cloned().unwrap_or_default(),
            };
            match option {
                "-X" | "--method" => method = Some(value(&mut words).to_ascii_uppercase()),
                "-f" | "-F" | "--field" | "--raw-field" => {
                    has_fields = true;
                    let field = value(&mut words);
                    let (name, text) = field.split_once('=').unwrap_or((&field, ""));
                    hides_query |= has_hole(name) || (name == "query" && has_hole(text));
                    fields.push_str(&field);
                    fields.push('\n');
                }
                "--input" => {
                    has_fields = true;
                    let body = value(&mut words);
                    hides_query |= has_hole(&body);
                    fields.push_str(&body);
                    fields.push('\n');
                }
                "-H" | "--header" | "-q" | "--jq" | "-t" | "--template" | "--hostname" | "-p"
                | "--preview" | "--cache" => {
                    value(&mut words);
                }
                "--help" => help = true,
                option if option.starts_with('-') => {}
                _ => path = path.or_else(|| Some(word.clone())),
            }
        }
        let method = method.unwrap_or_else(|| if has_fields { "POST" } else { "GET" }.to_owned());
        Self {
            method,
            path: path.unwrap_or_default(),
            fields,
            hides_query,
            help,
        }
    }
}

/// `--method=POST`, `-XPOST`, `-X=POST`: the option and its value.
fn split(word: &str) -> (&str, Option<&str>) {
    if word.starts_with("--") {
        return match word.split_once('=') {
            Some((option, value)) => (option, Some(value)),
            None => (word, None),
        };
    }
    if word.starts_with('-') && word.is_char_boundary(2) && word.len() > 2 {
        let (option, value) = word.split_at_checked(2).unwrap_or((word, ""));
        return (option, Some(value.strip_prefix('=').unwrap_or(value)));
    }
    (word, None)
}
