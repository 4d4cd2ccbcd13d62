//! Paths whose loss or reading matters, and the possible losses of a repository. Files and git's objects are read
//! through the lookup; git is never run.

use super::{Around, PUBLIC, SECRET};
use crate::lookup::{Content, Work, absolute, base_name};
use crate::repository::top as repository_top;
use shell::pattern;
use shell::value::has_hole;

/// Class of paths in a rule.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// Root, home, a system directory, a repository, or a directory that contains one of them.
    Precious,
    /// A disk.
    Device,
    /// A key or credentials.
    Secret,
    /// The same, but not the first argument, which is a pattern.
    Searched,
    /// The same, but not the last argument, which is the target.
    Taken,
    /// The same behind `@` or an option that sends a file.
    Sent,
}

impl Class {
    pub(super) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "<precious>" => Self::Precious,
            "<device>" => Self::Device,
            "<secret>" => Self::Secret,
            "<searched>" => Self::Searched,
            "<taken>" => Self::Taken,
            "<sent>" => Self::Sent,
            _ => return None,
        })
    }

    /// Returns `true` if one of the operands is such a path; `all` are all arguments.
    pub(super) fn is_among(self, words: &[&String], all: &[String], around: &Around<'_>) -> bool {
        let is_secret = |word: &String| is_secret(word, around);
        match self {
            Self::Precious => words.iter().any(|word| is_precious(word, around)),
            Self::Device => {
                let path = |word: &&String| is_device(word.strip_prefix("of=").unwrap_or(word));
                words.iter().any(path)
            }
            Self::Secret => words.iter().copied().any(is_secret),
            Self::Searched => words.iter().copied().skip(1).any(is_secret),
            Self::Taken => words.iter().copied().rev().skip(1).any(is_secret),
            Self::Sent => {
                let sends = ["-T", "--upload-file", "--post-file", "--body-file"];
                let pairs = all.iter().zip(all.iter().skip(1));
                let mut apart = pairs.filter(|(option, _)| sends.contains(&option.as_str()));
                let glued = |word: &String| {
                    word.rsplit_once(['@', '='])
                        .is_some_and(|(_, path)| is_secret(&path.to_owned()))
                };
                apart.any(|(_, path)| is_secret(path)) || all.iter().any(glued)
            }
        }
    }
}

/// Directories that the system needs.
const SYSTEM: &str = " /bin /boot /dev /etc /home /lib /lib64 /opt /proc /root /sbin /srv /sys /usr /usr/bin /usr/lib \
    /usr/local /usr/sbin /usr/share /var /var/lib /Applications /Library /System /Users ";

fn is_precious(word: &str, around: &Around<'_>) -> bool {
    if has_hole(word) {
        return false;
    }
    let all = word
        .strip_suffix("/*")
        .or_else(|| (word == "*").then_some("."));
    let path = match all {
        Some("") => "/".to_owned(),
        other => around
            .lookup
            .real(&absolute(around.directory, other.unwrap_or(word))),
    };
    let holds = |inner: &str| {
        let below = inner.strip_prefix(path.trim_end_matches('/'));
        below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let has_repository = |path: &str| {
        matches!(
            around.lookup.read(&format!("{path}/.git/HEAD")),
            Content::Text(_)
        )
    };
    // A repository that was cloned into a directory for temporary files does not count.
    let is_scratch = path.starts_with("/tmp/") || path.starts_with("/var/tmp/");
    holds(around.home)
        || SYSTEM.contains(&format!(" {path} "))
        || repository_top(around.directory, around.lookup)
            .is_some_and(|top| holds(&top) || path == format!("{top}/.git"))
        || (!is_scratch && has_repository(&path))
}

fn is_device(path: &str) -> bool {
    let harmless = [
        "null", "zero", "full", "stdout", "stderr", "stdin", "tty", "random", "urandom",
    ];
    path.strip_prefix("/dev/").is_some_and(|name| {
        !name.is_empty()
            && !harmless.contains(&name)
            && !name.starts_with("fd/")
            && !name.starts_with("shm/")
            && !name.starts_with("pts/")
    })
}

/// Returns `true` if a path contains a secret.
fn is_secret(word: &str, around: &Around<'_>) -> bool {
    if has_hole(word) || word.contains("://") {
        return false;
    }
    let path = match word.strip_prefix("~/") {
        Some(below) => format!("{}/{below}", around.home),
        None => absolute(around.directory, word),
    };
    let fits = |wanted: &&str| {
        let literal = wanted.split(['*', '~']).max_by_key(|part| part.len());
        literal.is_some_and(|literal| path.contains(literal))
            && match wanted.strip_prefix("~/") {
                Some(below) => pattern::matches(&format!("{}/{below}", around.home), &path),
                None if wanted.contains('/') => pattern::matches(wanted, &path),
                None => pattern::matches(wanted, base_name(&path)),
            }
    };
    SECRET.iter().any(fits) && !PUBLIC.iter().any(fits)
}

/// Facts about the repository that a rule may use.
pub(super) const FACTS: &[&str] = &["repository", "changes", "new-files", "commits", "branch"];

/// Returns `true` if a fact holds, or is unknown. Without a repository nothing is lost.
pub(super) fn fact(name: &str, directory: &str, behind: &[&String], around: &Around<'_>) -> bool {
    if has_hole(directory) || repository_top(directory, around.lookup).is_none() {
        return false;
    }
    let loses = |work: Work<'_>| around.lookup.loses(directory, work) != Some(false);
    match name {
        "changes" => loses(Work::Changes),
        "new-files" => loses(Work::NewFiles),
        "commits" => {
            let to = behind.first().map_or("HEAD", |to| to.as_str());
            !has_hole(to)
                && to != "HEAD"
                && loses(Work::Commits {
                    of: "HEAD",
                    to: Some(to),
                })
        }
        "branch" => behind
            .iter()
            .any(|of| !has_hole(of) && loses(Work::Commits { of, to: None })),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lookup::Lookup;

    /// A repository at `/home/me/p` and one at `/tmp/q`.
    struct Repositories;

    impl Lookup for Repositories {
        fn read(&self, path: &str) -> Content {
            match path {
                "/home/me/p/.git/HEAD" | "/tmp/q/.git/HEAD" | "/srv/r/.git/HEAD" => {
                    Content::Text("ref: refs/heads/main\n".to_owned())
                }
                _ => Content::Missing,
            }
        }

        fn list(&self, _: &str) -> Vec<String> {
            Vec::new()
        }
    }

    fn among(class: &str, words: &[&str]) -> bool {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let around = Around {
            directory: "/home/me/p",
            home: "/home/me",
            environment: &|_| None,
            lookup: &Repositories,
            input: None,
        };
        Class::named(class)
            .unwrap()
            .is_among(&words.iter().collect::<Vec<_>>(), &words, &around)
    }

    #[test]
    fn what_is_precious_and_what_is_not() {
        for (path, expected) in [
            ("/", true),
            ("/*", true),
            ("/home/me", true),
            ("/home", true),
            ("/etc", true),
            (".", true),
            ("*", true),
            ("..", true),
            (".git", true),
            ("/srv/r", true),
            ("target", false),
            ("./src/x", false),
            ("/tmp/q", false),
            ("/home/me/other", false),
            ("\u{FFFF}", false),
        ] {
            assert_eq!(among("<precious>", &[path]), expected, "{path}");
        }
    }

    #[test]
    fn secrets_and_where_they_stand() {
        for (class, words, expected) in [
            ("<secret>", &["/home/me/.ssh/id_rsa"][..], true),
            ("<secret>", &["~/.ssh/id_ed25519"], true),
            ("<secret>", &["~/.ssh/id_ed25519.pub"], false),
            ("<secret>", &[".env"], true),
            ("<secret>", &[".env.example"], false),
            ("<secret>", &["src/main.rs"], false),
            ("<searched>", &[".env", "src"], false),
            ("<searched>", &["KEY", ".env"], true),
            ("<taken>", &[".env", "/tmp"], true),
            ("<taken>", &["/tmp/x", ".env"], false),
            ("<sent>", &["-F", "f=@.env"], true),
            ("<sent>", &["-T", ".env"], true),
            ("<sent>", &[".env"], false),
            ("<device>", &["of=/dev/sda"], true),
            ("<device>", &["/dev/null"], false),
            ("<device>", &["/dev/fd/3"], false),
        ] {
            assert_eq!(among(class, words), expected, "{class} {words:?}");
        }
        assert!(Class::named("<other>").is_none());
    }
}
