//! Real directories, archives and commits, made by the usual programs.

use std::path::{Path, PathBuf};
use std::process::Command;

use oversight::lookup::Snapshot;

use super::*;

const GRANT: &str = ".claude/role-os/capabilities.json";

struct Place {
    _folder: tempfile::TempDir,
    root: PathBuf,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(folder.path()).unwrap();
        Self {
            _folder: folder,
            root,
        }
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        files::write(&path, text.as_bytes(), files::Privacy::Shared).unwrap();
    }

    fn run(&self, program: &str, arguments: &[&str]) {
        let mut command = Command::new(program);
        command.current_dir(&self.root).args(arguments);
        command
            .env("HOME", &self.root)
            .env("GIT_CONFIG_NOSYSTEM", "1");
        let output = command.output().unwrap();
        assert!(
            output.status.success(),
            "{program} {arguments:?} {output:?}"
        );
    }

    fn git(&self, arguments: &[&str]) {
        let own = [
            "-c",
            "user.name=t",
            "-c",
            "user.email=t@example.com",
            "-c",
            "init.defaultBranch=main",
        ];
        let all: Vec<&str> = own.iter().chain(arguments).copied().collect();
        self.run("git", &all);
    }

    /// Creates a repository with a branch `evil` that adds a grant, and a branch `good` that does not.
    fn repository() -> Self {
        let place = Self::new();
        place.git(&["init", "-q"]);
        place.write("a.txt", "1\n");
        place.write(".claude/settings.json", "{}\n");
        place.git(&["add", "-A"]);
        place.git(&["commit", "-qm", "one"]);
        place.git(&["checkout", "-qb", "good"]);
        place.write("a.txt", "2\n");
        place.write("deep/er/b.txt", "b\n");
        place.git(&["add", "-A"]);
        place.git(&["commit", "-qm", "two"]);
        place.git(&["checkout", "-q", "-b", "evil", "main"]);
        place.write(GRANT, "{}");
        place.git(&["add", "-A"]);
        place.git(&["commit", "-qm", "three"]);
        place.git(&["checkout", "-q", "main"]);
        place
    }

    fn search(&self, source: Source<'_>) -> Listing {
        Disk.search(source, &|path| path.contains(".claude/"))
    }

    fn changes(&self, from: Snapshot<'_>) -> Listing {
        self.search(Source::Git {
            directory: &self.root.to_string_lossy(),
            from,
        })
    }

    fn path(&self, name: &str) -> String {
        self.root.join(name).to_string_lossy().into_owned()
    }
}

fn found(path: &str) -> Listing {
    Listing::Found(path.to_owned())
}

#[test]
fn a_directory_is_searched_with_all_below_and_through_links() {
    let place = Place::new();
    place.write("y/.claude/role-os/capabilities.json", "{}");
    place.write("clean/a/b/c.txt", "");
    std::os::unix::fs::symlink(place.root.join("y"), place.root.join("clean/link")).unwrap();
    std::os::unix::fs::symlink(".", place.root.join("clean/circle")).unwrap();
    assert!(matches!(
        place.search(Source::Directory(&place.path("y"))),
        Listing::Found(_)
    ));
    assert!(matches!(
        place.search(Source::Directory(&place.path("clean"))),
        Listing::Found(_)
    ));
    assert_eq!(
        place.search(Source::Directory(&place.path("clean/a"))),
        Listing::Clean
    );
    assert_eq!(
        place.search(Source::Directory(&place.path("none"))),
        Listing::Missing
    );
}

#[test]
fn names_in_archives_are_read() {
    let place = Place::new();
    let long = format!("y/{}/x.txt", "d".repeat(120));
    place.write("y/.claude/role-os/capabilities.json", "{}");
    place.write(&long, "x");
    place.write("clean/src/a.txt", &"a".repeat(2000));
    for (archive, flags) in [("y.tar", "cf"), ("y.tgz", "czf")] {
        place.run("tar", &[flags, archive, "-C", "y", "."]);
        assert_eq!(
            place.search(Source::Archive(&place.path(archive))),
            found(".claude/"),
            "{archive}"
        );
    }
    place.run("tar", &["--format=pax", "-cf", "p.tar", "y"]);
    assert!(matches!(
        place.search(Source::Archive(&place.path("p.tar"))),
        Listing::Found(_)
    ));
    place.run("tar", &["czf", "clean.tgz", "-C", "clean", "."]);
    assert_eq!(
        place.search(Source::Archive(&place.path("clean.tgz"))),
        Listing::Clean
    );
    place.run("python3", &["-m", "zipfile", "-c", "y.zip", "y/.claude"]);
    assert!(matches!(
        place.search(Source::Archive(&place.path("y.zip"))),
        Listing::Found(_)
    ));
    place.run("python3", &["-m", "zipfile", "-c", "c.zip", "clean/src"]);
    assert_eq!(
        place.search(Source::Archive(&place.path("c.zip"))),
        Listing::Clean
    );
    place.write("z.xz", "\u{fffd}7zXZ and more that is not an archive");
    assert_eq!(
        place.search(Source::Archive(&place.path("z.xz"))),
        Listing::Unknown
    );
    assert_eq!(
        place.search(Source::Archive(&place.path("none.tar"))),
        Listing::Missing
    );
    assert_eq!(place.search(Source::Archive("/dev/zero")), Listing::Unknown);
}

#[test]
fn an_entry_below_a_link_of_the_archive_is_not_believed() {
    let place = Place::new();
    place.write("one/a", "");
    place.write("two/l/role-os/c.json", "{}");
    std::os::unix::fs::symlink(".claude", place.root.join("one/l")).unwrap();
    place.run("tar", &["cf", "x.tar", "-C", "one", "l"]);
    place.run("tar", &["rf", "x.tar", "-C", "two", "l/role-os/c.json"]);
    assert_eq!(
        place.search(Source::Archive(&place.path("x.tar"))),
        Listing::Unknown
    );
}

/// Programs read on where a shorter list would end.
#[test]
fn an_archive_that_hides_an_entry_is_not_clean() {
    let place = Place::new();
    place.write("clean/a.txt", "a");
    place.write("y/.claude/role-os/capabilities.json", "{}");
    place.run("tar", &["cf", "one.tar", "-C", "clean", "."]);
    place.run("tar", &["cf", "two.tar", "-C", "y", "."]);
    let mut bytes = fs::read(place.root.join("one.tar")).unwrap();
    bytes.extend(fs::read(place.root.join("two.tar")).unwrap());
    let both = place.root.join("both.tar");
    files::write(&both, &bytes, files::Privacy::Shared).unwrap();
    assert_eq!(
        place.search(Source::Archive(&place.path("both.tar"))),
        found(".claude/")
    );
    place.run("python3", &["-m", "zipfile", "-c", "c.zip", "clean/a.txt"]);
    let mut bytes = fs::read(place.root.join("c.zip")).unwrap();
    let count = bytes.len() - 12;
    bytes[count] = 2;
    files::write(&place.root.join("d.zip"), &bytes, files::Privacy::Shared).unwrap();
    assert_eq!(
        place.search(Source::Archive(&place.path("d.zip"))),
        Listing::Unknown
    );
}

fn compared(place: &Place) {
    assert_eq!(place.changes(Snapshot::Tree("evil")), found(GRANT));
    assert_eq!(place.changes(Snapshot::Restored("evil")), found(GRANT));
    assert_eq!(place.changes(Snapshot::Merge("evil")), found(GRANT));
    assert_eq!(place.changes(Snapshot::Commit("evil")), found(GRANT));
    assert_eq!(place.changes(Snapshot::Tree("evil^{tree}")), found(GRANT));
    assert_eq!(
        place.changes(Snapshot::Tree("refs/heads/evil")),
        found(GRANT)
    );
    for name in ["good", "main", "HEAD", "good~1", "good^", "evil^"] {
        assert_eq!(
            place.changes(Snapshot::Tree(name)),
            Listing::Clean,
            "{name}"
        );
        assert_eq!(
            place.changes(Snapshot::Merge(name)),
            Listing::Clean,
            "{name}"
        );
        assert_eq!(
            place.changes(Snapshot::Restored(name)),
            Listing::Clean,
            "{name}"
        );
    }
    assert_eq!(place.changes(Snapshot::Tree("none")), Listing::Missing);
    assert_eq!(place.changes(Snapshot::Index), Listing::Clean);
}

#[test]
fn changes_of_git_are_read_from_loose_objects_and_from_packs() {
    let place = Place::repository();
    compared(&place);
    place.git(&["gc", "-q", "--aggressive", "--prune=now"]);
    assert!(!place.root.join(".git/refs/heads/evil").exists());
    compared(&place);
}

#[test]
fn abbreviations_and_names_of_the_past_are_resolved() {
    let place = Place::repository();
    let id = fs::read_to_string(place.root.join(".git/refs/heads/evil")).unwrap();
    for digits in [7, 12, 40] {
        let name = id.get(..digits).unwrap();
        assert_eq!(place.changes(Snapshot::Tree(name)), found(GRANT), "{name}");
    }
    assert_eq!(place.changes(Snapshot::Tree("-")), found(GRANT));
    assert_eq!(place.changes(Snapshot::Tree("@{-1}")), found(GRANT));
    place.git(&["tag", "-a", "-m", "x", "v1", "evil"]);
    assert_eq!(place.changes(Snapshot::Tree("v1")), found(GRANT));
}

#[test]
fn a_file_that_is_put_back_or_removed_counts() {
    let place = Place::repository();
    place.write(".claude/settings.json", "{\"hooks\":{}}\n");
    // Switching keeps a local change, restoring does not.
    assert_eq!(place.changes(Snapshot::Tree("good")), Listing::Clean);
    assert_eq!(
        place.changes(Snapshot::Restored("HEAD")),
        found(".claude/settings.json")
    );
    assert_eq!(
        place.changes(Snapshot::Index),
        found(".claude/settings.json")
    );
    place.git(&["checkout", "-q", ".claude"]);
    place.git(&["rm", "-q", ".claude/settings.json"]);
    place.git(&["commit", "-qm", "none"]);
    place.git(&["branch", "bare"]);
    place.git(&["checkout", "-q", "good"]);
    assert_eq!(
        place.changes(Snapshot::Tree("bare")),
        found(".claude/settings.json")
    );
}

#[test]
fn a_stash_and_an_index_are_read() {
    let place = Place::repository();
    place.write(GRANT, "{}");
    place.git(&["stash", "-q", "-u"]);
    assert_eq!(place.changes(Snapshot::Commit("stash")), found(GRANT));
    assert_eq!(place.changes(Snapshot::Commit("stash@{0}")), found(GRANT));
    place.git(&["stash", "drop", "-q"]);
    assert_eq!(place.changes(Snapshot::Commit("stash")), Listing::Missing);
    place.git(&["read-tree", "evil"]);
    assert_eq!(place.changes(Snapshot::Index), found(GRANT));
}

#[test]
fn content_that_is_there_already_changes_nothing() {
    let place = Place::repository();
    assert_eq!(place.changes(Snapshot::Commit("evil")), found(GRANT));
    assert_eq!(place.changes(Snapshot::Reverted("evil")), Listing::Clean);
    place.write(GRANT, "{}");
    assert_eq!(place.changes(Snapshot::Commit("evil")), Listing::Clean);
    assert_eq!(place.changes(Snapshot::Reverted("evil")), found(GRANT));
    place.write(GRANT, "{ }");
    assert_eq!(place.changes(Snapshot::Commit("evil")), found(GRANT));
}

#[test]
fn a_damaged_repository_is_not_believed() {
    let place = Place::repository();
    let objects = place.root.join(".git/objects");
    for folder in fs::read_dir(&objects).unwrap().flatten() {
        if folder.file_name().len() == 2 {
            for object in fs::read_dir(folder.path()).unwrap().flatten() {
                fs::remove_file(object.path()).unwrap();
                files::write(&object.path(), b"x", files::Privacy::Shared).unwrap();
            }
        }
    }
    assert_eq!(place.changes(Snapshot::Tree("evil")), Listing::Unknown);
    assert!(Path::new(&place.path(".git")).exists());
}

#[test]
fn files_arrive_as_what_they_are() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).to_string_lossy().into_owned();
    files::write(
        Path::new(&path("a.sh")),
        b"git push\n",
        files::Privacy::Shared,
    )
    .unwrap();
    files::write(
        Path::new(&path("b")),
        b"\x7fELF\0\0",
        files::Privacy::Shared,
    )
    .unwrap();
    assert_eq!(
        Disk.read(&path("a.sh")),
        Content::Text("git push\n".to_owned())
    );
    assert!(!Disk.may_start(&path("a.sh")));
    let started = std::os::unix::fs::PermissionsExt::from_mode(0o744);
    fs::set_permissions(path("a.sh"), started).unwrap();
    assert!(Disk.may_start(&path("a.sh")));
    assert!(Disk.may_start(&path("c")));
    assert_eq!(Disk.read(&path("b")), Content::Binary);
    assert_eq!(Disk.read(&path("c")), Content::Missing);
    assert_eq!(Disk.read(&path("")), Content::Missing);
    assert_eq!(Disk.list(&path("")), ["a.sh", "b"]);
    assert!(Disk.list(&path("c")).is_empty());
}

#[test]
fn links_are_followed_even_to_what_does_not_exist_yet() {
    let directory = tempfile::tempdir().unwrap();
    let top = fs::canonicalize(directory.path()).unwrap();
    let path = |name: &str| top.join(name).to_string_lossy().into_owned();
    fs::create_dir(top.join("real")).unwrap();
    fs::create_dir(top.join("real/deep")).unwrap();
    std::os::unix::fs::symlink("real", top.join("link")).unwrap();
    std::os::unix::fs::symlink(top.join("real/deep"), top.join("down")).unwrap();
    std::os::unix::fs::symlink("link/new", top.join("dangling")).unwrap();
    std::os::unix::fs::symlink("circle", top.join("circle")).unwrap();
    assert_eq!(Disk.real(&path("link")), path("real"));
    assert_eq!(Disk.real(&path("link/new/file")), path("real/new/file"));
    assert_eq!(Disk.real(&path("dangling")), path("real/new"));
    // The parent of a link's target, not of the link.
    assert_eq!(Disk.real(&path("down/../x")), path("real/x"));
    assert_eq!(Disk.real(&path("./a//../b")), path("b"));
    assert!(Disk.real(&path("circle")).ends_with("circle"));
}

#[test]
fn a_device_is_not_opened() {
    assert!(matches!(Disk.read("/dev/zero"), Content::Unreadable(_)));
}

#[test]
fn work_that_no_commit_and_no_other_branch_holds_is_seen() {
    let place = Place::new();
    place.git(&["init", "-q"]);
    place.write("src/a.txt", "one");
    place.write(".gitignore", "/target/\n*.log\n!keep.log\n");
    place.git(&["add", "-A"]);
    place.git(&["commit", "-qm", "one"]);
    let root = place.root.to_string_lossy().into_owned();
    let loses = |work| Disk.loses(&root, work);
    assert_eq!(loses(Work::Changes), Some(false));
    assert_eq!(loses(Work::NewFiles), Some(false));
    place.write("target/debug/x", "built");
    place.write("src/x.log", "noise");
    assert_eq!(loses(Work::NewFiles), Some(false));
    place.write("src/keep.log", "mine");
    assert_eq!(loses(Work::NewFiles), Some(true));
    assert_eq!(loses(Work::Changes), Some(false));
    place.write("src/a.txt", "two");
    assert_eq!(loses(Work::Changes), Some(true));
    place.git(&["add", "src/a.txt"]);
    assert_eq!(loses(Work::Changes), Some(true));
    place.git(&["commit", "-qm", "two"]);
    assert_eq!(loses(Work::Changes), Some(false));
    let of_head = |to| Work::Commits { of: "HEAD", to };
    assert_eq!(loses(of_head(Some("HEAD~1"))), Some(true));
    assert_eq!(loses(of_head(Some("HEAD"))), Some(false));
    place.git(&["branch", "beside"]);
    assert_eq!(loses(of_head(Some("HEAD~1"))), Some(false));
    let beside = Work::Commits {
        of: "beside",
        to: None,
    };
    assert_eq!(loses(beside), Some(false));
    place.git(&["checkout", "-q", "beside"]);
    place.git(&["commit", "-q", "--allow-empty", "-m", "three"]);
    place.git(&["checkout", "-q", "-"]);
    assert_eq!(loses(beside), Some(true));
    place.git(&["update-ref", "refs/remotes/origin/beside", "beside"]);
    place.git(&["pack-refs", "--all"]);
    assert_eq!(loses(beside), Some(false));
    assert_eq!(Disk.loses("/", Work::Changes), None);
}
