//! Real commands under supervision: their ends, attempts to hide, and their fate without a supervisor.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up fails")]
#![cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]

use std::fs;
use std::io::{Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixListener;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags};

/// Returns the path of a program of this crate's `examples/`.
fn example(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let folder = test.parent().and_then(Path::parent).unwrap();
    folder.join("examples").join(name)
}

/// A directory in which the forbidden act leaves a trace.
struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        // Other users must have access.
        let mode = Mode::from_raw_mode(0o777);
        rustix::fs::chmod(folder.path(), mode).unwrap();
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn acted(&self) -> usize {
        fs::read(self.path("acted")).map_or(0, |bytes| bytes.len())
    }

    /// Returns the supervised command: `words` under the rule that nothing called `caller` may `push`.
    fn guarded(&self, words: &[&str]) -> Command {
        let mut command = Command::new(example("guarded"));
        command.args(["--deny", "caller push", "--deny", "forbidden", "--report"]);
        command
            .arg(self.path("report"))
            .arg("--")
            .args(words)
            .current_dir(self.folder.path());
        command
            .env("CALLER", example("caller"))
            .env("GUARDED", example("guarded"));
        command
            .env("ACTED", self.path("acted"))
            .env_remove("ROLEOS_WATCH");
        command.stdin(Stdio::null());
        command
    }

    fn shell(&self, script: &str) -> Output {
        self.guarded(&["/bin/sh", "-c", script]).output().unwrap()
    }

    fn report(&self) -> String {
        fs::read_to_string(self.path("report")).unwrap_or_default()
    }
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Waits until a condition holds; the machine may be busy.
#[track_caller]
fn wait_until(what: &str, holds: impl Fn() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_command_ends_as_it_would_alone() {
    let place = Place::new();
    let rows: &[(&str, Option<i32>, Option<i32>)] = &[
        ("exit 0", Some(0), None),
        ("exit 1", Some(1), None),
        ("exit 255", Some(255), None),
        ("no-such-program", Some(127), None),
        ("/", Some(126), None),
        ("kill -TERM $$", None, Some(15)),
        ("kill -KILL $$", None, Some(9)),
        ("kill -SEGV $$", None, Some(11)),
        ("kill -ABRT $$", None, Some(6)),
    ];
    for (script, exit, signal) in rows {
        let ended = place.shell(script).status;
        assert_eq!((ended.code(), ended.signal()), (*exit, *signal), "{script}");
    }
    let missing = place.guarded(&["no-such-program"]).output().unwrap();
    assert_eq!(missing.status.code(), Some(127));
    let folder = place.guarded(&["/"]).output().unwrap();
    assert_eq!(folder.status.code(), Some(126));
}

#[test]
fn streams_variables_and_folder_pass_through() {
    let place = Place::new();
    let script = "cat; echo out; echo err >&2; pwd; echo \"$GIVEN\"";
    let mut command = place.guarded(&["bash", "-c", script]);
    let mut child = command
        .env("GIVEN", "ö b")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"in\n\0\n").unwrap();
    let output = child.wait_with_output().unwrap();
    let folder = place.folder.path().display();
    assert_eq!(
        String::from_utf8(output.stdout).unwrap(),
        format!("in\n\0\nout\n{folder}\nö b\n")
    );
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "err\n");
}

#[test]
fn the_act_is_refused_by_whatever_road() {
    let place = Place::new();
    let rows = [
        "\"$CALLER\" push \"$ACTED\"",
        "exec \"$CALLER\" push \"$ACTED\"",
        "x=pu; \"$CALLER\" ${x}sh \"$ACTED\"",
        "ln -s \"$CALLER\" other; ./other push \"$ACTED\"",
        "\"$CALLER\" spawn \"$ACTED\"",
        "\"$CALLER\" exec \"$ACTED\"",
        "\"$CALLER\" execveat \"$ACTED\"",
        "\"$CALLER\" descriptor \"$ACTED\"",
        "\"$CALLER\" memory \"$ACTED\"",
        "\"$CALLER\" vfork \"$ACTED\"",
        "\"$CALLER\" thread \"$ACTED\"",
        "\"$CALLER\" many \"$ACTED\"",
        "\"$CALLER\" old-call \"$ACTED\"",
        "printf '#!%s push\\n' \"$CALLER\" > script; chmod +x script; ./script",
        "echo \"\\\"$CALLER\\\" push \\\"$ACTED\\\"\" > plain; chmod +x plain; ./plain",
        "env -i \"$CALLER\" push \"$ACTED\"",
        "(setsid \"$CALLER\" push \"$ACTED\")",
    ];
    for script in rows {
        let output = place.shell(script);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains("guarded: refused"), "{script}: {said}");
        assert_eq!(place.acted(), 0, "{script}");
        assert!(!place.path("script").join("x").exists());
    }
    // The ways themselves work: without the rule each of them acts.
    for way in [
        "spawn",
        "exec",
        "execveat",
        "descriptor",
        "memory",
        "vfork",
        "thread",
    ] {
        let before = place.acted();
        let free = Command::new(example("caller"))
            .arg(way)
            .arg(place.path("acted"))
            .status();
        assert!(free.is_ok());
        wait_until(way, || place.acted() > before);
    }
}

#[test]
fn what_is_exchanged_in_between_is_judged_as_well() {
    let place = Place::new();
    for name in ["permitted", "forbidden"] {
        fs::copy(example("caller"), place.path(name)).unwrap();
    }
    for way in ["race-words", "race-path", "race-name"] {
        let acted = place.path("acted");
        let caller = example("caller");
        let words = [caller.to_str().unwrap(), way, acted.to_str().unwrap()];
        let output = place.guarded(&words).output().unwrap();
        assert_eq!(place.acted(), 0, "{way}: {}", place.report());
        // Some were seen in each state, or the test would prove nothing.
        assert!(
            String::from_utf8_lossy(&output.stderr).contains("refused"),
            "{way}"
        );
        assert!(place.report().contains("execs: "), "{}", place.report());
    }
}

/// The bytes of such a file may have been replaced without a trace after they were judged.
#[test]
fn a_file_that_was_just_written_is_judged_again_when_it_begins() {
    let place = Place::new();
    let log = place.path("log");
    let judged = |script: &str| {
        let ended = Command::new(example("guarded"))
            .arg("--log")
            .arg(&log)
            .args(["--", "/bin/sh", "-c", script])
            .current_dir(place.folder.path())
            .env_remove("ROLEOS_WATCH")
            .stdin(Stdio::null())
            .status();
        assert!(ended.unwrap().success());
        let log = fs::read_to_string(&log).unwrap();
        let of = |when: &str| {
            let lines = log.lines().filter(|line| line.starts_with(when));
            lines.filter(|line| line.contains("/it\" [")).count()
        };
        (of("asked"), of("stopped"))
    };
    // A busy machine may sometimes take too long, but not each time.
    let (asked, again) = judged("for i in $(seq 40); do cp /bin/true it; ./it; rm it; done");
    assert_eq!(asked, 40);
    assert!(again > 0);
    assert_eq!(judged("cp /bin/true it; sleep 0.2; ./it"), (1, 0));
}

#[test]
fn a_daemon_stays_supervised_and_keeps_nobody_waiting() {
    let place = Place::new();
    let script = "setsid sh -c 'while [ ! -e go ]; do sleep 0.05; done; \"$CALLER\" push \"$ACTED\"; echo done > end' \
        </dev/null >/dev/null 2>&1 & echo started";
    let output = place.shell(script);
    assert_eq!(output.stdout, b"started\n");
    assert_eq!(output.status.code(), Some(0));
    fs::File::create(place.path("go")).unwrap();
    wait_until("the daemon ends", || place.path("end").exists());
    assert_eq!(place.acted(), 0);
}

#[test]
fn without_its_supervisor_the_command_ends() {
    let place = Place::new();
    for script in [
        "kill -9 $PPID; sleep 1; \"$CALLER\" push \"$ACTED\"; while :; do :; done",
        "kill -9 $PPID; while :; do :; done",
        "(setsid sh -c 'while :; do sleep 1; done' &) ; kill -9 $PPID; while :; do :; done",
    ] {
        let output = place.shell(script);
        assert_eq!(output.status.code(), Some(125), "{script}");
    }
    assert_eq!(place.acted(), 0);
}

#[test]
fn the_command_ends_with_its_waiting_process() {
    let place = Place::new();
    let mut child = place
        .guarded(&["sh", "-c", "echo $$ > pid; exec sleep 600"])
        .spawn()
        .unwrap();
    wait_until("the command starts", || {
        fs::read(place.path("pid")).is_ok_and(|pid| !pid.is_empty())
    });
    let pid = fs::read_to_string(place.path("pid")).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    let status = format!("/proc/{}/status", pid.trim());
    wait_until("the command ends", || !Path::new(&status).exists());
}

#[test]
fn signals_to_the_waiting_process_reach_the_command() {
    let place = Place::new();
    let script = "trap 'echo usr1; exit 3' USR1; echo ready > ready; while :; do sleep 0.05; done";
    let mut command = place.guarded(&["bash", "-c", script]);
    let child = command.stdout(Stdio::piped()).spawn().unwrap();
    wait_until("the command starts", || place.path("ready").exists());
    let pid = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::USR1).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(
        (output.status.code(), output.stdout.as_slice()),
        (Some(3), b"usr1\n".as_slice())
    );
}

#[test]
fn a_supervisor_below_ours_leaves_the_rule_to_it() {
    let place = Place::new();
    let nested = "\"$GUARDED\" --report inner -- \"$CALLER\" push \"$ACTED\"";
    let output = place.shell(nested);
    assert!(
        String::from_utf8_lossy(&output.stderr).contains("refused"),
        "{output:?}"
    );
    assert_eq!(output.status.code(), Some(126));
    let inner = || fs::read_to_string(place.path("inner")).unwrap();
    assert!(inner().contains("nested: true"), "{}", inner());
    assert_eq!(place.acted(), 0);
    // A name that is not the supervisor's counts as another program's listener.
    for forged in ["ROLEOS_WATCH=1.0", "ROLEOS_WATCH="] {
        let output = place.shell(&format!("{forged} \"$GUARDED\" -- \"$CALLER\" harmless"));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("already holds"), "{said}");
    }
}

#[test]
fn the_tree_cannot_look_into_its_supervisor() {
    let place = Place::new();
    let output = place.shell(
        "cat /proc/$PPID/mem 2>/dev/null | wc -c; tr '\\0' ' ' < /proc/$PPID/cmdline; echo; \
        grep -E 'NoNewPrivs|Seccomp:|CapBnd' /proc/self/status",
    );
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(said.lines().next(), Some("0"), "{said}");
    assert!(!said.contains("guarded"), "{said}");
    let bounding = said
        .lines()
        .find_map(|line| line.strip_prefix("CapBnd:"))
        .unwrap();
    let bounding = u64::from_str_radix(bounding.trim(), 16).unwrap();
    if is_root() {
        assert_eq!(bounding & (1 << 19), 0, "{said}");
    } else {
        assert!(said.contains("NoNewPrivs:\t1"), "{said}");
    }
    assert!(said.contains("Seccomp:\t2"), "{said}");
}

#[test]
fn what_cannot_be_read_is_refused() {
    let place = Place::new();
    let script = "\"$CALLER\" hidden";
    let output = if is_root() {
        // Root can read everything, so another user tries, who has no access to the build directory.
        for name in ["guarded", "caller"] {
            fs::copy(example(name), place.path(name)).unwrap();
        }
        Command::new("setpriv")
            .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
            .arg(place.path("guarded"))
            .args(["--deny", "caller push", "--", "/bin/sh", "-c", script])
            .env("CALLER", place.path("caller"))
            .env_remove("ROLEOS_WATCH")
            .output()
            .unwrap()
    } else {
        place.shell(script)
    };
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("refused: unreadable"), "{said}");
}

#[test]
fn programs_that_trace_work_inside() {
    let place = Place::new();
    for (program, script) in [
        (
            "strace",
            "strace -f -o trace \"$CALLER\" spawn \"$ACTED\"; grep -c EPERM trace >/dev/null && echo seen",
        ),
        (
            "gdb",
            "gdb -q -batch -ex run --args \"$CALLER\" harmless >/dev/null 2>&1 && echo seen",
        ),
    ] {
        let found = Command::new("sh")
            .args(["-c", &format!("command -v {program}")])
            .output()
            .unwrap();
        if found.status.success() {
            let output = place.shell(script);
            assert_eq!(
                String::from_utf8_lossy(&output.stdout),
                "seen\n",
                "{program}: {output:?}"
            );
        }
    }
    assert_eq!(place.acted(), 0);
}

#[test]
fn local_sockets_are_judged_by_their_real_names() {
    let place = Place::new();
    let listener = UnixListener::bind(place.path("free")).unwrap();
    let closed = UnixListener::bind(place.path("closed")).unwrap();
    std::os::unix::fs::symlink(place.path("closed"), place.path("other")).unwrap();
    let real = fs::canonicalize(place.path("closed")).unwrap();
    let run = |name: &str| {
        let output = Command::new(example("guarded"))
            .arg("--connect")
            .arg(&real)
            .args(["--connect", "@roleos-test", "--"])
            .arg(example("caller"))
            .args(["connect", name])
            .current_dir(place.folder.path())
            .env_remove("ROLEOS_WATCH")
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let absolute = place.path("free");
    for free in ["free", "./free", absolute.to_str().unwrap()] {
        assert_eq!(run(free), "connected\n", "{free}");
        let (mut stream, _) = listener.accept().unwrap();
        let mut heard = String::new();
        stream.read_to_string(&mut heard).unwrap();
        assert_eq!(heard, "hello");
    }
    for refused in ["closed", "other", real.to_str().unwrap(), "@roleos-test"] {
        assert!(run(refused).contains("os error 1)"), "{refused}");
    }
    assert!(run("missing").contains("os error 2)"));
    assert!(run("@roleos-nobody").contains("os error 111)"));
    closed.set_nonblocking(true).unwrap();
    assert!(closed.accept().is_err());
}

#[test]
fn sealed_files_can_be_read_and_not_changed() {
    let place = Place::new();
    fs::create_dir(place.path("kept")).unwrap();
    fs::File::create(place.path("kept/file"))
        .unwrap()
        .write_all(b"old")
        .unwrap();
    let kept = place.path("kept");
    let script = "cat kept/file; echo new > kept/file; rm -f kept/file; mv kept gone; touch kept/new; \
        echo free > free; \"$CALLER\" push \"$ACTED\"";
    let output = Command::new(example("guarded"))
        .args(["--deny", "caller push", "--seal"])
        .arg(&kept)
        .args(["--", "sh", "-c", script])
        .current_dir(place.folder.path())
        .env("CALLER", example("caller"))
        .env("ACTED", place.path("acted"))
        .env_remove("ROLEOS_WATCH")
        .output()
        .unwrap();
    assert_eq!(output.stdout, b"old", "{output:?}");
    assert_eq!(fs::read(place.path("kept/file")).unwrap(), b"old");
    assert!(!place.path("kept/new").exists());
    assert!(place.path("free").exists());
    assert!(String::from_utf8_lossy(&output.stderr).contains("guarded: refused"));
    assert_eq!(place.acted(), 0);
}

#[test]
fn a_terminal_works_as_without() {
    let place = Place::new();
    let run = |script: &str, typed: &[u8]| {
        let flags = rustix::pty::OpenptFlags::RDWR | rustix::pty::OpenptFlags::NOCTTY;
        let master = rustix::pty::openpt(flags).unwrap();
        rustix::pty::unlockpt(&master).unwrap();
        let name = rustix::pty::ptsname(&master, Vec::new()).unwrap();
        let slave = rustix::fs::open(&name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).unwrap();
        let stream = || Stdio::from(slave.as_fd().try_clone_to_owned().unwrap());
        let mut child = Command::new("setsid")
            .args(["--ctty", "--wait"])
            .arg(example("guarded"))
            .args(["--", "bash", "-c", script])
            .env_remove("ROLEOS_WATCH")
            .current_dir(place.folder.path())
            .stdin(stream())
            .stdout(stream())
            .stderr(stream())
            .spawn()
            .unwrap();
        wait_until("the command starts", || place.path("ready").exists());
        rustix::io::write(&master, typed).unwrap();
        let status = child.wait().unwrap();
        fs::remove_file(place.path("ready")).unwrap();
        // The output may arrive in parts; without the last writer the terminal ends.
        let mut said = Vec::new();
        let mut part = [0; 4096];
        drop(slave);
        while let Ok(read @ 1..) = rustix::io::read(&master, &mut part) {
            said.extend_from_slice(&part[..read]);
        }
        (status.code(), String::from_utf8_lossy(&said).into_owned())
    };
    let (code, said) = run(
        "touch ready; test -t 0 && read x && echo \"got $x\"",
        b"word\n",
    );
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("got word"), "{said}");
    let (code, said) = run(
        "trap 'echo stopped; exit 130' INT; touch ready; while :; do sleep 0.05; done",
        b"\x03",
    );
    assert_eq!(code, Some(130), "{said}");
    assert_eq!(said.matches("stopped").count(), 1, "{said}");
}
