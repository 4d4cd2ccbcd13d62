//! Snapshots and rollbacks on real repositories with unusual working trees.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use super::*;
use base::git::testing;

struct Repository {
    directory: tempfile::TempDir,
}

impl Repository {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let repository = Self { directory };
        repository.git(&["init", "-q", "-b", "main"]);
        repository.git(&["config", "user.name", "t"]);
        repository.git(&["config", "user.email", "t@t"]);
        repository
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn git(&self, arguments: &[&str]) -> String {
        testing::git(self.directory.path(), arguments)
    }

    fn put(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        put(&path, text);
    }

    fn commit(&self) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", "x"]);
    }

    fn snapshot(&self) -> Snapshot {
        Snapshot::take(self.directory.path(), &session()).unwrap()
    }

    /// Returns the index, `HEAD` and branches, which a rollback restores.
    fn git_state(&self) -> (String, String, String) {
        let head = fs::read_to_string(self.path(".git/HEAD")).unwrap();
        let refs = self.git(&["for-each-ref", "refs/heads", "refs/tags"]);
        (self.git(&["ls-files", "-v", "--stage"]), head, refs)
    }

    /// Returns every file of the working tree with its content, except git's own.
    fn files(&self) -> BTreeMap<PathBuf, String> {
        let mut files = BTreeMap::new();
        collect(self.directory.path(), &mut files);
        files
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "an agent writes its files as it likes"
)]
fn put(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
}

fn collect(directory: &Path, files: &mut BTreeMap<PathBuf, String>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let facts = fs::symlink_metadata(&path).unwrap();
        if path.file_name() == Some(OsStr::new(".git")) {
            continue;
        }
        if facts.is_dir() {
            files.insert(path.clone(), format!("{:o}", facts.permissions().mode()));
            collect(&path, files);
        } else if facts.is_symlink() {
            let target = fs::read_link(&path).unwrap();
            files.insert(path, format!("link to {}", target.display()));
        } else {
            let text = if facts.is_file() {
                fs::read(&path).unwrap()
            } else {
                Vec::new()
            };
            let mode = facts.permissions().mode();
            files.insert(path, format!("{mode:o} {text:?}"));
        }
    }
}

fn session() -> SessionId {
    SessionId::new("s-1")
}

/// Asserts that a restore undoes everything that `change` does. Returns the ref of the undone work.
fn check(repository: &Repository, change: impl FnOnce(&Repository)) -> String {
    let (before, git_state) = (repository.files(), repository.git_state());
    let snapshot = repository.snapshot();
    change(repository);
    let restored = snapshot.restore(&session()).unwrap();
    assert!(restored.problem.is_none(), "{:?}", restored.problem);
    assert!(restored.rollback.restored);
    assert_eq!(restored.rollback.wanted, restored.rollback.found);
    assert_eq!(repository.files(), before);
    assert_eq!(repository.git_state(), git_state);
    restored.rollback.kept
}

#[test]
fn changed_new_and_deleted_files_come_back_and_what_was_undone_is_kept() {
    let repository = Repository::new();
    repository.put("kept", "1");
    repository.put("deep/er/deleted", "2");
    repository.commit();
    repository.put("untracked before", "3");
    let kept = check(&repository, |repository| {
        repository.put("kept", "changed");
        fs::remove_dir_all(repository.path("deep")).unwrap();
        repository.put("new/file", "new");
        repository.put("untracked before", "changed too");
    });
    assert_eq!(kept, "refs/roleos/undone/s-1/1");
    let show = |path: &str| repository.git(&["show", &format!("{kept}:{path}")]);
    assert_eq!(show("kept"), "changed");
    assert_eq!(show("new/file"), "new");
    assert_eq!(show("untracked before"), "changed too");
    // A second time gets another name.
    let kept = check(&repository, |repository| repository.put("kept", "again"));
    assert_eq!(kept, "refs/roleos/undone/s-1/2");
}

#[test]
fn nothing_to_undo_keeps_nothing() {
    let repository = Repository::new();
    repository.put("a", "1");
    assert_eq!(check(&repository, |_| ()), "");
    assert_eq!(repository.git(&["for-each-ref", UNDONE]), "");
}

#[test]
fn odd_names_links_and_modes_come_back() {
    let repository = Repository::new();
    let odd = Path::new(OsStr::from_bytes(b"\xff\xfe \"q\" \n\ttab"));
    put(&repository.directory.path().join(odd), "odd");
    repository.put("-dash", "1");
    repository.put(" leading and trailing ", "2");
    repository.put("ünïcode/日本", "3");
    repository.put("run.sh", "#!/bin/sh");
    fs::set_permissions(repository.path("run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    symlink("-dash", repository.path("link")).unwrap();
    symlink("nowhere", repository.path("dangling")).unwrap();
    check(&repository, |repository| {
        for name in ["-dash", " leading and trailing ", "link", "dangling"] {
            fs::remove_file(repository.path(name)).unwrap();
        }
        put(&repository.directory.path().join(odd), "changed");
        fs::set_permissions(repository.path("run.sh"), fs::Permissions::from_mode(0o644)).unwrap();
        symlink("elsewhere", repository.path("link")).unwrap();
        fs::remove_dir_all(repository.path("ünïcode")).unwrap();
    });
}

#[test]
fn files_and_directories_change_places() {
    let repository = Repository::new();
    repository.put("file", "1");
    repository.put("directory/inside", "2");
    repository.put("linked/inside", "3");
    repository.commit();
    check(&repository, |repository| {
        fs::remove_file(repository.path("file")).unwrap();
        repository.put("file/now/a/directory", "x");
        fs::remove_dir_all(repository.path("directory")).unwrap();
        repository.put("directory", "now a file");
        fs::remove_dir_all(repository.path("linked")).unwrap();
        symlink("/tmp", repository.path("linked")).unwrap();
    });
}

#[test]
fn index_head_and_branch_come_back_and_commits_are_kept() {
    let repository = Repository::new();
    repository.put("a", "1");
    repository.commit();
    repository.put("a", "staged before");
    repository.git(&["add", "a"]);
    repository.put("a", "and changed again");
    let kept = check(&repository, |repository| {
        repository.put("b", "staged");
        repository.git(&["add", "b"]);
        repository.put("c", "committed");
        repository.git(&["add", "c"]);
        repository.git(&["commit", "-q", "-m", "by the agent"]);
        repository.git(&["rm", "-q", "-f", "a"]);
        repository.git(&["update-index", "--assume-unchanged", "b"]);
    });
    let log = repository.git(&["log", "--format=%s", &kept]);
    assert!(log.contains("by the agent"), "{log}");
    let reflog = repository.git(&["reflog", "show", "main"]);
    assert!(reflog.contains("roleos: return"), "{reflog}");
    // Detached, and back to a branch that had no commit.
    check(&repository, |repository| {
        repository.git(&["checkout", "-q", "--detach"]);
        repository.put("d", "x");
        repository.commit();
    });
    let empty = Repository::new();
    empty.put("a", "1");
    let kept = check(&empty, Repository::commit);
    assert_eq!(empty.git(&["show", &format!("{kept}:a")]), "1");
}

#[test]
fn branches_and_tags_come_back_and_their_commits_are_kept() {
    let repository = Repository::new();
    repository.put("a", "1");
    repository.commit();
    repository.git(&["branch", "other"]);
    repository.git(&["tag", "v1"]);
    let mut work = String::new();
    let kept = check(&repository, |repository| {
        repository.git(&["checkout", "-q", "-b", "work"]);
        repository.put("a", "2");
        repository.commit();
        work = repository.git(&["rev-parse", "work"]);
        repository.git(&["checkout", "-q", "main"]);
        repository.git(&["tag", "-f", "v1", "work"]);
        repository.git(&["tag", "-a", "-m", "x", "v2"]);
        repository.git(&["branch", "-q", "-D", "other"]);
    });
    // The commit of the branch that is gone lies behind the undone work.
    repository.git(&["merge-base", "--is-ancestor", &work, &kept]);
    check(&repository, |repository| {
        repository.git(&["checkout", "-q", "-b", "elsewhere"]);
        repository.git(&["branch", "-q", "-D", "main"]);
    });
}

#[test]
fn branches_that_other_worktrees_share_and_an_unfinished_merge_are_not_called_restored() {
    let repository = Repository::new();
    repository.put("a", "1");
    repository.commit();
    let beside = tempfile::tempdir().unwrap();
    let beside = beside.path().join("tree").display().to_string();
    repository.git(&["worktree", "add", "-q", "--detach", &beside]);
    let snapshot = repository.snapshot();
    repository.git(&["branch", "work"]);
    let restored = snapshot.restore(&session()).unwrap();
    assert!(!restored.rollback.restored);
    assert_ne!(restored.rollback.wanted, restored.rollback.found);
    let problem = restored.problem.unwrap();
    assert!(problem.contains("a branch, a tag"), "{problem}");
    repository.git(&["branch", "-q", "-D", "work"]);
    put(
        &repository.path(".git/MERGE_HEAD"),
        &repository.git(&["rev-parse", "main"]),
    );
    let restored = snapshot.restore(&session()).unwrap();
    assert!(!restored.rollback.restored, "{restored:?}");
}

#[test]
fn permissions_directories_and_pipes_come_back() {
    let repository = Repository::new();
    let mode = |name: &str, mode| {
        fs::set_permissions(repository.path(name), fs::Permissions::from_mode(mode)).unwrap();
    };
    repository.put("secret", "1");
    mode("secret", 0o600);
    repository.put("kept/inside", "1");
    mode("kept", 0o700);
    fs::create_dir_all(repository.path("empty/deeper")).unwrap();
    repository.commit();
    check(&repository, |repository| {
        mode("secret", 0o644);
        mode("kept", 0o777);
        fs::remove_dir_all(repository.path("empty")).unwrap();
        fs::create_dir_all(repository.path("new/and/deeper")).unwrap();
        let pipe = std::process::Command::new("mkfifo")
            .arg(repository.path("pipe"))
            .status();
        assert!(pipe.unwrap().success());
    });
    check(&repository, |repository| {
        fs::remove_file(repository.path("secret")).unwrap();
        fs::remove_dir_all(repository.path("kept")).unwrap();
    });
}

#[test]
fn a_pipe_that_is_gone_is_not_called_restored() {
    let repository = Repository::new();
    repository.put("a", "1");
    let pipe = std::process::Command::new("mkfifo")
        .arg(repository.path("pipe"))
        .status();
    assert!(pipe.unwrap().success());
    let snapshot = repository.snapshot();
    fs::remove_file(repository.path("pipe")).unwrap();
    let restored = snapshot.restore(&session()).unwrap();
    assert!(!restored.rollback.restored);
    assert!(restored.problem.unwrap().contains("`pipe`"));
}

#[test]
fn bytes_come_back_whatever_git_would_convert() {
    for (key, attributes) in [
        ("true", ""),
        ("input", ""),
        ("false", "* text=auto eol=crlf\n"),
        ("false", "* text ident\n"),
        ("false", "*.txt working-tree-encoding=UTF-16LE\n"),
    ] {
        let repository = Repository::new();
        repository.git(&["config", "core.autocrlf", key]);
        repository.git(&["config", "core.safecrlf", "false"]);
        repository.put(".gitattributes", attributes);
        repository.put("mixed", "x\ny\r\n$Id$\n");
        put(&repository.path("wide.txt"), "a\0\n\0");
        repository.commit();
        // git takes the files for unchanged now, although it stores other bytes.
        check(&repository, |repository| {
            repository.put("mixed", "changed\r\n");
            put(&repository.path("wide.txt"), "b\0\n\0");
            fs::remove_file(repository.path(".gitattributes")).unwrap();
        });
    }
}

#[test]
fn flags_in_the_index_hide_nothing() {
    let repository = Repository::new();
    repository.put("assumed", "1");
    repository.put("skipped", "1");
    repository.put("absent", "1");
    repository.commit();
    repository.git(&["update-index", "--assume-unchanged", "assumed"]);
    repository.git(&["update-index", "--skip-worktree", "skipped", "absent"]);
    repository.put("assumed", "local");
    repository.put("skipped", "local");
    fs::remove_file(repository.path("absent")).unwrap();
    let kept = check(&repository, |repository| {
        repository.put("assumed", "agent");
        repository.put("skipped", "agent");
    });
    assert_eq!(
        repository.git(&["show", &format!("{kept}:skipped")]),
        "agent"
    );
}

#[test]
fn an_ignore_rule_outside_of_the_tree_hides_nothing() {
    let repository = Repository::new();
    repository.put("a", "1");
    repository.commit();
    let snapshot = repository.snapshot();
    put(&repository.path(".git/info/exclude"), "evil\n");
    repository.put("more", "also\n");
    let more = repository.path("more").display().to_string();
    repository.git(&["config", "core.excludesFile", &more]);
    repository.put("evil", "x");
    repository.put("also", "x");
    let restored = snapshot.restore(&session()).unwrap();
    assert!(restored.rollback.restored, "{restored:?}");
    assert!(!repository.path("evil").exists() && !repository.path("also").exists());
    let kept = restored.rollback.kept;
    assert_eq!(repository.git(&["show", &format!("{kept}:evil")]), "x");
}

#[test]
fn a_linked_worktree_a_reftable_and_a_split_index_are_repositories_like_others() {
    let main = Repository::new();
    main.put("a", "1");
    main.commit();
    let linked = tempfile::tempdir().unwrap();
    let path = linked.path().join("tree");
    main.git(&[
        "worktree",
        "add",
        "-q",
        "-b",
        "side",
        &path.display().to_string(),
    ]);
    let snapshot = Snapshot::take(&path, &session()).unwrap();
    put(&path.join("a"), "2");
    testing::git(&path, &["commit", "-q", "-a", "-m", "by the agent"]);
    let restored = snapshot.restore(&session()).unwrap();
    assert!(restored.rollback.restored, "{restored:?}");
    assert_eq!(
        testing::git(&path, &["status", "--porcelain", "-b"]),
        "## side"
    );
    assert_eq!(main.git(&["symbolic-ref", "HEAD"]), "refs/heads/main");

    main.git(&["update-index", "--split-index"]);
    check(&main, |main| {
        main.put("a", "2");
        main.git(&["add", "a"]);
    });

    let tables = Repository::new();
    fs::remove_dir_all(tables.path(".git")).unwrap();
    let init = ["init", "-q", "-b", "main", "--ref-format=reftable"];
    if !testing::output(tables.directory.path(), &init)
        .status
        .success()
    {
        return;
    }
    tables.git(&["config", "user.name", "t"]);
    tables.git(&["config", "user.email", "t@t"]);
    tables.put("a", "1");
    tables.commit();
    check(&tables, |tables| {
        tables.put("a", "2");
        tables.commit();
        tables.git(&["checkout", "-q", "--detach"]);
    });
}

#[test]
fn ignored_files_come_back_beside_the_history() {
    let repository = Repository::new();
    repository.put(".gitignore", "build/\n*.log\n.env\n");
    repository.put("src", "1");
    repository.commit();
    repository.put("build/deep/output", "expensive");
    repository.put("build/gone", "here");
    repository.put("x.log", "log");
    repository.put(".env", "SECRET=1");
    let secret = repository.path(".env");
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o700)).unwrap();
    check(&repository, |repository| {
        repository.put("build/deep/output", "newer");
        fs::remove_file(repository.path("build/gone")).unwrap();
        repository.put("new/cache/y.log", "new log");
        fs::remove_file(repository.path("x.log")).unwrap();
        repository.put("x.log/z.log", "a folder now");
        repository.put(".env", "SECRET=2");
    });
    assert!(!repository.path("new").exists());
    // No ref, and thus no push, contains the ignored files.
    let all = repository.git(&["rev-list", "--all", "--objects"]);
    let ids = all.lines().filter_map(|line| line.split(' ').next());
    for id in ids {
        if repository.git(&["cat-file", "-t", id]) == "blob" {
            let text = repository.git(&["cat-file", "blob", id]);
            assert!(!text.contains("SECRET"), "{text}");
        }
    }
}

#[test]
fn more_ignored_files_than_are_covered_are_left_alone() {
    let repository = Repository::new();
    repository.put(".gitignore", "modules/\n");
    repository.put("src", "1");
    repository.commit();
    let fill = |repository: &Repository| {
        for number in 0..4100 {
            repository.put(&format!("modules/{number}"), "x");
        }
    };
    let snapshot = repository.snapshot();
    fill(&repository);
    repository.put("src", "2");
    let restored = snapshot.restore(&session()).unwrap();
    assert!(!restored.rollback.restored);
    let problem = restored.problem.unwrap();
    assert!(problem.contains("too many ignored files"), "{problem}");
    assert_eq!(fs::read_to_string(repository.path("src")).unwrap(), "1");
    // There from the start: not covered, and every bundle states that.
    let snapshot = repository.snapshot();
    repository.put("modules/1", "y");
    repository.put("src", "2");
    let restored = snapshot.restore(&session()).unwrap();
    assert!(restored.rollback.restored, "{restored:?}");
    assert_eq!(
        fs::read_to_string(repository.path("modules/1")).unwrap(),
        "y"
    );
}

#[test]
fn the_rules_of_what_is_ignored_are_those_of_then() {
    let repository = Repository::new();
    repository.put(".gitignore", "modules/\n");
    repository.put("kept", "1");
    repository.commit();
    repository.put("modules/big", "was ignored");
    repository.put("notes", "untracked, and to be hidden");
    let before = repository.files();
    let snapshot = repository.snapshot();
    // Ignored files become visible, and new or changed ones hide.
    repository.put(".gitignore", "evil\nnotes\n");
    repository.put("evil", "hidden");
    repository.put("notes", "overwritten");
    repository.put("sub/.gitignore", "also\n");
    repository.put("sub/also", "hidden");
    let restored = snapshot.restore(&session()).unwrap();
    assert!(restored.problem.is_none(), "{:?}", restored.problem);
    assert!(restored.rollback.restored);
    assert_eq!(repository.files(), before);
    let kept = restored.rollback.kept;
    let show = |path: &str| repository.git(&["show", &format!("{kept}:{path}")]);
    assert_eq!(show("evil"), "hidden");
    assert_eq!(show("notes"), "overwritten");
    assert_eq!(show("sub/also"), "hidden");
    assert_eq!(show("sub/.gitignore"), "also");
    assert_eq!(show(".gitignore"), "evil\nnotes");
}

#[test]
fn submodules_and_nested_repositories_are_left_alone() {
    let repository = Repository::new();
    let other = Repository::new();
    other.put("a", "1");
    other.commit();
    repository.git(&[
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        &other.directory.path().display().to_string(),
        "module",
    ]);
    repository.put("own", "1");
    repository.commit();
    fs::create_dir(repository.path("empty-repository")).unwrap();
    testing::git(&repository.path("empty-repository"), &["init", "-q"]);
    let snapshot = repository.snapshot();
    repository.put("own", "2");
    repository.put("module/a", "changed in the module");
    repository.put("empty-repository/x", "inside");
    let restored = snapshot.restore(&session()).unwrap();
    assert!(restored.rollback.restored, "{restored:?}");
    let read = |name: &str| fs::read_to_string(repository.path(name)).unwrap();
    assert_eq!(read("own"), "1");
    assert_eq!(read("module/a"), "changed in the module");
    assert_eq!(read("empty-repository/x"), "inside");
}

/// Settings, hooks and the stash, which a rollback puts back.
fn settings(repository: &Repository) -> Vec<String> {
    let mut found = vec![repository.git(&["stash", "list"])];
    for name in [
        "config",
        "info/exclude",
        "hooks/pre-commit",
        "hooks/post-commit",
    ] {
        let path = repository.path(".git").join(name);
        let mode = fs::symlink_metadata(&path).map(|facts| facts.permissions().mode());
        let bytes = fs::read(&path).unwrap_or_default();
        found.push(format!("{name} {:?} {bytes:?}", mode.ok()));
    }
    found
}

#[test]
fn settings_hooks_and_the_stash_come_back() {
    let repository = Repository::new();
    repository.put("a", "1");
    repository.commit();
    repository.put(".git/hooks/pre-commit", "#!/bin/sh\n");
    let hook = repository.path(".git/hooks/pre-commit");
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    repository.git(&[
        "config",
        "url.https://user:SECRET@example.org/.insteadOf",
        "x:",
    ]);
    repository.put("a", "stashed by the user");
    repository.git(&["stash"]);
    let before = settings(&repository);
    check(&repository, |repository| {
        repository.git(&["config", "core.fsmonitor", "/bin/true"]);
        repository.git(&["config", "--unset", "user.name"]);
        fs::remove_file(repository.path(".git/hooks/pre-commit")).unwrap();
        symlink("/bin/true", repository.path(".git/hooks/post-commit")).unwrap();
        repository.put(".git/info/exclude", "hidden\n");
        repository.put("hidden", "x");
        repository.git(&["stash", "drop"]);
    });
    let after = settings(&repository);
    assert_eq!(after[1..], before[1..]);
    assert_eq!(
        repository.git(&["show", "stash@{0}:a"]),
        "stashed by the user"
    );
    // Nothing that a push could send holds a setting.
    let all = repository.git(&["rev-list", "--all", "--objects", "--no-object-names"]);
    for id in all.lines() {
        let text = testing::output(repository.directory.path(), &["cat-file", "-p", id]);
        assert!(!String::from_utf8_lossy(&text.stdout).contains("SECRET"));
    }
    // A folder of hooks that leads elsewhere is not followed.
    let elsewhere = tempfile::tempdir().unwrap();
    check(&repository, |repository| {
        fs::remove_dir_all(repository.path(".git/hooks")).unwrap();
        symlink(elsewhere.path(), repository.path(".git/hooks")).unwrap();
        put(&elsewhere.path().join("pre-commit"), "theirs");
    });
    assert_eq!(settings(&repository)[1..], before[1..]);
    let theirs = fs::read_to_string(elsewhere.path().join("pre-commit"));
    assert_eq!(theirs.unwrap(), "theirs");
    // A first entry of the stash goes as it came.
    let empty = Repository::new();
    empty.put("a", "1");
    empty.commit();
    check(&empty, |empty| {
        empty.put("a", "2");
        empty.git(&["stash"]);
    });
    assert_eq!(empty.git(&["stash", "list"]), "");
}

#[test]
fn settings_that_other_worktrees_share_and_a_new_nested_repository_are_not_called_restored() {
    let repository = Repository::new();
    repository.put("a", "1");
    repository.commit();
    let snapshot = repository.snapshot();
    fs::create_dir(repository.path("nested")).unwrap();
    testing::git(&repository.path("nested"), &["init", "-q"]);
    let restored = snapshot.restore(&session()).unwrap();
    assert!(!restored.rollback.restored, "{restored:?}");
    assert!(restored.problem.unwrap().contains("`nested`"));
    fs::remove_dir_all(repository.path("nested")).unwrap();
    let restored = snapshot.restore(&session()).unwrap();
    assert!(restored.rollback.restored, "{restored:?}");

    let beside = tempfile::tempdir().unwrap();
    let beside = beside.path().join("tree").display().to_string();
    repository.git(&["worktree", "add", "-q", "--detach", &beside]);
    repository.git(&["config", "core.fsmonitor", "/bin/true"]);
    let restored = snapshot.restore(&session()).unwrap();
    assert!(!restored.rollback.restored, "{restored:?}");
    assert!(restored.problem.unwrap().contains("`.git/config` differs"));
}

#[test]
fn journals_and_grants_go_on() {
    let repository = Repository::new();
    repository.put("a/.role-os/config.toml", "");
    repository.put(".claude/role-os/capabilities.json", "{}");
    repository.put("x", "1");
    repository.commit();
    let snapshot = repository.snapshot();
    repository.put("x", "2");
    repository.put("a/.role-os/sessions/s.jsonl", "line");
    repository.put(".claude/role-os/capabilities.json", "{\"a\":1}");
    let restored = snapshot.restore(&session()).unwrap();
    assert!(restored.rollback.restored);
    let read = |name: &str| fs::read_to_string(repository.path(name)).unwrap();
    assert_eq!(read("x"), "1");
    assert_eq!(read("a/.role-os/sessions/s.jsonl"), "line");
    assert_eq!(read(".claude/role-os/capabilities.json"), "{\"a\":1}");
}

#[test]
fn what_is_in_the_way_stops_it_and_nothing_is_lost() {
    let repository = Repository::new();
    repository.put(".gitignore", "*.o\n");
    repository.put("out", "a file");
    repository.put("other", "1");
    repository.commit();
    let snapshot = repository.snapshot();
    fs::remove_file(repository.path("out")).unwrap();
    repository.put("out/precious.o", "ignored, so in no commit");
    repository.put("other", "2");
    let restored = snapshot.restore(&session()).unwrap();
    assert!(!restored.rollback.restored);
    let problem = restored.problem.unwrap();
    assert!(
        problem.ends_with("`out/precious.o` is in the way"),
        "{problem}"
    );
    assert_ne!(restored.rollback.found, restored.rollback.wanted);
    let read = |name: &str| fs::read_to_string(repository.path(name)).unwrap();
    assert_eq!(read("out/precious.o"), "ignored, so in no commit");
    assert_eq!(read("other"), "2");
    assert_eq!(
        repository.git(&["show", &format!("{}:other", restored.rollback.kept)]),
        "2"
    );
}

#[test]
fn a_repository_without_a_commit_and_one_in_a_conflict_are_taken_as_they_are() {
    let repository = Repository::new();
    repository.put("a", "1");
    check(&repository, |repository| repository.put("a", "2"));
    repository.commit();
    repository.git(&["checkout", "-q", "-b", "side"]);
    repository.put("a", "side");
    repository.commit();
    repository.git(&["checkout", "-q", "main"]);
    repository.put("a", "main");
    repository.commit();
    let merge = testing::output(repository.directory.path(), &["merge", "-q", "side"]);
    assert!(!merge.status.success());
    check(&repository, |repository| {
        repository.put("a", "resolved by the agent");
    });
}

#[test]
fn a_snapshot_is_found_again_and_can_be_forgotten() {
    let repository = Repository::new();
    repository.put("a", "1");
    let find = || Snapshot::find(repository.directory.path(), &session()).unwrap();
    assert_eq!(find(), None);
    let snapshot = repository.snapshot();
    assert_eq!(find(), Some(snapshot.clone()));
    snapshot.forget().unwrap();
    assert_eq!(find(), None);
    let outside = tempfile::tempdir().unwrap();
    Snapshot::take(outside.path(), &session()).unwrap_err();
}

#[test]
fn a_file_that_changed_within_the_clock_of_the_index_is_seen() {
    let repository = Repository::new();
    for round in 0..10 {
        repository.put("a", &format!("{round}"));
        repository.git(&["add", "a"]);
        repository.put("a", "x");
        let snapshot = repository.snapshot();
        let seen = repository.git(&["show", &format!("{}:a", snapshot.commit)]);
        assert_eq!(seen, "x");
    }
}
