//! Diffs of real repositories.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use super::*;
use base::git::testing;

struct Repository(tempfile::TempDir);

impl Repository {
    fn new() -> Self {
        let repository = Self(tempfile::tempdir().unwrap());
        for arguments in [
            &["init", "-q", "-b", "main"][..],
            &["config", "user.name", "t"],
            &["config", "user.email", "t@t"],
        ] {
            repository.git(arguments);
        }
        repository
    }

    fn git(&self, arguments: &[&str]) -> String {
        testing::git(self.0.path(), arguments)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "an agent writes its files as it likes"
    )]
    fn put(&self, name: &str, text: impl AsRef<[u8]>) {
        fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        fs::write(self.path(name), text).unwrap();
    }

    fn commit(&self) -> String {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "-m", "x"]);
        self.git(&["rev-parse", "HEAD"])
    }

    fn diff(&self, base: Option<&str>, limit: usize) -> (Diff, String) {
        let diff = take(self.0.path(), base, limit).unwrap();
        let text = String::from_utf8_lossy(&diff.text).into_owned();
        (diff, text)
    }
}

#[test]
fn commits_staged_changes_and_new_files_are_all_in_it() {
    let repository = Repository::new();
    repository.put("committed", "1\n");
    repository.put("staged", "1\n");
    repository.put("changed", "1\n");
    repository.put("deleted", "1\n");
    repository.put(".gitignore", "ignored\n");
    let base = repository.commit();
    repository.put("committed", "2\n");
    repository.commit();
    repository.put("staged", "2\n");
    repository.git(&["add", "staged"]);
    repository.put("changed", "2\n");
    fs::remove_file(repository.path("deleted")).unwrap();
    repository.put("new", "2\n");
    symlink("new", repository.path("link")).unwrap();
    repository.put("ignored", "2\n");
    repository.put(".role-os/ledger/log", "2\n");
    let (diff, text) = repository.diff(Some(&base), 1 << 20);
    assert!(diff.applies);
    assert_eq!((diff.files, diff.left_out), (6, 0));
    for name in ["committed", "staged", "changed", "deleted", "new", "link"] {
        let head = format!("diff --git a/{name} b/{name}\n");
        assert!(text.contains(&head), "{name} is not in {text}");
    }
    assert!(
        !text.contains("ignored") && !text.contains("ledger"),
        "{text}"
    );
}

#[test]
fn a_huge_diff_keeps_whole_files_and_still_applies() {
    let repository = Repository::new();
    repository.put("a", "1\n");
    let base = repository.commit();
    repository.put("b", "small\n");
    repository.put("c", "long line\n".repeat(10_000));
    repository.put("d", "small too\n");
    let (diff, text) = repository.diff(Some(&base), 10_000);
    assert!(diff.applies);
    assert_eq!((diff.files, diff.left_out), (3, 2));
    assert!(text.contains("+small\n") && !text.contains("long line"));
    let (diff, text) = repository.diff(Some(&base), 10);
    assert_eq!((diff.files, diff.left_out, &*text), (3, 3, ""));
}

#[test]
fn before_the_first_commit_everything_is_new() {
    let repository = Repository::new();
    repository.put("a", "1\n");
    let (diff, text) = repository.diff(None, 1 << 20);
    assert!(diff.applies);
    assert!(text.contains("new file mode"));
    assert_eq!(diff.files, 1);
}

#[test]
fn settings_and_attributes_of_the_repository_do_not_change_its_shape() {
    let repository = Repository::new();
    repository.put("a", "1\n");
    repository.put(".gitattributes", "* diff=loud -text\n");
    let base = repository.commit();
    for (key, value) in [
        ("diff.noprefix", "true"),
        ("diff.external", "touch was-run; false"),
        ("diff.loud.textconv", "touch was-run; cat"),
        ("color.ui", "always"),
        ("core.fsmonitor", "touch was-run; false"),
        ("diff.renames", "copies"),
    ] {
        repository.git(&["config", key, value]);
    }
    repository.put("a", "2\n");
    let (diff, text) = repository.diff(Some(&base), 1 << 20);
    assert!(diff.applies);
    assert!(text.contains("--- a/a\n+++ b/a\n"), "{text}");
    assert!(!repository.path("was-run").exists());
}

#[test]
fn nothing_changed_is_an_empty_diff_and_a_wrong_commit_an_error() {
    let repository = Repository::new();
    repository.put("a", "1\n");
    let base = repository.commit();
    let (diff, _) = repository.diff(Some(&base), 1 << 20);
    assert_eq!(
        diff,
        Diff {
            applies: true,
            tree: diff.tree.clone(),
            ..Diff::default()
        }
    );
    take(repository.0.path(), Some("--output=x"), 1 << 20).unwrap_err();
    assert!(!repository.path("x").exists());
}

#[test]
fn line_ends_and_large_files_are_those_of_a_commit() {
    let repository = Repository::new();
    repository.put(
        ".gitattributes",
        "* text=auto eol=crlf\n*.bin filter=lfs -text\n",
    );
    repository.put("text", "one\r\ntwo\r\n");
    let base = repository.commit();
    let id = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    repository.put("text", "one\r\nthree\r\n");
    repository.put("big.bin", "x".repeat(2000));
    repository.put(
        "known.bin",
        format!("version https://git-lfs.github.com/spec/v1\noid sha256:{id}\nsize 0\n"),
    );
    let (diff, text) = repository.diff(Some(&base), 1 << 20);
    assert!(diff.applies);
    assert!(text.contains(" one\n-two\n+three\n"), "{text}");
    assert!(text.contains("\n+size 2000\n"), "{text}");
    assert!(text.contains(&format!("+oid sha256:{id}")), "{text}");
    assert!(!text.contains("xxxx"), "{text}");
}

#[test]
fn a_file_that_the_index_calls_unchanged_is_in_it() {
    let repository = Repository::new();
    repository.put("assumed", "1\n");
    repository.put("skipped", "1\n");
    repository.put("absent", "1\n");
    let base = repository.commit();
    repository.git(&["update-index", "--assume-unchanged", "assumed"]);
    repository.git(&["update-index", "--skip-worktree", "skipped", "absent"]);
    repository.put("assumed", "2\n");
    repository.put("skipped", "2\n");
    fs::remove_file(repository.path("absent")).unwrap();
    let (diff, text) = repository.diff(Some(&base), 1 << 20);
    assert_eq!(diff.files, 2, "{text}");
}
