//! Bad input of any kind: one clear line, exit 1, nothing written, no panic, no hang, no excessive memory.

use std::fs;
use std::io::Read as _;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::workspace::{ROLEOS, Workspace, ran};

/// Runs the command for people and for programs, and asserts the same message, the code, exit 1, and that nothing was
/// written.
#[track_caller]
fn check(workspace: &Workspace, words: &[&str], code: &str, message: &str) {
    let before = workspace.snapshot();
    let ran = workspace.roleos(words).exits(1);
    assert!(ran.error().contains(message), "{words:?}: {ran:#?}");
    let error = workspace
        .roleos(&[words, &["--json"]].concat())
        .exits(1)
        .json_error();
    assert_eq!(error["code"], code, "{words:?}: {error}");
    assert!(
        error["message"].as_str().unwrap().contains(message),
        "{words:?}: {error}"
    );
    assert!(
        workspace.snapshot() == before,
        "{words:?} changed something"
    );
}

/// Commands that read one bundle.
const READERS: [&[&str]; 5] = [
    &["witness", "verify"],
    &["witness", "show"],
    &["witness", "replay"],
    &["witness", "export"],
    &["witness", "rerun"],
];

/// Returns a workspace with paths that are not files.
fn strange_places() -> Workspace {
    let workspace = Workspace::new();
    fs::create_dir(workspace.path("folder")).unwrap();
    let fifo = Command::new("mkfifo").arg(workspace.path("fifo")).status();
    assert!(fifo.unwrap().success());
    std::os::unix::fs::symlink("loop", workspace.path("loop")).unwrap();
    workspace
}

/// Asserts that each of these is refused, with the code, in a command that reads it.
#[track_caller]
fn check_places(workspace: &Workspace, words: &[&str], places: &[(&str, &str)]) {
    for (place, code) in places {
        let words = [words, &[place]].concat();
        check(workspace, &words, code, &format!("cannot read `{place}`: "));
    }
}

const NOT_FILES: [(&str, &str); 5] = [
    ("folder", "not_a_file"),
    ("fifo", "empty_pipe"),
    ("/dev/zero", "not_a_file"),
    ("/dev/null", "not_a_file"),
    ("/proc/self/mem", "file_unreadable"),
];

const NOT_THERE: [(&str, &str); 3] = [
    ("missing", "file_not_found"),
    ("folder/x/y", "file_not_found"),
    ("loop", "file_unreadable"),
];

#[test]
fn what_is_no_file_is_refused_as_a_bundle() {
    let workspace = strange_places();
    for reader in READERS {
        check_places(&workspace, reader, &NOT_FILES);
    }
    check_places(&workspace, &["witness", "verify"], &NOT_THERE);
    for command in [
        &["scorecard"][..],
        &["curve"],
        &["witness", "list"],
        &["witness", "import"],
    ] {
        check_places(&workspace, command, &NOT_THERE);
    }
    let show = ["witness", "show"];
    let named = |name| [&show[..], &[name]].concat();
    check(
        &workspace,
        &named("missing"),
        "bundle_not_found",
        "there is no bundle `missing`",
    );
    check(
        &workspace,
        &named("latest"),
        "bundle_not_found",
        "no bundle was sealed here yet",
    );
}

#[test]
fn what_is_no_file_is_refused_as_anything_else() {
    let workspace = strange_places();
    for option in [
        "--spec",
        "--plan",
        "--diff",
        "--test-log",
        "--postmortem",
        "--trace",
    ] {
        let words = ["witness", "seal", "--outcome", "solved", option];
        check_places(&workspace, &words, &NOT_FILES);
        check_places(&workspace, &words, &NOT_THERE);
    }
    for words in [
        &["witness", "verify", "x", "--key-file"][..],
        &["ledger", "verify", "--against"],
    ] {
        check_places(&workspace, words, &NOT_FILES);
        check_places(&workspace, words, &NOT_THERE);
    }
}

#[test]
fn what_is_no_bundle_is_refused() {
    let workspace = Workspace::new();
    workspace.write("empty", "");
    workspace.write("text", "x".repeat(1000));
    let noise: Vec<u8> = (0..4_000_u32)
        .flat_map(|n| base::digest(&n.to_le_bytes()))
        .collect();
    workspace.write("noise", noise);
    for reader in &READERS[1..4] {
        for file in ["empty", "text", "noise"] {
            let words = [reader, &[file][..]].concat();
            check(
                &workspace,
                &words,
                "malformed",
                &format!("`{file}` is not a readable bundle"),
            );
        }
    }
    for (file, reason) in [
        ("empty", "too_short"),
        ("text", "bad_magic"),
        ("noise", "bad_magic"),
    ] {
        let answer = workspace
            .roleos(&["--json", "witness", "verify", file])
            .exits(1)
            .json();
        assert_eq!(
            (&answer["verdict"], &answer["reason"]),
            (&"malformed".into(), &reason.into())
        );
        let ran = workspace.roleos(&["witness", "import", file]).exits(1);
        assert!(
            ran.stdout.starts_with(&format!("refused  {file}")),
            "{ran:#?}"
        );
    }
    let answer = workspace
        .roleos(&["--json", "scorecard", "empty", "text", "noise"])
        .exits(0)
        .json();
    assert_eq!(answer["bundles"]["left_out"]["malformed"], 3);
    let listed = workspace
        .roleos(&["witness", "list", "noise", "text"])
        .exits(0)
        .stdout;
    assert!(
        listed.contains("malformed  noise\n") && listed.contains("malformed  text\n"),
        "{listed}"
    );
    assert!(!workspace.path(".role-os").exists(), "nothing was made");
}

#[test]
fn a_file_beyond_the_limit_is_refused_before_it_is_read() {
    let workspace = Workspace::new();
    let huge = fs::File::create(workspace.path("huge.rvww")).unwrap();
    huge.set_len(1 << 30).unwrap();
    let limited = |words: &str| {
        let mut command = Command::new("sh");
        // An allocation of the gigabyte would fail.
        command.args([
            "-c",
            &format!("ulimit -v 300000; exec {ROLEOS} {words} --json"),
        ]);
        command
            .current_dir(workspace.root())
            .env("ROLEOS_ROOT", workspace.root());
        ran(command)
    };
    for words in [
        "witness verify huge.rvww",
        "witness show huge.rvww",
        "witness seal --outcome solved --spec huge.rvww",
    ] {
        let error = limited(words).exits(1).json_error();
        assert_eq!(error["code"], "file_too_large");
        assert!(
            error["message"]
                .as_str()
                .unwrap()
                .contains("it has 1073741824 bytes, the limit is 268435456")
        );
    }
    let answer = limited("scorecard huge.rvww").exits(0).json();
    assert_eq!(answer["bundles"]["left_out"]["unreadable"], 1);
    let answer = limited("witness import huge.rvww").exits(1).json();
    assert_eq!(answer["refused"].as_array().unwrap().len(), 1);
    assert!(!workspace.path(".role-os").exists());
}

#[test]
fn a_pipe_that_never_ends_is_left() {
    let workspace = Workspace::with_config("[witness]\nmax_bundle_mib = 1\n");
    let mut command = workspace.command(&["--json", "witness", "verify", "/dev/stdin"]);
    let mut zeros = Command::new("cat")
        .arg("/dev/zero")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    command.stdin(zeros.stdout.take().unwrap());
    let output = command.output().unwrap();
    zeros.kill().unwrap();
    zeros.wait().unwrap();
    let error: Value = serde_json::from_slice(&output.stderr).unwrap();
    assert_eq!(error["code"], "file_too_large");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn words_that_mean_nothing_are_said() {
    let workspace = Workspace::new();
    let cases: [(&[&str], &str); 14] = [
        (&["frob"], "unrecognized subcommand `frob`"),
        (&["witness", "frob"], "unrecognized subcommand `frob`"),
        (
            &["witness", "verify"],
            "required arguments were not provided: <FILE|TASK>...",
        ),
        (&["witness", "show"], "required arguments were not provided"),
        (
            &["witness", "seal"],
            "required arguments were not provided: --outcome <OUTCOME>",
        ),
        (
            &["witness", "seal", "--outcome", "won"],
            "invalid value `won` for `--outcome <OUTCOME>` [possible values: solved, failed, skipped, error]",
        ),
        (
            &["witness", "seal", "--outcome", "solved", "--mode", "x"],
            "invalid value `x` for `--mode <MODE>`",
        ),
        (
            &["witness", "seal", "--outcome", "solved", "--task-id", "12"],
            "expected 32 hexadecimal digits",
        ),
        (
            &["witness", "seal", "--outcome", "solved", "--fact", "model"],
            "expected NAME=VALUE",
        ),
        (
            &["witness", "seal", "--outcome", "solved", "--rollback", "a"],
            "expected WANTED_TREE:FOUND_TREE",
        ),
        (
            &[
                "witness",
                "verify",
                "x",
                "--key-hex",
                "a",
                "--key-file",
                "b",
            ],
            "cannot be used with",
        ),
        (&["scorecard", "--frob"], "unexpected argument `--frob`"),
        (
            &["curve", "--by", "year"],
            "invalid value `year` for `--by <PERIOD>`",
        ),
        (&["completions", "tcl"], "invalid value `tcl`"),
    ];
    for (words, message) in cases {
        check(&workspace, words, "usage", message);
    }
    check(
        &workspace,
        &["witness", "verify", "x", "--key-hex", "abc"],
        "bad_key",
        "the key is not hexadecimal: it has 3 digits, an odd number",
    );
    check(
        &workspace,
        &["witness", "verify", "x", "--key-hex", "abcg"],
        "bad_key",
        "character 4 is not one of 0-9 and a-f",
    );
    assert!(!workspace.path(".role-os").exists());
}

#[test]
fn without_words_there_is_help() {
    let workspace = Workspace::new();
    for words in [&["witness"][..], &["ledger"], &["key"]] {
        let ran = workspace.roleos(words).exits(1);
        assert!(ran.stderr.contains("\nUsage: roleos"), "{ran:#?}");
    }
}

#[test]
fn settings_that_mean_nothing_are_said() {
    let cases = [
        ("[witness", "line 1"),
        ("[witness]\nthreads = -1\n", "line 2, key `witness.threads`"),
        (
            "[witness]\nmax_bundle_mib = 0\n",
            "expected a whole number from 1 to 4095",
        ),
        ("[rerun]\ntimeout = 1\n", "unknown field `timeout`"),
        ("\u{0}", "line 1"),
    ];
    for (config, message) in cases {
        let workspace = Workspace::with_config(config);
        check(&workspace, &["witness", "list"], "bad_config", message);
        check(
            &workspace,
            &["witness", "seal", "--outcome", "solved"],
            "bad_config",
            "cannot use settings file",
        );
    }
    let workspace = Workspace::new();
    fs::create_dir_all(workspace.path(".role-os/config.toml")).unwrap();
    check(
        &workspace,
        &["key", "list"],
        "bad_config",
        "cannot read settings file",
    );
}

#[test]
fn every_file_gets_its_verdict_even_when_one_cannot_be_read() {
    let workspace = Workspace::new();
    let bundles = workspace.seal_some(2);
    let words = [
        "--json",
        "witness",
        "verify",
        bundles[0].to_str().unwrap(),
        "missing",
        bundles[1].to_str().unwrap(),
    ];
    let ran = workspace.roleos(&words).exits(1);
    assert_eq!(ran.json_lines().len(), 2);
    assert!(ran.stderr.contains("file_not_found"), "{ran:#?}");
}

#[test]
fn a_name_moves_no_cursor_and_stays_on_one_line() {
    let workspace = Workspace::new();
    let ran = workspace
        .roleos(&["witness", "verify", "a\nb\u{1b}[2Jc"])
        .exits(1);
    assert_eq!(
        ran.error(),
        "error: cannot read `a␊b␛[2Jc`: no such file or directory\nhint: check the path"
    );
    let odd: std::ffi::OsString = std::os::unix::ffi::OsStringExt::from_vec(b"\xff.rvww".to_vec());
    let mut command = workspace.command(&["witness", "verify"]);
    command.arg(odd);
    assert!(ran_error(command).contains("cannot read"));
}

fn ran_error(command: Command) -> String {
    ran(command).exits(1).error().to_owned()
}

#[test]
fn what_cannot_be_written_where_it_should_is_said() {
    let workspace = Workspace::new();
    workspace.seal_some(1);
    fs::create_dir(workspace.path("folder")).unwrap();
    let outputs: [&[&str]; 4] = [
        &["witness", "export", "latest", "--out"],
        &["witness", "replay", "latest", "--html"],
        &["ledger", "prove", "0", "--out"],
        &["curve", "--svg"],
    ];
    for words in outputs {
        let to = |out| [words, &[out]].concat();
        check(
            &workspace,
            &to("nowhere/file"),
            "file_not_found",
            "cannot write `nowhere/file`: no such file or directory",
        );
        check(
            &workspace,
            &to("folder"),
            "not_a_file",
            "cannot write `folder`: is a directory",
        );
    }
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let workspace = Workspace::new();
    workspace.seal_some(1);
    let golden = crate::vectors::vector("g14-trace-65535-entries.rvww");
    let golden = golden.to_str().unwrap();
    let commands: [&[&str]; 6] = [
        &["witness", "show", golden],
        &["--json", "witness", "show", golden],
        &["witness", "replay", golden],
        &["witness", "export", golden],
        &["completions", "bash"],
        &["--help"],
    ];
    for words in commands {
        let mut child = workspace
            .command(words)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // Like `head -1`: reads a little, then exits.
        let mut stdout = child.stdout.take().unwrap();
        stdout.read_exact(&mut [0; 1]).unwrap();
        drop(stdout);
        let output = child.wait_with_output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{words:?}");
        assert_eq!(output.status.code(), Some(0), "{words:?}");
    }
}

#[test]
fn an_output_that_is_full_is_an_error() {
    let workspace = Workspace::new();
    workspace.seal_some(1);
    for words in [
        &["witness", "list"][..],
        &["--json", "scorecard"],
        &["completions", "zsh"],
    ] {
        let full = fs::File::options().write(true).open("/dev/full").unwrap();
        let output = workspace.command(words).stdout(full).output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(
            error.contains("cannot write the output: no space left on device"),
            "{error}"
        );
        assert_eq!(output.status.code(), Some(2));
    }
}
