//! Links and images of the Markdown files that point into the project: each target must exist.
//!
//! Addresses of other hosts are not visited, and the part after `#` is not followed.

use pulldown_cmark::{Event, Parser, Tag};

use super::Problem;
use crate::project::Project;
use crate::shell::Result;

pub(super) fn check(project: &Project, files: &[String]) -> Result<Vec<Problem>> {
    let mut problems = Vec::new();
    for file in files.iter().filter(|file| file.ends_with(".md")) {
        let exists = |path: &str| project.root().join(path).exists();
        problems.extend(broken(file, &project.read(file)?, exists));
    }
    Ok(problems)
}

/// Returns the links of one file whose target does not exist; `exists` is called with paths from the root.
fn broken(file: &str, text: &str, exists: impl Fn(&str) -> bool) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (line, target) in local_links(text) {
        let what = match resolve(file, &target) {
            Some(path) if exists(&path) => continue,
            Some(path) => format!("link to `{path}`, which does not exist; correct or remove it"),
            None => format!("link to `{target}`, which leaves the project; write its full address"),
        };
        problems.push(Problem::new(file, line, what));
    }
    problems
}

/// Returns the targets of links and images without scheme, and without their `#` part, each with its line.
fn local_links(text: &str) -> Vec<(usize, String)> {
    let mut links = Vec::new();
    for (event, range) in Parser::new(text).into_offset_iter() {
        let (Event::Start(Tag::Link { dest_url, .. }) | Event::Start(Tag::Image { dest_url, .. })) =
            event
        else {
            continue;
        };
        let path = dest_url.split('#').next().unwrap_or_default();
        if !path.is_empty() && !has_scheme(path) {
            let before = text.get(..range.start).unwrap_or_default();
            links.push((before.matches('\n').count() + 1, path.replace("%20", " ")));
        }
    }
    links
}

/// Returns `true` for targets that begin with `https:`, `mailto:` or similar.
fn has_scheme(target: &str) -> bool {
    target.split_once(':').is_some_and(|(scheme, _)| {
        !scheme.is_empty()
            && scheme
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
    })
}

/// Returns the path from the root to which `target` in `file` leads; `None` if it leaves the project.
fn resolve(file: &str, target: &str) -> Option<String> {
    let mut parts: Vec<&str> = Vec::new();
    if !target.starts_with('/') {
        parts.extend(file.split('/'));
        parts.pop();
    }
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks a file in a project with three files; expects broken links at exactly these lines.
    fn check(file: &str, text: &str, expected: &[usize]) {
        let exists = |path: &str| ["README.md", "docs", "docs/a b.md", "docs/c.md"].contains(&path);
        let found = broken(file, text, exists);
        let lines: Vec<_> = found.iter().map(|problem| problem.line).collect();
        assert_eq!(lines, expected, "{found:?}");
    }

    #[test]
    fn links_are_followed_from_their_file() {
        check(
            "README.md",
            "[c](docs/c.md) [d](docs/) ![i](docs/i.png)",
            &[1],
        );
        check(
            "docs/c.md",
            "[r](../README.md)\n[c](./c.md)\n[d](docs/c.md)",
            &[3],
        );
        check("docs/c.md", "[r](/README.md)", &[]);
    }

    #[test]
    fn a_reference_is_a_link_too() {
        check(
            "README.md",
            "see [c][1] and\n[d][2]\n\n[1]: docs/c.md\n[2]: docs/d.md\n",
            &[2],
        );
    }

    #[test]
    fn the_part_after_the_hash_and_other_hosts_are_left_alone() {
        check(
            "README.md",
            "[a](#top) [b](docs/c.md#x) [c](https://example.org/x) [d](mailto:a@example.org)",
            &[],
        );
    }

    #[test]
    fn code_is_no_link() {
        check("README.md", "`[a](b)`\n\n```\n[a](b)\n```\n", &[]);
    }

    #[test]
    fn blanks_may_be_written_both_ways() {
        check("README.md", "[a](docs/a%20b.md) [b](<docs/a b.md>)", &[]);
    }

    #[test]
    fn a_link_may_not_leave_the_project() {
        check("docs/c.md", "[x](../../other/README.md)", &[1]);
    }
}
