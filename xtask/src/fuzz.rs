//! `cargo xtask fuzz`: runs the targets of `fuzz/` for a time each. Installs cargo-fuzz; finds nothing itself.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::install;
use crate::project::Project;
use crate::shell::{self, Failure, Result, headline};

/// How long, and what.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Minutes for all targets together.
    #[arg(long, value_name = "N", default_value_t = 10)]
    minutes: u64,
    /// Only this target; may be repeated.
    #[arg(long, value_name = "NAME")]
    target: Vec<String>,
    /// Put the inputs that reach something new into `fuzz/seeds`, which is committed.
    #[arg(long)]
    keep: bool,
}

/// Directories of test vectors that are seeds as well.
const SEEDS: &[(&str, &str)] = &[
    ("bundle", "crates/witness/tests/vectors"),
    ("trace", "crates/witness/tests/vectors"),
    ("catalog", "crates/catalog/tests/vectors/seeds"),
    ("contracts", "crates/contracts/tests/conformance/seeds"),
    ("registry", "crates/specialist/tests/seeds/registry"),
    ("state", "crates/specialist/tests/seeds/state"),
];

/// Fuzzes each target for its part of the time; a finding is a failure, and its input is kept. Prints the number of
/// inputs.
#[expect(
    clippy::print_stdout,
    reason = "the counts are what the chore is started for"
)]
pub(crate) fn run(project: &Project, args: &Args) -> Result<()> {
    let fuzz = install::cargo_fuzz(project)?;
    let all = targets(project)?;
    if let Some(unknown) = args.target.iter().find(|name| !all.contains(name)) {
        let names = all.join(", ");
        return Err(Failure::new(format!(
            "name a target, not `{unknown}`: {names}"
        )));
    }
    let wanted: Vec<&String> = all
        .iter()
        .filter(|name| args.target.is_empty() || args.target.contains(name))
        .collect();
    let seconds = (args.minutes * 60 / wanted.len().max(1) as u64).max(1);
    headline("building the targets");
    let mut build = project.command_at(&fuzz);
    build
        .env("RUSTC_BOOTSTRAP", "1")
        .args(["build", "-s", "none"]);
    shell::run(&mut build)?;
    let mut counts = Vec::new();
    for target in wanted {
        headline(&format!("fuzz {target}, {seconds} s"));
        counts.push((
            target,
            executed(&mut command(project, &fuzz, target, seconds)?)?,
        ));
        if args.keep {
            shell::run(&mut merge(project, &fuzz, target)?)?;
        }
    }
    println!("| target | inputs |\n|---|--:|");
    for (target, count) in &counts {
        println!("| `{target}` | {count} |");
    }
    println!(
        "| all | {} |",
        counts.iter().map(|(_, count)| count).sum::<u64>()
    );
    Ok(())
}

/// Runs a target visibly, and reads from its last lines the number of inputs.
fn executed(command: &mut Command) -> Result<u64> {
    let mut child = command
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| Failure::of("cannot start cargo-fuzz", error))?;
    let mut count = 0;
    for line in child
        .stderr
        .take()
        .into_iter()
        .flat_map(|words| BufReader::new(words).lines())
    {
        let line =
            line.map_err(|error| Failure::of("cannot read the words of the target", error))?;
        eprintln!("{line}");
        count = counted(&line).unwrap_or(count);
    }
    let status = child
        .wait()
        .map_err(|error| Failure::of("cannot wait for the target", error))?;
    match status.success() {
        true => Ok(count),
        false => Err(Failure::new(format!(
            "a finding after {count} inputs ({status})"
        ))),
    }
}

/// Parses the count in `stat::number_of_executed_units: 123`.
fn counted(line: &str) -> Option<u64> {
    let count = line.strip_prefix("stat::number_of_executed_units:")?;
    count.trim().parse().ok()
}

/// Returns the command that keeps the smallest inputs with the coverage of the whole corpus.
fn merge(project: &Project, fuzz: &Path, target: &str) -> Result<Command> {
    let kept = project.root().join("fuzz/seeds").join(target);
    fs::create_dir_all(&kept)
        .map_err(|error| Failure::of(format!("cannot make `{}`", kept.display()), error))?;
    let mut command = project.command_at(fuzz);
    command
        .env("RUSTC_BOOTSTRAP", "1")
        .args(["run", "-s", "none", target])
        .arg(kept)
        .arg(project.root().join("fuzz/corpus").join(target))
        .args(["--", "-merge=1", "-max_len=1024"]);
    Ok(command)
}

fn command(project: &Project, fuzz: &Path, target: &str, seconds: u64) -> Result<Command> {
    // New inputs go to the first directory, which is not committed.
    let corpus = project.root().join("fuzz/corpus").join(target);
    fs::create_dir_all(&corpus)
        .map_err(|error| Failure::of(format!("cannot make `{}`", corpus.display()), error))?;
    let mut command = project.command_at(fuzz);
    command
        // Instrumentation needs unstable options; the code itself does not.
        .env("RUSTC_BOOTSTRAP", "1")
        .args(["run", "-s", "none", target])
        .arg(&corpus);
    let seeds = SEEDS.iter().filter(|(name, _)| *name == target);
    let committed = format!("fuzz/seeds/{target}");
    for seeds in seeds.map(|(_, folder)| *folder).chain([&*committed]) {
        let seeds = project.root().join(seeds);
        if seeds.is_dir() {
            command.arg(seeds);
        }
    }
    command.arg("--").args([
        format!("-max_total_time={seconds}"),
        "-max_len=4096".to_owned(),
        "-timeout=10".to_owned(),
        "-print_final_stats=1".to_owned(),
        "-verbosity=0".to_owned(),
    ]);
    let dictionary = project.root().join(format!("fuzz/{target}.dict"));
    if dictionary.is_file() {
        command.arg(format!("-dict={}", dictionary.display()));
    }
    Ok(command)
}

/// Returns the targets, by their files.
fn targets(project: &Project) -> Result<Vec<String>> {
    let files = project.tracked()?;
    let name = |file: &String| {
        let name = file.strip_prefix("fuzz/fuzz_targets/")?;
        Some(name.strip_suffix(".rs")?.to_owned())
    };
    Ok(files.iter().filter_map(name).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_is_read_from_the_last_words() {
        assert_eq!(
            counted("stat::number_of_executed_units: 120743"),
            Some(120_743)
        );
        assert_eq!(counted("stat::average_exec_per_sec:     1207"), None);
    }

    #[test]
    fn every_target_is_declared_and_described_and_every_seed_folder_is_there() {
        let project = Project::find().unwrap();
        let manifest = project.read("fuzz/Cargo.toml").unwrap();
        let readme = project.read("fuzz/README.md").unwrap();
        let all = targets(&project).unwrap();
        assert!(all.len() >= 15, "{all:?}");
        for target in &all {
            assert!(
                manifest.contains(&format!("name = \"{target}\"")),
                "{target}"
            );
            assert!(readme.contains(&format!("| `{target}` |")), "{target}");
        }
        for (target, folder) in SEEDS {
            assert!(all.contains(&(*target).to_owned()), "{target}");
            assert!(project.root().join(folder).is_dir(), "{folder}");
        }
    }
}
