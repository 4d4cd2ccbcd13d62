//! The repository around a directory, by its files.

use crate::lookup::{Content, Lookup, absolute};

/// Returns the top of the working tree around a directory, with its git directory and the text of `HEAD`.
#[must_use]
pub fn around(directory: &str, lookup: &dyn Lookup) -> Option<(String, String, String)> {
    let mut folder = directory.trim_end_matches('/').to_owned();
    loop {
        let dot = format!("{folder}/.git");
        if let Content::Text(head) = lookup.read(&format!("{dot}/HEAD")) {
            return Some((folder, dot, head));
        }
        if let Content::Text(link) = lookup.read(&dot) {
            let linked = absolute(&folder, link.trim().strip_prefix("gitdir:")?.trim());
            let Content::Text(head) = lookup.read(&format!("{linked}/HEAD")) else {
                return None;
            };
            return Some((folder, linked, head));
        }
        let (parent, _) = folder.rsplit_once('/')?;
        folder = parent.to_owned();
    }
}

/// Returns the top of the working tree around a directory.
#[must_use]
pub fn top(directory: &str, lookup: &dyn Lookup) -> Option<String> {
    around(directory, lookup).map(|(top, ..)| top)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A repository at `/r` and a working tree of it at `/w`.
    struct Files;

    impl Lookup for Files {
        fn read(&self, path: &str) -> Content {
            match path {
                "/r/.git/HEAD" => Content::Text("ref: refs/heads/main\n".to_owned()),
                "/w/.git" => Content::Text("gitdir: ../r/.git/worktrees/w\n".to_owned()),
                "/r/.git/worktrees/w/HEAD" => Content::Text("abc\n".to_owned()),
                "/broken/.git" => Content::Text("gitdir: nowhere\n".to_owned()),
                _ => Content::Missing,
            }
        }

        fn list(&self, _: &str) -> Vec<String> {
            Vec::new()
        }
    }

    #[test]
    fn the_repository_around_a_directory_is_found() {
        for (directory, expected) in [
            ("/r", Some("/r")),
            ("/r/a/b/", Some("/r")),
            ("/w/a", Some("/w")),
            ("/broken/a", None),
            ("/x", None),
            ("/", None),
        ] {
            assert_eq!(top(directory, &Files).as_deref(), expected, "{directory}");
        }
        let (_, git, head) = around("/w", &Files).unwrap();
        assert_eq!(
            (git.as_str(), head.as_str()),
            ("/r/.git/worktrees/w", "abc\n")
        );
    }
}
