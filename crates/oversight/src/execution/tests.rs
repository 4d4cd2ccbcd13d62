//! Programs that are about to begin, as arguments, and their actions.

use super::*;
use crate::grants::Grants;
use crate::verdict::decide_command;
use actions::lookup::{Content, Nothing};

fn execution(words: &[&str]) -> Execution {
    Execution {
        names: vec![base_name(words[0]).to_owned()],
        words: words.iter().map(|word| (*word).to_owned()).collect(),
        directory: "/w".to_owned(),
        ..Execution::default()
    }
}

#[track_caller]
fn finds(words: &[&str], actions: &[&str]) {
    assert_eq!(
        execution(words).actions(&Policy::default(), "/home", &Nothing),
        actions,
        "{words:?}"
    );
}

#[track_caller]
fn check(words: &[&str], actions: &[&str]) {
    finds(words, actions);
    let policy = Policy::default();
    let is_found = |name: &&str| is_of_interest(&policy.catalog, base_name(name));
    assert!(
        actions.is_empty() || words.first().is_some_and(is_found),
        "{words:?}"
    );
}

#[test]
fn one_process_is_every_program_that_it_runs_within_itself() {
    check(&["git", "push", "origin"], &["git:push"]);
    check(&["/usr/bin/git", "-C", "x", "push"], &["git:push"]);
    check(&["git", "push", "--dry-run"], &[]);
    check(&["git", "log", "push"], &[]);
    check(&["/usr/lib/git-core/git-push", "origin"], &["git:push"]);
    check(&["git-receive-pack", "/r.git"], &["git:push"]);
    check(&["ssh", "h", "git-receive-pack 'r.git'"], &["git:push"]);
    check(&["ssh", "h", "git-upload-pack 'r.git'"], &[]);
    check(
        &["node", "/usr/lib/npm/bin/npm-cli.js", "publish"],
        &["npm:publish"],
    );
    check(
        &[
            "node",
            "-r",
            "x",
            "--no-warnings",
            "/usr/bin/npm",
            "publish",
        ],
        &["npm:publish"],
    );
    check(&["node", "build.js", "npm", "publish"], &[]);
    check(&["node", "-e", "x", "npm", "publish"], &[]);
    check(
        &["python3", "-m", "twine", "upload", "x"],
        &["pypi:publish"],
    );
    check(
        &["python3.11", "-Im", "twine", "upload", "x"],
        &["pypi:publish"],
    );
    check(&["python3", "-mtwine", "upload", "x"], &["pypi:publish"]);
    check(
        &["python3", "/v/bin/twine", "upload", "x"],
        &["pypi:publish"],
    );
    check(
        &["python3", "/v/twine/__main__.py", "upload", "x"],
        &["pypi:publish"],
    );
    check(&["python3", "-c", "x", "twine", "upload"], &[]);
    check(
        &[
            "/lib64/ld-linux-x86-64.so.2",
            "--library-path",
            "/l",
            "/usr/bin/git",
            "push",
        ],
        &["git:push"],
    );
    check(&["busybox", "git", "push"], &["git:push"]);
    check(&["valgrind", "--tool=none", "git", "push"], &["git:push"]);
    check(
        &["qemu-x86_64", "-L", "/", "/bin/git", "push"],
        &["git:push"],
    );
    // Shells are followed only if the execution is judged for another reason.
    finds(&["/bin/sh", "/usr/bin/git", "push", "./x"], &["git:push"]);
    finds(&["bash", "-e", "git", "push"], &["git:push"]);
    check(&["bash", "-ec", "git", "push"], &[]);
    check(&["bash", "-c", "git push"], &[]);
    check(&["echo", "git", "push"], &[]);
}

/// A program that git starts by itself for a push is a push, whatever its name.
#[test]
fn a_part_of_a_push_counts_by_its_words() {
    const OBJECTS: &[&str] = &[
        "pack-objects",
        "--all-progress-implied",
        "--revs",
        "--stdout",
        "--thin",
    ];
    let with = |name: &'static str| [&[name], OBJECTS].concat();
    finds(&with("git"), &["git:push"]);
    finds(&with("/usr/lib/git-core/git"), &["git:push"]);
    finds(&with("./x"), &["git:push"]);
    // Serving a fetch, a bundle, a repack.
    let rest = ["--revs", "--thin", "--stdout", "--delta-base-offset"];
    finds(&[&["git", "pack-objects"], &rest[..]].concat(), &[]);
    let rest = ["--stdout", "--thin", "--all-progress-implied"];
    finds(&[&["git", "pack-objects"], &rest[..]].concat(), &[]);
    finds(&["./x", "h", "git-receive-pack '/r.git'"], &["git:push"]);
    finds(&["./x", "h", "git receive-pack '/r'"], &["git:push"]);
    finds(&["./x", "-p", "22", "h", "git-upload-pack '/r'"], &[]);
    finds(&["plink", "h", "git-receive-pack", "r"], &["git:push"]);
    finds(&["./x", "send-pack", "--stateless-rpc", "u"], &["git:push"]);
    // Search patterns, which are not run.
    finds(&["rg", "git-receive-pack", "src"], &[]);
    finds(&["rg", "git-receive-pack 'r'"], &[]);
    finds(&["rg", "-n", "git-receive-pack"], &[]);
    finds(&["rg", "send-pack"], &[]);
    finds(&["rg", "receive-pack", "src"], &[]);
    finds(&["rg", "pack-objects", "--stdout"], &[]);
}

/// A fetch starts the same helper, below git.
#[test]
fn a_helper_that_git_has_not_started_is_a_push() {
    for words in [
        ["git", "remote-https", "origin", "https://h/r"].as_slice(),
        &["/lib/git-core/git-remote-ext", "origin", "ssh h %S r"],
    ] {
        finds(words, &["git:push"]);
        let below = Execution {
            is_below_git: true,
            ..execution(words)
        };
        let actions = below.actions(&Policy::default(), "/home", &Nothing);
        assert!(actions.is_empty(), "{words:?}");
    }
    finds(&["git", "remote", "-v"], &[]);
    finds(&["git", "remote-https"], &[]);
}

#[test]
fn what_a_loader_loads_is_what_its_bytes_are() {
    let of = |name: &str, loads: Option<&str>, words: &[&str]| {
        let execution = Execution {
            names: vec![name.to_owned()],
            loads: loads.map(str::to_owned),
            ..execution(words)
        };
        execution.actions(&Policy::default(), "/home", &Nothing)
    };
    let words = ["./x", "--argv0", "ls", "./harmless", "push", "origin"];
    assert_eq!(of(LOADER, Some("git"), &words), ["git:push"]);
    assert!(of(LOADER, None, &words).is_empty());
    assert!(of("x", Some("git"), &words).is_empty());
    let text: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    assert_eq!(loaded(&text), Some("./harmless"));
    assert!(loads(LOADER) && loads("ld-linux-x86-64.so.2") && !loads("ls"));
}

#[test]
fn the_name_by_which_a_program_of_many_is_called_counts() {
    let policy = Policy::default();
    let of = |names: &[&str], words: &[&str]| {
        let execution = Execution {
            names: names.iter().map(|name| (*name).to_owned()).collect(),
            ..execution(words)
        };
        execution.actions(&policy, "/home", &Nothing)
    };
    assert!(of(&["busybox"], &["echo", "git", "push"]).is_empty());
    assert!(of(&["git"], &["git-upload-pack", "push"]).is_empty());
    assert_eq!(of(&["git"], &["ls", "push"]), ["git:push"]);
    assert_eq!(of(&["git", "x"], &["./x", "push"]), ["git:push"]);
}

/// The same command before it runs and at its start is one act.
#[test]
fn the_act_is_that_of_the_literal_command() {
    let policy = Policy::default();
    for (words, given, text) in [
        (
            &["git", "push", "origin", "main"] as &[&str],
            &[] as &[(&str, &str)],
            "git push origin main",
        ),
        (&["/usr/bin/git", "push"], &[], "/usr/bin/git push"),
        (
            &["git", "push", "a b"],
            &[("GIT_TRACE", "1"), ("OTHER", "x")],
            "GIT_TRACE=1 git push 'a b'",
        ),
        (
            &["npm", "publish"],
            &[("npm_lifecycle_event", "x")],
            "npm publish",
        ),
    ] {
        let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let execution = Execution {
            given: given.iter().map(own).collect(),
            ..execution(words)
        };
        let place = Place {
            directory: "/w",
            home: "/home",
        };
        let before = decide_command(
            &policy,
            text,
            place,
            &Nothing,
            &Grants::none(),
            Timestamp::UNIX_EPOCH,
        );
        assert_eq!(
            execution.act(&policy, "/home", &Nothing),
            before.act,
            "{text}"
        );
        assert_eq!(execution.input()["command"], text);
    }
}

/// Files by path.
struct Files(&'static [(&'static str, &'static str)]);

impl Lookup for Files {
    fn read(&self, path: &str) -> Content {
        let found = self.0.iter().find(|(known, _)| *known == path);
        found.map_or(Content::Missing, |(_, text)| {
            Content::Text((*text).to_owned())
        })
    }

    fn list(&self, _: &str) -> Vec<String> {
        Vec::new()
    }
}

const ALIASES: Files = Files(&[
    (
        "/home/.config/gh/config.yml",
        "git_protocol: https\naliases:\n    open: pr create --title $1\n    sh: '!gh pr create'\neditor:\n",
    ),
    ("/set/config.yml", "aliases:\n  mk: release create\n"),
    (
        "/w/.cargo/config.toml",
        "[alias]\nship = \"publish --no-verify\"\ntwice = [\"ship\", \"-q\"]\nloop = \"loop\"\n",
    ),
    (
        "/.cargo/config",
        "alias.far = \"publish\"\nalias.ship = \"build\"\n",
    ),
    ("/home/.cargo/config.toml", "[alias]\nhome = \"publish\"\n"),
    ("/cargo/config.toml", "[alias]\nthere = \"publish\"\n"),
    (
        "/home/.config/jj/config.toml",
        "[aliases]\nup = [\"git\", \"push\"]\nx = [\"util\", \"exec\", \"--\", \"git\", \"push\"]\n",
    ),
    (
        "/w/.jj/repo/config.toml",
        "aliases.here = [\"git\", \"push\"]\n",
    ),
    ("/w/extra.toml", "[aliases]\nout = [\"git\", \"push\"]\n"),
]);

/// Arguments of a program, its environment, and its actions.
type Started = (
    &'static [&'static str],
    &'static [(&'static str, &'static str)],
    &'static [&'static str],
);

#[test]
fn an_alias_that_a_program_resolves_by_itself_is_what_it_stands_for() {
    let policy = Policy::default();
    let rows: &[Started] = &[
        (&["gh", "open", "x"], &[], &["gh:pr-create"]),
        (&["gh", "sh"], &[], &[]),
        (&["gh", "pr", "list"], &[], &[]),
        (
            &["gh", "mk", "v1"],
            &[("GH_CONFIG_DIR", "/set")],
            &["gh:release"],
        ),
        (&["gh", "mk", "v1"], &[], &[]),
        (&["cargo", "ship"], &[], &["cargo:publish"]),
        (
            &["cargo", "+nightly", "--color", "never", "ship"],
            &[],
            &["cargo:publish"],
        ),
        (&["cargo", "twice"], &[], &["cargo:publish"]),
        (&["cargo", "loop"], &[], &[]),
        (&["cargo", "far"], &[], &["cargo:publish"]),
        (&["cargo", "home"], &[], &["cargo:publish"]),
        (&["cargo", "home"], &[("HOME", "/else")], &[]),
        (
            &["cargo", "there"],
            &[("CARGO_HOME", "/cargo")],
            &["cargo:publish"],
        ),
        (
            &["cargo", "of-env"],
            &[("CARGO_ALIAS_OF_ENV", "publish")],
            &["cargo:publish"],
        ),
        (
            &["cargo", "--config", "alias.now=\"publish\"", "now"],
            &[],
            &["cargo:publish"],
        ),
        (&["cargo", "build", "ship"], &[], &[]),
        (&["cargo", "test", "--", "ship"], &[], &[]),
        (&["jj", "up", "-b", "main"], &[], &["jj:push"]),
        (&["jj", "-R", "..", "here"], &[], &["jj:push"]),
        (&["jj", "x"], &[], &[]),
        (
            &["jj", "--config-file=extra.toml", "out"],
            &[],
            &["jj:push"],
        ),
        (
            &["jj", "--config", "aliases.z=['git','push']", "z"],
            &[],
            &["jj:push"],
        ),
        (&["jj", "log"], &[], &[]),
    ];
    for (words, variables, actions) in rows {
        let set = variables
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let execution = Execution {
            environment: set.collect(),
            ..execution(words)
        };
        let found = execution.actions(&policy, "/home", &ALIASES);
        assert_eq!(found, *actions, "{words:?} {variables:?}");
    }
}

#[test]
fn a_connection_is_its_socket_and_nothing_else() {
    let policy = Policy::default();
    let to = |socket: &str| Execution {
        socket: Some(socket.to_owned()),
        ..execution(&["docker", "push", "x"])
    };
    let acts = |socket: &str| to(socket).actions(&policy, "/home", &Nothing);
    assert_eq!(acts("/run/docker.sock"), ["daemon:launch"]);
    assert!(acts("/run/nscd/socket").is_empty());
    let act = |socket: &str| to(socket).act(&policy, "/home", &Nothing);
    assert_ne!(act("/run/docker.sock"), act("/run/user/1/docker.sock"));
    assert_eq!(
        act("/run/docker.sock").facts[0].words,
        ["push", "x", "unix:/run/docker.sock"]
    );
}

#[test]
fn helpers_of_git_name_where_they_go() {
    let to = |words: &[&str]| execution(words).helper().and_then(|helper| helper.to);
    assert_eq!(
        to(&["git", "remote-https", "origin", "https://h/r"]).as_deref(),
        Some("https://h/r")
    );
    assert_eq!(
        to(&["git", "send-pack", "--stateless-rpc", "https://h/r"]).as_deref(),
        Some("https://h/r")
    );
    assert_eq!(
        to(&["ssh", "-o", "x", "h", "git-receive-pack 'a/r.git'"]).as_deref(),
        Some("a/r.git")
    );
    assert_eq!(
        to(&["/bin/sh", "-c", "git-receive-pack '/r.git'"]).as_deref(),
        Some("/r.git")
    );
    assert_eq!(execution(&["sh", "-c", "make"]).helper(), None);
}

#[test]
fn a_command_that_git_corrects_is_the_nearest_one() {
    const GIT: Files = Files(&[
        (
            "/home/.gitconfig",
            "[alias]\n  psu = status\n[include]\n  path = more\n[help]\n  autocorrect = never\n",
        ),
        (
            "/home/more",
            "[alias]\n  puhs = status\n[help]\n  autocorrect = 10\n",
        ),
        ("/else/.gitconfig", "[help]\n  autocorrect = -1\n"),
        ("/off/.gitconfig", "[help]\n  autocorrect = show\n"),
        ("/wide/git/config", "[help]\n  autocorrect = immediate\n"),
        ("/tree/config", "[help]\n  autocorrect = prompt\n"),
        ("/bin/git-pusj", "x"),
        ("/other/git-pusk", "x"),
    ]);
    let policy = Policy::default();
    let rows: &[Started] = &[
        (&["git", "psuh", "origin"], &[], &["git:push"]),
        (
            &["git", "-c", "help.autocorrect=1", "upsh"],
            &[],
            &["git:push"],
        ),
        (&["git", "-C", "x", "pussh", "origin"], &[], &["git:push"]),
        (&["git", "sedn-pack", "x"], &[], &["git:push"]),
        (&["git", "psuh", "--dry-run"], &[], &[]),
        (&["git", "psuh"], &[("HOME", "/off")], &[]),
        (
            &["git", "-c", "help.autocorrect=1", "psuh"],
            &[("HOME", "/off")],
            &["git:push"],
        ),
        (
            &["git", "--config-env=help.autocorrect=A", "psuh"],
            &[("HOME", "/off"), ("A", "1")],
            &["git:push"],
        ),
        (
            &["git", "psuh"],
            &[
                ("HOME", "/off"),
                ("GIT_CONFIG_COUNT", "1"),
                ("GIT_CONFIG_KEY_0", "help.autoCorrect"),
                ("GIT_CONFIG_VALUE_0", "1"),
            ],
            &["git:push"],
        ),
        (
            &["git", "psuh"],
            &[
                ("HOME", "/off"),
                ("GIT_CONFIG_PARAMETERS", "'help.autocorrect'='1'"),
            ],
            &["git:push"],
        ),
        (
            &["git", "psuh"],
            &[("HOME", "/off"), ("XDG_CONFIG_HOME", "/wide")],
            &["git:push"],
        ),
        (
            &["git", "psuh"],
            &[("HOME", "/off"), ("GIT_CONFIG_GLOBAL", "/wide/git/config")],
            &["git:push"],
        ),
        (
            &["git", "psuh"],
            &[("HOME", "/off"), ("GIT_DIR", "/tree")],
            &["git:push"],
        ),
        (
            &["git", "--git-dir=/tree", "psuh"],
            &[("HOME", "/off")],
            &["git:push"],
        ),
        (&["git", "stauts"], &[], &[]),
        // An alias or a program is not corrected.
        (&["git", "psu"], &[], &[]),
        (&["git", "puhs"], &[], &[]),
        (&["git", "puhs"], &[("HOME", "/else")], &["git:push"]),
        (&["git", "-c", "alias.psuh=status", "psuh"], &[], &[]),
        (&["git", "pusj"], &[], &[]),
        (&["git", "pusk"], &[], &["git:push"]),
        (&["git", "pusk"], &[("PATH", "/bin:/other")], &[]),
        (&["git", "--version", "psuh"], &[], &[]),
    ];
    for (words, variables, actions) in rows {
        let set = variables
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let execution = Execution {
            environment: set.collect(),
            ..execution(words)
        };
        assert!(execution.has_aliases() || actions.is_empty(), "{words:?}");
        let found = execution.actions(&policy, "/home", &GIT);
        assert_eq!(found, *actions, "{words:?} {variables:?}");
    }
}
