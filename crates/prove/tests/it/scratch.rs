//! A suite mined from a scratch repository, whose test runner is the shell: mining, grading with tricks, isolation,
//! rollback, and runs of the built-in agents.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use prove::boxes::Toolchains;
use prove::envs::Environments;
use prove::grade::Cause;
use prove::grading::{self, Bench};
use prove::mine::progress::Progress;
use prove::mine::screen::Sizes;
use prove::mine::{self, Mined, Plan, Site};
use prove::repo::Repo;
use prove::suite::Member;
use prove::task::Format;
use prove::tree::Trees;
use prove::world::{self, World};

const TEST: &str = "for f in {files}; do . ./$f; done > {report}";
const FIX: &str = "add() { echo $(($1 + $2)); }\nmul() { echo $(($1 * $2)); }\n";

pub(crate) fn git(folder: &Path, arguments: &[&str]) {
    let done = Command::new("git")
        .args([
            "-c",
            "user.name=t",
            "-c",
            "user.email=t@t",
            "-c",
            "init.defaultBranch=main",
        ])
        .args(arguments)
        .current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    assert!(
        done.status.success(),
        "{arguments:?}: {}",
        String::from_utf8_lossy(&done.stderr)
    );
}

pub(crate) fn put(path: impl AsRef<Path>, text: &str) {
    let path = path.as_ref();
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    base::files::write_plainly(path, text.as_bytes()).unwrap();
}

fn test_of(name: &str, call: &str, wanted: &str) -> String {
    format!(
        ". ./lib.sh\nif [ \"$({call})\" = {wanted} ]; then echo \"ok 1 {name}\"; else echo \"not ok 1 {name}\"; fi\necho \"ok 2 {name} runs\"\n"
    )
}

/// Creates a repository with one commit that fixes a fault and adds a function, and some that are not tasks.
fn repository(folder: &Path) {
    git(folder, &["init", "-q", "."]);
    put(folder.join("lib.sh"), "add() { echo $(($1 - $2)); }\n");
    put(
        folder.join("tests/test_add.sh"),
        &test_of("zero", "add 1 0", "1"),
    );
    put(folder.join(".gitignore"), "*.pyc\n");
    git(folder, &["add", "."]);
    git(folder, &["commit", "-qm", "First"]);
    put(folder.join("README.md"), "Words.\n");
    git(folder, &["add", "."]);
    git(folder, &["commit", "-qm", "Write words"]);
    put(folder.join("lib.sh"), FIX);
    put(
        folder.join("tests/test_add.sh"),
        &(test_of("zero", "add 1 0", "1") + &test_of("sum", "add 1 2", "3")),
    );
    put(
        folder.join("tests/test_mul.sh"),
        &test_of("product", "mul 2 3", "6"),
    );
    git(folder, &["add", "."]);
    git(
        folder,
        &[
            "commit",
            "-qm",
            "fix: Return the sum of two numbers instead of their difference in add",
        ],
    );
    put(folder.join("lib.sh"), &format!("{FIX}# a remark\n"));
    put(
        folder.join("tests/test_mul.sh"),
        &(test_of("product", "mul 2 3", "6") + "# a remark\n"),
    );
    git(folder, &["commit", "-qam", "Add remarks"]);
}

struct Scratch {
    folder: tempfile::TempDir,
    repo: Repo,
    trees: Trees,
    envs: Environments,
    mined: mine::Mined,
}

/// Returns the scratch repository and its suite, created once.
fn scratch() -> &'static Scratch {
    static MADE: OnceLock<Scratch> = OnceLock::new();
    MADE.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("source");
        fs::create_dir(&source).unwrap();
        repository(&source);
        let repo = Repo::open(&source).unwrap();
        let (cache, work) = (folder.path().join("cache"), folder.path().join("work"));
        let trees = Trees::open(&repo, &cache, &work).unwrap();
        let envs = Environments::at(&cache.join("env"), Toolchains::default());
        let mined = mine_at(&repo, &plan(&source), &envs, &trees, &work);
        Scratch {
            folder,
            repo,
            trees,
            envs,
            mined,
        }
    })
}

pub(crate) fn mine_at(
    repo: &Repo,
    plan: &Plan,
    envs: &Environments,
    trees: &Trees,
    work: &Path,
) -> Mined {
    let progress = Progress::open(&work.join("tried"), plan, false).unwrap();
    let site = Site {
        envs,
        trees,
        work,
        progress: &progress,
    };
    mine::mine(repo, plan, site, &|_, _, _| {}).unwrap()
}

pub(crate) fn plan(source: &Path) -> Plan {
    Plan {
        name: "x/y".to_owned(),
        source: source.to_string_lossy().into_owned(),
        test: TEST.to_owned(),
        format: Format::Tap,
        setup: String::new(),
        key: Vec::new(),
        limit: 10,
        since: None,
        commits: Vec::new(),
        paths: Vec::new(),
        sizes: Sizes {
            max_lines: 500,
            max_files: 15,
        },
        runs: 2,
        jobs: 2,
        test_seconds: 60,
        issues: std::collections::BTreeMap::new(),
    }
}

fn with_bench<R>(work: impl FnOnce(&Bench<'_>, &Member) -> R) -> R {
    let made = scratch();
    let folder = tempfile::tempdir_in(made.folder.path()).unwrap();
    let bench = Bench {
        repo: &made.repo,
        trees: &made.trees,
        tools: made.envs.tools(),
        env: None,
        work: folder.path(),
    };
    work(&bench, &made.mined.members[0])
}

#[test]
fn a_history_gives_its_one_task_and_says_why_not_the_others() {
    let mined = &scratch().mined;
    let [member] = mined.members.as_slice() else {
        panic!("{mined:?}")
    };
    let names = |set: &std::collections::BTreeSet<String>| {
        set.iter().cloned().collect::<Vec<_>>().join(", ")
    };
    assert_eq!(names(&member.tests.fail_to_pass), "product, sum");
    assert_eq!(
        names(&member.tests.pass_to_pass),
        "product runs, sum runs, zero, zero runs"
    );
    assert_eq!(member.task.test_paths, ["tests/**"]);
    assert_eq!(
        member.issue,
        "Return the sum of two numbers instead of their difference in add\n"
    );
    let reasons: Vec<&str> = mined
        .dropped
        .iter()
        .map(|one| one.reason.as_str())
        .collect();
    assert_eq!(reasons, ["no_fail_to_pass"]);
    // Mined again, it is the same, byte for byte.
    let made = scratch();
    let again = mine_at(
        &made.repo,
        &plan(Path::new(&member.task.source)),
        &made.envs,
        &made.trees,
        &made.folder.path().join("again"),
    );
    assert_eq!(again.members, mined.members);
}

/// Files that an agent writes, with the results.
#[test]
fn tricks_do_not_solve() {
    let forged =
        "echo() { printf '%s\\n' \"$*\" | sed 's/^not ok/ok/'; }\nadd() { printf '%s' 0; }\n";
    for (name, files, expected) in [
        ("the fix", vec![("lib.sh", FIX)], None),
        (
            "the fix and broken tests",
            vec![("lib.sh", FIX), ("tests/test_add.sh", "exit 1\n")],
            None,
        ),
        (
            "tests only",
            vec![("tests/test_add.sh", "echo 'ok 1 sum'\n")],
            Some(Cause::EmptyPatch),
        ),
        (
            "the path of a new test file",
            vec![("tests/test_mul.sh", "echo 'ok 1 product'\n")],
            Some(Cause::EmptyPatch),
        ),
        (
            "settings of runners",
            vec![("conftest.py", "x\n"), (".claude/settings.json", "{}\n")],
            Some(Cause::EmptyPatch),
        ),
        (
            "a changed runner",
            vec![("lib.sh", forged)],
            Some(Cause::Forged),
        ),
        (
            "an early end",
            vec![("lib.sh", "exit 0\n")],
            Some(Cause::Tests),
        ),
        (
            "forged lines",
            vec![(
                "lib.sh",
                "echo 'ok 1 sum'; echo 'ok 2 sum runs'; echo 'ok 1 product'; echo 'ok 1 zero'\nadd() { :; }\n",
            )],
            Some(Cause::Tests),
        ),
        (
            "a skip",
            vec![(
                "lib.sh",
                "echo 'ok 1 sum # SKIP'; echo 'ok 1 product # SKIP'\nadd() { :; }\n",
            )],
            Some(Cause::Tests),
        ),
        ("nothing", vec![], Some(Cause::EmptyPatch)),
    ] {
        let found = with_bench(|bench, member| {
            let tree = bench.work.join("wt");
            bench
                .trees
                .write_agent_tree(&member.task.base_tree, &tree, &[])
                .unwrap();
            for (path, text) in &files {
                put(tree.join(path), text);
            }
            let change = bench
                .trees
                .changes(&member.task.base_tree, &tree)
                .unwrap()
                .patch;
            let (diff, left_out) =
                grading::counted_part(bench.repo, member, &tree, &change).unwrap();
            grading::grade(bench, member, diff, left_out).verdict
        });
        assert_eq!(found.cause, expected, "{name}: {found:?}");
    }
}

#[test]
fn the_agents_tree_holds_nothing_of_the_fix() {
    with_bench(|bench, member| {
        let tree = bench.work.join("wt");
        bench
            .trees
            .write_agent_tree(&member.task.base_tree, &tree, &[&member.task.fix_commit])
            .unwrap();
        let ask = |arguments: &[&str]| {
            let done = Command::new("git")
                .args(arguments)
                .current_dir(&tree)
                .env("GIT_CONFIG_GLOBAL", "/dev/null")
                .output()
                .unwrap();
            String::from_utf8_lossy(&done.stdout).into_owned()
        };
        assert_eq!(ask(&["log", "--all", "--format=%s"]), "base\n");
        assert_eq!(
            ask(&["rev-parse", "HEAD^{tree}"]).trim(),
            member.task.base_tree
        );
        assert_eq!(ask(&["cat-file", "-t", &member.task.fix_commit]), "");
        assert_eq!(ask(&["status", "--porcelain"]), "");
        assert_eq!(ask(&["fsck", "--full"]), "");
        for absent in ["objects/info/alternates", "logs", "hooks", "packed-refs"] {
            assert!(!tree.join(".git").join(absent).exists(), "{absent}");
        }
        let packs = ask(&["cat-file", "--batch-check", "--batch-all-objects"]);
        let fix = bench
            .repo
            .line(&["rev-parse", &format!("{}:lib.sh", member.task.fix_commit)])
            .unwrap();
        assert!(!packs.contains(fix.trim()));
        // A tree that contains it is detected.
        let other = bench.work.join("other");
        assert!(
            bench
                .trees
                .write_agent_tree(&member.task.base_tree, &other, &[&member.task.base_tree])
                .is_err()
        );
    });
}

type Damage = fn(&Path);

const DAMAGES: &[(&str, Damage)] = &[
    ("an edit", |tree| put(tree.join("lib.sh"), "x")),
    ("a new file", |tree| put(tree.join("new\nname"), "x")),
    ("a removed file", |tree| {
        fs::remove_file(tree.join("lib.sh")).unwrap();
    }),
    ("permissions", |tree| {
        fs::set_permissions(tree.join("lib.sh"), fs::Permissions::from_mode(0o4755)).unwrap();
    }),
    ("a link", |tree| {
        symlink("/etc/passwd", tree.join("out")).unwrap();
    }),
    ("a file as a link", |tree| {
        fs::remove_file(tree.join("lib.sh")).unwrap();
        symlink("/etc/passwd", tree.join("lib.sh")).unwrap();
    }),
    ("an edit that git is told to overlook", |tree| {
        git(tree, &["update-index", "--assume-unchanged", "lib.sh"]);
        put(tree.join("lib.sh"), "x");
    }),
    ("an ignored file", |tree| put(tree.join("cache/x.pyc"), "x")),
    ("a file hidden by the clone", |tree| {
        put(tree.join(".git/info/exclude"), "hidden\n");
        put(tree.join("hidden"), "x");
    }),
    ("an empty folder", |tree| {
        fs::create_dir_all(tree.join("empty/folder")).unwrap();
    }),
    ("a nested repository", |tree| {
        fs::create_dir(tree.join("nested")).unwrap();
        git(&tree.join("nested"), &["init", "-q", "."]);
    }),
    ("branches, commits, tags, stashes", |tree| {
        git(tree, &["branch", "other"]);
        git(tree, &["commit", "-q", "--allow-empty", "-m", "more"]);
        git(tree, &["tag", "mark"]);
        put(tree.join("lib.sh"), "x");
        git(tree, &["stash"]);
    }),
    ("settings and hooks", |tree| {
        git(tree, &["config", "core.fsmonitor", "/bin/true"]);
        put(tree.join(".git/hooks/post-checkout"), "#!/bin/sh\n");
    }),
    ("the index", |tree| {
        put(tree.join("lib.sh"), "x");
        git(tree, &["add", "."]);
    }),
    ("the repository as a file", |tree| {
        fs::remove_dir_all(tree.join(".git")).unwrap();
        put(tree.join(".git"), "gitdir: /tmp\n");
    }),
    ("everything", |tree| fs::remove_dir_all(tree).unwrap()),
    ("a closed folder", |tree| {
        fs::set_permissions(tree.join("tests"), fs::Permissions::from_mode(0o0)).unwrap();
    }),
    ("a large file", |tree| {
        fs::File::create(tree.join("big"))
            .unwrap()
            .set_len(4 << 30)
            .unwrap();
    }),
];

#[test]
fn every_damage_is_seen_and_undone() {
    for (name, damage) in DAMAGES {
        with_bench(|bench, member| {
            let (tree, fresh) = (bench.work.join("wt"), bench.work.join("fresh"));
            for folder in [&tree, &fresh] {
                bench
                    .trees
                    .write_agent_tree(&member.task.base_tree, folder, &[])
                    .unwrap();
            }
            let before = World::read(&tree, &[]).unwrap();
            damage(&tree);
            let after = World::read(&tree, &[]).unwrap_or_default();
            assert_ne!(after.hash(), before.hash(), "{name} is not seen");
            let restored = world::restore(&tree, &fresh, &before, &[]).unwrap();
            assert_eq!(
                restored.differences(&before),
                Vec::<PathBuf>::new(),
                "{name}"
            );
            // A restore with another result does not count as successful.
            damage(&tree);
            put(fresh.join("lib.sh"), "sabotage");
            fs::remove_file(tree.join("lib.sh")).ok();
            let sabotaged = world::restore(&tree, &fresh, &before, &[]).unwrap();
            assert_ne!(sabotaged.hash(), before.hash(), "{name}");
        });
    }
}
