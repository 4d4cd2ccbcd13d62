//! Verifiers: passes, failures with reasons, and limits of a hostile command.

use std::fs;
use std::io::Write as _;
use std::net::TcpListener;
use std::time::Duration;

use selection::verifier::Kind;
use serde_json::{Map, json};

use super::*;

fn write(path: impl AsRef<Path>, text: &str) -> std::io::Result<()> {
    fs::File::create(path)?.write_all(text.as_bytes())
}

/// Returns a declared verifier with these settings.
fn declared(kind: Kind, config: &Value) -> Declared {
    Declared {
        kind,
        config: config.as_object().cloned().unwrap_or_default(),
        format: None,
        package: None,
    }
}

fn verifiers() -> Verifiers {
    let mut verifiers = Verifiers::new(&Selection::default());
    verifiers.limits.boxed.time = Duration::from_secs(30);
    verifiers
}

/// Runs a shell script in the sandbox; returns the outcome.
fn script(verifiers: &Verifiers, script: &str) -> Outcome {
    let declared = declared(Kind::UnitTest, &json!({ "command": script }));
    verifiers.verify(
        &declared,
        Subject {
            output: &json!("the answer"),
            input: &json!("the question"),
        },
    )
}

#[track_caller]
fn fails(outcome: &Outcome, part: &str) {
    let Outcome::Fail(why) = outcome else {
        panic!("it passed")
    };
    assert!(why.contains(part), "{why}");
}

#[test]
fn a_schema_beside_the_declaration_is_read_and_made_once() {
    let package = tempfile::tempdir().unwrap();
    let file = package.path().join("out.json");
    write(&file, r#"{"type":"object","required":["a"]}"#).unwrap();
    let declared = Declared {
        package: Some(package.path().to_str().unwrap().to_owned()),
        ..declared(Kind::JsonSchema, &json!({ "schema_path": "out.json" }))
    };
    let verifiers = verifiers();
    let check = |output: Value| {
        let input = Value::Null;
        let subject = Subject {
            output: &output,
            input: &input,
        };
        verifiers.verify(&declared, subject).passed()
    };
    assert!(check(json!({ "a": 1 })));
    assert!(check(json!("{\"a\":1}")));
    assert!(!check(json!({})));
    assert!(!check(json!("")));
    let ready = verifiers.ready(&declared).unwrap();
    assert_eq!(ready.required(), ["a"]);
    assert!(Arc::ptr_eq(&ready, &verifiers.ready(&declared).unwrap()));
    // Other content makes another verifier.
    write(&file, r#"{"type":"array"}"#).unwrap();
    assert!(!check(json!({ "a": 1 })));
}

#[test]
fn a_verifier_that_cannot_be_made_fails_the_output() {
    let verifiers = verifiers();
    let output = json!("x");
    let subject = Subject {
        output: &output,
        input: &output,
    };
    for (kind, config, why) in [
        (Kind::JsonSchema, json!({}), "no schema"),
        (
            Kind::JsonSchema,
            json!({ "schema_path": "a.json" }),
            "no package",
        ),
        (Kind::RuleCheck, json!({}), "rule"),
        (Kind::UnitTest, json!({}), "command"),
    ] {
        fails(&verifiers.verify(&declared(kind, &config), subject), why);
    }
    for path in ["../secret.json", "/etc/passwd", ""] {
        let declared = Declared {
            package: Some("/tmp".to_owned()),
            ..declared(Kind::JsonSchema, &json!({ "schema_path": path }))
        };
        fails(&verifiers.verify(&declared, subject), "leads out");
    }
}

#[test]
fn a_link_does_not_lead_out_of_a_package() {
    let (package, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let secret = outside.path().join("s.json");
    write(&secret, "true").unwrap();
    std::os::unix::fs::symlink(&secret, package.path().join("s.json")).unwrap();
    let folder = package.path().to_str().unwrap();
    assert!(inside(Some(folder), "s.json").is_err());
    assert!(inside(Some(folder), "t.json").is_ok());
}

#[test]
fn a_command_sees_the_output_and_the_input_and_decides_by_its_exit_code() {
    let verifiers = verifiers();
    let all = "test \"$(cat)\" = 'the answer' && test \"$(cat \"$ROLEOS_OUTPUT\")\" = 'the answer' \
               && test \"$(cat \"$ROLEOS_INPUT\")\" = 'the question' && echo x > \"$TMPDIR/x\" && echo y > /tmp/y";
    assert_eq!(script(&verifiers, all), Outcome::Pass);
    fails(
        &script(&verifiers, "echo two tests failed >&2; exit 3"),
        "ended with 3: two tests failed",
    );
    fails(&script(&verifiers, "kill -9 $$"), "137");
    let words = declared(
        Kind::StaticAnalysis,
        &json!({ "command": ["grep", "-q", "answer", "{output}"], "output_file": "said.txt" }),
    );
    let outcome = |output: &str| {
        let output = json!(output);
        let subject = Subject {
            output: &output,
            input: &Value::Null,
        };
        verifiers.verify(&words, subject)
    };
    assert_eq!(outcome("answer"), Outcome::Pass);
    fails(&outcome("no"), "ended with 1");
    fails(&outcome(" "), "empty");
}

#[test]
fn a_command_starts_in_its_package_and_cannot_change_it() {
    let package = tempfile::tempdir().unwrap();
    write(package.path().join("check.sh"), "grep -q answer").unwrap();
    let mut with = Map::new();
    with.insert("command".to_owned(), json!("sh check.sh && ! touch here"));
    let declared = Declared {
        kind: Kind::UnitTest,
        config: with,
        format: None,
        package: Some(package.path().to_str().unwrap().to_owned()),
    };
    let subject = Subject {
        output: &json!("the answer"),
        input: &Value::Null,
    };
    assert_eq!(verifiers().verify(&declared, subject), Outcome::Pass);
    assert!(!package.path().join("here").exists());
}

#[test]
fn nobody_can_be_reached_from_the_sandbox() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    let outcome = script(
        &verifiers(),
        &format!("bash -c 'exec 3<>/dev/tcp/127.0.0.1/{port}'"),
    );
    fails(&outcome, "ended with 1");
    assert!(listener.accept().is_err(), "somebody came through");
}

#[test]
fn nothing_outside_can_be_written_or_looked_at() {
    let outside = tempfile::tempdir().unwrap();
    let file = outside.path().join("x");
    let verifiers = verifiers();
    let path = file.display();
    fails(
        &script(&verifiers, &format!("echo x > '{path}'")),
        "ended with",
    );
    assert!(!file.exists());
    for place in ["/usr/x", "/x", "/etc/x", "/given/x"] {
        fails(
            &script(&verifiers, &format!("echo x > {place}")),
            "ended with",
        );
    }
    assert_eq!(
        script(
            &verifiers,
            "! ls /root /home /var /etc/shadow 2>/dev/null && test -z \"$(env | grep -i cargo)\""
        ),
        Outcome::Pass
    );
}

#[test]
fn a_fork_bomb_is_stopped() {
    let mut verifiers = verifiers();
    verifiers.limits.boxed.processes = 32;
    verifiers.limits.boxed.time = Duration::from_secs(2);
    let bomb = "bomb() { bomb | bomb & }; bomb; sleep 60";
    let outcome = script(&verifiers, bomb);
    assert!(!outcome.passed());
    assert_eq!(script(&verifiers, "true"), Outcome::Pass);
    let many = "i=0; while [ $i -lt 200 ]; do sleep 60 & i=$((i+1)); done; wait";
    assert!(!script(&verifiers, many).passed());
}

#[test]
fn memory_is_limited_for_one_process_and_for_all_together() {
    let mut verifiers = verifiers();
    verifiers.limits.boxed.memory = 64 << 20;
    // A process that holds it all.
    let one = "head -c 300000000 /dev/zero | tail -c 290000000 > /dev/null";
    assert!(
        !script(
            &verifiers,
            &format!("set -e; bash -c 'set -o pipefail; {one}'")
        )
        .passed()
    );
    // Several processes that each stay below the limit.
    let several = "for i in 1 2 3; do (head -c 40000000 /dev/zero | tail -c 40000000 | (sleep 20; cat)) & done; wait";
    fails(&script(&verifiers, several), "MiB of memory");
    assert_eq!(script(&verifiers, "true"), Outcome::Pass);
}

#[test]
fn one_that_prints_without_end_is_stopped() {
    let mut verifiers = verifiers();
    verifiers.limits.boxed.output = 64 << 10;
    fails(&script(&verifiers, "yes"), "printed more than 64 KiB");
    fails(&script(&verifiers, "yes >&2"), "printed more than 64 KiB");
    fails(
        &script(&verifiers, "head -c 100000 /dev/zero"),
        "printed more",
    );
}

#[test]
fn private_folders_are_small() {
    let mut verifiers = verifiers();
    verifiers.limits.scratch = 1 << 20;
    for folder in ["/tmp", "/work", "/dev/shm"] {
        let fill = format!("head -c 3000000 /dev/zero > {folder}/x");
        fails(&script(&verifiers, &fill), "ended with");
    }
}

#[test]
fn limits_hold_against_namespaces_and_memory_of_no_process() {
    let mut verifiers = verifiers();
    verifiers.limits.boxed.memory = 64 << 20;
    verifiers.limits.scratch = 1 << 20;
    // Mounting a larger folder needs a user namespace.
    let mount = "unshare -Urm sh -c 'mount -t tmpfs -o size=1g tmpfs /tmp && head -c 200000000 /dev/zero > /tmp/f'";
    fails(&script(&verifiers, mount), "ended with");
    assert_eq!(script(&verifiers, "! unshare -U true"), Outcome::Pass);
    // Memory that is written to an unnamed file.
    let file = "perl -e '$n = \"x\"; $f = syscall(319, $n, 0); exit($f < 0 ? 7 : 0)'";
    if cfg!(target_arch = "x86_64") {
        fails(&script(&verifiers, file), "ended with 7");
    }
    // Threads, pipes and children work as before.
    assert_eq!(
        script(
            &verifiers,
            "(echo a & echo b & wait) | sort | head -1 | grep -q a"
        ),
        Outcome::Pass
    );
}

#[test]
fn one_that_hangs_is_stopped_with_all_its_children() {
    let mut verifiers = verifiers();
    verifiers.limits.boxed.time = Duration::from_millis(800);
    let mark = format!("{}.25", 100_000 + std::process::id());
    let outcome = script(
        &verifiers,
        &format!("(setsid sleep {mark} &) ; trap '' TERM INT; sleep {mark}"),
    );
    fails(&outcome, "was stopped after");
    let running = || {
        fs::read_dir("/proc").unwrap().flatten().any(|entry| {
            let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&line).contains(&mark)
        })
    };
    for _ in 0..100 {
        if !running() {
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("something of it still runs");
}

#[test]
fn without_a_sandbox_the_verifier_refuses_unless_it_may() {
    let mut verifiers = verifiers();
    verifiers.limits.boxed.program = "/nowhere/bwrap".into();
    fails(
        &script(&verifiers, "true"),
        "cannot run: there is no sandbox",
    );
    // If the kernel refuses, bubblewrap ends before the command starts.
    let folder = tempfile::tempdir().unwrap();
    let refuses = folder.path().join("bwrap");
    write(
        &refuses,
        "#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2; exit 1\n",
    )
    .unwrap();
    let mut mode = fs::metadata(&refuses).unwrap().permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut mode, 0o755);
    fs::set_permissions(&refuses, mode).unwrap();
    verifiers.limits.boxed.program = refuses;
    fails(&script(&verifiers, "true"), "No permissions");
    verifiers.limits.unsandboxed = true;
    assert_eq!(
        script(&verifiers, "test \"$(cat)\" = 'the answer'"),
        Outcome::Pass
    );
    fails(&script(&verifiers, "exit 4"), "ended with 4");
    verifiers.limits.boxed.output = 1 << 10;
    fails(&script(&verifiers, "yes"), "printed more");
}
