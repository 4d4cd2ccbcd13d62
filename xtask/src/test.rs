//! `cargo xtask test`: all checks, in order, stopping at the first failure. Skips nothing.

use std::fmt;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::install::{self, Tools};
use crate::project::Project;
use crate::shell::{self, Failure, Result, headline};
use crate::tidy;

/// Variable by which tests find the interpreter with their Python packages.
const TEST_PYTHON: &str = "ROLEOS_TEST_PYTHON";

/// Variable by which tests find the interpreter with the packages of the exchange formats.
const TEST_EXCHANGE: &str = "ROLEOS_TEST_EXCHANGE";

/// What is off by default. Clippy reads it with the rest; its tests, and no others, are built a second time.
const FEATURES: &str = "roleos/otlp,roleos/oidc";

/// The variable by which tests find the script of axe-core.
const TEST_AXE: &str = "ROLEOS_TEST_AXE";

struct Step {
    name: &'static str,
    command: Command,
    hint: &'static str,
}

/// Installs, then runs all steps. The fastest come first.
pub(crate) fn run(project: &Project) -> Result<()> {
    let mut times = Times::default();
    let tools = times.part("what tests need", || install::run(project))?;
    times.part("tidy", || tidy::run(project))?;
    times.part("dependencies", || dependencies(project, &tools))?;
    for Step {
        name,
        mut command,
        hint,
    } in steps(project, &tools)
    {
        times.part(name, || {
            shell::run(&mut command).map_err(|failure| explained(name, &failure, hint))
        })?;
    }
    headline(&format!("all checks passed\n{times}"));
    Ok(())
}

/// Duration of each part.
#[derive(Default)]
struct Times(Vec<(&'static str, Duration)>);

impl Times {
    /// Runs a part under a headline and prints its time, also if it fails.
    fn part<T>(&mut self, name: &'static str, work: impl FnOnce() -> Result<T>) -> Result<T> {
        headline(name);
        let start = Instant::now();
        let result = work();
        let took = start.elapsed();
        let verb = if result.is_ok() { "done" } else { "failed" };
        eprintln!("-- {name}: {verb} in {}", seconds(took));
        self.0.push((name, took));
        result
    }
}

impl fmt::Display for Times {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, took) in &self.0 {
            writeln!(f, "{:>9}  {name}", seconds(*took))?;
        }
        let all = self.0.iter().map(|(_, took)| *took).sum();
        write!(f, "{:>9}  in all", seconds(all))
    }
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

/// Checks licences, banned crates and sources, and advisories if their database is available.
fn dependencies(project: &Project, tools: &Tools) -> Result<()> {
    let deny = |words: &[&str]| {
        let mut command = project.command_at(&tools.deny);
        // Crates in two versions are warnings, and there are always some.
        command
            .args(["--workspace", "--locked", "--log-level", "error"])
            .args(words);
        command
    };
    let checks = [
        "check",
        "--hide-inclusion-graph",
        "licenses",
        "bans",
        "sources",
    ];
    shell::run(&mut deny(&checks))?;
    if !shell::succeeds(&mut deny(&["fetch", "db"])) {
        eprintln!("advisories were not checked: their database cannot be fetched");
        return Ok(());
    }
    shell::run(&mut deny(&[
        "check",
        "--hide-inclusion-graph",
        "advisories",
    ]))
}

fn explained(name: &str, failure: &Failure, hint: &str) -> Failure {
    Failure::new(format!("step \"{name}\": {failure}\nhint: {hint}"))
}

fn steps(project: &Project, tools: &Tools) -> Vec<Step> {
    vec![
        Step {
            name: "format",
            command: project.cargo(&["fmt", "--all", "--", "--check"]),
            hint: "`cargo fmt --all` writes what is wanted",
        },
        Step {
            name: "clippy",
            command: project.cargo(&[
                "clippy",
                "--workspace",
                "--all-targets",
                "--locked",
                "--features",
                FEATURES,
                "--",
                "-D",
                "warnings",
            ]),
            hint: "a lint that is wrong here takes `#[expect(lint, reason = \"…\")]`, never `allow`",
        },
        Step {
            name: "tests",
            command: tests(project, tools),
            hint: "the failing tests are listed above; CONTRIBUTING.md says how to accept a changed snapshot",
        },
        Step {
            name: "fuzz targets",
            command: fuzz_targets(project),
            hint: "the targets are a workspace of their own, in `fuzz/`; nothing else compiles them",
        },
        Step {
            name: "features",
            command: features(project),
            hint: "these are the tests of what is off by default: spans and login by a provider",
        },
        Step {
            name: "doc tests",
            command: project.cargo(&["test", "--doc", "--workspace", "--locked"]),
            hint: "the examples in doc comments are tests",
        },
    ]
}

/// Checks the targets that otherwise only `cargo xtask fuzz` would compile.
fn fuzz_targets(project: &Project) -> Command {
    let mut command = project.cargo(&[
        "check",
        "--manifest-path",
        "fuzz/Cargo.toml",
        "--locked",
        "--no-default-features",
        "--bins",
        "--target-dir",
    ]);
    command.arg(project.target().join("fuzz-check"));
    command
}

/// Runs the tests of [`FEATURES`] in one build.
fn features(project: &Project) -> Command {
    project.cargo(&[
        "test",
        "--package",
        "server",
        "--package",
        "roleos",
        "--features",
        FEATURES,
        "--test",
        "api",
        "--locked",
        "--",
        "otlp::",
        "oidc::",
    ])
}

/// nextest is faster and reads better, but nobody has to install it.
fn tests(project: &Project, tools: &Tools) -> Command {
    let arguments: &[&str] = if shell::succeeds(&mut project.cargo(&["nextest", "--version"])) {
        &[
            "nextest",
            "run",
            "--workspace",
            "--locked",
            "--run-ignored",
            "all",
        ]
    } else {
        &[
            "test",
            "--workspace",
            "--locked",
            "--lib",
            "--bins",
            "--tests",
            "--",
            "--include-ignored",
        ]
    };
    let mut command = project.cargo(arguments);
    command
        .env(TEST_PYTHON, &tools.python)
        .env(TEST_EXCHANGE, &tools.exchange)
        .env(TEST_AXE, &tools.axe);
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_is_timed_and_a_failure_is_passed_on() {
        let mut times = Times::default();
        assert_eq!(times.part("one", || Ok(7)).ok(), Some(7));
        let failed = times.part("two", || Err::<(), _>(Failure::new("no")));
        assert_eq!(failed.unwrap_err().to_string(), "no");
        let shown = Times(vec![
            ("tidy", Duration::from_millis(1240)),
            ("tests", Duration::from_secs(60)),
        ]);
        assert_eq!(times.0.len(), 2);
        assert_eq!(
            shown.to_string(),
            "    1.2 s  tidy\n   60.0 s  tests\n   61.2 s  in all"
        );
    }
}
