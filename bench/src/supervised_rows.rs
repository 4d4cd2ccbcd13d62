//! Typical commands of agents, behind `roleos-watch`, against the same commands without it, in turns; and the start
//! of a supervised command against the start of an empty Rust program. The binary is the one beside this program.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::hook_rows::copied;
use crate::measure::Figure;
use crate::row::{Goal, Row};

/// One load: its script, the number of turns of each side, and the limit of the slowdown.
struct Load {
    name: &'static str,
    script: &'static str,
    turns: usize,
    goal: f64,
}

const LOADS: [Load; 4] = [
    Load {
        name: "supervised: 300 times `true` in bash",
        script: "for i in {1..300}; do /bin/true; done",
        turns: 15,
        goal: 1.25,
    },
    Load {
        name: "supervised: `make -j2` with 480 programs",
        script: "make -s -j2 -f storm.mk",
        turns: 15,
        goal: 1.15,
    },
    Load {
        name: "supervised: a script like `configure`",
        script: "sh ./configure.sh",
        turns: 15,
        goal: 1.15,
    },
    Load {
        name: "supervised: `cargo build` of a small crate",
        // The caller's own settings may name another directory, in which everything is already built.
        script: "rm -rf built && cargo build --quiet --offline --target-dir built && built/debug/small",
        turns: 11,
        goal: 1.05,
    },
];

const START: &str = "supervised: start of a session by `roleos run`";
const WATCHED: &str = "supervised: start of a command";

/// Number of turns of the start of a process.
const STARTS: usize = 200;

/// Makefile with targets that start two programs each.
const STORM: &str = "\
targets := $(shell seq 240)
all: $(targets)
.PHONY: all $(targets)
$(targets):
\t@/bin/true; /bin/echo $@ >/dev/null
";

/// Checks in the style of `configure`: many small programs, and sometimes a compiler.
const CONFIGURE: &str = r#"
for tool in $(seq 60); do
    name=$(echo "tool-$tool" | sed 's/-/_/g')
    expr "x$name" : 'x.*_' >/dev/null
    cat >conftest.c <<END
int main(void) { return $tool - $tool; }
END
    grep -c main conftest.c >/dev/null
done
for check in 1 2 3; do
    cc -o conftest conftest.c && ./conftest
    rm -f conftest conftest.c.gch
done
rm -f conftest.c
"#;

/// Returns the rows with wanted names.
pub(crate) fn rows(wanted: &dyn Fn(&str) -> bool) -> Vec<Row> {
    let loads: Vec<&Load> = LOADS.iter().filter(|load| wanted(load.name)).collect();
    if loads.is_empty() && !wanted(START) && !wanted(WATCHED) {
        return Vec::new();
    }
    let desk = Desk::new();
    let mut rows: Vec<Row> = loads.into_iter().map(|load| desk.row(load)).collect();
    if wanted(START) {
        rows.push(desk.start(START, || desk.run()));
    }
    if wanted(WATCHED) {
        rows.push(desk.start(WATCHED, || desk.watch()));
    }
    rows
}

/// Workspace with the gate on, the loads' files, and an empty program.
struct Desk {
    folder: TempDir,
    roleos: PathBuf,
    /// Link that agents put before their commands.
    watch: PathBuf,
    empty: PathBuf,
}

#[expect(
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "a bench that cannot be set up has nothing to say; its files are thrown away"
)]
impl Desk {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let beside = std::env::current_exe()
            .expect("a program")
            .with_file_name("roleos");
        assert!(
            beside.exists(),
            "build it first: cargo build --release -p roleos"
        );
        let place = folder.path();
        for (name, text) in [
            (
                ".role-os/config.toml",
                "[oversight]\ncapability_gate = true\n",
            ),
            ("work/storm.mk", STORM),
            ("work/configure.sh", CONFIGURE),
            (
                "work/Cargo.toml",
                "[package]\nname = \"small\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
            ),
            (
                "work/src/main.rs",
                "fn main() {\n    println!(\"small\");\n}\n",
            ),
            ("empty.rs", "fn main() {}\n"),
        ] {
            let file = place.join(name);
            fs::create_dir_all(file.parent().unwrap_or(place)).expect("room");
            fs::write(file, text).expect("room");
        }
        let built = place.join("work/empty");
        let done = Command::new("rustc")
            .args(["-C", "opt-level=3", "-o"])
            .args([&built, &place.join("empty.rs")])
            .status();
        assert!(done.expect("rustc").success());
        let empty = copied(&built, place);
        let hook = copied(&beside.with_file_name("roleos-hook"), place);
        let roleos = copied(&beside, place);
        let watch = place.join("roleos-watch");
        symlink(&hook, &watch).expect("room");
        Self {
            folder,
            roleos,
            watch,
            empty,
        }
    }

    /// Returns the time of `program` with `words`, behind `way` or without it.
    fn time(&self, way: Option<&mut Command>, program: &Path, words: &[&str]) -> Duration {
        match way {
            Some(way) => self.time_of(way.arg(program).args(words)),
            None => self.time_of(Command::new(program).args(words)),
        }
    }

    /// Returns the prefix of an agent's command. A single argument behind it would be a text for the shell.
    fn watch(&self) -> Command {
        Command::new(&self.watch)
    }

    fn run(&self) -> Command {
        let mut command = Command::new(&self.roleos);
        command.args(["run", "--"]);
        command
    }

    fn time_of(&self, command: &mut Command) -> Duration {
        command
            .current_dir(self.folder.path().join("work"))
            .env("ROLEOS_ROOT", self.folder.path())
            .env("ROLEOS_WATCH_ROOT", self.folder.path())
            .env("CLAUDE_CODE_SESSION_ID", "bench")
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        let start = Instant::now();
        let ended = command.status().expect("a process");
        let took = start.elapsed();
        assert!(ended.success(), "{command:?}");
        took
    }

    fn row(&self, load: &Load) -> Row {
        let words = ["-c", load.script];
        let (ours, peer) = in_turns(load.turns, |supervised| {
            let mut way = supervised.then(|| self.watch());
            self.time(way.as_mut(), Path::new("bash"), &words)
        });
        Row::new(
            load.name,
            (ours, peer),
            "the same without supervision",
            "ms",
            Goal::AtMost(load.goal),
        )
    }

    /// Measures the start of a supervised command, which is the empty program itself.
    fn start(&self, name: &'static str, way: impl Fn() -> Command) -> Row {
        let (ours, peer) = in_turns(STARTS, |supervised| {
            self.time(supervised.then(&way).as_mut(), &self.empty, &["word"])
        });
        Row::new(
            name,
            (ours, peer),
            "an empty Rust program",
            "ms",
            Goal::AtMost(3.0),
        )
    }
}

/// Returns the milliseconds of both sides, supervised first; each side once in each turn, after one that warms
/// caches.
fn in_turns(turns: usize, run: impl Fn(bool) -> Duration) -> (Figure, Figure) {
    run(true);
    run(false);
    let turns = 0..crate::measure::turns(turns);
    let (ours, peer): (Vec<_>, Vec<_>) = turns.map(|_| (run(true), run(false))).unzip();
    (Figure::of_times(&ours, 1e3), Figure::of_times(&peer, 1e3))
}
