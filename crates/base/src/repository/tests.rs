//! Real repositories made by git, and our reading of their files.

use std::process::Command;

use super::index::{holds, is_tracked};
use super::*;
use crate::files::Privacy;

struct Repository {
    guard: tempfile::TempDir,
}

fn git(directory: &Path, words: &[&str]) -> String {
    let mut command = Command::new("git");
    for variable in crate::git::LOCAL_VARIABLES {
        command.env_remove(variable);
    }
    let output = command
        .args(["-c", "user.name=A", "-c", "user.email=a@example.org", "-C"])
        .arg(directory)
        .args(words)
        .output()
        .unwrap();
    assert!(output.status.success(), "{words:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn put(path: &Path, text: &str) {
    files::make_directory(files::parent(path), Privacy::Shared).unwrap();
    files::write(path, text.as_bytes(), Privacy::Shared).unwrap();
}

impl Repository {
    fn new(options: &[&str]) -> Self {
        let guard = tempfile::tempdir().unwrap();
        let words = [&["init", "--quiet", "--initial-branch=main"], options].concat();
        git(guard.path(), &words);
        let new = Self { guard };
        new.commit("a.txt", "one");
        new
    }

    fn path(&self) -> &Path {
        self.guard.path()
    }

    fn git(&self, words: &[&str]) -> String {
        git(self.path(), words)
    }

    fn commit(&self, name: &str, text: &str) {
        put(&self.path().join(name), text);
        self.git(&["add", name]);
        self.git(&["commit", "--quiet", "--message", "x"]);
    }

    fn state(&self) -> State {
        State::read(self.path()).unwrap()
    }
}

#[test]
fn the_state_says_what_git_says() {
    let repository = Repository::new(&[]);
    repository.git(&[
        "remote",
        "add",
        "origin",
        "https://me:secret@example.org/a.git",
    ]);
    let state = repository.state();
    assert_eq!(state.branch(), "main");
    assert_eq!(state.commit, Some(repository.git(&["rev-parse", "HEAD"])));
    let shown = (
        "origin".to_owned(),
        "https://***@example.org/a.git".to_owned(),
    );
    assert_eq!(state.remotes, [shown]);
    repository.git(&["pack-refs", "--all"]);
    let packed = repository.state();
    assert_eq!(packed.commit, state.commit);
    let below = repository.path().join("below");
    fs::create_dir(&below).unwrap();
    assert_eq!(State::read(&below), Some(packed));
    repository.git(&["checkout", "--quiet", "--detach"]);
    let detached = repository.state();
    assert_eq!(
        (&detached.commit, detached.branch()),
        (&state.commit, detached.head.as_str())
    );
}

#[test]
fn every_change_that_matters_to_a_push_is_another_state() {
    let repository = Repository::new(&[]);
    repository.git(&["remote", "add", "origin", "/somewhere"]);
    repository.git(&["branch", "other"]);
    let changes: [&[&str]; 9] = [
        &["commit", "--quiet", "--allow-empty", "--message", "y"],
        &[
            "commit",
            "--quiet",
            "--amend",
            "--allow-empty",
            "--message",
            "z",
        ],
        &["branch", "--force", "other", "HEAD"],
        &["tag", "v1"],
        &["checkout", "--quiet", "other"],
        &["remote", "set-url", "origin", "/elsewhere"],
        &["remote", "add", "second", "/somewhere"],
        &["config", "url./evil.pushInsteadOf", "/elsewhere"],
        &["config", "remote.origin.push", "refs/heads/*:refs/heads/*"],
    ];
    let mut before = repository.state();
    for change in changes {
        repository.git(change);
        let after = repository.state();
        assert_ne!(before, after, "{change:?}");
        before = after;
    }
    put(&repository.path().join("new.txt"), "not committed");
    assert_eq!(
        repository.state(),
        before,
        "a file that was not committed is not pushed"
    );
}

#[test]
fn a_linked_worktree_has_its_own_head_and_shares_the_rest() {
    let repository = Repository::new(&[]);
    let place = tempfile::tempdir().unwrap();
    let tree = place.path().join("tree");
    repository.git(&[
        "worktree",
        "add",
        "--quiet",
        "-b",
        "side",
        tree.to_str().unwrap(),
    ]);
    let state = State::read(&tree).unwrap();
    assert_eq!(state.branch(), "side");
    assert_eq!(state.commit, repository.state().commit);
    assert_eq!(state.refs, repository.state().refs);
    assert!(is_tracked(&tree.join("a.txt")));
    assert!(!is_tracked(&tree.join("b.txt")));
}

#[test]
fn outside_of_a_repository_there_is_no_state() {
    let guard = tempfile::tempdir().unwrap();
    assert_eq!(State::read(guard.path()), None);
    assert_eq!(State::read(&guard.path().join("missing")), None);
    assert!(!is_tracked(&guard.path().join("a.txt")));
}

/// Asserts that our reading of the index equals git's.
fn check_index(repository: &Repository) {
    let index = fs::read(repository.path().join(".git/index")).unwrap();
    let tracked = repository.git(&["ls-files"]);
    for name in tracked.lines() {
        assert_eq!(holds(&index, name), Some(true), "{name}");
        assert!(is_tracked(&repository.path().join(name)), "{name}");
        let other = format!("{name}x");
        assert_eq!(holds(&index, &other), Some(false), "{other}");
    }
}

#[test]
fn every_version_of_the_index_is_read() {
    for options in [&[][..], &["--object-format=sha256"]] {
        let repository = Repository::new(options);
        let names = [
            "b/c/d.txt",
            "b/c/e.txt",
            "b/c.txt",
            "z",
            "a-long-name-that-needs-more-padding.txt",
        ];
        for name in names {
            put(&repository.path().join(name), name);
        }
        repository.git(&["add", "--all"]);
        for version in ["2", "3", "4"] {
            repository.git(&["update-index", "--index-version", version]);
            check_index(&repository);
        }
        put(&repository.path().join("later.txt"), "with extended flags");
        repository.git(&["add", "--intent-to-add", "later.txt"]);
        for version in ["3", "4"] {
            repository.git(&["update-index", "--index-version", version]);
            check_index(&repository);
        }
    }
}

#[test]
fn an_empty_index_names_nothing() {
    for options in [&[][..], &["--object-format=sha256"]] {
        let repository = Repository::new(options);
        repository.git(&["rm", "--quiet", "a.txt"]);
        assert!(!is_tracked(&repository.path().join("a.txt")));
        repository.git(&["commit", "--quiet", "--message", "nothing left"]);
        assert!(!is_tracked(&repository.path().join("a.txt")));
    }
}

#[test]
fn many_names_are_read() {
    let repository = Repository::new(&[]);
    for number in 0..300 {
        put(
            &repository
                .path()
                .join(format!("dir{}/{number:0>7}.txt", number % 7)),
            "",
        );
    }
    repository.git(&["add", "--all"]);
    check_index(&repository);
    repository.git(&["update-index", "--index-version", "4"]);
    check_index(&repository);
}

#[test]
fn a_link_on_the_way_is_tracked_too() {
    let repository = Repository::new(&[]);
    let top = repository.path();
    put(&top.join("real/config.toml"), "");
    std::os::unix::fs::symlink("real", top.join("linked")).unwrap();
    assert!(!is_tracked(&top.join("linked/config.toml")));
    repository.git(&["add", "linked"]);
    assert!(
        is_tracked(&top.join("linked/config.toml")),
        "the link itself"
    );
    repository.git(&["rm", "--quiet", "--cached", "linked"]);
    repository.git(&["add", "real"]);
    assert!(
        is_tracked(&top.join("linked/config.toml")),
        "what it leads to"
    );
}

#[test]
fn what_is_not_understood_counts_as_tracked() {
    let repository = Repository::new(&[]);
    let path = repository.path().join(".git/index");
    let index = fs::read(&path).unwrap();
    let untracked = repository.path().join("new.txt");
    assert!(!is_tracked(&untracked));
    repository.git(&["update-index", "--split-index"]);
    assert!(is_tracked(&untracked), "the names are in another file");
    let one_entry = 12 + 72;
    for length in 0..one_entry {
        assert_ne!(
            holds(&index[..length], "new.txt"),
            Some(false),
            "cut at {length}"
        );
    }
    put(&path, "no index");
    assert!(is_tracked(&untracked));
}

#[test]
fn a_damaged_index_ends_quickly_and_without_a_panic() {
    let repository = Repository::new(&[]);
    repository.git(&["update-index", "--index-version", "4"]);
    let index = fs::read(repository.path().join(".git/index")).unwrap();
    for place in 0..index.len() {
        for value in [0, 1, 0x7F, 0x80, 0xFF] {
            let mut damaged = index.clone();
            damaged[place] = value;
            let _ = holds(&damaged, "a.txt");
        }
    }
}
